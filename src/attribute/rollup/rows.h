/* From a filled tree to rows and totals: energies, intervals, provenance, order. */
#ifndef JM_ATTRIBUTE_ROLLUP_ROWS_H
#define JM_ATTRIBUTE_ROLLUP_ROWS_H

#include "attribute/attribution.h"
#include "attribute/rollup/energy.h"
#include "attribute/rollup/tree.h"

/* A node with all nodes below it. */
typedef struct jm__subtotal {
    jm__cell *cells; /* sorted by column; only while adding up */
    size_t cell_count;
    jm__cell *steady; /* the same in the steady state; none without steps */
    size_t steady_count;
    double measured_j, measured_u_j;
    double steady_measured_j, steady_measured_u_j;
    jm__spent spent;
    double rest_j;    /* of a measured phase: its energy less that of its rows */
    double phase_u_j; /* within a measured phase: standard uncertainty by the phase's own */
    bool measured, shown;
    jm__energy energy;
    jm__energy steady_energy; /* by the fit */
    jm__mean_sums means;
} jm__subtotal;

/* The order of rows: parents before their children. */
typedef struct jm__row_order {
    size_t *nodes;  /* [nodes of the tree], as rows */
    int32_t *depth; /* [nodes of the tree], by node */
} jm__row_order;

/* Siblings by start; kernels and types by energy. */
jm_status jm__row_order_find(jm__row_order *order, const jm__tree *tree, const jm__subtotal *subtotals,
                             jm_by by, jm_error *err);
void jm__row_order_free(jm__row_order *order);

typedef struct jm__rows {
    jm_row *items;
    size_t count;
    size_t capacity;
    JM_VEC(size_t) nodes; /* of each row; JM__NO_NODE: of `(unresolved)` */
} jm__rows;
void jm__rows_free(jm__rows *rows);

/* Whether nobody knows what ran: every board was lost, or did work that was not recorded, for most of the
 * time. */
bool jm__is_unknown(const jm__attribution *a, int64_t from_ns, int64_t to_ns);

/* Joules of a board in the steady steps: by its fit, or by the meter where it has none. 0 without steps.
 * False if memory is out. */
bool jm__board_steady(const jm__attribution *a, size_t board, double *energy_j, double *u_j);

jm_provenance jm__row_provenance(const jm__node *node, const jm__subtotal *sub);

/* Sets the totals too, and adds the row `(unresolved)`: the total less all rows. Texts belong to the tree. */
jm_status jm__rows_make(jm__rows *rows, jm_report_totals *totals, jm__tree *tree, const jm__attribution *a,
                        jm_error *err);

#endif
