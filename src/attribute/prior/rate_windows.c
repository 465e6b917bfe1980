/* From counter samples to rates. A board has several sets if sampling began anew; each is read by the names
 * of its metrics. */
#include "attribute/prior/rate_windows.h"

#include "attribute/fit/calibrate.h"
#include "attribute/work/clock_track.h"
#include "base/order.h"
#include "base/status.h"
#include "base/vec.h"
#include "format/rows/sensor_role.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Valid clocks, relative to the clock of the model. A window with missing counters gives others. */
static const double clock_min = 0.3, clock_max = 1.2;

/* Per second; larger rates are read errors. All threads of an H200 in each cycle are 5e14. */
static const double rate_max = 1e18;

static bool is_unit(const char *unit, const char *requested)
{
    return unit != NULL && strcmp(unit, requested) == 0;
}

/* The n-th text of a JSON array; NULL if there is none. */
static const char *text_at(const json_t *array, size_t n)
{
    return json_string_value(json_array_get(array, n));
}

void jm__metrics_free(char **metrics, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(metrics[i]);
    free(metrics);
}

/* Append the metrics without slot cycles to `texts`. */
static jm_status copy_names(char **texts, size_t *count, const jm__counter_set *set, const json_t *names,
                            const json_t *units, jm_error *err)
{
    for (size_t i = 0; i < (size_t)set->metric_count; i++) {
        const char *name = text_at(names, i);
        if (name == NULL)
            return jm__fail(err, JM_BAD_DATA, 0, "jm__metrics_of",
                            "the metrics of the set of counters %lld are not text", (long long)set->id);
        if (is_unit(text_at(units, i), JM_COUNTER_SLOT_CYCLES)) continue;
        if ((texts[*count] = strdup(name)) == NULL) return jm__no_memory(err, "jm__metrics_of");
        (*count)++;
    }
    return JM_OK;
}

static jm_status copy_metrics(char ***out, size_t *count, const jm__counter_set *set, jm_error *err)
{
    json_t *names = json_loads(set->metrics, 0, NULL), *units = json_loads(set->units, 0, NULL);
    char **texts = calloc((size_t)set->metric_count, sizeof *texts);
    jm_status status = texts != NULL ? copy_names(texts, count, set, names, units, err)
                                     : jm__no_memory(err, "jm__metrics_of");
    json_decref(names);
    json_decref(units);
    if (status != JM_OK) {
        jm__metrics_free(texts, *count);
        texts = NULL;
        *count = 0;
    }
    *out = texts;
    return status;
}

jm_status jm__metrics_of(char ***metrics, size_t *count, const jm__dataset *dataset, int64_t board_id,
                         jm_error *err)
{
    *metrics = NULL;
    *count = 0;
    for (size_t i = 0; i < dataset->counters.set_count; i++) {
        const jm__counter_set *set = &dataset->counters.sets[i];
        if (set->board_id == board_id && set->metric_count > 0) return copy_metrics(metrics, count, set, err);
    }
    return JM_OK;
}

/* By the board's profile. At rest, the step at a sampler's end: 34.3 and 34.8 W (H100,
 * bench/results/counters.txt, 5). At work, what makes a step cost the same: 26 to 32 W on an H200 at 330 to
 * 590 W (sampler_draw.txt); by the smallest residuals of two runs it was 34 and 36 W. */
static const struct {
    const char *profile;
    jm__sampler_known known;
} known_draws[] = {{"h100", {35, 4, 0.012, 6, 0}}, {"h200", {35, 4, 0.012, 6, 0}}};

static const jm__sampler_known usual_draw = {20, 20, 0, 15, 0}; /* of a kind that was not measured */

/* Where the chosen metrics are in a set. */
typedef struct set_layout {
    bool readable;                           /* it has all of them */
    size_t index[JM_COUNTER_METRICS_MAX];    /* of each chosen one */
    bool is_counted[JM_COUNTER_METRICS_MAX]; /* likewise */
    bool is_slots[JM_COUNTER_METRICS_MAX];   /* by index in the set */
} set_layout;

