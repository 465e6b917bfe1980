/* All that a reader is given of a recording, as text: two recordings say the same if their texts are the
 * same. */
#ifndef TEST_TOLD_H
#define TEST_TOLD_H

#include "base/status.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "format/dataset.h"

#include <inttypes.h>
#include <string.h>

typedef JM_VEC(jm__counter_block) told_blocks;

/* A recording that is open, with what was read of it. */
typedef struct told_file {
    jm_recording *recording;
    jm__dataset *dataset;
    told_blocks blocks;      /* own their data */
    jm__kernel_run *kernels; /* of the caller */
    size_t kernel_count, kernels_max;
} told_file;

static inline jm_status told_take_kernel(void *context, const jm__kernel_run *kernel, jm_error *err)
{
    told_file *file = context;
    if (file->kernel_count == file->kernels_max) return jm__no_memory(err, "the test");
    file->kernels[file->kernel_count++] = *kernel;
    return JM_OK;
}

static inline jm_status told_take_block(void *context, const jm__counter_block *block, jm_error *err)
{
    told_blocks *blocks = context;
    void *data = malloc(block->data.size);
    if (data == NULL || !jm__vec_push(blocks, *block)) {
        free(data);
        return jm__no_memory(err, "the test");
    }
    blocks->items[blocks->count - 1].data.at = memcpy(data, block->data.at, block->data.size);
    return JM_OK;
}

static inline void told_forget_blocks(told_blocks *blocks)
{
    for (size_t i = 0; i < blocks->count; i++)
        free((void *)(uintptr_t)blocks->items[i].data.at);
    jm__vec_free(blocks);
}

/* Those that were there are forgotten. */
static inline jm_status told_read_blocks(told_blocks *blocks, const jm__dataset *d, jm_error *err)
{
    told_forget_blocks(blocks);
    return d->counters.each == NULL ? JM_OK
                                    : d->counters.each(d->counters.context, told_take_block, blocks, err);
}

static inline void told_close(told_file *file)
{
    jm__dataset_free(file->dataset);
    told_forget_blocks(&file->blocks);
    jm_recording_close(file->recording);
    file->dataset = NULL;
    file->recording = NULL;
}

static inline jm_status told_read_kernels(told_file *file, jm_error *err)
{
    file->kernel_count = 0;
    return file->dataset->kernels.each(file->dataset->kernels.context, false, told_take_kernel, file, err);
}

/* Everything in it; close it in any case. */
static inline jm_status told_read(told_file *file, const char *path, jm_error *err)
{
    JM_TRY(jm_recording_open(&file->recording, path, err));
    JM_TRY(jm__dataset_load(&file->dataset, file->recording, err));
    JM_TRY(told_read_blocks(&file->blocks, file->dataset, err));
    return told_read_kernels(file, err);
}

static inline void told_boards(jm__strbuf *out, const jm__dataset *d)
{
    for (size_t i = 0; i < d->board_count; i++) {
        const jm_board *b = &d->boards[i];
        jm__strbuf_format(out, "board %" PRId64 " %s %s %s %s %d %d %g %d\n", b->id, b->host, b->backend,
                          b->name, b->uuid, (int)b->index, (int)b->cuda_index, b->power_limit_w,
                          (int)b->simulated);
    }
    for (size_t i = 0; i < d->sensor_count; i++) {
        const jm_sensor *s = &d->sensors[i];
        jm__strbuf_format(
            out, "sensor %" PRId64 " %" PRId64 " %s %s %d %d %" PRId64 " %" PRId64 " %" PRId64 " %g\n", s->id,
            s->board_id, s->name, s->missing, (int)s->quantity, (int)s->response, s->period_ns, s->lag_ns,
            s->tau_ns, s->noise);
    }
}

