/* Samples of counters into rates. A board may have several sets (sampling that began anew): each is read by
 * the names of its metrics. */
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

/* A clock that is further than this from the one that weights were learnt at is none: a window whose counters
 * were not all read. */
static const double clock_least = 0.3, clock_most = 1.2;

/* A second. The threads of an H200, all in each cycle, are 5e14: what is beyond this was read wrong. */
static const double rate_most = 1e18;

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

static jm_status no_texts(const jm__counter_set *set, jm_error *err)
{
    return jm__fail(err, JM_BAD_DATA, 0, "jm__metrics_of",
                    "the metrics of the set of counters %lld are no texts", (long long)set->id);
}

/* Those that are not slots, into texts[*count]. */
static jm_status copy_each(char **texts, size_t *count, const jm__counter_set *set, const json_t *names,
                           const json_t *units, jm_error *err)
{
    for (size_t i = 0; i < (size_t)set->metric_count; i++) {
        const char *name = text_at(names, i);
        if (name == NULL) return no_texts(set, err);
        if (is_unit(text_at(units, i), JM_COUNTER_SLOT_CYCLES)) continue;
        if ((texts[*count] = strdup(name)) == NULL) return jm__no_memory(err, "jm__metrics_of");
        (*count)++;
    }
    return JM_OK;
}

static jm_status copy_texts(char ***out, size_t *count, const jm__counter_set *set, jm_error *err)
{
    json_t *names = json_loads(set->metrics, 0, NULL), *units = json_loads(set->units, 0, NULL);
    char **texts = calloc((size_t)set->metric_count, sizeof *texts);
    jm_status status = texts != NULL ? copy_each(texts, count, set, names, units, err)
                                     : jm__no_memory(err, "jm__metrics_of");
    json_decref(names);
    json_decref(units);
    if (status == JM_OK) {
        *out = texts;
    } else if (texts != NULL) {
        jm__metrics_free(texts, *count);
        *count = 0;
    }
    return status;
}

jm_status jm__metrics_of(char ***metrics, size_t *count, const jm__dataset *dataset, int64_t board_id,
                         jm_error *err)
{
    *metrics = NULL;
    *count = 0;
    for (size_t i = 0; i < dataset->counters.set_count; i++) {
        const jm__counter_set *set = &dataset->counters.sets[i];
        if (set->board_id == board_id && set->metric_count > 0) return copy_texts(metrics, count, set, err);
    }
    return JM_OK;
}

/* By the board's profile: the step at a sampler's end, at rest, twice on an H100 (34.3 and 34.8 W); what
 * leaves the least residuals of runs that a sampler came to, at work: 36 ±3 W (H100), 34 ±1 W (H200).
 * bench/results/counters.txt, 5. */
static const struct {
    const char *profile;
    double power_w, u_w;
} known_draws[] = {{"h100", 35, 4}, {"h200", 35, 4}};

/* Where the chosen metrics are in each set, and how they are read. */
typedef struct reading {
    const jm__dataset *dataset;
    int64_t board_id;
    const jm__rate_choice *choice;
    int32_t *place;   /* [sets * choice->count]: index in the set; -1 in the first: the set lacks one */
    bool *is_counted; /* likewise */
    bool *is_slots;   /* [sets * JM_COUNTER_METRICS_MAX], by index in the set */
    bool any;
} reading;

