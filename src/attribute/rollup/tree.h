/* The rows of a report while they are put together: a tree whose nodes collect seconds by column. */
#ifndef JM_ATTRIBUTE_ROLLUP_TREE_H
#define JM_ATTRIBUTE_ROLLUP_TREE_H

#include "attribute/fit/fit.h"
#include "attribute/input/span_index.h"
#include "attribute/input/steps.h"
#include "base/map.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include <joulemap/report.h>

enum { JM_NODES_MAX = 2000000 };

#define JM__NO_NODE ((size_t)-1)

/* A set of boards by number; the last bit stands for all from 63 on. */
typedef uint64_t jm__board_set;

static inline jm__board_set jm__board_bit(size_t board)
{
    return UINT64_C(1) << (board < 63 ? board : 63);
}

/* Plain sums over work, at the powers that the fit found. */
typedef struct jm__spent {
    double busy_s;
    double merged_s; /* of that: in classes that share a column with others */
    double work_j;   /* of kernels, and of those in forward and backward passes */
    double forward_j, backward_j;
} jm__spent;

static inline void jm__spent_add(jm__spent *to, const jm__spent *more, double share)
{
    to->busy_s += share * more->busy_s;
    to->merged_s += share * more->merged_s;
    to->work_j += share * more->work_j;
    to->forward_j += share * more->forward_j;
    to->backward_j += share * more->backward_j;
}

typedef struct jm__node {
    size_t parent;    /* JM__NO_NODE: top; always created before its children */
    size_t span;      /* by="span": the one that it is, by index; JM__NO_SPAN: none */
    size_t part;      /* by="span": of no row: what passes for this section is that of the row around it, and
                         of others that are open meanwhile (views.h); JM__NO_SPAN: it is a row */
    size_t transfer;  /* the first node with this path and kind: itself, unless each span has a row */
    const char *name; /* all texts belong to the tree or outlive it */
    const char *path;
    const char *kind;
    const char *type; /* of a layer; NULL: none told */
    int64_t calls;
    double extrapolated_calls; /* of steps that traced ones stand for: they come on top when all are there */
    int64_t amounts[JM_AMOUNTS]; /* of the steps in it, 0: none told */
    jm__spent spent;             /* its own */
    double shared_s;             /* busy time of its that is in rows beside it: cells in `shared` */
    const char *mostly_at;       /* see energy.h; NULL: nowhere */
    double mostly_share;         /* of its time */
    int64_t with_bytes, without_bytes;    /* calls of a collective whose bytes are known, or not */
    double bytes;
    double ran_s;          /* of these calls, without waiting */
    double exposed_s;      /* of busy_s: no other kernel ran beside the collective */
    bool overlaps;         /* that is known */
    int64_t start_ns;      /* of the first work; INT64_MAX: none yet */
    int64_t end_ns;        /* of the last */
    int64_t host_start_ns; /* of its first span, for rows without any work; INT64_MAX: none */
    int64_t host_end_ns;
    jm__board_set boards;
    double measured_j; /* energy of its own that needs no fit */
    double measured_u_j;
    bool measured;
    bool upstream;  /* measured, but its joules are in other rows too: none of them its own */
    double whole_j; /* with all children, measured over its own time; NAN: not */
    double whole_u_j;
    double whole_s; /* that time, over all boards */
    bool whole;     /* that is what its rows show; set when rows are made, as the next two */
    double self_j;  /* of the node alone */
    double taken;   /* part of what the whole around it is off by that is in self_j */
} jm__node;

typedef struct jm__tree {
    JM_VEC(jm__node) nodes;
    jm__text_store texts;
    JM_VEC(jm__cell) cells;
    JM_VEC(jm__cell) shared; /* what a row has too, of a part (`transfer`) that is in another row */
    jm__map by_path;         /* numbers of nodes; these four until the tree is full */
    jm__map by_column;       /* numbers of cells */
    jm__map transfer;        /* of nodes that no other call will find, the first of each path and kind */
    jm__map transfer_cells;
    JM_VEC(double) off_j; /* [nodes * JM_DRAWS], or empty: see energy.h */
    double *off_board_j;  /* [boards * JM_DRAWS]: of all rows of each; NULL: no steps are stood for */
    bool failed;          /* memory is out, or too many nodes: checked once, at the end */
    bool full;
} jm__tree;

void jm__tree_init(jm__tree *tree);
void jm__tree_free(jm__tree *tree); /* also of a zeroed one */

/* It is full: no node is looked for any more, and none is added. */
void jm__tree_close(jm__tree *tree);

/* The node of this path and kind; JM__NO_NODE if there is none. */
size_t jm__tree_find(const jm__tree *tree, const char *path, const char *kind);

/* The node of this path and kind, made if it is not there. JM__NO_NODE once the tree has failed. */
size_t jm__tree_node(jm__tree *tree, size_t parent, const char *name, const char *path, const char *kind);

/* A node that no other call will find. */
size_t jm__tree_new(jm__tree *tree, size_t parent, const char *name, const char *path, const char *kind);

/* A text that lives as long as the tree; NULL once it has failed. */
const char *jm__tree_text(jm__tree *tree, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The one of this name at the top. */
static inline size_t jm__tree_top(jm__tree *tree, const char *name, const char *kind)
{
    return jm__tree_node(tree, JM__NO_NODE, name, name, kind);
}

void jm__tree_add(jm__tree *tree, size_t node, uint32_t column, double seconds);

/* The same with busy time of a board. */
void jm__tree_add_busy(jm__tree *tree, size_t node, size_t board, size_t column, double seconds);

void jm__tree_seen(jm__tree *tree, size_t node, int64_t start_ns, int64_t end_ns, size_t board);
void jm__tree_seen_on_host(jm__tree *tree, size_t node, int64_t start_ns, int64_t end_ns);

/* Of its work, with its children's once rows are made; else of its span on the host; INT64_MAX: never seen.
 */
static inline int64_t jm__node_start_ns(const jm__node *node)
{
    return node->start_ns != INT64_MAX ? node->start_ns : node->host_start_ns;
}

/* The whole that a node is part of, or itself; JM__NO_NODE: none. `around` holds those of all nodes before
 * it. */
static inline size_t jm__node_whole(const jm__tree *tree, size_t node, const size_t *around)
{
    const jm__node *item = &tree->nodes.items[node];
    if (item->whole) return node;
    return item->parent != JM__NO_NODE ? around[item->parent] : JM__NO_NODE;
}

#endif
