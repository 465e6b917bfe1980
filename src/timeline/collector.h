/* The collector: empties all rings of a run's folder and hands rows to a sink.
 *
 * It finds new rings and names by itself, pairs begin and end, ties each kernel
 * through its launch to the innermost span of the launching thread (else to the innermost
 * process-wide span then open in that process), and counts what was lost. It
 * is used by one thread at a time. */
#ifndef JM_TIMELINE_COLLECTOR_H
#define JM_TIMELINE_COLLECTOR_H

#include "rows/rows.h"

typedef struct jm__collector jm__collector;

/* Ids come from the sink (> 0; negative: it cannot take it). Texts are borrowed for the call. */
typedef struct jm__collector_sink {
    void *context;
    int64_t (*name)(void *context, const char *text);
    void (*process)(void *context, const jm__process *process); /* new, or changed */
    void (*span_begin)(void *context, const jm__span *span);    /* its id is the collector's; end_ns is -1 */
    void (*span_end)(void *context, int64_t span_id, int64_t end_ns);
    void (*mark)(void *context, const jm__mark *mark);
    int64_t (*kernel_class)(void *context, const jm__kernel_class *kernel_class);
    int64_t (*stream)(void *context, const jm__stream *stream, const char *board_uuid);
    void (*kernels)(void *context, const jm__kernel *kernels, size_t count);
    void (*loss)(void *context, const jm__loss *loss);
    void (*note)(void *context, int64_t process_id, const char *text); /* the injected library's words */
} jm__collector_sink;

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
