/* From what traced steps did to what all did that they stand for. */
#ifndef JM_ATTRIBUTE_WORK_STOOD_SETTLE_H
#define JM_ATTRIBUTE_WORK_STOOD_SETTLE_H

#include "attribute/work/tally.h"

/* Once all work of a board has passed: adds it to the sums of the report, with the idle time that it leaves
 * of the steps' time, and parts what tracing made of the idle time of the traced ones. `from_host`: work is
 * spans of the host. */
void jm__stood_settle(jm__tally *tally, const jm__stood *stood, bool from_host);

#endif
