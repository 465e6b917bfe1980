/* A day in a file of a bounded size: how large it becomes, how long its report takes, whether its sums are
 * exact.
 *
 *   bench_day [HOURS [KEEP_S [MAX_MB]]]     (JM_BENCH_KEEP=1: its file stays in /tmp)
 *
 * A training of 34 ms steps, ten in 3,000 traced with 1,000 kernels each, and a server whose boards alone are
 * recorded, each through the real writer, as fast as that goes. */
#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>

#undef assert_true
#define assert_true(so)                                                                                      \
    do {                                                                                                     \
        if (!(so)) {                                                                                         \
            fprintf(stderr, "not so: %s\n", #so);                                                            \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

#include "day.h"

#include <joulemap/joulemap.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now_s(void)
{
    return (double)jm__now_ns() / 1e9;
}

/* Of this process; on a machine that others use, what the clock says is theirs too. */
static double cpu_s(void)
{
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (double)used.tv_sec + (double)used.tv_nsec / 1e9;
}

static double size_mb(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 ? (double)info.st_size / 1e6 : 0;
}

static double memory_mb(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_maxrss / 1024;
}

typedef struct told {
    double total_j, used_s, took_s;
    long long steps;
    size_t rows;
} told;

static told report(const char *path, jm_by by)
{
    jm_error err = {0};
    jm_recording *recording;
    jm_report *made;
    double since_s = now_s(), cpu_since_s = cpu_s();
    jm_report_options options = {.size = sizeof options, .by = by};
    if (jm_recording_open(&recording, path, &err) != JM_OK ||
        jm_report_create(&made, recording, &options, &err) != JM_OK) {
        fprintf(stderr, "%s: %s\n", path, err.text);
        exit(1);
    }
    told t = {.total_j = jm_report_totals_get(made)->total_energy_j,
              .steps = jm_report_totals_get(made)->steps,
              .rows = jm_report_row_count(made)};
    jm_report_free(made);
    jm_recording_close(recording);
    t.used_s = cpu_s() - cpu_since_s;
    t.took_s = now_s() - since_s;
    return t;
}

/* In a process whose memory is the report's. */
static void print_reports(const char *path, bool traced, const day *d)
{
    told board = report(path, JM_BY_BOARD);
    printf("  report by board %.2f s (%.2f s of CPU), %.3f J of %.3f J, %lld steps\n", board.took_s,
           board.used_s, board.total_j, d->energy_j, traced ? board.steps : 0);
    if (traced) {
        told layer = report(path, JM_BY_LAYER);
        printf("  report by layer %.2f s (%.2f s of CPU), %zu rows, %.3f J; memory %.0f MB\n", layer.took_s,
               layer.used_s, layer.rows, layer.total_j, memory_mb());
    }
    fflush(stdout);
    _exit(fabs(board.total_j - d->energy_j) < 5 && (!traced || board.steps == d->steps) ? 0 : 1);
}

static void play(const char *what, int64_t traced_every, double hours, double keep_s, double max_mb)
{
    char path[64];
    snprintf(path, sizeof path, "/tmp/bench-day-%d-%d.joulemap", (int)getpid(), (int)traced_every);
    double since_s = now_s(), cpu_since_s = cpu_s(), largest_mb = 0;
    day d = day_begin(path, traced_every, keep_s, (int64_t)(max_mb * 1e6));
    d.window = 10; /* longer than the sensor remembers */
    for (double done = 0; done < hours; done += 0.25) {
        day_go_on(&d, 900);
        if (size_mb(path) > largest_mb) largest_mb = size_mb(path);
    }
    day_end(&d);
    double took_s = now_s() - since_s, written_s = cpu_s() - cpu_since_s,
           recorded_s = (double)(d.t_ns - d.start_ns) / 1e9;
    double writing_mb = memory_mb();
    printf("%s, %.1f h in %.1f s (%.1f s of CPU, %.0f times as fast), %lld steps, %lld kernels told\n", what,
           recorded_s / 3600, took_s, written_s, recorded_s / written_s, (long long)d.steps,
           (long long)d.kernels);
    printf("  file %.1f MB, at most %.1f MB; writer's memory %.0f MB\n", size_mb(path), largest_mb,
           writing_mb);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) print_reports(path, traced_every > 0, &d);
    int status = 1;
    waitpid(child, &status, 0);
    /* Before the first and after the last renewal of the counter, 0.1 s each, power tells: at most 50 J off.
     */
    printf("  total %s\n", status == 0 ? "is that of the counter" : "IS NOT THAT OF THE COUNTER");
    if (getenv("JM_BENCH_KEEP") == NULL) unlink(path);
}

int main(int argc, char **argv)
{
    double hours = argc > 1 ? atof(argv[1]) : 24, keep_s = argc > 2 ? atof(argv[2]) : 7200,
           max_mb = argc > 3 ? atof(argv[3]) : 200;
    play("server, boards alone", 0, hours, keep_s, max_mb);
    play("training, ten steps in 3,000 traced", 3000, hours, keep_s, max_mb);
    return 0;
}
