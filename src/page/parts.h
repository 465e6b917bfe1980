/* The parts of the page's data: what the page shows is computed here; the page formats and draws. */
#ifndef JM_PAGE_PARTS_H
#define JM_PAGE_PARTS_H

#include "base/json_value.h"
#include "base/strbuf.h"
#include "export/stacks.h"
#include "report/facts.h"
#include "report/fold.h"

#include <joulemap/page.h>

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

/* An array a column, which is a third of an object a row. NULL if memory is out. */
json_t *jm__page_lines_json(const jm__page_lines *lines);

/* Power and clock over time: {from_s, to_s, boards: [{index, mean_w, least_w, most_w, clock_mhz}]}, the
 * moments counted from the start of the recording. */
json_t *jm__page_power(const jm_report *report, jm_error *err);

/* Phases, epochs and windows that lie in the report's time, and when its steps began. */
json_t *jm__page_spans(const jm_report *report);

/* What each step took, out of a report by span; null if it has none. */
json_t *jm__page_steps(const jm_report *spans, jm_error *err);

/* What the page shows of the search for a power cap that a recording was made for, out of what the recording
 * has of it, NULL too; null: none, or none that can be read. */
json_t *jm__page_cap_of(const json_t *search);

/* Add the object as text that can stand inside an element of HTML: no "<" is in it. `diff` and `other` are
 * NULL for a single run. */
jm_status jm__page_document(jm__strbuf *out, const jm_page_run *run, const jm_page_run *other,
                            const jm_diff *diff, jm_error *err);

#endif
