/* What a total would have been, had somebody asked the sensor less often: from the readings of a recording.
 */
#ifndef JOULEMAP_THINNED_H
#define JOULEMAP_THINNED_H

#include <joulemap/status.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Totals of an interval of time, joules. Whoever polls begins somewhere within his first interval, and gets
 * another total for each beginning: JM_THINNED_STARTS of them are tried, evenly apart. */
typedef struct jm_thinned {
    double full_j; /* by all readings */
    double mean_j; /* by polls, over all beginnings; then the least and the most of them */
    double least_j;
    double most_j;
    double error_j; /* root mean square of what they are off `full_j` */
} jm_thinned;

#define JM_THINNED_STARTS 16

/* Readings of power (jm_series) are given by their stamps, never falling. A poll sees the newest reading;
 * between polls power is a straight line, before the first and after the last it stays. The same goes for all
 * readings. USAGE: no reading, an interval that ends before it begins, or an interval that is not positive.
 */
JM_API jm_status jm_thinned_energy(const int64_t *t_ns, const double *power_w, size_t count, int64_t from_ns,
                                   int64_t to_ns, int64_t interval_ns, jm_thinned *out, jm_error *err);

#ifdef __cplusplus
}
#endif
#endif
