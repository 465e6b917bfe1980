/* Finds programs and libraries beside our own library and on PATH, and starts helpers: processes of ours for
 * work that may crash, hang or use much CPU time, away from the measured program. */
#ifndef JM_BASE_HELPER_H
#define JM_BASE_HELPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The folder of libjoulemap.so; false if it cannot be determined. */
bool jm__own_folder(char *folder, size_t size);

/* The path of `name` ("sim/libnvidia-ml.so.1") in our own folder or its parent (build/tests beside
 * build/sim). False if it is in neither; `path` is then where it should be. */
bool jm__beside(const char *name, char *path, size_t size);

/* The first executable of that name on PATH; false if there is none, and `path` is then undefined. */
bool jm__on_path(const char *name, char *path, size_t size);

/* How to start a helper. */
typedef struct jm__helper {
    const char *command;      /* the executable's path */
    char *const *arguments;   /* its argv, NULL-terminated */
    char *const *environment; /* likewise */
    int input, output;        /* its standard input and output; -1: /dev/null */
    bool own_group;           /* in a process group of its own: no Ctrl-C from the terminal */
} jm__helper;

/* A copy of this process's environment without our own variables, so that nothing is recorded or injected in
 * a helper. `unset` (names) are left out, `variables` ("KEY=value") are added; both end with NULL and may be
 * NULL. Call it on the program's own thread: the program may change its environment at the same time. Free
 * the result with one free(); NULL: no memory. */
char **jm__helper_environment(const char *const *unset, const char *const *variables);

/* Start it with no signal blocked, ignored or handled, and stderr on /dev/null. It is never a plain
 * fork: in the forked child of a program with threads, or with a driver of its own, the driver may fail or
 * hang. Returns 0 or an errno. */
int jm__helper_start(pid_t *child, const jm__helper *helper);

/* Wait for its end; false if it still runs at `until_ns`. The status stays 0 if somebody else reaped the
 * child. */
bool jm__helper_reap(pid_t child, int *status, int64_t until_ns);

/* Kill it and reap it; gives up after one second. */
void jm__helper_kill(pid_t child);

/* Called in the helper: close inherited descriptors except standard input, output, error and `kept` (-1:
 * none). */
void jm__helper_close_others(int kept);

#endif