static void find_in_set(set_layout *out, const jm__counter_set *set, const jm__rate_choice *choice)
{
    size_t count = (size_t)set->metric_count;
    json_t *names = json_loads(set->metrics, 0, NULL), *units = json_loads(set->units, 0, NULL);
    out->readable = choice->count > 0;
    for (size_t m = 0; out->readable && m < choice->count; m++) {
        size_t i = 0;
        for (const char *name; i < count; i++)
            if ((name = text_at(names, i)) != NULL && strcmp(name, choice->metrics[m]) == 0) break;
        const char *unit = text_at(units, i);
        out->index[m] = i;
        out->is_counted[m] = is_unit(unit, JM_COUNTER_EVENTS) || is_unit(unit, JM_COUNTER_SLOT_CYCLES);
        out->readable = i < count;
    }
    for (size_t i = 0; i < count; i++)
        out->is_slots[i] = is_unit(text_at(units, i), JM_COUNTER_SLOT_CYCLES);
    json_decref(names);
    json_decref(units);
}

/* (*sets)[set_count], which the caller frees; those of other boards are not readable. */
static jm_status find_layouts(set_layout **sets, bool *any, const jm__dataset *dataset, int64_t board_id,
                              const jm__rate_choice *choice, jm_error *err)
{
    size_t count = dataset->counters.set_count;
    *any = false;
    *sets = calloc(count + 1, sizeof **sets);
    if (*sets == NULL) return jm__no_memory(err, "jm__rates_each");
    for (size_t s = 0; s < count; s++) {
        const jm__counter_set *set = &dataset->counters.sets[s];
        if (set->board_id == board_id) find_in_set(&(*sets)[s], set, choice);
        *any = *any || (*sets)[s].readable;
    }
    return JM_OK;
}

jm_status jm__rates_available(bool *available, const jm__dataset *dataset, int64_t board_id,
                              const jm__rate_choice *choice, jm_error *err)
{
    set_layout *sets;
    jm_status status = find_layouts(&sets, available, dataset, board_id, choice, err);
    free(sets);
    return status;
}

typedef struct window_reader {
    const jm__dataset *dataset;
    const jm__rate_choice *choice;
    set_layout *sets;
    jm__clock_track clock;
    jm__rate_sink sink;
    void *context;
    int64_t end_ns; /* of the last window */
    double rate[JM_COUNTER_METRICS_MAX];
    jm__counter_sample sample;
} window_reader;

/* The rates of a sample; false if one is missing or impossible. */
static bool rates_of(window_reader *p, const set_layout *set, double factor)
{
    double seconds = (double)(p->sample.end_ns - p->sample.start_ns) * 1e-9;
    for (size_t m = 0; m < p->choice->count; m++) {
        double value = p->sample.values[set->index[m]];
        p->rate[m] = factor * (set->is_counted[m] ? value / seconds : value);
        if (!(p->rate[m] >= 0 && p->rate[m] <= rate_max)) return false;
    }
    return true;
}

/* NAN: slots are not counted, or one of their metrics is missing. */
static double slot_mhz(const window_reader *p, const set_layout *set, int64_t metrics)
{
    double sum = 0, us = (double)(p->sample.end_ns - p->sample.start_ns) * 1e-3;
    for (int64_t i = 0; i < metrics; i++)
        if (set->is_slots[i]) sum += p->sample.values[i];
    return sum > 0 ? sum / us : NAN;
}

/* The scale of rates at this clock. */
static double factor_of(const jm__rate_choice *choice, double nvml_mhz, double slots_mhz)
{
    double mhz = choice->slots > 0 ? slots_mhz / choice->slots : NAN;
    if (!(mhz > clock_min * choice->clock_mhz && mhz < clock_max * choice->clock_mhz)) mhz = nvml_mhz;
    bool scaled = isfinite(mhz) && isfinite(choice->clock_mhz);
    return scaled ? pow(mhz / choice->clock_mhz, choice->clock_exponent) : 1;
}

