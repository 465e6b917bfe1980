/* Compares two runs, or several per side: what changed, and what is within the noise. */
#ifndef JOULEMAP_DIFF_H
#define JOULEMAP_DIFF_H

#include <joulemap/report.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What energies are divided by: name, text */
#define JM_PER_MAP(X)                                                                                        \
    X(RUN, "run")                                                                                            \
    X(STEP, "step")                                                                                          \
    X(SAMPLE, "sample")                                                                                      \
    X(TOKEN, "token")

typedef enum jm_per {
    JM_PER_FITTING, /* step if all runs have steady steps of one kind, else run */
#define X(name, text) JM_PER_##name,
    JM_PER_MAP(X)
#undef X
        JM_PER_COUNT
} jm_per;

/* The verdict on a row, by whether the 95 % interval of the difference excludes 0. Only in A: no run of B has
 * it. */
#define JM_CHANGE_MAP(X)                                                                                     \
    X(LESS, "less") /* B takes less than A */                                                                \
    X(MORE, "more")                                                                                          \
    X(NOT_SEEN, "no difference seen")                                                                        \
    X(ONLY_IN_A, "only in A")                                                                                \
    X(ONLY_IN_B, "only in B")                                                                                \
    X(NOT_KNOWN, "not known") /* the energy or its interval is missing in one of the runs */

typedef enum jm_change {
#define X(name, text) JM_CHANGE_##name,
    JM_CHANGE_MAP(X)
#undef X
        JM_CHANGE_COUNT
} jm_change;

/* Whether both sides ran on the same boards. */
#define JM_SAMENESS_MAP(X)                                                                                   \
    X(SAME, "same")                                                                                          \
    X(DIFFERENT, "different")                                                                                \
    X(UNKNOWN, "unknown") /* a board without UUID: treated as another one */

typedef enum jm_sameness {
#define X(name, text) JM_SAMENESS_##name,
    JM_SAMENESS_MAP(X)
#undef X
        JM_SAMENESS_COUNT
} jm_sameness;

typedef struct jm_diff_options {
    uint32_t size; /* sizeof(jm_diff_options) */
    jm_per per;
    /* Names of the sides for display; NULL: the common part of their runs' names ("base" of "base-1" and
     * "base-2"), or "A" and "B" if these have no names or are equal. */
    const char *name_a;
    const char *name_b;
    bool expand; /* text and Markdown: equal layers one by one; otherwise they share a row */
} jm_diff_options;

/* One row of the two sides, or their totals. Energies are joules per unit (jm_diff_per), relative to the
 * sensors: of the steady steps, or of the whole run. For a single run they are its report's, with the ends of
 * the 95 % interval; for several runs the mean over those that have the row. NAN if missing, and on a side
 * without the row. Texts live as long as the reports. */
typedef struct jm_diff_row {
    const char *name;
    const char *path; /* in the first run that has it */
    const char *kind;
    int32_t depth;   /* in the tree of A's first run, without wrappers; 0 if that run lacks the row */
    bool path_again; /* another row of another kind has this path */
    double a_j, a_low_j, a_high_j;
    double b_j, b_low_j, b_high_j;
    double change; /* b_j / a_j - 1: -0.1 is 10 % less; NAN if a_j is not above 0 */
    /* 95 % interval of change, with gain errors of sensors that the sides do not share; NAN if the interval
     * of A reaches 0. */
    double change_low;
    double change_high;
    jm_change verdict;
    size_t a_runs, b_runs; /* number of runs of each side that have the row */
    /* Standard deviation (n - 1) of a side's runs; NAN: fewer than two. */
    double a_deviation_j;
    double b_deviation_j;
    double a_s, b_s; /* busy seconds per unit, of the total all seconds; the mean; NAN as energies */
} jm_diff_row;

typedef struct jm_diff jm_diff;

/* Compare two reports with the same key of rows; both must outlive the diff. Rows are matched by path and
 * kind; the components `module` (DistributedDataParallel) and `_orig_mod` (torch.compile) in paths of layers
 * are ignored. Errors of the two runs are assumed independent. `options` may be NULL. USAGE: different keys,
 * rows by span, or a run without steps or samples. */
JM_API jm_status jm_diff_create(jm_diff **out, const jm_report *a, const jm_report *b,
                                const jm_diff_options *options, jm_error *err);

/* The runs of one side: the same program, run repeatedly. */
typedef struct jm_diff_side {
    const jm_report *const *reports; /* [count] */
    const char *const *names;        /* [count], for display; NULL, or a NULL entry: "A1", "A2", "B1" */
    size_t count;                    /* 1 at least */
} jm_diff_side;

/* The same with several runs per side; the reports must outlive the diff. Each energy is the mean over the
 * runs of its side. Its 95 % interval holds the spread from run to run (Student's t), and what the runs' own
 * intervals hold beyond that spread, taken as one common error. It is never narrower than either alone. The
 * interval of a change holds both sides' in quadrature, which is at least 95 % for any spreads. A side of one
 * run has its own interval and no spread. USAGE also: a side without runs. */
JM_API jm_status jm_diff_create_many(jm_diff **out, const jm_diff_side *a, const jm_diff_side *b,
                                     const jm_diff_options *options, jm_error *err);
JM_API void jm_diff_free(jm_diff *diff);

/* Rows are in the order of the report of A's first run, then what other runs of A add, then those only in B.
 */
JM_API size_t jm_diff_row_count(const jm_diff *diff);
JM_API const jm_diff_row *jm_diff_row_get(const jm_diff *diff, size_t row);
JM_API const jm_diff_row *jm_diff_total(const jm_diff *diff); /* its name and path: jm_per_text */

JM_API jm_per jm_diff_per(const jm_diff *diff);           /* never JM_PER_FITTING */
JM_API jm_sameness jm_diff_sameness(const jm_diff *diff); /* of the boards */
JM_API double jm_diff_gain_u(const jm_diff *diff); /* relative standard uncertainty of the total's change from
                                                      gain errors of the sensors; 0: all cancel */

/* Views; the caller frees *out with free(). Text and Markdown show at most `limit` rows (0: all). Rows below
 * 0.5 % of the total on both sides are only counted; layers that are equal in each run and changed equally
 * share a row (jm_diff_options.expand). Text is `width` columns wide (0: not cut). JSON has all rows. */
JM_API jm_status jm_diff_text(const jm_diff *diff, int width, size_t limit, char **out, jm_error *err);
JM_API jm_status jm_diff_markdown(const jm_diff *diff, size_t limit, char **out, jm_error *err);
JM_API jm_status jm_diff_json(const jm_diff *diff, char **out, jm_error *err);

JM_API const char *jm_per_text(jm_per per); /* "step"; "" for JM_PER_FITTING */
JM_API const char *jm_change_text(jm_change change);
JM_API const char *jm_sameness_text(jm_sameness sameness);

#ifdef __cplusplus
}
#endif
#endif
