/* From a recording to rows: whose joules, how sure, how known. */
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
    X(SPAN, "span")       /* one row an occurrence: what each single call of a layer took */                 \
    X(REQUEST, "request") /* of a server: its share of each step it was in */

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
    X(GIVEN, "given") /* by who asked for the report: jm_report_options.prior */                             \
    X(WEAK, "weak")                                                                                          \
    X(UNRESOLVED, "unresolved")

typedef enum jm_provenance {
#define X(name, text) JM_PROVENANCE_##name,
    JM_PROVENANCE_MAP(X)
#undef X
        JM_PROVENANCE_COUNT
} jm_provenance;

#define JM_CPU_BOARDS (-1) /* as a board's number: all packages and DRAM of the CPU */

#define JM_MODEL_NONE "none" /* no model: counters are left out, though there are some */

typedef struct jm_report_options {
    uint32_t size; /* sizeof(jm_report_options) */
    jm_by by;
    const char *phase;  /* only what happened inside phases of this name, NULL for all */
    int64_t board_id;   /* one board, 0 for all, or JM_CPU_BOARDS */
    int64_t process_id; /* one process of the recording (pid), 0 for all */
    int64_t from_ns;    /* CLOCK_MONOTONIC; both 0 for the whole recording */
    int64_t to_ns;
    const char
        *prior; /* CSV file of what is known of powers beside the readings, NULL for none: docs/report.md */
    const char *model; /* what counters are worth on this board, and what it draws idle (joulemap/model.h);
                          NULL: its own, else, with counters, the one that joulemap has for boards of its
                          kind, else none; JM_MODEL_NONE: none */
    bool kernels;      /* the kernels that a row launched are rows inside it; by layer, type or span */
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

/* Members of the structs below: what each says stands in joulemap/report_fields.h. */
#define JM_FIELD_MEMBER(kind, name, key, place, doc) jm_field_##kind name;

/* One row. Texts live as long as the report. Rows are in pre-order of the tree:
 * a parent stands before its children, depth says where. */
typedef struct jm_row {
    JM_ROW_FIELDS(JM_FIELD_MEMBER)
} jm_row;

typedef struct jm_report_totals {
    JM_TOTALS_FIELDS(JM_FIELD_MEMBER)
} jm_report_totals;

/* How good the data are, and what taking them cost. */
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
    double energy_j; /* NAN if no sensor tells anything of a part of it */
    double low_j;    /* 95 % interval: errors that the rows share, or that cancel, are counted as such */
    double high_j;
} jm_sum;

/* Rows are given by number, each with all below it, and nothing is counted twice: a parent and its child are
 * the parent, and of spans that cross the time that both were open is there once. A board upstream of others
 * adds nothing to them. With `(unresolved)`, the sum is the total less the rows that are left out; of all
 * rows it is the total. USAGE: no such row. */
JM_API jm_status jm_report_sum(const jm_report *report, const size_t *rows, size_t count, jm_sum *out,
                               jm_error *err);

/* The same of all rows that a pattern matches: "*.self_attn", a shell pattern of whole paths, in which `*`
 * stands for dots too; without `*`, `?` and `[` also the end of a path, "self_attn", and of kernels any part
 * of the name. `rows`: how many match. USAGE: none does. */
JM_API jm_status jm_report_sum_paths(const jm_report *report, const char *pattern, jm_sum *out, size_t *rows,
                                     jm_error *err);

/* The covariance of the errors of two rows' energies, J^2, of a row and itself its variance. Not of
 * `(unresolved)`, nor of a row of which nothing is known: NAN. What sensors had as a whole (a phase) is taken
 * as independent of its parts. USAGE: no such row. */
JM_API jm_status jm_report_covariance(const jm_report *report, size_t row_a, size_t row_b, double *out_j2,
                                      jm_error *err);

/* The energy of an interval of time without any report: what a report's total of it would be. Reads the
 * readings around it alone. Time outside of a board's readings has no part in it: nothing is made up before
 * the first and after the last (but for a period of the sensor); NAN if no board has any within. All bounds
 * are allowed, INT64_MIN to INT64_MAX is everything. `board_id`: 0 for all boards, or JM_CPU_BOARDS.
 * NOT_FOUND: no such board. */
JM_API jm_status jm_recording_energy(jm_recording *recording, int64_t board_id, int64_t from_ns,
                                     int64_t to_ns, jm_sum *out, jm_error *err);

/* Equal layers taken together, as the table shows them: "blocks.*". Of rows by another key than the layer
 * each is a group of its own. Energies with all children; texts and numbers live as long as the groups. */
typedef struct jm_group {
    const char *name;
    const char *path; /* "blocks.*.attn"; of one row its own; "blocks.*.2 RMSNorm" of siblings of a class */
    const char *kind;
    const char *type;
    int32_t depth; /* in the tree of groups */
    size_t members;
    const size_t *rows; /* [members]: their numbers in the report */
    int64_t calls;      /* of all members, as what follows */
    double busy_s;
    double energy_j; /* NAN where no sensor tells */
    double
        energy_low_j; /* 95 % interval of the sum; NAN also of the smallest of very many groups of several */
    double energy_high_j;
    double power_w;           /* NAN where it was never busy */
    double share;             /* of the total; NAN where that is not known */
    jm_provenance provenance; /* the worst of them */
} jm_group;

