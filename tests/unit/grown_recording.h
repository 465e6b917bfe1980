/* Recordings that are large in one way: many losses, many classes, many names, ranges deep inside each other.
 * Each holds the same work of a board beside it. */
#ifndef TEST_GROWN_RECORDING_H
#define TEST_GROWN_RECORDING_H

#include "base/clock.h"
#include "format/writer.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What there is much of: name, what is counted, in words. */
#define GROWN_MAP(X)                                                                                         \
    X(NOTHING, "nothing besides")                                                                            \
    X(LOSSES, "losses, each with a reason of its own")                                                       \
    X(CLASSES, "kernels, each of a class of its own")                                                        \
    X(SHAPELESS, "kernels without a launch shape, each of a name of its own")                                \
    X(MARKS, "marks, each with a name of its own")                                                           \
    X(LAYERS, "layers, each called once")                                                                    \
    X(RANGES, "NVTX ranges, one inside the other")                                                           \
    X(RANGES_ALONE, "the same, without a kernel")                                                            \
    X(CALLS, "calls of layers, one inside the other")                                                        \
    X(PHASES, "phases, one inside the other")                                                                \
    X(REQUESTS, "phases, one after the other")

typedef enum grown_kind {
#define X(name, text) GROWN_##name,
    GROWN_MAP(X)
#undef X
        GROWN_COUNT
} grown_kind;

static inline const char *grown_text(grown_kind kind)
{
    static const char *const texts[] = {
#define X(name, text) text,
        GROWN_MAP(X)
#undef X
    };
    return texts[kind];
}

enum { GROWN_KERNEL_CLASSES = 200 };

typedef struct grown {
    jm__writer *writer;
    int64_t now_ns, reading_ns, span_id, outer_id;
    double energy_j;
    int64_t classes[GROWN_KERNEL_CLASSES];
} grown;

#define GROWN_BEGIN_NS (1000 * JM_NS_PER_S)
#define GROWN_PERIOD   (20 * JM_NS_PER_MS)

static inline void grown_check(jm_status status, const jm_error *err)
{
    if (status == JM_OK) return;
    fprintf(stderr, "grown recording: %s\n", err->text);
    abort();
}

static inline void grown_pass(grown *g, int64_t duration_ns, double power_w)
{
    g->now_ns += duration_ns;
    g->energy_j += power_w * (double)duration_ns * 1e-9;
    for (; g->reading_ns <= g->now_ns; g->reading_ns += GROWN_PERIOD) {
        double noise_w = (double)(g->reading_ns / GROWN_PERIOD * 7919 % 11) - 5;
        const jm_reading readings[] = {{1, g->reading_ns, power_w + noise_w},
                                       {2, g->reading_ns, g->energy_j}};
        jm__writer_readings(g->writer, readings, g->reading_ns % (GROWN_PERIOD * 50) == 0 ? 2 : 1);
    }
}

static inline void grown_kernel(grown *g, int64_t class_id, double power_w)
{
    enum { KERNEL_NS = 150000, GAP_NS = 50000 };
    grown_pass(g, GAP_NS, 100);
    jm__kernel kernel = {.start_ns = g->now_ns,
                         .end_ns = g->now_ns + KERNEL_NS,
                         .class_id = class_id,
                         .stream_id = 1,
                         .span_id = g->outer_id,
                         .launch_ns = g->now_ns - 1000,
                         .calls = 1};
    jm__writer_kernels(g->writer, &kernel, 1);
    grown_pass(g, KERNEL_NS, power_w);
}

static inline int64_t grown_class(grown *g, const char *name, uint32_t grid)
{
    jm_error err;
    jm__kernel_class row = {
        .name_id = jm__writer_name(g->writer, name), .work = JM_WORK_KERNEL, .grid = {grid, 1, 1}};
    if (grid > 0) row.block[0] = row.block[1] = row.block[2] = row.grid[1];
    grown_check(jm__writer_kernel_class(g->writer, &row, &err), &err);
    return row.id;
}

static inline int64_t grown_span(grown *g, jm_span_kind kind, const char *name)
{
    jm__span span = {.id = ++g->span_id,
                     .process_id = 1,
                     .thread_id = 1,
                     .parent_id = g->outer_id,
                     .start_ns = g->now_ns,
                     .end_ns = -1,
                     .name_id = jm__writer_name(g->writer, name),
                     .kind = kind};
    jm__writer_span_begin(g->writer, &span);
    return g->outer_id = span.id;
}

static inline void grown_describe(grown *g)
{
    jm_error err;
    jm_board board = jm__board_blank;
    snprintf(board.backend, sizeof board.backend, "nvml");
    snprintf(board.name, sizeof board.name, "Grown");
    snprintf(board.uuid, sizeof board.uuid, "GPU-0");
    board.index = 0;
    grown_check(jm__writer_board(g->writer, &board, &err), &err);
    jm_sensor ring = {.board_id = board.id,
                      .name = "power_ring",
                      .quantity = JM_QUANTITY_POWER,
                      .response = JM_RESPONSE_FIRST_ORDER,
                      .period_ns = GROWN_PERIOD,
                      .lag_u_ns = JM_NS_PER_MS,
                      .tau_ns = JM_NS_PER_MS,
                      .tau_u_ns = JM_NS_PER_MS,
                      .noise = 4},
              counter = {.board_id = board.id,
                         .name = "energy_counter",
                         .quantity = JM_QUANTITY_ENERGY,
                         .response = JM_RESPONSE_COUNTER,
                         .period_ns = 50 * GROWN_PERIOD,
                         .lag_u_ns = JM_NS_PER_MS,
                         .noise = 0.1};
    grown_check(jm__writer_sensor(g->writer, &ring, &err), &err);
    grown_check(jm__writer_sensor(g->writer, &counter, &err), &err);
    jm__process process = {.id = 1,
                           .pid = 1,
                           .rank = -1,
                           .start_ns = GROWN_BEGIN_NS,
                           .end_ns = GROWN_BEGIN_NS,
                           .command = "grown"};
    jm__writer_process(g->writer, &process);
    jm__stream stream = {.process_id = 1, .board_id = board.id, .context = 1, .stream = 7};
    grown_check(jm__writer_stream(g->writer, &stream, &err), &err);
    for (uint32_t c = 0; c < GROWN_KERNEL_CLASSES; c++) {
        char name[32];
        snprintf(name, sizeof name, "kernel_%" PRIu32, c);
        g->classes[c] = grown_class(g, name, c + 1);
    }
}

