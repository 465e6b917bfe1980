/* Putting a fault into words. */
#include "record/counters/process/fault.h"

#include <stdarg.h>
#include <stdio.h>

bool jm__pm_fail(jm__pm_fault *fault, const char *cure, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(fault->text, sizeof fault->text, format, args);
    va_end(args);
    snprintf(fault->cure, sizeof fault->cure, "%s", cure);
    return false;
}
