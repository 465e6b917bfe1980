/* A small run that has everything: two boards, phases, steps, layers, kernels, collectives, waits for data,
 * readings of ring and counter, an event, a loss, a mark. As a dataset, and told row by row to a writer. */
#ifndef TEST_SMALL_RUN_H
#define TEST_SMALL_RUN_H

#include "base/status.h"
#include "format/writer.h"
#include "synthetic.h"

#include <inttypes.h>

enum { SMALL_START_NS = 1000000000, SMALL_STEPS = 2, SMALL_LAYERS = 2, SMALL_KERNEL_NS = 16000000 };

/* A step of a board: each layer runs two kernels, twice; then both boards reduce together, and the second
 * one waits for data. */
static inline int64_t small_step(synthetic *s, size_t board, int64_t parent, int64_t start_ns)
{
    static const char *const layers[SMALL_LAYERS] = {"blocks.0", "blocks.1"};
    int64_t process = 100 + (int64_t)board, now = start_ns, step_ns = 8 * SMALL_KERNEL_NS + 20000000;
    int64_t step =
        syn_span(s, JM_SPAN_STEP, "step", "", parent, start_ns, start_ns + step_ns - 10000000, process);
    for (int64_t layer = 0; layer < SMALL_LAYERS; layer++) {
        int64_t span = syn_span(s, JM_SPAN_FORWARD, layers[layer], "Linear(8, 8)", step, now,
                                now + 4 * SMALL_KERNEL_NS, process);
        for (int64_t k = 0; k < 4; k++, now += SMALL_KERNEL_NS)
            syn_kernel(s, 1 + layer + k % 2, board, span, now, now + SMALL_KERNEL_NS - 200000 * (1 + k));
    }
    syn_kernel(s, 4, board, step, now + (int64_t)board * 2000000, now + 8000000);
    if (board == 1) syn_span(s, JM_SPAN_DATA, "next", "", step, now + 9000000, now + 19000000, process);
    return start_ns + step_ns;
}

/* Longer than what a growing text begins with. */
static const char small_long_name[] =
    "void at::native::vectorized_elementwise_kernel<4, at::native::binary_internal::BinaryFunctor<float, "
    "float, "
    "float, at::native::binary_internal::MulFunctor<float>>, at::detail::Array<char*, 3>>(int, "
    "at::native::binary_internal::BinaryFunctor<float, float, float, "
    "at::native::binary_internal::MulFunctor<float>>, at::detail::Array<char*, 3>)";

/* Its kernels lie by time; passing them asks for no memory. */
static inline jm_status small_run_each(void *context, bool by_time, jm__kernel_taker take, void *taker,
                                       jm_error *err)
{
    (void)by_time;
    const all_kernels *all = context;
    jm_status status = JM_OK;
    for (size_t i = 0; status == JM_OK && i < all->count; i++)
        status = take(taker, &all->items[i], err);
    return status;
}

/* Free with syn_free. */
static inline synthetic *small_run_make(void)
{
    static const jm__event event = {.kind = JM_EVENT_THROTTLE, .t_ns = 1300000000, .board_id = 1, .value = 4};
    static const jm__loss loss = {1400000000, 100, 3, "ring", "the ring was full"};
    static const jm__mark mark = {100, 100, 1500000000, 1, "{\"saved\": 1}"};
    synthetic *s = syn_create(5, 2, 400);
    syn_class(s, "_ZN2at6native5sgemmILi8EEEvi", 8, 610);
    syn_class(s, "norm", 4, 340);
    s->names[s->classes[1].name_id] = small_long_name;
    syn_class(s, "attention", 16, 520);
    syn_class(s, "ncclDevKernel_AllReduce_Sum_f32", 24, 230);
    for (size_t board = 0; board < 2; board++) {
        static const char *const phases[] = {"warm/up", "train"};
        int64_t now = SMALL_START_NS + 100000000;
        for (size_t phase = 0; phase < 2; phase++) {
            int64_t span =
                syn_span(s, JM_SPAN_PHASE, phases[phase], "", 0, now, now + 320000000, 100 + (int64_t)board);
            for (int step = 0; step < SMALL_STEPS; step++)
                now = small_step(s, board, span, now);
            now += 60000000;
        }
    }
    for (size_t board = 0; board < 2; board++)
        syn_measure(s, board, SMALL_START_NS, 1960000000);
    syn_finish(s);
    qsort(s->kernels.items, s->kernels.count, sizeof *s->kernels.items, all_kernels_by_time);
    s->dataset.kernels.each = small_run_each;
    s->dataset.events = &event;
    s->dataset.losses = &loss;
    s->dataset.marks = &mark;
    s->dataset.event_count = s->dataset.loss_count = s->dataset.mark_count = 1;
    return s;
}

/* ---- told to a writer, as a recorder does: numbered rows first, then what happened, in two commits */

