/* Readings or spans of a stretch of time, without a walk through all that a long run has. */
#ifndef JM_FORMAT_READING_STRETCH_H
#define JM_FORMAT_READING_STRETCH_H

#include "format/dataset.h"
#include "format/recording.h"

/* Each of them, as jm__recording_rows would give it. */
jm_status jm__reading_stretch(jm_recording *recording, sqlite3 *db, const jm__stretch_wanted *wanted,
                              jm__row_taker take, void *context, jm_error *err);

/* The same of spans that began in it; kind and name are not looked at. */
jm_status jm__span_stretch(jm_recording *recording, sqlite3 *db, const jm__stretch_wanted *wanted,
                           jm__row_taker take, void *context, jm_error *err);

#endif
