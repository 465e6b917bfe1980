/* The libcupti in use: found and loaded at run time, never unloaded. */
#ifndef JM_INJECT_CUPTI_H
#define JM_INJECT_CUPTI_H

#include <cuda.h>

#include <cupti.h>
#include <stdbool.h>
#include <stddef.h>

/* Newer than the oldest headers that will do (12.1). */
typedef CUptiResult CUPTIAPI jm__enable_call(CUpti_CallbackId id, uint8_t enable);

/* Those without which nothing goes. */
#define JM_CUPTI_MAP(X)                                                                                      \
    X(cuptiGetVersion)                                                                                       \
    X(cuptiGetResultString)                                                                                  \
    X(cuptiSubscribe)                                                                                        \
    X(cuptiUnsubscribe)                                                                                      \
    X(cuptiActivityRegisterCallbacks)                                                                        \
    X(cuptiActivityEnable)                                                                                   \
    X(cuptiActivityDisable)                                                                                  \
    X(cuptiActivityFlushAll)                                                                                 \
    X(cuptiActivityGetNextRecord)                                                                            \
    X(cuptiActivityGetNumDroppedRecords)                                                                     \
    X(cuptiSetThreadIdType)                                                                                  \
    X(cuptiGetCallbackName)

typedef struct jm__cupti {
#define X(symbol) __typeof__(symbol) *symbol;
    JM_CUPTI_MAP(X)
#undef X
    jm__enable_call *cuptiActivityEnableRuntimeApi, *cuptiActivityEnableDriverApi; /* NULL in older ones */
    uint32_t version;
    char path[1024]; /* as it was loaded */
} jm__cupti;

/* Load once a process. False with a whole sentence in `why`. */
bool jm__cupti_load(jm__cupti *cupti, char *why, size_t why_size);

#endif
