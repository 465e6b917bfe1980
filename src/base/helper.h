/* Programs and libraries beside our own library and on PATH; and helpers: programs of ours that do what may
 * crash, hang or burn time, so that it happens outside of the program that is measured. */
#ifndef JM_BASE_HELPER_H
#define JM_BASE_HELPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The folder that libjoulemap.so lies in; false if it cannot be told. */
bool jm__own_folder(char *folder, size_t size);

/* The path of `name` ("sim/libnvidia-ml.so.1") in that folder, or one folder up (build/tests beside
 * build/sim). False if it is in neither; `path` then says where it should be. */
bool jm__beside(const char *name, char *path, size_t size);

/* The first program of that name in a folder of PATH. False if there is none; `path` is then undefined. */
bool jm__on_path(const char *name, char *path, size_t size);

/* Both ends of its life: start and end here, manners there. */
typedef struct jm__helper {
    const char *command;      /* the executable's path */
    char *const *arguments;   /* its argv, NULL-terminated */
    char *const *environment; /* likewise */
    int input, output;        /* its standard input and output; -1: /dev/null */
    bool own_group;           /* a Ctrl-C on the terminal is not for it */
} jm__helper;

/* A copy of this process's environment, clean: no run and no injection, since nothing of ours shall begin in
 * a helper. `unset`: names of more variables that it is not to have; `variables`: "KEY=value" that it is to
 * have; both end with NULL, and may be NULL. To be asked in a thread of the program, which may change its
 * environment while another thread looks. One free() for all; NULL: no memory. */
char **jm__helper_environment(const char *const *unset, const char *const *variables);

/* Start it with no signal blocked, ignored or handled, its stderr going nowhere. Never a fork of the program
 * that asks: a driver's start in the child of a program with threads, or with a driver of its own, proves
 * nothing and may stand still for ever. 0 or an errno. */
int jm__helper_start(pid_t *child, const jm__helper *helper);

/* False if it has not ended by then. Where the program has its children reaped by others, the status stays 0.
 */
bool jm__helper_reap(pid_t child, int *status, int64_t until_ns);

/* Kill it, and wait as long as a process may take to die. */
void jm__helper_kill(pid_t child);

/* In the helper: close what was inherited but standard input, output and error, and `kept` (-1: none). */
void jm__helper_close_others(int kept);

#endif
