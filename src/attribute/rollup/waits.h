/* What of the work was waiting: copies with no kernel beside them, collectives whose ranks were not all
 * there. It stays with the rows that launched it. */
#ifndef JM_ATTRIBUTE_ROLLUP_WAITS_H
#define JM_ATTRIBUTE_ROLLUP_WAITS_H

#include "attribute/attribution.h"

/* Sets copy_... and collective_wait_... of the totals, over all boards and processes. */
void jm__waits_sum(jm_report_totals *totals, const jm__attribution *a);

#endif
