/* The timeline of a recording for trace viewers: tracks with slices and values, walked once for all formats.
 * A format only writes them. */
#ifndef JM_EXPORT_TRACE_H
#define JM_EXPORT_TRACE_H

#include "attribute/report.h"

typedef enum jm__trace_track_kind {
    JM_TRACE_GROUP,   /* a program or a board, which contains other tracks */
    JM_TRACE_LINE,    /* slices of a thread or a stream; they nest or follow each other */
    JM_TRACE_COUNTER, /* values over time */
    JM_TRACE_TRACK_KIND_COUNT
} jm__trace_track_kind;

typedef struct jm__trace_track {
    jm__trace_track_kind kind;
    int64_t number; /* number among tracks of its kind, from 1 */
    int64_t group;  /* number of its group; of a group, its own number */
    const char *name;
    const char *unit; /* of a counter's values; NULL for others */
} jm__trace_track;

/* A span with its row of the report, or a kernel. */
typedef struct jm__trace_slice {
    const jm__trace_track *track;
    const char *name;
    const char *kind; /* "forward", "kernel" */
    int64_t start_ns; /* CLOCK_MONOTONIC */
    int64_t end_ns;
    int64_t calls;     /* number of launches that a kernel's slice represents */
    const jm_row *row; /* the span's row; NULL: a kernel */
    const char *type;  /* category of a range, "": none; NULL: no range */
    jm_payload_kind payload_kind;
    jm_payload payload;
} jm__trace_slice;

/* The writer of a format. A track comes before anything on it; slices of a line come sorted by start, values
 * of a counter by time. Names and kinds of slices live until the walk ends, other texts for the call; they
 * need not be UTF-8. Functions return false if memory is out. */
typedef struct jm__trace_writer {
    bool (*track)(void *to, const jm__trace_track *track);
    bool (*slice)(void *to, const jm__trace_slice *slice);
    bool (*value)(void *to, const jm__trace_track *track, int64_t t_ns, double value);
    void *to;
} jm__trace_writer;

/* Write spans, kernels, power, clock and hardware counters of the report's time. Memory grows with spans and
 * classes; kernels and counters are streamed. */
jm_status jm__trace_walk(const jm_report *report, const jm__trace_writer *writer, jm_error *err);

#endif
