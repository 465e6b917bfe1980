/* The guard of a helper: a second process that does nothing but wait for the helper's end, and puts the board
 * back if the helper could not. Whoever kills one of the two leaves the other. */
#ifndef JM_CAP_HELPER_GUARD_H
#define JM_CAP_HELPER_GUARD_H

#include "cap/lease/folder.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct jm__guard {
    pid_t pid; /* 0: none */
    int link;  /* readable once it is gone; -1: none */
    int started;
} jm__guard;

/* Start one for this process and this board, whose lock it holds, too. False: it could not be started, or
 * too many of them died. */
bool jm__guard_start(jm__guard *guard, const jm__lease_folder *folder, const char *uuid, int lock);

/* It is gone: take its descriptor and its status. */
void jm__guard_reap(jm__guard *guard);

/* The guard itself, with the lock as standard input and the helper's end of the link as standard output.
 * Arguments: guard FOLDER UUID HELPER_PID HELPER_START. Returns the exit code. */
int jm__guard_run(int argc, char **argv);

#endif
