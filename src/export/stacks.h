/* The rows of a report as stacks of frames for flame graphs: the parent of each row, and weights that can be
 * drawn. */
#ifndef JM_EXPORT_STACKS_H
#define JM_EXPORT_STACKS_H

#include "base/strbuf.h"
#include <joulemap/report.h>

/* Frames of a stack; deeper rows count for the last frame. Viewers give up far earlier, and it bounds the
 * output. */
enum { JM_STACK_MAX = 256 };

/* Arrays have an entry per row. No weight is negative, as an area cannot be. A negative weight is subtracted
 * from the rows below and beside it in proportion, so that subtree sums and the total stay. `(unresolved)` is
 * negative where the fit gave more than the sensors measured, and so is a row whose parts have more than
 * itself. Without any, weights are those of the report. */
typedef struct jm__stacks {
    const jm_report *report;
    size_t count;
    size_t *parent;   /* the enclosing row; `count`: none */
    size_t *frame;    /* the first row with its path and kind, which represents all of them */
    bool *show_kind;  /* whether its name must be shown with its kind to be unambiguous */
    double *energy_j; /* without children; 0 if unknown */
    double *busy_s;   /* without children */
} jm__stacks;

jm_status jm__stacks_of(jm__stacks *stacks, const jm_report *report,
                        jm_error *err);   /* `report` must outlive them */
void jm__stacks_free(jm__stacks *stacks); /* a zeroed one too */

/* The rows from the outermost to this one. Returns their number, at most JM_STACK_MAX. */
size_t jm__stacks_frames(const jm__stacks *stacks, size_t row, size_t frames[JM_STACK_MAX]);

/* Add the name of a row's frame: valid UTF-8 without control characters. */
void jm__stacks_add_name(const jm__stacks *stacks, size_t row, jm__strbuf *out);

#endif
