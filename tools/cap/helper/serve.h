/* The process that holds one power cap for its parent, and puts back the previous one. No other part of
 * joulemap can set anything on a board.
 *
 *     joulemap-cap serve [--within LOW:HIGH] [--board N|UUID]
 *     joulemap-cap guard FOLDER UUID HELPER_PID HELPER_START
 *
 * A sudo or polkit rule lets other users than root set caps with it, within the rule's bounds (docs/caps.md).
 * With either bound, clocks are refused. */
#ifndef JM_CAP_HELPER_SERVE_H
#define JM_CAP_HELPER_SERVE_H

#include <stdbool.h>

/* Called first in main. True: this process was a helper, or had invalid arguments; *code is its exit code.
 * False: joulemap started it for a user, under its own name. sudo rules name joulemap-cap: no arguments that
 * a rule allows can make it run a command as root. */
bool jm__cap_helper(int argc, char **argv, int *code);

#endif
