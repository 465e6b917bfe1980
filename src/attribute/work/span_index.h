/* Spans by their row id: a dataset lists them by time. */
#ifndef JM_ATTRIBUTE_WORK_SPAN_INDEX_H
#define JM_ATTRIBUTE_WORK_SPAN_INDEX_H

#include "recording/dataset.h"

typedef struct jm__span_index {
    const jm__dataset *dataset;
    size_t *by_id;  /* indices into dataset->spans */
    size_t *parent; /* [spans] */
} jm__span_index;

/* Free it in any case. */
jm_status jm__span_index_init(jm__span_index *index, const jm__dataset *dataset, jm_error *err);
void jm__span_index_free(jm__span_index *index);

#define JM__NO_SPAN ((size_t)-1)

/* Index into dataset->spans, JM__NO_SPAN for 0 or an unknown id. */
size_t jm__span_at(const jm__span_index *index, int64_t span_id);

/* The span around a span, both by index; JM__NO_SPAN for none. */
static inline size_t jm__span_parent(const jm__span_index *spans, size_t span)
{
    return spans->parent[span];
}

/* The first around `from` (`span` itself, or one around it) that was still open when `span` began: what began
 * in a step may go on after it, and hold the next one. */
size_t jm__span_around(const jm__span_index *spans, size_t span, size_t from);

/* Which span, at `span` or around it, speaks for it: `outer` speaks for the span around it, JM__NO_SPAN if
 * there is none. */
typedef size_t jm__span_choice(const jm__dataset *dataset, size_t span, size_t outer);

/* [spans]: what speaks for each, in one pass, however deep they lie; the caller frees it. NULL if memory is
 * out. */
size_t *jm__span_speakers(const jm__span_index *spans, jm__span_choice *choose);

/* Of a part after which another comes (dataset->goes_on): whether the span is open beyond its end. */
bool jm__span_goes_on(const jm__dataset *dataset, const jm__span *span);

/* The end of a span; of one that never ended, that of its process or of the recording; of one that goes on in
 * another part, that of this part. */
int64_t jm__span_end_ns(const jm__dataset *dataset, const jm__span *span);

#endif
