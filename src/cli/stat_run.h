/* One run of the command that `stat` measures, and what is said of it. */
#ifndef CLI_STAT_RUN_H
#define CLI_STAT_RUN_H

#include "cli/child.h"
#include "cli/verb.h"
#include <jansson.h>

/* A board in it; texts live as long as the run. */
typedef struct cli_stat_board {
    char *name; /* for people: with its index where the run had several of that name, "NVIDIA H200 1" */
    char *kind, *path, *boards;
    char *plain_name; /* as the report has it */
    double energy_j, low_j, high_j;
} cli_stat_board;

typedef struct cli_stat_note {
    char *text;
    bool essential;
} cli_stat_note;

/* Numbers and a few words, however long it took: thousands of runs are kept until the last one has ended. */
typedef struct cli_stat_run {
    double duration_s;
    int exit_code;
    jm_report_totals totals; /* its text is `source` */
    char *source;            /* of the energy, "": not known */
    double temperature_c;    /* NAN: not read */
    cli_stat_board *boards;
    size_t board_count;
    cli_stat_note *notes;
    size_t note_count;
} cli_stat_run;

/* Out of a recording that is complete. */
jm_status cli_stat_run_of(cli_stat_run *out, jm_recording *recording, const cli_child *child, jm_error *err);
void cli_stat_run_free(cli_stat_run *run);

/* Lines on stderr, as the command's own results are on stdout. */
void cli_stat_run_print(const cli_stat_run *run);

/* NULL if memory is out. */
json_t *cli_stat_run_json(const cli_stat_run *run);

#endif
