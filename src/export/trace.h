/* The time line of a recording for viewers of traces: tracks with slices and values on them, walked once for
 * all formats. A format says how each is written; what goes where is decided here. */
#ifndef JM_EXPORT_TRACE_H
#define JM_EXPORT_TRACE_H

#include "attribute/report.h"

typedef enum jm__trace_track_kind {
    JM_TRACE_GROUP,   /* a program or a board, which the others belong to */
    JM_TRACE_LINE,    /* slices of a thread or a stream, each beside or inside the others */
    JM_TRACE_COUNTER, /* values over time */
    JM_TRACE_TRACK_KIND_COUNT
} jm__trace_track_kind;

typedef struct jm__trace_track {
    jm__trace_track_kind kind;
    int64_t number; /* among those of its kind, from 1 */
    int64_t group;  /* the number of the group that it is part of, its own if it is one */
    const char *name;
    const char *unit; /* of a counter's values; NULL for others */
} jm__trace_track;

/* A span with what the report knows of it, or a kernel. */
typedef struct jm__trace_slice {
    const jm__trace_track *track;
    const char *name;
    const char *kind; /* "forward", "kernel" */
    int64_t start_ns; /* CLOCK_MONOTONIC */
    int64_t end_ns;
    int64_t calls;     /* launches that a kernel's slice stands for */
    const jm_row *row; /* of a span; NULL: a kernel */
    const char *type;  /* of a range: its category, "": none; NULL: it is none */
    jm_payload_kind payload_kind;
    jm_payload payload;
} jm__trace_slice;

/* How a format writes them. A track is told before anything on it; slices of a line come by their start, and
 * values of a counter by time. Names and kinds of slices live until the walk is over, other texts for the
 * call; none need be UTF-8. False: no memory. */
typedef struct jm__trace_writer {
    bool (*track)(void *to, const jm__trace_track *track);
    bool (*slice)(void *to, const jm__trace_slice *slice);
    bool (*value)(void *to, const jm__trace_track *track, int64_t t_ns, double value);
    void *to;
} jm__trace_writer;

/* Spans, kernels, power and clock and hardware counters, of what the report is of. Memory follows spans and
 * classes: kernels and counters pass by. */
jm_status jm__trace_walk(const jm_report *report, const jm__trace_writer *writer, jm_error *err);

#endif
