/* Which libnvidia-ml to load, and its symbols. */
#include "record/device/nvml_load.h"

#include "base/helper.h"
#include "base/no_fork.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *symbol, *older;
    size_t offset;
    const char *lost; /* without it */
} symbols[] = {
#define X(slot, symbol, older, lost, arguments) {symbol, older, offsetof(jm__nvml, slot), lost},
    JM_NVML_MAP(X)
#undef X
};

static const char *error_text_fallback(int result)
{
    (void)result;
    return "an error that this NVML has no text for";
}

static bool is_set(const char *text)
{
    return text != NULL && text[0] != '\0';
}

/* The path to load; false with a finding if the simulated board is wanted and not there. */
static bool path_choose(const char *sim, char *path, size_t size, jm__findings *findings)
{
    const char *override = getenv("JOULEMAP_NVML");
    if (is_set(override)) {
        snprintf(path, size, "%s", override);
        return true;
    }
    if (!is_set(sim)) {
        snprintf(path, size, "libnvidia-ml.so.1");
        return true;
    }
    if (jm__beside("sim/libnvidia-ml.so.1", path, size)) return true;
    jm__finding_add(findings, "NVML (simulated)", false,
                    "build it (`make build`), or name the library in JOULEMAP_NVML",
                    "the simulated GPU is wanted (%.40s) but %s is not there", sim, path);
    return false;
}

/* dlsym, unless the simulated board plays that this symbol is not there. */
static void *symbol_find(void *library, const char *symbol)
{
    int (*missing)(const char *) = NULL;
    void *address = dlsym(library, "jmsim_missing");
    memcpy(&missing, &address, sizeof missing);
    if (missing != NULL && missing(symbol) != 0) return NULL;
    return dlsym(library, symbol);
}

/* One loop for all symbols; false if one is missing without which nothing works. */
static bool symbols_resolve(jm__nvml *nvml, jm__findings *findings)
{
    bool whole = true;
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
        void *address = symbol_find(nvml->library, symbols[i].symbol);
        if (address == NULL && symbols[i].older[0] != '\0')
            address = symbol_find(nvml->library, symbols[i].older);
        memcpy((char *)nvml + symbols[i].offset, &address, sizeof address);
        if (address != NULL) continue;
        char subject[64];
        snprintf(subject, sizeof subject, "NVML: %.57s", symbols[i].symbol);
        jm__finding_add(findings, subject, false, "another driver version may have it",
                        "not in %.150s; without it is lost: %s", nvml->path, symbols[i].lost);
        whole = whole && strcmp(symbols[i].lost, JM_NVML_EVERYTHING) != 0;
    }
    void *address = symbol_find(nvml->library, "nvmlErrorString");
    memcpy(&nvml->error_text, &address, sizeof address);
    if (nvml->error_text == NULL) nvml->error_text = error_text_fallback;
    return whole;
}

static void sim_attach(jm__nvml *nvml, const jm__device_options *options, jm__findings *findings)
{
    if (options->run_dir == NULL && options->truth_path == NULL) return;
    int (*attach)(const char *, const char *) = NULL;
    void *address = dlsym(nvml->library, "jmsim_attach");
    memcpy(&attach, &address, sizeof attach);
    if (attach == NULL) return;
    int result = attach(options->run_dir, options->truth_path);
    nvml->attached = result == 0;
    if (!nvml->attached)
        jm__finding_add(findings, "NVML (simulated): attach", false, "",
                        "the simulated GPU cannot follow %s (code %d)",
                        options->run_dir == NULL ? "a run" : options->run_dir, result);
}

/* The truth is whole once this returns, also if somebody else still uses the library. */
static void sim_detach(const jm__nvml *nvml)
{
    int (*detach)(void) = NULL;
    void *address = dlsym(nvml->library, "jmsim_detach");
    memcpy(&detach, &address, sizeof detach);
    if (detach != NULL) (void)detach();
}

/* Put the profile that an option asks for where the simulated board reads it; what stood there before
 * comes back through environment_restore. */
static char *environment_set(const char *sim)
{
    const char *set = getenv("JOULEMAP_SIM");
    char *before = set == NULL ? NULL : strdup(set);
    if (is_set(sim)) setenv("JOULEMAP_SIM", sim, 1);
    return before;
}

static void environment_restore(const char *sim, char *before)
{
    if (is_set(sim) && before != NULL)
        setenv("JOULEMAP_SIM", before, 1);
    else if (is_set(sim))
        unsetenv("JOULEMAP_SIM");
    free(before);
}