static inline void told_names(jm__strbuf *out, const jm__dataset *d)
{
    for (size_t i = 0; i < d->name_count; i++)
        jm__strbuf_format(out, "name %zu %s\n", i, d->names[i]);
    for (size_t i = 0; i < d->class_count; i++) {
        const jm__kernel_class *c = &d->classes[i];
        jm__strbuf_format(out, "class %" PRId64 " %" PRId64 " %d %u %u\n", c->id, c->name_id, (int)c->work,
                          c->grid[0], c->block[0]);
    }
    for (size_t i = 0; i < d->stream_count; i++)
        jm__strbuf_format(out, "stream %" PRId64 " %" PRId64 " %" PRId64 " %" PRIu32 "\n", d->streams[i].id,
                          d->streams[i].process_id, d->streams[i].board_id, d->streams[i].stream);
    for (size_t i = 0; i < d->process_count; i++) {
        const jm__process *p = &d->processes[i];
        jm__strbuf_format(out, "process %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %s %s\n",
                          p->id, p->pid, (int64_t)p->rank, p->start_ns, p->end_ns, p->host, p->command);
    }
}

static inline void told_happenings(jm__strbuf *out, const jm__dataset *d)
{
    for (size_t i = 0; i < d->span_count; i++) {
        const jm__span *s = &d->spans[i];
        jm__strbuf_format(
            out,
            "span %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %d\n",
            s->id, s->process_id, s->parent_id, s->start_ns, s->end_ns, s->name_id, s->type_id, (int)s->kind);
    }
    for (size_t i = 0; i < d->reading_count; i++)
        jm__strbuf_format(out, "reading %" PRId64 " %" PRId64 " %a\n", d->readings[i].sensor_id,
                          d->readings[i].t_ns, d->readings[i].value);
    for (size_t i = 0; i < d->mark_count; i++)
        jm__strbuf_format(out, "mark %" PRId64 " %s\n", d->marks[i].t_ns,
                          d->marks[i].meta != NULL ? d->marks[i].meta : "-");
    for (size_t i = 0; i < d->loss_count; i++)
        jm__strbuf_format(out, "loss %" PRId64 " %" PRId64 " %s %s\n", d->losses[i].t_ns, d->losses[i].count,
                          d->losses[i].source, d->losses[i].reason);
    for (size_t i = 0; i < d->event_count; i++)
        jm__strbuf_format(out, "event %d %" PRId64 " %g %s\n", (int)d->events[i].kind, d->events[i].t_ns,
                          d->events[i].value, d->events[i].text);
}

static inline void told_counters(jm__strbuf *out, const jm__counter_source *source, const told_blocks *blocks)
{
    for (size_t i = 0; i < source->set_count; i++)
        jm__strbuf_format(out, "set %s %s\n", source->sets[i].metrics, source->sets[i].units);
    for (size_t i = 0; i < blocks->count; i++) {
        const jm__counter_block *b = &blocks->items[i];
        jm__strbuf_format(out, "block %" PRId64 " of %" PRId64 ", %zu bytes, last %d\n", b->count, b->set_id,
                          b->data.size, ((const unsigned char *)b->data.at)[b->data.size - 1]);
    }
}

/* free() it */
static inline char *told_text(const told_file *file)
{
    jm__strbuf out = {0};
    const jm__dataset *d = file->dataset;
    const char *damage = jm_recording_damage(file->recording);
    jm__strbuf_format(&out, "damage %s\n", damage != NULL ? damage : "none");
    jm__strbuf_format(&out, "damage of the dataset %s\n", d->damage != NULL ? d->damage : "none");
    jm__strbuf_format(&out, "run %" PRId64 " %" PRId64 " %" PRId64 "\n", d->start_ns, d->end_ns,
                      d->cost.calls);
    static const char *const facts[] = {"start_ns", "end_ns", "closed", "source"};
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        const char *value = jm_recording_meta(file->recording, facts[i]);
        if (value != NULL) jm__strbuf_format(&out, "fact %s %s\n", facts[i], value);
    }
    told_boards(&out, d);
    told_names(&out, d);
    told_happenings(&out, d);
    told_counters(&out, &d->counters, &file->blocks);
    for (size_t i = 0; i < file->kernel_count; i++) {
        const jm__kernel_run *k = &file->kernels[i];
        jm__strbuf_format(&out,
                          "kernel %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 "\n",
                          k->start_ns, k->end_ns, k->class_id, k->stream_id, k->span_id, k->calls);
    }
    return jm__strbuf_take(&out);
}

#endif
