/* The calibration suite, started and watched: `python -m joulemap.calibration`, of PyTorch, or
 * joulemap-suite, of CUDA C for machines without it. */
#ifndef CLI_SUITE_H
#define CLI_SUITE_H

#include "cli/verb.h"

/* name, text */
#define CLI_SUITE_MAP(X)                                                                                     \
    X(PYTORCH, "pytorch")                                                                                    \
    X(CUDA, "cuda")

typedef enum cli_suite_way {
    CLI_SUITE_ANY, /* PyTorch's where it can be played, until it was looked for */
#define X(name, text) CLI_SUITE_##name,
    CLI_SUITE_MAP(X)
#undef X
} cli_suite_way;

typedef struct cli_suite {
    cli_suite_way way;
    const char *sim; /* the profile of a simulated board; NULL: a real one */
    long long board; /* its index; -1: the first that CUDA shows, known once it was looked for */
    char uuid[JM_BOARD_TEXT];
    long long seconds, seed;
    bool replace; /* an existing recording */
} cli_suite;

/* The way of this text; ANY for NULL. */
cli_suite_way cli_suite_way_of(const char *text);

/* Which suite is it, is what it needs there, and a GPU whose counters this user may read? It takes seconds,
 * and the suite minutes. CLI_GO_ON, or the exit code after the cause and its cure were said. */
int cli_suite_look(cli_suite *suite, const cli_args *args);

/* Run it; it records itself into `path`, with a bar on stderr. CLI_GO_ON, or the exit code: it said itself
 * what failed. */
int cli_suite_record(const cli_suite *suite, const cli_args *args, const char *path);

/* Somebody ended it. */
bool cli_suite_was_ended(int code);

#endif
