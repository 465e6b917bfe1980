/* The first libcupti of the search that will do, and its calls. */
#include "inject/cupti.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void resolve(jm__cupti *cupti, void *library)
{
    const struct {
        const char *symbol;
        size_t offset;
    } table[] = {
#define X(symbol) {#symbol, offsetof(jm__cupti, symbol)},
        JM_CUPTI_MAP(X)
#undef X
            {"cuptiGetGraphNodeId", offsetof(jm__cupti, cuptiGetGraphNodeId)},
        {"cuptiGetGraphId", offsetof(jm__cupti, cuptiGetGraphId)},
        {"cuptiGetGraphExecId", offsetof(jm__cupti, cuptiGetGraphExecId)},
        {"cuptiFinalize", offsetof(jm__cupti, cuptiFinalize)},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        void *address = dlsym(library, table[i].symbol);
        memcpy((char *)cupti + table[i].offset, &address, sizeof address);
    }
}

static void find_candidates(jm__cupti_candidates *all)
{
    char program[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    program[length > 0 ? length : 0] = '\0';
    jm__cupti_search(all, program);
}

bool jm__cupti_load(jm__cupti *cupti, char *why, size_t why_size)
{
    jm__cupti_candidates *all = calloc(1, sizeof *all);
    if (all == NULL) {
        snprintf(why, why_size, "No memory to look for CUPTI: kernels are not recorded.");
        return false;
    }
    find_candidates(all);
    why[0] = '\0';
    void *library = NULL;
    for (size_t i = 0; i < all->count && library == NULL; i++) {
        char fault[480];
        library = jm__cupti_open(all->items[i].path, &cupti->version, fault, sizeof fault);
        if (library == NULL && fault[0] != '\0' && why[0] == '\0')
            snprintf(why, why_size, "%s: kernels are not recorded.", fault); /* the first counts */
    }
    free(all);
    if (library != NULL)
        resolve(cupti, library);
    else if (why[0] == '\0')
        snprintf(why, why_size,
                 "CUPTI was not found: kernels are not recorded. `pip install nvidia-cuda-cupti`, or set "
                 "JOULEMAP_CUPTI to libcupti.so.");
    return library != NULL;
}
