/* Seconds and memory of a report on a long run: JM_BENCH_KERNELS kernels (1 million) of a training on an
 * H200, and a reading of the ring for each 100 of them.
 *
 * bench_report [COMMAND]: measures another joulemap than that of this build. 10 million kernels are 33
 * minutes. */
#include "base/clock.h"
#include "format/writer.h"
#include "record/sample/inventory.h"

#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    LAYERS = 12,
    SPANS_A_STEP = 2 * LAYERS + 1, /* forward, backward, and the optimizer */
    CLASSES_A_SPAN = 8,
    CLASSES = SPANS_A_STEP * CLASSES_A_SPAN,
    KERNELS_A_SPAN = 32,
    KERNELS_A_STEP = SPANS_A_STEP * KERNELS_A_SPAN, /* on average */
    PROCESS = 1,
    BATCH = 4096
};

#define STEP_NS      (KERNELS_A_STEP * INT64_C(200000)) /* a reading, 20 ms, for 100 kernels */
#define KERNEL_NS    20000.0           /* the shortest; the longest takes ten times as long */
#define COUNTER_NS   (4 * JM_NS_PER_S) /* between two reads of the energy counter */
#define BEGIN_NS     (1000 * JM_NS_PER_S)
#define IDLE_W       120.0
#define KERNEL_MIN_W 250.0
#define KERNEL_MAX_W 680.0

typedef struct bench {
    jm__writer *writer;
    jm_error err;
    uint64_t random;
    int64_t now_ns, class_ids[CLASSES], length_ns[CLASSES];
    double power_w[CLASSES];
    jm_sensor ring, counter;
    int64_t next_reading_ns, next_counter_ns;
    double seen_w, energy_j; /* power through the ring's decay, and the true energy, both up to now_ns */
    jm__kernel kernels[BATCH];
    jm_reading readings[BATCH];
    size_t kernel_count, reading_count;
    int64_t span_id, stream_id;
} bench;

/* From 0 to 1. */
static double uniform(bench *b)
{
    b->random = b->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(b->random >> 11) / 9007199254740992.0; /* 2^53 */
}

static void check(bench *b, jm_status status)
{
    if (status == JM_OK) return;
    fprintf(stderr, "bench_report: %s\n", b->err.text);
    exit(1);
}

static void flush_readings(bench *b)
{
    jm__writer_readings(b->writer, b->readings, b->reading_count);
    b->reading_count = 0;
}

static void read_sensor(bench *b, const jm_sensor *sensor, int64_t t_ns, double value)
{
    if (b->reading_count == BATCH) flush_readings(b);
    b->readings[b->reading_count++] = (jm_reading){.sensor_id = sensor->id, .t_ns = t_ns, .value = value};
}

/* Let the board draw so much until then. */
static void pass(bench *b, int64_t until_ns, double power_w)
{
    double tau_s = (double)b->ring.tau_ns * 1e-9;
    while (b->now_ns < until_ns) {
        int64_t stop_ns = until_ns;
        if (b->next_reading_ns < stop_ns) stop_ns = b->next_reading_ns;
        if (b->next_counter_ns < stop_ns) stop_ns = b->next_counter_ns;
        double passed_s = (double)(stop_ns - b->now_ns) * 1e-9;
        b->seen_w = power_w + (b->seen_w - power_w) * exp(-passed_s / tau_s);
        b->energy_j += power_w * passed_s;
        b->now_ns = stop_ns;
        if (stop_ns == b->next_reading_ns) {
            double noise_w = (uniform(b) - 0.5) * sqrt(12) * b->ring.noise;
            read_sensor(b, &b->ring, stop_ns + b->ring.lag_ns, b->seen_w + noise_w);
            b->next_reading_ns += b->ring.period_ns;
        }
        if (stop_ns == b->next_counter_ns) {
            read_sensor(b, &b->counter, stop_ns, b->energy_j);
            b->next_counter_ns += COUNTER_NS;
        }
    }
}

static void flush_kernels(bench *b)
{
    jm__writer_kernels(b->writer, b->kernels, b->kernel_count);
    b->kernel_count = 0;
}

