/* Putting it into words. */
#include "suite/fault.h"

#include <stdarg.h>
#include <stdio.h>

jm_status suite_fail(jm_error *err, jm_status status, const char *hint, const char *format, ...)
{
    if (err == NULL) return status;
    va_list args;
    *err = (jm_error){.status = status};
    va_start(args, format);
    vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    snprintf(err->hint, sizeof err->hint, "%s", hint);
    return status;
}
