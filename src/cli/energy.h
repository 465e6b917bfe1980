/* What a run took, in one line. */
#ifndef CLI_ENERGY_H
#define CLI_ENERGY_H

#include <joulemap/joulemap.h>
#include <stdbool.h>
#include <stdio.h>

/* The boards' totals between two times of a recording. */
jm_status cli_energy_report(jm_report **out, jm_recording *recording, int64_t from_ns, int64_t to_ns,
                            jm_error *err);

/* "144.1 J (±0.9), 28.7 W": energy with half of its 95 % interval, mean power over `duration_s`: the time
 * that is recorded, which a lost board or a full disk may have cut short. */
void cli_energy_print(FILE *out, double energy_j, double low_j, double high_j, double duration_s);

/* The same of a report's total, and how much of the time asked for it is of, if not all. */
void cli_energy_print_total(FILE *out, const jm_report_totals *totals, double wanted_s);

#endif
