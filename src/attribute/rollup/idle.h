/* Rows of idle time, and of steps that traced ones stand for, where they are others than those of the traced
 * work. */
#ifndef JM_ATTRIBUTE_ROLLUP_IDLE_H
#define JM_ATTRIBUTE_ROLLUP_IDLE_H

#include "attribute/attribution.h"
#include "attribute/rollup/energy.h"
#include "attribute/rollup/views.h"

/* A cell of such a row, and what it is off by: [JM_DRAWS] seconds. */
typedef void jm__extrapolated_taker(void *context, size_t board, const jm__work_cell *cell,
                                    const double *off_s);

/* All of a board, after its pass. False if memory is out. */
bool jm__extrapolated_rows_each(jm__views *views, size_t board, jm__extrapolated_taker *take, void *context);

/* For how many calls a span of a traced step stands: in its own row, and in rows of other kinds of steps. */
void jm__extrapolated_calls_add(jm__views *views, size_t node, size_t span);

/* What the work of a board is off by in each draw, its idle time is off by the other way round: such a share
 * of that, in a state, is a node's. */
void jm__extrapolated_idle_off(jm__views *views, size_t board, size_t node, int state, double share);

/* A walk over the idle time of a board, and over the spans that it lies in. */

typedef struct jm__idle_walk {
    bool (*is_requested)(void *context, size_t span); /* one of the spans that idle time may lie in */

    /* So much idle time of the report, of a column of all boards, in a section of the innermost of those
     * spans, or in none: JM__NO_SPAN. False if memory is out. */
    bool (*add)(void *context, size_t section, uint32_t column, double seconds);
    void *context;
} jm__idle_walk;
jm_status jm__idle_walk_board(const jm__idle_walk *walk, const jm__attribution *a, size_t board,
                              jm_error *err);

/* Add that of a board, with what its gaps came before. */
void jm__idle_add(jm__views *views, jm__dominant *dominant, size_t board);

/* The row of what tracing made, inside one of idle time. */
size_t jm__view_tracing_node(jm__views *views, size_t idle);

jm_status jm__phase_idle(jm__views *views, size_t board, jm_error *err);

#endif
