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
#ifndef JM_ESTIMATE_KERNEL_POWER_H
#define JM_ESTIMATE_KERNEL_POWER_H

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

#endif
