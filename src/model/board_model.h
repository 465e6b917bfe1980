/* A board's model: its power from hardware counters, learnt on a board of its kind, and its idle power;
 * stored as JSON (docs/board-model.md). */
#ifndef JM_MODEL_BOARD_MODEL_H
#define JM_MODEL_BOARD_MODEL_H

#include <joulemap/board.h>
#include <joulemap/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a board draws while nothing runs on it falls the longer that is so. Name of the state, words of a
 * model's file, and when it ends, ns after the last work. BEFORE: nothing has run on the board yet, so there
 * may be no context on it: that is a matter of the program, not of the board. */
#define JM_IDLE_STATE_MAP(X)                                                                                 \
    X(BEFORE, "before the first work", 0)                                                                    \
    X(50_US, "under 50 us", INT64_C(50000))                                                                  \
    X(1_MS, "under 1 ms", INT64_C(1000000))                                                                  \
    X(20_MS, "under 20 ms", INT64_C(20000000))                                                               \
    X(LONG, "longer", INT64_MAX)

typedef enum jm__idle_state {
#define X(name, text, below_ns) JM_IDLE_##name,
    JM_IDLE_STATE_MAP(X)
#undef X
        JM_IDLE_STATES
} jm__idle_state;

enum { JM_IDLE_FIRST_GAP = JM_IDLE_BEFORE + 1 };

/* How long a state lasts, from the end of the last work on, ns. */
static inline int64_t jm__idle_state_end_ns(jm__idle_state state)
{
    static const int64_t ends_ns[] = {
#define X(name, text, below_ns) below_ns,
        JM_IDLE_STATE_MAP(X)
#undef X
    };
    return ends_ns[state];
}

/* So long after the last work. */
static inline jm__idle_state jm__idle_state_after(int64_t rest_ns)
{
#define X(name, text, below_ns)                                                                              \
    if (rest_ns < (below_ns)) return JM_IDLE_##name;
    JM_IDLE_STATE_MAP(X)
#undef X
    return JM_IDLE_LONG;
}

/* Power from counter rates:
 *
 *     P = constant + sum over features of weight * rate / reference * (clock / clock_mhz) ^ clock_exponent */

#define JM_MODEL_FEATURES_MAX 256

typedef struct jm__feature {
    char *metric;     /* name of the counter's metric */
    double reference; /* the rate (events a second, or percent) at which it adds weight_w */
    double weight_w;
    double most; /* highest mean rate of a kernel in the training set; above it the weight is untested */
} jm__feature;

/* A kernel of the training set, and its power as predicted without its family. */
typedef struct jm__model_kernel {
    char *name;
    char *family;
    char *data; /* "random", "trained", "constant", "zeros"; "": unknown */
    double seconds;
    double power_w;     /* while it runs, by the power sensor */
    double predicted_w; /* by a model learnt without its family */
    bool left_out;      /* not used for the weights, as its data are constant */
} jm__model_kernel;

/* Power in gaps of one length, with a program (CUDA context) on the board. */
typedef struct jm__model_idle {
    double power_w;
    double u_w;     /* standard uncertainty of the mean over the gaps it was learnt from; 0: not seen */
    double seconds; /* total length of those gaps */
} jm__model_idle;

/* How a power sensor answers, as found on this board; NAN: not known. The uncertainties are standard. */
typedef struct jm__model_response {
    char sensor[JM_BOARD_TEXT]; /* its name; "": lag and width are of training alone */
    double lag_ns, lag_u_ns;
    double width_ns, width_u_ns; /* time constant, or window */
} jm__model_response;

typedef struct jm__board_model {
    char *board, *uuid, *driver, *date; /* of the board it was learnt on; never NULL, may be "" */
    jm__feature *features;
    size_t count;
    double constant_w;
    double *covariance; /* [(count + 1)^2], W^2: covariance of the weights, then the constant */
    double clock_mhz, clock_exponent;
    double slots; /* warp slots, by which the clock follows from counters (unit slot-cycle); 0: the clock is
                     NVML's */
    double relative_u; /* relative error of a kernel outside the training set: its data, and what the weights
                          miss */
    double family_u;   /* further error, common to all kernels of a family */
    double gain_u;     /* error common to all kernels, on another board of the kind or at another clock */
    double residual_w; /* root mean square residual of the readings in training */
    jm__model_response response;
    double sampler_w,
        sampler_u_w; /* power drawn by sampling counters, and its standard uncertainty; NAN: unknown */
    double noise_w;  /* standard deviation of the white noise of one reading at rest; NAN: unknown */
    jm__model_idle idle[JM_IDLE_STATES]; /* JM_IDLE_BEFORE is unused */
    jm__model_kernel *kernels;
    size_t kernel_count;
    bool shipped; /* not learnt on this very board */
} jm__board_model;

/* Allocate a model with that many features. */
jm_status jm__model_init(jm__board_model *model, size_t features, jm_error *err);
void jm__model_free(jm__board_model *model);

/* Whether the model's sensor is known better than by its profile. */
bool jm__model_has_response(const jm__board_model *model);

/* Whether some idle state is known. */
bool jm__model_has_idle(const jm__board_model *model);

/* Remove all features, so that `count` is 0. All else stays. */
void jm__model_drop_counters(jm__board_model *model);

/* Mark the model as learnt on another board of the kind, which adds uncertainty to all of it. */
void jm__model_mark_other_board(jm__board_model *model);

/* BAD_DATA says what is wrong with the file. */
jm_status jm__model_read(jm__board_model *model, const char *path, jm_error *err);
jm_status jm__model_parse(jm__board_model *model, const char *text, size_t size, const char *name,
                          jm_error *err);

/* Written to a temporary file and renamed, so a reader sees the old or the new file. */
jm_status jm__model_write(const jm__board_model *model, const char *path, jm_error *err);

/* ---- Finding models: learnt on this machine and kept by UUID, or shipped for the kind of board. */

/* The path of a board's own model: $XDG_DATA_HOME/joulemap/models/UUID.json; ~/.local/share if the variable
 * is unset. NOT_FOUND: the board has no UUID, or the user no home. */
jm_status jm__model_own_path(char *path, size_t size, const jm_board *board, jm_error *err);

/* The same, and make its folder. */
jm_status jm__model_make_folder(char *path, size_t size, const jm_board *board, jm_error *err);

/* The board's own model; without one OK and no features. BAD_DATA, IO: it exists but cannot be read; then
 * there are no features either. */
jm_status jm__model_own(jm__board_model *model, const jm_board *board, jm_error *err);

/* Call `take` with UUID and path of each kept model, sorted by UUID, until it returns anything but OK. No
 * model, or no folder: OK. */
jm_status jm__model_each_own(jm_status (*take)(void *taker, const char *uuid, const char *path,
                                               jm_error *err),
                             void *taker, jm_error *err);

/* The model shipped for the board's profile; without one OK and no features. */
jm_status jm__model_shipped(jm__board_model *model, const jm_board *board, jm_error *err);

#endif