/* A set that lacks a metric, or whose texts are none, is not read. */
static void find_in_set(reading *r, size_t s)
{
    const jm__counter_set *set = &r->dataset->counters.sets[s];
    int32_t *place = r->place + s * r->choice->count;
    bool *is_counted = r->is_counted + s * r->choice->count;
    json_t *names = json_loads(set->metrics, 0, NULL), *units = json_loads(set->units, 0, NULL);
    bool all = set->board_id == r->board_id;
    for (size_t m = 0; m < r->choice->count; m++)
        place[m] = -1;
    for (size_t m = 0; all && m < r->choice->count; m++) {
        for (size_t i = 0; i < (size_t)set->metric_count && place[m] < 0; i++) {
            const char *name = text_at(names, i), *unit = text_at(units, i);
            if (name == NULL || strcmp(name, r->choice->metrics[m]) != 0) continue;
            place[m] = (int32_t)i;
            is_counted[m] = is_unit(unit, JM_COUNTER_EVENTS) || is_unit(unit, JM_COUNTER_SLOT_CYCLES);
        }
        all = place[m] >= 0;
    }
    for (size_t i = 0; i < (size_t)set->metric_count; i++)
        r->is_slots[s * JM_COUNTER_METRICS_MAX + i] = is_unit(text_at(units, i), JM_COUNTER_SLOT_CYCLES);
    if (!all && r->choice->count > 0) place[0] = -1;
    r->any = r->any || (all && r->choice->count > 0);
    json_decref(names);
    json_decref(units);
}

static jm_status begin(reading *r, const jm__dataset *dataset, int64_t board_id,
                       const jm__rate_choice *choice, jm_error *err)
{
    size_t sets = dataset->counters.set_count;
    *r = (reading){.dataset = dataset, .board_id = board_id, .choice = choice};
    r->place = calloc(sets * choice->count + 1, sizeof *r->place);
    r->is_counted = calloc(sets * choice->count + 1, sizeof *r->is_counted);
    r->is_slots = calloc(sets * JM_COUNTER_METRICS_MAX + 1, sizeof *r->is_slots);
    if (r->place == NULL || r->is_counted == NULL || r->is_slots == NULL)
        return jm__no_memory(err, "jm__rates_each");
    for (size_t s = 0; s < sets; s++)
        find_in_set(r, s);
    return JM_OK;
}

static void end(reading *r)
{
    free(r->place);
    free(r->is_counted);
    free(r->is_slots);
}

jm_status jm__rates_known(bool *known, const jm__dataset *dataset, int64_t board_id,
                          const jm__rate_choice *choice, jm_error *err)
{
    reading r;
    jm_status status = begin(&r, dataset, board_id, choice, err);
    *known = r.any;
    end(&r);
    return status;
}

/* While blocks pass. */
typedef struct passing {
    reading read;
    jm__clock_track clock;
    jm__rate_taker take;
    void *taker;
    int64_t end_ns; /* of the last window */
    double rate[JM_COUNTER_METRICS_MAX];
    jm__counter_sample sample;
} passing;

/* The rates of a sample; false if one was not measured, or is none. */
static bool rates_of(passing *p, const int32_t *place, const bool *is_counted, double factor)
{
    double seconds = (double)(p->sample.end_ns - p->sample.start_ns) * 1e-9;
    for (size_t m = 0; m < p->read.choice->count; m++) {
        double value = p->sample.values[place[m]];
        p->rate[m] = factor * (is_counted[m] ? value / seconds : value);
        if (!(p->rate[m] >= 0 && p->rate[m] <= rate_most)) return false;
    }
    return true;
}

/* NAN: none is counted, or not all of them. */
static double slot_mhz(const passing *p, size_t s)
{
    const bool *is_slots = p->read.is_slots + s * JM_COUNTER_METRICS_MAX;
    double sum = 0, us = (double)(p->sample.end_ns - p->sample.start_ns) * 1e-3;
    for (int64_t i = 0; i < p->read.dataset->counters.sets[s].metric_count; i++)
        if (is_slots[i]) sum += p->sample.values[i];
    return sum > 0 ? sum / us : NAN;
}

/* What a rate is to be multiplied by. */
static double factor_of(const jm__rate_choice *choice, double nvml_mhz, double slots_mhz)
{
    double mhz = choice->slots > 0 ? slots_mhz / choice->slots : NAN;
    if (!(mhz > clock_least * choice->clock_mhz && mhz < clock_most * choice->clock_mhz)) mhz = nvml_mhz;
    bool known = isfinite(mhz) && isfinite(choice->clock_mhz);
    return known ? pow(mhz / choice->clock_mhz, choice->clock_exponent) : 1;
}

