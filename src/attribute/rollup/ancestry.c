/* Spans and what they lie in. */
#include "attribute/rollup/ancestry.h"

/* Spans began before what they hold: a parent that did not is damage, and would make a circle. */
size_t jm__span_parent(const jm__span_index *spans, size_t span)
{
    const jm__dataset *d = spans->dataset;
    size_t parent = jm__span_at(spans, d->spans[span].parent_id);
    if (parent == JM__NO_SPAN || parent == span) return JM__NO_SPAN;
    const jm__span *outer = &d->spans[parent], *inner = &d->spans[span];
    bool before =
        outer->start_ns < inner->start_ns || (outer->start_ns == inner->start_ns && outer->id < inner->id);
    return before ? parent : JM__NO_SPAN;
}
