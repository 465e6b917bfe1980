/* A fit and the independent total: do they agree, and if so, the total as one more equation.
 *
 * With the gain g = C e / (e'C e + u^2) the powers become x + g (E - e'x). Whatever moved x before, an error
 * of the response say, by l, now moves it by l - g (e'l): the total takes back what it can see of it. What is
 * left of E - e'x has 1 - e'g of its error. */
#include "attribute/fit/hold.h"

#include "attribute/fit/matrix.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>

/* Further apart, one of the two is wrong rather than unsure: by chance once in 370 times. */
static const double apart_z = 3;

/* Variance of the fit, in that of the integral of its own readings, from which on the integral is the better
 * total. A choice: the integral of a short window errs by more than it knows, five times as much at 20 ms. */
static const double far_less = 25;

/* M becomes (I - g e') M (I - e g') + u^2 g g': right for any gain g, so for both covariances. */
static void update(double *matrix, const double *gain, const double *seconds, double variance, size_t columns,
                   double *product)
{
    jm__matrix_apply(product, matrix, seconds, columns);
    double inner = fmax(0, jm__matrix_dot(product, seconds, columns));
    for (size_t k = 0; k < columns; k++)
        for (size_t m = 0; m < columns; m++)
            matrix[k * columns + m] +=
                gain[k] * gain[m] * (inner + variance) - gain[k] * product[m] - product[k] * gain[m];
}

static void take_total(jm__fit *fit, const double *gain, const double *seconds, double difference_j,
                       double total_variance, double *product)
{
    size_t columns = fit->columns;
    for (size_t k = 0; k < columns; k++)
        fit->power_w[k] = fmax(0, fit->power_w[k] + gain[k] * difference_j);
    update(fit->covariance, gain, seconds, total_variance, columns, product);
    update(fit->observed, gain, seconds, total_variance, columns, product);
    for (int axis = 0; axis < JM_RESPONSE_AXES; axis++) {
        double seen_j = jm__matrix_dot(seconds, fit->shift[axis], columns);
        for (size_t k = 0; k < columns; k++)
            fit->shift[axis][k] -= gain[k] * seen_j;
    }
}

jm_status jm__fit_hold(jm__fit *fit, const jm__fit_input *input, jm_error *err)
{
    size_t columns = input->columns;
    const double *seconds = input->seconds;
    double *gain = calloc(2 * columns + 2, sizeof *gain), *product = gain + columns + 1;
    if (gain == NULL) return jm__no_memory(err, "jm__fit_hold");
    jm__matrix_apply(gain, fit->covariance, seconds, columns);
    double variance = fmax(0, jm__matrix_dot(gain, seconds, columns));
    double observed = fmax(0, jm__matrix_between(seconds, fit->observed, seconds, columns));
    double total_variance = input->total.u_j * input->total.u_j;
    double all = total_variance + fmax(variance, observed);
    for (int axis = 0; axis < JM_RESPONSE_AXES; axis++)
        all += pow(jm__matrix_dot(seconds, fit->shift[axis], columns), 2);
    fit->free_j = jm__matrix_dot(seconds, fit->power_w, columns);
    double difference_j = input->total.energy_j - fit->free_j;
    double z = all > 0 ? difference_j / sqrt(all) : 0;
    bool independent =
        fit->fitted && input->total.source != NULL && input->total.source != input->sensor->name;
    if (independent) fit->closure_z = z;
    /* Then its total is no equation of its own; unless the fit, of work that is not alike, knows far less. */
    bool surer = input->total.source == NULL || all - total_variance < far_less * total_variance;
    bool same_readings = !independent && fit->learnt > 0 && surer;
    fit->own = fit->fitted && same_readings;
    fit->held = input->total.source != NULL && fabs(z) <= apart_z && !same_readings;
    fit->rest_variance = same_readings ? 0 : all;
    if (fit->held && total_variance + variance > 0) {
        for (size_t k = 0; k < columns; k++)
            gain[k] /= total_variance + variance;
        fit->rest_variance = all * pow(1 - jm__matrix_dot(gain, seconds, columns), 2);
        take_total(fit, gain, seconds, difference_j, total_variance, product);
    }
    free(gain);
    return JM_OK;
}
