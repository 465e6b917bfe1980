/* What `stat --interval` says while the command runs. */
#ifndef CLI_INTERVAL_H
#define CLI_INTERVAL_H

#include "cli/child.h"
#include "cli/verb.h"

/* Wait for the command's end, and say every `interval_s` what the boards of the run took since the line
 * before: on stderr or, with --json, as a line of JSON on stdout. */
void cli_interval_wait(const cli_args *args, jm_run *run, cli_child *child, double interval_s);

#endif
