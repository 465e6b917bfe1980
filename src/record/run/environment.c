/* The environment with which a child joins a run. */
#include "base/helper.h"
#include "record/run/inside.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { VARIABLES_MAX = 8 };

/* Adds "NAME=value"; false if memory is out. */
__attribute__((format(printf, 3, 4))) static bool add(jm_run *run, size_t *count, const char *format, ...)
{
    char *variable;
    va_list args;
    va_start(args, format);
    int length = vasprintf(&variable, format, args);
    va_end(args);
    if (length < 0) return false;
    run->environment[(*count)++] = variable;
    return true;
}

/* Keeps another tool's injection: replacing it would break what the user requested. */
static bool add_injection(jm_run *run, size_t *count, const char *name, const char *library)
{
    const char *present = getenv(name);
    if ((present != NULL && present[0] != '\0') || access(library, R_OK) != 0) return true;
    return add(run, count, "%s=%s", name, library);
}

/* Kokkos programs find their tools there. An existing value, even an empty one, or the older variable, with
 * which Kokkos would get two settings, is kept. */
static bool add_kokkos(jm_run *run, size_t *count, const char *library)
{
    static const char name[] = "KOKKOS_TOOLS_LIBS";
    bool set = getenv(name) != NULL || getenv("KOKKOS_PROFILE_LIBRARY") != NULL;
    bool list = strchr(library, ';') != NULL; /* a list of libraries */
    return set || list || add_injection(run, count, name, library);
}

/* Puts a folder of ours before the others of a search path. */
static bool add_to_path(jm_run *run, size_t *count, const char *name, const char *folder, const char *ours)
{
    const char *present = getenv(name);
    bool empty = present == NULL || present[0] == '\0'; /* an empty entry would mean the working directory */
    return add(run, count, "%s=%s/%s%s%s", name, folder, ours, empty ? "" : ":", empty ? "" : present);
}

/* A child that uses NVML itself finds the simulated one. */
static bool add_simulation(jm_run *run, size_t *count, const char *sim, const char *folder)
{
    return add(run, count, "JOULEMAP_SIM=%s", sim) &&
           add_to_path(run, count, "LD_LIBRARY_PATH", folder, "sim");
}

static bool add_libraries(jm_run *run, size_t *count, const jm_run_options *options, const char *folder)
{
    char library[PATH_MAX];
    snprintf(library, sizeof library, "%.*s/libjoulemap_inject.so", PATH_MAX - 64, folder);
    bool kernels = options->kernels || options->child_kernels;
    return (!kernels || add_injection(run, count, "CUDA_INJECTION64_PATH", library)) &&
           add_injection(run, count, "NVTX_INJECTION64_PATH", library) && add_kokkos(run, count, library) &&
           (!options->openacc || add_injection(run, count, "ACC_PROFLIB", library)) &&
           (!options->child_layers || add_to_path(run, count, "PYTHONPATH", folder, "start"));
}

jm_status jm__run_environment_make(jm_run *run, const jm_run_options *options, jm_error *err)
{
    char folder[PATH_MAX - 64];
    size_t count = 0;
    run->environment = calloc(VARIABLES_MAX + 1, sizeof *run->environment);
    if (run->environment == NULL) return jm__no_memory(err, "jm_run_start");
    bool is_known = jm__own_folder(folder, sizeof folder), has_rings = run->collector != NULL;
    if (has_rings && !add(run, &count, "JOULEMAP_RUN=%s", run->folder.path))
        return jm__no_memory(err, "jm_run_start");
    if (has_rings && is_known && !add_libraries(run, &count, options, folder))
        return jm__no_memory(err, "jm_run_start");
    if (is_known && options->sim != NULL && !add_simulation(run, &count, options->sim, folder))
        return jm__no_memory(err, "jm_run_start");
    return JM_OK;
}
