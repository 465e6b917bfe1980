/* A pass over the collectives of all ranks. */
#include "attribute/work/ranks.h"

#include "base/status.h"
#include "base/strbuf.h"

#include <inttypes.h>
#include <stdlib.h>

void jm__ranks_free(jm__ranks *ranks)
{
    jm__collectives_free(&ranks->collectives);
    jm__collective_calls_free(&ranks->calls);
    jm__vec_free(&ranks->waits);
    free(ranks->waiting);
    *ranks = (jm__ranks){0};
}

static bool has_collectives(const jm__classes *classes)
{
    for (size_t i = 0; i < classes->count; i++)
        if (classes->items[i].family == JM_KERNEL_FAMILY_COLLECTIVE) return true;
    return false;
}

static bool is_wanted(const jm__dataset *d, const jm__stream *stream, const jm__windows *const *windows)
{
    return stream->board_id >= 1 && (size_t)stream->board_id <= d->board_count &&
           windows[stream->board_id - 1] != NULL;
}

/* Several processes, or one on several boards. */
static bool has_several_ranks(const jm__dataset *d, const jm__windows *const *windows)
{
    const jm__stream *first = NULL;
    for (size_t i = 0; i < d->stream_count; i++) {
        const jm__stream *stream = &d->streams[i];
        if (!is_wanted(d, stream, windows)) continue;
        if (first == NULL) first = stream;
        if (stream->process_id != first->process_id || stream->board_id != first->board_id) return true;
    }
    return false;
}

typedef struct reading {
    jm__ranks *ranks;
    const jm__span_index *spans;
    const jm__classes *classes;
    const jm__windows *const *windows;
} reading;

static jm_status take(void *context, const jm__kernel_run *kernel, jm_error *err)
{
    const reading *r = context;
    const jm__dataset *d = r->spans->dataset;
    if (kernel->class_id < 1 || (size_t)kernel->class_id > d->class_count) return JM_OK;
    const jm__class *class = &r->classes->items[kernel->class_id - 1];
    if (class->family != JM_KERNEL_FAMILY_COLLECTIVE) return JM_OK;
    if (kernel->stream_id < 1 || (size_t)kernel->stream_id > d->stream_count) return JM_OK;
    const jm__stream *stream = &d->streams[kernel->stream_id - 1];
    if (!is_wanted(d, stream, r->windows)) return JM_OK;
    const jm__item item = {
        .start_ns = kernel->start_ns,
        .end_ns = kernel->end_ns > kernel->start_ns ? kernel->end_ns : kernel->start_ns,
        .process_id = stream->process_id,
        .calls = kernel->calls > 1 ? 2 : 1,
    };
    jm__collective_told told;
    bool fine = jm__collective_of(&r->ranks->collectives, jm__span_at(r->spans, kernel->span_id),
                                  (uint32_t)(kernel->class_id - 1), &told);
    if (fine && told.collective != JM__NO_COLLECTIVE)
        fine = jm__collective_calls_add(&r->ranks->calls, &r->ranks->collectives, told.collective,
                                        class->name, &item, (size_t)stream->board_id - 1);
    return fine ? JM_OK : jm__no_memory(err, "jm__ranks_compare");
}

/* ---- what a communicator is called */

static int by_number(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

/* "0,1" or, from three in a row on, "0-7". */
static void add_numbers(jm__strbuf *text, const int64_t *numbers, size_t count)
{
    for (size_t i = 0; i < count;) {
        size_t end = i + 1;
        while (end < count && numbers[end] == numbers[end - 1] + 1)
            end++;
        if (end - i < 3) end = i + 1;
        jm__strbuf_format(text, "%s%" PRId64, i > 0 ? "," : "", numbers[i]);
        if (end > i + 1) jm__strbuf_format(text, "-%" PRId64, numbers[end - 1]);
        i = end;
    }
}

/* Ranks by the numbers that their launcher gave them; without any, by their GPUs. */
static bool name_group(jm__ranks *ranks, const jm__dataset *d, size_t channel)
{
    JM_VEC(int64_t) numbers = {0};
    bool fine = true, by_gpu = false;
    for (size_t i = 0; i < ranks->calls.ranks.count; i++) {
        const jm__process *process = jm__dataset_process(d, ranks->calls.ranks.items[i].process_id);
        by_gpu = by_gpu || process == NULL || process->rank < 0;
    }
    for (size_t i = 0; fine && i < ranks->calls.ranks.count; i++) {
        const jm__rank_calls *rank = &ranks->calls.ranks.items[i];
        if (rank->channel != channel) continue;
        fine = jm__vec_push(&numbers, by_gpu ? d->boards[rank->board].index
                                             : jm__dataset_process(d, rank->process_id)->rank);
    }
    jm__strbuf text = {0};
    if (fine && numbers.count > 1) {
        qsort(numbers.items, numbers.count, sizeof *numbers.items, by_number);
        jm__strbuf_add(&text, by_gpu ? "GPUs " : "ranks ");
        add_numbers(&text, numbers.items, numbers.count);
        fine = !text.failed && jm__collectives_name_group(&ranks->collectives, channel, text.text);
    }
    jm__strbuf_free(&text);
    jm__vec_free(&numbers);
    return fine;
}

/* ---- */

/* A class of waiting for each class of a collective. */
static bool add_waiting(jm__ranks *ranks, jm__classes *classes)
{
    ranks->classes = classes->count;
    ranks->waiting = malloc((classes->count + 1) * sizeof *ranks->waiting);
    bool fine = ranks->waiting != NULL;
    for (uint32_t c = 0; fine && c < ranks->classes; c++) {
        jm__class twin = classes->items[c];
        ranks->waiting[c] = c;
        if (twin.family != JM_KERNEL_FAMILY_COLLECTIVE || ranks->waits.count == 0) continue;
        twin.waits = true;
        ranks->waiting[c] = (uint32_t)classes->count;
        fine = jm__vec_push(classes, twin);
    }
    return fine;
}

jm_status jm__ranks_compare(jm__ranks *ranks, const jm__span_index *spans, jm__classes *classes,
                            const jm__windows *const *windows, jm_error *err)
{
    const jm__dataset *d = spans->dataset;
    reading r = {ranks, spans, classes, windows};
    jm__collectives_init(&ranks->collectives, spans, classes);
    if (d->kernels.each == NULL || !has_collectives(classes) || !has_several_ranks(d, windows)) return JM_OK;
    JM_TRY(d->kernels.each(d->kernels.context, false, take, &r, err));
    bool fine = jm__collective_waits_find(&ranks->waits, &ranks->calls, windows);
    for (size_t c = 0; fine && c < ranks->collectives.channels.count; c++)
        fine = name_group(ranks, d, c);
    if (fine) jm__collectives_unite(&ranks->collectives);
    fine = fine && add_waiting(ranks, classes);
    return fine ? JM_OK : jm__no_memory(err, "jm__ranks_compare");
}

int64_t jm__ranks_all_ns(const jm__ranks *ranks, const jm__item *item, size_t board)
{
    if (ranks->waits.count == 0) return item->start_ns;
    size_t channel = ranks->collectives.items.items[item->collective - 1].channel;
    const jm__collective_call *call = jm__collective_call_at(&ranks->calls, channel, item, board);
    bool waited = call != NULL && call->all_ns > item->start_ns;
    return waited ? call->all_ns : item->start_ns;
}
