/* Spans of kind "data" by board; the time of each thread by its innermost span. */
#include "attribute/work/host_work.h"

#include "base/map.h"
#include "base/order.h"
#include "base/status.h"
#include "format/rows/span_kind.h"

#include <stdlib.h>
#include <string.h>

/* The processes with a stream on the board. */
static bool find_users(jm__map *users, const jm__dataset *d, int64_t board_id)
{
    for (size_t i = 0; i < d->stream_count; i++) {
        const jm__stream *stream = &d->streams[i];
        if (stream->board_id == board_id && !jm__map_add(users, &stream->process_id)) return false;
    }
    return true;
}

bool jm__data_waits_find(jm__intervals *waits, const jm__dataset *d, int64_t board_id,
                         const jm__intervals *windows)
{
    jm__map users = {.key_size = sizeof(int64_t)};
    bool fine = find_users(&users, d, board_id);
    for (size_t i = 0; fine && i < d->span_count; i++) {
        const jm__span *span = &d->spans[i];
        if (span->kind == JM_SPAN_DATA && jm__map_find(&users, &span->process_id) != NULL)
            fine = jm__intervals_add(waits, span->start_ns, jm__span_end_ns(d, span));
    }
    jm__map_free(&users);
    jm__intervals_normalise(waits);
    return fine && jm__intervals_intersect(waits, windows);
}

/* One end of a span, on its lane: a thread, or the process for process-wide spans. */
typedef struct edge {
    int64_t t_ns;
    int64_t process_id;
    int64_t lane;
    size_t span;
    bool begins;
} edge;

typedef JM_VEC(edge) edges;

typedef JM_VEC(size_t) open_spans;

static bool is_container(const jm__span *span)
{
    return jm__span_kind_is_container(span->kind) && span->type_id == 0;
}

static bool is_work(const jm__span *span)
{
    return span->type_id > 0 || jm__span_kind_is_work(span->kind) || span->kind == JM_SPAN_COLLECTIVE;
}

static int by_lane_and_time(const void *a, const void *b)
{
    const edge *left = a, *right = b;
    if (left->process_id != right->process_id) return left->process_id < right->process_id ? -1 : 1;
    if (left->lane != right->lane) return left->lane < right->lane ? -1 : 1;
    if (left->t_ns != right->t_ns) return left->t_ns < right->t_ns ? -1 : 1;
    if (left->begins != right->begins) return left->begins ? 1 : -1; /* ends first */
    return (left->span > right->span) - (left->span < right->span);
}

static jm_status collect(edges *out, const jm__dataset *dataset, bool containers, jm_error *err)
{
    for (size_t i = 0; i < dataset->span_count; i++) {
        const jm__span *span = &dataset->spans[i];
        if (containers ? !is_container(span) : !is_work(span)) continue;
        int64_t end_ns = jm__span_end_ns(dataset, span);
        if (end_ns <= span->start_ns) continue;
        edge begin = {span->start_ns, span->process_id, containers ? 0 : span->thread_id, i, true};
        edge end = {end_ns, span->process_id, begin.lane, i, false};
        if (!jm__vec_push(out, begin) || !jm__vec_push(out, end)) return jm__no_memory(err, "jm__host_work");
    }
    jm__sort(out->items, out->count, sizeof *out->items, by_lane_and_time);
    return JM_OK;
}

static void close_span(open_spans *open, size_t span)
{
    for (size_t i = open->count; i-- > 0;) {
        if (open->items[i] != span) continue;
        memmove(open->items + i, open->items + i + 1, (open->count - i - 1) * sizeof *open->items);
        open->count--;
        return;
    }
}

/* Classes are looked up by (text, kind); class_of[name_id * JM_SPAN_KIND_COUNT + kind] is index + 1. */
typedef struct host_classes {
    jm__classes *classes;
    const jm__span_index *spans;
    uint32_t *class_of;
} host_classes;

static bool find_class(host_classes *table, const jm__span *span, uint32_t *index)
{
    bool container = is_container(span);
    bool typed = span->type_id > 0 && span->kind != JM_SPAN_COLLECTIVE; /* a collective's type is its group */
    int64_t name_id = container ? 0 : typed ? span->type_id : span->name_id;
    if (name_id < 0 || (size_t)name_id >= table->spans->dataset->name_count) name_id = 0;
    uint32_t *slot = &table->class_of[(size_t)name_id * JM_SPAN_KIND_COUNT + (size_t)span->kind];
    if (*slot == 0) {
        const char *kind = jm_span_kind_text(span->kind);
        const char *name = jm__dataset_text(table->spans->dataset, name_id);
        jm__class row = {.name = container         ? "(no layer)"
                                 : name[0] != '\0' ? name
                                                   : "(unnamed)",
                         .kind = kind};
        if (!jm__vec_push(table->classes, row)) return false;
        *slot = (uint32_t)table->classes->count;
    }
    *index = *slot - 1;
    return true;
}

