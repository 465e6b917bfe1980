/* A long run of known energy, through the real writer, as fast as it goes: a training of steps of 34 ms (20
 * ms of matrix products at 600 W, 8 ms of norms at 350 W, 6 ms of nothing at 100 W), of which one in
 * `traced_every` is traced, with the step before it; or a server of which the boards alone are recorded.
 * Include after cmocka.h or with assert_true of one's own. */
#ifndef JM_TESTS_DAY_H
#define JM_TESTS_DAY_H

#include "format/condense.h"
#include "format/rows/marks.h"
#include "format/writer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define DAY_STEP_NS (34 * JM_NS_PER_MS)
#define DAY_KERNELS 1000 /* a traced step */
#define DAY_LAYERS  40

typedef struct day {
    jm__writer *writer;
    int64_t start_ns, t_ns;              /* from when, and how far it is */
    int64_t steps, traced_every, window; /* `window` steps in so many; 0: no steps */
    double energy_j, filtered_w;
    int64_t ring_ns, gauge_ns, counter_ns;
    int64_t step_name, layer_names[DAY_LAYERS], gemm, norm, stream, traced_mark, steps_mark;
    int64_t last_span, kernels;
    int64_t ring, counter, gauges[7];
} day;

static inline jm_sensor day_sensor(const char *name, jm_quantity quantity, jm_response response,
                                   int64_t period_ns)
{
    jm_sensor s = {
        .board_id = 1, .quantity = quantity, .response = response, .period_ns = period_ns, .noise = 1};
    snprintf(s.name, sizeof s.name, "%s", name);
    return s;
}

static inline int64_t day_add_sensor(day *d, jm_sensor sensor)
{
    assert_true(jm__writer_sensor(d->writer, &sensor, NULL) == JM_OK);
    return sensor.id;
}

static inline void day_number(day *d, const char *key, int64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)value);
    jm__writer_meta(d->writer, key, text);
}

static inline void day_sensors(day *d)
{
    jm_sensor ring = day_sensor("power_ring", JM_QUANTITY_POWER, JM_RESPONSE_FIRST_ORDER, 20 * JM_NS_PER_MS);
    ring.lag_ns = 3500000;
    ring.lag_u_ns = 500000;
    ring.tau_ns = 13000000;
    ring.tau_u_ns = 1000000;
    d->ring = day_add_sensor(d, ring);
    d->counter = day_add_sensor(
        d, day_sensor("energy_counter", JM_QUANTITY_ENERGY, JM_RESPONSE_COUNTER, 100 * JM_NS_PER_MS));
    static const struct {
        const char *name;
        jm_quantity quantity;
    } gauges[7] = {
        {"temperature", JM_QUANTITY_TEMPERATURE},        {"clock_sm", JM_QUANTITY_CLOCK_SM},
        {"clock_memory", JM_QUANTITY_CLOCK_MEMORY},      {"gpu_utilisation", JM_QUANTITY_UTIL_GPU},
        {"memory_utilisation", JM_QUANTITY_UTIL_MEMORY}, {"throttle_reasons", JM_QUANTITY_THROTTLE},
        {"memory_power", JM_QUANTITY_MEMORY_POWER}};
    for (int i = 0; i < 7; i++)
        d->gauges[i] = day_add_sensor(
            d, day_sensor(gauges[i].name, gauges[i].quantity, JM_RESPONSE_INSTANT, 100 * JM_NS_PER_MS));
}

