/* Which requests each step of a server worked on, by the marks of joulemap.request and run.step(requests=)
 * (format/rows/marks.h). */
#ifndef JM_ATTRIBUTE_INPUT_BATCHES_H
#define JM_ATTRIBUTE_INPUT_BATCHES_H

#include "attribute/input/span_index.h"
#include "base/strbuf.h"
#include "base/vec.h"

typedef struct jm__request {
    int64_t process_id; /* row of `processes` */
    int64_t number;     /* the program's own */
    const char *id;     /* "" if its beginning was lost */
    int64_t start_ns;   /* INT64_MAX: not marked */
    int64_t end_ns;     /* INT64_MIN: not marked */
    int64_t made;       /* tokens generated, less than 0: not marked */
} jm__request;

/* A request in a batch. The shares of all members add up to 1. */
typedef struct jm__member {
    uint32_t request;
    double prefill; /* share of each step */
    double decode;
    int64_t prefill_tokens; /* per step; 0 also if not marked */
    int64_t decode_tokens;
} jm__member;

/* Steps with the same members and the same tokens of each. */
typedef struct jm__batch {
    size_t first; /* of `members` */
    size_t count;
} jm__batch;

typedef struct jm__batches {
    JM_VEC(jm__request) requests;
    JM_VEC(jm__member) members;
    JM_VEC(jm__batch) items;
    uint32_t *of_step;    /* [spans]: number + 1 of a step's batch; 0: no step, or unknown */
    uint32_t *of_section; /* [sections]: batch of the innermost step that has one */
    size_t unknown;       /* steps whose requests were lost with a mark */
    jm__text_store ids;
} jm__batches;

/* LIMIT: more members than a report can hold. Free it in any case. */
jm_status jm__batches_find(jm__batches *batches, const jm__dataset *dataset, const jm__span_index *spans,
                           jm_error *err);
void jm__batches_free(jm__batches *batches);

#endif
