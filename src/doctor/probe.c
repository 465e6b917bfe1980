/* Trying a library that may crash or hang: the asking end of a probe, what tracing costs a launch, and the
 * answering end, in a process that exists for this alone. */
#include "doctor/probe.h"

#include "base/clock.h"
#include "base/helper.h"
#include "base/plain.h"
#include "record/cupti/search.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <joulemap/doctor.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* What the answering process prints: one of these words, a blank, the rest. */
#define JM_PROBE_WORD_CALLED "called" /* NUMBER [NUMBER NUMBER] */
#define JM_PROBE_WORD_FAULT  "fault"  /* TEXT */
#define JM_PROBE_WORD_ABSENT "absent" /* nothing: there is no such file */

/* 0 or an errno. */
static int start(pid_t *child, const char *command, const char *what, const char *library, int answer_fd)
{
    char *const arguments[] = {(char[]){"joulemap"}, (char[]){"probe"}, strdup(what), strdup(library), NULL};
    char **environment = jm__helper_environment(NULL, NULL);
    const jm__helper helper = {.command = command,
                               .arguments = arguments,
                               .environment = environment,
                               .input = -1,
                               .output = answer_fd};
    int code = ENOMEM;
    if (arguments[2] != NULL && arguments[3] != NULL && environment != NULL)
        code = jm__helper_start(child, &helper);
    free(environment);
    free(arguments[2]);
    free(arguments[3]);
    return code;
}

/* One line, without its end. False if the time is over first. */
static bool read_line(int fd, char *line, size_t size, int64_t until_ns)
{
    size_t length = 0;
    line[0] = '\0';
    for (;;) {
        int64_t left_ns = until_ns - jm__now_ns();
        struct pollfd wanted = {.fd = fd, .events = POLLIN};
        if (left_ns <= 0) return false;
        int ready = poll(&wanted, 1, (int)(left_ns / JM_NS_PER_MS) + 1);
        if (ready < 0 && errno != EINTR) return true;
        if (ready <= 0) continue;
        ssize_t count = read(fd, line + length, size - 1 - length);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return true;
        length += (size_t)count;
        line[length] = '\0';
        char *end = strchr(line, '\n');
        if (end != NULL) *end = '\0';
        if (end != NULL || length == size - 1) return true;
    }
}

static void understand(jm__probe_answer *answer, const char *line, const char *library, int status)
{
    uint32_t *n = answer->numbers;
    answer->count = sscanf(line, JM_PROBE_WORD_CALLED " %u %u %u", &n[0], &n[1], &n[2]);
    if (answer->count > 0)
        answer->called = true;
    else if (strncmp(line, JM_PROBE_WORD_FAULT " ", strlen(JM_PROBE_WORD_FAULT) + 1) == 0)
        snprintf(answer->why, sizeof answer->why, "%.255s", line + strlen(JM_PROBE_WORD_FAULT) + 1);
    else if (strcmp(line, JM_PROBE_WORD_ABSENT) == 0)
        answer->absent = true;
    else if (WIFSIGNALED(status))
        snprintf(answer->why, sizeof answer->why, "trying %.160s crashed: %.60s", library,
                 strsignal(WTERMSIG(status)));
    else
        snprintf(answer->why, sizeof answer->why, "trying %.160s ended without an answer, code %d", library,
                 WEXITSTATUS(status));
}

