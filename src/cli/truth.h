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
    double total_j; /* of all boards, as it was; once compared, of the time that the recording holds */
    double total_s; /* how long the board was watched */
    double idle_w;  /* what all boards drew while they had no work, on average */
    double idle_s;  /* how long the one with the least work had none */
    double edges_j; /* once compared: taken off as drawn at idle before and after the recording */
    double found_j; /* sum of all rows of the report */
    double found_s; /* how long the recording is */
} cli_truth;

/* Read the CSV `board,name,type,kind,calls,busy_s,energy_j`. */
jm_status cli_truth_read(cli_truth *truth, const char *path, jm_error *err);

/* Put the rows of a report by layer beside it, and sort by energy. The board is watched from the program's
 * first moment to its last, the recording begins and ends within it: in between it has no work, and that is
 * taken off the truth. */
jm_status cli_truth_compare(cli_truth *truth, const jm_report *report, jm_error *err);

/* Print both side by side, and whether the promises were kept; the exit code. */
int cli_truth_print(const cli_truth *truth);

void cli_truth_free(cli_truth *truth);

#endif
