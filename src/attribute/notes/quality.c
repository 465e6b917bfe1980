/* Events, conditions and checks. The worst check decides the grade; the verdict lists all that failed. */
#include "attribute/notes/quality.h"

#include "base/clock.h"
#include "base/status.h"
#include "base/strbuf.h"
#include "format/rows/marks.h"
#include "format/rows/sensor_role.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A century; longer gaps are invalid. */
#define JM_GAP_MAX_NS (INT64_C(3155760000) * JM_NS_PER_S)

static bool is_of_requested_board(const jm__attribution *a, int64_t board_id)
{
    if (board_id == 0) return true; /* all boards */
    for (size_t b = 0; b < a->scope.dataset->board_count; b++)
        if (a->boards[b].board->id == board_id) return a->boards[b].requested;
    return false;
}

/* Whether an event's effect lasts from its time on. */
static bool is_lasting(jm_event_kind kind)
{
    return kind == JM_EVENT_BOARD_ABSENT || kind == JM_EVENT_SENSOR_FAILED || kind == JM_EVENT_CUPTI ||
           kind == JM_EVENT_RECORDER || kind == JM_EVENT_COUNTERS;
}

/* The length of a gap in the readings; 0 if it is unknown, and for other events. */
static int64_t event_gap_ns(const jm__event *event)
{
    bool has_length = event->kind == JM_EVENT_GAP && event->value > 0 && event->value < (double)JM_GAP_MAX_NS;
    return has_length ? (int64_t)event->value : 0;
}

bool jm__event_concerns(const jm__attribution *a, const jm__event *event)
{
    const jm_report_options *o = &a->scope.options;
    bool all_time = o->phase == NULL && o->from_ns == 0 && o->to_ns == 0;
    if (!is_of_requested_board(a, event->board_id)) return false;
    if (all_time || is_lasting(event->kind) || jm__intervals_contain(&a->scope.windows, event->t_ns))
        return true;
    return jm__intervals_overlap_ns(&a->scope.windows, event->t_ns, event->t_ns + event_gap_ns(event)) > 0;
}

/* nvml.h, nvmlClocksEventReason*. Idle and requested clocks are no throttling. */
static const uint64_t no_throttle_bits = 0x3;

const char *const jm__throttle_reasons[JM_REASONS] = {
    "idle",
    "requested clocks",
    "power limit",
    "hardware slowdown",
    "sync boost",
    "temperature, by the driver",
    "temperature, by the hardware",
    "power brake",
    "display clock",
};

/* How far from its time a reading holds. Reasons are read ten times a second; temperatures, which change
 * slowly, every few seconds; limits change only when somebody sets them. */
static const int64_t reasons_hold_ns = JM_NS_PER_S / 2;
static const int64_t temperature_hold_ns = 10 * JM_NS_PER_S;
static const int64_t limit_hold_ns = INT64_MAX / 4;

/* Called for each reading with the time for which it holds: up to half way to its neighbours. */
typedef void (*reading_sink)(void *sums, double value, double seconds);

static int64_t sensor_of(const jm__dataset *d, const jm__board_part *part, jm__sensor_role role)
{
    const jm_sensor *sensor = jm__dataset_sensor(d, part->board->id, role);
    return sensor == NULL ? 0 : sensor->id;
}

static void each_reading(const jm__dataset *d, const jm__board_part *part, jm__sensor_role role,
                         int64_t hold_ns, reading_sink take, void *sums)
{
    const jm_reading *now = NULL;
    int64_t from_ns = 0, sensor_id = sensor_of(d, part, role);
    for (size_t i = 0; sensor_id != 0 && i <= d->reading_count; i++) {
        const jm_reading *next = i < d->reading_count ? &d->readings[i] : NULL;
        if (next != NULL && next->sensor_id != sensor_id) continue;
        int64_t to_ns = now != NULL ? now->t_ns + hold_ns : 0;
        if (now != NULL && next != NULL && (next->t_ns - now->t_ns) / 2 < hold_ns)
            to_ns = now->t_ns + (next->t_ns - now->t_ns) / 2;
        if (now != NULL)
            take(sums, now->value,
                 (double)jm__intervals_overlap_ns(&part->time.windows, from_ns, to_ns) * 1e-9);
        if (next != NULL)
            from_ns = now != NULL && to_ns > next->t_ns - hold_ns ? to_ns : next->t_ns - hold_ns;
        now = next;
    }
}

