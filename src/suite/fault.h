/* What failed, with its cause and its cure, in the error that a caller owns. */
#ifndef SUITE_FAULT_H
#define SUITE_FAULT_H

#include <joulemap/status.h>

/* Fill it in; returns the status. `err` may be NULL. `hint`: the cure, "" if none is known. */
jm_status suite_fail(jm_error *err, jm_status status, const char *hint, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#define SUITE_TRY(call)                                                                                      \
    do {                                                                                                     \
        const jm_status suite_status = (call);                                                               \
        if (suite_status != JM_OK) return suite_status;                                                      \
    } while (0)

#endif