static void run_kernel(bench *b, int class, int64_t span_id)
{
    if (b->kernel_count == BATCH) flush_kernels(b);
    pass(b, b->now_ns + (int64_t)(2000 + 20000 * uniform(b)), IDLE_W);
    jm__kernel *kernel = &b->kernels[b->kernel_count++];
    *kernel =
        (jm__kernel){.start_ns = b->now_ns,
                     .end_ns = b->now_ns + (int64_t)((double)b->length_ns[class] * (0.9 + 0.2 * uniform(b))),
                     .class_id = b->class_ids[class],
                     .stream_id = b->stream_id,
                     .span_id = span_id,
                     .launch_ns = b->now_ns - 5000,
                     .calls = 1};
    pass(b, kernel->end_ns, b->power_w[class]);
}

static int64_t begin_span(bench *b, jm_span_kind kind, int64_t parent_id, const char *name, const char *type)
{
    jm__span span = {.id = ++b->span_id,
                     .process_id = PROCESS,
                     .thread_id = PROCESS,
                     .parent_id = parent_id,
                     .start_ns = b->now_ns,
                     .end_ns = -1,
                     .name_id = jm__writer_name(b->writer, name),
                     .type_id = jm__writer_name(b->writer, type),
                     .kind = kind};
    jm__writer_span_begin(b->writer, &span);
    return span.id;
}

static void end_span(bench *b, int64_t span_id)
{
    jm__writer_span_end(b->writer, &(jm__span_end){.span_id = span_id, .end_ns = b->now_ns});
}

/* A step of training. Batches differ, so each span runs half to one and a half times its kernels. */
static int64_t run_step(bench *b, int64_t phase_id)
{
    int64_t end_ns = b->now_ns + STEP_NS, ran = 0;
    int64_t step_id = begin_span(b, JM_SPAN_STEP, phase_id, "step", NULL);
    for (int i = 0; i < SPANS_A_STEP; i++) {
        jm_span_kind kind = i < LAYERS       ? JM_SPAN_FORWARD
                            : i < 2 * LAYERS ? JM_SPAN_BACKWARD
                                             : JM_SPAN_OPTIMIZER;
        char name[32] = "AdamW";
        if (kind != JM_SPAN_OPTIMIZER)
            snprintf(name, sizeof name, "blocks.%d", i < LAYERS ? i : 2 * LAYERS - 1 - i);
        int64_t id = begin_span(b, kind, step_id, name, kind == JM_SPAN_OPTIMIZER ? "AdamW" : "Block(4096)");
        int count = (int)(KERNELS_A_SPAN * (0.5 + uniform(b)));
        for (int k = 0; k < count; k++)
            run_kernel(b, i * CLASSES_A_SPAN + (int)(CLASSES_A_SPAN * uniform(b)), id);
        end_span(b, id);
        ran += count;
    }
    end_span(b, step_id);
    pass(b, end_ns, IDLE_W);
    return ran;
}

static void describe(bench *b)
{
    jm__profile profile;
    jm_board board = {.backend = "nvml",
                      .name = "NVIDIA H200",
                      .uuid = "GPU-0",
                      .profile = "h200",
                      .simulated = true,
                      .power_limit_w = NAN,
                      .power_limit_min_w = NAN,
                      .power_limit_max_w = NAN};
    check(b, jm__profile_load(&profile, board.profile, &b->err));
    check(b, jm__writer_board(b->writer, &board, &b->err));
    for (size_t i = 0; i < profile.sensor_count; i++) {
        jm_sensor sensor = profile.sensors[i];
        sensor.board_id = board.id;
        check(b, jm__writer_sensor(b->writer, &sensor, &b->err));
        if (strcmp(sensor.name, "power_ring") == 0) b->ring = sensor;
        if (strcmp(sensor.name, "energy_counter") == 0) b->counter = sensor;
    }
    jm__process process = {.id = PROCESS,
                           .pid = getpid(),
                           .rank = -1,
                           .start_ns = BEGIN_NS,
                           .end_ns = BEGIN_NS,
                           .command = "bench_report"};
    jm__writer_process(b->writer, &process);
    jm__stream stream = {.process_id = PROCESS, .board_id = board.id, .context = 1, .stream = 7};
    check(b, jm__writer_stream(b->writer, &stream, &b->err));
    b->stream_id = stream.id;
    for (size_t i = 0; i < CLASSES; i++) {
        char name[64];
        snprintf(name, sizeof name, "void made_up_kernel<%zu>(float *, int)", i);
        jm__kernel_class class = {.name_id = jm__writer_name(b->writer, name), .work = JM_WORK_KERNEL};
        check(b, jm__writer_kernel_class(b->writer, &class, &b->err));
        b->class_ids[i] = class.id;
        b->power_w[i] = KERNEL_MIN_W + (KERNEL_MAX_W - KERNEL_MIN_W) * uniform(b);
        b->length_ns[i] = (int64_t)(KERNEL_NS * pow(10, uniform(b)));
    }
}

