/* What `joulemap cap` does, a file a word of it (cap_search.c, ...). Each returns the exit code. */
#ifndef CLI_CAP_BOARD_H
#define CLI_CAP_BOARD_H

#include "cli/verb.h"

int cli_cap_show(const cli_args *args);
int cli_cap_set(const cli_args *args);
int cli_cap_reset(const cli_args *args);
int cli_cap_search(const cli_args *args);

/* GPUs with a cap, as --sim says; NULL: there are none, which was said, and *code is the exit code. */
jm_cap_boards *cli_cap_boards(const cli_args *args, int *code);

/* Is it the one that --board says (an index or a UUID), or was none said? */
bool cli_cap_is_meant(const cli_args *args, const jm_cap_board *board);

/* The one that is meant; NULL: none, or several, which was said. */
const jm_cap_board *cli_cap_board_meant(const cli_args *args, const jm_cap_boards *boards, int *code);

/* "30s", "10m", "2h": false after a usage error. *out stays if the option was not given. */
bool cli_cap_get_time(const cli_args *args, const char *name, int64_t *out_ns);

/* "12 s", "3 min 5 s", "2 h 10 min". Returns `text`. */
const char *cli_cap_time_text(char *text, size_t size, int64_t duration_ns);

/* "sleep 60 (pid 12, user 0)" for people, without control characters. Returns `text`. */
const char *cli_cap_holder_text(char *text, size_t size, const jm_cap_lease_info *lease);

#endif
