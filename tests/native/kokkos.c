/* A Kokkos program, as its tools see one: it opens the library of KOKKOS_TOOLS_LIBS, finds the functions by
 * name and calls them, in the right order and in wrong ones, from many threads.
 *
 * usage: native_kokkos JOULEMAP FILE: under that recorder, and without one. */
#include "under_recorder.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS  16
#define BURSTS   100
#define DEEP     1000
#define SECTIONS 5000 /* more than there can be */

/* As Kokkos declares them. */
typedef struct space {
    char name[64];
} space;
typedef struct settings {
    bool requires_global_fencing;
    bool padding[255];
} settings;
typedef struct device_info {
    size_t id;
} device_info;
typedef void begin_function(const char *, uint32_t, uint64_t *);
typedef void end_function(uint64_t);
typedef void label_function(const char *);
typedef void section_function(uint32_t);

static void *library;

static void *find(const char *name)
{
    void *found = dlsym(library, name);
    if (found == NULL) {
        fprintf(stderr, "no %s\n", name);
        _exit(90);
    }
    return found;
}

#define CALL(type, name)                                                                                     \
    (((union {                                                                                               \
         void *object;                                                                                       \
         __typeof__(type) *function;                                                                         \
     }){find("kokkosp_" name)})                                                                              \
         .function)

static void deep_copy(const char *to, const char *from)
{
    typedef void copy_function(space, const char *, const void *, space, const char *, const void *,
                               uint64_t);
    space host = {"Host"}, device = {"Cuda"};
    memset(device.name, 'C', sizeof device.name); /* without an end */
    CALL(copy_function, "begin_deep_copy")(device, to, &host, host, from, &device, 4096);
    CALL(void(void), "end_deep_copy")();
}

static void kernel(const char *label)
{
    uint64_t id = 77;
    CALL(begin_function, "begin_parallel_for")(label, 0x01000000u, &id);
    CALL(end_function, "end_parallel_for")(id);
}

static void *bursts(void *shared)
{
    uint32_t own;
    CALL(void(const char *, uint32_t *), "create_profile_section")("of a thread", &own);
    for (int i = 0; i < BURSTS; i++) {
        CALL(label_function, "push_profile_region")("threads");
        kernel("in a thread");
        CALL(void(void), "pop_profile_region")();
        CALL(section_function, "start_profile_section")(own);
        CALL(section_function, "start_profile_section")(*(uint32_t *)shared);
        CALL(section_function, "stop_profile_section")(*(uint32_t *)shared);
        CALL(section_function, "stop_profile_section")(own);
    }
    CALL(section_function, "destroy_profile_section")(own);
    return NULL;
}

static void in_threads(void)
{
    pthread_t threads[THREADS];
    uint32_t shared;
    CALL(void(const char *, uint32_t *), "create_profile_section")("shared", &shared);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, bursts, &shared);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    CALL(section_function, "destroy_profile_section")(shared);
}

/* Nothing of this may do any harm, or leave anything open. */
static void misuse(void)
{
    char *huge = malloc((1 << 20) + 1);
    if (huge == NULL) _exit(91);
    memset(huge, 'x', 1 << 20);
    huge[1 << 20] = '\0';
    CALL(void(void), "pop_profile_region")();
    CALL(void(void), "end_deep_copy")();
    CALL(end_function, "end_parallel_for")(0);
    CALL(end_function, "end_fence")(12345);
    CALL(begin_function, "begin_parallel_for")("nowhere to", 0, NULL);
    kernel(NULL);
    kernel("");
    kernel(huge);
    kernel("\xff not UTF-8");
    deep_copy(NULL, huge);
    for (int i = 0; i < DEEP; i++)
        CALL(label_function, "push_profile_region")("deep");
    for (int i = 0; i < DEEP; i++)
        CALL(void(void), "pop_profile_region")();
    CALL(void(void), "pop_profile_region")();
    CALL(section_function, "start_profile_section")(4000000000u);
    CALL(section_function, "stop_profile_section")(7);
    CALL(section_function, "destroy_profile_section")(UINT32_MAX);
    for (int i = 0; i < SECTIONS; i++) {
        uint32_t id;
        CALL(void(const char *, uint32_t *), "create_profile_section")("one of many", &id);
        CALL(section_function, "start_profile_section")(id);
    }
    for (uint32_t id = 0; id < SECTIONS; id++)
        CALL(section_function, "destroy_profile_section")(id);
    CALL(void(const char *, uint32_t *), "create_profile_section")("nobody's", NULL);
    free(huge);
}