static inline jm_status small_run_tell_boards(jm__writer *writer, const synthetic *s, jm_error *err)
{
    const jm__dataset *d = &s->dataset;
    for (size_t i = 0; i < d->board_count; i++) {
        jm_board board = d->boards[i];
        JM_TRY(jm__writer_board(writer, &board, err));
    }
    for (size_t i = 0; i < d->sensor_count; i++) {
        jm_sensor sensor = d->sensors[i];
        JM_TRY(jm__writer_sensor(writer, &sensor, err));
    }
    for (size_t i = 1; i < d->name_count; i++)
        if (jm__writer_name(writer, d->names[i]) < 0) return jm__no_memory(err, "jm__writer_name");
    for (size_t i = 0; i < d->class_count; i++) {
        jm__kernel_class kernel_class = d->classes[i];
        JM_TRY(jm__writer_kernel_class(writer, &kernel_class, err));
    }
    for (size_t i = 0; i < d->stream_count; i++) {
        jm__stream stream = d->streams[i];
        JM_TRY(jm__writer_stream(writer, &stream, err));
    }
    return JM_OK;
}

static inline void small_run_tell_facts(jm__writer *writer, const synthetic *s)
{
    const jm__dataset *d = &s->dataset;
    char number[24];
    snprintf(number, sizeof number, "%" PRId64, d->start_ns);
    jm__writer_meta(writer, "start_ns", number);
    snprintf(number, sizeof number, "%" PRId64, d->end_ns);
    jm__writer_meta(writer, "end_ns", number);
    for (size_t i = 0; i < d->process_count; i++)
        jm__writer_process(writer, &d->processes[i]);
    for (size_t i = 0; i < d->event_count; i++)
        jm__writer_event(writer, &d->events[i]);
    for (size_t i = 0; i < d->mark_count; i++)
        jm__writer_mark(writer, &d->marks[i]);
    for (size_t i = 0; i < d->loss_count; i++)
        jm__writer_loss(writer, &d->losses[i]);
}

static inline jm_status small_run_tell_counters(jm__writer *writer, jm_error *err)
{
    enum { METRICS = 2, SAMPLES = 3 };
    jm__counter_set set = {
        .board_id = 1, .metric_count = METRICS, .metrics = "[\"a\", \"b\"]", .units = "[\"\", \"%\"]"};
    jm__counter_sample samples[SAMPLES];
    unsigned char data[SAMPLES * 8 * (2 + METRICS)];
    for (int i = 0; i < SAMPLES; i++)
        samples[i] = (jm__counter_sample){SMALL_START_NS + i, SMALL_START_NS + i + 1, {i, NAN}};
    jm__counter_block_pack(data, SMALL_START_NS, samples, SAMPLES, METRICS);
    JM_TRY(jm__writer_counter_set(writer, &set, err));
    const jm__counter_block block = {
        set.id, SMALL_START_NS, SMALL_START_NS + SAMPLES, SAMPLES, {data, sizeof data}};
    return jm__writer_counter_block(writer, &block, err);
}

/* Part `part` of two, by number of row. */
static inline size_t small_run_first(size_t count, int part)
{
    return count * (size_t)part / 2;
}

static inline void small_run_tell_rows(jm__writer *writer, const synthetic *s, int part)
{
    const jm__dataset *d = &s->dataset;
    for (size_t i = small_run_first(d->span_count, part); i < small_run_first(d->span_count, part + 1); i++) {
        jm__span span = d->spans[i];
        span.end_ns = -1;
        jm__writer_span_begin(writer, &span);
    }
    /* those of the first part end in the second: their rows are in the file by then */
    for (size_t i = 0; part == 1 && i < d->span_count; i++)
        jm__writer_span_end(writer, &(jm__span_end){.span_id = d->spans[i].id, .end_ns = d->spans[i].end_ns});
    size_t first = small_run_first(d->reading_count, part);
    jm__writer_readings(writer, d->readings + first, small_run_first(d->reading_count, part + 1) - first);
    for (size_t i = small_run_first(s->kernels.count, part); i < small_run_first(s->kernels.count, part + 1);
         i++) {
        const jm__kernel_run *run = &s->kernels.items[i];
        jm__kernel kernel = {.start_ns = run->start_ns,
                             .end_ns = run->end_ns,
                             .class_id = run->class_id,
                             .stream_id = run->stream_id,
                             .span_id = run->span_id,
                             .launch_ns = -1,
                             .calls = run->calls};
        jm__writer_kernels(writer, &kernel, 1);
    }
}

/* All of it, and two commits. */
static inline jm_status small_run_tell(jm__writer *writer, const synthetic *s, jm_error *err)
{
    JM_TRY(small_run_tell_boards(writer, s, err));
    small_run_tell_facts(writer, s);
    JM_TRY(small_run_tell_counters(writer, err));
    small_run_tell_rows(writer, s, 0);
    JM_TRY(jm__writer_commit(writer, s->dataset.start_ns, err));
    small_run_tell_rows(writer, s, 1);
    return jm__writer_commit(writer, s->dataset.end_ns, err);
}

#endif
