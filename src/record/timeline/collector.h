/* The collector: empties all rings of a run's folder and hands rows to a sink.
 *
 * It finds new rings and names by itself, pairs begin and end, ties each kernel
 * through its launch to the innermost span of the launching thread (else to the innermost
 * process-wide span then open in that process), and counts what was lost. It
 * is used by one thread at a time. */
#ifndef JM_RECORD_TIMELINE_COLLECTOR_H
#define JM_RECORD_TIMELINE_COLLECTOR_H

#include "record/timeline/collector_sink.h"

typedef struct jm__collector jm__collector;

jm_status jm__collector_create(jm__collector **out, const char *run_dir, const jm__collector_sink *sink,
                               jm_error *err);

/* Take what is there now. `records` (may be NULL): how many were taken. */
jm_status jm__collector_poll(jm__collector *collector, size_t *records, jm_error *err);

/* The writers are gone: hand over also what still waited for a launch, and close open spans as never ended.
 */
jm_status jm__collector_finish(jm__collector *collector, jm_error *err);

/* Every record stamped before this has been handed over. Kernels may still be on their way out of
 * CUPTI: the collector knows from the injected library how far it has flushed. */
int64_t jm__collector_complete_ns(const jm__collector *collector);

void jm__collector_free(jm__collector *collector);

#endif
