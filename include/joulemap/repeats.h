/* Statistics of repeated measurements. */
#ifndef JOULEMAP_REPEATS_H
#define JOULEMAP_REPEATS_H

#include <joulemap/status.h>
#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Statistics in the unit of the values. NAN: too few values. */
typedef struct jm_repeats {
    size_t count; /* number of values */
    double mean;
    double low, high; /* 95 % interval of the mean, by Student's t; needs two values */
    double deviation; /* sample standard deviation (n - 1) */
    double median;
    double least, most;
    double slope;                 /* of a linear regression over their order, per value: a drift */
    double slope_low, slope_high; /* its 95 % interval; needs three values */
} jm_repeats;

/* Statistics of `count` values in the order of measurement. None may be NAN. USAGE: no value. */
JM_API jm_status jm_repeats_of(const double *values, size_t count, jm_repeats *out, jm_error *err);

/* The number of first values that are a warm-up: all of them are outside the 99 % prediction interval of a
 * normal distribution of the values after them. At most a third, and at least four remain. */
JM_API size_t jm_repeats_warm_up(const double *values, size_t count);

/* Find outliers by the generalized extreme Studentized deviate test at 5 % (B. Rosner, Technometrics 25,
 * 1983), at most a quarter of the values. With fewer than 15 values it finds one by chance in 8 of 100 runs.
 * Sets outlier[count] and their number. Fewer than 7 values: none. NO_MEMORY. */
JM_API jm_status jm_repeats_outliers(const double *values, size_t count, bool *outlier, size_t *found,
                                     jm_error *err);

#ifdef __cplusplus
}
#endif
#endif
