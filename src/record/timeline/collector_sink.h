/* Receives the collector's rows. */
#ifndef JM_RECORD_TIMELINE_COLLECTOR_SINK_H
#define JM_RECORD_TIMELINE_COLLECTOR_SINK_H

#include "format/rows/rows.h"

/* The sink assigns ids (> 0; negative: refused), except those of processes and spans. Texts are borrowed for
 * the call. */
typedef struct jm__collector_sink {
    void *context;
    int64_t (*name)(void *context, const char *text);
    void (*process)(void *context, const jm__process *process); /* new or changed */
    void (*span_begin)(void *context, const jm__span *span);    /* end_ns is -1 */
    void (*span_end)(void *context, const jm__span_end *end);
    void (*mark)(void *context, const jm__mark *mark);
    int64_t (*kernel_class)(void *context, const jm__kernel_class *kernel_class);
    int64_t (*stream)(void *context, const jm__stream *stream, const char *board_uuid);
    void (*kernels)(void *context, const jm__kernel *kernels, size_t count);
    void (*loss)(void *context, const jm__loss *loss);
    void (*note)(void *context, int64_t pid, const char *text); /* a message of the injected library */
} jm__collector_sink;

#endif
