/* Reports: the rows of a recording with their energy, its interval and its source. */
#ifndef JOULEMAP_REPORT_H
#define JOULEMAP_REPORT_H

#include <joulemap/recording.h>
#include <joulemap/report_fields.h>
#include <joulemap/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A row's key. name, text */
#define JM_BY_MAP(X)                                                                                         \
    X(LAYER, "layer")                                                                                        \
    X(KERNEL, "kernel")                                                                                      \
    X(TYPE, "type")                                                                                          \
    X(PHASE, "phase")                                                                                        \
    X(BOARD, "board")                                                                                        \
    X(SPAN, "span")       /* one row per occurrence: the energy of each single call of a layer */            \
    X(REQUEST, "request") /* of a server: its share of each step it was in */                                \
    X(CLASS, "class")     /* of kernels: matrix product, copy and so on, with their kernels as children */

typedef enum jm_by {
#define X(name, text) JM_BY_##name,
    JM_BY_MAP(X)
#undef X
        JM_BY_COUNT
} jm_by;

/* How a figure is known, best first. */
#define JM_PROVENANCE_MAP(X)                                                                                 \
    X(MEASURED, "measured")                                                                                  \
    X(FITTED, "fitted")                                                                                      \
    X(COUNTERS, "counters") /* hardware counters of the run, times a board's weights */                      \
    X(ISOLATED, "isolated")                                                                                  \
    X(GIVEN, "given") /* by the user: jm_report_options.prior */                                             \
    X(WEAK, "weak")                                                                                          \
    X(UNRESOLVED, "unresolved")

typedef enum jm_provenance {
#define X(name, text) JM_PROVENANCE_##name,
    JM_PROVENANCE_MAP(X)
#undef X
        JM_PROVENANCE_COUNT
} jm_provenance;

#define JM_CPU_BOARDS (-1) /* as board_id: all packages and DRAM of the CPU */

#define JM_MODEL_NONE "none" /* as model: none, so that counters are not used */

typedef struct jm_report_options {
    uint32_t size; /* sizeof(jm_report_options) */
    jm_by by;
    const char *phase;  /* only what happened inside phases of this name, NULL for all */
    int64_t board_id;   /* one board, 0 for all, or JM_CPU_BOARDS */
    int64_t process_id; /* one process of the recording (pid), 0 for all */
    int64_t from_ns;    /* CLOCK_MONOTONIC; both 0 for the whole recording */
    int64_t to_ns;
    const char *prior; /* CSV file of known powers as a prior, NULL: none; docs/report.md */
    const char *model; /* a board model (joulemap/model.h); NULL: the board's own, else, with counters, the
                          one shipped for its kind, else none; JM_MODEL_NONE: none */
    bool kernels;      /* add the kernels that a row launched as child rows; by layer, type or span */
} jm_report_options;

/* Kinds of fields, and the type of each in C (jm_field_REAL). */
typedef enum jm_field_kind {
#define X(kind, type, python) JM_FIELD_##kind,
    JM_FIELD_KIND_MAP(X)
#undef X
        JM_FIELD_KIND_COUNT
} jm_field_kind;

#define X(kind, type, python) typedef type jm_field_##kind;
JM_FIELD_KIND_MAP(X)
#undef X

/* Members of the structs below; joulemap/report_fields.h describes them. */
#define JM_FIELD_MEMBER(kind, name, key, place, doc) jm_field_##kind name;

/* One row. Texts live as long as the report. Rows are in pre-order of the tree: a parent comes before its
 * children, and `depth` is the level. */
typedef struct jm_row {
    JM_ROW_FIELDS(JM_FIELD_MEMBER)
} jm_row;

typedef struct jm_report_totals {
    JM_TOTALS_FIELDS(JM_FIELD_MEMBER)
} jm_report_totals;

/* The quality of the data, and the overhead of measuring. */
typedef struct jm_report_quality {
    JM_QUALITY_FIELDS(JM_FIELD_MEMBER)
} jm_report_quality;

