/* A program that works until its standard input ends: spans of joulemap and, where CUDA_INJECTION64_PATH is,
 * as CUDA would load it, kernels of a fake libcupti (FAKE_CUPTI). What recorders that come and go have to
 * find:
 *
 *   stdout: "ROUNDS HASH": what was computed, whoever looked on
 *   stderr: "SPANS KERNELS": that were begun while somebody recorded, and that CUPTI was given
 *
 *   --threads N        N threads work
 *   --alone            the only thread works, without CUDA; with --idle from the first line on its input on;
 * at the line "fork" a child works a round and ends
 *   --close-all        closes all descriptors but its first three, as daemons do, at each line on its input
 *   --hang             CUPTI returns nobody's call for records from the first line on, and does from the
 * second
 *   --fork             a child works as well, forked while nobody records; its counts come first
 *   --exec             replaces itself by itself without this option at the first line on its standard input
 *
 * Each line on its input is answered by "ready" once it is done; the line "recorded" once each
 * thread has recorded RECORDED spans more and, where there is a fake libcupti, that has as many kernels more.
 */
#include <joulemap/span.h>

#include "../fake_cupti/fake_cupti.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define THREADS_MAX 16
#define RECORDED    20

static fake_call_function *fake_call;
static fake_run_function *fake_run;
static fake_count_function *fake_kernels;
static fake_hold_flush_function *fake_hold_flush;
static fake_held_function *fake_held;
static _Atomic bool over;
static bool closes_all, hangs;

typedef struct worker {
    pthread_t thread;
    uint64_t rounds, hash;
    _Atomic uint64_t spans;
} worker;

static void pause_us(long us)
{
    nanosleep(&(struct timespec){.tv_nsec = us * 1000}, NULL);
}

static int64_t realtime_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* What cuInit does. */
static void initialise_cuda(void)
{
    const char *injected = getenv("CUDA_INJECTION64_PATH"), *cupti = getenv("FAKE_CUPTI");
    void *fake = cupti == NULL ? NULL : dlopen(cupti, RTLD_NOW | RTLD_LOCAL);
    if (fake != NULL) {
        *(void **)&fake_call = dlsym(fake, "fake_call");
        *(void **)&fake_run = dlsym(fake, "fake_run");
        *(void **)&fake_kernels = dlsym(fake, "fake_kernels");
        *(void **)&fake_hold_flush = dlsym(fake, "fake_hold_flush");
        *(void **)&fake_held = dlsym(fake, "fake_held");
    }
    void *library = injected == NULL ? NULL : dlopen(injected, RTLD_NOW | RTLD_LOCAL);
    int (*initialise)(void) = NULL;
    if (library != NULL) *(void **)&initialise = dlsym(library, "InitializeInjection");
    if (injected != NULL && (initialise == NULL || initialise() != 1)) _exit(97);
}

static void launch(void)
{
    if (fake_run == NULL) return;
    fake_work work = {.name = "gemm", .stream = 7, .context = 1, .grid = {4, 2, 1}, .block = {128, 1, 1}};
    work.correlation = fake_call("cudaLaunchKernel_v7000");
    work.start_ns = realtime_ns();
    work.end_ns = work.start_ns + 5000;
    fake_run(&work);
}

static void work_a_round(worker *w)
{
    jm_name layer = jm_name_intern("model.layer"), type = jm_name_intern("Linear(8, 8)");
    jm_span_id step = jm_span_begin(JM_SPAN_STEP, 0, 0, 1);
    jm_span_id span = jm_span_begin(JM_SPAN_FORWARD, layer, type, 0);
    w->spans += (step != 0 ? 1u : 0u) + (span != 0 ? 1u : 0u);
    launch();
    w->hash = (w->hash ^ ++w->rounds) * UINT64_C(1099511628211);
    jm_span_end(span);
    jm_span_end(step);
    pause_us(100);
}

static void *work(void *of)
{
    worker *w = of;
    while (!atomic_load(&over))
        work_a_round(w);
    return NULL;
}

