/* The figures of a row: the energy of any mixture of columns with its error from the full covariance, draws
 * of sampling errors, means, amounts, and the layer with most of its time. */
#ifndef JM_ATTRIBUTE_ROLLUP_ENERGY_H
#define JM_ATTRIBUTE_ROLLUP_ENERGY_H

#include "attribute/attribution.h"
#include "attribute/rollup/tree.h"

typedef struct jm__energy {
    double energy_j;
    double half_j;         /* of the 95 % interval */
    double variance;       /* J^2 */
    double prior_variance; /* J^2, by the priors alone */
    double half_max_j;     /* upper bound of half_j, by the priors */
    double quantile;       /* standard deviations in half_j */
    double shrinkage;      /* of the variance by the readings. 1: readings alone, 0: priors alone */
    bool decided;          /* by the readings rather than by the priors */
    jm_provenance assumed; /* the prior with the most variance */
    bool fitted;           /* all its boards have a fit */
    bool known;            /* all its boards have a figure */
} jm__energy;

/* Cells sorted by column, any node. */
jm__energy jm__energy_of(const jm__attribution *a, const jm__cell *cells, size_t count);

/* Set another variance; the interval, the shrinkage and `decided` follow from it. */
void jm__energy_set_variance(jm__energy *energy, double variance);

/* The lower end of an interval: not below zero, unless the figure is (a reversed meter). NAN stays NAN. */
static inline double jm__energy_low(double energy_j, double half_j)
{
    double low_j = energy_j - half_j;
    return energy_j >= 0 && low_j < 0 ? 0 : low_j;
}

/* Draws (work/strata.h): sampling errors of rows by extrapolation, in joules by node. The errors of all rows
 * of a board add up to zero, since its total is measured: the sum is subtracted from the rows by their
 * energy.
 */

/* Before any is added; does nothing without extrapolation. False if memory is out. */
bool jm__draws_begin(jm__tree *tree, const jm__attribution *a);

/* Add errors of a node's own seconds in each draw, times a power; NULL: none. */
void jm__draws_add(jm__tree *tree, size_t node, size_t board, const double *off_s, double power_w);

/* The same in two steps: to the board, and to a node as joules. */
void jm__draws_add_board(jm__tree *tree, size_t board, const double *off_s, double power_w);
void jm__draws_share(jm__tree *tree, size_t node, const double *off_j, double share);

/* After the last error and the last cell of the tree. */
void jm__draws_close(jm__tree *tree, const jm__attribution *a);

/* [nodes]: standard uncertainty of each node with all below it, J; the caller frees it. NULL without draws.
 * Takes reconciled phases into account (rows.c). False if memory is out. */
bool jm__draws_u_j(double **u_j, const jm__tree *tree);

/* The covariance of two weighted sums of nodes, J^2. */
double jm__draws_covariance(const jm__tree *tree, const double *left, const double *right);

/* Properties of columns, as means of rows: JM_ROW_MEANS of joulemap/report_fields.h. */
enum {
#define X(kind, name, key, place, doc) JM_MEAN_##name,
    JM_ROW_MEANS(X)
#undef X
        JM_MEAN_COUNT
};

typedef struct jm__means {
    double *value[JM_MEAN_COUNT]; /* [a->columns] each */
} jm__means;
jm_status jm__means_find(jm__means *means, const jm__attribution *a, jm_error *err);
void jm__means_free(jm__means *means);

typedef struct jm__mean_sums {
    double weighted[JM_MEAN_COUNT]; /* seconds times value */
    double seconds[JM_MEAN_COUNT];
} jm__mean_sums;
void jm__mean_sums_add_cells(jm__mean_sums *sums, const jm__means *means, const jm__cell *cells,
                             size_t count);
void jm__mean_sums_add(jm__mean_sums *sums, const jm__mean_sums *of);
void jm__mean_sums_write(jm_row *row, const jm__mean_sums *sums);

/* Add the samples and tokens of a step (by index) within the requested time and process to its row and to the
 * rows above. Those above do not get them if an enclosing step has its own. */
void jm__amounts_add(jm__tree *tree, const jm__attribution *a, size_t node, size_t span);

/* Samples or tokens of all steps, or of the steady ones alone, without steps inside another one that has its
 * own; -1: none. */
int64_t jm__amount_sum(const jm__attribution *a, jm__amount amount, bool steady);

/* The layer with most of a row's time: of a kernel, the layer in which it ran; of a gap, that of the next
 * work. Layers that differ only in their numbers count as one, and the innermost one with half of the time is
 * chosen: "blocks.*.attn (backward)". */

typedef struct jm__spot {
    const char *path; /* a text of the tree, numbers as "*"; "": in no layer */
    int64_t kind;     /* a jm_span_kind: forward, backward ... */
} jm__spot;

/* The time of a node at one spot. */
typedef struct jm__spot_time {
    size_t node;
    size_t spot;
    double seconds;
} jm__spot_time;

typedef struct jm__dominant {
    const jm__attribution *a;
    jm__tree *tree;
    JM_VEC(jm__spot) spots;
    size_t *spot_of; /* [contexts]: number + 1; 0: not yet computed */
    jm__map spot_at; /* numbers of spots, by text and kind */
    JM_VEC(jm__spot_time) spot_times;
    jm__map spot_time_at; /* numbers of stays, by node and spot */
} jm__dominant;

/* After the pass, which finds the contexts. False if memory is out. */
bool jm__dominant_begin(jm__dominant *dominant, jm__tree *tree, const jm__attribution *a);

void jm__dominant_free(jm__dominant *dominant); /* also of a zeroed one */

/* Add time at the spot of a use to a node and all nodes above it. Failures are kept in the tree. */
void jm__dominant_add(jm__dominant *dominant, size_t node, size_t use, double seconds);

/* Set the dominant layer of all nodes; nothing can be added afterwards. */
void jm__dominant_finish(jm__dominant *dominant);

#endif
