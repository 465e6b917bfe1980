/* What a row says beside its time: the energy of any mixture of columns with its error from the full
 * covariance, what it is off by, means, amounts, and where most of it was. */
#ifndef JM_ATTRIBUTE_ROLLUP_ENERGY_H
#define JM_ATTRIBUTE_ROLLUP_ENERGY_H

#include "attribute/attribution.h"
#include "attribute/rollup/tree.h"

typedef struct jm__energy {
    double energy_j;
    double half_j;         /* of the 95 % interval */
    double variance;       /* J^2 */
    double prior_variance; /* of what was assumed before any reading */
    double most_j;         /* the priors alone would have no wider half */
    double quantile;       /* standard deviations in a half */
    double shrinkage;      /* of the variance by the readings. 1: they decide all, 0: the priors do */
    bool decided;          /* the figure is the readings', not the priors' */
    jm_provenance assumed; /* the prior that would decide it without readings */
    bool fitted;           /* all boards in it have a fit */
    bool known;            /* all boards in it have any figure */
} jm__energy;

/* Cells sorted by column, any node. */
jm__energy jm__energy_of(const jm__attribution *a, const jm__cell *cells, size_t count);

/* After something else has told of it, too: the interval and how it is known follow the variance. */
void jm__energy_set_variance(jm__energy *energy, double variance);

/* The lower end of an interval is not below zero, unless the figure is (a meter the wrong way round). NAN, of
 * which fmax would make 0, stays missing. */
static inline double jm__energy_low(double energy_j, double half_j)
{
    double low_j = energy_j - half_j;
    return energy_j >= 0 && low_j < 0 ? 0 : low_j;
}

/* What rows are off by because traced steps stand for others: draws (work/strata.h) of joules, by node. All
 * rows of a board together are off by nothing, since its total is measured: each gives back its share of what
 * they are off by, by its energy. */

/* Before any is added; nothing where no steps are stood for. False if memory is out. */
bool jm__draws_begin(jm__tree *tree, const jm__attribution *a);

/* A node's own seconds are off by these in each draw, times a share; NULL: by nothing. */
void jm__draws_add(jm__tree *tree, size_t node, size_t board, const double *off_s, double power_w);

/* The same in two steps: of the board at once, and of nodes as joules. */
void jm__draws_add_board(jm__tree *tree, size_t board, const double *off_s, double power_w);
void jm__draws_share(jm__tree *tree, size_t node, const double *off_j, double share);

/* All are there, and the cells of the tree too. */
void jm__draws_close(jm__tree *tree, const jm__attribution *a);

/* [nodes]: standard uncertainty of each node with all below it, J: the caller frees it. False if memory is
 * out; NULL where there are no draws. Rows that are wholes or parts of one are known (rows.c). */
bool jm__draws_u_j(double **u_j, const jm__tree *tree);

/* The covariance of two sums of nodes, each times its factor, J^2. */
double jm__draws_covariance(const jm__tree *tree, const double *left, const double *right);

/* What is known of each kind of work, as means of rows: JM_ROW_MEANS of joulemap/report_fields.h. */

enum {
#define X(kind, name, key, place, doc) JM_MEAN_##name,
    JM_ROW_MEANS(X)
#undef X
        JM_MEAN_COUNT
};

typedef struct jm__means {
    double *value[JM_MEAN_COUNT + 1]; /* [a->columns] each; C has no arrays of nothing */
} jm__means;
jm_status jm__means_find(jm__means *means, const jm__attribution *a, jm_error *err);
void jm__means_free(jm__means *means);

/* The means of a row while it is added up. */
typedef struct jm__mean_sums {
    double weighted[JM_MEAN_COUNT + 1]; /* seconds times value */
    double seconds[JM_MEAN_COUNT + 1];
} jm__mean_sums;
void jm__mean_sums_add_cells(jm__mean_sums *sums, const jm__means *means, const jm__cell *cells,
                             size_t count);
void jm__mean_sums_add(jm__mean_sums *sums, const jm__mean_sums *of);
void jm__mean_sums_give(jm_row *row, const jm__mean_sums *sums);

/* Samples and tokens of steps, told or found: what joules a sample and a token are made of. */

/* Add those of a step, by index, to its row and, unless a step around it tells its own, to the rows around
 * it; if they are of the time and process asked for. */
void jm__amounts_add(jm__tree *tree, const jm__attribution *a, size_t node, size_t span);

/* Of all steps, those inside another one that tells its own left out; -1: none told. */
int64_t jm__amount_sum(const jm__attribution *a, jm__amount amount);

/* Where most of a row's time went: of a kernel, the layer that it ran in; of a gap, the one that came after
 * it. Layers that differ in their numbers alone are one, and the innermost is told that holds half of it:
 * "blocks.*.attn (backward)". */

typedef struct jm__spot {
    const char *path; /* the tree's, numbers as "*"; "": in no layer */
    int64_t kind;     /* of the pass, a jm_span_kind */
} jm__spot;

/* What a node spent at one spot. */
typedef struct jm__stay {
    size_t node;
    size_t spot;
    double seconds;
} jm__stay;

typedef struct jm__dominant {
    const jm__attribution *a;
    jm__tree *tree;
    JM_VEC(jm__spot) spots;
    size_t *spot_of; /* [contexts]: number + 1; 0: not yet asked for */
    jm__map spot_at; /* their numbers, by text and kind */
    JM_VEC(jm__stay) stays;
    jm__map stay_at; /* numbers of stays, by node and spot */
} jm__dominant;

/* After the pass, which tells the contexts. False if memory is out. */
bool jm__dominant_begin(jm__dominant *dominant, jm__tree *tree, const jm__attribution *a);

void jm__dominant_free(jm__dominant *dominant); /* also of a zeroed one */

/* Count some time of a node, and of all around it, at the spot of a use. What fails is the tree's. */
void jm__dominant_add(jm__dominant *dominant, size_t node, size_t use, double seconds);

/* Give nodes what holds most of their time; no more can be counted then. */
void jm__dominant_give(jm__dominant *dominant);

#endif
