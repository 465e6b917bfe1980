/* Which libcupti: an override, one already loaded, the program's own packages, the toolkit, the plain name.
 */
#include "inject/cupti.h"

#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <link.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CANDIDATES_MAX 32

typedef struct candidates {
    char paths[CANDIDATES_MAX][1024];
    size_t count;
} candidates;

static void add(candidates *all, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(candidates *all, const char *format, ...)
{
    if (all->count == CANDIDATES_MAX) return;
    char *path = all->paths[all->count];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(path, sizeof all->paths[0], format, args);
    va_end(args);
    if (length <= 0 || (size_t)length >= sizeof all->paths[0]) return;
    for (size_t i = 0; i < all->count; i++)
        if (strcmp(all->paths[i], path) == 0) return;
    all->count++;
}

static void add_matches(candidates *all, const char *pattern)
{
    glob_t found;
    if (glob(pattern, 0, NULL, &found) != 0) return;
    for (size_t i = found.gl_pathc; i > 0; i--) /* newest version first */
        add(all, "%s", found.gl_pathv[i - 1]);
    globfree(&found);
}

/* The packages nvidia-cuda-cupti (13) and nvidia-cuda-cupti-cu12 under a site-packages folder. */
static void add_packages(candidates *all, int length, const char *site_packages)
{
    char pattern[PATH_MAX];
    snprintf(pattern, sizeof pattern, "%.*s/nvidia/cu1[3-9]/lib/libcupti.so.1[3-9]", length, site_packages);
    add_matches(all, pattern);
    snprintf(pattern, sizeof pattern, "%.*s/nvidia/cuda_cupti/lib/libcupti.so.1[2-9]", length, site_packages);
    add_matches(all, pattern);
}

static int add_loaded(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    if (strstr(info->dlpi_name, "/libcupti.so") != NULL) add(context, "%s", info->dlpi_name);
    return 0;
}

static int add_beside_loaded(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    const char *packages = strstr(info->dlpi_name, "-packages/"); /* site-packages, dist-packages */
    if (packages == NULL) return 0;
    add_packages(context, (int)(packages + strlen("-packages") - info->dlpi_name), info->dlpi_name);
    return 0;
}

static void add_prefix(candidates *all, const char *prefix)
{
    glob_t found;
    char pattern[PATH_MAX];
    snprintf(pattern, sizeof pattern, "%s/lib/python3*/*-packages", prefix);
    if (glob(pattern, 0, NULL, &found) != 0) return;
    for (size_t i = 0; i < found.gl_pathc; i++)
        add_packages(all, (int)strlen(found.gl_pathv[i]), found.gl_pathv[i]);
    globfree(&found);
}

static void add_interpreter(candidates *all)
{
    const char *environment = getenv("VIRTUAL_ENV");
    if (environment != NULL) add_prefix(all, environment);
    char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length <= 0) return;
    path[length] = '\0';
    char *bin = strstr(path, "/bin/");
    if (bin == NULL) return;
    *bin = '\0';
    add_prefix(all, path);
}

static void add_toolkits(candidates *all)
{
    const char *homes[] = {getenv("CUDA_HOME"), getenv("CUDA_PATH"), "/usr/local/cuda"};
    for (size_t i = 0; i < sizeof homes / sizeof homes[0]; i++) {
        if (homes[i] == NULL) continue;
        char pattern[PATH_MAX];
        snprintf(pattern, sizeof pattern, "%s/extras/CUPTI/lib64/libcupti.so.1[2-9]", homes[i]);
        add_matches(all, pattern);
        snprintf(pattern, sizeof pattern, "%s/lib64/libcupti.so.1[2-9]", homes[i]);
        add_matches(all, pattern);
    }
}

static void find_candidates(candidates *all)
{
    const char *override = getenv("JOULEMAP_CUPTI");
    if (override != NULL && override[0] != '\0') { /* that one or none */
        add(all, "%s", override);
        return;
    }
    dl_iterate_phdr(add_loaded, all);
    if (all->count > 0) return; /* a second copy beside the one in use would not see the program's work */
    dl_iterate_phdr(add_beside_loaded, all);
    add_interpreter(all);
    add_toolkits(all);
    add(all, "libcupti.so.13");
    add(all, "libcupti.so.12");
    add(all, "libcupti.so");
}

static bool resolve(jm__cupti *cupti, void *library, const char **missing)
{
    const struct {
        const char *symbol;
        size_t offset;
        bool required;
    } table[] = {
#define X(symbol) {#symbol, offsetof(jm__cupti, symbol), true},
        JM_CUPTI_MAP(X)
#undef X
            {"cuptiActivityEnableRuntimeApi", offsetof(jm__cupti, cuptiActivityEnableRuntimeApi), false},
        {"cuptiActivityEnableDriverApi", offsetof(jm__cupti, cuptiActivityEnableDriverApi), false},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        void *address = dlsym(library, table[i].symbol);
        if (address == NULL && table[i].required) {
            *missing = table[i].symbol;
            return false;
        }
        memcpy((char *)cupti + table[i].offset, &address, sizeof address);
    }
    return true;
}

/* Up to 12.9 the version counts releases (18: 12.1, 28: 12.9.1); from 13.0 on it is xxyyzz. */
static bool version_known(uint32_t version)
{
    return (version >= 18 && version < 100) || (version >= 130000 && version < 140000);
}

/* `fault` stays empty if there simply is none of that name. */
static bool try_to_load(jm__cupti *cupti, const char *path, char *fault, size_t fault_size)
{
    const char *missing = NULL;
    fault[0] = '\0';
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        const char *error = dlerror();
        if (path[0] == '/')
            snprintf(fault, fault_size, "CUPTI could not be loaded (%s): kernels are not recorded.",
                     error == NULL ? path : error);
        return false;
    }
    if (!resolve(cupti, library, &missing)) {
        snprintf(fault, fault_size, "%s lacks %s: kernels are not recorded.", path, missing);
        return false;
    }
    if (cupti->cuptiGetVersion(&cupti->version) != CUPTI_SUCCESS || !version_known(cupti->version)) {
        snprintf(
            fault, fault_size,
            "%s has API version %u, whose records joulemap does not know (it knows CUDA 12 and 13): kernels "
            "are not recorded.",
            path, cupti->version);
        return false;
    }
    snprintf(cupti->path, sizeof cupti->path, "%s", path);
    return true;
}

bool jm__cupti_load(jm__cupti *cupti, char *why, size_t why_size)
{
    candidates *all = calloc(1, sizeof *all);
    if (all == NULL) {
        snprintf(why, why_size, "No memory to look for CUPTI: kernels are not recorded.");
        return false;
    }
    find_candidates(all);
    why[0] = '\0';
    bool loaded = false;
    for (size_t i = 0; i < all->count && !loaded; i++) {
        char fault[512];
        loaded = try_to_load(cupti, all->paths[i], fault, sizeof fault);
        if (!loaded && fault[0] != '\0' && why[0] == '\0')
            snprintf(why, why_size, "%s", fault); /* the first counts */
    }
    if (!loaded && why[0] == '\0')
        snprintf(why, why_size,
                 "CUPTI was not found: kernels are not recorded. `pip install nvidia-cuda-cupti`, or set "
                 "JOULEMAP_CUPTI to libcupti.so.");
    free(all);
    return loaded;
}