static jm_status take_block(void *context, const jm__counter_block *block, jm_error *err)
{
    window_reader *p = context;
    const set_layout *set = &p->sets[block->set_id - 1];
    int64_t metrics = p->dataset->counters.sets[block->set_id - 1].metric_count;
    for (int64_t i = 0; set->readable && i < block->count; i++) {
        jm__counter_block_sample(block, metrics, i, &p->sample);
        if (p->sample.start_ns < p->end_ns || p->sample.end_ns <= p->sample.start_ns) continue;
        double mhz = jm__clock_between_at(&p->clock, (p->sample.start_ns + p->sample.end_ns) / 2);
        double slots_mhz = slot_mhz(p, set, metrics);
        p->end_ns = p->sample.end_ns;
        if (!rates_of(p, set, factor_of(p->choice, mhz, slots_mhz))) continue;
        const jm__rate_window window = {p->sample.start_ns, p->sample.end_ns, mhz, slots_mhz, p->rate};
        JM_TRY(p->sink(p->context, &window, err));
    }
    return JM_OK;
}

jm_status jm__rates_each(const jm__dataset *dataset, int64_t board_id, const jm__rate_choice *choice,
                         jm__rate_sink sink, void *context, jm_error *err)
{
    bool readable;
    if (dataset->counters.each == NULL || choice->count == 0) return JM_OK;
    window_reader *p = calloc(1, sizeof *p);
    if (p == NULL) return jm__no_memory(err, "jm__rates_each");
    p->dataset = dataset;
    p->choice = choice;
    p->sink = sink;
    p->context = context;
    p->end_ns = INT64_MIN;
    jm_status status = find_layouts(&p->sets, &readable, dataset, board_id, choice, err);
    if (status == JM_OK && !jm__clock_readings_begin(&p->clock, dataset, &dataset->boards[board_id - 1]))
        status = jm__no_memory(err, "jm__rates_each");
    if (status == JM_OK && readable)
        status = dataset->counters.each(dataset->counters.context, take_block, p, err);
    jm__clock_track_free(&p->clock);
    free(p->sets);
    free(p);
    return status;
}

typedef struct ratios {
    const jm__intervals *within;
    JM_VEC(double) items;
} ratios;

static jm_status take_slot(void *context, const jm__rate_window *window, jm_error *err)
{
    ratios *r = context;
    double ratio = window->slot_mhz / window->clock_mhz;
    bool counts =
        isfinite(ratio) && (r->within == NULL || jm__intervals_contain(r->within, window->start_ns));
    return !counts || jm__vec_push(&r->items, ratio) ? JM_OK : jm__no_memory(err, "jm__slots_find");
}

jm_status jm__slots_find(double *slots, const jm__dataset *dataset, int64_t board_id,
                         const jm__rate_choice *choice, const jm__intervals *within, double quantile,
                         jm_error *err)
{
    ratios r = {.within = within};
    jm_status status = jm__rates_each(dataset, board_id, choice, take_slot, &r, err);
    *slots = 0;
    if (status == JM_OK && r.items.count > 0) {
        qsort(r.items.items, r.items.count, sizeof *r.items.items, jm__compare_doubles);
        *slots = r.items.items[(size_t)(quantile * (double)(r.items.count - 1))];
    }
    jm__vec_free(&r.items);
    return status;
}

static jm__sampler_known known_of(const jm_board *board)
{
    for (size_t i = 0; i < sizeof known_draws / sizeof *known_draws; i++)
        if (strcmp(board->profile, known_draws[i].profile) == 0) return known_draws[i].known;
    return usual_draw;
}

/* nvml.h, nvmlClocksEventReason*: the power limit, by software and by hardware. */
static const uint64_t power_limit_bits = 0x84;

/* Share of the windows in which the clock's reasons name the power limit, each holding until the next is
 * read; 0: there are none. */
