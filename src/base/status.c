/* Status codes as text, and filling errors. */
#include "base/status.h"

#include "base/plain.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#ifndef JOULEMAP_VERSION
#error "JOULEMAP_VERSION comes from CMake"
#endif

static const struct {
    const char *name;
    int exit_code;
    const char *text;
    const char *hint;
} statuses[JM_STATUS_COUNT] = {
#define X(name, exit_code, text, hint) {#name, exit_code, text, hint},
    JM_STATUS_MAP(X)
#undef X
};

static size_t index_of(jm_status status)
{
    return (unsigned)status < JM_STATUS_COUNT ? (size_t)status : (size_t)JM_INTERNAL;
}

const char *jm_status_name(jm_status status)
{
    return statuses[index_of(status)].name;
}
const char *jm_status_text(jm_status status)
{
    return statuses[index_of(status)].text;
}
const char *jm_status_hint(jm_status status)
{
    return statuses[index_of(status)].hint;
}
int jm_status_exit_code(jm_status status)
{
    return statuses[index_of(status)].exit_code;
}

jm_status jm_status_of_errno(int code)
{
    switch (code) {
    case EACCES:
    case EPERM:
    case EROFS:
        return JM_NO_PERMISSION;
    case ENOENT:
    case ENOTDIR:
        return JM_NOT_FOUND;
    case ENOSPC:
    case EDQUOT:
    case EFBIG: /* above `ulimit -f` */
        return JM_DISK_FULL;
    case ENOMEM:
        return JM_NO_MEMORY;
    default:
        return JM_IO;
    }
}

const char *jm_version(void)
{
    return JOULEMAP_VERSION;
}

#ifdef JM_TRACE_ERRORS
#undef jm__fail
#undef jm__no_memory

void jm__trace(const char *file, int line, const char *function, jm_status status, const char *what)
{
    fprintf(stderr, "error path: %s:%d: %s: %s: %s\n", file, line, function, jm_status_name(status), what);
}
#endif

jm_status jm__fail(jm_error *err, jm_status status, int64_t code, const char *call, const char *format, ...)
{
    if (err == NULL) return status;
    err->status = status;
    err->code = code;
    snprintf(err->call, sizeof err->call, "%s", call == NULL ? "" : call);
    snprintf(err->hint, sizeof err->hint, "%s", jm_status_hint(status));
    va_list args;
    va_start(args, format);
    jm__vprint(err->text, sizeof err->text, format, args);
    va_end(args);
    return status;
}

jm_status jm__hint(jm_error *err, jm_status status, const char *format, ...)
{
    if (err == NULL) return status;
    va_list args;
    va_start(args, format);
    jm__vprint(err->hint, sizeof err->hint, format, args);
    va_end(args);
    return status;
}

jm_status jm__no_memory(jm_error *err, const char *call)
{
    return jm__fail(err, JM_NO_MEMORY, 0, call, "out of memory in %s", call);
}

jm_status jm__in_utf16(const char *path, jm_error *err)
{
    jm__fail(err, JM_BAD_DATA, 0, NULL, "%s is in UTF-16", path);
    return jm__hint(err, JM_BAD_DATA, "save it as UTF-8; `iconv -f UTF-16 -t UTF-8` does it, too");
}
