/* How near to its highest clock a board ran each kind of work: below 1 it was held back, by power or heat. */
#include "attribute/fit/response.h"
#include "attribute/rollup/means.h"
#include "base/clock.h"
#include "base/status.h"
#include "rows/sensor_role.h"

#include <math.h>
#include <stdlib.h>

/* What ran in the 20 ms before a reading of the clock ran at about that clock: it changes slower
 * (docs/sensors.md), and a kind is seen in many readings. */
static const double window_ns = 20.0 * (double)JM_NS_PER_MS;

static const jm_sensor *clock_of(const jm__dataset *d, const jm_board *board)
{
    for (size_t i = 0; i < d->sensor_count; i++)
        if (d->sensors[i].board_id == board->id && jm__sensor_is(&d->sensors[i], JM_SENSOR_CLOCK_SM))
            return &d->sensors[i];
    return NULL;
}

/* What readings of the clock say of each column. */
typedef struct clock_sums {
    double *share; /* [columns]: weight times share of the limit */
    double *seen;  /* [columns]: weight */
} clock_sums;

static void add_reading(clock_sums *sums, const double *row, double share, size_t columns)
{
    for (size_t k = 0; k < columns; k++) {
        sums->share[k] += row[k] * share;
        sums->seen[k] += row[k];
    }
}

/* value[columns of this board]: from readings in the time reported; of a kind that none of them saw, from
 * those of all the run. */
static jm_status find_board(double *value, const jm__board_part *part, const jm__dataset *d,
                            const jm_sensor *sensor, jm_error *err)
{
    size_t columns = part->work->columns.count;
    jm__design design;
    double *room = calloc(4 * columns + 4, sizeof *room);
    clock_sums here = {room, room + columns}, all = {room + 2 * columns, room + 3 * columns};
    if (room == NULL) return jm__no_memory(err, "jm__mean_clock_limit_share");
    jm_status status = jm__design_init(&design, &part->work->pieces, columns, err);
    if (status == JM_OK) jm__design_start(&design, (jm__response){JM_RESPONSE_BOX, 0, window_ns});
    for (size_t i = 0; status == JM_OK && i < d->reading_count; i++) {
        const jm_reading *reading = &d->readings[i];
        if (reading->sensor_id != sensor->id) continue;
        const double *row = jm__design_row(&design, reading->t_ns);
        double share = reading->value / part->board->clock_limit_mhz;
        add_reading(&all, row, share, columns);
        if (jm__windows_hold(&part->windows, reading->t_ns)) add_reading(&here, row, share, columns);
    }
    for (size_t k = 0; status == JM_OK && k < columns; k++) {
        const clock_sums *told = here.seen[k] > 0 ? &here : &all;
        if (told->seen[k] > 0) value[k] = told->share[k] / told->seen[k];
    }
    if (status == JM_OK) jm__design_free(&design);
    free(room);
    return status == JM_OK ? jm__pieces_check(&part->work->pieces, err) : status;
}

jm_status jm__mean_clock_limit_share(double *value, const jm__attribution *a, jm_error *err)
{
    for (size_t b = 0; b < a->dataset->board_count; b++) {
        const jm__board_part *part = &a->boards[b];
        const jm_sensor *sensor = clock_of(a->dataset, part->board);
        if (!part->work->wanted || sensor == NULL || !(part->board->clock_limit_mhz > 0)) continue;
        JM_TRY(find_board(value + part->first_column, part, a->dataset, sensor, err));
    }
    return JM_OK;
}
