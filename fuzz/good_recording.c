/* Writes the small recording, through the writer that records real runs. */
#include "good_recording.h"
#include "fuzz.h"

#include "base/clock.h"
#include "format/writer.h"
#include <math.h>

#define PROCESS    42
#define START_NS   (INT64_C(77) * JM_NS_PER_S)
#define END_NS     (START_NS + 2 * JM_NS_PER_S)
#define MUST(call) FUZZ_PROMISE((call) == JM_OK)

static void write_board(jm__writer *writer)
{
    jm_board board = {.backend = "nvml",
                      .name = "NVIDIA H200",
                      .uuid = "GPU-1",
                      .profile = "h200",
                      .index = 0,
                      .cuda_index = 0,
                      .power_limit_w = 700,
                      .power_limit_min_w = NAN,
                      .power_limit_max_w = 700,
                      .simulated = true};
    MUST(jm__writer_board(writer, &board, NULL));
    jm_sensor ring = {.board_id = board.id,
                      .name = "power_ring",
                      .source = "nvmlDeviceGetSamples(TOTAL_POWER)",
                      .quantity = JM_QUANTITY_POWER,
                      .response = JM_RESPONSE_FIRST_ORDER,
                      .period_ns = 20 * JM_NS_PER_MS,
                      .tau_ns = 50 * JM_NS_PER_MS,
                      .tau_u_ns = 2 * JM_NS_PER_MS,
                      .noise = 3,
                      .gain_u = 0.029};
    jm_sensor counter = {.board_id = board.id,
                         .name = "energy_counter",
                         .source = "nvmlDeviceGetTotalEnergyConsumption",
                         .quantity = JM_QUANTITY_ENERGY,
                         .response = JM_RESPONSE_COUNTER,
                         .period_ns = 100 * JM_NS_PER_MS,
                         .noise = 0.1,
                         .gain_u = 0.029};
    jm_sensor missing = {.board_id = board.id,
                         .name = "power_memory",
                         .missing = "not supported",
                         .quantity = JM_QUANTITY_POWER,
                         .response = JM_RESPONSE_INSTANT};
    MUST(jm__writer_sensor(writer, &ring, NULL));
    MUST(jm__writer_sensor(writer, &counter, NULL));
    MUST(jm__writer_sensor(writer, &missing, NULL));
    for (int i = 0; i < 100; i++) {
        int64_t t_ns = START_NS + i * 20 * JM_NS_PER_MS;
        jm_reading reading = {ring.id, t_ns, i < 20 || i > 80 ? 120 : 480 + i % 5};
        jm__writer_readings(writer, &reading, 1);
        if (i % 33 == 0) {
            reading = (jm_reading){counter.id, t_ns, 1000 + 7.2 * i};
            jm__writer_readings(writer, &reading, 1);
        }
    }
    jm__event event = {
        .t_ns = START_NS + 5, .board_id = board.id, .kind = JM_EVENT_CLOCK_STEP, .value = 1, .text = "said"};
    jm__writer_event(writer, &event);
}

static void write_span(jm__writer *writer, int64_t id, int64_t parent_id, jm_span_kind kind, const char *name,
                       int64_t from_ms, int64_t to_ms)
{
    jm__span span = {.id = id,
                     .process_id = PROCESS,
                     .thread_id = PROCESS,
                     .parent_id = parent_id,
                     .start_ns = START_NS + from_ms * JM_NS_PER_MS,
                     .end_ns = -1,
                     .name_id = jm__writer_name(writer, name),
                     .type_id = kind == JM_SPAN_FORWARD ? jm__writer_name(writer, "Linear(8, 8)") : 0,
                     .samples = kind == JM_SPAN_STEP ? 32 : 0,
                     .kind = kind};
    jm__writer_span_begin(writer, &span);
    if (to_ms >= 0)
        jm__writer_span_end(writer,
                            &(jm__span_end){.span_id = id, .end_ns = START_NS + to_ms * JM_NS_PER_MS});
}

static void write_kernels(jm__writer *writer)
{
    static const char *const names[] = {"gemm", "softmax"};
    for (int i = 0; i < 2; i++) {
        jm__kernel_class kernel_class = {.name_id = jm__writer_name(writer, names[i]),
                                         .work = JM_WORK_KERNEL,
                                         .grid = {132, 2, 1},
                                         .block = {256, 1, 1}};
        MUST(jm__writer_kernel_class(writer, &kernel_class, NULL));
    }
    jm__stream stream = {.process_id = PROCESS, .board_id = 1, .context = 1, .stream = 7};
    MUST(jm__writer_stream(writer, &stream, NULL));
    for (int i = 0; i < 10; i++) {
        int64_t t_ns = START_NS + (450 + i * 100) * JM_NS_PER_MS;
        jm__kernel kernel = {.start_ns = t_ns,
                             .end_ns = t_ns + 90 * JM_NS_PER_MS,
                             .class_id = 1 + i % 2,
                             .stream_id = 1,
                             .span_id = i < 5 ? 3 : 0,
                             .launch_ns = t_ns - JM_NS_PER_MS,
                             .calls = 1};
        jm__writer_kernels(writer, &kernel, 1);
    }
}

void fuzz_good_recording_write(const char *path)
{
    jm__writer *writer = NULL;
    MUST(jm__writer_create(&writer, path, true, NULL));
    jm__anchor anchor = {START_NS, INT64_C(1700000000) * JM_NS_PER_S};
    jm__writer_anchor(writer, &anchor);
    jm__writer_meta(writer, "start_ns", "77000000000");
    jm__writer_meta(writer, "end_ns", "79000000000");
    write_board(writer);
    jm__process process = {.id = PROCESS,
                           .pid = 4242,
                           .parent_pid = 1,
                           .rank = -1,
                           .start_ns = START_NS,
                           .end_ns = END_NS,
                           .host = "node7",
                           .command = "python x"};
    jm__writer_process(writer, &process);
    write_span(writer, 1, 0, JM_SPAN_PHASE, "train", 100, 1900);
    write_span(writer, 2, 1, JM_SPAN_STEP, "step", 200, 1800);
    write_span(writer, 3, 2, JM_SPAN_FORWARD, "blocks.0.attn", 400, 1000);
    write_span(writer, 4, 2, JM_SPAN_BACKWARD, "blocks.0.attn", 1000, -1);
    write_kernels(writer);
    jm__mark mark = {.process_id = PROCESS,
                     .thread_id = PROCESS,
                     .t_ns = START_NS + 9,
                     .name_id = jm__writer_name(writer, "saved"),
                     .meta = "{\"step\": 1}"};
    jm__writer_mark(writer, &mark);
    jm__loss loss = {.t_ns = END_NS, .process_id = PROCESS, .count = 3, .source = "ring", .reason = "full"};
    jm__writer_loss(writer, &loss);
    MUST(jm__writer_commit(writer, END_NS, NULL));
    MUST(jm__writer_close(writer, NULL));
}