/* The work that each of them holds: a phase with steps of some layers. */
static inline void grown_base(grown *g, size_t kernels)
{
    enum { LAYERS = 10 };
    for (size_t k = 0; k < kernels; k++) {
        char name[32];
        snprintf(name, sizeof name, "blocks.%zu", k % LAYERS);
        int64_t outside = g->outer_id, layer = grown_span(g, JM_SPAN_FORWARD, name);
        size_t class = k * 7919 % GROWN_KERNEL_CLASSES;
        grown_kernel(g, g->classes[class], 200 + 2 * (double)class);
        jm__writer_span_end(g->writer, &(jm__span_end){.span_id = layer, .end_ns = g->now_ns});
        g->outer_id = outside;
    }
}

/* What it holds of its own, besides. */
static inline void grown_one(grown *g, grown_kind kind, size_t i)
{
    char text[64];
    int64_t outside = g->outer_id;
    switch (kind) {
    case GROWN_LOSSES: {
        snprintf(text, sizeof text, "reason %zu", i);
        jm__loss loss = {.t_ns = g->now_ns, .process_id = 1, .count = 1, .source = "ring", .reason = text};
        jm__writer_loss(g->writer, &loss);
        return;
    }
    case GROWN_CLASSES:
    case GROWN_SHAPELESS:
        snprintf(text, sizeof text, "another_%zu", i);
        grown_kernel(g, grown_class(g, text, kind == GROWN_CLASSES ? (uint32_t)i + 1 : 0), 300);
        return;
    case GROWN_MARKS: {
        snprintf(text, sizeof text, "mark %zu", i);
        jm__mark mark = {
            .process_id = 1, .thread_id = 1, .t_ns = g->now_ns, .name_id = jm__writer_name(g->writer, text)};
        jm__writer_mark(g->writer, &mark);
        return;
    }
    case GROWN_LAYERS:
    case GROWN_REQUESTS:
        snprintf(text, sizeof text, "layer%zu", i);
        grown_span(g, kind == GROWN_LAYERS ? JM_SPAN_FORWARD : JM_SPAN_PHASE, text);
        grown_kernel(g, g->classes[i % GROWN_KERNEL_CLASSES], 300);
        jm__writer_span_end(g->writer, &(jm__span_end){.span_id = g->outer_id, .end_ns = g->now_ns});
        g->outer_id = outside;
        return;
    case GROWN_RANGES:
    case GROWN_RANGES_ALONE:
    case GROWN_CALLS:
    case GROWN_PHASES:
        snprintf(text, sizeof text, "inner%zu", i);
        grown_span(g,
                   kind == GROWN_CALLS    ? JM_SPAN_FORWARD
                   : kind == GROWN_PHASES ? JM_SPAN_PHASE
                                          : JM_SPAN_NVTX,
                   text);
        if (kind != GROWN_RANGES_ALONE) grown_kernel(g, g->classes[i % GROWN_KERNEL_CLASSES], 300);
        return;
    case GROWN_NOTHING:
    case GROWN_COUNT:
        return;
    }
}

static inline void grown_write(const char *path, grown_kind kind, size_t count, size_t kernels)
{
    jm_error err;
    grown g = {.now_ns = GROWN_BEGIN_NS, .reading_ns = GROWN_BEGIN_NS + GROWN_PERIOD};
    char text[32];
    grown_check(jm__writer_create(&g.writer, path, true, &err), &err);
    grown_describe(&g);
    snprintf(text, sizeof text, "%" PRId64, g.now_ns);
    jm__writer_meta(g.writer, "start_ns", text);
    int64_t phase = grown_span(&g, JM_SPAN_PHASE, "train");
    grown_base(&g, kernels);
    if (kind == GROWN_REQUESTS) { /* phases of their own */
        jm__writer_span_end(g.writer, &(jm__span_end){.span_id = phase, .end_ns = g.now_ns});
        g.outer_id = 0;
    }
    for (size_t i = 0; i < count; i++)
        grown_one(&g, kind, i);
    for (int64_t open = g.span_id; open >= phase && g.outer_id > phase; open--)
        jm__writer_span_end(g.writer, &(jm__span_end){.span_id = open, .end_ns = g.now_ns});
    if (kind != GROWN_REQUESTS)
        jm__writer_span_end(g.writer, &(jm__span_end){.span_id = phase, .end_ns = g.now_ns});
    grown_pass(&g, JM_NS_PER_S, 100);
    snprintf(text, sizeof text, "%" PRId64, g.now_ns);
    jm__writer_meta(g.writer, "end_ns", text);
    grown_check(jm__writer_close(g.writer, &err), &err);
}

#endif
