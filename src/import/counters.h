/* Hardware counters out of a CSV file into a recording. */
#ifndef JM_IMPORT_COUNTERS_H
#define JM_IMPORT_COUNTERS_H

#include "base/csv.h"
#include "format/writer.h"
#include "import/realtime.h"

/* start_ns,end_ns,METRIC...: `first_ns`, `last_ns` are what time there were windows of, on the recording's
 * clock. BAD_DATA names line and column. */
jm_status jm__import_counters(jm__writer *writer, int64_t board_id, jm__csv *csv, jm__realtime *realtime,
                              int64_t *first_ns, int64_t *last_ns, jm_error *err);

#endif
