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
        if (!fit->known) continue;
        sum.prior_j += seconds * prior->power_w[k];
        if (prior->independent) sum.prior_variance += pow(seconds * prior->u_w[k], 2);
    }
    sum.variance = quadratic(fit->covariance, fit->columns, cells, count, first);
    double uneven = 0;
    for (size_t i = 0; fit->uneven != NULL && i < count; i++) {
        const jm__uneven *column = &fit->uneven[cells[i].column - first];
        uneven += column->square * cells[i].seconds * fmax(0, column->seconds - cells[i].seconds);
    }
    sum.variance += uneven;
    if (!fit->known) return sum;
    if (!prior->independent)
        sum.prior_variance = quadratic(prior->covariance, fit->columns, cells, count, first);
    sum.prior_variance += uneven;
    sum.believed = decider(prior, cells, count, first);
    return sum;
}

double jm__fit_covariance(const jm__fit *fit, const double *left_s, const double *right_s,
                          const double *both_s)
{
    double sum = jm__matrix_between(left_s, fit->covariance, right_s, fit->columns);
    for (size_t k = 0; fit->uneven != NULL && k < fit->columns; k++)
        sum += fit->uneven[k].square *
               ((both_s != NULL ? both_s[k] * fit->uneven[k].seconds : 0) - left_s[k] * right_s[k]);
    return sum;
}
