/* Kernels of the process that runs the recorder itself: the injected library, loaded by hand. */
#include "base/clock.h"
#include "base/helper.h"
#include "base/no_fork.h"
#include "base/status.h"
#include "record/run/inside.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { NOTED = 1 }; /* JM_INJECT_NO_KERNELS: a note in the run says why */

static void tell(jm_run *run)
{
    jm__event event = {.kind = JM_EVENT_CUPTI, .t_ns = jm__now_ns()};
    snprintf(event.text, sizeof event.text, "kernels are not traced: %.200s", run->kernels_missing);
    jm__run_queue_add_event(&run->queue, &event);
}

/* A function of the library; ISO C has no other way from an object pointer to one. */
static void (*find(void *library, const char *name))(void)
{
    union {
        void *symbol;
        void (*function)(void);
    } cast = {dlsym(library, name)};
    return cast.function;
}

/* Those of the library; its address stays good for ever: CUPTI calls into it. */
static void find_functions(jm_run *run, void *library)
{
    union {
        void (*function)(void);
        int (*trace)(int on);
    } trace = {find(library, "jm_inject_trace")};
    union {
        void (*function)(void);
        int (*busy)(void);
    } busy = {find(library, "jm_inject_busy")};
    run->flush_kernels = find(library, "jm_inject_flush");
    run->stop_kernels = find(library, "jm_inject_stop");
    run->trace_kernels = trace.trace;
    run->kernels_busy = busy.busy;
}

/* Why the library that was started gives none. */
static void take_reason(jm_run *run, void *library)
{
    union {
        void (*function)(void);
        const char *(*reason)(void);
    } entry = {find(library, "jm_inject_reason")};
    const char *reason = entry.function != NULL ? entry.reason() : "";
    snprintf(run->kernels_missing, sizeof run->kernels_missing, "%s",
             reason[0] != '\0' ? reason : "nothing can be written into the folder of the run");
}

static void start(jm_run *run)
{
    char path[PATH_MAX];
    (void)jm__beside("libjoulemap_inject.so", path, sizeof path); /* where it should be, if it is not */
    void *library = jm__library_open(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        const char *reason = dlerror();
        snprintf(run->kernels_missing, sizeof run->kernels_missing, "%.400s",
                 reason == NULL ? "libjoulemap_inject.so cannot be loaded" : reason);
        tell(run);
        return;
    }
    union {
        void (*function)(void);
        int (*start)(const char *run_dir);
    } entry = {find(library, "jm_inject_start")};
    if (entry.function == NULL) {
        snprintf(run->kernels_missing, sizeof run->kernels_missing,
                 "libjoulemap_inject.so is of another version");
        tell(run);
        return;
    }
    int result = entry.start(run->folder.path);
    if (result != 0) take_reason(run, library);
    if (result != 0 && result != NOTED) tell(run);
    find_functions(run, library);
}

void jm__run_ranges_start(jm_run *run)
{
    char path[PATH_MAX];
    void *library = jm__beside("libjoulemap_inject.so", path, sizeof path)
                        ? jm__library_open(path, RTLD_NOW | RTLD_LOCAL)
                        : NULL;
    union {
        void (*function)(void);
        int (*start)(const char *run_dir);
    } entry = {library != NULL ? find(library, "jm_inject_ranges") : NULL};
    if (entry.function != NULL && entry.start(run->folder.path) == 0) find_functions(run, library);
}

jm_status jm__run_kernels_start(jm_run *run, bool required, jm_error *err)
{
    start(run);
    if (!required || run->kernels_missing[0] == '\0') return JM_OK;
    jm__fail(err, JM_NOT_SUPPORTED, 0, "jm_run_start", "%.480s", run->kernels_missing);
    return jm__hint(err, JM_NOT_SUPPORTED,
                    "close other profilers of this process; `joulemap doctor` says what CUPTI lacks");
}

void jm__run_kernels_find(jm_run *run)
{
    char path[PATH_MAX];
    if (run->trace_kernels != NULL || !jm__beside("libjoulemap_inject.so", path, sizeof path)) return;
    void *library = jm__library_open(path, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    if (library != NULL) find_functions(run, library);
}

bool jm__run_kernels_are_busy(const jm_run *run)
{
    return run->kernels_busy != NULL && run->kernels_busy() != 0;
}

bool jm__run_kernels_trace(jm_run *run, bool on)
{
    jm__run_kernels_find(run);
    run->kernels_untold = run->trace_kernels != NULL && run->trace_kernels(on) != 0;
    return !run->kernels_untold;
}
