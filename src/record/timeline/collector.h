/* The collector: empties all rings of a run's folder and passes rows to a sink.
 *
 * It finds new rings and names, pairs begins and ends, and counts losses. Each kernel gets, by its launch,
 * the innermost span of the launching thread. Without one it gets the innermost process-wide span of its
 * process. One thread at a time. */
#ifndef JM_RECORD_TIMELINE_COLLECTOR_H
#define JM_RECORD_TIMELINE_COLLECTOR_H

#include "record/timeline/collector_sink.h"

typedef struct jm__collector jm__collector;

jm_status jm__collector_create(jm__collector **out, const char *run_dir, const jm__collector_sink *sink,
                               jm_error *err);

/* Takes all current records; `records` (may be NULL): their number. */
jm_status jm__collector_poll(jm__collector *collector, size_t *records, jm_error *err);

/* The writers are gone: also passes on kernels that still waited for a launch. Open spans stay without an
 * end. */
jm_status jm__collector_finish(jm__collector *collector, jm_error *err);

/* Every record stamped before this was passed on. Kernels may still be inside CUPTI; the injected library
 * reports how far it has flushed. */
int64_t jm__collector_complete_ns(const jm__collector *collector);

void jm__collector_free(jm__collector *collector);

#endif