static inline void day_names(day *d)
{
    char text[32];
    jm__process process = {.id = 1, .pid = 4711, .rank = -1, .start_ns = d->start_ns, .end_ns = d->start_ns};
    jm__writer_process(d->writer, &process);
    d->step_name = jm__writer_name(d->writer, "step");
    for (int i = 0; i < DAY_LAYERS; i++) {
        snprintf(text, sizeof text, "layers.%d", i);
        d->layer_names[i] = jm__writer_name(d->writer, text);
    }
    jm__kernel_class gemm = {.name_id = jm__writer_name(d->writer, "gemm"),
                             .work = JM_WORK_KERNEL,
                             .grid = {1, 1, 1}},
                     norm = {.name_id = jm__writer_name(d->writer, "norm"),
                             .work = JM_WORK_KERNEL,
                             .grid = {1, 1, 1}};
    jm__stream stream = {.process_id = 1, .board_id = 1, .context = 1, .stream = 7};
    assert_true(jm__writer_kernel_class(d->writer, &gemm, NULL) == JM_OK);
    assert_true(jm__writer_kernel_class(d->writer, &norm, NULL) == JM_OK);
    assert_true(jm__writer_stream(d->writer, &stream, NULL) == JM_OK);
    d->gemm = gemm.id;
    d->norm = norm.id;
    d->stream = stream.id;
    d->traced_mark = jm__writer_name(d->writer, JM_MARK_TRACED);
    d->steps_mark = jm__writer_name(d->writer, JM_MARK_STEPS);
}

/* Into a writer that is new. */
static inline day day_begin_with(jm__writer *writer, int64_t traced_every, double keep_s, int64_t max_bytes)
{
    day d = {.writer = writer,
             .start_ns = 1000 * JM_NS_PER_S,
             .traced_every = traced_every,
             .window = 1,
             .filtered_w = 100};
    d.t_ns = d.ring_ns = d.gauge_ns = d.counter_ns = d.start_ns;
    assert_true(jm__writer_condense(d.writer, keep_s, max_bytes, NULL) == JM_OK);
    jm_board board = jm__board_blank;
    snprintf(board.backend, sizeof board.backend, "nvml");
    snprintf(board.name, sizeof board.name, "NVIDIA H200");
    snprintf(board.uuid, sizeof board.uuid, "GPU-0");
    board.index = 0;
    board.power_limit_w = 700;
    assert_true(jm__writer_board(d.writer, &board, NULL) == JM_OK);
    day_sensors(&d);
    day_names(&d);
    day_number(&d, "start_ns", d.start_ns);
    day_number(&d, "start_unix_ns", d.start_ns);
    jm__anchor anchor = {.monotonic_ns = d.start_ns, .realtime_ns = d.start_ns};
    jm__writer_anchor(d.writer, &anchor);
    return d;
}

static inline day day_begin(const char *path, int64_t traced_every, double keep_s, int64_t max_bytes)
{
    jm__writer *writer;
    assert_true(jm__writer_create(&writer, path, true, NULL) == JM_OK);
    return day_begin_with(writer, traced_every, keep_s, max_bytes);
}

/* Up to there the board draws that; whoever looks at it meanwhile sees it. */
static inline void day_draw(day *d, int64_t until_ns, double power_w)
{
    static const double tau_s = 0.013;
    while (d->t_ns < until_ns) {
        int64_t next_ns = until_ns;
        if (d->ring_ns > d->t_ns && d->ring_ns < next_ns) next_ns = d->ring_ns;
        if (d->counter_ns > d->t_ns && d->counter_ns < next_ns) next_ns = d->counter_ns;
        double passed_s = (double)(next_ns - d->t_ns) / 1e9;
        d->energy_j += power_w * passed_s;
        d->filtered_w = power_w + (d->filtered_w - power_w) * exp(-passed_s / tau_s);
        d->t_ns = next_ns;
        if (d->ring_ns <= d->t_ns) {
            jm_reading r = {d->ring, d->t_ns + 3500000, d->filtered_w};
            jm__writer_readings(d->writer, &r, 1);
            d->ring_ns += 20 * JM_NS_PER_MS;
        }
        if (d->counter_ns <= d->t_ns) {
            jm_reading r = {d->counter, d->t_ns, d->energy_j};
            jm__writer_readings(d->writer, &r, 1);
            d->counter_ns += 3 * JM_NS_PER_S;
        }
    }
    for (; d->gauge_ns <= d->t_ns; d->gauge_ns += 100 * JM_NS_PER_MS)
        for (int i = 0; i < 7; i++) {
            jm_reading r = {d->gauges[i], d->gauge_ns, d->gauges[i] == d->gauges[5] ? 4 : 50 + i};
            jm__writer_readings(d->writer, &r, 1);
        }
}

