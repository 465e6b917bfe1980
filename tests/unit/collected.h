/* A sink that keeps all rows, for the tests of what fills rings. Include after cmocka.h. */
#ifndef JM_TESTS_COLLECTED_H
#define JM_TESTS_COLLECTED_H

#include "record/timeline/collector.h"
#include "record/timeline/ring.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COLLECTED_MAX 65536

typedef struct collected {
    char run_dir[64];
    jm__collector *collector;
    char *names[COLLECTED_MAX];
    int64_t name_count;
    jm__span spans[COLLECTED_MAX]; /* by id - 1 */
    int64_t span_count;
    jm__mark marks[64];
    char mark_meta[64][128];
    size_t mark_count;
    jm__kernel_class classes[1024];
    int64_t class_count;
    jm__stream streams[64];
    char stream_uuids[64][64];
    int64_t stream_count;
    jm__kernel *kernels;
    size_t kernel_count, kernel_capacity;
    jm__process processes[64];
    char commands[64][256];
    size_t process_count;
    int64_t lost;
    char loss_source[32], loss_reasons[1024];
    char notes[4096];
} collected;

static int64_t collected_name(void *context, const char *text)
{
    collected *all = context;
    if (text == NULL || text[0] == '\0') return 0;
    for (int64_t i = 0; i < all->name_count; i++)
        if (strcmp(all->names[i], text) == 0) return i + 1;
    assert_true(all->name_count < COLLECTED_MAX);
    all->names[all->name_count] = strdup(text);
    return ++all->name_count;
}

static void collected_process(void *context, const jm__process *process)
{
    collected *all = context;
    size_t at = 0;
    while (at < all->process_count && all->processes[at].id != process->id)
        at++;
    assert_true(at < 64);
    all->processes[at] = *process;
    snprintf(all->commands[at], sizeof all->commands[at], "%s",
             process->command == NULL ? "" : process->command);
    all->processes[at].command = all->commands[at];
    if (at == all->process_count) all->process_count++;
}

static void collected_span_begin(void *context, const jm__span *span)
{
    collected *all = context;
    assert_true(all->span_count < COLLECTED_MAX);
    assert_int_equal(span->id, all->span_count + 1);
    assert_int_equal(span->end_ns, -1);
    assert_true(span->parent_id >= 0 && span->parent_id < span->id);
    all->spans[all->span_count++] = *span;
}

static void collected_span_end(void *context, const jm__span_end *end)
{
    collected *all = context;
    assert_in_range(end->span_id, 1, all->span_count);
    jm__span *span = &all->spans[end->span_id - 1];
    assert_int_equal(span->end_ns, -1);
    assert_true(end->end_ns >= span->start_ns);
    span->end_ns = end->end_ns;
    span->tokens = end->tokens;
    if (end->samples > 0) span->samples = end->samples;
}

static void collected_mark(void *context, const jm__mark *mark)
{
    collected *all = context;
    assert_true(all->mark_count < 64);
    snprintf(all->mark_meta[all->mark_count], sizeof all->mark_meta[0], "%s",
             mark->meta == NULL ? "" : mark->meta);
    all->marks[all->mark_count++] = *mark;
}

static int64_t collected_class(void *context, const jm__kernel_class *kernel_class)
{
    collected *all = context;
    assert_true(all->class_count < 1024);
    all->classes[all->class_count] = *kernel_class;
    return ++all->class_count;
}

static int64_t collected_stream(void *context, const jm__stream *stream, const char *board_uuid)
{
    collected *all = context;
    assert_true(all->stream_count < 64);
    snprintf(all->stream_uuids[all->stream_count], sizeof all->stream_uuids[0], "%s",
             board_uuid == NULL ? "" : board_uuid);
    all->streams[all->stream_count] = *stream;
    return ++all->stream_count;
}

static void collected_kernels(void *context, const jm__kernel *kernels, size_t count)
{
    collected *all = context;
    if (all->kernel_count + count > all->kernel_capacity) {
        all->kernel_capacity = (all->kernel_count + count) * 2;
        all->kernels = realloc(all->kernels, all->kernel_capacity * sizeof *all->kernels);
        assert_non_null(all->kernels);
    }
    memcpy(all->kernels + all->kernel_count, kernels, count * sizeof *kernels);
    all->kernel_count += count;
}

static void collected_loss(void *context, const jm__loss *loss)
{
    collected *all = context;
    assert_true(loss->count > 0 && strlen(loss->reason) > 0);
    all->lost += loss->count;
    snprintf(all->loss_source, sizeof all->loss_source, "%s", loss->source);
    size_t length = strlen(all->loss_reasons);
    snprintf(all->loss_reasons + length, sizeof all->loss_reasons - length, "%s\n", loss->reason);
}

static void collected_note(void *context, int64_t pid, const char *text)
{
    collected *all = context;
    assert_true(pid > 0);
    size_t length = strlen(all->notes);
    snprintf(all->notes + length, sizeof all->notes - length, "%s\n", text);
}

/* A folder for a run and a collector at work on it. */
static collected *collected_create(void)
{
    collected *all = calloc(1, sizeof *all);
    assert_non_null(all);
    strcpy(all->run_dir, "/dev/shm/joulemap-test-XXXXXX");
    assert_non_null(mkdtemp(all->run_dir));
    assert_int_equal(jm__lost_create(all->run_dir), 0);
    jm__collector_sink sink = {.context = all,
                               .name = collected_name,
                               .process = collected_process,
                               .span_begin = collected_span_begin,
                               .span_end = collected_span_end,
                               .mark = collected_mark,
                               .kernel_class = collected_class,
                               .stream = collected_stream,
                               .kernels = collected_kernels,
                               .loss = collected_loss,
                               .note = collected_note};
    jm_error err;
    assert_int_equal(jm__collector_create(&all->collector, all->run_dir, &sink, &err), JM_OK);
    return all;
}

static inline size_t collected_poll(collected *all)
{
    jm_error err;
    size_t records;
    usleep(2000); /* records settle for a millisecond */
    assert_int_equal(jm__collector_poll(all->collector, &records, &err), JM_OK);
    return records;
}

static inline void collected_finish(collected *all)
{
    jm_error err;
    assert_int_equal(jm__collector_finish(all->collector, &err), JM_OK);
}

static inline const char *collected_text(const collected *all, int64_t name_id)
{
    return name_id == 0 ? "" : all->names[name_id - 1];
}

/* The span of that name; fails if there is none, or more than one. */
/* Of a process's row. */
static inline int64_t collected_pid(const collected *all, int64_t process_id)
{
    for (size_t i = 0; i < all->process_count; i++)
        if (all->processes[i].id == process_id) return all->processes[i].pid;
    fail_msg("no process has the number %lld", (long long)process_id);
    return 0;
}

static inline const jm__span *collected_span(const collected *all, const char *name)
{
    const jm__span *found = NULL;
    for (int64_t i = 0; i < all->span_count; i++) {
        if (strcmp(collected_text(all, all->spans[i].name_id), name) != 0) continue;
        assert_null(found);
        found = &all->spans[i];
    }
    assert_non_null(found);
    return found;
}

static inline int64_t collected_span_id(const collected *all, const char *name)
{
    return collected_span(all, name)->id;
}

static void collected_free(collected *all)
{
    jm__collector_free(all->collector);
    for (int64_t i = 0; i < all->name_count; i++)
        free(all->names[i]);
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", all->run_dir);
    assert_int_equal(system(command), 0);
    free(all->kernels);
    free(all);
}

#endif
