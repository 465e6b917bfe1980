/* A walk over the idle time of a board, and over the spans that it lies in. */
#ifndef JM_ATTRIBUTE_ROLLUP_STEP_IDLE_H
#define JM_ATTRIBUTE_ROLLUP_STEP_IDLE_H

#include "attribute/attribution.h"

typedef struct jm__idle_walk {
    bool (*is_wanted)(void *context, size_t span); /* one of the spans that idle time may lie in */

    /* So much idle time of the report, of a column of all boards, in a section of the innermost of those
     * spans, or in none: JM__NO_SPAN. False if memory is out. */
    bool (*add)(void *context, size_t section, uint32_t column, double seconds);
    void *context;
} jm__idle_walk;

jm_status jm__idle_walk_board(const jm__idle_walk *walk, const jm__attribution *a, size_t board,
                              jm_error *err);

#endif