void jm__probe_run(jm__probe_answer *answer, const char *what, const char *library, int64_t limit_ns)
{
    char command[PATH_MAX], line[512];
    int ends[2], status;
    pid_t child;
    *answer = (jm__probe_answer){0};
    if (!jm__beside("joulemap", command, sizeof command)) {
        snprintf(answer->why, sizeof answer->why,
                 "not tried: the command that tries it, %.180s, is not there", command);
        return;
    }
    int64_t until_ns = jm__now_ns() + limit_ns;
    int code = pipe2(ends, O_CLOEXEC) == 0 ? 0 : errno;
    if (code == 0) {
        code = start(&child, command, what, library, ends[1]);
        close(ends[1]);
        if (code != 0) close(ends[0]);
    }
    if (code != 0) {
        snprintf(answer->why, sizeof answer->why, "not tried: %.160s cannot be started: %.60s", command,
                 strerror(code));
        return;
    }
    bool in_time = read_line(ends[0], line, sizeof line, until_ns);
    in_time = in_time && (line[0] != '\0' || jm__helper_reap(child, &status, until_ns));
    close(ends[0]);
    if (in_time && line[0] == '\0') {
        understand(answer, line, library, status);
        return;
    }
    /* It has answered, or never will. */
    jm__helper_kill(child);
    if (in_time)
        understand(answer, line, library, 0);
    else
        jm__print(answer->why, sizeof answer->why, "trying %.160s took longer than %.3g s", library,
                  (double)limit_ns / (double)JM_NS_PER_S);
}

/* ---- bursts of launches of an empty kernel: short enough that they never wait for the GPU ---- */

#define LAUNCH_LIMIT_NS (5 * JM_NS_PER_S)
#define BUSY_NS         (1200 * JM_NS_PER_MS) /* no pair begins after that */

/* A driver queues 1,024 launches before it has the program wait. */
enum { PAIRS = 24, BURSTS = 8, LAUNCHES = 256 };

/* Every driver since CUDA 9 compiles it for its GPU. */
static const char ptx[] =
    ".version 6.0\n.target sm_52\n.address_size 64\n.visible .entry nothing()\n{\nret;\n}\n";

typedef void *handle;

#define CUDA_MAP(X)                                                                                          \
    X(cuInit, (unsigned flags))                                                                              \
    X(cuDeviceGet, (int *device, int ordinal))                                                               \
    X(cuDevicePrimaryCtxRetain, (handle * context, int device))                                              \
    X(cuCtxSetCurrent, (handle context))                                                                     \
    X(cuStreamCreate, (handle * stream, unsigned flags))                                                     \
    X(cuStreamSynchronize, (handle stream))                                                                  \
    X(cuModuleLoadData, (handle * module, const void *image))                                                \
    X(cuModuleGetFunction, (handle * function, handle module, const char *name))                             \
    X(cuLaunchKernel, (handle function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, \
                       unsigned block_y, unsigned block_z, unsigned shared_bytes, handle stream,             \
                       void **arguments, void **extra))

typedef struct cuda {
#define X(symbol, arguments) int(*symbol) arguments;
    CUDA_MAP(X)
#undef X
    handle function, stream;
} cuda;

/* Of the injected library. */
typedef struct tracer {
    int (*start)(const char *run_dir);
    int (*trace)(int on);
    const char *(*reason)(void);
} tracer;

static bool find(void *library, const char *symbol, void *slot)
{
    void *address = dlsym(library, symbol);
    memcpy(slot, &address, sizeof address);
    return address != NULL;
}

/* ---- the GPU */

static bool load_cuda(cuda *c, const char *path, char *why, size_t why_size)
{
    const struct {
        const char *symbol;
        void *slot;
    } table[] = {
#define X(symbol, arguments) {#symbol, &c->symbol},
        CUDA_MAP(X)
#undef X
    };
    void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (library == NULL) {
        snprintf(why, why_size, "%s", dlerror());
        return false;
    }
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (find(library, table[i].symbol, table[i].slot)) continue;
        snprintf(why, why_size, "%s lacks %s", path, table[i].symbol);
        return false;
    }
    return true;
}

static bool start_cuda(cuda *c, char *why, size_t why_size)
{
    int device = 0, code = 0;
    handle context = NULL, module = NULL;
    const char *call = "cuInit";
    if ((code = c->cuInit(0)) == 0) code = c->cuDeviceGet(&device, 0), call = "cuDeviceGet";
    if (code == 0) code = c->cuDevicePrimaryCtxRetain(&context, device), call = "cuDevicePrimaryCtxRetain";
    if (code == 0) code = c->cuCtxSetCurrent(context), call = "cuCtxSetCurrent";
    if (code == 0) code = c->cuStreamCreate(&c->stream, 1), call = "cuStreamCreate";
    if (code == 0) code = c->cuModuleLoadData(&module, ptx), call = "cuModuleLoadData";
    if (code == 0)
        code = c->cuModuleGetFunction(&c->function, module, "nothing"), call = "cuModuleGetFunction";
    if (code != 0) snprintf(why, why_size, "%s: error %d", call, code);
    return code == 0;
}

