/* Idle states of a board: what it draws in a gap depends on how long the gap is. */
#ifndef JM_MODEL_IDLE_STATE_H
#define JM_MODEL_IDLE_STATE_H

#include <stdint.h>

/* Name, words of a model's file, and how long its gaps are at most, ns. BEFORE: nothing has run on the board
 * yet, so there may be no context on it: that is a matter of the program, not of the board. */
#define JM_IDLE_STATE_MAP(X)                                                                                 \
    X(BEFORE, "before the first work", 0)                                                                    \
    X(50_US, "under 50 us", INT64_C(50000))                                                                  \
    X(1_MS, "under 1 ms", INT64_C(1000000))                                                                  \
    X(20_MS, "under 20 ms", INT64_C(20000000))                                                               \
    X(LONG, "longer", INT64_MAX)

typedef enum jm__idle_state {
#define X(name, text, below_ns) JM_IDLE_##name,
    JM_IDLE_STATE_MAP(X)
#undef X
        JM_IDLE_STATES
} jm__idle_state;

/* The first that is a gap. */
enum { JM_IDLE_FIRST_GAP = JM_IDLE_BEFORE + 1 };

/* Of a gap that is so long. */
static inline jm__idle_state jm__idle_state_of_gap(int64_t length_ns)
{
#define X(name, text, below_ns)                                                                              \
    if (length_ns < (below_ns)) return JM_IDLE_##name;
    JM_IDLE_STATE_MAP(X)
#undef X
    return JM_IDLE_LONG;
}

#endif
