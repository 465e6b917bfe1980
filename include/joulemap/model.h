/* Models of boards: energy per hardware counter event, and idle power. Learnt once and used by all reports of
 * the board (jm_report_options.model). docs/board-model.md describes the file. */
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
    const char *phase; /* phase of the training program, in which kernels run in bursts, each burst a span of
                          kind `window` with the kernel's name (FAMILY/WHAT, else the part before the first _
                          is the family; if there is only one family, each kernel is its own) */
    int64_t board_id;  /* 0: the only board with counters */
    const char *
        path; /* path of the model to write; NULL: the board's own, by UUID in $XDG_DATA_HOME/joulemap/models,
                 for all later reports of it; not written for a simulated board */
} jm_learn_options;

/* The accuracy of a model. Errors are relative. */
typedef struct jm_learnt {
    size_t features, kernels, families, left_out; /* left_out: kernels on constant data */
    size_t readings, readings_used;
    double residual_w;
    double median_error, mean_error, p95_error; /* of kernels, predicted by models without their family */
    double worst_error;                         /* of all kernels of one family together */
    char worst_family[64];
    char path[4096]; /* path of the model written; "": none */
    char board[JM_BOARD_TEXT];
    bool simulated;
    /* Idle power with a program on the board and its standard uncertainty, W; NAN: not in the recording. */
    double idle_w, idle_u_w;       /* at rest, for longer than 20 ms */
    double gap_w, gap_u_w;         /* in gaps of 1 to 20 ms */
    double noise_w;                /* standard deviation of one reading at rest, W; NAN likewise */
    double sampler_w, sampler_u_w; /* power drawn by sampling counters; NAN likewise */
} jm_learnt;

/* Learn a model from a phase of a recording with counters, kernels in bursts, and a power sensor. Bursts
 * whose type (or else name) has the word zeros or constant are left out of the weights: at equal counters
 * constant data draw up to a third less. NOT_FOUND: no such phase, board, counters or sensor; BAD_DATA: too
 * little data. `learnt` may be NULL. */
JM_API jm_status jm_model_learn(jm_recording *recording, const jm_learn_options *options, jm_learnt *learnt,
                                jm_error *err);

/* How a board's power sensor answers: ns, with standard uncertainties. */
typedef struct jm_learnt_response {
    char path[4096]; /* path of the model written; "": none */
    char board[JM_BOARD_TEXT];
    char sensor[JM_BOARD_TEXT]; /* the best that the board has */
    bool simulated;
    bool first_order;            /* it forgets exponentially; false: it averages over a window */
    double lag_ns, lag_u_ns;     /* from the end of what it tells of to its stamp */
    double width_ns, width_u_ns; /* the time constant, or the window */
    double before_lag_u_ns, before_width_u_ns; /* what was known before, by the profile */
    size_t readings;
} jm_learnt_response;

/* Learn the response of a board's power sensor from a recording of known work: a heavy kernel that runs and
 * rests for random times, with no counters and no rights. It is put into the model at options->path, or the
 * board's own, and all else in there stays; a file that is no model is an error. Later reports of the board,
 * with the same driver, take it in place of the sensor's profile. options->phase NULL: the whole recording;
 * options->board_id 0: the first GPU with a power sensor. NOT_FOUND: no such phase, board or
 * sensor, or its readings do not tell the response better than the profile. `learnt` may be NULL. */
JM_API jm_status jm_response_learn(jm_recording *recording, const jm_learn_options *options,
                                   jm_learnt_response *learnt, jm_error *err);

#ifdef __cplusplus
}
#endif
#endif