/* One item per section of the span, since its parents may end before it does. */
static bool emit_item(jm__items *items, host_classes *table, size_t span_index, int64_t from_ns,
                      int64_t to_ns)
{
    const jm__span_index *spans = table->spans;
    const jm__span *span = &spans->dataset->spans[span_index];
    jm__item item = {.launch_ns = -1, .span_id = span->id, .process_id = span->process_id};
    if (!find_class(table, span, &item.class_index)) return false;
    while (from_ns < to_ns) {
        int64_t until_ns = jm__section_end_ns(spans, jm__section_at(spans, span_index, from_ns));
        item.calls = from_ns == span->start_ns ? 1 : 0;
        item.start_ns = from_ns;
        item.end_ns = from_ns = until_ns > from_ns && until_ns < to_ns ? until_ns : to_ns;
        if (!jm__vec_push(items, item)) return false;
    }
    return true;
}

/* Walk the edges; the innermost open span of a lane owns the time until the next edge. */
static bool split_by_owner(jm__items *items, host_classes *table, const edges *sorted, open_spans *open)
{
    for (size_t i = 0; i < sorted->count; i++) {
        const edge *now = &sorted->items[i];
        bool same_lane = i > 0 && sorted->items[i - 1].process_id == now->process_id &&
                         sorted->items[i - 1].lane == now->lane;
        if (!same_lane) open->count = 0;
        if (open->count > 0 && now->t_ns > sorted->items[i - 1].t_ns &&
            !emit_item(items, table, open->items[open->count - 1], sorted->items[i - 1].t_ns, now->t_ns))
            return false;
        if (!now->begins)
            close_span(open, now->span);
        else if (!jm__vec_push(open, now->span))
            return false;
    }
    return true;
}

/* The parts of `item` outside the busy intervals. */
static bool emit_uncovered(jm__items *items, jm__item item, const jm__intervals *busy, size_t *cursor)
{
    while (*cursor < busy->count && busy->items[*cursor].to_ns <= item.start_ns)
        (*cursor)++;
    for (size_t i = *cursor; item.start_ns < item.end_ns; i++) {
        bool covered = i < busy->count && busy->items[i].from_ns < item.end_ns;
        jm__item part = item;
        if (covered && busy->items[i].from_ns < part.end_ns) part.end_ns = busy->items[i].from_ns;
        if (part.end_ns > part.start_ns && !jm__vec_push(items, part)) return false;
        if (!covered) break;
        item.start_ns = busy->items[i].to_ns;
        item.calls = 0;
    }
    return true;
}

/* Time of containers (phases, steps) in which their process did no typed work on any thread. */
static bool add_containers(jm__items *items, const jm__items *containers)
{
    size_t work_count = items->count;
    jm__intervals busy = {0};
    bool fine = true;
    for (size_t i = 0, cursor = 0; fine && i < containers->count; i++) {
        const jm__item *item = &containers->items[i];
        if (i == 0 || item->process_id != containers->items[i - 1].process_id) {
            busy.count = 0;
            cursor = 0;
            for (size_t w = 0; fine && w < work_count; w++)
                if (items->items[w].process_id == item->process_id)
                    fine = jm__intervals_add(&busy, items->items[w].start_ns, items->items[w].end_ns);
            jm__intervals_normalise(&busy);
        }
        fine = fine && emit_uncovered(items, *item, &busy, &cursor);
    }
    jm__vec_free(&busy);
    return fine;
}

jm_status jm__host_work(jm__items *items, jm__classes *classes, const jm__span_index *spans, jm_error *err)
{
    const jm__dataset *dataset = spans->dataset;
    edges sorted = {0};
    open_spans open = {0};
    jm__items containers = {0};
    host_classes table = {.classes = classes, .spans = spans};
    table.class_of = calloc((dataset->name_count + 1) * JM_SPAN_KIND_COUNT, sizeof *table.class_of);
    jm_status status = table.class_of == NULL ? jm__no_memory(err, "jm__host_work") : JM_OK;
    if (status == JM_OK) status = collect(&sorted, dataset, false, err);
    if (status == JM_OK && !split_by_owner(items, &table, &sorted, &open))
        status = jm__no_memory(err, "jm__host_work");
    sorted.count = open.count = 0;
    if (status == JM_OK) status = collect(&sorted, dataset, true, err);
    if (status == JM_OK &&
        (!split_by_owner(&containers, &table, &sorted, &open) || !add_containers(items, &containers)))
        status = jm__no_memory(err, "jm__host_work");
    jm__vec_free(&sorted);
    jm__vec_free(&open);
    jm__vec_free(&containers);
    free(table.class_of);
    return status;
}