typedef struct jm_groups jm_groups;

/* The report must outlive them. Parents stand before their children. */
JM_API jm_status jm_groups_create(jm_groups **out, const jm_report *report, jm_error *err);
JM_API void jm_groups_free(jm_groups *groups);
JM_API size_t jm_group_count(const jm_groups *groups);
JM_API const jm_group *jm_group_get(const jm_groups *groups, size_t group);

/* A board whose energy is in the total. */
typedef struct jm_report_board {
    const jm_board *board; /* lives as long as the report */
    int32_t index;         /* as jm_row.boards has it */
    double energy_j;       /* NAN if no sensor tells */
    double gain_u; /* relative standard uncertainty of its sensor's gain, in no interval of the report;
                      0 if not known */
} jm_report_board;

JM_API size_t jm_report_board_count(const jm_report *report);

/* NOT_FOUND: there is no such one. */
JM_API jm_status jm_report_board_get(const jm_report *report, size_t board, jm_report_board *out,
                                     jm_error *err);

/* What a board drew over a bit of the report's time. */
typedef struct jm_power_bin {
    int64_t from_ns, to_ns; /* CLOCK_MONOTONIC */
    double seen_s;          /* what of it is in the report and was seen by a sensor */
    double mean_w;          /* of that; NAN: there is none. Means of several bins weigh by seen_s */
    double least_w, most_w; /* readings in it; the mean if there is none */
    double clock_mhz; /* of its SMs, the mean of readings in it that are in the report; NAN: there is none */
} jm_power_bin;

/* Power over time: `count` bins of equal width from the report's first moment to its last, each from the best
 * sensor that saw it, as early as it was true. `board` counts as in jm_report_board_get. The work is that of
 * reading the sensors, not that of a report. NOT_FOUND: there is no such board; USAGE: no bins. */
JM_API jm_status jm_report_power(const jm_report *report, size_t board, jm_power_bin *bins, size_t count,
                                 jm_error *err);

/* What was asked for; its texts live as long as the report. */
JM_API const jm_report_options *jm_report_options_get(const jm_report *report);

/* Sentences a reader must know (losses, gaps, throttling, sensor used, damage). */
JM_API size_t jm_report_note_count(const jm_report *report);
JM_API const char *jm_report_note(const jm_report *report, size_t note);

/* It says that the figures are incomplete or rest on less than they could: nobody may overlook it. */
JM_API bool jm_report_note_is_essential(const jm_report *report, size_t note);

/* Orders of rows that lie in the same row. name, text */
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
    uint32_t size;  /* sizeof(jm_text_options) */
    int32_t width;  /* columns of the terminal, 0: cut nothing */
    uint64_t limit; /* rows, 0: all */
    uint64_t depth; /* levels of rows in each other, 0: all */
    bool total;     /* joules of all steps together; otherwise of one, if the run has several */
    bool expand;    /* equal layers one by one; otherwise they share a row */
    bool notes;     /* all notes, and how the fit went; otherwise those that nobody may overlook */
    bool colour;    /* escapes of ECMA-48 for what a reader looks for first, and for what is little known */
    jm_sort sort;   /* the largest first, names by the alphabet */
    const char *match; /* only rows that it matches, and what is in them, NULL: all; as jm_report_sum_paths */
    uint64_t row;      /* only this row and what is in it, from 1, as "[#4]" says; 0: all */
    const char
        *ask_for_notes; /* how the reader gets them, said where notes are left out ("--notes"), or NULL */
} jm_text_options;

/* Views. `options` may be NULL: all rows, not cut. The caller frees *out with free(). USAGE: no such row,
 * or both match and row. */
JM_API jm_status jm_report_text(const jm_report *report, const jm_text_options *options, char **out,
                                jm_error *err);
JM_API jm_status jm_report_json(const jm_report *report, char **out, jm_error *err);
JM_API jm_status jm_report_csv(const jm_report *report, char **out, jm_error *err);

/* Power over time as a chart of blocks, a board below the other, with phases; and as JSON: `bins` of each
 * board, as jm_report_power has them. The caller frees *out with free(). */
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

/* `joulemap export`: one of them into an open stream. What each is: docs/report.md. NOT_FOUND: folded stacks
 * of rows without any joules. */
JM_API jm_status jm_export(jm_recording *recording, const char *format, const jm_report_options *options,
                           FILE *out, jm_error *err);

/* Is a format bytes rather than text? False for one that there is not. */
JM_API bool jm_export_is_binary(const char *format);

JM_API const char *jm_by_text(jm_by by);
JM_API const char *jm_sort_text(jm_sort sort);
JM_API const char *jm_provenance_text(jm_provenance provenance);

#ifdef __cplusplus
}
#endif
#endif
