/* One million kernel records a second, and their launches, from another process through ring, collector and
 * recorder: what is lost, and what it costs the recorder. */
#include <joulemap/span.h>

#include "base/clock.h"
#include "format/writer.h"
#include "record/timeline/collector.h"
#include "record/timeline/ring.h"
#include "record/timeline/track.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define KERNELS_A_MS     1000
#define DURATION_MS      3000
#define KERNELS_A_SPAN   20
#define POLL_NS          (50 * JM_NS_PER_MS)
#define COMMIT_NS        (500 * JM_NS_PER_MS)
#define DISTINCT_KERNELS 64
#define BUSY_RECORDS     100000 /* in one poll: look again at once */

typedef struct counts {
    jm__writer *writer; /* NULL: rows are only counted */
    int64_t next_id, kernels, tied, spans, lost;
    jm_error err;
} counts;

static int64_t on_name(void *context, const char *text)
{
    counts *all = context;
    return all->writer != NULL ? jm__writer_name(all->writer, text) : ++all->next_id;
}

static void on_process(void *context, const jm__process *process)
{
    counts *all = context;
    if (all->writer != NULL) jm__writer_process(all->writer, process);
}

static void on_span_begin(void *context, const jm__span *span)
{
    counts *all = context;
    all->spans++;
    if (all->writer != NULL) jm__writer_span_begin(all->writer, span);
}

static void on_span_end(void *context, const jm__span_end *end)
{
    counts *all = context;
    if (all->writer != NULL) jm__writer_span_end(all->writer, end);
}

static void on_mark(void *context, const jm__mark *mark)
{
    (void)context;
    (void)mark;
}

static int64_t on_class(void *context, const jm__kernel_class *kernel_class)
{
    counts *all = context;
    jm__kernel_class row = *kernel_class;
    if (all->writer == NULL) return ++all->next_id;
    return jm__writer_kernel_class(all->writer, &row, &all->err) == JM_OK ? row.id : -1;
}

static int64_t on_stream(void *context, const jm__stream *stream, const char *board_uuid)
{
    counts *all = context;
    jm__stream row = *stream;
    if (all->writer == NULL) return ++all->next_id;
    jm_board board = {0};
    snprintf(board.uuid, sizeof board.uuid, "%s", board_uuid == NULL ? "" : board_uuid);
    if (jm__writer_board(all->writer, &board, &all->err) != JM_OK) return -1;
    row.board_id = board.id;
    return jm__writer_stream(all->writer, &row, &all->err) == JM_OK ? row.id : -1;
}

static void on_kernels(void *context, const jm__kernel *kernels, size_t count)
{
    counts *all = context;
    all->kernels += (int64_t)count;
    for (size_t i = 0; i < count; i++)
        all->tied += kernels[i].span_id != 0;
    if (all->writer != NULL) jm__writer_kernels(all->writer, kernels, count);
}

static void on_loss(void *context, const jm__loss *loss)
{
    counts *all = context;
    all->lost += loss->count;
    printf("  lost: %" PRId64 " (%s: %s)\n", loss->count, loss->source, loss->reason);
}

static void on_note(void *context, int64_t pid, const char *text)
{
    (void)context;
    (void)pid;
    puts(text);
}

/* The program and its injected library. */
static int produce(const char *run_dir)
{
    jm_error err;
    jm__ring ring;
    jm__names names = {0};
    if (jm__timeline_open(run_dir, &err) != JM_OK) return 1;
    if (jm__names_open(&names, run_dir, JM_WRITER_INJECT) != 0) return 1;
    jm__ring_options options = {.run_dir = run_dir,
                                .writer = JM_WRITER_INJECT,
                                .record_size = sizeof(jm_ring_kernel),
                                .capacity = JM_KERNELS_CAPACITY,
                                .capacity_least = JM_KERNELS_CAPACITY_LEAST,
                                .share = JM_KERNELS_SHARE};
    if (jm__ring_create(&ring, &options) != 0) return 1;
    jm__ring launches;
    options.writer = JM_WRITER_NVTX;
    options.record_size = sizeof(jm_ring_span);
    if (jm__ring_create(&launches, &options) != 0) return 1;
    uint32_t numbers[DISTINCT_KERNELS];
    for (int i = 0; i < DISTINCT_KERNELS; i++) {
        char text[128];
        snprintf(text, sizeof text, "void elementwise_kernel<%d, Functor<float>>(int, float *)", i);
        numbers[i] = jm__names_intern(&names, text, strlen(text));
    }
    const char *uuid = "GPU-00000000-0000-0000-0000-000000000000";
    jm_ring_kernel device = {.op = JM_RING_DEVICE, .name = jm__names_intern(&names, uuid, strlen(uuid))};
    jm__ring_push_kernel(&ring, &device);
    jm_name layer = jm_name_intern("layer");
    uint32_t correlation = 0;
    int64_t start_ns = jm__now_ns();
    for (int64_t ms = 0; ms < DURATION_MS; ms++) {
        jm_span_id span = 0;
        for (int i = 0; i < KERNELS_A_MS; i++) {
            if (i % KERNELS_A_SPAN == 0) {
                jm_span_end(span);
                span = jm_span_begin(JM_SPAN_FORWARD, layer, 0, 0);
            }
            int64_t now_ns = jm__now_ns();
            jm_ring_span launch = {.op = JM_RING_LAUNCH, .id = ++correlation, .t_ns = now_ns};
            jm__ring_push_span(&launches, &launch, 0);
            jm_ring_kernel record = {.op = JM_RING_KERNEL,
                                     .name = numbers[correlation % DISTINCT_KERNELS],
                                     .correlation = correlation,
                                     .start_ns = now_ns + 2000,
                                     .end_ns = now_ns + 2800,
                                     .context = 1,
                                     .stream = 7,
                                     .grid = {correlation % 16 + 1, 1, 1},
                                     .block = {128, 1, 1}};
            jm__ring_push_kernel(&ring, &record);
        }
        jm_span_end(span);
        jm__sleep_ns(start_ns + (ms + 1) * JM_NS_PER_MS - jm__now_ns());
    }
    double took_s = (double)(jm__now_ns() - start_ns) * 1e-9;
    printf("  producer: %.2f million kernel records/s for %.2f s, a launch record with each\n",
           (double)correlation * 1e-6 / took_s, took_s);
    fflush(stdout);
    jm__ring_close(&ring, true);
    jm__ring_close(&launches, true);
    return 0;
}

