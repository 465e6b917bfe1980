/* Filling a jm_error. Internal side of joulemap/status.h. */
#ifndef JM_BASE_STATUS_H
#define JM_BASE_STATUS_H

#include <joulemap/status.h>

/* Fill `err` (may be NULL) and return `status`, so that a function can
 * `return jm__fail(...)`. The hint is the status's own; jm__hint replaces it. */
jm_status jm__fail(jm_error *err, jm_status status, int64_t code, const char *call, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* Replace the hint of an error just filled; returns `status`. */
jm_status jm__hint(jm_error *err, jm_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

jm_status jm__no_memory(jm_error *err, const char *call);

/* Pass an error on. */
#define JM_TRY(expression)                                                                                   \
    do {                                                                                                     \
        jm_status jm_try_status_ = (expression);                                                             \
        if (jm_try_status_ != JM_OK) return jm_try_status_;                                                  \
    } while (0)

#endif
