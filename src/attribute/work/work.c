/* From the rows of a recording to work items, board by board. */
#include "attribute/work/work.h"

#include "attribute/work/duration_groups.h"
#include "attribute/work/host_work.h"
#include "attribute/work/span_index.h"
#include "base/status.h"

#include <stdlib.h>
#include <string.h>

bool jm__board_is_fitted(const jm_board *board)
{
    return strcmp(board->backend, "rapl") != 0;
}

static const char *work_kind(jm__work work)
{
    switch (work) {
    case JM_WORK_MEMCPY:
        return "memcpy";
    case JM_WORK_MEMSET:
        return "memset";
    case JM_WORK_KERNEL:
        break;
    }
    return "kernel";
}

static jm_status add_kernel_classes(jm__work_set *work, const jm__dataset *dataset, jm_error *err)
{
    for (size_t i = 0; i < dataset->class_count; i++) {
        const jm__kernel_class *row = &dataset->classes[i];
        const char *name = jm__dataset_text(dataset, row->name_id);
        jm__class item = {.name = name[0] != '\0' ? name : "(unnamed)", .kind = work_kind(row->work)};
        memcpy(item.grid, row->grid, sizeof item.grid);
        memcpy(item.block, row->block, sizeof item.block);
        if (!jm__vec_push(&work->classes, item)) return jm__no_memory(err, "jm__work_build");
    }
    return JM_OK;
}

static jm_status add_kernels(jm__work_set *work, const jm__dataset *dataset, jm_error *err)
{
    for (size_t i = 0; i < dataset->kernel_count; i++) {
        const jm__kernel *kernel = &dataset->kernels[i];
        if (kernel->stream_id < 1 || (size_t)kernel->stream_id > dataset->stream_count) continue;
        if (kernel->class_id < 1 || (size_t)kernel->class_id > dataset->class_count) continue;
        const jm__stream *stream = &dataset->streams[kernel->stream_id - 1];
        if (stream->board_id < 1 || (size_t)stream->board_id > work->board_count) continue;
        int64_t calls = kernel->calls < 1 ? 1 : kernel->calls;
        jm__item item = {
            .start_ns = kernel->start_ns,
            .end_ns = kernel->end_ns > kernel->start_ns ? kernel->end_ns : kernel->start_ns,
            .span_id = kernel->span_id,
            .process_id = stream->process_id,
            .class_index = (uint32_t)(kernel->class_id - 1),
            .calls = calls > UINT32_MAX ? UINT32_MAX : (uint32_t)calls,
        };
        if (!jm__vec_push(&work->boards[stream->board_id - 1], item))
            return jm__no_memory(err, "jm__work_build");
    }
    return JM_OK;
}

static int by_start(const void *a, const void *b)
{
    const jm__item *left = a, *right = b;
    if (left->start_ns != right->start_ns) return left->start_ns < right->start_ns ? -1 : 1;
    return (left->end_ns > right->end_ns) - (left->end_ns < right->end_ns);
}

static void sort_items(jm__items *items)
{
    for (size_t i = 1; i < items->count; i++) {
        if (by_start(&items->items[i - 1], &items->items[i]) <= 0) continue;
        qsort(items->items, items->count, sizeof *items->items, by_start);
        return;
    }
}

/* A board without a single kernel takes the host's spans as its work. */
static jm_status add_host_work(jm__work_set *work, const jm__dataset *dataset, jm_error *err)
{
    jm__items host = {0};
    jm_status status = JM_OK;
    bool wanted = false;
    for (size_t b = 0; b < work->board_count; b++)
        wanted = wanted || (jm__board_is_fitted(&dataset->boards[b]) && work->boards[b].count == 0);
    /* Kernels on one board and none on another: the other one really did nothing. */
    if (!wanted || dataset->kernel_count > 0) return JM_OK;
    status = jm__host_work(&host, &work->classes, dataset, err);
    for (size_t b = 0; status == JM_OK && b < work->board_count; b++) {
        jm__items *items = &work->boards[b];
        if (!jm__board_is_fitted(&dataset->boards[b]) || host.count == 0) continue;
        if (!jm__vec_reserve(items, host.count)) {
            status = jm__no_memory(err, "jm__work_build");
            break;
        }
        memcpy(items->items, host.items, host.count * sizeof *host.items);
        items->count = host.count;
        work->from_host[b] = true;
    }
    jm__vec_free(&host);
    return status;
}

jm_status jm__work_build(jm__work_set *work, const jm__dataset *dataset, jm_error *err)
{
    *work = (jm__work_set){.board_count = dataset->board_count};
    work->boards = calloc(dataset->board_count + 1, sizeof *work->boards);
    work->from_host = calloc(dataset->board_count + 1, sizeof *work->from_host);
    if (work->boards == NULL || work->from_host == NULL) return jm__no_memory(err, "jm__work_build");
    JM_TRY(add_kernel_classes(work, dataset, err));
    JM_TRY(add_kernels(work, dataset, err));
    JM_TRY(jm__duration_groups_split(work, err));
    JM_TRY(add_host_work(work, dataset, err));
    for (size_t b = 0; b < work->board_count; b++)
        sort_items(&work->boards[b]);
    return JM_OK;
}

void jm__work_free(jm__work_set *work)
{
    for (size_t b = 0; b < work->board_count && work->boards != NULL; b++)
        jm__vec_free(&work->boards[b]);
    free(work->boards);
    free(work->from_host);
    jm__vec_free(&work->classes);
    *work = (jm__work_set){0};
}
