/* Rows of idle time, and rows of represented steps that differ from those of the traced work. */
#ifndef JM_ATTRIBUTE_ROLLUP_IDLE_H
#define JM_ATTRIBUTE_ROLLUP_IDLE_H

#include "attribute/attribution.h"
#include "attribute/rollup/energy.h"
#include "attribute/rollup/views.h"

/* A cell of such a row, and its error in each draw: [JM_DRAWS] seconds. */
typedef void jm__extrapolated_sink(void *context, size_t board, const jm__work_cell *cell,
                                   const double *off_s);

/* All of a board, after its pass. False if memory is out. */
bool jm__extrapolated_rows_each(jm__views *views, size_t board, jm__extrapolated_sink *sink, void *context);

/* Add the calls that a span of a traced step represents: to its own row, and to rows of other kinds of steps.
 */
void jm__extrapolated_calls_add(jm__views *views, size_t node, size_t span);

/* The error of a board's idle time is the negative of that of its work. Add a share of it, in a state, to a
 * node. */
void jm__extrapolated_idle_off(jm__views *views, size_t board, size_t node, int state, double share);

/* A walk over the idle time of a board, and over the spans that contain it. */
typedef struct jm__idle_walk {
    bool (*is_container)(void *context, size_t span); /* whether idle time may count in this span */

    /* Idle time of the report, in a column of all boards, in a section of the innermost such span;
     * JM__NO_SPAN: in none. `steady_s`: of that, in the steady state. False if memory is out. */
    bool (*add)(void *context, size_t section, uint32_t column, double seconds, double steady_s);
    /* The same of time in which counters were sampled, with or without work; NULL: not wanted. */
    void (*add_sampled)(void *context, size_t section, uint32_t column, double seconds);
    /* The same of a time of work that was not recorded; NULL: not wanted. */
    void (*add_unrecorded)(void *context, size_t section, const jm__interval *time);
    void *context;
} jm__idle_walk;
jm_status jm__idle_walk_board(const jm__idle_walk *walk, const jm__attribution *a, size_t board,
                              jm_error *err);

/* Add the idle time of a board by cause, with the work that followed its gaps. */
void jm__idle_add(jm__views *views, jm__dominant *dominant, size_t board);

/* Add the row of work that was not recorded. */
void jm__unrecorded_add(jm__views *views, size_t board);

/* Add the row of what sampling a board's hardware counters drew. */
void jm__sampler_add(jm__views *views, size_t board);

/* The row of idle time caused by tracing, inside a row of idle time. */
size_t jm__view_tracing_node(jm__views *views, size_t idle);

/* Phase view: a row of idle time in each phase, one of work that was not recorded, and one of what sampling
 * counters drew. */
jm_status jm__phase_idle(jm__views *views, size_t board, jm_error *err);

#endif
