/* The rows of a report as stacks of frames, which flame graphs are drawn of: what each row is inside of, and
 * weights of its own that a picture can show. */
#ifndef JM_EXPORT_STACKS_H
#define JM_EXPORT_STACKS_H

#include "base/strbuf.h"
#include <joulemap/report.h>

/* Frames of a stack; a row further inside counts for the last of them. Viewers give up far earlier, and the
 * size of what is written stays bounded. */
enum { JM_STACK_MAX = 256 };

/* Arrays are one entry a row. No weight is below 0, which no area can be: what is less is taken off the rows
 * beside and below it, in proportion, so that the weights of a row and all below it still are what the row
 * has, and all together the total. Such are `(unresolved)` where the fit gave more than the sensors saw, and
 * rows whose parts do. Where there is none, weights are those of the report. */
typedef struct jm__stacks {
    const jm_report *report;
    size_t count;
    size_t *parent;   /* the row that it is inside of; `count`: none */
    size_t *frame;    /* the first row of its path and kind, which stands for all of them */
    bool *says_kind;  /* its name alone would not tell it from another frame */
    double *energy_j; /* without children; 0 where no sensor tells */
    double *busy_s;   /* likewise */
} jm__stacks;

jm_status jm__stacks_of(jm__stacks *stacks, const jm_report *report, jm_error *err); /* which outlives them */
void jm__stacks_free(jm__stacks *stacks); /* also of a zeroed one */

/* The rows from the outermost to this one; their number, at most JM_STACK_MAX. */
size_t jm__stacks_frames(const jm__stacks *stacks, size_t row, size_t frames[JM_STACK_MAX]);

/* Add the name of a row's frame: whole UTF-8 without control characters. */
void jm__stacks_add_name(const jm__stacks *stacks, size_t row, jm__strbuf *out);

#endif
