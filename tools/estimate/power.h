/* The power of one kernel, from ncu's counts and a board's model.
 *
 * By default, ncu runs a kernel alone, at the board's base clock and with cold caches. A kernel's
 * instructions and bytes are the same at any clock; its time is not. The part that waits for the memory
 * stays, the rest scales. Let c be the time of the rest, m the memory's time at its highest rate, r the ratio
 * of the clocks (times the ratio of the multiprocessors, for another kind of board), s the ratio of the
 * memories' bandwidths (1 on the same board), and p the overlap (power.c). Then
 *
 *  t(r, s) = ((c / r)^p + (m / s)^p)^(1/p), t(1, 1) = ncu's time
 *
 * which goes from one limit to the other without a corner. */
#ifndef JM_ESTIMATE_POWER_H
#define JM_ESTIMATE_POWER_H

#include "base/map.h"
#include "estimate/estimate.h"
#include "import/ncu/sheet.h"
#include "model/board_model.h"

/* The model, boards and conditions of all kernels of a file. */
typedef struct jm__estimate_setup {
    const jm__board_model *model;
    const jm__ncu_words *words;
    const jm__ncu_word *word_of[JM_MODEL_FEATURES_MAX]; /* for the model's features; NULL: ncu has none */
    const jm__ncu_board *file_board;                    /* the file's board */
    const jm__ncu_board *board;                         /* the board to estimate for, usually the same */
    double clock_mhz;                                   /* to estimate for */
    bool clock_is_fixed;                                /* a requested clock, for all kernels */
    bool clocks_free; /* ncu did not set the clock: each kernel has its clock in the file */
    bool caches_kept; /* ncu did not flush the caches */
    double max_mhz;   /* clock at the board's power limit; INFINITY: the limit is not reached */
    double max_w;     /* highest power of any kernel: above it the board lowers its clock at once */
    double data_min, data_typical; /* part of the power above the constant that remains with constant data: of
                                      matrix products, of other kernels */
} jm__estimate_setup;

/* Errors are standard uncertainties in W. */
typedef struct jm__kernel_power {
    double duration_s, u_duration; /* u_duration: relative, from scaling to the clock */
    double ncu_duration_s, ncu_clock_mhz;
    double clock_mhz; /* the clock it is estimated for */
    double power_w;
    double own_w;  /* error of this kernel alone, besides those of the model and its time */
    double time_u; /* error of its time in a program, relative */
    double data_w; /* reduction with constant data */
    double beyond_w, missing_w;
    double missing_u_w, flushed_u_w,
        unbounded_w; /* the last: part of missing_w without a bound from a unit */
    double dram_bytes;
    bool no_clock;      /* the file has no clock of ncu's */
    size_t missing;     /* features with a weight that the file lacks */
    const char *reason; /* why there is no power */
} jm__kernel_power;

/* Features of the details page, for a model on it: a prefix of their names. */
bool jm__is_details(const char *metric);

/* Whether the sheet's kernel has what a model on the details page needs most, and the counters of the usual
 * models are mostly missing. */
bool jm__details_suffice(const jm__ncu_words *words, const jm__ncu_board *board, const jm__ncu_sheet *sheet);

/* `features`: [model->count + 1], the factor of each weight, 1 for the constant. */
void jm__kernel_power_find(jm__kernel_power *out, double *features, const jm__estimate_setup *setup,
                           const jm__ncu_sheet *sheet);

/* The time if everything but the memory is `ratio` times as fast, and the memory `memory_ratio` times.
 * `memory_s`: the least time for its bytes. */
double jm__time_at(double duration_s, double memory_s, double ratio, double memory_ratio);

/* Whether a clock is as good as the board's own: a short kernel's is reported to a few percent. */
static inline bool jm__clock_is_full(double mhz, double board_mhz)
{
    return mhz > 0.96 * board_mhz;
}

/* The parts data_min and data_typical, from a model's kernels on constant data. */
void jm__data_shares(const jm__board_model *model, double *min, double *typical);

/* ---- from errors to the range that holds JM_ESTIMATE_COVERS of a figure (docs/estimate.md, "How sure is
 * it?") */

/* Standard errors of a board's model. The first three are relative to the measured power, as in its file. */
typedef struct jm__errors {
    double kernel_u, family_u; /* of a single kernel, of its family */
    double gain_u;             /* common to all kernels on this board */
    double clock_u;            /* of the logarithm of all powers, at a clock outside the training data */
    double kernel_z;           /* multiple of the first two that holds JM_ESTIMATE_COVERS of single kernels */
} jm__errors;

/* `board_u`: for another board than the model's, relative. NO_MEMORY. */
jm_status jm__errors_find(jm__errors *errors, const jm__board_model *model, double board_u, double clock_u,
                          jm_error *err);

/* The distances from a figure to both ends of its range, in its unit; never below 0. */
typedef struct jm__sides {
    double down, up;
} jm__sides;

/* `model`: the range from the model's errors of kernels, families and weights, relative, not standard.
 * `rest`: all other errors, standard, in the figure's unit. */
jm__sides jm__sides_of(const jm__errors *errors, double value, double model, double rest);

/* The larger of two estimates of the model's error: from families left out, which include the weights'
 * errors, and from the weights' covariance for these counters. */
double jm__model_part(double left_out, double weights);

/* ---- the energy of a program, with errors that its kernels share */

/* Sums over kernels. */
typedef struct jm__estimate_sums {
    const jm__board_model *model;
    const jm__errors *errors;
    double *features_s; /* [count + 1]: features times seconds */
    double *family_j;   /* [families]: energy */
    jm__map same;       /* kernel and grid -> energy, J: equal kernels err alike */
    jm__map own;        /* kernel and grid -> own error besides the model's, J */
    double other_j2;    /* squared energies of kernels without a family */
    double energy_j, seconds;
    double data_j;    /* reduction with constant data */
    double time_w2;   /* variance from errors of durations, J^2 */
    jm__sides rows_j; /* sum of the ranges of all kernels, as if all erred alike */
} jm__estimate_sums;

/* Both are borrowed. */
jm_status jm__estimate_sums_init(jm__estimate_sums *sums, const jm__board_model *model,
                                 const jm__errors *errors, jm_error *err);
void jm__estimate_sums_free(jm__estimate_sums *sums);

/* Kernels that err alike: of the same name and grid. Texts are compared by address: import/ncu/ncu.h has each
 * once. */
typedef struct jm__same_kernel {
    const char *name, *grid;
} jm__same_kernel;

/* `features`: from jm__kernel_power_find; `row_j`: the range of one launch. */
jm_status jm__estimate_sums_add(jm__estimate_sums *sums, const jm__kernel_power *power,
                                const double *features, int family, jm__same_kernel same, double launches,
                                jm__sides row_j, jm_error *err);

/* The range of the sum, J, without constant data. */
jm__sides jm__estimate_sums_sides(const jm__estimate_sums *sums);

/* The same for one kernel: of its power, W, and of a launch's energy, J. */
void jm__kernel_sides(jm__sides *of_w, jm__sides *of_j, const jm__board_model *model,
                      const jm__errors *errors, const jm__kernel_power *power, const double *features);

/* The energy by parts of the chip. */
void jm__estimate_sums_parts(const jm__estimate_sums *sums, jm_estimate *estimate);

#endif
