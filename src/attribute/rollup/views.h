/* Which row a span or a class belongs to: one way a view. Rows are of sections of spans (span_index.h). */
#ifndef JM_ATTRIBUTE_ROLLUP_VIEWS_H
#define JM_ATTRIBUTE_ROLLUP_VIEWS_H

#include "attribute/attribution.h"
#include "attribute/rollup/tree.h"
#include "format/rows/span_kind.h"

typedef struct jm__views {
    const jm__attribution *a;
    jm__tree *tree;
    size_t *of_span; /* [sections]: node + 1; 0: not yet asked for */
    size_t *
        container_of; /* [sections]: node + 2 of the container row it lies in; 1: in none; 0: not yet asked */
    size_t *owner_of;   /* [sections]: the one around it that its row is named after; JM__NO_SPAN: none */
    size_t *part_of;      /* [sections]: by span: see jm__view_span_part; node + 1, 0: not yet asked for */
    size_t *beside_of;    /* [sections]: by phase, see find_beside; JM__NO_SPAN: none */
    size_t *of_name;      /* [names]: node + 1 of the layer of this name */
    size_t *root_of;      /* [names]: span + 1 of the model that the layer of this name was called in */
    bool *split;          /* [classes]: its name ran in several launch shapes */
    size_t *of_class;     /* [classes]: node + 1 */
    jm__map rows;         /* nodes of (node above, name, kind) */
    JM_VEC(size_t) chain; /* sections that nodes are being made for, innermost first */
    jm__map inside;       /* nodes of (node around it, name): kernels, and collectives of by="span" */
    jm__map collectives;  /* nodes of (collective, process, board that it waits on) */
} jm__views;

/* Of the phase view. False if memory is out. */
bool jm__measured_phases(jm__views *views);

/* By request, rows of the pass: who the time of a span is shared among. */
enum { JM_REQUESTS_NONE, JM_REQUESTS_OTHERS, JM_REQUESTS_FIRST };
jm_status jm__views_init(jm__views *views, jm__tree *tree, const jm__attribution *a, jm_error *err);
void jm__views_free(jm__views *views);

/* Once the pass has told the classes; before the first jm__view_kernel_node. */
jm_status jm__views_take_classes(jm__views *views, jm_error *err);

/* The node of a section's own work. A span's own index is its first section. JM__NO_NODE once the tree has
 * failed. */
size_t jm__view_layer_node(jm__views *views, size_t section);
size_t jm__view_type_node(jm__views *views, size_t section);
size_t jm__view_phase_node(jm__views *views, size_t section);
size_t jm__view_span_node(jm__views *views, size_t section);

/* By span, what the pass counts the work of a section on: its row, or where the section lies in spans whose
 * rows are not around that one, a node for it inside that row. */
size_t jm__view_span_part(jm__views *views, size_t section);

/* The next outer section of a part, from `section` on, whose row is not around that of the part; JM__NO_SPAN:
 * none. `up`: the row around the last one that is; first the part's own. */
size_t jm__view_next_beside(const jm__views *views, size_t section, size_t *up);
size_t jm__view_kernel_node(jm__views *views, uint32_t class_index);

/* The node of kernels of this name inside another, made if it is not there; launch shapes share it. Its path
 * is that of the node around it and the name (`by_path`), or the name alone. */
size_t jm__view_node_inside(jm__views *views, size_t around, const char *name, const char *kind,
                            bool by_path);

/* The node of a collective, by its number, that was launched in `section`, or in none: kind "collective". In
 * no layer, also where a layer's backward pass launched it; in the phase it ran in, where phases are rows. By
 * layer and type its waiting, where ranks were compared, is a row inside it, or one a rank (`waits_on`: its
 * board; JM__WAITS_NOT: it is the rest). */
size_t jm__view_collective_node(jm__views *views, size_t section, int64_t process_id, uint32_t collective,
                                size_t waits_on);
bool jm__view_is_collective(const jm__views *views, size_t node);
bool jm__view_is_wait(const jm__views *views, size_t node);

/* A node under another: "phase/step". A name that holds a slash is written so that no two rows meet. */
size_t jm__view_node_under(jm__views *views, size_t parent, const char *name, const char *kind);

/* The row that lies in the place of a step of another kind as `node` lies in its own: of work in no layer,
 * and in phases; else the same. */
size_t jm__view_extrapolated_node(jm__views *views, size_t node, size_t step);

/* The container part of the phase view: the row of the phase, epoch, step or window that it is or lies
 * in; JM__NO_NODE: in none. */
size_t jm__view_container_node(jm__views *views, size_t section);

/* The row that a container's calls are in: that of its own name, also where it lies in another row that has
 * what happens in it. */
size_t jm__view_container_row(jm__views *views, size_t section);

#endif
