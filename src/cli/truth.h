/* What the simulated board says was true, beside what a report found. */
#ifndef CLI_TRUTH_H
#define CLI_TRUTH_H

#include <joulemap/joulemap.h>
#include <stddef.h>

/* What the demo promises. */
#define CLI_LARGE_SHARE  0.02  /* a layer with more of the energy than this ... */
#define CLI_LAYER_WITHIN 0.05  /* ... is this near to the truth; */
#define CLI_TOTAL_WITHIN 0.005 /* and all rows add up to the board's total */
#define CLI_EXIT_MISSED  1     /* the exit code if not */

#define CLI_NO_LAYER "(idle, or in no layer)"

typedef struct cli_layer {
    char *path;     /* owned */
    double found_j; /* its own energy, all kinds of it together; 0 if the report has no such row */
    double truth_j; /* 0 if the board knew of no such work */
} cli_layer;

typedef struct cli_truth {
    cli_layer *layers;
    size_t count;
    double total_j; /* of all boards, as it was */
    double total_s; /* how long the board was watched */
    double found_j; /* sum of all rows of the report */
    double found_s; /* how long the recording is */
} cli_truth;

/* Read the CSV `board,name,type,kind,calls,busy_s,energy_j`. */
jm_status cli_truth_read(cli_truth *truth, const char *path, jm_error *err);

/* Put the rows of a report by layer beside it, and sort by energy. */
jm_status cli_truth_compare(cli_truth *truth, const jm_report *report, jm_error *err);

/* Print both side by side, and whether the promises were kept; the exit code. */
int cli_truth_print(const cli_truth *truth);

void cli_truth_free(cli_truth *truth);

#endif
