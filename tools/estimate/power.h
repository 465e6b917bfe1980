/* The power of one kernel, out of what ncu counted of it and a board's model.
 *
 * ncu runs a kernel alone, at the board's base clock and with cold caches, unless it is told otherwise. What
 * a kernel does (instructions, bytes) is the same at any clock, the time that it takes is not: the share of
 * it that waits for the memory stays, the rest scales. With c the time of the rest, m that of the memory at
 * its most, r the ratio of the clocks (times that of the numbers of multiprocessors, on another kind of
 * board) and s the ratio of what the memories can move (1 on the same board),
 *
 *     t(r, s) = ((c / r)^4 + (m / s)^4)^(1/4),   t(1, 1) = the time that ncu saw
 *
 * which goes from one limit to the other without a corner. */
#ifndef JM_ESTIMATE_POWER_H
#define JM_ESTIMATE_POWER_H

#include "base/map.h"
#include "estimate/estimate.h"
#include "import/ncu/sheet.h"
#include "model/board_model.h"

/* What all kernels of a file share. */
typedef struct jm__bench {
    const jm__board_model *model;
    const jm__ncu_words *words;
    const jm__ncu_word *word_of[JM_MODEL_FEATURES_MAX]; /* of the model's features; NULL: ncu has none */
    const jm__ncu_board *file_board;                    /* that the file is of */
    const jm__ncu_board *board;                         /* to estimate for: mostly the same */
    double clock_mhz;                                   /* to estimate for */
    bool clock_given;                                   /* somebody asked for it: it is that of all kernels */
    bool clocks_free;              /* ncu left the clock as it was: a kernel's own is that of the file */
    bool caches_kept;              /* likewise the caches */
    double most_mhz;               /* what the board's limit leaves; INFINITY: it is not reached */
    double most_w;                 /* no kernel was seen to draw more: the board lowers its clock at once */
    double data_least, data_usual; /* of the power above the constant, the part that constant data leave: of
                                      matrix products, of the rest */
} jm__bench;

/* Errors are standard ones, W. */
typedef struct jm__kernel_power {
    double duration_s, u_duration; /* the latter relative: of what the clock does to it */
    double ncu_duration_s, ncu_clock_mhz;
    double clock_mhz; /* that it is estimated for */
    double power_w;
    double own_w;  /* of this kernel alone, beside the model's errors and that of its time */
    double time_u; /* of its time as it is in a program, relative */
    double data_w; /* how much less it is with constant data */
    double beyond_w, missing_w;
    double missing_u_w, flushed_u_w, unbounded_w; /* the last: of missing_w, what no use of a unit bounds */
    double dram_bytes;
    bool no_clock;      /* the file does not tell ncu's */
    size_t missing;     /* features that have a weight and are not there */
    const char *reason; /* no power: why */
} jm__kernel_power;

/* `features`: [model->count + 1], what each weight is multiplied by, 1 for the constant. */
void jm__kernel_power_find(jm__kernel_power *out, double *features, const jm__bench *bench,
                           const jm__ncu_sheet *sheet);

/* How long the same takes where all but the memory is `ratio` times as fast, and the memory `memory_ratio`
 * times; `memory_s`: what it took at least, for its bytes. */
double jm__time_at(double duration_s, double memory_s, double ratio, double memory_ratio);

/* Above this share of a board's clock it is that clock: a short kernel's is told to a few percent. */
#define JM_CLOCK_IS_FULL 0.96

/* From a model's kernels on constant data. */
void jm__data_shares(const jm__board_model *model, double *least, double *usual);

/* ---- From errors to the range that holds JM_ESTIMATE_COVERS of a figure (docs/estimate.md, "How sure is
 * it?"). */

/* Of a board's model, standard. The first three are relative to what the sensor said, as in its file. */
typedef struct jm__errors {
    double kernel_u, family_u; /* of a kernel by itself, of its family */
    double gain_u;             /* of all kernels alike, on this board */
    double clock_u;            /* of the logarithm of all powers: a clock that the model was not learnt at */
    double kernel_z;           /* how many of the first two hold JM_ESTIMATE_COVERS of single kernels */
} jm__errors;

/* `board_u`: of another board than the model's, relative. NO_MEMORY. */
jm_status jm__errors_find(jm__errors *errors, const jm__board_model *model, double board_u, double clock_u,
                          jm_error *err);

/* How far a range goes to both sides of its figure, in the figure's unit; never below 0. */
typedef struct jm__sides {
    double down, up;
} jm__sides;

/* `model`: what the model's errors of kernels, families and weights hold, relative, and no standard one;
 * `rest`: of all else, standard, in the figure's unit. */
jm__sides jm__sides_of(const jm__errors *errors, double value, double model, double rest);

/* Of two opinions on the model's errors the larger: kernels whose family was left out, which the weights'
 * errors are part of, and the spread of the weights for these very counters. */
double jm__model_part(double left_out, double weights);

/* ---- What a program of many kernels draws, with errors that its kernels share. */

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
