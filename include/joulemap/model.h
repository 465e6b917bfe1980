/* What hardware counters are worth on a board, in watts, and what it draws idle: learnt once, used by every
 * report of a run of it (jm_report_options.model). docs/board-model.md tells of the file. */
#ifndef JOULEMAP_MODEL_H
#define JOULEMAP_MODEL_H

#include <joulemap/recording.h>
#include <joulemap/status.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct jm_learn_options {
    uint32_t size;     /* sizeof(jm_learn_options): lets it grow */
    const char *phase; /* in which kernels ran in bursts, each burst a span of kind `window` with the kernel's
                          name (FAMILY/WHAT, else the part before the first _ is the family; where there is
                          but one, each kernel is a family of its own) */
    int64_t board_id;  /* 0: the one board that has counters */
    const char *path;  /* of the model to write; NULL: where the board's own is kept, by its UUID below
                          $XDG_DATA_HOME/joulemap/models, for every report of it from then on; a model of a
                         simulated board is not written then */
} jm_learn_options;

/* How well a model tells powers. Errors are relative. */
typedef struct jm_learnt {
    size_t features, kernels, families, left_out; /* left_out: kernels on constant data */
    size_t readings, readings_used;
    double residual_w;
    double median_error, mean_error, p95_error; /* of kernels, by models that know none of their family */
    double worst_error;                         /* of all kernels of one family together */
    char worst_family[64];
    char path[4096]; /* of the model that was written; "": none was */
    char board[JM_BOARD_TEXT];
    bool simulated;
    /* With a program on the board, W, and standard uncertainty; NAN: the recording does not show it. */
    double idle_w, idle_u_w;       /* at rest, for longer than 20 ms */
    double gap_w, gap_u_w;         /* in gaps of 1 to 20 ms */
    double noise_w;                /* of one reading of the sensor at rest, standard, W; NAN likewise */
    double sampler_w, sampler_u_w; /* what sampling its counters makes the board draw; NAN likewise */
} jm_learnt;

/* Learn a model from a phase of a recording that has counters, kernels in bursts, and a power sensor. Bursts
 * whose type (or, without one, name) has the word zeros or constant are left out of the weights: at equal
 * counters constant numbers draw up to a third less. NOT_FOUND: no such phase, board, counters, or sensor;
 * BAD_DATA: they tell too little. `learnt` may be NULL. */
JM_API jm_status jm_model_learn(jm_recording *recording, const jm_learn_options *options, jm_learnt *learnt,
                                jm_error *err);

#ifdef __cplusplus
}
#endif
#endif
