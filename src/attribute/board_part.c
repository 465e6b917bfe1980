/* Readings by sensor, the mean clock of each kind of work, priors from counters, and the time a board was
 * lost. */
#include "attribute/board_part.h"

#include "attribute/fit/calibrate.h"
#include "attribute/fit/total.h"
#include "attribute/input/ring_grid.h"
#include "attribute/prior/counters.h"
#include "attribute/work/clock_track.h"
#include "base/clock.h"
#include "base/search.h"
#include "base/status.h"
#include "format/rows/sensor_role.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A better sensor that saw less than this of what another one saw has failed. A choice. */
static const double failed_share = 0.5;

/* A sensor of a board takes its place among the board's series, the best first. */
static void place(jm__board_part *part, const jm_sensor *sensor)
{
    size_t at = part->power_count;
    if (at == JM_POWER_SERIES_MAX) return;
    while (at > 0 && jm__sensor_rank(part->powers[at - 1].sensor) < jm__sensor_rank(sensor))
        at--;
    for (size_t i = part->power_count++; i > at; i--)
        part->powers[i] = part->powers[i - 1];
    part->powers[at] = (jm__power_series){.sensor = sensor};
}

static void place_sensors(jm__board_part *boards, const jm__dataset *d, const size_t *counts)
{
    for (size_t i = 0; i < d->sensor_count; i++) {
        const jm_sensor *sensor = &d->sensors[i];
        bool known = sensor->board_id >= 1 && (size_t)sensor->board_id <= d->board_count;
        if (!known || counts[i] == 0) continue;
        jm__board_part *part = &boards[sensor->board_id - 1];
        if (jm__sensor_is_counter(sensor)) {
            if (part->counter == NULL) part->counter = sensor;
        } else if (jm__sensor_rank(sensor) > JM_RANK_NONE) {
            place(part, sensor);
        }
    }
}

/* Each sensor's share of the part's room, which is as large as all of them need. */
static jm_status make_room(jm__board_part *boards, size_t board_count, const size_t *counts, jm_error *err)
{
    for (size_t b = 0; b < board_count; b++) {
        jm__board_part *part = &boards[b];
        size_t used = part->counter == NULL ? 0 : counts[part->counter->id - 1], all = used;
        for (size_t k = 0; k < part->power_count; k++)
            all += counts[part->powers[k].sensor->id - 1];
        part->readings = calloc(all + 1, sizeof *part->readings);
        if (part->readings == NULL) return jm__no_memory(err, "jm__attribution_begin");
        part->counts = part->readings;
        for (size_t k = 0; k < part->power_count; k++) {
            part->powers[k].readings = part->readings + used;
            used += counts[part->powers[k].sensor->id - 1];
        }
    }
    return JM_OK;
}

/* A meter outside or a CPU may well read nothing. */
static bool is_power(const jm__board_part *part, double value)
{
    if (!jm__board_is_fitted(part->board)) return isfinite(value);
    return value >= JM_BOARD_LEAST_W && value <= JM_BOARD_MOST_W;
}

static void put(jm__board_part *part, const jm_sensor *sensor, const jm_reading *reading)
{
    if (sensor == part->counter) part->counts[part->count_count++] = *reading;
    for (size_t k = 0; k < part->power_count; k++) {
        jm__power_series *series = &part->powers[k];
        if (sensor != series->sensor) continue;
        if (is_power(part, reading->value)) {
            part->readings[(size_t)(series->readings - part->readings) + series->count++] = *reading;
            continue;
        }
        size_t known = 0;
        while (part->refused_of[known] != NULL && part->refused_of[known] != sensor)
            known++;
        part->refused_of[known] = sensor;
        part->refused++;
    }
}

/* Late stamps go back to the grid of the board's own clock. */
static jm_status put_on_grid(jm__board_part *part, jm_error *err)
{
    for (size_t k = 0; k < part->power_count; k++) {
        const jm__power_series *series = &part->powers[k];
        if (!jm__sensor_stamps_late(series->sensor)) continue;
        jm_reading *first = part->readings + (series->readings - part->readings);
        JM_TRY(jm__ring_grid(first, series->count, series->sensor->period_ns, false, err));
    }
    return JM_OK;
}

