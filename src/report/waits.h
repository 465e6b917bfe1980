/* What of the work was waiting, in sentences: rows have it, but none is it. */
#ifndef JM_REPORT_WAITS_H
#define JM_REPORT_WAITS_H

#include "report/facts.h"

/* Copies with no kernel beside them, and collectives that waited for a rank, where they took 0.5 % of the
 * GPUs' time or more. */
jm_status jm__waits_add(jm__facts *facts, const jm_report *report, jm_error *err);

#endif
