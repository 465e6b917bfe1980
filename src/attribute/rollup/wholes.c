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
    size_t *members;    /* [nodes]: of one whole after the other, parents before their children */
    size_t *first_cell; /* [nodes + 1]: cells are sorted by node */
    size_t first, end;  /* members of the whole, which is the first of them */
    double *seconds;    /* [columns of all boards]: of the whole */
    double *covariance; /* [columns of all boards]: of a second of each with the whole */
    double *most_w;     /* [columns of all boards]: that the board can draw */
    double *shared;     /* [nodes]: covariance of a node's own energy with the whole; then with all below */
    double *most_j;     /* [nodes]: that the boards can draw in a node's own time */
    double *taken;      /* [nodes]: g of a node's own energy; then with all below */
    double variance;    /* of the sum over the whole */
} sharing;

/* Members by whole, and where each whole's begin: [nodes + 2], zeros. */
static jm_status list_members(sharing *s, size_t *begin, jm_error *err)
{
    const jm__tree *tree = s->tree;
    size_t count = tree->nodes.count, *whole = malloc((count + 1) * sizeof *whole);
    if (whole == NULL) return jm__no_memory(err, "jm_report_create");
    for (size_t n = 0; n < count; n++) { /* parents stand before their children */
        whole[n] = jm__node_whole(tree, n, whole);
        if (whole[n] != JM__NO_NODE) begin[whole[n] + 2]++; /* so many */
    }
    for (size_t n = 0; n < count; n++) /* the next one is where its own begin, until they are there */
        begin[n + 2] += begin[n + 1];
    for (size_t n = 0; n < count; n++)
        if (whole[n] != JM__NO_NODE) s->members[begin[whole[n] + 1]++] = n;
    free(whole);
    return JM_OK;
}

static void add_up(sharing *s)
{
    memset(s->seconds, 0, s->a->columns * sizeof *s->seconds);
    for (size_t m = s->first; m < s->end; m++)
        for (size_t i = s->first_cell[s->members[m]]; i < s->first_cell[s->members[m] + 1]; i++)
            s->seconds[s->tree->cells.items[i].column] += s->tree->cells.items[i].seconds;
}

/* Of a second of each column with the whole. */
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
}

static void find_members(sharing *s)
{
    s->variance = 0;
    for (size_t m = s->first; m < s->end; m++) {
        size_t n = s->members[m];
        for (size_t i = s->first_cell[n]; i < s->first_cell[n + 1]; i++) {
            const jm__cell *cell = &s->tree->cells.items[i];
            s->shared[n] += cell->seconds * s->covariance[cell->column];
            if (cell->seconds > 0) s->most_j[n] += cell->seconds * s->most_w[cell->column];
        }
        s->variance += s->shared[n];
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
    for (size_t m = s->first; m < s->end; m++)
        sum += s->taken[s->members[m]] = fmax(0, weight(s, s->members[m]));
    if (!(sum > 0) || !isfinite(sum)) return false;
    for (size_t m = s->first; m < s->end; m++)
        s->taken[s->members[m]] /= sum;
    return true;
}

/* No row goes below zero, or above what its boards can draw. */
static bool keeps_limits(const sharing *s, double rest_j)
{
    for (size_t m = s->first; m < s->end; m++) {
        size_t n = s->members[m];
        double after_j = s->tree->nodes.items[n].self_j + rest_j * s->taken[n];
        if (s->taken[n] > 0 && (rest_j < 0 ? after_j < 0 : after_j > s->most_j[n])) return false;
    }
    return true;
}

static void find_taken(sharing *s, double rest_j)
{
    bool sure = !take_by(s, by_covariance);
    if (!sure && keeps_limits(s, rest_j)) return;
    if (!sure && rest_j > 0 && take_by(s, by_room) && keeps_limits(s, rest_j)) return;
    if ((!sure || rest_j < 0) && take_by(s, by_energy)) return;
    for (size_t m = s->first; m < s->end; m++)
        s->taken[s->members[m]] = m == s->first;
}

static void share(sharing *s)
{
    size_t whole = s->members[s->first];
    jm__node *nodes = s->tree->nodes.items;
    double rest_j = s->subtotals[whole].rest_j;
    find_taken(s, rest_j);
    for (size_t m = s->first; m < s->end; m++) {
        size_t n = s->members[m];
        nodes[n].taken = s->taken[n];
        nodes[n].self_j += rest_j * s->taken[n];
    }
    for (size_t m = s->end; m-- > s->first + 1;) { /* the whole has it already */
        size_t n = s->members[m];
        jm__subtotal *sub = &s->subtotals[n];
        double g = s->taken[n];
        sub->measured_j += rest_j * g;
        sub->whole_u_j = g * nodes[whole].whole_u_j;
        jm__energy_set_variance(&sub->energy,
                                sub->energy.variance - 2 * g * s->shared[n] + g * g * s->variance);
        s->taken[nodes[n].parent] += g;
        s->shared[nodes[n].parent] += s->shared[n];
    }
}

static void find_most(sharing *s)
{
    for (size_t b = 0; b < s->a->dataset->board_count; b++) {
        const jm__fit *fit = &s->a->boards[b].fit;
        for (size_t k = 0; k < fit->columns; k++)
            s->most_w[s->a->boards[b].first_column + k] =
                fit->prior.most_w != NULL ? fit->prior.most_w[k] : INFINITY;
    }
}

static void find_cells(sharing *s)
{
    const jm__tree *tree = s->tree;
    for (size_t n = 0, i = 0; n <= tree->nodes.count; n++) {
        while (i < tree->cells.count && tree->cells.items[i].node < n)
            i++;
        s->first_cell[n] = i;
    }
}

static jm_status share_all(sharing *s, size_t *begin, jm_error *err)
{
    JM_TRY(list_members(s, begin, err));
    find_cells(s);
    find_most(s);
    for (size_t n = 0; n < s->tree->nodes.count; n++) {
        if (!s->tree->nodes.items[n].whole) continue;
        s->first = begin[n];
        s->end = begin[n + 1];
        add_up(s);
        find_covariance(s);
        find_members(s);
        share(s);
    }
    return JM_OK;
}

jm_status jm__wholes_share(jm__subtotal *subtotals, jm__tree *tree, const jm__attribution *a, jm_error *err)
{
    sharing s = {.subtotals = subtotals, .tree = tree, .a = a};
    size_t count = tree->nodes.count, *begin = NULL;
    size_t **const numbers[] = {&begin, &s.members, &s.first_cell};
    double **const arrays[] = {&s.seconds, &s.covariance, &s.most_w, &s.shared, &s.most_j, &s.taken};
    bool fine = true;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        *numbers[i] = calloc(count + 2, sizeof(size_t));
        fine = fine && *numbers[i] != NULL;
    }
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        *arrays[i] = calloc((i < 3 ? a->columns : count) + 1, sizeof(double));
        fine = fine && *arrays[i] != NULL;
    }
    jm_status status = fine ? share_all(&s, begin, err) : jm__no_memory(err, "jm_report_create");
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        free(*numbers[i]);
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        free(*arrays[i]);
    return status;
}