static void take_response(jm__board_part *part)
{
    const jm__model_response *r = &part->response;
    for (size_t k = 0; k < part->power_count; k++) {
        if (strcmp(part->powers[k].sensor->name, r->sensor) != 0) continue;
        jm_sensor *sensor = &part->learnt_sensor;
        *sensor = *part->powers[k].sensor;
        sensor->lag_ns = llround(r->lag_ns);
        sensor->lag_u_ns = llround(r->lag_u_ns);
        sensor->tau_u_ns = llround(r->width_u_ns);
        *(sensor->response == JM_RESPONSE_FIRST_ORDER ? &sensor->tau_ns : &sensor->window_ns) =
            llround(r->width_ns);
        part->powers[k].sensor = sensor;
        return;
    }
}

static jm_status find_sampler(jm__board_part *part, const jm__dataset *dataset, jm_error *err)
{
    const jm__board_model *model = &part->model;
    bool known = model->board != NULL && !model->shipped;
    return jm__sampler_draw_find(&part->sampler, dataset, part->board, known ? model->sampler_w : NAN,
                                 known ? model->sampler_u_w : NAN, err);
}

double jm__board_sampler_j(const jm__board_part *part, double *seconds, double *u_j)
{
    const jm__columns *columns = &part->work->columns;
    size_t first = jm__sampler_column(columns), count = columns->sampler_columns, n = columns->count;
    double energy_j = 0, variance = 0;
    *seconds = 0;
    for (size_t i = first; part->fit.known && i < first + count; i++) {
        *seconds += part->work->seconds[i];
        energy_j += part->work->seconds[i] * part->fit.power_w[i];
        for (size_t j = first; j < first + count; j++)
            variance += part->work->seconds[i] * part->work->seconds[j] * part->fit.covariance[i * n + j];
    }
    *u_j = sqrt(fmax(0, variance));
    return energy_j;
}

/* Series of which nothing is left are none. */
static void drop_empty(jm__board_part *part)
{
    size_t kept = 0;
    for (size_t k = 0; k < part->power_count; k++)
        if (part->powers[k].count > 0) part->powers[kept++] = part->powers[k];
    part->power_count = kept;
    if (part->count_count == 0) part->counter = NULL;
}

jm_status jm__board_readings_take(jm__board_part *boards, const jm__dataset *d, jm_error *err)
{
    size_t *counts = calloc(d->sensor_count + 1, sizeof *counts);
    if (counts == NULL) return jm__no_memory(err, "jm__attribution_begin");
    for (size_t i = 0; i < d->reading_count; i++) {
        int64_t id = d->readings[i].sensor_id;
        if (id >= 1 && (size_t)id <= d->sensor_count) counts[id - 1]++;
    }
    place_sensors(boards, d, counts);
    jm_status status = make_room(boards, d->board_count, counts, err);
    for (size_t i = 0; status == JM_OK && i < d->reading_count; i++) {
        int64_t id = d->readings[i].sensor_id;
        if (id < 1 || (size_t)id > d->sensor_count) continue;
        const jm_sensor *sensor = &d->sensors[id - 1];
        if (sensor->board_id < 1 || (size_t)sensor->board_id > d->board_count) continue;
        put(&boards[sensor->board_id - 1], sensor, &d->readings[i]);
    }
    for (size_t b = 0; status == JM_OK && b < d->board_count; b++) {
        boards[b].count_count = jm__counts_clean(boards[b].counts, boards[b].count_count);
        drop_empty(&boards[b]);
        take_response(&boards[b]);
        status = put_on_grid(&boards[b], err);
        if (status == JM_OK) status = find_sampler(&boards[b], d, err);
    }
    free(counts);
    return status;
}

static int64_t seen_ns(const jm__power_series *series, const jm__intervals *windows)
{
    int64_t sum_ns = 0;
    for (size_t i = 0; i < windows->count; i++) {
        jm__power_piece piece = {.to_ns = windows->items[i].from_ns};
        while (jm__power_next(&piece, series, 1, windows->items[i].to_ns))
            sum_ns += piece.by == NULL ? 0 : piece.to_ns - piece.from_ns;
    }
    return sum_ns;
}