typedef struct jm_report jm_report;

/* `options` may be NULL: the whole recording by layer. */
JM_API jm_status jm_report_create(jm_report **out, jm_recording *recording, const jm_report_options *options,
                                  jm_error *err);
JM_API void jm_report_free(jm_report *report);
JM_API size_t jm_report_row_count(const jm_report *report);
JM_API const jm_row *jm_report_row(const jm_report *report, size_t row);
JM_API const jm_report_totals *jm_report_totals_get(const jm_report *report);
JM_API const jm_report_quality *jm_report_quality_get(const jm_report *report);

/* The energy of some rows together. */
typedef struct jm_sum {
    double energy_j; /* NAN if a part is unknown */
    double low_j;    /* 95 % interval, with correlations between the rows */
    double high_j;
} jm_sum;

/* The sum of rows by number, each with its children. Nothing is counted twice: a parent and its child are the
 * parent, and time that crossing spans share counts once. A board upstream of others adds nothing. With
 * `(unresolved)` the sum is the total less the rows left out; of all rows it is the total. USAGE: no such
 * row. */
JM_API jm_status jm_report_sum(const jm_report *report, const size_t *rows, size_t count, jm_sum *out,
                               jm_error *err);

/* The same for all rows that match a pattern: "*.self_attn", a shell pattern for whole paths, in which `*`
 * matches dots too. Without `*`, `?` and `[` it also matches the end of a path, "self_attn", and any part of
 * a kernel's name. `rows`: number of matches. USAGE: no match. */
JM_API jm_status jm_report_sum_paths(const jm_report *report, const char *pattern, jm_sum *out, size_t *rows,
                                     jm_error *err);

/* The same in a steady step; all NAN without steps. */
JM_API jm_status jm_report_sum_paths_step(const jm_report *report, const char *pattern, jm_sum *out,
                                          jm_error *err);

/* The covariance of two rows' errors, J^2; of a row with itself its variance. NAN for `(unresolved)` and
 * unknown rows. Sensor energy of a whole (a phase) is taken as independent of its parts. USAGE: no such row.
 */
JM_API jm_status jm_report_covariance(const jm_report *report, size_t row_a, size_t row_b, double *out_j2,
                                      jm_error *err);

/* The energy of an interval of time, equal to the total of a report but without making one. Only readings
 * around the interval are read. Time outside of a board's readings is not extrapolated, except for one period
 * of the sensor; NAN if no board has readings within. All bounds are allowed; INT64_MIN to INT64_MAX is
 * everything. `board_id`: 0 for all boards, or JM_CPU_BOARDS. NOT_FOUND: no such board. */
JM_API jm_status jm_recording_energy(jm_recording *recording, int64_t board_id, int64_t from_ns,
                                     int64_t to_ns, jm_sum *out, jm_error *err);

/* Equal layers folded as in the table: "blocks.*". With other keys than layer each row is a group. Energies
 * include children; texts and arrays live as long as the groups. */
typedef struct jm_group {
    const char *name;
    const char *
        path; /* "blocks.*.attn"; of a single row its path; "blocks.*.2 RMSNorm" of siblings named by class */
    const char *kind;
    const char *type;
    int32_t depth; /* in the tree of groups */
    size_t members;
    const size_t *rows; /* [members]: their indices in the report */
    int64_t calls;      /* sum over all members, as the following */
    double busy_s;
    double energy_j;     /* NAN if unknown */
    double energy_low_j; /* 95 % interval of the sum; NAN also for the smallest of very many groups */
    double energy_high_j;
    double step_s; /* as in a row; NAN without steps */
    double step_j, step_low_j, step_high_j;
    double power_w;           /* NAN if it was never busy */
    double share;             /* of the total; NAN if unknown */
    jm_provenance provenance; /* the worst of the members */
} jm_group;

typedef struct jm_groups jm_groups;

