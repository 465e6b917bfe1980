/* Readings of a board by sensor. */
#include "attribute/fit/board_readings.h"

#include "attribute/input/ring_grid.h"
#include "attribute/work/work.h"
#include "base/search.h"
#include "base/status.h"
#include "format/rows/sensor_role.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A better sensor that saw less than this of what another one saw has failed. A choice. */
static const double failed_share = 0.5;

/* A sensor takes its place among the series, the best first. */
static void place(jm__board_readings *r, const jm_sensor *sensor)
{
    size_t at = r->power_count;
    if (at == JM_POWER_SERIES_MAX) return;
    while (at > 0 && jm__sensor_rank(r->powers[at - 1].sensor) < jm__sensor_rank(sensor))
        at--;
    for (size_t i = r->power_count++; i > at; i--)
        r->powers[i] = r->powers[i - 1];
    r->powers[at] = (jm__power_series){.sensor = sensor};
}

static void place_sensors(jm__board_readings *r, const jm__dataset *d, const jm_board *board,
                          const size_t *counts)
{
    for (size_t i = 0; i < d->sensor_count; i++) {
        const jm_sensor *sensor = &d->sensors[i];
        if (sensor->board_id != board->id || counts[i] == 0) continue;
        if (jm__sensor_is_counter(sensor)) {
            if (r->counter == NULL) r->counter = sensor;
        } else if (jm__sensor_rank(sensor) > JM_RANK_NONE) {
            place(r, sensor);
        }
    }
}

/* Each sensor's share of the room, which is as large as all of them need. */
static jm_status make_room(jm__board_readings *r, const size_t *counts, jm_error *err)
{
    size_t used = r->counter == NULL ? 0 : counts[r->counter->id - 1], all = used;
    for (size_t k = 0; k < r->power_count; k++)
        all += counts[r->powers[k].sensor->id - 1];
    r->room = calloc(all + 1, sizeof *r->room);
    if (r->room == NULL) return jm__no_memory(err, "jm__board_readings_take");
    r->counts = r->room;
    for (size_t k = 0; k < r->power_count; k++) {
        r->powers[k].readings = r->room + used;
        used += counts[r->powers[k].sensor->id - 1];
    }
    return JM_OK;
}

/* A meter outside or a CPU may well read nothing. */
static bool is_power(const jm_board *board, double value)
{
    if (!jm__board_is_fitted(board)) return isfinite(value);
    return value >= JM_BOARD_LEAST_W && value <= JM_BOARD_MOST_W;
}

static void refuse(jm__board_readings *r, const jm_sensor *sensor)
{
    size_t known = 0;
    while (r->refused_of[known] != NULL && r->refused_of[known] != sensor)
        known++;
    r->refused_of[known] = sensor;
    r->refused++;
}

static void put(jm__board_readings *r, const jm_board *board, const jm_reading *reading)
{
    if (r->counter != NULL && reading->sensor_id == r->counter->id) r->counts[r->count_count++] = *reading;
    for (size_t k = 0; k < r->power_count; k++) {
        jm__power_series *series = &r->powers[k];
        if (reading->sensor_id != series->sensor->id) continue;
        if (is_power(board, reading->value))
            r->room[(size_t)(series->readings - r->room) + series->count++] = *reading;
        else
            refuse(r, series->sensor);
    }
}

/* Series of which nothing is left are none. */
static void drop_empty(jm__board_readings *r)
{
    size_t kept = 0;
    for (size_t k = 0; k < r->power_count; k++)
        if (r->powers[k].count > 0) r->powers[kept++] = r->powers[k];
    r->power_count = kept;
    if (r->count_count == 0) r->counter = NULL;
}

static void take_response(jm__board_readings *r, const jm__model_response *learnt)
{
    for (size_t k = 0; k < r->power_count; k++) {
        if (strcmp(r->powers[k].sensor->name, learnt->sensor) != 0) continue;
        jm_sensor *sensor = &r->learnt;
        *sensor = *r->powers[k].sensor;
        sensor->lag_ns = llround(learnt->lag_ns);
        sensor->lag_u_ns = llround(learnt->lag_u_ns);
        sensor->tau_u_ns = llround(learnt->width_u_ns);
        *(sensor->response == JM_RESPONSE_FIRST_ORDER ? &sensor->tau_ns : &sensor->window_ns) =
            llround(learnt->width_ns);
        r->powers[k].sensor = sensor;
        return;
    }
}

/* Late stamps go back to the grid of the board's own clock. */
static jm_status put_on_grid(jm__board_readings *r, jm_error *err)
{
    for (size_t k = 0; k < r->power_count; k++) {
        const jm__power_series *series = &r->powers[k];
        if (!jm__sensor_stamps_late(series->sensor)) continue;
        jm_reading *first = r->room + (series->readings - r->room);
        JM_TRY(jm__ring_grid(first, series->count, series->sensor->period_ns, false, err));
    }
    return JM_OK;
}

