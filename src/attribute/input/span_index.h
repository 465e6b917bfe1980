/* Spans by row id, and the spans that enclose each. A dataset lists spans by time. */
#ifndef JM_ATTRIBUTE_INPUT_SPAN_INDEX_H
#define JM_ATTRIBUTE_INPUT_SPAN_INDEX_H

#include "base/vec.h"
#include "format/dataset.h"

#define JM__NO_SPAN ((size_t)-1)

/* A span may outlast its parent: windows that overlap, threads, tasks of asyncio. A section is the part of a
 * span during which the same spans enclose it. A span's first section has the span's own index; further
 * sections, which few spans have, are numbered from dataset->span_count on. */
typedef struct jm__section {
    size_t span;
    int64_t from_ns;
    size_t parent;
} jm__section;

typedef struct jm__span_index {
    const jm__dataset *dataset;
    size_t *by_id;            /* indices into dataset->spans */
    size_t *parent;           /* [spans]: the section that encloses the first one; JM__NO_SPAN: none */
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

/* The span of a section; JM__NO_SPAN for none. */
static inline size_t jm__section_span(const jm__span_index *spans, size_t section)
{
    bool later = section != JM__NO_SPAN && section >= spans->dataset->span_count;
    return later ? spans->more.items[section - spans->dataset->span_count].span : section;
}

/* The section that encloses a section; JM__NO_SPAN for none. */
static inline size_t jm__section_parent(const jm__span_index *spans, size_t section)
{
    size_t first = spans->dataset->span_count;
    return section < first ? spans->parent[section] : spans->more.items[section - first].parent;
}

/* The section of a span (JM__NO_SPAN: none) at a time; its first or last one if the span is not open then. */
size_t jm__section_at(const jm__span_index *spans, size_t span, int64_t t_ns);

int64_t jm__section_start_ns(const jm__span_index *spans, size_t section);
int64_t jm__section_end_ns(const jm__span_index *spans, size_t section);

/* The span that encloses a span at its start, both by index; JM__NO_SPAN for none. */
static inline size_t jm__span_parent(const jm__span_index *spans, size_t span)
{
    return jm__section_span(spans, spans->parent[span]);
}

/* The first span outside `from` (`span` itself, or one that encloses it) that lasts as long as `span`: a span
 * may outlast the step in which it began. */
size_t jm__span_enclosing(const jm__span_index *spans, size_t span, size_t from);

/* Whether the inner of two nested steps is a part of the outer one. A step of another thread is not, nor
 * one of another task of the same thread, where steps state their task (jm_step_begin). */
static inline bool jm__step_has_part(const jm__span *outer, const jm__span *inner)
{
    uint64_t task = outer->payload_kind == JM_PAYLOAD_NONE ? 0 : outer->payload.natural;
    uint64_t own = inner->payload_kind == JM_PAYLOAD_NONE ? 0 : inner->payload.natural;
    return outer->thread_id == inner->thread_id && (task == 0 || own == 0 || task == own);
}

/* The owner of a section: itself, or the owner (`outer`) of the section that encloses it. `outer` is
 * JM__NO_SPAN if there is none. */
typedef size_t jm__section_owner(const jm__span_index *spans, size_t section, size_t outer);

/* [sections]: the owner of each, in one pass at any depth; the caller frees it. NULL if memory is out. */
size_t *jm__section_owners(const jm__span_index *spans, jm__section_owner *choose);

/* The end of a span; without one, the end of its process or of the recording, whichever came first. */
int64_t jm__span_end_ns(const jm__dataset *dataset, const jm__span *span);

#endif
