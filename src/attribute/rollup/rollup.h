/* Which row each piece of work belongs to: one way a view. */
#ifndef JM_ATTRIBUTE_ROLLUP_ROLLUP_H
#define JM_ATTRIBUTE_ROLLUP_ROLLUP_H

#include "attribute/attribution.h"
#include "attribute/rollup/tree.h"

typedef struct jm__rollup {
    const jm__attribution *a;
    jm__tree *tree;
    size_t *of_span;  /* [spans]: node + 1; 0: not yet asked for */
    size_t *of_class; /* [classes]: node + 1 */
    size_t *of_name;  /* [names]: node + 1 of the layer of this name */
    size_t *root_of;  /* [names]: span + 1 of the model that the layer of this name was called in */
} jm__rollup;

/* Put all work, idle time and what needs no fit of the wanted boards into a new tree. */
jm_status jm__rollup_run(jm__tree *tree, const jm__attribution *a, jm_error *err);

/* The views: the node of a span's own work. Spans are given by index. */
size_t jm__rollup_layer_node(jm__rollup *r, size_t span);
size_t jm__rollup_type_node(jm__rollup *r, size_t span);
size_t jm__rollup_phase_node(jm__rollup *r, size_t span);
size_t jm__rollup_span_node(jm__rollup *r, size_t span);
size_t jm__rollup_kernel_node(jm__rollup *r, uint32_t class_index);

/* Fill root_of from the forward spans. */
void jm__rollup_find_roots(jm__rollup *r);

/* The container part of the phase view: the row of a phase, epoch, step or window itself. */
size_t jm__rollup_container_node(jm__rollup *r, size_t span);

/* Idle time of the phase view goes to the phase it lies in. */
void jm__rollup_phase_idle(jm__rollup *r, size_t board);

/* The phase view: what the outermost phases took, as the sensors have it, where their times are apart. */
bool jm__rollup_measure_phases(jm__rollup *r);

/* The span around a span, JM__NO_SPAN for none. */
size_t jm__rollup_parent(const jm__rollup *r, size_t span);
bool jm__kind_is_layer(jm_span_kind kind);
bool jm__kind_is_container(jm_span_kind kind);

#endif
