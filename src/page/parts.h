/* The parts of the page's data, which are computed here. The page itself only formats and draws. */
#ifndef JM_PAGE_PARTS_H
#define JM_PAGE_PARTS_H

#include "base/json_value.h"
#include "base/strbuf.h"
#include "export/stacks.h"
#include "report/facts.h"
#include "report/fold.h"

#include <joulemap/page.h>

/* A line of a table: a row or a part. */
typedef struct jm__page_line {
    const char *name;
    char *path;        /* of a part with several members: a pattern that matches all of them; else NULL */
    const jm_row *row; /* for a part, the sum of its members */
    size_t members;
    bool show_kind; /* its name must be shown with its kind to be unambiguous */
    double own_j;   /* without children; NAN: unknown */
    double area_j;  /* the same as a flame graph's area, never negative (jm__stacks) */
    double area_s;
} jm__page_line;

typedef struct jm__page_lines {
    jm__stacks stacks;
    jm__fold fold;
    JM_VEC(jm__page_line) items; /* parents before their children; row->depth is the depth */
    bool in_layers;              /* some row of work is mostly in a layer */
    bool before_layers;          /* some pause is mostly before a layer */
    size_t left_out;             /* number of lines left out, those with the least energy; their sums: */
    double left_out_j;           /* NAN: unknown */
    double left_out_area_j, left_out_area_s;
} jm__page_lines;

/* `expand`: a line per row. At most `most` lines, and their parents. Free also after an error. */
jm_status jm__page_lines_make(jm__page_lines *lines, const jm_report *report, bool expand, size_t most,
                              jm_error *err);
void jm__page_lines_free(jm__page_lines *lines);

/* A JSON object with an array per column, a third of the size of an object per row. NULL if memory is out. */
json_t *jm__page_lines_json(const jm__page_lines *lines);

/* Power and clock over time: {from_s, to_s, boards: [{index, mean_w, least_w, most_w, clock_mhz}]}. Times are
 * relative to the start of the recording. */
json_t *jm__page_power(const jm_report *report, jm_error *err);

/* Phases, epochs and windows in the report's time, and the start of each step. */
json_t *jm__page_spans(const jm_report *report);

/* Energy of each step, from a report by span; null without steps. `layer`: only of the layers that match
 * (jm__page_is_layer); NULL: all of a step. */
json_t *jm__page_steps(const jm_report *spans, const char *layer, jm_error *err);

/* Whether the row has this path, or one that this pattern of lines matches: "blocks.*.mlp". */
bool jm__page_is_layer(const jm_row *row, const char *pattern);

/* The row after the last one inside this row. */
size_t jm__page_end_of(const jm_report *report, size_t row);

/* The layers that match, as one: figures, and the kernels that they launched, by name: {path, members, calls,
 * busy_s, energy_j, low_j, high_j, kernels: columns}. `layers`: a report by layer with kernels. NOT_FOUND:
 * none matches. */
json_t *jm__page_layer(const jm_report *layers, const char *pattern, jm_error *err);

/* What a report can be restricted to: {keys, phases, processes: [{pid, rank, command}], boards: [{index,
 * name}]}. */
json_t *jm__page_choices(const jm_report *report);

/* The part of a power-cap search that the page shows. `search`: the recording's JSON, or NULL. null: none, or
 * invalid. */
json_t *jm__page_cap_of(const json_t *search);

/* Add the data as text that is safe inside an HTML element: it has no "<". `diff` and `other` are NULL for a
 * single run. */
jm_status jm__page_document(jm__strbuf *out, const jm_page_run *run, const jm_page_run *other,
                            const jm_diff *diff, jm_error *err);

#endif
