/* The libcuptis that can sample hardware counters, newest first. */
#ifndef JM_RECORD_COUNTERS_PROCESS_LIBRARY_H
#define JM_RECORD_COUNTERS_PROCESS_LIBRARY_H

#include "record/counters/process/fault.h"
#include "record/cupti/pm_abi.h"
#include "record/cupti/search.h"

typedef struct jm__pm_library {
    const char *path;
    uint32_t version;
    int (*cuptiGetResultString)(int result, const char **text);
#define X(symbol, type, last) int (*symbol)(type *);
    JM_PM_MAP(X)
    JM_PM_OPTIONAL_MAP(X) /* NULL if it is not there */
#undef X
} jm__pm_library;

typedef struct jm__pm_libraries {
    jm__pm_library items[JM_CUPTI_CANDIDATES_MAX];
    size_t count;
} jm__pm_libraries;

/* Those of these paths that will do; more than JM_CUPTI_CANDIDATES_MAX are left out. Loaded for ever. False
 * with a fault if none will. */
bool jm__pm_libraries_load(jm__pm_libraries *all, char *const *paths, size_t count, jm__pm_fault *fault);

#endif
