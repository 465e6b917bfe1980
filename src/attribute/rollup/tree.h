/* The rows of a report while they are built: a tree whose nodes collect seconds by column. */
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

/* A set of boards by number; the last bit is for all from 63 on. */
typedef uint64_t jm__board_set;

static inline jm__board_set jm__board_bit(size_t board)
{
    return UINT64_C(1) << (board < 63 ? board : 63);
}

/* Sums over work, at the powers of the fit. */
typedef struct jm__spent {
    double busy_s;
    double steady_s;              /* of that, in the steady state */
    double merged_s;              /* of that, in classes that share a column with others */
    double work_j;                /* of kernels */
    double forward_j, backward_j; /* of that, in such passes */
} jm__spent;

static inline void jm__spent_add(jm__spent *to, const jm__spent *more, double share)
{
    to->busy_s += share * more->busy_s;
    to->steady_s += share * more->steady_s;
    to->merged_s += share * more->merged_s;
    to->work_j += share * more->work_j;
    to->forward_j += share * more->forward_j;
    to->backward_j += share * more->backward_j;
}

typedef struct jm__node {
    size_t parent;          /* JM__NO_NODE: top; always created before its children */
    size_t span;            /* by="span": its span, by index; JM__NO_SPAN: none */
    size_t overlap_section; /* by="span": work in this section belongs to the parent's row and to other open
                               spans (views.h), and the node is no row; JM__NO_SPAN: it is a row */
    size_t group;           /* the first node with this path and kind: itself, unless each span has a row */
    const char *name;       /* all texts belong to the tree or outlive it */
    const char *path;
    const char *kind;
    const char *type; /* of a layer; NULL: unknown */
    int64_t calls;
    double extrapolated_calls;         /* added to `calls` at the end */
    int64_t amounts[JM_AMOUNTS];       /* of its steps; 0: none */
    jm__spent spent;                   /* without children */
    double shared_s;                   /* busy time shared with overlapping rows: cells in `shared` */
    const char *mostly_at;             /* see energy.h; NULL: nowhere */
    double mostly_share;               /* of its time */
    int64_t with_bytes, without_bytes; /* calls of a collective with known and with unknown bytes */
    double bytes;
    double ran_s;          /* of these calls, without waiting */
    double exposed_s;      /* of busy_s: no other kernel ran */
    bool overlaps;         /* exposed_s is known */
    int64_t start_ns;      /* of the first work; INT64_MAX: none yet */
    int64_t end_ns;        /* of the last */
    int64_t host_start_ns; /* of its first span, for rows without any work; INT64_MAX: none */
    int64_t host_end_ns;
    bool unknown; /* one of its spans lies where nobody knows what ran (jm__is_unknown) */
    jm__board_set boards;
    double measured_j; /* without children, by sensors alone */
    double measured_u_j;
    double steady_measured_j; /* of measured_j, in the steady state */
    double steady_measured_u_j;
    double measured_s; /* in which measured_j was drawn, if the row is a board; else 0 */
    bool measured;
    bool upstream;  /* its joules are in other rows too and do not count here */
    double phase_j; /* with all children, measured over its own time; NAN: not measured */
    double phase_u_j;
    double phase_s; /* that time, summed over boards */
    /* Set when rows are made: */
    bool is_phase_total; /* its row shows phase_j, and rows below are reconciled to it */
    double self_j;       /* without children */
    double gain;         /* its share of rest_j of the measured phase (rows.c) */
} jm__node;

typedef struct jm__tree {
    JM_VEC(jm__node) nodes;
    jm__text_store texts;
    JM_VEC(jm__cell) cells;
    JM_VEC(jm__cell) steady; /* the same cells with their seconds in the steady state; none if !steps */
    bool steps;              /* there are figures of a step */
    JM_VEC(jm__cell)
    shared;            /* time of a node that counts in an overlapping row; `group`: the overlap's node */
    jm__map by_path;   /* numbers of nodes; these four exist until jm__tree_close */
    jm__map by_column; /* numbers of cells */
    jm__map groups;    /* of nodes of jm__tree_new: the first of each path and kind */
    jm__map cell_groups;
    JM_VEC(double) off_j; /* [nodes * JM_DRAWS], or empty: see energy.h */
    double *off_board_j;  /* [boards * JM_DRAWS]: sums over all rows; NULL: no extrapolation */
    bool failed;          /* memory is out, or too many nodes: checked once, at the end */
    bool full;
} jm__tree;

void jm__tree_init(jm__tree *tree);
void jm__tree_free(jm__tree *tree); /* also of a zeroed one */

/* No nodes or cells are added afterwards. */
void jm__tree_close(jm__tree *tree);

/* The node of this path and kind; JM__NO_NODE if there is none. */
size_t jm__tree_find(const jm__tree *tree, const char *path, const char *kind);

/* The node of this path and kind, new or not. JM__NO_NODE once the tree has failed. */
size_t jm__tree_node(jm__tree *tree, size_t parent, const char *name, const char *path, const char *kind);

/* A new node, which jm__tree_find does not find. */
size_t jm__tree_new(jm__tree *tree, size_t parent, const char *name, const char *path, const char *kind);

/* A text that lives as long as the tree; NULL once it has failed. */
const char *jm__tree_text(jm__tree *tree, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The node of this name at the top. */
static inline size_t jm__tree_top(jm__tree *tree, const char *name, const char *kind)
{
    return jm__tree_node(tree, JM__NO_NODE, name, name, kind);
}

/* `steady_s`: how much of the time is in the steady state. */
void jm__tree_add(jm__tree *tree, size_t node, uint32_t column, double seconds, double steady_s);

/* The same with busy time of a board. */
void jm__tree_add_busy(jm__tree *tree, size_t node, size_t board, size_t column, double seconds,
                       double steady_s);

void jm__tree_seen(jm__tree *tree, size_t node, int64_t start_ns, int64_t end_ns, size_t board);
void jm__tree_seen_on_host(jm__tree *tree, size_t node, int64_t start_ns, int64_t end_ns);

/* Of its first work, including children once rows are made; else of its first span; INT64_MAX: none. */
static inline int64_t jm__node_start_ns(const jm__node *node)
{
    return node->start_ns != INT64_MAX ? node->start_ns : node->host_start_ns;
}

/* The measured phase of whose energy a node has a part, or itself; JM__NO_NODE: none. `phase`: of all nodes
 * before it. */
static inline size_t jm__node_measured_phase(const jm__tree *tree, size_t node, const size_t *phase)
{
    const jm__node *item = &tree->nodes.items[node];
    if (item->is_phase_total) return node;
    if (item->measured) return JM__NO_NODE;
    return item->parent != JM__NO_NODE ? phase[item->parent] : JM__NO_NODE;
}

#endif
