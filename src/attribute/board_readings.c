/* Sorting readings out by sensor. */
#include "attribute/board_readings.h"

#include "attribute/fit/counts.h"
#include "attribute/input/ring_grid.h"
#include "base/status.h"
#include "format/rows/sensor_role.h"

#include <math.h>
#include <stdlib.h>

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
        JM_TRY(jm__ring_grid(first, series->count, series->sensor->period_ns, err));
    }
    return JM_OK;
}

/* What sampling its counters made it draw is not the program's. */
static jm_status take_sampler_off(jm__board_part *part, const jm__dataset *dataset, jm_error *err)
{
    const jm__board_model *model = &part->model;
    bool known = model->board != NULL && !model->shipped;
    JM_TRY(jm__sampler_draw_find(&part->sampler, dataset, part->board, known ? model->sampler_w : NAN,
                                 known ? model->sampler_u_w : NAN, err));
    for (size_t k = 0; k < part->power_count; k++) {
        const jm__power_series *series = &part->powers[k];
        jm_reading *first = part->readings + (series->readings - part->readings);
        jm__sampler_draw_take_off(&part->sampler, series->sensor, first, series->count);
    }
    if (part->counter != NULL)
        jm__sampler_draw_take_off(&part->sampler, part->counter, part->counts, part->count_count);
    return JM_OK;
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
        status = put_on_grid(&boards[b], err);
        if (status == JM_OK) status = take_sampler_off(&boards[b], d, err);
    }
    free(counts);
    return status;
}

static int64_t seen_ns(const jm__power_series *series, const jm__windows *windows)
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