/* Nanoseconds of a launch; below 0: it failed. */
static int64_t burst_ns(const cuda *c)
{
    void *none[1] = {NULL}; /* no arguments: it is not looked into */
    int64_t begin_ns = jm__now_ns();
    int code = 0;
    for (int i = 0; i < LAUNCHES && code == 0; i++)
        code = c->cuLaunchKernel(c->function, 1, 1, 1, 1, 1, 1, 0, c->stream, none, NULL);
    int64_t took_ns = jm__now_ns() - begin_ns;
    if (code != 0 || c->cuStreamSynchronize(c->stream) != 0) return -1;
    return took_ns / LAUNCHES;
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* The median of some bursts, after one that warms up. */
static int64_t launch_ns(const cuda *c)
{
    int64_t ns[BURSTS];
    if (burst_ns(c) < 0) return -1;
    for (int i = 0; i < BURSTS; i++)
        if ((ns[i] = burst_ns(c)) < 0) return -1;
    qsort(ns, BURSTS, sizeof *ns, by_value);
    return (ns[(BURSTS - 1) / 2] + ns[BURSTS / 2]) / 2;
}

/* ---- tracing it */

/* As a run's, so that one that is left behind is removed by the next recorder (record/run/folder.c). */
static bool make_folder(char *path, size_t size)
{
    static const char *const parents[] = {"/dev/shm", "/tmp"};
    for (size_t i = 0; i < 2; i++) {
        snprintf(path, size, "%s/joulemap-%u-%d-XXXXXX", parents[i], (unsigned)getuid(), (int)getpid());
        if (mkdtemp(path) != NULL) return true;
    }
    return false;
}

static void remove_folder(const char *path)
{
    DIR *entries = opendir(path);
    if (entries == NULL) return;
    for (struct dirent *entry; (entry = readdir(entries)) != NULL;)
        if (entry->d_name[0] != '.') unlinkat(dirfd(entries), entry->d_name, 0);
    closedir(entries);
    rmdir(path);
}

static bool start_tracer(tracer *t, const char *folder, char *why, size_t why_size)
{
    char path[PATH_MAX];
    void *library =
        jm__beside("libjoulemap_inject.so", path, sizeof path) ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (library == NULL || !find(library, "jm_inject_start", &t->start) ||
        !find(library, "jm_inject_trace", &t->trace) || !find(library, "jm_inject_reason", &t->reason)) {
        snprintf(why, why_size, "%.240s is not there", path);
        return false;
    }
    if (t->start(folder) == 0) return true;
    snprintf(why, why_size, "%s", t->reason());
    return false;
}

static bool measure(jm__launch_cost *cost, const cuda *c, const tracer *t, char *why, size_t why_size)
{
    int64_t ns[2 * PAIRS], until_ns = jm__now_ns() + BUSY_NS;
    size_t pairs = 0;
    for (; pairs < PAIRS && (jm__now_ns() < until_ns || pairs == 0); pairs++)
        for (int on = 0; on < 2; on++) {
            t->trace(on);
            ns[2 * pairs + (size_t)on] = launch_ns(c);
            if (ns[2 * pairs + (size_t)on] >= 0) continue;
            snprintf(why, why_size, "an empty kernel failed");
            return false;
        }
    return jm__launch_cost_of(cost, ns, pairs);
}

/* In the process that tries it: launch an empty kernel some ten thousand times on the first GPU that
 * `library` (libcuda) shows, by turns without libjoulemap_inject.so tracing and with it. False with half a
 * sentence in `why`. */
static bool launch_try(jm__launch_cost *cost, const char *library, char *why, size_t why_size)
{
    cuda c;
    tracer t;
    char folder[PATH_MAX];
    if (!load_cuda(&c, library, why, why_size)) return false;
    if (!make_folder(folder, sizeof folder)) {
        snprintf(why, why_size, "no folder for the records");
        return false;
    }
    /* First what is cheap to find missing; a GPU takes a second to start. */
    bool fine = start_tracer(&t, folder, why, why_size) && start_cuda(&c, why, why_size) &&
                measure(cost, &c, &t, why, why_size);
    remove_folder(folder);
    return fine;
}

/* ---- asking for it */

bool jm__launch_measure(jm__launch_cost *cost, char *why, size_t why_size)
{
    jm__probe_answer answer;
    const char *library = getenv("JOULEMAP_CUDA");
    why[0] = '\0';
    bool named = library != NULL && library[0] != '\0';
    int64_t begin_ns = jm__now_ns();
    jm__probe_run(&answer, JM_PROBE_LAUNCH, named ? library : "libcuda.so.1", LAUNCH_LIMIT_NS);
    if (answer.called && answer.count == 3) {
        *cost = (jm__launch_cost){answer.numbers[0], answer.numbers[1], answer.numbers[2]};
        jm__launch_cost_keep(cost);
        return true;
    }
    if (jm__now_ns() - begin_ns >= LAUNCH_LIMIT_NS)
        jm__launch_cost_keep(NULL); /* never again, but by doctor */
    snprintf(why, why_size, "%s", answer.why);
    return false;
}

/* ---- the answering end of a probe, in a process that exists for this alone ---- */

#define LIFE_MAX_S 60 /* if the process that asked is gone */

static void try_cuda(const char *library, char *line, size_t size)
{
    void *loaded = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    void *address = loaded == NULL ? NULL : dlsym(loaded, "cuInit");
    if (address == NULL) {
        const char *text = dlerror();
        snprintf(line, size, JM_PROBE_WORD_FAULT " %s", text == NULL ? "no reason given" : text);
        return;
    }
    int (*init)(unsigned);
    memcpy(&init, &address, sizeof init);
    snprintf(line, size, JM_PROBE_WORD_CALLED " %u", (unsigned)init(0));
}

static void try_cupti(const char *library, char *line, size_t size)
{
    uint32_t version;
    char fault[480];
    if (jm__cupti_open(library, &version, fault, sizeof fault) != NULL)
        snprintf(line, size, JM_PROBE_WORD_CALLED " %u", version);
    else if (fault[0] == '\0')
        snprintf(line, size, JM_PROBE_WORD_ABSENT);
    else
        snprintf(line, size, JM_PROBE_WORD_FAULT " %s", fault);
}

static void try_launches(const char *library, char *line, size_t size)
{
    jm__launch_cost cost;
    char why[256] = "";
    if (launch_try(&cost, library, why, sizeof why))
        snprintf(line, size, JM_PROBE_WORD_CALLED " %u %u %u", (unsigned)cost.ns, (unsigned)cost.low_ns,
                 (unsigned)cost.high_ns);
    else
        snprintf(line, size, JM_PROBE_WORD_FAULT " %s", why);
}

int jm_doctor_probe(const char *what, const char *library)
{
    char line[512];
    const struct rlimit no_core = {0};
    /* What a library prints of itself goes nowhere. */
    int out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1), nowhere = open("/dev/null", O_WRONLY);
    if (out < 0 || nowhere < 0) return jm_status_exit_code(JM_IO);
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
    jm__helper_close_others(out);
    setrlimit(RLIMIT_CORE, &no_core);
    alarm(LIFE_MAX_S);
    if (strcmp(what, JM_PROBE_CUDA) == 0)
        try_cuda(library, line, sizeof line - 1);
    else if (strcmp(what, JM_PROBE_CUPTI) == 0)
        try_cupti(library, line, sizeof line - 1);
    else if (strcmp(what, JM_PROBE_LAUNCH) == 0)
        try_launches(library, line, sizeof line - 1);
    else
        return jm_status_exit_code(JM_USAGE);
    size_t length = strlen(line);
    line[length++] = '\n';
    bool written = write(out, line, length) == (ssize_t)length;
    _exit(written ? 0 : jm_status_exit_code(JM_IO)); /* a driver may hang in what it does at exit */
}
