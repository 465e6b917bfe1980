/* Which libcupti: the one search, for the injected library that uses it and for doctor that tells of it.
 *
 * libc alone: it runs inside other people's programs. */
#ifndef JM_RECORD_CUPTI_SEARCH_H
#define JM_RECORD_CUPTI_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JM_CUPTI_CANDIDATES_MAX 32

/* The calls without which nothing goes. */
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
    X(cuptiEnableCallback)                                                                                   \
    X(cuptiGetCallbackName)

typedef struct jm__cupti_candidate {
    char path[1024];
    const char *where; /* how it was found: "JOULEMAP_CUPTI", "VIRTUAL_ENV", ... */
} jm__cupti_candidate;

typedef struct jm__cupti_candidates {
    jm__cupti_candidate items[JM_CUPTI_CANDIDATES_MAX];
    size_t count;
} jm__cupti_candidates;

/* All places where this process would look, the first that opens is taken: an override (that or none), one
 * already loaded (a second copy would not see the program's work), packages beside what is loaded, those of
 * VIRTUAL_ENV and of `program` (an executable such as /usr/bin/python3.11; NULL: not known), the toolkit, the
 * loader's own path, packages that the user or the machine has for any Python.
 * `past_loaded`: for another process, so that one that is loaded here does not end the search. */
void jm__cupti_search(jm__cupti_candidates *all, const char *program, bool past_loaded);

/* Load it, see that it has the calls above and records of a known layout. The handle, for ever, or NULL with
 * half a sentence in `fault` ("PATH lacks cuptiSubscribe"); an empty one if there is no such file. */
void *jm__cupti_open(const char *path, uint32_t *version, char *fault, size_t fault_size);

/* The executable whose packages count: this one if it is a Python, else the Python that would be started from
 * here (JOULEMAP_PYTHON, else the first python3 on PATH), by its true name, as it stands in /proc/self/exe.
 * NULL: none. `size` is at least PATH_MAX. */
const char *jm__cupti_program(char *program, size_t size);

#endif
