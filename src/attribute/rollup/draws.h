/* What rows are off by because traced steps stand for others: draws (work/stood.h) of joules, by node. All
 * rows of a board together are off by nothing, since its total is measured: each gives back its share of what
 * they are off by, by its energy. */
#ifndef JM_ATTRIBUTE_ROLLUP_DRAWS_H
#define JM_ATTRIBUTE_ROLLUP_DRAWS_H

#include "attribute/attribution.h"
#include "attribute/rollup/tree.h"

/* Does any row owe something to steps that it stands for? */
static inline bool jm__draws_any(const jm__tree *tree)
{
    return tree->off_board_j != NULL;
}

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
 * out; NULL where there are no draws. Rows that are wholes or parts of one are known (wholes.c). */
bool jm__draws_u_j(double **u_j, const jm__tree *tree);

/* The covariance of two sums of nodes, each times its factor, J^2. */
double jm__draws_covariance(const jm__tree *tree, const double *left, const double *right);

#endif