static int64_t longest(int64_t so_far_ns, int64_t since_ns)
{
    int64_t took_ns = jm__now_ns() - since_ns;
    return took_ns > so_far_ns ? took_ns : so_far_ns;
}

static double cpu_s(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static int measure(const char *what, const char *file)
{
    counts all = {0};
    char run_dir[] = "/dev/shm/joulemap-bench-XXXXXX", command[128];
    jm_error err;
    jm__collector *collector;
    if (mkdtemp(run_dir) == NULL) return perror(run_dir), 1;
    if (file != NULL && jm__writer_create(&all.writer, file, true, &err) != JM_OK)
        return fprintf(stderr, "%s\n", err.text), 1;
    jm__collector_sink sink = {&all,     on_name,   on_process, on_span_begin, on_span_end, on_mark,
                               on_class, on_stream, on_kernels, on_loss,       on_note};
    if (jm__collector_create(&collector, run_dir, &sink, &err) != JM_OK) return 1;
    printf("%s\n", what);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) _exit(produce(run_dir));
    double cpu_before_s = cpu_s();
    int64_t start_ns = jm__now_ns(), committed_ns = start_ns;
    int64_t poll_ns = 0, commit_ns = 0;
    int status = 0;
    bool done = false;
    while (!done) {
        done = waitpid(child, &status, WNOHANG) == child;
        size_t records = 0;
        int64_t before_ns = jm__now_ns();
        jm__collector_poll(collector, &records, &err);
        poll_ns = longest(poll_ns, before_ns);
        if (all.writer != NULL && (done || jm__now_ns() - committed_ns > COMMIT_NS)) {
            committed_ns = jm__now_ns();
            jm__writer_commit(all.writer, jm__collector_complete_ns(collector), &all.err);
            commit_ns = longest(commit_ns, committed_ns);
        }
        if (!done && records < BUSY_RECORDS) jm__sleep_ns(POLL_NS);
    }
    jm__collector_finish(collector, &err);
    jm__collector_free(collector);
    if (all.writer != NULL) jm__writer_close(all.writer, &all.err);
    double wall_s = (double)(jm__now_ns() - start_ns) * 1e-9, used_s = cpu_s() - cpu_before_s;
    printf("  recorder: %" PRId64 " kernels (%" PRId64 " tied to a span), %" PRId64 " spans, %" PRId64
           " records lost, %.2f s of CPU in %.2f s (%.0f ns a kernel)\n",
           all.kernels, all.tied, all.spans, all.lost, used_s, wall_s, used_s * 1e9 / (double)all.kernels);
    printf("  longest poll %.0f ms, longest commit %.0f ms\n", (double)poll_ns * 1e-6,
           (double)commit_ns * 1e-6);
    if (all.err.status != JM_OK) printf("  error: %s\n", all.err.text);
    snprintf(command, sizeof command, "rm -r %s", run_dir);
    return system(command) != 0 || status != 0 || all.err.status != JM_OK;
}

int main(void)
{
    char folder[] = "/tmp/joulemap-bench-XXXXXX", file[64], command[128];
    int failed = measure("ring and collector, rows counted only", NULL);
    if (mkdtemp(folder) == NULL) return perror(folder), 1;
    snprintf(file, sizeof file, "%s/bench.joulemap", folder);
    failed |= measure("ring, collector and recorder into a file", file);
    snprintf(command, sizeof command,
             "ls -l %s | awk 'NR > 1 { print \"  file: \" $5 / 1e6 \" MB\" }'; rm -r %s", folder, folder);
    return system(command) != 0 || failed;
}
