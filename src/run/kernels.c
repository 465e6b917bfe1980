/* Kernels of the process that runs the recorder itself: the injected library, loaded by hand. */
#include "base/beside.h"
#include "base/clock.h"
#include "run/inside.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>

static void tell(jm_run *run, const char *reason)
{
    jm__event event = {.kind = JM_EVENT_CUPTI, .t_ns = jm__now_ns()};
    snprintf(event.text, sizeof event.text, "kernels are not traced: %s", reason);
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

void jm__run_kernels_start(jm_run *run)
{
    char path[PATH_MAX];
    (void)jm__beside("libjoulemap_inject.so", path, sizeof path); /* where it should be, if it is not */
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);          /* for ever: CUPTI calls into it */
    if (library == NULL) {
        const char *reason = dlerror();
        tell(run, reason == NULL ? "libjoulemap_inject.so cannot be loaded" : reason);
        return;
    }
    union {
        void (*function)(void);
        int (*start)(const char *run_dir);
    } entry = {find(library, "jm_inject_start")};
    if (entry.function == NULL) {
        tell(run, "libjoulemap_inject.so is of another version");
        return;
    }
    /* Its result needs no words here: it leaves a note of its own in the run. */
    entry.start(run->folder.path);
    run->flush_kernels = find(library, "jm_inject_flush");
    run->stop_kernels = find(library, "jm_inject_stop");
}
