/* Which row a span or a class belongs to, in each view. Rows are of sections of spans (span_index.h). */
#ifndef JM_ATTRIBUTE_ROLLUP_VIEWS_H
#define JM_ATTRIBUTE_ROLLUP_VIEWS_H

#include "attribute/attribution.h"
#include "attribute/rollup/tree.h"
#include "format/rows/span_kind.h"

typedef struct jm__views {
    const jm__attribution *a;
    jm__tree *tree;
    size_t *of_span;      /* [sections]: node + 1; 0: not yet computed */
    size_t *container_of; /* [sections]: node + 2 of the innermost container; 1: none; 0: not yet computed */
    size_t *owner_of;     /* [sections]: the section that names its row; JM__NO_SPAN: none */
    size_t *overlap_of;  /* [sections]: span view: see jm__view_span_overlap; node + 1; 0: not yet computed */
    size_t *detached_of; /* [sections]: phase view: see find_detached; JM__NO_SPAN: none */
    size_t *of_name;     /* [names]: node + 1 of the layer of this name */
    size_t *root_of;     /* [names]: span + 1 of the model that called the layer of this name */
    bool *split;         /* [classes]: its name ran in several launch shapes */
    size_t *of_class;    /* [classes]: node + 1 */
    jm__map rows;        /* nodes of (node above, name, kind) */
    JM_VEC(size_t) chain; /* sections whose nodes are being made, innermost first */
    jm__map inside;       /* nodes of (parent, name): kernels, and collectives of by="span" */
    jm__map collectives;  /* nodes of (collective, process, board that it waits on) */
} jm__views;

/* Phase view: set the measured energy of outermost phases. False if memory is out. */
bool jm__measured_phases(jm__views *views);

/* Rows of the pass in the request view; from JM_REQUESTS_FIRST on, batches. */
enum { JM_REQUESTS_NONE, JM_REQUESTS_OTHERS, JM_REQUESTS_FIRST };
jm_status jm__views_init(jm__views *views, jm__tree *tree, const jm__attribution *a, jm_error *err);
void jm__views_free(jm__views *views);

/* After the pass, which finds the classes; before the first jm__view_kernel_node. */
jm_status jm__views_set_classes(jm__views *views, jm_error *err);

/* The node of a section's own work. A span's own index is its first section. JM__NO_NODE once the tree has
 * failed. */
size_t jm__view_layer_node(jm__views *views, size_t section);
size_t jm__view_type_node(jm__views *views, size_t section);
size_t jm__view_phase_node(jm__views *views, size_t section);
size_t jm__view_span_node(jm__views *views, size_t section);

/* Span view: the node for the work of a section. It is the span's row, unless the section also lies in spans
 * whose rows do not contain that row: then a node of its own inside it. */
size_t jm__view_span_overlap(jm__views *views, size_t section);

/* The next enclosing section, from `section` on, whose row does not contain that of the overlap; JM__NO_SPAN:
 * none. *up: the last row that does; initially the overlap's own. */
size_t jm__view_next_overlapping(const jm__views *views, size_t section, size_t *up);
size_t jm__view_kernel_node(jm__views *views, uint32_t class_index);

/* The node of kernels of this name inside another, new or not; launch shapes share it. Its path is the
 * parent's path and the name (`by_path`), or the name alone. */
size_t jm__view_node_inside(jm__views *views, size_t parent, const char *name, const char *kind,
                            bool by_path);

/* The node of a collective (by its number) that was launched in `section` or in none; of kind "collective".
 * It is in no layer, even if a layer's backward pass launched it; in the phase view it is in its phase. By
 * layer and type its waiting has a row inside it, or one per rank (`waits_on`: the board; JM__WAITS_NOT: the
 * rest of its time). */
size_t jm__view_collective_node(jm__views *views, size_t section, int64_t process_id, uint32_t collective,
                                size_t waits_on);
bool jm__view_is_collective(const jm__views *views, size_t node);
bool jm__view_is_wait(const jm__views *views, size_t node);

/* A node under another: "phase/step". Slashes in a name are escaped, so that paths are unique. */
size_t jm__view_node_under(jm__views *views, size_t parent, const char *name, const char *kind);

/* The row for the work of `node` extrapolated to a step of another kind: it differs for work in no layer, and
 * in the phase view. */
size_t jm__view_extrapolated_node(jm__views *views, size_t node, size_t step);

/* Phase view: the row of the innermost phase, epoch, step or window of a section, or itself; JM__NO_NODE:
 * none. */
size_t jm__view_container_node(jm__views *views, size_t section);

/* The row for a container's calls: the one with its own name. */
size_t jm__view_container_row(jm__views *views, size_t section);

#endif
