/* Readings of a stretch of time, without a walk through all that a long run has. */
#ifndef JM_RECORDING_READING_STRETCH_H
#define JM_RECORDING_READING_STRETCH_H

#include "recording/recording.h"

/* Each reading of power or energy with a stamp from `from_ns` to `to_ns`, as jm__recording_rows would give
 * it. */
jm_status jm__reading_stretch(jm_recording *recording, sqlite3 *db, int64_t from_ns, int64_t to_ns,
                              jm__row_taker take, void *context, jm_error *err);

#endif
