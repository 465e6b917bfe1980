/* The clock of a board over time, in steps. */
#ifndef JM_ATTRIBUTE_WORK_CLOCK_TRACK_H
#define JM_ATTRIBUTE_WORK_CLOCK_TRACK_H

#include "format/dataset.h"

typedef struct jm__clock_track {
    jm_reading *readings; /* of the clock, by time */
    size_t count;
    size_t at; /* the first that counts for the last query */
} jm__clock_track;

/* False if memory is out. */
bool jm__clock_track_begin(jm__clock_track *track, const jm__dataset *dataset, const jm_board *board);
void jm__clock_track_free(jm__clock_track *track);

/* The clock's step during some work, from 1; 0: the clock is not recorded or did not move. start_ns must not
 * decrease from call to call. */
int64_t jm__clock_track_step(jm__clock_track *track, int64_t start_ns, int64_t end_ns);

/* The middle of a step. */
double jm__clock_step_mhz(int64_t step);

/* For jm__clock_between_at: keeps the readings even if the clock did not move. False if memory is out. */
bool jm__clock_readings_begin(jm__clock_track *track, const jm__dataset *dataset, const jm_board *board);

/* MHz, interpolated between readings; NAN: none is recorded. t_ns must not decrease from call to call. */
double jm__clock_between_at(jm__clock_track *track, int64_t t_ns);

/* The sensor of a board's clock; NULL: none is recorded. */
const jm_sensor *jm__clock_sensor(const jm__dataset *dataset, const jm_board *board);

#endif
