/* The environment with which a child joins a run. */
#include "base/helper.h"
#include "base/strbuf.h"
#include "record/run/inside.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { VARIABLES_MAX = 8 };

static bool add(jm_run *run, size_t *count, jm__strbuf *variable)
{
    char *text = jm__strbuf_take(variable);
    if (text == NULL) return false;
    run->environment[(*count)++] = text;
    return true;
}

/* Keeps another tool's injection: replacing it would break what the user requested. */
static bool add_injection(jm_run *run, size_t *count, const char *name, const char *library)
{
    jm__strbuf variable = {0};
    const char *present = getenv(name);
    if ((present != NULL && present[0] != '\0') || access(library, R_OK) != 0) return true;
    jm__strbuf_format(&variable, "%s=%s", name, library);
    return add(run, count, &variable);
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

/* A child that uses NVML itself finds the simulated one. */
static bool add_simulation(jm_run *run, size_t *count, const char *sim, const char *folder)
{
    jm__strbuf profile = {0}, libraries = {0};
    const char *present = getenv("LD_LIBRARY_PATH");
    if (present != NULL && present[0] == '\0')
        present = NULL; /* an empty entry would mean the working directory */
    jm__strbuf_format(&profile, "JOULEMAP_SIM=%s", sim);
    jm__strbuf_format(&libraries, "LD_LIBRARY_PATH=%s/sim%s%s", folder, present == NULL ? "" : ":",
                      present == NULL ? "" : present);
    return add(run, count, &profile) && add(run, count, &libraries);
}

jm_status jm__run_environment_make(jm_run *run, const jm_run_options *options, jm_error *err)
{
    char folder[PATH_MAX - 64], library[PATH_MAX];
    size_t count = 0;
    run->environment = calloc(VARIABLES_MAX + 1, sizeof *run->environment);
    if (run->environment == NULL) return jm__no_memory(err, "jm_run_start");
    bool is_known = jm__own_folder(folder, sizeof folder);
    bool has_memory = true;
    if (run->collector != NULL) {
        jm__strbuf variable = {0};
        jm__strbuf_format(&variable, "JOULEMAP_RUN=%s", run->folder.path);
        has_memory = add(run, &count, &variable);
        if (is_known) {
            snprintf(library, sizeof library, "%s/libjoulemap_inject.so", folder);
            if (options->kernels || options->child_kernels)
                has_memory = has_memory && add_injection(run, &count, "CUDA_INJECTION64_PATH", library);
            has_memory = has_memory && add_injection(run, &count, "NVTX_INJECTION64_PATH", library);
            has_memory = has_memory && add_kokkos(run, &count, library);
            if (options->openacc)
                has_memory = has_memory && add_injection(run, &count, "ACC_PROFLIB", library);
        }
    }
    if (is_known && options->sim != NULL)
        has_memory = has_memory && add_simulation(run, &count, options->sim, folder);
    return has_memory ? JM_OK : jm__no_memory(err, "jm_run_start");
}