static void take_reasons(void *sums, double value, double seconds)
{
    jm__conditions *c = sums;
    if (!(value >= 0 && value < 0x1p63)) return;
    uint64_t bits = (uint64_t)value & ~no_throttle_bits;
    c->reported_s += seconds;
    if (bits != 0) c->throttled_s += seconds;
    for (int bit = 0; bit < JM_REASONS; bit++)
        if (bits >> bit & 1) c->reason_s[bit] += seconds;
}

typedef enum figure_form {
    JM_FIGURE_HIDDEN,
    JM_FIGURE_COUNT,
    JM_FIGURE_NUMBER,
    JM_FIGURE_PERCENT
} figure_form;

static const struct {
    double limits[JM_GRADE_POOR + 1]; /* by grade; of good: none */
    const char *before;
    figure_form form;
    const char *after;
} checks[JM_CHECK_COUNT] = {
#define X(name, fair, poor, before, form, after)                                                             \
    {{-INFINITY, (fair), (poor)}, (before), JM_FIGURE_##form, (after)},
    JM_CHECK_MAP(X)
#undef X
};

typedef struct mean {
    double weighted;
    double weight;
} mean;

static void mean_add(mean *m, double value, double weight)
{
    if (isnan(value)) return;
    m->weighted += weight * value;
    m->weight += weight;
}

static double mean_of(const mean *m)
{
    return m->weight > 0 ? m->weighted / m->weight : NAN;
}

static void take_mean(void *sums, double value, double seconds)
{
    if (isfinite(value)) mean_add(sums, value, seconds);
}

static double mean_reading(const jm__dataset *dataset, const jm__board_part *part, jm__sensor_role role,
                           int64_t hold_ns)
{
    mean of = {0};
    each_reading(dataset, part, role, hold_ns, take_mean, &of);
    return mean_of(&of);
}

jm__conditions jm__conditions_of(const jm__dataset *dataset, const jm__board_part *part)
{
    jm__conditions c = {
        .power_limit_w = mean_reading(dataset, part, JM_SENSOR_POWER_LIMIT, limit_hold_ns),
        .temperature_c = mean_reading(dataset, part, JM_SENSOR_TEMPERATURE, temperature_hold_ns),
    };
    each_reading(dataset, part, JM_SENSOR_THROTTLE, reasons_hold_ns, take_reasons, &c);
    return c;
}

typedef struct jm__no_layer {
    double share;    /* of the energy of all kernels of programs with layers; NAN: there are none */
    const char *why; /* the main reason, by the recording */
} jm__no_layer;

static const char *const no_findings = "no check found anything against these figures";

const char *jm__grade_text(jm__grade grade)
{
    static const char *const texts[] = {"good", "fair", "poor"};
    return texts[grade];
}

static jm__grade grade_of(jm__check check, double figure)
{
    if (figure >= checks[check].limits[JM_GRADE_POOR]) return JM_GRADE_POOR;
    return figure >= checks[check].limits[JM_GRADE_FAIR] ? JM_GRADE_FAIR : JM_GRADE_GOOD;
}

/* One decimal for small figures, to show how near the limit is. */
static void add_figure(jm__strbuf *out, figure_form form, double figure)
{
    double shown = form == JM_FIGURE_PERCENT ? 100 * figure : figure;
    const char *unit = form == JM_FIGURE_PERCENT ? " %" : "";
    if (form == JM_FIGURE_HIDDEN) return;
    jm__strbuf_format(out, "%.*f%s", form != JM_FIGURE_COUNT && shown < 9.95 ? 1 : 0, shown, unit);
}

static bool total_is_measured(const jm__attribution *a)
{
    for (size_t b = 0; b < a->scope.dataset->board_count; b++)
        if (a->boards[b].counted && a->boards[b].fit.own) return false;
    return true;
}

static bool add_sentence(jm__verdict *verdict, jm__check check, const jm__check_figures *check_figures)
{
    jm__strbuf text = {0};
    jm__strbuf_add(&text, checks[check].before);
    add_figure(&text, checks[check].form, check_figures->figures[check]);
    jm__strbuf_add(&text, checks[check].after);
    if (check == JM_CHECK_no_layer && check_figures->no_layer_why != NULL)
        jm__strbuf_format(&text, ": %s", check_figures->no_layer_why);
    bool of_fit = check == JM_CHECK_prediction || check == JM_CHECK_residual;
    if (of_fit && check_figures->total_is_measured) jm__strbuf_add(&text, ", the total is sound");
    char *whole = jm__strbuf_take(&text);
    if (whole != NULL && jm__vec_push(&verdict->sentences, whole)) return true;
    free(whole);
    return false;
}

bool jm__verdict_find(jm__verdict *verdict, const jm__check_figures *check_figures)
{
    *verdict = (jm__verdict){.grade = JM_GRADE_GOOD};
    bool fine = true;
    for (jm__grade grade = JM_GRADE_POOR; grade > JM_GRADE_GOOD; grade--) {
        for (jm__check check = 0; fine && check < JM_CHECK_COUNT; check++) {
            if (grade_of(check, check_figures->figures[check]) != grade) continue;
            if (grade > verdict->grade) verdict->grade = grade;
            fine = add_sentence(verdict, check, check_figures);
        }
    }
    if (fine && verdict->sentences.count == 0) {
        char *text = strdup(no_findings);
        fine = text != NULL && jm__vec_push(&verdict->sentences, text);
        if (!fine) free(text);
    }
    if (!fine || !jm__vec_push(&verdict->sentences, NULL)) return false;
    verdict->sentences.count--;
    return true;
}

void jm__verdict_free(jm__verdict *verdict)
{
    for (size_t i = 0; i < verdict->sentences.count; i++)
        free(verdict->sentences.items[i]);
    jm__vec_free(&verdict->sentences);
}

/* Copies and fills are left out: they seldom belong to a layer. */
static bool counts(const jm__class *class)
{
    return strcmp(class->kind, jm__work_text(JM_WORK_KERNEL)) == 0;
}

static void add_board(double *energies, const jm__attribution *a, const jm__board_part *part)
{
    const jm__board_work *work = part->work;
    for (size_t u = 0; u < work->tally.uses.count; u++) {
        const jm__use_sum *sum = &work->tally.uses.items[u];
        const jm__class *class = &a->work.classes.items[a->work.uses.items.items[u].class_index];
        if (sum->ran_s < 0 || !counts(class)) continue;
        double power_w = jm__use_power_w(part, u);
        for (size_t place = 0; place < JM_PLACES; place++)
            energies[place] += power_w * sum->place_s[place];
    }
}

/* Whether there is a mark with this prefix. */
static bool has_mark(const jm__dataset *d, const char *begin)
{
    for (size_t i = 0; i < d->mark_count; i++)
        if (strncmp(jm__dataset_text(d, d->marks[i].name_id), begin, strlen(begin)) == 0) return true;
    return false;
}

static const char *reason(const double *energies, const jm__dataset *d)
{
    double graph_j = energies[JM_PLACE_BY_GRAPH], unseen_j = energies[JM_PLACE_NO_LAUNCH],
           elsewhere_j = energies[JM_PLACE_ELSEWHERE];
    if (graph_j >= unseen_j && graph_j >= elsewhere_j && has_mark(d, JM_MARK_GRAPHS_BEFORE))
        return "CUDA graphs launched most of it, captured before the recording began: start it before the "
               "capture";
    if (graph_j >= unseen_j && graph_j >= elsewhere_j)
        return "CUDA graphs launched most of it, and their kernels run without a call of any module";
    if (unseen_j >= elsewhere_j)
        return "the launches of most of it were not seen, so it is not known which layer made them";
    if (has_mark(d, JM_MARK_COMPILED)) return "modules that torch.compile has compiled call no hooks";
    return "most of it was launched outside of every watched module and range";
}

static jm__no_layer no_layer_of(const jm__attribution *a)
{
    double energies[JM_PLACES] = {0};
    for (size_t b = 0; b < a->scope.dataset->board_count; b++) {
        const jm__board_part *part = &a->boards[b];
        if (part->counted && part->work->requested && !part->work->from_host && part->fit.known)
            add_board(energies, a, part);
    }
    double without_j =
        energies[JM_PLACE_BY_GRAPH] + energies[JM_PLACE_NO_LAUNCH] + energies[JM_PLACE_ELSEWHERE];
    double all_j = without_j + energies[JM_PLACE_IN_LAYER];
    if (all_j <= 0) return (jm__no_layer){.share = NAN};
    return (jm__no_layer){.share = without_j / all_j, .why = reason(energies, a->scope.dataset)};
}

static double share_of(double part, double whole)
{
    return whole > 0 ? part / whole : NAN;
}

/* The difference between a board's fit and its total, if the fit is not conditioned on the total. */
static double closure_gap_j(const jm__board_part *part)
{
    bool has_total = part->fit.fitted && !part->fit.held && isfinite(part->fit.closure_z);
    return has_total ? fabs(part->fit.free_j - part->fit.total.energy_j) : 0;
}

/* Residuals beyond the sensor's own noise. */
static double beyond_noise_w(const jm__board_part *part)
{
    return sqrt(fmax(0, pow(part->fit.residual_w, 2) - pow(part->readings.sensor->noise, 2)));
}

static double lag_off(const jm__board_part *part)
{
    double off_ns = part->fit.calibration.response.lag_ns - (double)part->readings.sensor->lag_ns;
    return share_of(fabs(off_ns), (double)part->readings.sensor->lag_u_ns);
}

/* What is wrong with a board's fit, the worst of all boards. */
static void check_fit(double *figures, const jm__board_part *part)
{
    if (!part->fit.fitted) return;
    double mean_w = part->total.energy_j / (1e-9 * (double)jm__intervals_duration_ns(&part->time.windows));
    const struct {
        jm__check check;
        double figure;
    } found[] = {{JM_CHECK_lag, lag_off(part)},
                 {JM_CHECK_prediction, share_of(part->fit.missed_w, mean_w)},
                 {JM_CHECK_residual, share_of(beyond_noise_w(part), mean_w)}};
    for (size_t i = 0; i < sizeof found / sizeof *found; i++)
        figures[found[i].check] = fmax(figures[found[i].check], found[i].figure);
}

static void check_boards(double *figures, const jm__attribution *a)
{
    double missing = 0, lost_ns = 0, unseen_j = 0, gap_j = 0, sensors_j = 0, total_j = 0, unrecorded_ns = 0;
    double requested_ns = (double)jm__intervals_duration_ns(&a->scope.windows);
    for (size_t b = 0; b < a->scope.dataset->board_count; b++) {
        const jm__board_part *part = &a->boards[b];
        if (!part->counted) continue;
        double board_lost_ns = requested_ns - (double)jm__intervals_duration_ns(&part->time.windows);
        if (part->total.source == NULL) {
            missing++;
            continue;
        }
        if (part->time.lost.count > 0) lost_ns = fmax(lost_ns, board_lost_ns);
        unseen_j += part->total.unseen_j;
        gap_j += closure_gap_j(part);
        sensors_j += fabs(part->total.apart_j);
        check_fit(figures, part);
        unrecorded_ns = fmax(unrecorded_ns, (double)jm__intervals_duration_ns(&part->time.unrecorded));
        total_j += part->total.energy_j;
    }
    for (size_t i = 0; i < a->scope.dataset->event_count; i++) {
        const jm__event *event = &a->scope.dataset->events[i];
        missing += event->kind == JM_EVENT_BOARD_ABSENT && jm__event_concerns(a, event);
    }
    figures[JM_CHECK_boards_missing] = missing;
    figures[JM_CHECK_lost_time] = share_of(lost_ns, requested_ns);
    figures[JM_CHECK_unrecorded] = share_of(unrecorded_ns, requested_ns);
    figures[JM_CHECK_unseen] = share_of(unseen_j, total_j);
    figures[JM_CHECK_closure] = share_of(gap_j, total_j);
    figures[JM_CHECK_sensors] = share_of(sensors_j, total_j);
}

/* Of the time of work: beside work of another kind. */
static double joint_share(const jm__attribution *a)
{
    double joint_s = 0, all_s = 0;
    for (size_t b = 0; b < a->scope.dataset->board_count; b++) {
        const jm__tally *tally = &a->work.boards[b].tally;
        for (size_t u = 0; a->boards[b].counted && u < tally->uses.count; u++) {
            const jm__class *class = &a->work.classes.items[a->work.uses.items.items[u].class_index];
            if (tally->uses.items[u].ran_s < 0) continue;
            all_s += tally->uses.items[u].inside.report_s;
            if (class->joint) joint_s += tally->uses.items[u].inside.report_s;
        }
    }
    return share_of(joint_s, all_s);
}

static double weak_share(const jm__rows *rows, double total_j)
{
    double weak_j = 0;
    for (size_t i = 0; i < rows->count; i++) {
        const jm_row *row = &rows->items[i];
        bool weak = row->provenance >= JM_PROVENANCE_WEAK && rows->nodes.items[i] != JM__NO_NODE;
        if (weak && isfinite(row->energy_self_j)) weak_j += row->energy_self_j;
    }
    return share_of(weak_j, total_j);
}

static double lost_share(const jm__attribution *a, const jm_report_quality *quality)
{
    double lost = (double)quality->lost_records;
    return share_of(lost, lost + (double)a->scope.dataset->span_count + (double)a->work.kernels);
}

static double gap_share(const jm__attribution *a, const jm_report_quality *quality)
{
    size_t boards = 0;
    for (size_t b = 0; b < a->scope.dataset->board_count; b++)
        boards += a->boards[b].requested;
    double requested_s = (double)jm__intervals_duration_ns(&a->scope.windows) * 1e-9;
    return fmin(1, share_of(quality->gap_s, requested_s * (double)boards));
}

static bool has_layers(jm_by by)
{
    return !jm__is_by_kernel(by) && by != JM_BY_BOARD;
}

static jm__check_figures find_figures(const jm__attribution *a, const jm__rows *rows,
                                      const jm_report_totals *totals, const jm_report_quality *quality,
                                      const jm__no_layer *no_layer)
{
    jm__check_figures check_figures = {0};
    for (jm__check check = 0; check < JM_CHECK_COUNT; check++)
        check_figures.figures[check] = NAN;
    check_figures.figures[JM_CHECK_no_energy] = isnan(totals->total_energy_j);
    check_figures.figures[JM_CHECK_damaged] = a->scope.dataset->damage != NULL;
    check_boards(check_figures.figures, a);
    if (isnan(totals->total_energy_j))
        check_figures.figures[JM_CHECK_boards_missing] = NAN; /* said already */
    check_figures.figures[JM_CHECK_unresolved] =
        share_of(fabs(totals->unresolved_energy_j), totals->total_energy_j);
    check_figures.figures[JM_CHECK_lost_records] = lost_share(a, quality);
    if (has_layers(a->scope.options.by)) check_figures.figures[JM_CHECK_no_layer] = no_layer->share;
    check_figures.no_layer_why = no_layer->why;
    check_figures.total_is_measured = total_is_measured(a);
    check_figures.figures[JM_CHECK_gaps] = gap_share(a, quality);
    check_figures.figures[JM_CHECK_weak] = weak_share(rows, totals->total_energy_j);
    check_figures.figures[JM_CHECK_overlap] = joint_share(a);
    check_figures.figures[JM_CHECK_throttled] = quality->throttled_share;
    return check_figures;
}

static void count_events(jm_report_quality *figures, const jm__attribution *a)
{
    for (size_t i = 0; i < a->scope.dataset->event_count; i++) {
        const jm__event *event = &a->scope.dataset->events[i];
        if (!jm__event_concerns(a, event)) continue;
        if (event->kind == JM_EVENT_GAP) {
            figures->gaps++;
            figures->gap_s += (double)event_gap_ns(event) * 1e-9;
        }
        figures->throttle_events += event->kind == JM_EVENT_THROTTLE && event->value != 0;
        if (event->kind == JM_EVENT_COUNTERS && figures->counters_missing == NULL)
            figures->counters_missing = event->text;
    }
    for (size_t i = 0; i < a->scope.dataset->loss_count; i++)
        figures->lost_records += a->scope.dataset->losses[i].count;
}

/* Means over all requested boards: of the clock by busy time, of limits and temperatures with equal weights.
 */
static void add_conditions(jm_report_quality *figures, const jm__attribution *a)
{
    mean throttled = {0}, clock = {0}, limit = {0}, temperature = {0};
    for (size_t b = 0; b < a->scope.dataset->board_count; b++) {
        const jm__board_part *part = &a->boards[b];
        if (!part->requested) continue;
        jm__conditions conditions = jm__conditions_of(a->scope.dataset, part);
        throttled.weighted += conditions.throttled_s;
        throttled.weight += conditions.reported_s;
        mean_add(&limit, conditions.power_limit_w, 1);
        mean_add(&temperature, conditions.temperature_c, 1);
        for (size_t k = 0; part->clock_mhz != NULL && k < part->work->columns.class_columns; k++)
            mean_add(&clock, part->clock_mhz[k], part->work->seconds[k]);
    }
    figures->throttled_share = mean_of(&throttled);
    figures->clock_mhz = mean_of(&clock);
    figures->power_limit_w = mean_of(&limit);
    figures->temperature_c = mean_of(&temperature);
}

static jm_status name_sensors(jm__quality *quality, const jm__attribution *a, jm_error *err)
{
    size_t count = 0;
    quality->sensors = calloc(a->scope.dataset->board_count + 1, sizeof *quality->sensors);
    if (quality->sensors == NULL) return jm__no_memory(err, "jm__quality_make");
    for (size_t b = 0; b < a->scope.dataset->board_count; b++) {
        const jm__board_part *part = &a->boards[b];
        const jm_sensor *sensor =
            part->readings.sensor != NULL ? part->readings.sensor : part->readings.counter;
        if (!part->requested || sensor == NULL) continue;
        if (asprintf(&quality->sensors[count], "%s: %s", part->board->name, sensor->name) < 0) {
            quality->sensors[count] = NULL;
            return jm__no_memory(err, "jm__quality_make");
        }
        count++;
    }
    quality->figures.sensors = (const char *const *)quality->sensors;
    return JM_OK;
}

/* The cost of sampling, which the recorder measured. */
static void add_cost(jm_report_quality *figures, const jm__sampler_cost *cost)
{
    figures->overhead_cpu_s = cost->cpu_ns < 0 ? NAN : (double)cost->cpu_ns * 1e-9;
    figures->overhead_call_s = cost->call_ns < 0 ? NAN : (double)cost->call_ns * 1e-9;
    figures->overhead_calls = cost->calls;
}

static void add_counters(jm_report_quality *figures, const jm__attribution *a)
{
    int64_t windows = 0;
    double sum_j = 0, sampled_s = 0;
    for (size_t b = 0; b < a->scope.dataset->board_count; b++) {
        const jm__board_part *part = &a->boards[b];
        windows += (int64_t)part->known.counter_windows;
        if (!part->requested) continue;
        if (part->known.counted_by_hardware) figures->counters_of_ncu = a->scope.dataset->ncu;
        double seconds, u_j;
        sum_j += jm__board_sampler_j(part, &seconds, &u_j);
        sampled_s += seconds;
    }
    figures->counter_windows = windows > 0 ? windows : -1;
    figures->sampler_energy_j = sampled_s > 0 ? sum_j : NAN;
}

static jm_status set_verdict(jm__quality *quality, const jm__check_figures *check_figures, jm_error *err)
{
    if (!jm__verdict_find(&quality->verdict, check_figures)) return jm__no_memory(err, "jm__quality_make");
    char *const *sentences = quality->verdict.sentences.items;
    quality->figures.verdict = jm__grade_text(quality->verdict.grade);
    quality->figures.verdict_reason = sentences[0];
    quality->figures.verdict_more = (const char *const *)&sentences[1];
    return JM_OK;
}

jm_status jm__quality_make(jm__quality *quality, const jm__attribution *a, const jm__rows *rows,
                           const jm_report_totals *totals, jm_error *err)
{
    *quality = (jm__quality){0};
    add_cost(&quality->figures, &a->scope.dataset->cost);
    count_events(&quality->figures, a);
    add_conditions(&quality->figures, a);
    add_counters(&quality->figures, a);
    JM_TRY(name_sensors(quality, a, err));
    const jm__no_layer no_layer = no_layer_of(a);
    quality->figures.no_layer_share = no_layer.share;
    const jm__check_figures check_figures = find_figures(a, rows, totals, &quality->figures, &no_layer);
    return set_verdict(quality, &check_figures, err);
}

void jm__quality_free(jm__quality *quality)
{
    for (char **sensor = quality->sensors; sensor != NULL && *sensor != NULL; sensor++)
        free(*sensor);
    free(quality->sensors);
    jm__verdict_free(&quality->verdict);
    *quality = (jm__quality){0};
}