static void await_recorded(const worker *workers, size_t threads)
{
    uint64_t kernels = fake_kernels == NULL ? 0 : fake_kernels();
    for (size_t i = 0; i < threads; i++)
        for (uint64_t spans = atomic_load(&workers[i].spans);
             atomic_load(&workers[i].spans) < spans + RECORDED;)
            pause_us(100);
    while (fake_kernels != NULL && fake_kernels() < kernels + RECORDED)
        pause_us(100);
}

/* Whoever waits in accept has taken it already, and dup2 onto it fails. */
static bool can_have_lowest_descriptor(void)
{
    int lowest = 3;
    while (fcntl(lowest, F_GETFD) >= 0)
        lowest++;
    bool had = dup2(STDERR_FILENO, lowest) == lowest;
    if (had) close(lowest);
    return had;
}

static void work_until_input_ends(size_t threads, bool execs, char **argv)
{
    worker workers[THREADS_MAX] = {0};
    uint64_t rounds = 0, hash = 0, spans = 0;
    char line[16];
    int lines = 0;
    for (size_t i = 0; i < threads; i++)
        pthread_create(&workers[i].thread, NULL, work, &workers[i]);
    puts("ready");
    fflush(stdout);
    while (read(STDIN_FILENO, line, sizeof line) > 0) {
        bool asks = line[0] == 'r';
        if (asks) await_recorded(workers, threads);
        if (execs && !asks) execv("/proc/self/exe", argv);
        if (closes_all && !asks) closefrom(3);
        if (hangs && !asks && fake_hold_flush != NULL) fake_hold_flush(++lines == 1);
        while (hangs && !asks && fake_held != NULL && lines == 1 && fake_held() == 0)
            pause_us(1000);
        puts("ready");
        fflush(stdout);
    }
    atomic_store(&over, true);
    for (size_t i = 0; i < threads; i++) {
        pthread_join(workers[i].thread, NULL);
        rounds += workers[i].rounds;
        hash ^= workers[i].hash;
        spans += workers[i].spans;
    }
    if (!can_have_lowest_descriptor()) _exit(98);
    printf("%" PRIu64 " %016" PRIx64 "\n", rounds, hash);
    fprintf(stderr, "%" PRIu64 " %" PRIu64 "\n", spans, fake_kernels == NULL ? 0 : fake_kernels());
}

static void work_alone(bool idle)
{
    worker w = {0};
    char line[16] = "";
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    puts("ready");
    fflush(stdout);
    for (;;) {
        if (!idle) work_a_round(&w);
        if (poll(&input, 1, idle ? -1 : 0) <= 0) continue;
        idle = false;
        if (read(STDIN_FILENO, line, sizeof line) <= 0) break;
        for (uint64_t spans = w.spans; line[0] == 'r' && w.spans < spans + RECORDED;)
            work_a_round(&w);
        pid_t child = line[0] == 'f' ? fork() : -1;
        if (child == 0) {
            work_a_round(&w);
            _exit(0);
        }
        if (child > 0) waitpid(child, NULL, 0);
        puts("ready");
        fflush(stdout);
    }
    printf("%" PRIu64 " %016" PRIx64 "\n", w.rounds, w.hash);
    fprintf(stderr, "%" PRIu64 " 0\n", w.spans);
}

int main(int argc, char **argv)
{
    size_t threads = 1;
    bool forks = false, execs = false, alone = false, idle = false;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--threads") == 0 && i + 1 < argc) threads = (size_t)atoi(argv[++i]);
        closes_all = closes_all || strcmp(argv[i], "--close-all") == 0;
        hangs = hangs || strcmp(argv[i], "--hang") == 0;
        forks = forks || strcmp(argv[i], "--fork") == 0;
        execs = execs || strcmp(argv[i], "--exec") == 0;
        idle = idle || strcmp(argv[i], "--idle") == 0;
        alone = alone || strcmp(argv[i], "--alone") == 0;
    }
    if (threads < 1 || threads > THREADS_MAX) return 2;
    jm_span_end(jm_span_begin(JM_SPAN_PHASE, 0, 0, 0)); /* the library has been used before a fork */
    if (alone) {
        work_alone(idle);
        return 0;
    }
    pid_t child = forks ? fork() : -1;
    initialise_cuda();
    char *plain[] = {argv[0], NULL};
    work_until_input_ends(threads, execs, plain);
    if (child > 0) waitpid(child, NULL, 0);
    return 0;
}
