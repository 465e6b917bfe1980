/* The rows of a report as a table: which are shown, in what unit. */
#ifndef JM_REPORT_ROWS_TABLE_H
#define JM_REPORT_ROWS_TABLE_H

#include "report/table.h"
#include <joulemap/report.h>

/* Fill an empty table, which the caller frees also after an error. */
jm_status jm__rows_table(jm__table *table, const jm_report *report, const jm_text_options *options,
                         jm_error *err);

#endif
