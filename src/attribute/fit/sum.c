/* Sums of columns: quadratic forms over what the fit knows of its errors. */
#include "attribute/fit/fit.h"
#include "attribute/fit/matrix.h"

#include <math.h>

/* s' M s of the cells' seconds s. */
static double quadratic(const double *matrix, size_t columns, const jm__cell *cells, size_t count,
                        size_t first)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        const double *row = matrix + (cells[i].column - first) * columns;
        double before = 0;
        for (size_t j = 0; j < i; j++)
            before += row[cells[j].column - first] * cells[j].seconds;
        sum += cells[i].seconds * (2 * before + row[cells[i].column - first] * cells[i].seconds);
    }
    return fmax(0, sum);
}

/* The belief that the prior's figure of the sum owes most to. */
static jm_provenance decider(const jm__prior *prior, const jm__cell *cells, size_t count, size_t first)
{
    size_t best = 0;
    double most = -1;
    for (size_t i = 0; prior->part_count > 1 && i < prior->part_count; i++) {
        double share = quadratic(prior->parts[i].share, prior->columns, cells, count, first);
        if (share <= most) continue;
        most = share;
        best = i;
    }
    return prior->parts[best].provenance;
}

jm__fit_sum jm__fit_sum_of(const jm__fit *fit, const jm__cell *cells, size_t count, size_t first)
{
    const jm__prior *prior = &fit->prior;
    jm__fit_sum sum = {.believed = JM_PROVENANCE_UNRESOLVED};
    for (size_t i = 0; i < count; i++) {
        size_t k = cells[i].column - first;
        double seconds = cells[i].seconds;
        sum.energy_j += seconds * fit->power_w[k];
        for (int axis = 0; axis < JM_RESPONSE_AXES; axis++)
            sum.shift_j[axis] += seconds * fit->shift[axis][k];
        if (!fit->known) continue;
        sum.prior_j += seconds * prior->power_w[k];
        if (prior->independent) sum.prior_variance += pow(seconds * prior->u_w[k], 2);
    }
    sum.variance = fmax(quadratic(fit->covariance, fit->columns, cells, count, first),
                        quadratic(fit->observed, fit->columns, cells, count, first));
    if (!fit->known) return sum;
    if (!prior->independent)
        sum.prior_variance = quadratic(prior->covariance, fit->columns, cells, count, first);
    sum.believed = decider(prior, cells, count, first);
    return sum;
}

/* The opinion that is larger for the sum of both is taken for the two of them. */
double jm__fit_covariance(const jm__fit *fit, const double *left_s, const double *right_s)
{
    size_t n = fit->columns;
    const double *opinions[] = {fit->covariance, fit->observed};
    double best = 0, most = -1;
    for (size_t i = 0; i < sizeof opinions / sizeof *opinions; i++) {
        double between = jm__matrix_between(left_s, opinions[i], right_s, n);
        double both = jm__matrix_between(left_s, opinions[i], left_s, n) +
                      jm__matrix_between(right_s, opinions[i], right_s, n) + 2 * between;
        if (both <= most) continue;
        most = both;
        best = between;
    }
    for (int axis = 0; axis < JM_RESPONSE_AXES; axis++)
        best += jm__matrix_dot(left_s, fit->shift[axis], n) * jm__matrix_dot(right_s, fit->shift[axis], n);
    return best;
}
