/* Finds libcupti, for the injected library and for doctor. Needs only libc: it runs inside other programs. */
#ifndef JM_RECORD_CUPTI_SEARCH_H
#define JM_RECORD_CUPTI_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JM_CUPTI_CANDIDATES_MAX 32

/* The required calls. */
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

/* Lists the candidates in the order in which they are tried:
 *   - JOULEMAP_CUPTI, and then no others;
 *   - a library that is already loaded: a second copy would not see the program's work;
 *   - packages beside loaded libraries, those of VIRTUAL_ENV, and those of `program` (an executable such as
 *     /usr/bin/python3.11; NULL: unknown);
 *   - the toolkit, the loader's search path, packages of the user or the machine for any Python.
 *
 * `past_loaded`: the list is for another process, so a library that is loaded here does not end the
 * search. */
void jm__cupti_search(jm__cupti_candidates *all, const char *program, bool past_loaded);

/* Loads a library and checks that it has the calls above and a version with known record layouts. Returns the
 * handle, which stays open, or NULL with half a sentence in `reason` ("PATH lacks cuptiSubscribe"; empty if
 * there is no such file). */
void *jm__cupti_open(const char *path, uint32_t *version, char *reason, size_t reason_size);

/* The Python whose packages are searched: this executable if it is a Python, else JOULEMAP_PYTHON or the
 * first python3 on PATH, with symbolic links resolved. NULL: none. `size` is at least PATH_MAX. */
const char *jm__cupti_program(char *program, size_t size);

#endif
