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

/* Where the chosen metrics are in each set. */
typedef struct metric_layout {
    const jm__dataset *dataset;
    int64_t board_id;
    const jm__rate_choice *choice;
    int32_t *index;   /* [sets * choice->count]: index in the set; -1 in the first: the set lacks one */
    bool *is_counted; /* likewise */
    bool *is_slots;   /* [sets * JM_COUNTER_METRICS_MAX], by index in the set */
    bool readable;
} metric_layout;

/* A set that lacks a metric is not read. */
static void find_in_set(metric_layout *r, size_t s)
{
    const jm__counter_set *set = &r->dataset->counters.sets[s];
    int32_t *index = r->index + s * r->choice->count;
    bool *is_counted = r->is_counted + s * r->choice->count;
    json_t *names = json_loads(set->metrics, 0, NULL), *units = json_loads(set->units, 0, NULL);
    bool all = set->board_id == r->board_id;
    for (size_t m = 0; m < r->choice->count; m++)
        index[m] = -1;
    for (size_t m = 0; all && m < r->choice->count; m++) {
        for (size_t i = 0; i < (size_t)set->metric_count && index[m] < 0; i++) {
            const char *name = text_at(names, i), *unit = text_at(units, i);
            if (name == NULL || strcmp(name, r->choice->metrics[m]) != 0) continue;
            index[m] = (int32_t)i;
            is_counted[m] = is_unit(unit, JM_COUNTER_EVENTS) || is_unit(unit, JM_COUNTER_SLOT_CYCLES);
        }
        all = index[m] >= 0;
    }
    for (size_t i = 0; i < (size_t)set->metric_count; i++)
        r->is_slots[s * JM_COUNTER_METRICS_MAX + i] = is_unit(text_at(units, i), JM_COUNTER_SLOT_CYCLES);
    if (!all && r->choice->count > 0) index[0] = -1;
    r->readable = r->readable || (all && r->choice->count > 0);
    json_decref(names);
    json_decref(units);
}

static jm_status layout_begin(metric_layout *r, const jm__dataset *dataset, int64_t board_id,
                              const jm__rate_choice *choice, jm_error *err)
{
    size_t sets = dataset->counters.set_count;
    *r = (metric_layout){.dataset = dataset, .board_id = board_id, .choice = choice};
    r->index = calloc(sets * choice->count + 1, sizeof *r->index);
    r->is_counted = calloc(sets * choice->count + 1, sizeof *r->is_counted);
    r->is_slots = calloc(sets * JM_COUNTER_METRICS_MAX + 1, sizeof *r->is_slots);
    if (r->index == NULL || r->is_counted == NULL || r->is_slots == NULL)
        return jm__no_memory(err, "jm__rates_each");
    for (size_t s = 0; s < sets; s++)
        find_in_set(r, s);
    return JM_OK;
}

static void layout_end(metric_layout *r)
{
    free(r->index);
    free(r->is_counted);
    free(r->is_slots);
}

jm_status jm__rates_available(bool *available, const jm__dataset *dataset, int64_t board_id,
                              const jm__rate_choice *choice, jm_error *err)
{
    metric_layout r;
    jm_status status = layout_begin(&r, dataset, board_id, choice, err);
    *available = r.readable;
    layout_end(&r);
    return status;
}

typedef struct window_reader {
    metric_layout layout;
    jm__clock_track clock;
    jm__rate_sink sink;
    void *context;
    int64_t end_ns; /* of the last window */
    double rate[JM_COUNTER_METRICS_MAX];
    jm__counter_sample sample;
} window_reader;

/* The rates of a sample; false if one is missing or impossible. */
static bool rates_of(window_reader *p, const int32_t *index, const bool *is_counted, double factor)
{
    double seconds = (double)(p->sample.end_ns - p->sample.start_ns) * 1e-9;
    for (size_t m = 0; m < p->layout.choice->count; m++) {
        double value = p->sample.values[index[m]];
        p->rate[m] = factor * (is_counted[m] ? value / seconds : value);
        if (!(p->rate[m] >= 0 && p->rate[m] <= rate_max)) return false;
    }
    return true;
}

/* NAN: slots are not counted, or one of their metrics is missing. */
static double slot_mhz(const window_reader *p, size_t s)
{
    const bool *is_slots = p->layout.is_slots + s * JM_COUNTER_METRICS_MAX;
    double sum = 0, us = (double)(p->sample.end_ns - p->sample.start_ns) * 1e-3;
    for (int64_t i = 0; i < p->layout.dataset->counters.sets[s].metric_count; i++)
        if (is_slots[i]) sum += p->sample.values[i];
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
    const jm__rate_choice *choice = p->layout.choice;
    size_t s = (size_t)block->set_id - 1;
    const int32_t *index = p->layout.index + s * choice->count;
    if (index[0] < 0) return JM_OK;
    for (int64_t i = 0; i < block->count; i++) {
        jm__counter_block_sample(block, p->layout.dataset->counters.sets[s].metric_count, i, &p->sample);
        if (p->sample.start_ns < p->end_ns || p->sample.end_ns <= p->sample.start_ns) continue;
        double mhz = jm__clock_between_at(&p->clock, (p->sample.start_ns + p->sample.end_ns) / 2);
        double slots_mhz = slot_mhz(p, s), factor = factor_of(choice, mhz, slots_mhz);
        p->end_ns = p->sample.end_ns;
        if (!rates_of(p, index, p->layout.is_counted + s * choice->count, factor)) continue;
        const jm__rate_window window = {p->sample.start_ns, p->sample.end_ns, mhz, slots_mhz, p->rate};
        JM_TRY(p->sink(p->context, &window, err));
    }
    return JM_OK;
}

jm_status jm__rates_each(const jm__dataset *dataset, int64_t board_id, const jm__rate_choice *choice,
                         jm__rate_sink sink, void *context, jm_error *err)
{
    if (dataset->counters.each == NULL || choice->count == 0) return JM_OK;
    window_reader *p = calloc(1, sizeof *p);
    if (p == NULL) return jm__no_memory(err, "jm__rates_each");
    p->sink = sink;
    p->context = context;
    p->end_ns = INT64_MIN;
    jm_status status = layout_begin(&p->layout, dataset, board_id, choice, err);
    if (status == JM_OK && !jm__clock_readings_begin(&p->clock, dataset, &dataset->boards[board_id - 1]))
        status = jm__no_memory(err, "jm__rates_each");
    if (status == JM_OK && p->layout.readable)
        status = dataset->counters.each(dataset->counters.context, take_block, p, err);
    jm__clock_track_free(&p->clock);
    layout_end(&p->layout);
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