static double limited_share(const jm__dataset *d, const jm_board *board, const jm__intervals *windows)
{
    double limited = 0, all = 0;
    const jm_reading *last = NULL;
    const jm_sensor *sensor = jm__dataset_sensor(d, board->id, JM_SENSOR_THROTTLE);
    if (windows->count == 0 || sensor == NULL) return 0;
    for (size_t i = 0; i <= d->reading_count; i++) {
        const jm_reading *now = i < d->reading_count ? &d->readings[i] : NULL;
        if (now != NULL && (now->sensor_id != sensor->id || !(now->value >= 0 && now->value < 0x1p63)))
            continue;
        if (last != NULL) {
            int64_t to_ns = now != NULL ? now->t_ns : last->t_ns + JM_NS_PER_S;
            double held_ns = (double)jm__intervals_overlap_ns(windows, last->t_ns, to_ns);
            limited += ((uint64_t)last->value & power_limit_bits) != 0 ? held_ns : 0;
            all += held_ns;
        }
        last = now;
    }
    return all > 0 ? limited / all : 0;
}

jm_status jm__sampler_draw_find(jm__sampler_draw *sampler, const jm__dataset *dataset, const jm_board *board,
                                double rest_w, double rest_u_w, jm_error *err)
{
    int64_t from_ns = INT64_MAX;
    bool fine = true;
    *sampler = (jm__sampler_draw){.known = known_of(board)};
    if (!isnan(rest_w)) sampler->known.rest_w = rest_w;
    if (!isnan(rest_w)) sampler->known.rest_u_w = fmax(rest_u_w, JM_POWER_LEAST_W);
    for (size_t i = 0; fine && i < dataset->event_count; i++) {
        const jm__event *event = &dataset->events[i];
        if (event->kind != JM_EVENT_SAMPLING || event->board_id != board->id) continue;
        if (event->value != 0 && from_ns == INT64_MAX) from_ns = event->t_ns;
        if (event->value != 0 || from_ns == INT64_MAX) continue;
        fine = jm__intervals_add(&sampler->windows, from_ns, event->t_ns);
        from_ns = INT64_MAX;
    }
    if (fine && from_ns != INT64_MAX) fine = jm__intervals_add(&sampler->windows, from_ns, INT64_MAX);
    jm__intervals_normalise(&sampler->windows);
    sampler->known.limited = limited_share(dataset, board, &sampler->windows);
    return fine ? JM_OK : jm__no_memory(err, "jm__sampler_draw_find");
}

void jm__sampler_draw_free(jm__sampler_draw *sampler)
{
    jm__vec_free(&sampler->windows);
}

/* The part of a step at `since` that a reading at t does not show yet. */
static double step_left(const jm__response *response, double t_ns, double since_ns)
{
    double past = (t_ns - since_ns) / response->width_ns;
    if (past <= 0) return 1;
    if (response->kind == JM_RESPONSE_FIRST_ORDER) return exp(-past);
    return fmax(0, 1 - past);
}

/* The share of a power reading's weight within the windows. *first skips windows that no later reading
 * depends on. */
static double weight_in_windows(const jm__sampler_draw *sampler, const jm__response *response, int64_t t_ns,
                                size_t *first)
{
    const jm__interval *windows = sampler->windows.items;
    double at_ns = (double)t_ns - response->lag_ns, sum = 0;
    while (*first < sampler->windows.count &&
           at_ns - (double)windows[*first].to_ns > JM_FORGOTTEN * response->width_ns)
        ++*first;
    for (size_t i = *first; i < sampler->windows.count && (double)windows[i].from_ns < at_ns; i++)
        sum += step_left(response, at_ns, (double)windows[i].to_ns) -
               step_left(response, at_ns, (double)windows[i].from_ns);
    return sum;
}

void jm__sampler_draw_subtract(const jm__sampler_draw *sampler, const jm_sensor *sensor, jm_reading *readings,
                               size_t count)
{
    const jm__response response = jm__calibration_of(sensor).response;
    size_t first = 0;
    if (sampler->known.rest_u_w >= sampler->known.rest_w) return; /* nobody knows what it draws */
    for (size_t i = 0; i < count; i++)
        readings[i].value -=
            sampler->known.rest_w * weight_in_windows(sampler, &response, readings[i].t_ns, &first);
}