void jm__board_series_choose(jm__board_part *part)
{
    int64_t saw_ns[JM_POWER_SERIES_MAX], most_ns = 0;
    if (part->power_count == 0) return;
    for (size_t k = 0; k < part->power_count; k++) {
        saw_ns[k] = seen_ns(&part->powers[k], &part->windows);
        /* Means were made of what the others saw: these have not failed, and tell of work what no mean does.
         */
        if (jm__sensor_is(part->powers[k].sensor, JM_SENSOR_POWER_MEAN)) continue;
        if (saw_ns[k] > most_ns) most_ns = saw_ns[k];
    }
    size_t chosen = 0;
    while (chosen + 1 < part->power_count && (double)saw_ns[chosen] < failed_share * (double)most_ns)
        chosen++;
    part->sensor = part->powers[chosen].sensor;
}

const jm__power_series *jm__board_series(const jm__board_part *part)
{
    for (size_t k = 0; k < part->power_count; k++)
        if (part->powers[k].sensor == part->sensor) return &part->powers[k];
    return NULL;
}

void jm__board_readings_free(jm__board_part *part)
{
    free(part->readings);
    part->readings = part->counts = NULL;
    part->power_count = part->count_count = 0;
}

/* What ran in the 20 ms before a reading of the clock ran at about that clock: it changes slower
 * (docs/sensors.md), and a kind is seen in many readings. */
static const double window_ns = 20.0 * (double)JM_NS_PER_MS;

/* What readings of the clock say of each column. */
typedef struct clock_sums {
    double *mhz;  /* [columns]: weight times clock */
    double *seen; /* [columns]: weight */
} clock_sums;

static void add_reading(clock_sums *sums, const double *row, double mhz, size_t columns)
{
    for (size_t k = 0; k < columns; k++) {
        sums->mhz[k] += row[k] * mhz;
        sums->seen[k] += row[k];
    }
}

/* From readings in the time reported; of a kind that none of them saw, from those of all the run. */
static jm_status find_shares(double *mhz, const jm__board_part *part, const jm__dataset *d,
                             const jm_sensor *sensor, jm_error *err)
{
    size_t columns = part->work->columns.count;
    jm__design design;
    double *room = calloc(4 * columns + 4, sizeof *room);
    if (room == NULL) return jm__no_memory(err, "jm__clocks_find");
    clock_sums here = {room, room + columns}, all = {room + 2 * columns, room + 3 * columns};
    jm_status status = jm__design_init(&design, &part->work->pieces, columns, err);
    if (status == JM_OK) jm__design_start(&design, (jm__response){JM_RESPONSE_BOX, 0, window_ns});
    for (size_t i = 0; status == JM_OK && i < d->reading_count; i++) {
        const jm_reading *reading = &d->readings[i];
        if (reading->sensor_id != sensor->id ||
            jm__intervals_contain(&part->extrapolated.time, reading->t_ns))
            continue;
        const double *row = jm__design_row(&design, reading->t_ns);
        add_reading(&all, row, reading->value, columns);
        if (jm__intervals_contain(&part->windows, reading->t_ns))
            add_reading(&here, row, reading->value, columns);
    }
    for (size_t k = 0; status == JM_OK && k < columns; k++) {
        const clock_sums *marked = here.seen[k] > 0 ? &here : &all;
        mhz[k] = marked->seen[k] > 0 ? marked->mhz[k] / marked->seen[k] : NAN;
    }
    if (status == JM_OK) jm__design_free(&design);
    free(room);
    return status == JM_OK ? jm__pieces_check(&part->work->pieces, err) : status;
}

jm_status jm__clocks_find(jm__board_part *part, const jm__dataset *dataset, jm_error *err)
{
    const jm_sensor *sensor = jm__clock_sensor(dataset, part->board);
    if (sensor == NULL) return JM_OK;
    part->clock_mhz = calloc(part->work->columns.count + 1, sizeof *part->clock_mhz);
    if (part->clock_mhz == NULL) return jm__no_memory(err, "jm__clocks_find");
    return find_shares(part->clock_mhz, part, dataset, sensor, err);
}

/* The model's counters, as the windows are asked for them. `metrics`: room for all. */
static jm__rate_choice choice_of(const jm__board_model *model, const char **metrics)
{
    for (size_t m = 0; m < model->count; m++)
        metrics[m] = model->features[m].metric;
    return (jm__rate_choice){metrics, model->count, model->clock_mhz, model->clock_exponent, model->slots};
}

