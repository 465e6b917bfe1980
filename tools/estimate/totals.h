/* What a program of many kernels draws, with errors that its kernels share. */
#ifndef JM_ESTIMATE_TOTALS_H
#define JM_ESTIMATE_TOTALS_H

#include "base/map.h"
#include "estimate/estimate.h"
#include "estimate/kernel_power.h"
#include "estimate/range.h"

/* Sums over kernels, as they come. */
typedef struct jm__estimate_sums {
    const jm__board_model *model;
    const jm__errors *errors;
    double *features_s; /* [count + 1]: features times seconds */
    double *family_j;   /* [families]: energy */
    jm__map same;       /* of a kernel and its grid -> its energy, J: the same kernel errs alike */
    jm__map own;        /* likewise -> its own error beside the model's, J */
    double other_j2;    /* of kernels of no family: their energies squared */
    double energy_j, seconds;
    double data_j;    /* how much less with constant data */
    double time_w2;   /* what durations may be off by, J^2 */
    jm__sides rows_j; /* the sum of the ranges of all kernels, as if all erred alike */
} jm__estimate_sums;

/* Both are borrowed. */
jm_status jm__estimate_sums_init(jm__estimate_sums *sums, const jm__board_model *model,
                                 const jm__errors *errors, jm_error *err);
void jm__estimate_sums_free(jm__estimate_sums *sums);

/* Kernels that err alike: the same, launched with the same grid. Texts are told apart by their addresses:
 * import/ncu/ncu.h has each once. */
typedef struct jm__same_kernel {
    const char *name, *grid;
} jm__same_kernel;

/* `features`: of jm__kernel_power_find; `row_j`: the range of one launch. */
jm_status jm__estimate_sums_add(jm__estimate_sums *sums, const jm__kernel_power *power,
                                const double *features, int family, jm__same_kernel same, double launches,
                                jm__sides row_j, jm_error *err);

/* Of the sum, J, without what constant data spare. */
jm__sides jm__estimate_sums_sides(const jm__estimate_sums *sums);

/* Of one kernel, likewise: of its power, W, and of a launch's energy, J. */
jm__sides jm__power_sides(const jm__board_model *model, const jm__errors *errors,
                          const jm__kernel_power *power, const double *features);
jm__sides jm__energy_sides(const jm__board_model *model, const jm__errors *errors,
                           const jm__kernel_power *power, const double *features);

/* Where it went, by parts of the chip. */
void jm__estimate_sums_parts(const jm__estimate_sums *sums, jm_estimate *estimate);

#endif
