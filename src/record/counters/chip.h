/* The hardware counters to sample per chip: src/record/counters/chips/NAME.json, one file per chip. */
#ifndef JM_RECORD_COUNTERS_CHIP_H
#define JM_RECORD_COUNTERS_CHIP_H

#include "base/embedded.h"
#include "base/status.h"
#include "format/rows/rows.h"

#define JM_CHIP_GROUPS_MAX 16
#define JM_METRIC_TEXT     128

typedef struct jm__metric {
    char name[JM_METRIC_TEXT]; /* CUPTI's name */
    char unit[16];             /* format/rows/rows.h */
    size_t group;
} jm__metric;

typedef struct jm__chip {
    char name[32]; /* CUPTI's name ("GH100"); "" for the list of chips that have none of their own */
    size_t metric_count;
    jm__metric metrics[JM_COUNTER_METRICS_MAX]; /* grouped, the more useful first */
    int64_t interval_ns;                        /* of a sample; 0: this chip counts cycles instead */
    int64_t interval_cycles;                    /* of the system clock */
} jm__chip;

extern const jm__embedded jm__chip_table[]; /* src/record/counters/chips */

/* The list of a chip, else (also for "") the generic one. BAD_DATA: one of our files is wrong. */
jm_status jm__chip_load(jm__chip *chip, const char *name, jm_error *err);

/* The unit of a metric if it is sampled together with `names`: an incomplete set of slots are events. NULL:
 * no list has it. */
const char *jm__metric_unit(const char *name, const char *const *names, size_t count);

/* Are these metrics known, and do they fit into one pass? */
typedef bool jm__metrics_fit(void *context, const char *const *names, size_t count);

/* Reduces `chip` to metrics that fit into one pass: all of them, or else group by group and metric by metric,
 * in order. Returns their number; 0: none fits. */
size_t jm__chip_choose(jm__chip *chip, jm__metrics_fit *fit, void *context);

#endif
