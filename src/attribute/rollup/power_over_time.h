/* jm_report_power for several boards, whose readings are prepared once. */
#ifndef JM_ATTRIBUTE_ROLLUP_POWER_OVER_TIME_H
#define JM_ATTRIBUTE_ROLLUP_POWER_OVER_TIME_H

#include <joulemap/report.h>

typedef struct jm__power_over_time jm__power_over_time;

/* The report must live as long. */
jm_status jm__power_over_time_begin(jm__power_over_time **out, const jm_report *report, jm_error *err);

/* See jm_report_power. */
jm_status jm__power_over_time_bins(const jm__power_over_time *power, size_t board, jm_power_bin *bins,
                                   size_t count, jm_error *err);
void jm__power_over_time_free(jm__power_over_time *power);

#endif
