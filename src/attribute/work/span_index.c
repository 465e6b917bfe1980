/* Looking spans and texts up. */
#include "attribute/work/span_index.h"

#include "base/search.h"
#include "base/status.h"

#include <stdlib.h>

static int by_id(const void *a, const void *b, void *context)
{
    const jm__span *spans = context;
    int64_t left = spans[*(const size_t *)a].id, right = spans[*(const size_t *)b].id;
    return (left > right) - (left < right);
}

static void sort_by_id(jm__span_index *index, const jm__dataset *dataset)
{
    for (size_t i = 0; i < dataset->span_count; i++)
        index->by_id[i] = i;
    for (size_t i = 1; i < dataset->span_count; i++) {
        if (dataset->spans[i - 1].id <= dataset->spans[i].id) continue;
        union {
            const jm__span *in;
            void *out;
        } spans = {.in = dataset->spans};
        qsort_r(index->by_id, dataset->span_count, sizeof *index->by_id, by_id, spans.out);
        break;
    }
}

/* Spans began before what they hold: a parent that did not is damage, and would make a circle. */
static size_t find_parent(const jm__span_index *spans, size_t span)
{
    const jm__dataset *d = spans->dataset;
    size_t parent = jm__span_at(spans, d->spans[span].parent_id);
    if (parent == JM__NO_SPAN || parent == span) return JM__NO_SPAN;
    const jm__span *outer = &d->spans[parent], *inner = &d->spans[span];
    bool before =
        outer->start_ns < inner->start_ns || (outer->start_ns == inner->start_ns && outer->id < inner->id);
    return before ? parent : JM__NO_SPAN;
}

jm_status jm__span_index_init(jm__span_index *index, const jm__dataset *dataset, jm_error *err)
{
    *index = (jm__span_index){.dataset = dataset};
    index->by_id = malloc((dataset->span_count + 1) * sizeof *index->by_id);
    index->parent = malloc((dataset->span_count + 1) * sizeof *index->parent);
    if (index->by_id == NULL || index->parent == NULL) return jm__no_memory(err, "jm__span_index_init");
    sort_by_id(index, dataset);
    for (size_t i = 0; i < dataset->span_count; i++)
        index->parent[i] = find_parent(index, i);
    return JM_OK;
}

void jm__span_index_free(jm__span_index *index)
{
    free(index->by_id);
    free(index->parent);
    *index = (jm__span_index){0};
}

size_t jm__span_at(const jm__span_index *index, int64_t span_id)
{
    const jm__span *spans = index->dataset->spans;
    size_t at, count = index->dataset->span_count;
    if (span_id <= 0) return JM__NO_SPAN;
    jm__search(at, count, spans[index->by_id[at]].id < span_id);
    return at < count && spans[index->by_id[at]].id == span_id ? index->by_id[at] : JM__NO_SPAN;
}

bool jm__span_goes_on(const jm__dataset *dataset, const jm__span *span)
{
    if (span->end_ns != -1) return span->end_ns > dataset->end_ns;
    const jm__process *process = jm__dataset_process(dataset, span->process_id);
    return process == NULL || dataset->process_ended == NULL ||
           !dataset->process_ended[process - dataset->processes];
}

int64_t jm__span_end_ns(const jm__dataset *dataset, const jm__span *span)
{
    if (span->end_ns >= span->start_ns && span->end_ns != -1) return span->end_ns;
    if (dataset->goes_on && jm__span_goes_on(dataset, span) && dataset->end_ns > span->start_ns)
        return dataset->end_ns;
    const jm__process *process = jm__dataset_process(dataset, span->process_id);
    if (process != NULL && process->end_ns >= span->start_ns) return process->end_ns;
    return dataset->end_ns > span->start_ns ? dataset->end_ns : span->start_ns;
}

size_t jm__span_around(const jm__span_index *spans, size_t span, size_t from)
{
    const jm__dataset *d = spans->dataset;
    size_t outer = jm__span_parent(spans, from);
    while (outer != JM__NO_SPAN && jm__span_end_ns(d, &d->spans[outer]) <= d->spans[span].start_ns)
        outer = jm__span_parent(spans, outer);
    return outer;
}

/* A dataset's spans are sorted as jm__span_parent wants them: what is around a span comes before it. */
size_t *jm__span_speakers(const jm__span_index *spans, jm__span_choice *choose)
{
    const jm__dataset *d = spans->dataset;
    size_t *speakers = calloc(d->span_count + 1, sizeof *speakers);
    for (size_t s = 0; speakers != NULL && s < d->span_count; s++) {
        size_t outer = jm__span_parent(spans, s);
        speakers[s] = choose(d, s, outer < s ? speakers[outer] : JM__NO_SPAN);
    }
    return speakers;
}
