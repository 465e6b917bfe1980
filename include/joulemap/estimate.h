/* Power and energy of kernels without a power sensor, from counts of Nsight Compute (ncu) or any table of
 * features, and a model of their power. docs/estimate.md. */
#ifndef JOULEMAP_ESTIMATE_H
#define JOULEMAP_ESTIMATE_H

#include <joulemap/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The coverage of an estimate's intervals. */
#define JM_ESTIMATE_COVERS 0.90

typedef struct jm_estimate_options {
    uint32_t size;   /* sizeof(jm_estimate_options): lets it grow */
    const char *csv; /* CSV of ncu (--page details or raw), or of features, for a model trained on features */
    const char *model; /* file of a board's model or of a trained one, or the name of a shipped one ("h200");
                          NULL: the calibrated one of the file's board, else the one shipped for its kind
                          (docs/estimate.md) */
    double clock_mhz;  /* clock of the multiprocessors; 0: the usual clock during training */
    double program_s;  /* duration of the program, including gaps between kernels; 0: unknown */
    double limit_w; /* the board's power limit. The mean over all kernels stays below it, as the board lowers
                       its clock; 0: the usual limit; INFINITY: none, as for kernels of a few ms */
    const char *board; /* estimate for this kind of board of the same chip: "h100", "h200", "h100-pcie",
                          "h100-nvl"; NULL: the board of the file */
} jm_estimate_options;

/* One line of the file, in its order. NAN: unknown, and `reason` says why. low and high cover
 * JM_ESTIMATE_COVERS. The lower end allows for constant data (zeros), which draw less without any counter
 * showing it. */
typedef struct jm_estimated_kernel {
    int64_t id;       /* ncu's ID */
    int64_t line;     /* line of the file where it begins */
    int64_t launches; /* launches that a summary represents; figures are of one launch */
    int64_t process_id;
    const char *kernel, *process, *device, *grid, *block; /* "": unknown */
    double duration_s;                                    /* at `clock_mhz` */
    double clock_mhz;
    double power_w, power_low_w, power_high_w;
    double energy_j, energy_low_j, energy_high_j;
    double ncu_duration_s, ncu_clock_mhz; /* as profiled */
    double beyond_w;                      /* the part of power_w from rates beyond the training set */
    double missing_w;                     /* the part of power_w from features that the file lacks */
    bool extrapolated;                    /* to a clock or board outside the training set */
    const char *reason;                   /* "" if there is a figure */
} jm_estimated_kernel;

typedef struct jm_estimated_range {
    double value, low, high; /* NAN: not known */
} jm_estimated_range;

/* Over all kernels with a figure. */
typedef struct jm_estimated_total {
    size_t kernels, estimated; /* lines, and lines with a figure */
    int64_t launches;
    double kernels_s, program_s, idle_s; /* program_s: NAN if not given */
    jm_estimated_range min_w, average_w, peak_w;
    jm_estimated_range kernels_j, program_j, idle_w; /* program_j: NAN without program_s */
    double limit_w;                                  /* power limit; INFINITY: none; NAN: unknown */
    double limit_mhz;                                /* the clock under the limit; NAN: it is not reached */
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
JM_API const char *jm_estimate_board(const jm_estimate *estimate); /* the board of the training set */

/* Text for a terminal `width` columns wide (0: no limit) with the `limit` lines of most energy (0: all);
 * complete JSON (docs/schema/estimate.schema.json); CSV, a line per kernel. The caller frees *out. */
JM_API jm_status jm_estimate_text(const jm_estimate *estimate, size_t width, size_t limit, char **out,
                                  jm_error *err);
JM_API jm_status jm_estimate_json(const jm_estimate *estimate, char **out, jm_error *err);
JM_API jm_status jm_estimate_csv(const jm_estimate *estimate, char **out, jm_error *err);

/* The model's features of each kernel, as CSV: id,kernel,duration_s,FEATURE... with rates per second or
 * percent. jm_estimate_train learns from such tables. NOT_SUPPORTED: the estimate is from such a table. */
JM_API jm_status jm_estimate_features_csv(const jm_estimate *estimate, char **out, jm_error *err);

/* The metrics that ncu must count for a model (NULL: the first shipped one), "a,b,c", as for ncu's --metrics.
 * The caller frees *out. */
JM_API jm_status jm_estimate_metrics(const char *model, char **out, jm_error *err);

/* ---- profiling a program under ncu */

typedef struct jm_estimate_profile_options {
    uint32_t size;                /* sizeof(jm_estimate_profile_options): lets it grow */
    const char *const *command;   /* the program and its arguments, NULL-terminated */
    const char *csv;              /* the file to write, for jm_estimate_make */
    const char *page;             /* ncu's page: "raw", "details"; NULL: raw */
    const char *model;            /* as jm_estimate_metrics */
    const char *const *arguments; /* for ncu ("--launch-count", "100"), NULL-terminated; NULL: none */
    double timeout_s;             /* end it after this time; 0: never */
    bool (*goes_on)(
        void *context,
        int64_t ncu_pid); /* called several times a second; false: end the program. NULL: never end it */
    void *context;
} jm_estimate_profile_options;

/* Run a program under ncu with the few metrics that the model needs, in the foreground; clocks and caches
 * stay as they are. Returns when both have ended. ncu is found on PATH, in CUDA_HOME, CUDA_PATH,
 * /usr/local/cuda* and /opt/nvidia/nsight-compute. *exit_code: the program's, as a shell reports it. On
 * failure `csv` is unchanged. NOT_FOUND: no ncu. CHILD: it cannot be started. BUSY: timeout or `goes_on`
 * returned false; it and all that it started were ended. BAD_DATA: no kernel was profiled, with ncu's reason.
 */
JM_API jm_status jm_estimate_profile(const jm_estimate_profile_options *options, int *exit_code,
                                     jm_error *err);

/* What a line of ncu's error output means, and what helps; NULL: unknown line. */
JM_API const char *jm_estimate_explain(const char *line);

/* ---- training on your own data */

typedef struct jm_train_options {
    uint32_t size;        /* sizeof(jm_train_options): lets it grow */
    const char *features; /* CSV: kernel,[family,][duration_s,]FEATURE...; each feature a rate, a duty cycle
                             or a percentage */
    const char *power;    /* CSV: kernel,power_w[,u_w]; NULL: power_w is a column of `features` */
    const char *path;     /* path of the model to write; NULL: write none */
} jm_train_options;

/* Errors are mean absolute relative errors of left-out kernels. Choices were also made without them (nested
 * cross-validation). */
typedef struct jm_trained {
    size_t kernels, families, features;
    double error_by_kernel;  /* leaving out one kernel at a time */
    double error_by_family;  /* leaving out one family at a time; NAN: only one family */
    double median_by_kernel; /* median absolute relative error */
    double worst_by_kernel;
    double constant_error; /* error of predicting the mean of the others */
    double plain_error;    /* error of plain non-negative least squares */
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
