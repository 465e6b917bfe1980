/* Rows of steps that traced ones stand for, where they are others than those of the traced work. */
#ifndef JM_ATTRIBUTE_ROLLUP_STOOD_ROWS_H
#define JM_ATTRIBUTE_ROLLUP_STOOD_ROWS_H

#include "attribute/rollup/views.h"

/* A cell of such a row, and what it is off by: [JM_DRAWS] seconds. */
typedef void jm__stood_taker(void *context, size_t board, const jm__work_cell *cell, const double *off_s);

/* All of a board, after its pass. False if memory is out. */
bool jm__stood_rows_each(jm__views *views, size_t board, jm__stood_taker *take, void *context);

/* For how many calls a span of a traced step stands: in its own row, and in rows of other kinds of steps. */
void jm__stood_calls_add(jm__views *views, size_t node, size_t span);

/* The phase that a step lies in; JM__NO_SPAN: in none. */
size_t jm__stood_phase(const jm__attribution *a, size_t step);

/* What the work of a board is off by in each draw, its idle time is off by the other way round: such a share
 * of that, in a state, is a node's. */
void jm__stood_idle_off(jm__views *views, size_t board, size_t node, int state, double share);

/* What tracing made in the steps of a turn is off by, against all other idle time: a share of it, in a state.
 */
void jm__stood_tracing_off(jm__views *views, size_t board, size_t node, size_t turn, int state, double share);

#endif
