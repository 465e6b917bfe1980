/* Which of a chip's counters can be sampled together: those that this CUPTI knows, as many as one pass takes.
 */
#ifndef JM_RECORD_COUNTERS_CHOICE_H
#define JM_RECORD_COUNTERS_CHOICE_H

#include "record/counters/chip.h"

/* Whether these are known, and fit one pass together. */
typedef bool jm__metrics_fit(void *context, const char *const *names, size_t count);

/* Leave in `chip` those that fit together: all if they do; else group by group and metric by metric, the
 * first before the later ones. Their count; 0: none. */
size_t jm__chip_choose(jm__chip *chip, jm__metrics_fit *fit, void *context);

#endif
