/* A recorded sweep: what the same work took at each of several caps. */
#ifndef JM_CAP_SWEEP_H
#define JM_CAP_SWEEP_H

#include <joulemap/cap.h>

typedef struct jm__cap_sweep {
    jm_cap_probe rows[JM_CAP_MOST_CAPS]; /* in the order of the file */
    size_t count;
} jm__cap_sweep;

/* CSV with the columns cap_w, time_s, power_w. BAD_DATA: a value that cannot be, a cap twice, no row. LIMIT.
 */
jm_status jm__cap_sweep_read(jm__cap_sweep *sweep, const char *path, jm_error *err);

#endif
