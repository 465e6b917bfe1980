/* Shares of a measured total by covariance.
 *
 * With the rows' energies e of covariance V, and a total E = sum e +- u over the rows of a whole, the rows
 * become e + g (E - sum e) with g = V 1 / 1'V 1: each by its covariance with the sum. So a row that is hardly
 * known takes much of what is left, one that is sure next to nothing, and all rows together are the whole.
 * Their errors become those of e - g sum e, and g u: for any g that adds up to 1, rows g of covariance c with
 * the whole's sum, of variance s, have the variance v - 2 g c + g^2 s + g^2 u^2.
 *
 * Where that g would take more from a row than it has, or give it more than its boards can draw, total and
 * fit contradict each other, and each row takes by how far it is from there. Where all parts are certain,
 * what is left is the whole's own. */
#include "attribute/rollup/wholes.h"

#include "attribute/fit/matrix.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One whole, and room for what its rows have in common with it; no row is in two. */
typedef struct sharing {
    jm__subtotal *subtotals;
    jm__tree *tree;
    const jm__attribution *a;
    size_t whole;
    bool *within;       /* [nodes] */
    double *seconds;    /* [columns of all boards]: of the whole */
    double *covariance; /* [columns of all boards]: of a second of each with the whole */
    double *shared;     /* [nodes]: covariance of a node's own energy with the whole; then with all below */
    double *most_j;     /* [nodes]: that the boards can draw in a node's own time */
    double *taken;      /* [nodes]: g of a node's own energy; then with all below */
    double variance;    /* of the sum over the whole */
} sharing;

static void add_up(sharing *s)
{
    memset(s->seconds, 0, s->a->columns * sizeof *s->seconds);
    for (size_t n = 0; n < s->tree->nodes.count; n++) { /* parents stand before their children */
        size_t parent = s->tree->nodes.items[n].parent;
        s->within[n] = n == s->whole || (parent != JM__NO_NODE && s->within[parent]);
    }
    for (size_t i = 0; i < s->tree->cells.count; i++) {
        const jm__cell *cell = &s->tree->cells.items[i];
        if (s->within[cell->node]) s->seconds[cell->column] += cell->seconds;
    }
}

static void find_covariance(sharing *s)
{
    for (size_t b = 0; b < s->a->dataset->board_count; b++) {
        const jm__fit *fit = &s->a->boards[b].fit;
        size_t first = s->a->boards[b].first_column;
        if (!s->a->boards[b].wanted || fit->covariance == NULL) continue;
        jm__matrix_apply(s->covariance + first, fit->covariance, s->seconds + first, fit->columns);
        for (size_t k = 0; fit->uneven != NULL && k < fit->columns; k++)
            s->covariance[first + k] +=
                fit->uneven[k].square * (fit->uneven[k].seconds - s->seconds[first + k]);
    }
    s->variance = 0;
    for (size_t i = 0; i < s->tree->cells.count; i++) {
        const jm__cell *cell = &s->tree->cells.items[i];
        if (!s->within[cell->node]) continue;
        double shared = cell->seconds * s->covariance[cell->column];
        s->shared[cell->node] += shared;
        s->variance += shared;
    }
}

static void find_most(sharing *s)
{
    for (size_t b = 0; b < s->a->dataset->board_count; b++) {
        const jm__fit *fit = &s->a->boards[b].fit;
        for (size_t k = 0; k < fit->columns; k++)
            s->covariance[s->a->boards[b].first_column + k] =
                fit->prior.most_w != NULL ? fit->prior.most_w[k] : INFINITY; /* used up: room */
    }
    for (size_t i = 0; i < s->tree->cells.count; i++) {
        const jm__cell *cell = &s->tree->cells.items[i];
        if (s->within[cell->node] && cell->seconds > 0)
            s->most_j[cell->node] += cell->seconds * s->covariance[cell->column];
    }
}

