/* What a program of many kernels draws, with errors that its kernels share. */
#ifndef JM_ESTIMATE_TOTALS_H
#define JM_ESTIMATE_TOTALS_H

#include "base/map.h"
#include "estimate/estimate.h"
#include "estimate/kernel_power.h"

/* Sums over kernels, as they come. */
typedef struct jm__estimate_sums {
    const jm__board_model *model;
    double *features_s; /* [count + 1]: features times seconds */
    double *family_j;   /* [families]: energy */
    jm__map own;        /* of a kernel and its grid -> its own error, J: the same kernel errs alike */
    double energy_j, seconds;
    double data_j;       /* how much less with constant data */
    double time_w2;      /* what durations may be off by, J^2 */
    double extra_gain_u; /* for what is extrapolated, relative */
} jm__estimate_sums;

jm_status jm__estimate_sums_init(jm__estimate_sums *sums, const jm__board_model *model, jm_error *err);
void jm__estimate_sums_free(jm__estimate_sums *sums);

/* Kernels that err alike: the same, launched with the same grid. Texts are told apart by their addresses:
 * ncu/ncu.h has each once. */
typedef struct jm__same_kernel {
    const char *name, *grid;
} jm__same_kernel;

/* `features`: of jm__kernel_power_find. */
jm_status jm__estimate_sums_add(jm__estimate_sums *sums, const jm__kernel_power *power,
                                const double *features, int family, jm__same_kernel same, double launches,
                                jm_error *err);

/* The standard error of the sum, J. */
double jm__estimate_sums_u(const jm__estimate_sums *sums);

/* Of one kernel's power, W. */
double jm__power_u(const jm__board_model *model, const jm__kernel_power *power, const double *features,
                   double extra_gain_u);

/* Where it went, by parts of the chip. */
void jm__estimate_sums_parts(const jm__estimate_sums *sums, jm_estimate *estimate);

#endif