static inline void day_span(day *d, jm_span_kind kind, int64_t name_id, int64_t parent_id, int64_t from_ns,
                            int64_t to_ns)
{
    jm__span span = {.id = ++d->last_span,
                     .process_id = 1,
                     .thread_id = 4711,
                     .parent_id = parent_id,
                     .start_ns = from_ns,
                     .end_ns = to_ns,
                     .name_id = name_id,
                     .samples = kind == JM_SPAN_STEP ? 8 : 0,
                     .kind = kind};
    jm__writer_span_begin(d->writer, &span);
}

static inline void day_work(day *d, int64_t step_id, int64_t step_ns)
{
    enum { EACH = DAY_KERNELS / DAY_LAYERS };
    for (int layer = 0; layer < DAY_LAYERS; layer++) {
        bool gemm = layer < DAY_LAYERS / 2;
        int64_t kernel_ns = gemm ? 40000 : 16000;
        int64_t from_ns = gemm ? step_ns + layer * EACH * kernel_ns
                               : step_ns + 20 * JM_NS_PER_MS + (layer - DAY_LAYERS / 2) * EACH * kernel_ns;
        day_span(d, JM_SPAN_FORWARD, d->layer_names[layer], step_id, from_ns, from_ns + EACH * kernel_ns);
        for (int i = 0; i < EACH; i++) {
            jm__kernel kernel = {.start_ns = from_ns + i * kernel_ns,
                                 .end_ns = from_ns + (i + 1) * kernel_ns,
                                 .class_id = gemm ? d->gemm : d->norm,
                                 .stream_id = d->stream,
                                 .span_id = d->last_span,
                                 .launch_ns = from_ns + i,
                                 .calls = 1};
            jm__writer_kernels(d->writer, &kernel, 1);
        }
    }
    d->kernels += DAY_KERNELS;
}

static inline void day_mark(day *d, int64_t name_id, int64_t t_ns)
{
    jm__mark mark = {.process_id = 1, .thread_id = 4711, .t_ns = t_ns, .name_id = name_id};
    jm__writer_mark(d->writer, &mark);
}

static inline void day_step(day *d)
{
    int64_t at = d->t_ns, number = d->steps++ % d->traced_every;
    day_span(d, JM_SPAN_STEP, d->step_name, 0, at, at + DAY_STEP_NS);
    if (number == 0 && d->traced_every > 1) day_mark(d, d->steps_mark, at);
    if (number == d->traced_every - d->window) day_mark(d, d->traced_mark, at);
    if (number >= d->traced_every - d->window - 1) day_work(d, d->last_span, at);
    day_draw(d, at + 20 * JM_NS_PER_MS, 600);
    day_draw(d, at + 28 * JM_NS_PER_MS, 350);
    day_draw(d, at + DAY_STEP_NS, 100);
}

/* A server that works in the first 20 s of each minute. */
static inline void day_serve(day *d)
{
    int64_t second = (d->t_ns - d->start_ns) / JM_NS_PER_S;
    day_draw(d, d->t_ns + JM_NS_PER_S, second % 60 < 20 ? 500 : 100);
}

/* Go on for so long; a commit each ten seconds of it. */
static inline void day_go_on(day *d, double seconds)
{
    int64_t until_ns = d->t_ns + (int64_t)(seconds * 1e9), committed_ns = d->t_ns;
    while (d->t_ns < until_ns) {
        if (d->traced_every > 0)
            day_step(d);
        else
            day_serve(d);
        if (d->t_ns - committed_ns < 10 * JM_NS_PER_S) continue;
        assert_true(jm__writer_commit(d->writer, d->t_ns, NULL) == JM_OK);
        committed_ns = d->t_ns;
    }
}

static inline void day_end(day *d)
{
    jm_reading last = {d->counter, d->t_ns, d->energy_j};
    jm__writer_readings(d->writer, &last, 1);
    jm__process process = {.id = 1, .pid = 4711, .rank = -1, .start_ns = d->start_ns, .end_ns = d->t_ns};
    jm__writer_process(d->writer, &process);
    day_number(d, "end_ns", d->t_ns);
    day_number(d, "end_unix_ns", d->t_ns);
    assert_true(jm__writer_commit(d->writer, d->t_ns, NULL) == JM_OK);
    assert_true(jm__writer_close(d->writer, NULL) == JM_OK);
}

#endif
