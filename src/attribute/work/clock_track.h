/* The clock of a board over time, in steps. */
#ifndef JM_ATTRIBUTE_WORK_CLOCK_TRACK_H
#define JM_ATTRIBUTE_WORK_CLOCK_TRACK_H

#include "attribute/input/window.h"
#include "format/dataset.h"

typedef struct jm__clock_track {
    jm_reading *readings; /* of the clock, by time */
    int64_t *steps;       /* [count]: that work nearest to each ran at; NULL: the clock did not move */
    size_t count;
    size_t at; /* the last before what was asked for last */
} jm__clock_track;

/* False if memory is out. */
bool jm__clock_track_begin(jm__clock_track *track, const jm__dataset *dataset, const jm_board *board);
void jm__clock_track_free(jm__clock_track *track);

/* The step that it ran at, from 1; 0: the clock is not recorded or did not move. Starts must not go
 * back by more than the time between two readings. */
int64_t jm__clock_track_step(jm__clock_track *track, int64_t start_ns, int64_t end_ns);

/* Adds the times between two readings that are far apart: which clock it was in them is not known. False if
 * memory is out. */
bool jm__clock_jumps(const jm__clock_track *track, jm__intervals *out);

/* The middle of a step. */
double jm__clock_step_mhz(int64_t step);

/* For jm__clock_between_at: keeps the readings even if the clock did not move. False if memory is out. */
bool jm__clock_readings_begin(jm__clock_track *track, const jm__dataset *dataset, const jm_board *board);

/* MHz, interpolated between readings; NAN: none is recorded. t_ns must not decrease from call to call. */
double jm__clock_between_at(jm__clock_track *track, int64_t t_ns);

/* The sensor of a board's clock; NULL: none is recorded. */
const jm_sensor *jm__clock_sensor(const jm__dataset *dataset, const jm_board *board);

#endif
