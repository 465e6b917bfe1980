/* Arrays of draws by node. */
#include "attribute/rollup/draws.h"

#include "attribute/fit/student.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool jm__draws_begin(jm__tree *tree, const jm__attribution *a)
{
    if (a->stood.stands == NULL) return true;
    tree->off_board_j = calloc((a->dataset->board_count + 1) * JM_DRAWS, sizeof *tree->off_board_j);
    return tree->off_board_j != NULL;
}

/* Those of a node, which has some from now on; NULL if memory is out. */
static double *draws_of(jm__tree *tree, size_t node)
{
    size_t count = tree->off_j.count, wanted = (node + 1) * JM_DRAWS;
    if (!jm__vec_reserve(&tree->off_j, wanted)) {
        tree->failed = true;
        return NULL;
    }
    if (wanted > count) {
        memset(tree->off_j.items + count, 0, (wanted - count) * sizeof *tree->off_j.items);
        tree->off_j.count = wanted;
    }
    return tree->off_j.items + node * JM_DRAWS;
}

void jm__draws_add_board(jm__tree *tree, size_t board, const double *off_s, double power_w)
{
    if (off_s == NULL || !jm__draws_any(tree)) return;
    for (size_t r = 0; r < JM_DRAWS; r++)
        tree->off_board_j[board * JM_DRAWS + r] += power_w * off_s[r];
}

void jm__draws_share(jm__tree *tree, size_t node, const double *off_j, double share)
{
    if (off_j == NULL || node == JM__NO_NODE || !jm__draws_any(tree) || tree->failed) return;
    double *own_j = draws_of(tree, node);
    for (size_t r = 0; own_j != NULL && r < JM_DRAWS; r++)
        own_j[r] += share * off_j[r];
}

void jm__draws_add(jm__tree *tree, size_t node, size_t board, const double *off_s, double power_w)
{
    if (node == JM__NO_NODE) return;
    jm__draws_add_board(tree, board, off_s, power_w);
    jm__draws_share(tree, node, off_s, power_w);
}

static double energy_j(const jm__board_part *part)
{
    double sum_j = 0;
    for (size_t k = 0; part->fit.known && k < part->work->columns.count; k++)
        sum_j += part->work->seconds[k] * part->fit.power_w[k];
    return sum_j;
}

/* Few draws tell little of how far they go: Student's t in place of the normal distribution's. */
static double wider(const jm__attribution *a)
{
    double freedom = INFINITY;
    for (size_t b = 0; b < a->dataset->board_count; b++)
        if (a->boards[b].stood.time_s > 0) freedom = fmin(freedom, a->boards[b].stood.freedom);
    return isfinite(freedom) ? jm__student_quantile(0.95, fmax(1, freedom)) / JM_NORMAL_95 : 1;
}

/* Each row of a board gives back its share: what one has too much, others have too little. */
static void give_back(jm__tree *tree, const jm__attribution *a, size_t b)
{
    const jm__board_part *part = &a->boards[b];
    const double *all_off_j = tree->off_board_j + b * JM_DRAWS;
    double all_j = part->wanted ? energy_j(part) : 0;
    if (!(all_j > 0)) return;
    for (size_t i = 0; i < tree->cells.count; i++) {
        const jm__cell *cell = &tree->cells.items[i];
        if (cell->column < part->first_column) continue;
        if (cell->column >= part->first_column + part->work->columns.count) continue;
        double share = cell->seconds * part->fit.power_w[cell->column - part->first_column] / all_j;
        for (size_t r = 0; r < JM_DRAWS; r++)
            tree->off_j.items[(size_t)cell->node * JM_DRAWS + r] -= share * all_off_j[r];
    }
}

void jm__draws_close(jm__tree *tree, const jm__attribution *a)
{
    if (!jm__draws_any(tree) || tree->failed || tree->nodes.count == 0) return;
    if (draws_of(tree, tree->nodes.count - 1) == NULL) return;
    for (size_t b = 0; b < a->dataset->board_count; b++)
        if (a->boards[b].fit.held) give_back(tree, a, b);
    double size = wider(a) / sqrt(JM_DRAWS);
    for (size_t i = 0; i < tree->off_j.count; i++)
        tree->off_j.items[i] *= size;
}

/* With all below each; of the parts of a whole, less what they give back of what it is off by. */
static void find_u(double *u_j, double *off_j, double *taken, size_t *whole, const jm__tree *tree)
{
    const jm__node *nodes = tree->nodes.items;
    size_t count = tree->nodes.count;
    memcpy(off_j, tree->off_j.items, count * JM_DRAWS * sizeof *off_j);
    for (size_t n = 0; n < count; n++)
        taken[n] = nodes[n].taken;
    for (size_t n = count; n-- > 0;) { /* children stand behind their parents */
        size_t parent = nodes[n].parent;
        if (parent == JM__NO_NODE) continue;
        taken[parent] += taken[n];
        for (size_t r = 0; r < JM_DRAWS; r++)
            off_j[parent * JM_DRAWS + r] += off_j[n * JM_DRAWS + r];
    }
    for (size_t n = 0; n < count; n++) {
        double square = 0;
        whole[n] = jm__node_whole(tree, n, whole);
        for (size_t r = 0; r < JM_DRAWS; r++) {
            double back_j = whole[n] == JM__NO_NODE ? 0 : taken[n] * off_j[whole[n] * JM_DRAWS + r];
            square += pow(off_j[n * JM_DRAWS + r] - back_j, 2);
        }
        u_j[n] = nodes[n].whole ? 0 : sqrt(square);
    }
}

bool jm__draws_u_j(double **u_j, const jm__tree *tree)
{
    *u_j = NULL;
    size_t count = tree->nodes.count;
    if (!jm__draws_any(tree) || tree->off_j.count < count * JM_DRAWS || count == 0) return true;
    double *off_j = malloc(count * JM_DRAWS * sizeof *off_j), *taken = malloc(count * sizeof *taken);
    size_t *whole = malloc(count * sizeof *whole);
    *u_j = calloc(count + 1, sizeof **u_j);
    bool fine = off_j != NULL && taken != NULL && whole != NULL && *u_j != NULL;
    if (fine) find_u(*u_j, off_j, taken, whole, tree);
    free(off_j);
    free(taken);
    free(whole);
    return fine;
}

double jm__draws_covariance(const jm__tree *tree, const double *left, const double *right)
{
    double sum_j2 = 0;
    if (tree->off_j.count < tree->nodes.count * JM_DRAWS) return 0;
    for (size_t r = 0; r < JM_DRAWS; r++) {
        double sums[2] = {0};
        for (size_t n = 0; n < tree->nodes.count; n++) {
            sums[0] += left[n] * tree->off_j.items[n * JM_DRAWS + r];
            sums[1] += right[n] * tree->off_j.items[n * JM_DRAWS + r];
        }
        sum_j2 += sums[0] * sums[1];
    }
    return sum_j2;
}
