/* The libcupti in use: found and loaded at run time, never unloaded. */
#ifndef JM_INJECT_CUPTI_H
#define JM_INJECT_CUPTI_H

#include "record/cupti/search.h"

#include <cuda.h>

#include <cupti.h>
#include <stdbool.h>
#include <stddef.h>

/* Newer than the oldest headers that will do (12.1). */
typedef CUptiResult CUPTIAPI jm__graph_exec_id(CUgraphExec graph, uint32_t *id);

typedef struct jm__cupti {
#define X(symbol) __typeof__(symbol) *symbol;
    JM_CUPTI_MAP(X)
#undef X
    /* NULL where it has them not. */
    __typeof__(cuptiGetGraphNodeId) *cuptiGetGraphNodeId;
    __typeof__(cuptiGetGraphId) *cuptiGetGraphId;
    jm__graph_exec_id *cuptiGetGraphExecId;
    __typeof__(cuptiFinalize) *cuptiFinalize;
    uint32_t version;
} jm__cupti;

/* Load once a process. False with a whole sentence in `why`. */
bool jm__cupti_load(jm__cupti *cupti, char *why, size_t why_size);

#endif