static jm_status take_block(void *context, const jm__counter_block *block, jm_error *err)
{
    passing *p = context;
    const jm__rate_choice *choice = p->read.choice;
    size_t s = (size_t)block->set_id - 1;
    const int32_t *place = p->read.place + s * choice->count;
    if (place[0] < 0) return JM_OK;
    for (int64_t i = 0; i < block->count; i++) {
        jm__counter_block_sample(block, p->read.dataset->counters.sets[s].metric_count, i, &p->sample);
        if (p->sample.start_ns < p->end_ns || p->sample.end_ns <= p->sample.start_ns) continue;
        double mhz = jm__clock_between_at(&p->clock, (p->sample.start_ns + p->sample.end_ns) / 2);
        double slots_mhz = slot_mhz(p, s), factor = factor_of(choice, mhz, slots_mhz);
        p->end_ns = p->sample.end_ns;
        if (!rates_of(p, place, p->read.is_counted + s * choice->count, factor)) continue;
        const jm__rate_window window = {p->sample.start_ns, p->sample.end_ns, mhz, slots_mhz, p->rate};
        JM_TRY(p->take(p->taker, &window, err));
    }
    return JM_OK;
}

jm_status jm__rates_each(const jm__dataset *dataset, int64_t board_id, const jm__rate_choice *choice,
                         jm__rate_taker take, void *taker, jm_error *err)
{
    if (dataset->counters.each == NULL || choice->count == 0) return JM_OK;
    passing *p = calloc(1, sizeof *p);
    if (p == NULL) return jm__no_memory(err, "jm__rates_each");
    p->take = take;
    p->taker = taker;
    p->end_ns = INT64_MIN;
    jm_status status = begin(&p->read, dataset, board_id, choice, err);
    if (status == JM_OK && !jm__clock_readings_begin(&p->clock, dataset, &dataset->boards[board_id - 1]))
        status = jm__no_memory(err, "jm__rates_each");
    if (status == JM_OK && p->read.any)
        status = dataset->counters.each(dataset->counters.context, take_block, p, err);
    jm__clock_track_free(&p->clock);
    end(&p->read);
    free(p);
    return status;
}

typedef struct ratios {
    const jm__intervals *within;
    JM_VEC(double) items;
} ratios;

