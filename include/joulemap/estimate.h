/* Power and energy of kernels without a power sensor: from what Nsight Compute (ncu) counted, or from any
 * table of features, and a model that says what those are worth in watts. docs/estimate.md. */
#ifndef JOULEMAP_ESTIMATE_H
#define JOULEMAP_ESTIMATE_H

#include <joulemap/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What an interval of an estimate holds. */
#define JM_ESTIMATE_COVERS 0.90

typedef struct jm_estimate_options {
    uint32_t size; /* sizeof(jm_estimate_options): lets it grow */
    const char
        *csv; /* of ncu (--page details or raw), or of features, for a model that was trained on such */
    const char *model; /* file of a board's model or of a trained one, or the name of a shipped one ("h200");
                          NULL: the one that calibration keeps for the file's board, else
                          the one that is shipped for its kind (docs/estimate.md) */
    double
        clock_mhz; /* of the multiprocessors; 0: what they run at by themselves, where the model was learnt */
    double program_s; /* how long the program takes, gaps between kernels included; 0: not known */
    double
        limit_w;       /* the board's power limit, which no mean over all kernels passes: the board lowers its
                          clock; 0: usual on such a board; INFINITY: none, as where kernels run for some ms only */
    const char *board; /* what if it ran on this kind of board of the same chip: "h100", "h200", "h100-pcie",
                          "h100-nvl"; NULL: on that of the file */
} jm_estimate_options;

/* One line of the file's, in its order. NAN: not known, and `reason` says why. Low and high:
 * JM_ESTIMATE_COVERS; the lower end admits constant data (zeros), which draw less and which no counter sees.
 */
typedef struct jm_estimated_kernel {
    int64_t id;       /* ncu's */
    int64_t line;     /* of the file, where it begins */
    int64_t launches; /* that it stands for (a summary); figures are of one */
    int64_t process_id;
    const char *kernel, *process, *device, *grid, *block; /* "": not said */
    double duration_s;                                    /* at `clock_mhz` */
    double clock_mhz;
    double power_w, power_low_w, power_high_w;
    double energy_j, energy_low_j, energy_high_j;
    double ncu_duration_s, ncu_clock_mhz; /* as it was profiled */
    double beyond_w;    /* of power_w, what lies beyond the rates that the model was learnt from */
    double missing_w;   /* of power_w, the share of features that the file does not have */
    bool extrapolated;  /* to a clock or board that the model was not learnt at */
    const char *reason; /* "" if there is a figure */
} jm_estimated_kernel;

typedef struct jm_estimated_range {
    double value, low, high; /* NAN: not known */
} jm_estimated_range;

/* Of all kernels that have a figure. */
typedef struct jm_estimated_total {
    size_t kernels, estimated; /* lines, and those with a figure */
    int64_t launches;
    double kernels_s, program_s, idle_s; /* program_s: NAN if not given */
    jm_estimated_range min_w, average_w, peak_w;
    jm_estimated_range kernels_j, program_j, idle_w; /* program_j: NAN without program_s */
    double limit_w;                                  /* of power; INFINITY: none; NAN: not known */
    double limit_mhz;                                /* the clock that it leaves; NAN: it is not reached */
    bool extrapolated;
} jm_estimated_total;

typedef struct jm_estimate_part {
    const char *name; /* "tensor cores", "memory", ..., "base" */
    double energy_j;
    double share;
} jm_estimate_part;

typedef struct jm_estimate jm_estimate;

/* BAD_DATA names file and line; NOT_SUPPORTED: no model for this chip; NOT_FOUND: no such model. */
JM_API jm_status jm_estimate_make(jm_estimate **out, const jm_estimate_options *options, jm_error *err);
JM_API void jm_estimate_free(jm_estimate *estimate);

JM_API size_t jm_estimate_count(const jm_estimate *estimate);
JM_API const jm_estimated_kernel *jm_estimate_kernel(const jm_estimate *estimate,
                                                     size_t index); /* NULL: none */
JM_API const jm_estimated_total *jm_estimate_total(const jm_estimate *estimate);
JM_API size_t jm_estimate_part_count(const jm_estimate *estimate);
JM_API const jm_estimate_part *jm_estimate_part_at(const jm_estimate *estimate, size_t index);
JM_API size_t jm_estimate_note_count(const jm_estimate *estimate);
JM_API const char *jm_estimate_note(const jm_estimate *estimate, size_t index);
JM_API const char *jm_estimate_board(const jm_estimate *estimate); /* that the model was learnt on */

