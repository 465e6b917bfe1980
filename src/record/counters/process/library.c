/* Loading each libcupti that was found, and putting them in order. */
#include "record/counters/process/library.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* The name of the first required call that is missing, or NULL. */
static const char *resolve(jm__pm_library *library, void *handle)
{
    const struct {
        const char *symbol;
        void *slot;
        bool required;
    } table[] = {{"cuptiGetResultString", &library->cuptiGetResultString, true},
#define X(symbol, type, last) {#symbol, &library->symbol, true},
                 JM_PM_MAP(X)
#undef X
#define X(symbol, type, last) {#symbol, &library->symbol, false},
                     JM_PM_OPTIONAL_MAP(X)
#undef X
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        void *address = dlsym(handle, table[i].symbol);
        if (address == NULL && table[i].required) return table[i].symbol;
        memcpy(table[i].slot, &address, sizeof address);
    }
    return NULL;
}

/* Up to 12.9 the version counts releases (18: 12.1), from 13.0 on it is xxyyzz: later is larger throughout.
 */
static bool ask_version(jm__pm_library *library, void *handle)
{
    int (*ask)(uint32_t *);
    void *address = dlsym(handle, "cuptiGetVersion");
    if (address == NULL) return false;
    memcpy(&ask, &address, sizeof ask);
    return ask(&library->version) == JM_CUPTI_SUCCESS;
}

static const char cure[] =
    "pip install nvidia-cuda-cupti, of CUDA 12.6 or newer, or name it in JOULEMAP_CUPTI";

static bool load(jm__pm_library *library, const char *path, jm__pm_fault *fault)
{
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const char *lacks = NULL;
    *library = (jm__pm_library){.path = path};
    if (handle == NULL) { /* a bare name that the loader does not find is no file at all */
        if (path[0] != '/' || fault->text[0] != '\0') return false;
        return jm__pm_fail(fault, cure, "CUPTI could not be loaded (%.150s)", dlerror());
    }
    if (ask_version(library, handle) && (lacks = resolve(library, handle)) == NULL) return true;
    dlclose(handle);
    return jm__pm_fail(fault, cure, "%.110s lacks %s", path, lacks != NULL ? lacks : "cuptiGetVersion");
}

static int newer_first(const void *left, const void *right)
{
    const jm__pm_library *a = left, *b = right;
    return (a->version < b->version) - (a->version > b->version);
}

bool jm__pm_libraries_load(jm__pm_libraries *all, char *const *paths, size_t count, jm__pm_fault *fault)
{
    *fault = (jm__pm_fault){0};
    all->count = 0;
    for (size_t i = 0; i < count && all->count < JM_CUPTI_CANDIDATES_MAX; i++)
        all->count += load(&all->items[all->count], paths[i], fault);
    qsort(all->items, all->count, sizeof all->items[0], newer_first);
    if (all->count > 0) return true;
    return fault->text[0] != '\0' ? false : jm__pm_fail(fault, cure, "CUPTI was not found");
}