static void library_open(jm__nvml *nvml, const char *path, bool sim, jm__findings *findings)
{
    nvml->library = jm__library_open(path, RTLD_NOW | RTLD_LOCAL);
    if (nvml->library == NULL) {
        jm__finding_add(findings, "NVML", false,
                        is_set(getenv("JOULEMAP_NVML")) ? "check the path in JOULEMAP_NVML"
                        : sim ? "build joulemap again: the simulated GPU comes with it"
                              : "install the NVIDIA driver, or use the simulated GPU: --sim h200",
                        "%.240s", dlerror());
        return;
    }
    snprintf(nvml->path, sizeof nvml->path, "%.255s", path);
    void *any = dlsym(nvml->library, "nvmlInit_v2");
    Dl_info info;
    if (any != NULL && dladdr(any, &info) != 0 && info.dli_fname != NULL)
        snprintf(nvml->path, sizeof nvml->path, "%.255s", info.dli_fname);
    nvml->simulated = dlsym(nvml->library, "jmsim_version") != NULL;
}

/* The simulated board knows in words what it does not like: a profile, a script, a fault. */
static void sim_refusal_note(const jm__nvml *nvml, int result, jm__findings *findings)
{
    const char *(*why)(void) = NULL;
    void *address = dlsym(nvml->library, "jmsim_error");
    memcpy(&why, &address, sizeof why);
    const char *text = why == NULL ? "" : why();
    jm__finding_add(findings, "NVML (simulated)", false,
                    "check JOULEMAP_SIM and the JOULEMAP_SIM_* variables", "%.200s",
                    text[0] != '\0' ? text : nvml->error_text(result));
}

/* Open, resolve, initialise; false with a finding. */
static bool library_start(jm__nvml *nvml, const char *path, const jm__device_options *options, bool sim,
                          jm__findings *findings)
{
    library_open(nvml, path, sim, findings);
    if (nvml->library == NULL) return false;
    if (!symbols_resolve(nvml, findings)) {
        jm__finding_add(findings, "NVML", false, "update the NVIDIA driver", "%.200s lacks required calls",
                        nvml->path);
        return false;
    }
    if (nvml->simulated) sim_attach(nvml, options, findings);
    int result = nvml->init();
    if (result == JM_NVML_SUCCESS) return true;
    if (nvml->simulated) {
        sim_refusal_note(nvml, result, findings);
        return false;
    }
    jm__finding_add(findings, "NVML", false,
                    result == JM_NVML_DRIVER_NOT_LOADED ? "load the driver: sudo modprobe nvidia"
                                                        : "`nvidia-smi` should work first",
                    "nvmlInit_v2 of %.120s: %.80s (%d)", nvml->path, nvml->error_text(result), result);
    return false;
}

void *jm__nvml_symbol(const jm__nvml *nvml, const char *symbol)
{
    return symbol_find(nvml->library, symbol);
}

void jm__nvml_load(jm__nvml *nvml, const jm__device_options *options, jm__findings *findings)
{
    *nvml = (jm__nvml){0};
    const char *sim = is_set(options->sim) ? options->sim : getenv("JOULEMAP_SIM");
    char path[4200];
    if (!path_choose(sim, path, sizeof path, findings)) return;
    char *before = environment_set(options->sim);
    bool started = library_start(nvml, path, options, is_set(sim), findings);
    environment_restore(options->sim, before);
    if (started || nvml->library == NULL) return;
    if (nvml->attached) sim_detach(nvml); /* somebody else may use the library */
    jm__library_close(nvml->library);
    nvml->library = NULL;
}

void jm__nvml_unload(jm__nvml *nvml)
{
    if (nvml->library == NULL) return;
    if (nvml->attached) sim_detach(nvml);
    nvml->shutdown();
    jm__library_close(nvml->library);
    nvml->library = NULL;
}

jm_status jm__nvml_status(int result)
{
    switch (result) {
    case JM_NVML_SUCCESS:
        return JM_OK;
    case JM_NVML_NOT_SUPPORTED:
        return JM_NOT_SUPPORTED;
    case JM_NVML_NO_PERMISSION:
        return JM_NO_PERMISSION;
    case JM_NVML_GPU_IS_LOST:
    case JM_NVML_RESET_REQUIRED:
        return JM_DEVICE_LOST;
    default:
        return JM_IO;
    }
}
