/* The same thing measured several times: what it takes, and how sure that is. */
#ifndef JOULEMAP_REPEATS_H
#define JOULEMAP_REPEATS_H

#include <joulemap/status.h>
#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What repeated values say together, in their unit. NAN: too few for it. */
typedef struct jm_repeats {
    size_t count; /* of the values behind the figures */
    double mean;
    double low, high; /* 95 % interval of the mean, by Student's t: from two values on */
    double deviation; /* standard deviation of one value (n - 1) */
    double median;
    double least, most;
    double slope;                 /* of a straight line over their order, per value: a drift */
    double slope_low, slope_high; /* its 95 % interval: from three values on */
} jm_repeats;

/* Figures of `count` values in the order in which they were measured. None may be missing. USAGE: no value.
 */
JM_API jm_status jm_repeats_of(const double *values, size_t count, jm_repeats *out, jm_error *err);

/* How many of the first values are a warm-up: all of them lie outside of where 99 % of values such as those
 * after them lie (the prediction interval of a normal distribution). At most a third, and never so many that
 * fewer than four are left. */
JM_API size_t jm_repeats_warm_up(const double *values, size_t count);

/* Outliers, by the generalized extreme Studentized deviate test at 5 % (B. Rosner, Technometrics 25, 1983),
 * at most a quarter of the values (of fewer than 15 values it finds one by chance in 8 of 100 runs): sets
 * outlier[count] and gives their number. Fewer than 7 values tell of none. NO_MEMORY. */
JM_API jm_status jm_repeats_outliers(const double *values, size_t count, bool *outlier, size_t *found,
                                     jm_error *err);

#ifdef __cplusplus
}
#endif
#endif
