/* Status codes, the error that a caller owns, and the library's version.
 *
 * Every function of joulemap that can fail returns a jm_status and takes a
 * `jm_error *`, which may be NULL. Nothing in the library prints, exits or
 * keeps a global last error. */
#ifndef JOULEMAP_STATUS_H
#define JOULEMAP_STATUS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define JM_API __attribute__((visibility("default")))
#else
#define JM_API
#endif

/* name, exit code of the command line, text, hint (the cure, may be "") */
#define JM_STATUS_MAP(X)                                                                                     \
    X(OK, 0, "success", "")                                                                                  \
    X(INTERNAL, 70, "internal error", "this is a fault of joulemap: please report it")                       \
    X(USAGE, 2, "wrong usage", "see --help")                                                                 \
    X(NO_MEMORY, 71, "out of memory", "")                                                                    \
    X(NOT_FOUND, 66, "not found", "")                                                                        \
    X(NO_DEVICE, 69, "no usable GPU", "run `joulemap doctor` to see what is missing")                        \
    X(DEVICE_LOST, 69, "GPU lost", "check `dmesg` for Xid messages; the GPU may need a reset")               \
    X(NO_PERMISSION, 77, "permission denied", "")                                                            \
    X(NOT_SUPPORTED, 69, "not supported here", "run `joulemap doctor` to see what is missing")               \
    X(IO, 74, "input or output failed", "")                                                                  \
    X(DISK_FULL, 73, "disk full", "free space on that file system, or record elsewhere with -o")             \
    X(BAD_DATA, 65, "damaged or malformed input", "")                                                        \
    X(UNKNOWN_VERSION, 65, "unknown version",                                                                \
      "read this file with the joulemap that wrote it, or a newer one")                                      \
    X(LIMIT, 65, "a built-in limit was passed", "")                                                          \
    X(BUSY, 75, "busy", "try again")                                                                         \
    X(CHILD, 127, "the command could not be started", "check its name, path and permissions")

typedef enum jm_status {
#define X(name, exit_code, text, hint) JM_##name,
    JM_STATUS_MAP(X)
#undef X
        JM_STATUS_COUNT
} jm_status;

/* A failure. Owned by the caller, valid until it is reused. */
typedef struct jm_error {
    jm_status status;
    int64_t code;   /* the other library's own code (errno, NVML, SQLite, CUPTI), 0 if none */
    char call[64];  /* the call that failed, "" if none */
    char text[512]; /* a full sentence without the hint: the cause and its subject */
    char hint[256]; /* the cure; "" if none is known */
} jm_error;

JM_API const char *jm_status_name(jm_status status); /* "DISK_FULL"; never NULL */
JM_API const char *jm_status_text(jm_status status); /* "disk full"; never NULL */
JM_API const char *jm_status_hint(jm_status status); /* the cure or ""; never NULL */
JM_API int jm_status_exit_code(jm_status status);    /* for a command line */
JM_API jm_status jm_status_of_errno(int code);       /* for a failed call on files; IO for other codes */
JM_API const char *jm_version(void);                 /* "0.1.0" */

/* Copy `text` to `out` (`size` bytes) so that it is safe for a terminal: control characters and invalid UTF-8
 * become U+FFFD. Cut at a whole character. For texts from outside, such as file names and phase names.
 * Returns `out`. */
JM_API char *jm_text_printable(char *out, size_t size, const char *text);

#ifdef __cplusplus
}
#endif
#endif
