/* Rows, of a report or a diff, with equal layers taken together: the twelve blocks of a transformer are one
 * part. */
#ifndef JM_REPORT_FOLD_H
#define JM_REPORT_FOLD_H

#include "base/strbuf.h"
#include "base/vec.h"

#include <joulemap/report.h>

/* Parents stand before their children. */
typedef struct jm__fold_source {
    void *context;
    size_t count;
    const jm_row *(*row)(void *context, size_t row);
    bool (*equal)(void *context, size_t row,
                  size_t usual); /* of two that look alike: is `row` as the usual one? */
} jm__fold_source;

/* One row, or several that are the same part of equal layers. */
typedef struct jm__part {
    char *name;     /* "attn"; "layers.*" of members that differ in their number alone; "2 RMSNorm" */
    jm_row sum;     /* of all members: calls, time, energy, share; the rest is the first's. The interval of
                       several is missing until jm__fold_interval */
    size_t members; /* 1: it is that row */
    bool by_type;   /* members of other names, called by their class */
    bool lesser;    /* not most of those that look like it, or in a part that is not */
    size_t row;     /* the first member's, among those of the report */
    size_t first;   /* of the fold's rows: as many as there are members */
} jm__part;

typedef struct jm__fold {
    JM_VEC(jm__part) parts; /* parents before their children; sum.depth says where */
    size_t *rows;           /* of the report, those of a part together */
} jm__fold;

/* `expand`: each row is a part of its own. Layers that lie beside each other and have the same types and
 * children below them are taken together as far as the source calls them equal: if they are numbered; or if
 * they are all that lie there of a class (its arguments aside), with nothing below them, take the same time
 * (5 %), and no row is known better than weakly. */
jm_status jm__fold_rows(jm__fold *fold, const jm__fold_source *source, bool expand, jm_error *err);

/* The same of a report's rows: equal if they were called equally often, and no member's energy is off by more
 * than 5 % and three standard uncertainties of the difference. `queried`: of each row whether a reader asked
 * for it, who wants to see it without the others; NULL: nobody did. */
jm_status jm__fold_make(jm__fold *fold, const jm_report *report, bool expand, const bool *queried,
                        jm_error *err);

/* The variance of the difference of two rows' energies, J^2. NAN if it is not known, or too many were asked
 * for: each takes a walk through the whole report. `queried` counts them. */
double jm__fold_variance_apart(const jm_report *report, size_t a, size_t b, size_t *queried);

/* Find the interval of a part, which walks through the whole report. */
jm_status jm__fold_interval(const jm__fold *fold, const jm_report *report, jm__part *part, jm_error *err);

/* `path`: made of the members' paths. Of a part that is called by their class its last component is too:
 * "layers.*.2 RMSNorm". */
void jm__part_name_path(jm__strbuf *path, const jm__part *part);
/* The same of all parts, or of those chosen: of the 500 with most energy, however many there are. */
jm_status jm__fold_intervals(jm__fold *fold, const jm_report *report, const bool *chosen, jm_error *err);

void jm__fold_free(jm__fold *fold);

/* Add the path of its row; of several members what their paths have in common, "blocks.*.attn" of
 * "blocks.0.attn" and "blocks.1.attn": a pattern that matches all of them; of one that is called by their
 * class, "blocks.*.2 LayerNorm". */
void jm__part_path_add(jm__strbuf *out, const jm_report *report, const jm__fold *fold, const jm__part *part);

#endif
