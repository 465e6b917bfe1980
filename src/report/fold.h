/* Folds equal layers of a report or a diff: the twelve blocks of a transformer become one part. */
#ifndef JM_REPORT_FOLD_H
#define JM_REPORT_FOLD_H

#include "base/strbuf.h"
#include "base/vec.h"

#include <joulemap/report.h>

/* The rows to fold; parents come before their children. */
typedef struct jm__fold_source {
    void *context;
    size_t count;
    const jm_row *(*row)(void *context, size_t row);
    bool (*equal)(
        void *context, size_t row,
        size_t usual); /* whether `row` equals the median row `usual`; both have the same structure */
} jm__fold_source;

/* One row, or several equal rows. */
typedef struct jm__part {
    char *name; /* "attn"; "layers.*" if members differ only in their number; "2 RMSNorm" */
    jm_row sum; /* calls, time, energy and share of all members; the rest is the first member's. With several
                   members the interval is missing until jm__fold_interval */
    double call_s, call_j; /* of a call, the mean of the run; NAN: it has none */
    size_t members;        /* 1: a single row */
    bool by_type;          /* members have different names and are named by their class */
    bool minority;         /* not the majority of the rows with its structure, or inside such a part */
    size_t row;            /* the first member's index in the report */
    size_t first;          /* index of its members in jm__fold.rows */
} jm__part;

typedef struct jm__fold {
    JM_VEC(jm__part) parts; /* parents before their children; sum.depth is the depth */
    size_t *rows;           /* rows of the report, those of a part contiguous */
} jm__fold;

/* `expand`: each row is its own part. Sibling layers with the same types and children are folded if the
 * source finds them equal. They must be numbered, or be all siblings of a class (without its arguments), have
 * no children, take the same time (5 %) and be at most weakly known. */
jm_status jm__fold_rows(jm__fold *fold, const jm__fold_source *source, bool expand, jm_error *err);

/* The same for a report. Rows are equal if they have the same number of calls and no member's energy differs
 * by more than 5 % and three standard uncertainties of the difference. `selected`: rows that the user
 * selected, which are never folded with others; NULL: no selection. */
jm_status jm__fold_make(jm__fold *fold, const jm_report *report, bool expand, const bool *selected,
                        jm_error *err);

/* Variance of the difference of two rows' energies, J^2. NAN: unknown, or `queries` is over 1,000, as each
 * query walks through the whole report. Increments `queries`. */
double jm__fold_variance_apart(const jm_report *report, size_t a, size_t b, size_t *queries);

/* Compute the interval of a part, of the run and of a step, which walks through the whole report. */
jm_status jm__fold_interval(const jm__fold *fold, const jm_report *report, jm__part *part, jm_error *err);

/* Compute the intervals of the chosen parts (NULL: all), at most of the 500 with the most energy. */
jm_status jm__fold_intervals(jm__fold *fold, const jm_report *report, const bool *chosen, jm_error *err);

void jm__fold_free(jm__fold *fold);

/* Add the path of the part to an empty text. With several members it is a pattern that matches all of them:
 * "blocks.*.attn" for "blocks.0.attn" and "blocks.1.attn". If named by class: "blocks.*.2 LayerNorm". */
void jm__part_path_add(jm__strbuf *out, const jm_report *report, const jm__fold *fold, const jm__part *part);

/* The same for given paths, [members], which are advanced; they have equally many components, each ending at
 * one of `ends`. `listed`: what differs is "1,3,5,..", not "*". */
void jm__common_path_add(jm__strbuf *out, const char **paths, const jm__part *part, const char *ends,
                         bool listed);

#endif
