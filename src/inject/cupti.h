/* The libcupti in use: found and loaded at run time, never unloaded. */
#ifndef JM_INJECT_CUPTI_H
#define JM_INJECT_CUPTI_H

#include <cuda.h>

#include <cupti.h>
#include <stdbool.h>
#include <stddef.h>

/* symbol, required */
#define JM_CUPTI_MAP(X)                                                                                      \
    X(cuptiGetVersion, 1)                                                                                    \
    X(cuptiGetResultString, 1)                                                                               \
    X(cuptiSubscribe, 1)                                                                                     \
    X(cuptiUnsubscribe, 1)                                                                                   \
    X(cuptiActivityRegisterCallbacks, 1)                                                                     \
    X(cuptiActivityEnable, 1)                                                                                \
    X(cuptiActivityDisable, 1)                                                                               \
    X(cuptiActivityFlushAll, 1)                                                                              \
    X(cuptiActivityGetNextRecord, 1)                                                                         \
    X(cuptiActivityGetNumDroppedRecords, 1)                                                                  \
    X(cuptiSetThreadIdType, 1)                                                                               \
    X(cuptiGetCallbackName, 1)                                                                               \
    X(cuptiActivityEnableRuntimeApi, 0)                                                                      \
    X(cuptiActivityEnableDriverApi, 0)

typedef struct jm__cupti {
#define X(symbol, required) __typeof__(symbol) *symbol;
    JM_CUPTI_MAP(X)
#undef X
    uint32_t version;
    char path[1024]; /* as it was loaded */
} jm__cupti;

/* Load once a process. False with a whole sentence in `why`. */
bool jm__cupti_load(jm__cupti *cupti, char *why, size_t why_size);

#endif
