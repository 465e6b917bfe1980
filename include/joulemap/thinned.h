/* The total that polling a sensor less often would have given, from the readings of a recording. */
#ifndef JOULEMAP_THINNED_H
#define JOULEMAP_THINNED_H

#include <joulemap/status.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Totals of an interval of time, joules. The total depends on when polling begins within the first polling
 * interval: JM_THINNED_STARTS evenly spaced starts are tried. */
typedef struct jm_thinned {
    double full_j; /* from all readings */
    double mean_j; /* mean over all starts; then the least and the most of them */
    double least_j;
    double most_j;
    double error_j; /* root mean square difference from `full_j` */
} jm_thinned;

#define JM_THINNED_STARTS 16

/* Power readings (jm_series) with non-decreasing timestamps. A poll returns the newest reading. Power is
 * linear between polls, and constant before the first and after the last; likewise for all readings. USAGE:
 * no reading, a reversed interval, or a non-positive polling interval. */
JM_API jm_status jm_thinned_energy(const int64_t *t_ns, const double *power_w, size_t count, int64_t from_ns,
                                   int64_t to_ns, int64_t interval_ns, jm_thinned *out, jm_error *err);

#ifdef __cplusplus
}
#endif
#endif