static size_t sensor_at(const jm__dataset *d, const jm_reading *reading)
{
    int64_t id = reading->sensor_id;
    return id >= 1 && (size_t)id <= d->sensor_count ? (size_t)id - 1 : d->sensor_count;
}

jm_status jm__board_readings_take(jm__board_readings *out, const jm__dataset *d, const jm_board *board,
                                  const jm__model_response *learnt, jm_error *err)
{
    size_t *counts = calloc(d->sensor_count + 1, sizeof *counts);
    if (counts == NULL) return jm__no_memory(err, "jm__board_readings_take");
    for (size_t i = 0; i < d->reading_count; i++)
        counts[sensor_at(d, &d->readings[i])]++;
    place_sensors(out, d, board, counts);
    jm_status status = make_room(out, counts, err);
    for (size_t i = 0; status == JM_OK && i < d->reading_count; i++)
        put(out, board, &d->readings[i]);
    free(counts);
    if (status != JM_OK) return status;
    out->count_count = jm__counts_clean(out->counts, out->count_count);
    drop_empty(out);
    take_response(out, learnt);
    return put_on_grid(out, err);
}

void jm__board_readings_free(jm__board_readings *readings)
{
    free(readings->room);
    readings->room = readings->counts = NULL;
    readings->power_count = readings->count_count = 0;
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

void jm__board_readings_choose(jm__board_readings *r, const jm__intervals *windows)
{
    int64_t saw_ns[JM_POWER_SERIES_MAX], most_ns = 0;
    if (r->power_count == 0) return;
    for (size_t k = 0; k < r->power_count; k++) {
        saw_ns[k] = seen_ns(&r->powers[k], windows);
        /* Means were made of what the others saw: these have not failed, and tell of work what no mean does.
         */
        if (jm__sensor_is(r->powers[k].sensor, JM_SENSOR_POWER_MEAN)) continue;
        if (saw_ns[k] > most_ns) most_ns = saw_ns[k];
    }
    size_t chosen = 0;
    while (chosen + 1 < r->power_count && (double)saw_ns[chosen] < failed_share * (double)most_ns)
        chosen++;
    r->sensor = r->powers[chosen].sensor;
}

const jm__power_series *jm__board_readings_series(const jm__board_readings *r)
{
    for (size_t k = 0; k < r->power_count; k++)
        if (r->powers[k].sensor == r->sensor) return &r->powers[k];
    return NULL;
}

/* ---- when a board was lost */

/* The newest reading up to t, or the oldest from t on; INT64_MIN, INT64_MAX: there is none. */
static int64_t reading_ns(const jm__board_readings *r, int64_t t_ns, bool later)
{
    int64_t found_ns = later ? INT64_MAX : INT64_MIN;
    for (size_t k = 0; k <= r->power_count; k++) {
        bool is_counter = k == r->power_count;
        const jm_reading *readings = is_counter ? r->counts : r->powers[k].readings;
        size_t at, count = is_counter ? r->count_count : r->powers[k].count;
        jm__search(at, count, readings[at].t_ns < t_ns || (!later && readings[at].t_ns == t_ns));
        if (later && at < count && readings[at].t_ns < found_ns) found_ns = readings[at].t_ns;
        if (!later && at > 0 && readings[at - 1].t_ns > found_ns) found_ns = readings[at - 1].t_ns;
    }
    return found_ns;
}

/* When the board was back after event `lost`; INT64_MAX: never. */
static int64_t back_ns(const jm__dataset *d, const jm__board_readings *r, const jm__event *lost)
{
    int64_t found_ns = INT64_MAX;
    for (size_t i = 0; i < d->event_count; i++) {
        const jm__event *event = &d->events[i];
        bool later = event->t_ns >= lost->t_ns && event->t_ns < found_ns;
        if (event->kind == JM_EVENT_BOARD_BACK && event->board_id == lost->board_id && later)
            found_ns = event->t_ns;
    }
    return found_ns == INT64_MAX ? INT64_MAX : reading_ns(r, found_ns, true);
}

bool jm__board_readings_lost(jm__intervals *lost, const jm__board_readings *r, const jm__dataset *d,
                             int64_t board_id)
{
    bool fine = true;
    for (size_t i = 0; fine && i < d->event_count; i++) {
        const jm__event *event = &d->events[i];
        if (event->kind != JM_EVENT_BOARD_LOST || event->board_id != board_id) continue;
        fine = jm__intervals_add(lost, reading_ns(r, event->t_ns, false), back_ns(d, r, event));
    }
    jm__intervals_normalise(lost);
    return fine;
}
