/* The calibration suite (`python -m joulemap.calibration`), started and watched. */
#ifndef CLI_SUITE_H
#define CLI_SUITE_H

#include "cli/verb.h"

typedef struct cli_suite {
    const char *sim; /* the profile of a simulated board; NULL: a real one */
    long long board; /* its index; -1: the first that CUDA shows, known once it was looked for */
    char uuid[JM_BOARD_TEXT];
    long long seconds, seed;
    bool replace; /* an existing recording */
} cli_suite;

/* Is there a Python with PyTorch, and a GPU whose counters this user may read? It takes seconds, and the
 * suite minutes. CLI_GO_ON, or the exit code after the cause and its cure were said. */
int cli_suite_look(cli_suite *suite, const cli_args *args);

/* Run it; it records itself into `path`, with a bar on stderr. CLI_GO_ON, or the exit code: it said itself
 * what failed. */
int cli_suite_record(const cli_suite *suite, const cli_args *args, const char *path);

/* Somebody ended it. */
bool cli_suite_was_ended(int code);

#endif