static bool has_counters(const jm__dataset *dataset, const jm_board *board)
{
    for (size_t i = 0; i < dataset->counters.set_count; i++)
        if (dataset->counters.sets[i].board_id == board->id) return true;
    return false;
}

/* What was learnt of a sensor holds for this very board and its driver. */
static void find_response(jm__board_part *part)
{
    const jm__board_model *model = &part->model;
    bool own = model->board != NULL && jm__model_has_response(model) &&
               strcmp(model->uuid, part->board->uuid) == 0 && strcmp(model->driver, part->board->driver) == 0;
    if (own) part->response = model->response;
}

/* A board's own model that cannot be read must not stand in the way of a report. One shipped for its kind is
 * of use where there are counters. */
static jm_status find(jm__board_part *part, jm_error *err)
{
    jm_error own = {0};
    jm_status status = jm__model_own(&part->model, part->board, &own);
    if (status == JM_NO_MEMORY) return jm__no_memory(err, "jm_report_create");
    if (status != JM_OK)
        snprintf(part->model_fault, sizeof part->model_fault, "%.*s", (int)sizeof part->model_fault - 1,
                 own.text);
    find_response(part);
    if (part->model.count > 0 || !part->counted_by_hardware) return JM_OK;
    jm__model_free(&part->model);
    return jm__model_shipped(&part->model, part->board, err);
}

/* Boards of a kind may have more or fewer multiprocessors, and so slots. In one window of twenty work is
 * light, and NVML's clock the true one; where even there the model's slots are far off, this board has
 * others. */
static jm_status fit_slots(jm__board_part *part, const jm__dataset *dataset, const jm__rate_choice *choice,
                           jm_error *err)
{
    double slots, *known = &part->model.slots;
    JM_TRY(jm__slots_find(&slots, dataset, part->board->id, choice, NULL, 0.95, err));
    bool other = slots > 0 && (slots < 0.93 * *known || slots > 1.1 * *known);
    if (*known > 0 && other) *known = slots;
    return JM_OK;
}

/* Its counters are those of the recording, or they are left aside. */
static jm_status fit_counters(jm__board_part *part, const jm__dataset *dataset, const char *queried,
                              jm_error *err)
{
    const char *metrics[JM_MODEL_FEATURES_MAX];
    jm__board_model *model = &part->model;
    bool known = false;
    const jm__rate_choice choice = choice_of(model, metrics);
    if (part->counted_by_hardware)
        JM_TRY(jm__rates_available(&known, dataset, part->board->id, &choice, err));
    if (known) return model->shipped ? fit_slots(part, dataset, &choice, err) : JM_OK;
    if (part->counted_by_hardware && (queried != NULL || !model->shipped))
        snprintf(part->model_fault, sizeof part->model_fault,
                 "its counters are not all among those of this recording (%.120s, ...)", metrics[0]);
    jm__model_drop_counters(model);
    return JM_OK;
}

jm_status jm__counted_model(jm__board_part *part, const jm__dataset *dataset, const char *queried,
                            jm_error *err)
{
    jm__board_model *model = &part->model;
    part->counted_by_hardware = has_counters(dataset, part->board);
    if (queried != NULL && strcmp(queried, JM_MODEL_NONE) == 0) return JM_OK;
    JM_TRY(queried != NULL ? jm__model_read(model, queried, err) : find(part, err));
    if (queried != NULL) find_response(part);
    if (model->count == 0) return JM_OK;
    if (strcmp(model->uuid, part->board->uuid) != 0) jm__model_mark_other_board(model);
    return fit_counters(part, dataset, queried, err);
}

void jm__counted_ready(jm__board_part *part, const jm__dataset *dataset, const char *queried)
{
    bool sampled = part->counted_by_hardware && dataset->ncu == NULL;
    jm__board_model *model = &part->model;
    if (model->board == NULL) return;
    /* Without a kernel nobody knows when the board had nothing to do. */
    part->idle_known = !part->work->from_host && jm__idle_of_model(&part->idle, model);
    /* Readings have in them what its sampler drew, and a shipped model has not. */
    if (queried == NULL && model->shipped && sampled && part->sampler.windows.count == 0)
        model->constant_w += part->sampler.known.rest_w;
}

