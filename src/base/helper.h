/* A helper process: a program of ours that does what may crash, hang or burn time, so that it happens outside
 * of the program that is measured. Both ends of its life: start and end here, manners there. */
#ifndef JM_BASE_HELPER_H
#define JM_BASE_HELPER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct jm__helper {
    const char *command;          /* the executable's path */
    char *const *arguments;       /* its argv, NULL-terminated */
    const char *const *unset;     /* names of more variables that it is not to have; NULL: none */
    const char *const *variables; /* "KEY=value" that it is to have; NULL: none */
    int input, output;            /* its standard input and output; -1: /dev/null */
    bool own_group;               /* a Ctrl-C on the terminal is not for it */
} jm__helper;

/* Start it with a clean environment (no run, no injection: nothing of ours shall begin in it), with no signal
 * blocked, ignored or handled, its stderr going nowhere. Never a fork of the program that asks: a driver's
 * start in the child of a program with threads, or with a driver of its own, proves nothing and may stand
 * still for ever. 0 or an errno. */
int jm__helper_start(pid_t *child, const jm__helper *helper);

/* False if it has not ended by then. Where the program has its children reaped by others, the status stays 0.
 */
bool jm__helper_reap(pid_t child, int *status, int64_t until_ns);

/* Kill it, and wait as long as a process may take to die. */
void jm__helper_kill(pid_t child);

/* In the helper: close what was inherited but standard input, output and error, and `kept` (-1: none). */
void jm__helper_close_others(int kept);

#endif
