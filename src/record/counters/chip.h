/* Which hardware counters are worth sampling, by chip: src/record/counters/chips/NAME.json, one file a chip.
 */
#ifndef JM_RECORD_COUNTERS_CHIP_H
#define JM_RECORD_COUNTERS_CHIP_H

#include "base/embedded.h"
#include "base/status.h"
#include "format/rows/rows.h"

#define JM_CHIP_GROUPS_MAX 16
#define JM_METRIC_TEXT     128

typedef struct jm__metric {
    char name[JM_METRIC_TEXT]; /* as CUPTI calls it */
    char unit[16];             /* format/rows/rows.h */
    size_t group;
} jm__metric;

typedef struct jm__chip {
    char name[32]; /* as CUPTI calls it ("GH100"); "" of the list for chips that have none of their own */
    size_t metric_count;
    jm__metric metrics[JM_COUNTER_METRICS_MAX]; /* those of a group together; the more telling first */
    int64_t interval_ns;                        /* of a sample; 0: this chip counts cycles instead */
    int64_t interval_cycles;                    /* of the system clock */
} jm__chip;

extern const jm__embedded jm__chip_table[]; /* src/record/counters/chips */

/* The list of a chip, else ("" too) the one for all others. BAD_DATA: a file of ours is wrong. */
jm_status jm__chip_load(jm__chip *chip, const char *name, jm_error *err);

/* The unit of a metric that some chip's list has, where it is sampled with these `names`: slots that are not
 * all there are events. NULL: no list has it. */
const char *jm__metric_unit(const char *name, const char *const *names, size_t count);

/* Whether these are known, and fit one pass together. */
typedef bool jm__metrics_fit(void *context, const char *const *names, size_t count);

/* Leave in `chip` those that fit together: all if they do; else group by group and metric by metric, the
 * first before the later ones. Their count; 0: none. */
size_t jm__chip_choose(jm__chip *chip, jm__metrics_fit *fit, void *context);

#endif