jm_status jm__counted_prior(jm__prior *prior, jm__board_part *part, const jm__dataset *dataset,
                            const jm__expectation *expected, jm_error *err)
{
    const jm__board_model *model = &part->model;
    const char *metrics[JM_MODEL_FEATURES_MAX];
    jm__class_rates rates;
    if (model->count == 0) return JM_OK;
    const jm__rate_choice choice = choice_of(model, metrics);
    JM_TRY(jm__class_rates_find(&rates, dataset, part->board->id, &choice, &part->work->pieces,
                                part->work->columns.count, part->work->columns.class_columns, err));
    part->counter_windows = rates.windows;
    jm_status status = rates.windows == 0 ? JM_OK
                                          : jm__prior_from_counters(prior, model, &rates, expected,
                                                                    part->work->columns.class_columns, err);
    jm__class_rates_free(&rates);
    if (status == JM_OK || status == JM_NO_MEMORY) return status;
    /* Numbers that no sum can hold: what they say is left out, and said. */
    jm__prior_free(prior);
    part->counter_windows = 0;
    snprintf(part->model_fault, sizeof part->model_fault,
             "its errors for this run's counters are not a covariance");
    return JM_OK;
}

/* Time in which a board did not answer is no part of its energy: to go on with the last reading would be to
 * invent joules. */

static int64_t last_ns_of(const jm_reading *readings, size_t count, int64_t t_ns)
{
    size_t after;
    jm__search(after, count, readings[after].t_ns <= t_ns);
    return after > 0 ? readings[after - 1].t_ns : INT64_MIN;
}

static int64_t first_ns_of(const jm_reading *readings, size_t count, int64_t t_ns)
{
    size_t at;
    jm__search(at, count, readings[at].t_ns < t_ns);
    return at < count ? readings[at].t_ns : INT64_MAX;
}

/* The newest of the part's readings up to t; INT64_MIN: there is none. */
static int64_t last_reading_ns(const jm__board_part *part, int64_t t_ns)
{
    int64_t last_ns = last_ns_of(part->counts, part->count_count, t_ns);
    for (size_t k = 0; k < part->power_count; k++) {
        int64_t own_ns = last_ns_of(part->powers[k].readings, part->powers[k].count, t_ns);
        if (own_ns > last_ns) last_ns = own_ns;
    }
    return last_ns;
}

/* The oldest from t on; INT64_MAX: there is none. */
static int64_t first_reading_ns(const jm__board_part *part, int64_t t_ns)
{
    int64_t first_ns = first_ns_of(part->counts, part->count_count, t_ns);
    for (size_t k = 0; k < part->power_count; k++) {
        int64_t own_ns = first_ns_of(part->powers[k].readings, part->powers[k].count, t_ns);
        if (own_ns < first_ns) first_ns = own_ns;
    }
    return first_ns;
}

/* When the board was back after event `lost`; INT64_MAX: never. */
static int64_t back_ns(const jm__dataset *d, const jm__board_part *part, const jm__event *lost)
{
    int64_t found_ns = INT64_MAX;
    for (size_t i = 0; i < d->event_count; i++) {
        const jm__event *event = &d->events[i];
        bool later = event->t_ns >= lost->t_ns && event->t_ns < found_ns;
        if (event->kind == JM_EVENT_BOARD_BACK && event->board_id == part->board->id && later)
            found_ns = event->t_ns;
    }
    return found_ns == INT64_MAX ? INT64_MAX : first_reading_ns(part, found_ns);
}

jm_status jm__lost_find(jm__board_part *part, const jm__dataset *d, const jm__intervals *windows,
                        const jm__intervals *learn, jm_error *err)
{
    bool fine = true;
    for (size_t i = 0; fine && i < d->event_count; i++) {
        const jm__event *event = &d->events[i];
        if (event->kind != JM_EVENT_BOARD_LOST || event->board_id != part->board->id) continue;
        fine = jm__intervals_add(&part->lost, last_reading_ns(part, event->t_ns), back_ns(d, part, event));
    }
    jm__intervals_normalise(&part->lost);
    fine = fine && jm__intervals_add_all(&part->windows, windows) &&
           jm__intervals_subtract(&part->windows, &part->lost) &&
           jm__intervals_add_all(&part->learn, learn) && jm__intervals_subtract(&part->learn, &part->lost);
    return fine ? JM_OK : jm__no_memory(err, "jm__lost_find");
}
