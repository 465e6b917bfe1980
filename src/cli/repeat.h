/* What `stat -r` says of several runs of one command. */
#ifndef CLI_REPEAT_H
#define CLI_REPEAT_H

#include "cli/stat_run.h"

/* Print it, on stderr or, with --json, as an object on stdout; returns the exit code. `wanted`: how many runs
 * were asked for; one that failed ended them early, and is not among them (`why_fewer`: "failed"). */
int cli_repeat_print(const cli_args *args, const cli_stat_run *runs, size_t count, size_t wanted,
                     const char *why_fewer);

#endif
