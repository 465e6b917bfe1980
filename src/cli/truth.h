/* Compares a report with the true energies that the simulated board wrote. */
#ifndef CLI_TRUTH_H
#define CLI_TRUTH_H

#include <joulemap/joulemap.h>
#include <stddef.h>

/* The demo's accuracy targets. */
#define CLI_LARGE_SHARE  0.02  /* layers with a larger share of the energy ... */
#define CLI_LAYER_WITHIN 0.05  /* ... must be this near to the truth, */
#define CLI_TOTAL_WITHIN 0.005 /* and all rows must add up this near to the board's total */
#define CLI_EXIT_MISSED  1     /* exit code if a target is missed */

#define CLI_NO_LAYER "(idle, or in no layer)"

typedef struct cli_layer {
    char *path;     /* owned */
    double found_j; /* its self energy over all kinds of rows; 0 if the report has no such row */
    double truth_j; /* 0 if the board has no such work */
} cli_layer;

typedef struct cli_truth {
    cli_layer *layers;
    size_t count;
    double total_j; /* of all boards; after cli_truth_compare without edges_j */
    double total_s; /* how long the board was simulated */
    double idle_w;  /* mean power of all boards together while they had no work */
    double idle_s;  /* idle time of the busiest board */
    double edges_j; /* after cli_truth_compare: idle energy before and after the recording, left out */
    double found_j; /* sum of all rows of the report */
    double found_s; /* duration of the recording */
} cli_truth;

/* Read the CSV `board,name,type,kind,calls,busy_s,energy_j`. */
jm_status cli_truth_read(cli_truth *truth, const char *path, jm_error *err);

/* Match the rows of a report by layer, and sort by energy. The board is simulated from the program's first
 * moment to its last; the recording is shorter. The idle energy outside the recording is taken off the truth.
 */
jm_status cli_truth_compare(cli_truth *truth, const jm_report *report, jm_error *err);

/* Print both side by side and whether the targets were met. Returns the exit code. */
int cli_truth_print(const cli_truth *truth);

void cli_truth_free(cli_truth *truth);

#endif