static jm_status take_slot(void *taker, const jm__rate_window *window, jm_error *err)
{
    ratios *r = taker;
    double ratio = window->slot_mhz / window->clock_mhz;
    bool marked = isfinite(ratio) && (r->within == NULL || jm__intervals_hold(r->within, window->start_ns));
    return !marked || jm__vec_push(&r->items, ratio) ? JM_OK : jm__no_memory(err, "jm__slots_find");
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

/* Measured at rest, it may be as much more or less at work. */
static const double working_u_w = 3;

static const double forgotten = 40; /* time constants after which nothing is left (4e-18) */

static jm__sampler_draw draw_of(const jm_board *board)
{
    jm__sampler_draw draw = {0};
    for (size_t i = 0; i < sizeof known_draws / sizeof *known_draws; i++)
        if (strcmp(board->profile, known_draws[i].profile) == 0)
            draw = (jm__sampler_draw){.power_w = known_draws[i].power_w, .u_w = known_draws[i].u_w};
    return draw;
}

jm_status jm__sampler_draw_find(jm__sampler_draw *sampler, const jm__dataset *dataset, const jm_board *board,
                                double power_w, double u_w, jm_error *err)
{
    int64_t from_ns = INT64_MAX, end_ns = INT64_MAX;
    bool fine = true;
    *sampler = isnan(power_w) ? draw_of(board)
                              : (jm__sampler_draw){.power_w = power_w, .u_w = hypot(u_w, working_u_w)};
    for (size_t i = 0; fine && sampler->power_w > 0 && i < dataset->event_count; i++) {
        const jm__event *event = &dataset->events[i];
        if (event->kind != JM_EVENT_SAMPLING || event->board_id != board->id) continue;
        if (event->value != 0 && from_ns == INT64_MAX) from_ns = event->t_ns;
        if (event->value != 0 || from_ns == INT64_MAX) continue;
        fine = jm__intervals_add(&sampler->windows, from_ns, event->t_ns);
        from_ns = INT64_MAX;
    }
    if (fine && from_ns != INT64_MAX) fine = jm__intervals_add(&sampler->windows, from_ns, end_ns);
    jm__intervals_normalise(&sampler->windows);
    return fine ? JM_OK : jm__no_memory(err, "jm__sampler_draw_find");
}

void jm__sampler_draw_free(jm__sampler_draw *sampler)
{
    jm__vec_free(&sampler->windows);
}

/* What is left, at t, of a step that was at `since`. */
static double left(const jm__response *response, double t_ns, double since_ns)
{
    double past = (t_ns - since_ns) / response->width_ns;
    if (past <= 0) return 1;
    if (response->kind == JM_RESPONSE_FIRST_ORDER) return exp(-past);
    return fmax(0, 1 - past);
}

/* The share of a power reading's weight that lies in the windows, from *first on: those before are forgotten.
 */
static double share(const jm__sampler_draw *sampler, const jm__response *response, int64_t t_ns,
                    size_t *first)
{
    const jm__interval *windows = sampler->windows.items;
    double at_ns = (double)t_ns - response->lag_ns, sum = 0;
    while (*first < sampler->windows.count &&
           at_ns - (double)windows[*first].to_ns > forgotten * response->width_ns)
        ++*first;
    for (size_t i = *first; i < sampler->windows.count && (double)windows[i].from_ns < at_ns; i++)
        sum += left(response, at_ns, (double)windows[i].to_ns) -
               left(response, at_ns, (double)windows[i].from_ns);
    return sum;
}

static void take_off_power(const jm__sampler_draw *sampler, const jm_sensor *sensor, jm_reading *readings,
                           size_t count)
{
    const jm__response response = jm__calibration_of(sensor).response;
    size_t first = 0;
    for (size_t i = 0; i < count; i++)
        readings[i].value -= sampler->power_w * share(sampler, &response, readings[i].t_ns, &first);
}

static void take_off_energy(const jm__sampler_draw *sampler, jm_reading *readings, size_t count)
{
    double drawn_j = 0;
    for (size_t i = 0; i < count; i++) {
        int64_t since_ns = i > 0 ? readings[i - 1].t_ns : INT64_MIN;
        int64_t sampled_ns = jm__intervals_overlap_ns(&sampler->windows, since_ns, readings[i].t_ns);
        drawn_j += sampler->power_w * 1e-9 * (double)sampled_ns;
        readings[i].value -= drawn_j;
    }
}

void jm__sampler_draw_take_off(const jm__sampler_draw *sampler, const jm_sensor *sensor, jm_reading *readings,
                               size_t count)
{
    if (sampler->windows.count == 0) return;
    if (jm__sensor_is_counter(sensor))
        take_off_energy(sampler, readings, count);
    else
        take_off_power(sampler, sensor, readings, count);
}

static double seconds_in(const jm__sampler_draw *sampler, const jm__intervals *windows)
{
    int64_t sum_ns = 0;
    for (size_t i = 0; i < windows->count; i++)
        sum_ns +=
            jm__intervals_overlap_ns(&sampler->windows, windows->items[i].from_ns, windows->items[i].to_ns);
    return (double)sum_ns * 1e-9;
}

double jm__sampler_draw_energy_j(const jm__sampler_draw *sampler, const jm__intervals *windows)
{
    return sampler->power_w * seconds_in(sampler, windows);
}

double jm__sampler_draw_u_j(const jm__sampler_draw *sampler, const jm__intervals *windows)
{
    return sampler->u_w * seconds_in(sampler, windows);
}