/* For a terminal `width` wide (0: as wide as it is), the first `limit` lines of most energy (0: all); as
 * JSON, whole (docs/schema/estimate.schema.json); as CSV, a line a kernel. The caller frees *out. */
JM_API jm_status jm_estimate_text(const jm_estimate *estimate, size_t width, size_t limit, char **out,
                                  jm_error *err);
JM_API jm_status jm_estimate_json(const jm_estimate *estimate, char **out, jm_error *err);
JM_API jm_status jm_estimate_csv(const jm_estimate *estimate, char **out, jm_error *err);

/* What the model asks of each kernel, as CSV: id,kernel,duration_s,FEATURE... with rates a second or percent;
 * such a table is what jm_estimate_train learns from. NOT_SUPPORTED: the estimate is of such a table. */
JM_API jm_status jm_estimate_features_csv(const jm_estimate *estimate, char **out, jm_error *err);

/* The metrics that ncu must count for a model (NULL: the first that is shipped), "a,b,c", as --metrics wants
 * them. The caller frees *out. */
JM_API jm_status jm_estimate_metrics(const char *model, char **out, jm_error *err);

/* ---- counting: a program under ncu */

typedef struct jm_estimate_profile_options {
    uint32_t size;                /* sizeof(jm_estimate_profile_options): lets it grow */
    const char *const *command;   /* the program and its arguments, NULL-terminated */
    const char *csv;              /* the file to write, for jm_estimate_make */
    const char *page;             /* of ncu's: "raw", "details"; NULL: raw */
    const char *model;            /* as jm_estimate_metrics */
    const char *const *arguments; /* for ncu ("--launch-count", "100"), NULL-terminated; NULL: none */
    double timeout_s;             /* end it after so long; 0: do not */
    bool (*goes_on)(void *context,
                    int64_t ncu_pid); /* asked some times a second; false: end it. NULL: it goes on */
    void *context;
} jm_estimate_profile_options;

/* Run a program under ncu with the few metrics that the model needs, in the foreground, its clocks and caches
 * left as they are; returns when both have ended. ncu is found on PATH, in CUDA_HOME, CUDA_PATH,
 * /usr/local/cuda* and /opt/nvidia/nsight-compute. *exit_code: the program's, as a shell gives it. Where it
 * fails, `csv` is as it was before: NOT_FOUND, there is no ncu; CHILD, it cannot be started; BUSY, time is
 * out or `goes_on` said no, and it was ended with all that it started; BAD_DATA, no kernel was profiled, with
 * ncu's reason. */
JM_API jm_status jm_estimate_profile(const jm_estimate_profile_options *options, int *exit_code,
                                     jm_error *err);

/* What a line that ncu wrote on its error output means, and what helps; NULL: nothing is known of it. */
JM_API const char *jm_estimate_explain(const char *line);

/* ---- training on one's own data */

typedef struct jm_train_options {
    uint32_t size; /* sizeof(jm_train_options): lets it grow */
    const char
        *features;     /* CSV: kernel,[family,][duration_s,]FEATURE...; a rate, a duty or a percentage each */
    const char *power; /* CSV: kernel,power_w[,u_w]; NULL: power_w is a column of `features` */
    const char *path;  /* of the model to write; NULL: none is written */
} jm_train_options;

/* Errors are mean absolute relative ones of kernels that a model had not seen, what was chosen having been
 * chosen without them too (nested). */
typedef struct jm_trained {
    size_t kernels, families, features;
    double error_by_kernel;  /* one kernel left out at a time */
    double error_by_family;  /* one family at a time; NAN: there is but one */
    double median_by_kernel; /* absolute relative error in the middle */
    double worst_by_kernel;
    double constant_error; /* of always saying the mean of the others */
    double plain_error;    /* of plain non-negative least squares */
    double exponent;       /* chosen for the model */
    double coverage;       /* share of left-out kernels within their intervals */
} jm_trained;

typedef struct jm_training jm_training;

JM_API jm_status jm_estimate_train(jm_training **out, const jm_train_options *options, jm_error *err);
JM_API void jm_training_free(jm_training *training);
JM_API const jm_trained *jm_training_result(const jm_training *training);
JM_API jm_status jm_training_text(const jm_training *training, char **out, jm_error *err);
JM_API jm_status jm_training_json(const jm_training *training, char **out, jm_error *err);

#ifdef __cplusplus
}
#endif
#endif
