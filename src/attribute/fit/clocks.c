/* The clock of each column, by what its readings had in their windows. */
#include "attribute/fit/clocks.h"

#include "attribute/fit/calibrate.h"
#include "attribute/work/clock_track.h"
#include "base/clock.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>

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
static jm_status find_shares(double *mhz, jm__board_work *work, const jm__dataset *d, const jm_sensor *sensor,
                             jm_error *err)
{
    size_t columns = work->columns.count;
    jm__design design;
    double *room = calloc(4 * columns + 4, sizeof *room);
    if (room == NULL) return jm__no_memory(err, "jm__clocks_find");
    clock_sums here = {room, room + columns}, all = {room + 2 * columns, room + 3 * columns};
    jm_status status = jm__design_init(&design, &work->pieces, columns, err);
    if (status == JM_OK) jm__design_start(&design, (jm__response){JM_RESPONSE_BOX, 0, window_ns});
    for (size_t i = 0; status == JM_OK && i < d->reading_count; i++) {
        const jm_reading *reading = &d->readings[i];
        if (reading->sensor_id != sensor->id ||
            jm__intervals_contain(&work->time->extrapolated.time, reading->t_ns))
            continue;
        const double *row = jm__design_row(&design, reading->t_ns);
        add_reading(&all, row, reading->value, columns);
        if (jm__intervals_contain(&work->time->windows, reading->t_ns))
            add_reading(&here, row, reading->value, columns);
    }
    for (size_t k = 0; status == JM_OK && k < columns; k++) {
        const clock_sums *marked = here.seen[k] > 0 ? &here : &all;
        mhz[k] = marked->seen[k] > 0 ? marked->mhz[k] / marked->seen[k] : NAN;
    }
    if (status == JM_OK) jm__design_free(&design);
    free(room);
    return status == JM_OK ? jm__pieces_check(&work->pieces, err) : status;
}

jm_status jm__clocks_find(double **mhz, jm__board_work *work, const jm__dataset *dataset,
                          const jm_board *board, jm_error *err)
{
    const jm_sensor *sensor = jm__clock_sensor(dataset, board);
    *mhz = NULL;
    if (sensor == NULL) return JM_OK;
    *mhz = calloc(work->columns.count + 1, sizeof **mhz);
    if (*mhz == NULL) return jm__no_memory(err, "jm__clocks_find");
    return find_shares(*mhz, work, dataset, sensor, err);
}
