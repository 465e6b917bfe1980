/* Quadratic forms over the columns of each board. */
#include "attribute/rollup/energy.h"

#include <math.h>

typedef struct sums {
    double energy_j, fit_variance, lag_j, width_j, prior_j, prior_variance, quantile;
} sums;

static void add_board(sums *out, const jm__board_part *part, const jm__cell *cells, size_t count)
{
    const jm__fit *fit = &part->fit;
    double variance = 0, observed = 0, lag_j = 0, width_j = 0;
    for (size_t i = 0; i < count; i++) {
        size_t k = cells[i].column - part->first_column;
        double seconds = cells[i].seconds;
        out->energy_j += seconds * fit->power_w[k];
        lag_j += seconds * fit->lag_shift[k];
        width_j += seconds * fit->width_shift[k];
        out->prior_j += seconds * fit->prior_w[k];
        out->prior_variance += pow(seconds * fit->prior_u_w[k], 2);
        const double *white = fit->covariance + k * fit->columns, *seen = fit->observed + k * fit->columns;
        double white_sum = 0, seen_sum = 0;
        for (size_t j = 0; j < i; j++) {
            size_t m = cells[j].column - part->first_column;
            white_sum += white[m] * cells[j].seconds;
            seen_sum += seen[m] * cells[j].seconds;
        }
        variance += seconds * (2 * white_sum + white[k] * seconds);
        observed += seconds * (2 * seen_sum + seen[k] * seconds);
    }
    out->fit_variance += fmax(0, fmax(variance, observed));
    out->lag_j = hypot(out->lag_j, lag_j);
    out->width_j = hypot(out->width_j, width_j);
    out->quantile = fmax(out->quantile, fit->quantile);
}

jm__energy jm__energy_of(const jm__attribution *a, const jm__cell *cells, size_t count)
{
    jm__energy energy = {.fitted = true, .known = true};
    sums sum = {0};
    size_t i = 0;
    for (size_t b = 0; b < a->dataset->board_count && i < count; b++) {
        const jm__board_part *part = &a->boards[b];
        if (!part->wanted || part->columns.count == 0) continue;
        size_t first = i;
        while (i < count && cells[i].column < part->first_column + part->columns.count)
            i++;
        if (i == first) continue;
        add_board(&sum, part, cells + first, i - first);
        energy.fitted = energy.fitted && part->fit.fitted;
        energy.known = energy.known && part->fit.known;
    }
    double half_j =
        sqrt(pow(sum.quantile, 2) * sum.fit_variance + pow(1.96 * sum.lag_j, 2) + pow(1.96 * sum.width_j, 2));
    /* Seen from the figure, the truth is no farther than the prior alone would have it. */
    half_j = fmin(half_j, 1.96 * sqrt(sum.prior_variance + pow(sum.energy_j - sum.prior_j, 2)));
    energy.energy_j = sum.energy_j;
    energy.low_j = fmax(0, sum.energy_j - half_j);
    energy.high_j = sum.energy_j + half_j;
    double variance = sum.fit_variance + sum.lag_j * sum.lag_j + sum.width_j * sum.width_j;
    energy.decided = sum.prior_variance > 0 ? 1 - variance / sum.prior_variance : 1;
    return energy;
}
