/* The counters of a generated recording as CSV, and what is true of them. */
#ifndef SIM_COUNTERS_CSV_H
#define SIM_COUNTERS_CSV_H

#include "counters.h"

#include <stdio.h>

/* What takes windows; `context` is the FILE. Times: ns, as the board's. */
void sim_counters_csv_header(FILE *file);
void sim_counters_csv_take(void *context, const sim_window *window);

/* counters_truth.csv: metric,weight (W per unit of its rate: per count a second, or per percent), and what a
 * board with a context draws at rest as "(constant)". */
void sim_counters_truth(FILE *file, const sim_profile *profile);

#endif
