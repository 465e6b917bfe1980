/* The subcommands of `joulemap cap`. Each returns the exit code. */
#ifndef CAP_COMMAND_CAPS_H
#define CAP_COMMAND_CAPS_H

#include "cli/verb.h"

int cli_cap_show(const cli_args *args);
int cli_cap_set(const cli_args *args);
int cli_cap_reset(const cli_args *args);
int cli_cap_search(const cli_args *args);

/* GPUs with a cap, simulated with --sim. NULL: none, or none that --board names, which was reported; *code is
 * the exit code. */
jm_cap_boards *cli_cap_boards(const cli_args *args, int *code);

/* The GPU that --board names (an index or a UUID). NULL: none or several, which was reported. */
const jm_cap_board *cli_cap_board_selected(const cli_args *args, const jm_cap_boards *boards, int *code);

#endif
