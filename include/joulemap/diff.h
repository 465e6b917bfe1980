/* Two runs side by side, or several of each side: what got dearer, what got cheaper, and what nobody can
 * tell. */
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
    JM_PER_FITTING, /* step if all runs tell their steps, else run */
#define X(name, text) JM_PER_##name,
    JM_PER_MAP(X)
#undef X
        JM_PER_COUNT
} jm_per;

/* What can be said of a row, by whether the 95 % interval of the difference leaves out 0. Only in A: no run
 * of B has it. */
#define JM_CHANGE_MAP(X)                                                                                     \
    X(LESS, "less") /* B takes less than A */                                                                \
    X(MORE, "more")                                                                                          \
    X(NOT_SEEN, "no difference seen")                                                                        \
    X(ONLY_IN_A, "only in A")                                                                                \
    X(ONLY_IN_B, "only in B")                                                                                \
    X(NOT_KNOWN, "not known") /* the energy, or how sure it is, is missing in one of the runs */

typedef enum jm_change {
#define X(name, text) JM_CHANGE_##name,
    JM_CHANGE_MAP(X)
#undef X
        JM_CHANGE_COUNT
} jm_change;

/* Whether the boards of the two sides are the same: each one that a side ran on the other one ran on too. */
#define JM_SAMENESS_MAP(X)                                                                                   \
    X(SAME, "same")                                                                                          \
    X(DIFFERENT, "different")                                                                                \
    X(UNKNOWN, "unknown") /* a board without UUID: taken for another one */

typedef enum jm_sameness {
#define X(name, text) JM_SAMENESS_##name,
    JM_SAMENESS_MAP(X)
#undef X
        JM_SAMENESS_COUNT
} jm_sameness;

typedef struct jm_diff_options {
    uint32_t size; /* sizeof(jm_diff_options) */
    jm_per per;
    const char
        *name_a; /* of the sides, for people; NULL: what the names of its runs have in common ("base" */
    const char *name_b; /* of "base-1", "base-2"); "A" and "B" if they have no names, or the same */
    bool expand;        /* text and Markdown: equal layers one by one; otherwise they share a row */
} jm_diff_options;

/* One row of the two sides, or their totals. Energies are joules a unit (jm_diff_per): of one run what its
 * report says, with the ends of its 95 % interval, of several the mean over those that have the row; relative
 * to the sensors. NAN where missing, and on the side that has no such row. Texts live as long as the reports.
 */
typedef struct jm_diff_row {
    const char *name;
    const char *path; /* as the first run that has it calls it */
    const char *kind;
    int32_t depth;   /* in the tree of A's first run, wrappers left out; of rows that it does not have 0 */
    bool path_again; /* another row has this path, of another kind */
    double a_j, a_low_j, a_high_j;
    double b_j, b_low_j, b_high_j;
    double change; /* b_j / a_j - 1: -0.1 is 10 % less; NAN where a_j is not above 0 */
    double
        change_low; /* 95 % interval of change, with the gains of sensors that are not the same in it; both */
    double change_high; /* NAN where the interval of A reaches 0 */
    jm_change verdict;
    size_t a_runs, b_runs; /* how many of each side have it; those that have not count for nothing */
    double a_deviation_j;  /* standard deviation of one run (n - 1), as those of the side are spread; NAN: */
    double b_deviation_j;  /* fewer than two */
} jm_diff_row;

typedef struct jm_diff jm_diff;

/* Compare two reports with the same key of rows; both must outlive the diff. Rows are matched by path and
 * kind; in paths of layers the components `module` (DistributedDataParallel) and `_orig_mod` (torch.compile)
 * count for nothing. The errors of the two runs are taken as independent. `options` may be NULL.
 * USAGE: other keys, rows that are single spans, or a run that does not tell its steps or samples. */
JM_API jm_status jm_diff_create(jm_diff **out, const jm_report *a, const jm_report *b,
                                const jm_diff_options *options, jm_error *err);

/* The runs of one side: the same program, run again. */
typedef struct jm_diff_side {
    const jm_report *const *reports; /* [count] */
    const char *const *names;        /* [count], for people; NULL, as a whole or one: "A1", "A2", "B1" */
    size_t count;                    /* 1 at least */
} jm_diff_side;

/* The same of several runs a side; reports must outlive the diff, the rest need not. Each energy is the mean
 * over the runs of its side. Its 95 % interval holds the spread from run to run (Student's t) and what the
 * runs' own intervals hold beyond that spread, which is taken as one error that they all share: it is never
 * narrower than either says alone. That of a change holds both sides' in quadrature, which with spreads of
 * any size is 95 % at least. A side of one run has its own interval, and no spread. USAGE besides: a side
 * without runs. */
JM_API jm_status jm_diff_create_many(jm_diff **out, const jm_diff_side *a, const jm_diff_side *b,
                                     const jm_diff_options *options, jm_error *err);
JM_API void jm_diff_free(jm_diff *diff);

/* In the order of the report of A's first run, then what other runs of A have besides, then those of B alone.
 */
JM_API size_t jm_diff_row_count(const jm_diff *diff);
JM_API const jm_diff_row *jm_diff_row_get(const jm_diff *diff, size_t row);
JM_API const jm_diff_row *jm_diff_total(const jm_diff *diff); /* its name and path: jm_per_text */

JM_API jm_per jm_diff_per(const jm_diff *diff);           /* never JM_PER_FITTING */
JM_API jm_sameness jm_diff_sameness(const jm_diff *diff); /* of the boards */
JM_API double jm_diff_gain_u(const jm_diff *diff);        /* standard, relative, in the total's change: of the
                                                             sensors' gains that do not cancel; 0: all do */

/* Views; the caller frees *out with free(). Text and Markdown show at most `limit` rows (0: all) and count
 * rows of less than 0.5 % of the total on both sides; layers that are equal in each run and changed alike
 * share a row (jm_diff_options.expand). Text is a table `width` columns wide (0: do not cut). JSON has all
 * rows. */
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