typedef double weight_of(const sharing *s, size_t node);

static double by_covariance(const sharing *s, size_t node)
{
    return s->shared[node];
}

static double by_room(const sharing *s, size_t node)
{
    return s->most_j[node] - s->tree->nodes.items[node].self_j;
}

static double by_energy(const sharing *s, size_t node)
{
    return s->tree->nodes.items[node].self_j;
}

/* g by these weights, of which negative ones are none; false if they come to nothing. */
static bool take_by(sharing *s, weight_of *weight)
{
    double sum = 0;
    for (size_t n = 0; n < s->tree->nodes.count; n++)
        if (s->within[n]) sum += s->taken[n] = fmax(0, weight(s, n));
    if (!(sum > 0) || !isfinite(sum)) return false;
    for (size_t n = 0; n < s->tree->nodes.count; n++)
        if (s->within[n]) s->taken[n] /= sum;
    return true;
}

/* No row goes below zero, or above what its boards can draw. */
static bool keeps_limits(const sharing *s, double rest_j)
{
    for (size_t n = 0; n < s->tree->nodes.count; n++) {
        if (!s->within[n] || s->taken[n] == 0) continue;
        double after_j = s->tree->nodes.items[n].self_j + rest_j * s->taken[n];
        if (rest_j < 0 ? after_j < 0 : after_j > s->most_j[n]) return false;
    }
    return true;
}

static void find_taken(sharing *s, double rest_j)
{
    bool sure = !take_by(s, by_covariance);
    if (!sure && keeps_limits(s, rest_j)) return;
    if (!sure && rest_j > 0 && take_by(s, by_room) && keeps_limits(s, rest_j)) return;
    if ((!sure || rest_j < 0) && take_by(s, by_energy)) return;
    for (size_t n = 0; n < s->tree->nodes.count; n++)
        if (s->within[n]) s->taken[n] = n == s->whole;
}

static void share(sharing *s, double rest_j)
{
    jm__node *nodes = s->tree->nodes.items;
    find_taken(s, rest_j);
    for (size_t n = 0; n < s->tree->nodes.count; n++) {
        if (!s->within[n]) continue;
        nodes[n].taken = s->taken[n];
        nodes[n].self_j += rest_j * s->taken[n];
    }
    for (size_t n = s->tree->nodes.count; n-- > 0;) { /* the whole has it already */
        if (!s->within[n] || n == s->whole) continue;
        jm__subtotal *sub = &s->subtotals[n];
        double g = s->taken[n];
        sub->measured_j += rest_j * g;
        sub->whole_u_j = g * nodes[s->whole].whole_u_j;
        jm__energy_set_variance(&sub->energy,
                                sub->energy.variance - 2 * g * s->shared[n] + g * g * s->variance);
        s->taken[nodes[n].parent] += g;
        s->shared[nodes[n].parent] += s->shared[n];
    }
}

jm_status jm__wholes_share(jm__subtotal *subtotals, jm__tree *tree, const jm__attribution *a, jm_error *err)
{
    sharing s = {.subtotals = subtotals, .tree = tree, .a = a};
    s.within = calloc(tree->nodes.count + 1, sizeof *s.within);
    double **const arrays[] = {&s.seconds, &s.covariance, &s.shared, &s.most_j, &s.taken};
    bool fine = s.within != NULL;
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        *arrays[i] = calloc((i < 2 ? a->columns : tree->nodes.count) + 1, sizeof(double));
        fine = fine && *arrays[i] != NULL;
    }
    for (size_t n = 0; fine && n < tree->nodes.count; n++) {
        if (!tree->nodes.items[n].whole) continue;
        s.whole = n;
        add_up(&s);
        find_covariance(&s);
        find_most(&s);
        share(&s, subtotals[n].rest_j);
    }
    free(s.within);
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        free(*arrays[i]);
    return fine ? JM_OK : jm__no_memory(err, "jm_report_create");
}
