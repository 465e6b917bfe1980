/* Which requests each step of a server worked on: out of the marks that joulemap.request and
 * run.step(requests=) leave (format/rows/marks.h). */
#ifndef JM_ATTRIBUTE_INPUT_BATCHES_H
#define JM_ATTRIBUTE_INPUT_BATCHES_H

#include "attribute/input/span_index.h"
#include "base/strbuf.h"
#include "base/vec.h"

typedef struct jm__request {
    int64_t process_id; /* row of `processes` */
    int64_t number;     /* the program's own */
    const char *id;     /* "" if its beginning was lost */
    int64_t start_ns;   /* INT64_MAX: not told */
    int64_t end_ns;     /* INT64_MIN: not told */
    int64_t made;       /* tokens that came out, less than 0: not told */
} jm__request;

/* A request in a batch: its parts of each step, which add up to 1 over all members, and what it is fed in
 * one.
 */
typedef struct jm__member {
    uint32_t request;
    double prefill;
    double decode;
    int64_t prefill_tokens; /* 0 also where they were not told */
    int64_t decode_tokens;
} jm__member;

/* Steps with the same members, which are fed the same in each. */
typedef struct jm__batch {
    size_t first; /* of `members` */
    size_t count;
} jm__batch;

typedef struct jm__batches {
    JM_VEC(jm__request) requests;
    JM_VEC(jm__member) members;
    JM_VEC(jm__batch) items;
    uint32_t *of_step;    /* [spans]: number + 1 of the batch of a step; 0: of no other span, and not known */
    uint32_t *of_section; /* [sections]: that of the innermost such step around it */
    size_t unknown;       /* steps that had requests, of which nobody knows any more which */
    jm__text_store ids;
} jm__batches;

/* LIMIT: more members than a report can hold. Free it in any case. */
jm_status jm__batches_find(jm__batches *batches, const jm__dataset *dataset, const jm__span_index *spans,
                           jm_error *err);
void jm__batches_free(jm__batches *batches);

#endif