/* The report must outlive the groups. Parents come before their children. */
JM_API jm_status jm_groups_create(jm_groups **out, const jm_report *report, jm_error *err);
JM_API void jm_groups_free(jm_groups *groups);
JM_API size_t jm_group_count(const jm_groups *groups);
JM_API const jm_group *jm_group_get(const jm_groups *groups, size_t group);

/* The parts of a run with steps, in this order. name, text */
#define JM_STAGE_MAP(X)                                                                                      \
    X(STEADY, "steady steps")                                                                                \
    X(BEFORE, "before the first step")                                                                       \
    X(WARM_UP, "warm-up steps")                                                                              \
    X(LONGER, "longer steps") /* of more than twice the median time: a checkpoint */                         \
    X(OTHER, "other kinds of steps")                                                                         \
    X(BETWEEN, "between steps")                                                                              \
    X(AFTER, "after the last step")                                                                          \
    X(MEASURING, "counter sampling, tracing") /* in no step */                                               \
    X(UNSEEN, "work not seen")                /* of programs that were not recorded */                       \
    X(UNRESOLVED, "unresolved")               /* as the row */

/* A part of a run; the joules of all add up to total_energy_j, and the seconds to the report's time. */
typedef struct jm_stage {
    const char *name;
    int64_t steps;   /* less than 0: it is no steps */
    double seconds;  /* NAN: it is in the others' time */
    double energy_j; /* of the steady steps by the fit; the rest shares the remainder as the sensors saw it */
} jm_stage;

/* 0 for a run without steps, and where the energy of its steps is not known. Parts without anything are left
 * out. */
JM_API size_t jm_report_stage_count(const jm_report *report);
JM_API const jm_stage *jm_report_stage(const jm_report *report, size_t stage);

/* A board whose energy is in the total. */
typedef struct jm_report_board {
    const jm_board *board; /* lives as long as the report */
    int32_t index;         /* as in jm_row.boards */
    double energy_j;       /* NAN if unknown */
    double gain_u; /* relative standard uncertainty of its sensor's gain, in no interval of the report; 0 if
                      unknown */
} jm_report_board;

JM_API size_t jm_report_board_count(const jm_report *report);

/* NOT_FOUND: no such board. */
JM_API jm_status jm_report_board_get(const jm_report *report, size_t board, jm_report_board *out,
                                     jm_error *err);

/* Power of a board over a bin of the report's time. */
typedef struct jm_power_bin {
    int64_t from_ns, to_ns; /* CLOCK_MONOTONIC */
    double seen_s;          /* part of the bin that is in the report and has readings */
    double mean_w;          /* mean over seen_s; NAN: none. Average bins weighted by seen_s */
    double least_w, most_w; /* readings in the bin; the mean if there are none */
    double clock_mhz;       /* mean SM clock of readings in the bin and in the report; NAN: none */
} jm_power_bin;

/* Power over time: `count` bins of equal width over the report's time, each from the best sensor with data,
 * corrected for the sensor's lag. `board` as in jm_report_board_get. Takes about as long as reading the
 * sensors' data. NOT_FOUND: no such board; USAGE: no bins. */
JM_API jm_status jm_report_power(const jm_report *report, size_t board, jm_power_bin *bins, size_t count,
                                 jm_error *err);

/* The options of the report; its texts live as long as the report. */
JM_API const jm_report_options *jm_report_options_get(const jm_report *report);

/* Notes for the reader: losses, gaps, throttling, sensor used, damage. */
JM_API size_t jm_report_note_count(const jm_report *report);
JM_API const char *jm_report_note(const jm_report *report, size_t note);

/* Whether the note must not be overlooked: the figures are incomplete, or based on less data than possible.
 */
JM_API bool jm_report_note_is_essential(const jm_report *report, size_t note);

