/* A recorded sweep: what the same work took at each of several caps. */
#ifndef JM_CAP_SWEEP_H
#define JM_CAP_SWEEP_H

#include <joulemap/cap.h>

/* Where caps were measured several times, a row is the mean, and its uncertainties are what the spread of
 * repeats, of all caps together, makes of it; else these are 0. */
typedef struct jm__cap_sweep {
    jm_cap_probe rows[JM_CAP_MOST_CAPS]; /* in the order of the file */
    size_t count;
} jm__cap_sweep;

/* CSV with the columns cap_w, time_s, power_w. BAD_DATA: a value that cannot be, no row. LIMIT. */
jm_status jm__cap_sweep_read(jm__cap_sweep *sweep, const char *path, jm_error *err);

#endif
