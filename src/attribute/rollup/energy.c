/* The energy of any mixture of columns, over all boards. */
#include "attribute/rollup/energy.h"

#include "attribute/fit/student.h"

#include <math.h>

/* Below, the figure is the prior's, not the data's (shared/attribution.md, "Before a figure is believed").
 * Of two equal kinds, of which the readings tell no more than their sum, they take just that. */
static const double least_shrinkage = 0.5;

/* Sums over boards, whose errors are independent of each other. */
typedef struct board_sum {
    jm__fit_sum all;
    double least_sure; /* J^2: the largest variance that one board's belief has in it */
    double quantile;
} board_sum;

static void add_board(jm__energy *energy, board_sum *boards, const jm__board_part *part,
                      const jm__cell *cells, size_t count)
{
    jm__fit_sum *all = &boards->all;
    jm__fit_sum sum = jm__fit_sum_of(&part->fit, cells, count, part->first_column);
    energy->fitted = energy->fitted && part->fit.fitted;
    energy->known = energy->known && part->fit.known;
    if (sum.prior_variance >= boards->least_sure) {
        boards->least_sure = sum.prior_variance;
        energy->believed = sum.believed;
    }
    all->energy_j += sum.energy_j;
    all->prior_j += sum.prior_j;
    all->prior_variance += sum.prior_variance;
    all->variance += sum.variance;
    boards->quantile = fmax(boards->quantile, part->fit.quantile);
}

jm__energy jm__energy_of(const jm__attribution *a, const jm__cell *cells, size_t count)
{
    jm__energy energy = {.fitted = true, .known = true};
    board_sum boards = {0};
    size_t i = 0;
    for (size_t b = 0; b < a->dataset->board_count && i < count; b++) {
        const jm__board_part *part = &a->boards[b];
        if (!part->wanted || part->work->columns.count == 0) continue;
        size_t first = i;
        while (i < count && cells[i].column < part->first_column + part->work->columns.count)
            i++;
        if (i > first) add_board(&energy, &boards, part, cells + first, i - first);
    }
    const jm__fit_sum sum = boards.all;
    energy.energy_j = sum.energy_j;
    energy.prior_variance = sum.prior_variance;
    energy.quantile = boards.quantile;
    /* Seen from the figure, the truth is no farther than the beliefs alone would have it. */
    energy.most_j = JM_NORMAL_95 * sqrt(sum.prior_variance + pow(sum.energy_j - sum.prior_j, 2));
    jm__energy_set_variance(&energy, sum.variance);
    return energy;
}

void jm__energy_set_variance(jm__energy *energy, double variance)
{
    energy->variance = fmax(0, variance);
    energy->half_j = fmin(energy->quantile * sqrt(energy->variance), energy->most_j);
    energy->shrinkage = energy->prior_variance > 0 ? 1 - energy->variance / energy->prior_variance : 1;
    energy->decided = energy->fitted && energy->shrinkage >= least_shrinkage;
}
