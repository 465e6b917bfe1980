/* Spans by their row id, and what is around each: a dataset lists them by time. */
#ifndef JM_ATTRIBUTE_INPUT_SPAN_INDEX_H
#define JM_ATTRIBUTE_INPUT_SPAN_INDEX_H

#include "base/vec.h"
#include "format/dataset.h"

#define JM__NO_SPAN ((size_t)-1)

/* A span may go on after one around it has ended: windows that overlap, threads, tasks of asyncio. A section
 * is the part of a span in which the same spans are around it. A span's first section has the span's own
 * index; those after it have numbers from dataset->span_count on, and hardly any span has one. */
typedef struct jm__section {
    size_t span;
    int64_t from_ns;
    size_t parent;
} jm__section;

typedef struct jm__span_index {
    const jm__dataset *dataset;
    size_t *by_id;            /* indices into dataset->spans */
    size_t *parent;           /* [spans]: the section around the first one; JM__NO_SPAN: none */
    JM_VEC(jm__section) more; /* sections after the first, by span and time */
} jm__span_index;

/* Free it in any case. */
jm_status jm__span_index_init(jm__span_index *index, const jm__dataset *dataset, jm_error *err);
void jm__span_index_free(jm__span_index *index);

/* Index into dataset->spans, JM__NO_SPAN for 0 or an unknown id. */
size_t jm__span_at(const jm__span_index *index, int64_t span_id);

static inline size_t jm__section_count(const jm__span_index *spans)
{
    return spans->dataset->span_count + spans->more.count;
}

/* The span that a section is of; JM__NO_SPAN for none. */
static inline size_t jm__section_span(const jm__span_index *spans, size_t section)
{
    bool later = section != JM__NO_SPAN && section >= spans->dataset->span_count;
    return later ? spans->more.items[section - spans->dataset->span_count].span : section;
}

/* The section around a section; JM__NO_SPAN for none. */
static inline size_t jm__section_parent(const jm__span_index *spans, size_t section)
{
    size_t first = spans->dataset->span_count;
    return section < first ? spans->parent[section] : spans->more.items[section - first].parent;
}

/* The section of a span (JM__NO_SPAN: none) at that time, by its nearest end if it is not open then. */
size_t jm__section_at(const jm__span_index *spans, size_t span, int64_t t_ns);

int64_t jm__section_start_ns(const jm__span_index *spans, size_t section);
int64_t jm__section_end_ns(const jm__span_index *spans, size_t section);

/* The span around a span when it began, both by index; JM__NO_SPAN for none. */
static inline size_t jm__span_parent(const jm__span_index *spans, size_t span)
{
    return jm__section_span(spans, spans->parent[span]);
}

/* The first around `from` (`span` itself, or one around it) that holds all of `span`: what began in a step
 * may go on after it. */
size_t jm__span_around(const jm__span_index *spans, size_t span, size_t from);

/* Of two steps of which the outer one holds all of the inner one: is this a part of that? What another
 * thread does meanwhile is none, nor what another task of the thread does, where steps tell theirs
 * (jm_step_begin). */
static inline bool jm__step_has_part(const jm__span *outer, const jm__span *inner)
{
    uint64_t task = outer->payload_kind == JM_PAYLOAD_NONE ? 0 : outer->payload.natural;
    uint64_t own = inner->payload_kind == JM_PAYLOAD_NONE ? 0 : inner->payload.natural;
    return outer->thread_id == inner->thread_id && (task == 0 || own == 0 || task == own);
}

/* Which section, this one or one around it, speaks for it: `outer` speaks for the section around it,
 * JM__NO_SPAN if there is none. */
typedef size_t jm__span_choice(const jm__span_index *spans, size_t section, size_t outer);

/* [sections]: what speaks for each, in one pass, however deep they lie; the caller frees it. NULL if memory
 * is out. */
size_t *jm__span_speakers(const jm__span_index *spans, jm__span_choice *choose);

/* The end of a span; of one that never ended, that of its process or of the recording, whichever came first.
 */
int64_t jm__span_end_ns(const jm__dataset *dataset, const jm__span *span);

#endif
