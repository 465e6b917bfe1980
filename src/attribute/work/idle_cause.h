/* Why nothing ran: what a reader looks for in a gap, where its idle state (model/idle_state.h) is what the
 * board draws in it. */
#ifndef JM_ATTRIBUTE_WORK_IDLE_CAUSE_H
#define JM_ATTRIBUTE_WORK_IDLE_CAUSE_H

#include "model/idle_state.h"

#include <stdbool.h>

/* Name, words of a report; in the order of its rows. */
#define JM_IDLE_CAUSE_MAP(X)                                                                                 \
    X(LAUNCH, "between kernels, < 50 us")                                                                    \
    X(LATE, "launch or host late, < 1 ms")                                                                   \
    X(DATA, "waiting for data")                                                                              \
    X(COPY, "after a copy to the host")                                                                      \
    X(WAIT, "waiting, 1 ms and more")                                                                        \
    X(EDGE, "before and after")                                                                              \
    X(TRACING, "made by tracing") /* in any of the others: stood_idle.c */

typedef enum jm__idle_cause {
#define X(name, text) JM_CAUSE_##name,
    JM_IDLE_CAUSE_MAP(X)
#undef X
        JM_IDLE_CAUSES
} jm__idle_cause;

/* What is known of a gap. */
typedef struct jm__gap {
    int64_t length_ns;
    double report_s; /* of it, in the report's windows */
    double data_s;   /* of that, in which a data loader was waited for */
    bool edge;       /* nothing ran in the report's windows before it, or nothing will after it */
    bool after_copy; /* what ended before it was a copy to the host */
} jm__gap;

/* A wait for data is one however long it is. After a copy to the host a program that waited for its result
 * launches late; a gap that is no longer than a launch takes tells nothing of that. What cannot be told goes
 * by the length. */
static inline jm__idle_cause jm__idle_cause_of(const jm__gap *gap)
{
    jm__idle_state state = jm__idle_state_of_gap(gap->length_ns);
    if (gap->data_s > 0 && gap->data_s >= 0.5 * gap->report_s) return JM_CAUSE_DATA;
    if (gap->edge) return JM_CAUSE_EDGE;
    if (state == JM_IDLE_50_US) return JM_CAUSE_LAUNCH;
    if (gap->after_copy) return JM_CAUSE_COPY;
    return state == JM_IDLE_1_MS ? JM_CAUSE_LATE : JM_CAUSE_WAIT;
}

#endif