/* The whole recording; returns the exit code. */
static int write_recording(const char *path, int64_t kernels)
{
    static bench b = {.random = 1, .now_ns = BEGIN_NS, .seen_w = IDLE_W};
    b.next_reading_ns = b.next_counter_ns = BEGIN_NS + 1;
    check(&b, jm__writer_create(&b.writer, path, true, &b.err));
    describe(&b);
    char begin[32], end[32];
    snprintf(begin, sizeof begin, "%" PRId64, BEGIN_NS);
    jm__writer_meta(b.writer, "start_ns", begin);
    pass(&b, b.now_ns + JM_NS_PER_S, IDLE_W);
    int64_t phase_id = begin_span(&b, JM_SPAN_PHASE, 0, "train", NULL), ran = 0, spans = 0;
    for (; ran < kernels; spans += 1 + SPANS_A_STEP) {
        ran += run_step(&b, phase_id);
        check(&b, jm__writer_commit(b.writer, b.now_ns, &b.err));
    }
    end_span(&b, phase_id);
    pass(&b, b.now_ns + JM_NS_PER_S, IDLE_W);
    flush_kernels(&b);
    flush_readings(&b);
    snprintf(end, sizeof end, "%" PRId64, b.now_ns);
    jm__writer_meta(b.writer, "end_ns", end);
    check(&b, jm__writer_close(b.writer, &b.err));
    printf("%" PRId64 " kernels of %d classes, %" PRId64 " readings of the ring, %" PRId64
           " spans, %.0f s, %.0f J\n",
           ran, CLASSES, (b.now_ns - BEGIN_NS) / b.ring.period_ns, spans,
           (double)(b.now_ns - BEGIN_NS) * 1e-9, b.energy_j);
    return fflush(stdout);
}

/* Run it with its output to nowhere; returns its exit code. */
static int measure(const char *command, const char *path, const char *by)
{
    posix_spawn_file_actions_t quiet;
    posix_spawn_file_actions_init(&quiet);
    posix_spawn_file_actions_addopen(&quiet, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    const char *const words[] = {command, "report", path, "--by", by, "--json", NULL};
    char *argv[sizeof words / sizeof *words];
    memcpy(argv, words, sizeof words);
    pid_t pid;
    int status = -1, error = posix_spawn(&pid, command, &quiet, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&quiet);
    if (error != 0) return fprintf(stderr, "bench_report: %s: %s\n", command, strerror(error)), 1;
    struct rusage usage;
    int64_t begin_ns = jm__now_ns();
    if (wait4(pid, &status, 0, &usage) != pid) return perror("bench_report"), 1;
    printf("report --by %-6s %6.2f s, %6.2f s of CPU, at most %5.0f MB\n", by,
           (double)(jm__now_ns() - begin_ns) * 1e-9,
           (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
               (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6,
           (double)usage.ru_maxrss * 1024e-6);
    return status;
}

int main(int argc, char **argv)
{
    const char *command = argc > 1 ? argv[1] : JM_BUILD_DIR "/joulemap", *wanted = getenv("JM_BENCH_KERNELS");
    char folder[] = "/tmp/joulemap-bench-XXXXXX", path[64];
    if (mkdtemp(folder) == NULL) return perror(folder), 1;
    snprintf(path, sizeof path, "%s/report.joulemap", folder);
    /* Written by a process of its own: what this one has had counts as the memory of those it starts. */
    int status = -1;
    pid_t writer = fork();
    if (writer == 0) _exit(write_recording(path, wanted != NULL ? atoll(wanted) : 1000000));
    if (waitpid(writer, &status, 0) == writer && status == 0)
        status = measure(command, path, "layer") | measure(command, path, "kernel");
    unlink(path);
    rmdir(folder);
    return status != 0;
}
