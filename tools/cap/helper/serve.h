/* The process that holds one power cap for whoever started it, and puts back what it found. Of all that
 * joulemap is made of this alone can set anything on a board.
 *
 *     joulemap-cap serve [--within LOW:HIGH] [--board N|UUID]
 *     joulemap-cap guard FOLDER UUID HELPER_PID HELPER_START
 *
 * A rule of sudo's or polkit's lets others than root set caps by it, within the bounds that the rule pins
 * (docs/caps.md). Whom a rule pins to either is refused clocks, too. */
#ifndef JM_CAP_HELPER_SERVE_H
#define JM_CAP_HELPER_SERVE_H

#include <stdbool.h>

/* First of all in main. True: this process was a helper, or had no words for one; *code is its exit code.
 * False: joulemap started it for a person, by its own name. A rule names joulemap-cap: whatever words it
 * allows, none of them has a command run as root. */
bool jm__cap_helper(int argc, char **argv, int *code);

#endif
