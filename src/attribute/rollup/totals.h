/* The totals of a report that do not depend on its rows. */
#ifndef JM_ATTRIBUTE_ROLLUP_TOTALS_H
#define JM_ATTRIBUTE_ROLLUP_TOTALS_H

#include "attribute/attribution.h"

/* All but unresolved_energy_j. */
jm_status jm__totals_sum(jm_report_totals *totals, const jm__attribution *a, jm_error *err);

#endif
