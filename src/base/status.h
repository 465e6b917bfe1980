/* Filling a jm_error. The internal side of joulemap/status.h. */
#ifndef JM_BASE_STATUS_H
#define JM_BASE_STATUS_H

#include <joulemap/status.h>

/* Fill `err` (may be NULL) and return `status`: `return jm__fail(...)`. The hint is the default one of the
 * status; jm__hint replaces it. */
jm_status jm__fail(jm_error *err, jm_status status, int64_t code, const char *call, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* Replace the hint of an error that was just filled; returns `status`. */
jm_status jm__hint(jm_error *err, jm_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

jm_status jm__no_memory(jm_error *err, const char *call);

/* BAD_DATA for a file in UTF-16, which Windows calls "Unicode". */
jm_status jm__in_utf16(const char *path, jm_error *err);

/* With JM_TRACE_ERRORS (CMake: -DJM_TRACE_ERRORS=ON, on in debug builds) each error writes its path to
 * stderr: where it was made, then each JM_TRY that passed it on. Otherwise this costs nothing. */
#ifdef JM_TRACE_ERRORS
void jm__trace(const char *file, int line, const char *function, jm_status status, const char *what);
#define JM_TRACE(status, what)     jm__trace(__FILE__, __LINE__, __func__, (status), (what))
#define jm__fail(err, status, ...) (JM_TRACE((status), "made here"), (jm__fail)((err), (status), __VA_ARGS__))
#define jm__no_memory(err, call)   (JM_TRACE(JM_NO_MEMORY, "made here"), (jm__no_memory)((err), (call)))
#else
#define JM_TRACE(status, what) ((void)0)
#endif

/* Return an error to the caller. */
#define JM_TRY(expression)                                                                                   \
    do {                                                                                                     \
        jm_status jm_try_status_ = (expression);                                                             \
        if (jm_try_status_ != JM_OK) {                                                                       \
            JM_TRACE(jm_try_status_, #expression);                                                           \
            return jm_try_status_;                                                                           \
        }                                                                                                    \
    } while (0)

#endif