static void usual(void)
{
    uint32_t section;
    uint64_t fence, inner;
    CALL(label_function, "push_profile_region")("outer");
    kernel("axpy");
    CALL(begin_function, "begin_parallel_reduce")("dot", 0, &inner);
    CALL(end_function, "end_parallel_reduce")(inner);
    CALL(begin_function, "begin_parallel_scan")("prefix", 0, &inner);
    CALL(end_function, "end_parallel_scan")(inner);
    deep_copy("to", "from");
    CALL(begin_function, "begin_fence")("wait", 0, &fence);
    CALL(end_function, "end_fence")(fence);
    CALL(label_function, "profile_event")("event");
    /* Sections overlap regions and each other. */
    CALL(void(const char *, uint32_t *), "create_profile_section")("section", &section);
    CALL(section_function, "start_profile_section")(section);
    CALL(section_function, "start_profile_section")(section); /* is open */
    CALL(void(void), "pop_profile_region")();
    CALL(begin_function, "begin_parallel_for")("in the section", 0, &inner);
    CALL(end_function, "end_parallel_for")(inner);
    CALL(section_function, "stop_profile_section")(section);
    CALL(section_function, "stop_profile_section")(section);
    CALL(section_function, "start_profile_section")(section);
    CALL(section_function, "stop_profile_section")(section);
    CALL(section_function, "destroy_profile_section")(section);
}

static int be_the_program(void)
{
    const char *libraries = getenv("KOKKOS_TOOLS_LIBS");
    if (libraries == NULL || strchr(libraries, ';') != NULL) return 92;
    if (libraries[0] == '\0') return 95;
    library = dlopen(libraries, RTLD_NOW | RTLD_GLOBAL);
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 93;
    }
    device_info device = {0};
    settings wanted = {.requires_global_fencing = true};
    wanted.padding[254] = true;
    CALL(void(uint32_t, settings *), "request_tool_settings")(1, &wanted);
    CALL(void(uint32_t, settings *), "request_tool_settings")(0, NULL);
    if (wanted.requires_global_fencing || !wanted.padding[254]) return 94;
    CALL(void(int, uint64_t, uint32_t, device_info *), "init_library")(0, 20211015, 1, &device);
    usual();
    in_threads();
    misuse();
    CALL(void(void), "finalize_library")();
    kernel("after the end");
    return 0;
}

/* ---- what came of it */

static void check_spans(const jm_timeline *t)
{
    CHECK(count_of(t, "outer", "Kokkos region", "") == 1);
    CHECK(count_of(t, "axpy", "Kokkos parallel_for", "outer") == 1);
    CHECK(count_of(t, "dot", "Kokkos parallel_reduce", "outer") == 1);
    CHECK(count_of(t, "prefix", "Kokkos parallel_scan", "outer") == 1);
    CHECK(count_of(t, "wait", "Kokkos fence", "outer") == 1);
    char copy[128];
    snprintf(copy, sizeof copy, "deep_copy to (%.64s) from from (Host)",
             "CCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCC");
    CHECK(count_of(t, copy, "Kokkos deep_copy", "outer") == 1);
    CHECK(count_of(t, "section", "Kokkos section", "outer") == 1);
    CHECK(count_of(t, "section", "Kokkos section", "") == 1);
    CHECK(count_of(t, "in the section", "Kokkos parallel_for", "section") == 1);
    CHECK(count_of(t, "threads", "Kokkos region", "") == THREADS * BURSTS);
    CHECK(count_of(t, "in a thread", "Kokkos parallel_for", "threads") == THREADS * BURSTS);
    CHECK(count_of(t, "of a thread", "Kokkos section", "") == THREADS * BURSTS);
    CHECK(count_of(t, "", "Kokkos parallel_for", "") == 2);
    CHECK(count_of(t, "nowhere to", "Kokkos parallel_for", "") == 1);
    CHECK(count_of(t, "after the end", "Kokkos parallel_for", "") == 1);
    size_t deep = 0;
    for (size_t i = 0; i < jm_timeline_span_count(t); i++) {
        const jm_timeline_span *span = jm_timeline_span_get(t, i);
        deep += strcmp(span->name, "deep") == 0;
        CHECK(span->ended && strlen(span->name) <= 4095);
    }
    CHECK(deep >= 16 && deep <= DEEP);
    CHECK(jm_timeline_mark_count(t) == 1 && strcmp(jm_timeline_mark_get(t, 0)->name, "event") == 0);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--program") == 0) return be_the_program();
    if (argc != 4) return 2;
    const char *joulemap = argv[1], *inject = argv[2], *file = argv[3];
    unsetenv("KOKKOS_TOOLS_LIBS"); /* the recorder sets it */
    CHECK(RUN(joulemap, "record", "--force", "-o", file, "--", argv[0], "--program") == 0);
    check_recording(file, check_spans);
    setenv("KOKKOS_TOOLS_LIBS", inject, 1); /* who sets it has it so */
    CHECK(RUN(joulemap, "record", "--force", "-o", file, "--", argv[0], "--program") == 0);
    check_recording(file, check_spans);
    unsetenv("JOULEMAP_RUN"); /* no recorder, or none any more */
    CHECK(RUN(argv[0], "--program") == 0);
    setenv("JOULEMAP_RUN", "/nonexistent/run", 1);
    CHECK(RUN(argv[0], "--program") == 0);
    setenv("KOKKOS_TOOLS_LIBS", "", 1);
    unsetenv("JOULEMAP_RUN");
    CHECK(RUN(joulemap, "record", "--force", "-o", file, "--", argv[0], "--program") == 95); /* "" stays */
    return faults == 0 ? 0 : 1;
}
