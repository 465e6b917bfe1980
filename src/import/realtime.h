/* From CLOCK_REALTIME to the clock of a recording, by its anchors. */
#ifndef JM_IMPORT_REALTIME_H
#define JM_IMPORT_REALTIME_H

#include "base/clock.h"
#include "base/vec.h"
#include "format/recording.h"

/* Zero-initialise. */
typedef struct jm__realtime {
    JM_VEC(jm__anchor) anchors; /* the first one after each time that somebody set the clock */
    size_t at;                  /* the one that was used last */
} jm__realtime;

/* A recording made from CSV has no anchors: what is added to it has its clock. BAD_DATA: others without. */
jm_status jm__realtime_load(jm__realtime *realtime, jm_recording *recording, jm_error *err);

/* Times come in their order: none lies before `after_ns`, which tells two apart that the time of day is the
 * same of, once the clock was set back. False: no such time. */
bool jm__realtime_convert(jm__realtime *realtime, int64_t realtime_ns, int64_t after_ns,
                          int64_t *monotonic_ns);

void jm__realtime_free(jm__realtime *realtime);

#endif
