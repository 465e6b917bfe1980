/* Shares of a measured total by covariance.
 *
 * With the rows' energies e of covariance V, and a total E = sum e +- u over the rows of a whole, the rows
 * become e + V 1 (E - sum e) / (1'V 1 + u^2): each by its covariance with the sum. So a row that is hardly
 * known takes much of what is left, one that is sure next to nothing, and none stands above the whole. Where
 * that would take more from a row than it has, total and fit contradict each other, and all give alike; where
 * all parts are certain, what is left is the whole's own. Intervals of the parts stay those of the fit: the
 * total would make them a little surer. */
#include "attribute/rollup/wholes.h"

#include "attribute/fit/matrix.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One whole, and room for what its rows have in common with it. */
typedef struct sharing {
    jm__subtotal *subtotals;
    jm__tree *tree;
    const jm__attribution *a;
    size_t whole;
    bool *within;       /* [nodes] */
    double *seconds;    /* [columns of all boards]: of the whole */
    double *covariance; /* [columns of all boards]: of a second of each with the whole */
    double *weight;     /* [nodes]: covariance of a node's own energy with the whole; then its part, J */
} sharing;

static void add_up(sharing *s)
{
    memset(s->seconds, 0, s->a->columns * sizeof *s->seconds);
    memset(s->weight, 0, s->tree->nodes.count * sizeof *s->weight);
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
    for (size_t i = 0; i < s->tree->cells.count; i++) {
        const jm__cell *cell = &s->tree->cells.items[i];
        if (s->within[cell->node]) s->weight[cell->node] += cell->seconds * s->covariance[cell->column];
    }
}

/* Sum of the weights; negative ones are none. */
static double total_weight(sharing *s, double rest_j, bool *too_much)
{
    double sum = 0;
    *too_much = false;
    for (size_t n = 0; n < s->tree->nodes.count; n++)
        if (s->within[n]) sum += s->weight[n] = fmax(0, s->weight[n]);
    for (size_t n = 0; sum > 0 && n < s->tree->nodes.count; n++)
        if (s->within[n] && s->tree->nodes.items[n].self_j + rest_j * s->weight[n] / sum < 0)
            *too_much = true;
    return sum;
}

static void share(sharing *s, double rest_j)
{
    bool too_much;
    double sum = total_weight(s, rest_j, &too_much);
    if (too_much || (!(sum > 0) && rest_j < 0)) { /* all alike */
        for (size_t n = 0; n < s->tree->nodes.count; n++)
            s->weight[n] = fmax(0, s->tree->nodes.items[n].self_j);
        sum = total_weight(s, rest_j, &too_much);
    }
    for (size_t n = 0; n < s->tree->nodes.count; n++) {
        if (!s->within[n]) continue;
        s->weight[n] = sum > 0 ? rest_j * s->weight[n] / sum : n == s->whole ? rest_j : 0; /* now in J */
        s->tree->nodes.items[n].self_j += s->weight[n];
    }
    for (size_t n = s->tree->nodes.count; n-- > 0;) { /* the whole has it already */
        if (!s->within[n] || n == s->whole) continue;
        s->subtotals[n].measured_j += s->weight[n];
        s->weight[s->tree->nodes.items[n].parent] += s->weight[n];
    }
}

jm_status jm__wholes_share(jm__subtotal *subtotals, jm__tree *tree, const jm__attribution *a, jm_error *err)
{
    sharing s = {.subtotals = subtotals, .tree = tree, .a = a};
    s.within = calloc(tree->nodes.count + 1, sizeof *s.within);
    s.seconds = calloc(a->columns + 1, sizeof *s.seconds);
    s.covariance = calloc(a->columns + 1, sizeof *s.covariance);
    s.weight = calloc(tree->nodes.count + 1, sizeof *s.weight);
    bool fine = s.within != NULL && s.seconds != NULL && s.covariance != NULL && s.weight != NULL;
    for (size_t n = 0; fine && n < tree->nodes.count; n++) {
        if (!tree->nodes.items[n].whole) continue;
        s.whole = n;
        add_up(&s);
        find_covariance(&s);
        share(&s, subtotals[n].rest_j);
    }
    free(s.within);
    free(s.seconds);
    free(s.covariance);
    free(s.weight);
    return fine ? JM_OK : jm__no_memory(err, "jm_report_create");
}