/* Orders of the child rows of a row. name, text */
#define JM_SORT_MAP(X)                                                                                       \
    X(USUAL, "usual") /* layers and phases as they ran, kernels and types by energy */                       \
    X(ENERGY, "energy")                                                                                      \
    X(SELF, "self") /* energy without children */                                                            \
    X(SHARE, "share")                                                                                        \
    X(TIME, "time")                                                                                          \
    X(CALLS, "calls")                                                                                        \
    X(NAME, "name")

typedef enum jm_sort {
#define X(name, text) JM_SORT_##name,
    JM_SORT_MAP(X)
#undef X
        JM_SORT_COUNT
} jm_sort;

typedef struct jm_text_options {
    uint32_t size;     /* sizeof(jm_text_options) */
    int32_t width;     /* columns of the terminal, 0: cut nothing */
    uint64_t limit;    /* rows, 0: all */
    uint64_t depth;    /* levels of nested rows, 0: all */
    bool total;        /* joules of all steps together; otherwise per step, if the run has several */
    bool expand;       /* equal layers one by one; otherwise they share a row */
    bool notes;        /* all notes and the quality of the fit; otherwise only essential notes */
    bool colour;       /* ECMA-48 escapes for headings, verdicts and weakly known rows */
    jm_sort sort;      /* the largest first, names alphabetically */
    const char *match; /* only matching rows and their children, NULL: all; as jm_report_sum_paths */
    uint64_t row;      /* only this row and its children, from 1, as "[#4]"; 0: all */
    const char
        *ask_for_notes; /* how the reader gets all notes, shown if some are left out ("--notes"), or NULL */
} jm_text_options;

/* Views. `options` may be NULL: all rows, not cut. The caller frees *out with free(). USAGE: no such row, or
 * both match and row. */
JM_API jm_status jm_report_text(const jm_report *report, const jm_text_options *options, char **out,
                                jm_error *err);
JM_API jm_status jm_report_json(const jm_report *report, char **out, jm_error *err);
JM_API jm_status jm_report_csv(const jm_report *report, char **out, jm_error *err);

/* What a run took, in some eight lines. */
typedef struct jm_summary_options {
    uint32_t size;           /* sizeof(jm_summary_options) */
    int32_t width;           /* columns of the terminal, 0: cut nothing */
    const char *name;        /* of the program, begins the first line */
    const jm_report *before; /* of an earlier run of it, to compare with; NULL: none */
    const char *when;        /* of that run, for display: "26 Nov 14:05" */
} jm_summary_options;

/* `report`: of a whole run by layer; `recording`: its own. The caller frees *out with free(). */
JM_API jm_status jm_report_summary(const jm_report *report, jm_recording *recording,
                                   const jm_summary_options *options, char **out, jm_error *err);

/* Power over time as a block chart per board, with phases; or as JSON with `bins` bins per board, as
 * jm_report_power. The caller frees *out with free(). */
JM_API jm_status jm_report_power_text(const jm_report *report, const jm_text_options *options, char **out,
                                      jm_error *err);
JM_API jm_status jm_report_power_json(const jm_report *report, size_t bins, char **out, jm_error *err);

/* The formats of jm_export, by name. */
#define JM_EXPORT_FORMAT_MAP(X)                                                                              \
    X(csv)                                                                                                   \
    X(json)                                                                                                  \
    X(folded)                                                                                                \
    X(chrome)                                                                                                \
    X(perfetto)                                                                                              \
    X(pprof)                                                                                                 \
    X(power)                                                                                                 \
    X(openmetrics)

/* Write an export format into an open stream; docs/report.md describes the formats. NOT_FOUND: folded stacks
 * of rows without energy. */
JM_API jm_status jm_export(jm_recording *recording, const char *format, const jm_report_options *options,
                           FILE *out, jm_error *err);

/* Whether a format is binary. False for an unknown format. */
JM_API bool jm_export_is_binary(const char *format);

JM_API const char *jm_by_text(jm_by by);
JM_API const char *jm_sort_text(jm_sort sort);
JM_API const char *jm_provenance_text(jm_provenance provenance);

#ifdef __cplusplus
}
#endif
#endif
