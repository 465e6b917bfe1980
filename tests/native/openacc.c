/* A runtime of OpenACC, as its tools see one: it opens the library of ACC_PROFLIB and tells it of regions.
 *
 * usage: native_openacc JOULEMAP INJECT FILE: under that recorder, and without one. */
#include "under_recorder.h"

#include <dlfcn.h>
#include <pthread.h>

#define THREADS 8
#define BURSTS  100

/* As the specification has them. */
typedef struct info {
    int event, valid_bytes, version, device_type, device_number, thread;
    ssize_t async, async_queue;
    const char *file, *function;
    int line, end_line, function_line, function_end_line;
} info;
typedef struct event_info {
    int event, valid_bytes, construct, implicit;
    void *tool_info;
} event_info;
typedef void callback(info *, event_info *, void *);

enum { FIRST = 10, LAST = 26, COMPUTE = 16, UPDATE = 14, WAIT = 24, PARALLEL = 0, KERNELS = 1, SERIAL = 16 };
static callback *callbacks[LAST];
static int registered;

static void enable(int event, callback *function, int how)
{
    if (event < FIRST || event >= LAST || how != 0) _exit(90);
    callbacks[event] = function;
    registered++;
}

static void tell(int event, const char *function, int line, int construct)
{
    info about = {.event = event,
                  .valid_bytes = sizeof about,
                  .version = 201711,
                  .file = "/src/solver.c",
                  .function = function,
                  .line = line};
    event_info more = {.event = event, .valid_bytes = sizeof more, .construct = construct};
    callbacks[event](&about, &more, NULL);
}

static void region(int event, const char *function, int line, int construct)
{
    tell(event, function, line, construct);
    tell(event + 1, function, line, construct);
}

static void *bursts(void *unused)
{
    (void)unused;
    for (int i = 0; i < BURSTS; i++) {
        tell(COMPUTE, "thread", 1, SERIAL);
        region(WAIT, "thread", 2, 14);
        tell(COMPUTE + 1, "thread", 1, SERIAL);
    }
    return NULL;
}

static void misuse(void)
{
    char *huge = malloc((1 << 20) + 1);
    if (huge == NULL) _exit(91);
    memset(huge, 'x', 1 << 20);
    huge[1 << 20] = '\0';
    tell(COMPUTE + 1, "never begun", 1, PARALLEL);
    region(COMPUTE, huge, 7, PARALLEL);
    region(COMPUTE, NULL, -1, 4711);
    region(COMPUTE, "", 0, -1);
    callbacks[COMPUTE](NULL, NULL, NULL);
    info cut = {.event = COMPUTE, .valid_bytes = 16, .function = (const char *)8}; /* of an older version */
    callbacks[COMPUTE](&cut, NULL, NULL);
    cut.event++;
    cut.valid_bytes = -1;
    callbacks[COMPUTE + 1](&cut, NULL, NULL);
    free(huge);
}

static int be_the_program(void)
{
    const char *libraries = getenv("ACC_PROFLIB");
    void *library = libraries == NULL ? NULL : dlopen(libraries, RTLD_NOW);
    if (library == NULL) return 92;
    union {
        void *object;
        void (*function)(void (*)(int, callback *, int), void (*)(int, callback *, int), void *);
    } found = {dlsym(library, "acc_register_library")};
    if (found.object == NULL) return 93;
    found.function(NULL, NULL, NULL);
    found.function(enable, NULL, NULL);
    if (registered != 10) return 94;
    tell(COMPUTE, "smooth", 12, PARALLEL);
    region(10, "smooth", 12, PARALLEL);
    region(12, "smooth", 14, PARALLEL);
    tell(COMPUTE + 1, "smooth", 14, PARALLEL);
    region(COMPUTE, NULL, 30, KERNELS);
    region(UPDATE, "smooth", 40, PARALLEL);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, bursts, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    misuse();
    return 0;
}

static void check_regions(const jm_timeline *t)
{
    CHECK(count_of(t, "smooth:12", "OpenACC parallel", "") == 1);
    CHECK(count_of(t, "smooth:12", "OpenACC enter data", "smooth:12") == 1);
    CHECK(count_of(t, "smooth:14", "OpenACC exit data", "smooth:12") == 1);
    CHECK(count_of(t, "smooth:40", "OpenACC update", "") == 1);
    CHECK(count_of(t, "solver.c:30", "OpenACC kernels", "") == 1);
    CHECK(count_of(t, "thread:1", "OpenACC serial", "") == THREADS * BURSTS);
    CHECK(count_of(t, "thread:2", "OpenACC wait", "thread:1") == THREADS * BURSTS);
    CHECK(count_of(t, "solver.c", "OpenACC compute", "") == 2);
    CHECK(count_of(t, "compute", "OpenACC compute", "") == 1);
    for (size_t i = 0; i < jm_timeline_span_count(t); i++)
        CHECK(jm_timeline_span_get(t, i)->ended && strlen(jm_timeline_span_get(t, i)->name) <= 4095);
}

int main(int argc, char **argv)
{
    if (argc == 2) return be_the_program();
    if (argc != 4) return 2;
    const char *joulemap = argv[1], *file = argv[3];
    unsetenv("JOULEMAP_RUN");
    unsetenv("ACC_PROFLIB");
    CHECK(RUN(joulemap, "record", "--openacc", "--force", "-o", file, "--", argv[0], "--program") == 0);
    check_recording(file, check_regions);
    CHECK(RUN(joulemap, "record", "--force", "-o", file, "--", argv[0], "--program") ==
          92);                         /* not asked for */
    setenv("ACC_PROFLIB", argv[2], 1); /* no recorder, or none any more */
    CHECK(RUN(argv[0], "--program") == 0);
    setenv("JOULEMAP_RUN", "/nonexistent/run", 1);
    CHECK(RUN(argv[0], "--program") == 0);
    return faults == 0 ? 0 : 1;
}
