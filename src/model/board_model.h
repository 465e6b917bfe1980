/* What a board's counters say of its power, learnt on a board of its kind and kept as JSON
 * (docs/board-model.md), and what it draws in gaps. */
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

/* The first that is a gap. */
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

/* What a board's counters say of its power, learnt on a board of its kind and kept as JSON
 * (docs/board-model.md).
 *
 *     P = constant + sum over features of weight * rate / reference * (clock / clock_mhz) ^ clock_exponent */

#define JM_MODEL_FEATURES_MAX 256

typedef struct jm__feature {
    char *metric;     /* of a counter */
    double reference; /* the rate (events a second, or percent) at which it adds weight_w */
    double weight_w;
    double most; /* highest mean rate of a kernel that was learnt from; beyond it weights are not proven */
} jm__feature;

/* One kernel that was learnt from, and how far off a model is that knows none of its family. */
typedef struct jm__model_kernel {
    char *name;
    char *family;
    char *data; /* "random", "trained", "constant", "zeros"; "" if not said */
    double seconds;
    double power_w;     /* while it runs, by the power sensor */
    double predicted_w; /* by a model that was learnt without its family */
    bool left_out;      /* of the weights: its data are constant */
} jm__model_kernel;

/* What the board draws in gaps of one length, a program (CUDA context) being on it. */
typedef struct jm__model_idle {
    double power_w;
    double u_w;     /* standard, of the mean over its gaps where it was learnt; 0: it was not seen there */
    double seconds; /* of such gaps there */
} jm__model_idle;

typedef struct jm__board_model {
    char *board, *uuid, *driver, *date; /* whose it is; never NULL, may be "" */
    jm__feature *features;
    size_t count;
    double constant_w;
    double *covariance; /* [(count + 1)^2], W^2: of the weights, then the constant */
    double clock_mhz, clock_exponent;
    double slots;      /* for warps, by which counters tell the clock (unit slot-cycle); 0: NVML tells it */
    double relative_u; /* of a kernel that is not among those below: data, and what the weights cannot tell */
    double family_u;   /* beside that, of all kernels of a family alike */
    double gain_u;     /* of all kernels alike, on another board of the kind, or at another clock */
    double residual_w; /* of the readings that it was learnt from */
    double lag_ns, width_ns; /* of the sensor's response, as found there; NAN: not looked for */
    double sampler_w,
        sampler_u_w; /* what a sampler of its counters draws, and standard uncertainty; NAN: not known */
    double noise_w;  /* of one reading of the sensor at rest, its white part, standard; NAN: not known */
    jm__model_idle idle[JM_IDLE_STATES]; /* never of JM_IDLE_BEFORE */
    jm__model_kernel *kernels;
    size_t kernel_count;
    bool shipped; /* not learnt on this very board */
} jm__board_model;

/* Room for that many features; INTERNAL never. */
jm_status jm__model_init(jm__board_model *model, size_t features, jm_error *err);
void jm__model_free(jm__board_model *model);

/* Some state of its gaps is known. */
bool jm__model_knows_idle(const jm__board_model *model);

/* What it says of counters goes: `count` is 0. All else stays. */
void jm__model_drop_counters(jm__board_model *model);

/* It was learnt on another board of the kind than the one it is used for: all of it may be off by more. */
void jm__model_is_of_another(jm__board_model *model);

/* BAD_DATA says what of the file is wrong. */
jm_status jm__model_read(jm__board_model *model, const char *path, jm_error *err);
jm_status jm__model_parse(jm__board_model *model, const char *text, size_t size, const char *name,
                          jm_error *err);

/* Written beside it and moved into its place: a reader sees all of it or the old one. */
jm_status jm__model_write(const jm__board_model *model, const char *path, jm_error *err);

/* Where models of boards are: learnt on this machine and kept by the board's UUID, or shipped for its kind.
 */

/* The path of a board's own model: $XDG_DATA_HOME/joulemap/models/UUID.json, without the variable below
 * ~/.local/share. NOT_FOUND: the board has no UUID, or the user no home. */
jm_status jm__model_own_path(char *path, size_t size, const jm_board *board, jm_error *err);

/* The same, with its folder made. */
jm_status jm__model_make_room(char *path, size_t size, const jm_board *board, jm_error *err);

/* The board's own model; without one no features and OK. BAD_DATA, IO: it is there and cannot be read; then
 * there are no features either. */
jm_status jm__model_own(jm__board_model *model, const jm_board *board, jm_error *err);

/* All models that are kept, whosever they are, in the order of their boards' UUIDs; `take` gets one's UUID
 * and path, and ends it by what is not OK. None, or no folder: OK. */
jm_status jm__model_each_kept(jm_status (*take)(void *taker, const char *uuid, const char *path,
                                                jm_error *err),
                              void *taker, jm_error *err);

/* The one shipped for its profile; no features and OK if there is none. */
jm_status jm__model_shipped(jm__board_model *model, const jm_board *board, jm_error *err);

#endif
