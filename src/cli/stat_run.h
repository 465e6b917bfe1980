/* One run of the command that `stat` measures, and what is said of it. */
#ifndef CLI_STAT_RUN_H
#define CLI_STAT_RUN_H

#include "cli/child.h"
#include "cli/verb.h"
#include <jansson.h>

typedef struct cli_stat_run {
    double duration_s;
    int exit_code;
    jm_report *report; /* of its time, by board */
} cli_stat_run;

/* Its report, out of a recording that is complete. */
jm_status cli_stat_run_of(cli_stat_run *out, jm_recording *recording, const cli_child *child, jm_error *err);
void cli_stat_run_free(cli_stat_run *run);

/* A row that is a board; the others (idle time, what is unresolved) are shares of them. */
bool cli_stat_is_board(const jm_row *row);

/* "NVIDIA H200", with its index where the run had several of that name: "NVIDIA H200 1". `size` bytes of
 * room. */
void cli_stat_board_name(char *out, size_t size, const jm_report *report, const jm_row *board);

/* Lines on stderr, as the command's own results are on stdout. */
void cli_stat_run_print(const cli_stat_run *run);

/* NULL if memory is out. */
json_t *cli_stat_run_json(const cli_stat_run *run);

#endif
