/* The lines of a table on the page: rows of a report, or equal layers together, as many as a page may have.
 */
#ifndef JM_PAGE_LINES_H
#define JM_PAGE_LINES_H

#include "export/stacks.h"
#include "report/fold.h"

/* A line: a row or a part. */
typedef struct jm__page_line {
    const char *name;
    const jm_row *row; /* of a part: the sum of its members */
    size_t members;
    bool says_kind; /* its name alone would not tell it from another */
    double own_j;   /* without children; NAN: not known */
    double area_j;  /* the same as the area of a flame graph, never below 0 (jm__stacks) */
    double area_s;
} jm__page_line;

typedef struct jm__page_lines {
    jm__stacks stacks;
    jm__fold fold;
    JM_VEC(jm__page_line) items; /* parents before their children; row->depth says where */
    bool in_layers;              /* some row that is no pause was mostly in a layer */
    bool before_layers;          /* some pause was mostly before one */
    size_t left_out;             /* lines that took least, and what they took: */
    double left_out_j;           /* NAN: not known */
    double left_out_area_j, left_out_area_s;
} jm__page_lines;

/* `expand`: a line a row. At most `most` lines, and the parents of those. Free also after an error. */
jm_status jm__page_lines_make(jm__page_lines *lines, const jm_report *report, bool expand, size_t most,
                              jm_error *err);
void jm__page_lines_free(jm__page_lines *lines);

#endif
