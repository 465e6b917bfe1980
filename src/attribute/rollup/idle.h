/* Idle time by cause: the rows inside "(idle)". */
#ifndef JM_ATTRIBUTE_ROLLUP_IDLE_H
#define JM_ATTRIBUTE_ROLLUP_IDLE_H

#include "attribute/rollup/mostly.h"
#include "attribute/rollup/views.h"

/* Add that of a board, with what its gaps came before. */
void jm__idle_add(jm__views *views, jm__mostly *mostly, size_t board);

/* The row of what tracing made, inside one of idle time. */
size_t jm__view_tracing_node(jm__views *views, size_t idle);

#endif
