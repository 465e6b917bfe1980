/* Look-up of spans; sections, which follow the spans that are open at a time. */
#include "attribute/input/span_index.h"

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

/* Windows that each outlast the one before can pile up without bound. Where spans have more sections than
 * this on average, a span's last section is enclosed only by spans that last to its end. */
enum { SECTIONS_PER_SPAN_MAX = 16 };

/* The innermost of a section and its ancestors that is open at a time, for a span that lasts to `end_ns`. */
static size_t open_at(const jm__span_index *index, size_t section, int64_t t_ns, int64_t end_ns)
{
    const jm__dataset *d = index->dataset;
    while (section != JM__NO_SPAN) {
        size_t span = jm__section_span(index, section);
        int64_t ended_ns = jm__span_end_ns(d, &d->spans[span]);
        if (ended_ns > t_ns || ended_ns >= end_ns) return jm__section_at(index, span, t_ns);
        section = jm__section_parent(index, jm__section_at(index, span, ended_ns));
    }
    return JM__NO_SPAN;
}

/* The section that encloses a span at its start. */
static size_t first_parent(const jm__span_index *index, size_t span)
{
    const jm__dataset *d = index->dataset;
    const jm__span *inner = &d->spans[span];
    size_t parent = jm__span_at(index, inner->parent_id);
    /* Parents begin before their children: any other parent is damage, and would close a circle. */
    if (parent == JM__NO_SPAN || parent >= span) return JM__NO_SPAN;
    return open_at(index, parent, inner->start_ns, jm__span_end_ns(d, inner));
}

/* The sections of its ancestors exist already. */
static bool find_sections(jm__span_index *index, size_t span)
{
    int64_t end_ns = jm__span_end_ns(index->dataset, &index->dataset->spans[span]);
    jm__section next = {.span = span, .parent = first_parent(index, span)};
    index->parent[span] = next.parent;
    while (next.parent != JM__NO_SPAN) {
        next.from_ns = jm__section_end_ns(index, next.parent);
        if (next.from_ns >= end_ns) break;
        next.parent = open_at(index, next.parent, next.from_ns, end_ns);
        bool last = index->more.count >= SECTIONS_PER_SPAN_MAX * (span + 1);
        while (last && next.parent != JM__NO_SPAN && jm__section_end_ns(index, next.parent) < end_ns)
            next.parent = jm__section_parent(index, next.parent);
        if (!jm__vec_push(&index->more, next)) return false;
    }
    return true;
}

jm_status jm__span_index_init(jm__span_index *index, const jm__dataset *dataset, jm_error *err)
{
    *index = (jm__span_index){.dataset = dataset};
    index->by_id = malloc((dataset->span_count + 1) * sizeof *index->by_id);
    index->parent = malloc((dataset->span_count + 1) * sizeof *index->parent);
    if (index->by_id == NULL || index->parent == NULL) return jm__no_memory(err, "jm__span_index_init");
    sort_by_id(index, dataset);
    bool fine = true;
    for (size_t i = 0; fine && i < dataset->span_count; i++)
        fine = find_sections(index, i);
    return fine ? JM_OK : jm__no_memory(err, "jm__span_index_init");
}

void jm__span_index_free(jm__span_index *index)
{
    free(index->by_id);
    free(index->parent);
    jm__vec_free(&index->more);
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

static int64_t process_end_ns(const jm__dataset *dataset, int64_t process_id)
{
    const jm__process *process = jm__dataset_process(dataset, process_id);
    bool known = process != NULL && dataset->gone_ns != NULL;
    return known ? dataset->gone_ns[process - dataset->processes] : INT64_MAX;
}

int64_t jm__span_end_ns(const jm__dataset *dataset, const jm__span *span)
{
    if (span->end_ns >= span->start_ns && span->end_ns != -1) return span->end_ns;
    int64_t end_ns = process_end_ns(dataset, span->process_id);
    if (end_ns > dataset->end_ns) end_ns = dataset->end_ns;
    return end_ns > span->start_ns ? end_ns : span->start_ns;
}

/* The first of `more` after a time of the span. */
static size_t more_after(const jm__span_index *spans, size_t span, int64_t t_ns)
{
    const jm__section *more = spans->more.items;
    size_t at;
    jm__search(at, spans->more.count,
               more[at].span < span || (more[at].span == span && more[at].from_ns <= t_ns));
    return at;
}

size_t jm__section_at(const jm__span_index *spans, size_t span, int64_t t_ns)
{
    if (spans->more.count == 0 || span == JM__NO_SPAN) return span;
    size_t after = more_after(spans, span, t_ns);
    bool later = after > 0 && spans->more.items[after - 1].span == span;
    return later ? spans->dataset->span_count + after - 1 : span;
}

int64_t jm__section_start_ns(const jm__span_index *spans, size_t section)
{
    size_t first = spans->dataset->span_count;
    return section < first ? spans->dataset->spans[section].start_ns
                           : spans->more.items[section - first].from_ns;
}

int64_t jm__section_end_ns(const jm__span_index *spans, size_t section)
{
    const jm__dataset *d = spans->dataset;
    size_t span = jm__section_span(spans, section);
    size_t next = section < d->span_count ? more_after(spans, span, INT64_MIN) : section - d->span_count + 1;
    if (next < spans->more.count && spans->more.items[next].span == span)
        return spans->more.items[next].from_ns;
    return jm__span_end_ns(d, &d->spans[span]);
}

size_t jm__span_enclosing(const jm__span_index *spans, size_t span, size_t from)
{
    const jm__dataset *d = spans->dataset;
    int64_t end_ns = jm__span_end_ns(d, &d->spans[span]);
    size_t section = jm__section_at(spans, from, d->spans[span].start_ns), outer;
    do {
        section = jm__section_parent(spans, section);
        outer = jm__section_span(spans, section);
    } while (outer != JM__NO_SPAN && jm__span_end_ns(d, &d->spans[outer]) < end_ns);
    return outer;
}

/* Ancestors come before a span, with all their sections. */
size_t *jm__section_owners(const jm__span_index *spans, jm__section_owner *choose)
{
    const jm__dataset *d = spans->dataset;
    size_t *owners = calloc(jm__section_count(spans) + 1, sizeof *owners), more = 0;
    for (size_t s = 0; owners != NULL && s < d->span_count; s++) {
        size_t section = s;
        while (section != JM__NO_SPAN) {
            size_t outer = jm__section_parent(spans, section);
            owners[section] = choose(spans, section, outer != JM__NO_SPAN ? owners[outer] : JM__NO_SPAN);
            bool another = more < spans->more.count && spans->more.items[more].span == s;
            section = another ? d->span_count + more++ : JM__NO_SPAN;
        }
    }
    return owners;
}
