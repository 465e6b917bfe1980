/* A fit and the independent total: do they agree, and if so, the total as one more equation.
 *
 * With the gain g = C e / (e'C e + u^2) the powers become x + g (E - e'x) and their covariance C - g (C e)'.
 * What is left of E - e'x has u^2 / (e'C e + u^2) of its error.
 */
#include "attribute/fit/hold.h"

#include "attribute/fit/matrix.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>

/* Powers are those of the time that readings were fitted in. In steps that nobody traced, and which therefore
 * follow each other more closely, all work draws a little more or less than in those that stand for them:
 * layers of seven trainings were -4.6 to +1.0 % apart in the middle, 1.9 % in root mean square
 * (bench/results/stood.txt and turns.txt). */
static const double apart_u = 0.02;

/* Further apart, one of the two is wrong rather than unsure: by chance once in 370 times. */
static const double apart_z = 3;

static void take_total(jm__fit *fit, const double *told, double variance, double difference_j)
{
    size_t columns = fit->columns;
    for (size_t k = 0; k < columns; k++) {
        double most_w = fit->prior.most_w != NULL ? fit->prior.most_w[k] : INFINITY;
        fit->power_w[k] = fmin(most_w, fmax(0, fit->power_w[k] + told[k] / variance * difference_j));
        for (size_t m = 0; m < columns; m++)
            fit->covariance[k * columns + m] -= told[k] * told[m] / variance;
    }
}

/* How unsure that makes a column's mean power. */
static double apart_w(const jm__fit *fit, const jm__fit_input *input, size_t k)
{
    return input->seconds[k] > 0 ? apart_u * input->apart_seconds[k] / input->seconds[k] * fit->power_w[k]
                                 : 0;
}

/* One error that the powers of all work have in common, as far as it was not traced. */
static void allow_for_apart(jm__fit *fit, const jm__fit_input *input)
{
    for (size_t k = 0; k < input->class_columns; k++)
        for (size_t m = 0; m < input->class_columns; m++)
            fit->covariance[k * input->columns + m] += apart_w(fit, input, k) * apart_w(fit, input, m);
}

jm_status jm__fit_hold(jm__fit *fit, const jm__fit_input *input, jm_error *err)
{
    size_t columns = input->columns;
    const double *seconds = input->seconds;
    double *told = calloc(columns + 1, sizeof *told); /* C e */
    if (told == NULL) return jm__no_memory(err, "jm__fit_hold");
    if (fit->fitted && input->apart_seconds != NULL) allow_for_apart(fit, input);
    jm__matrix_apply(told, fit->covariance, seconds, columns);
    bool independent = fit->fitted && input->total.source != NULL &&
                       (input->total.source != input->sensor->name || input->apart_seconds != NULL);
    double total_variance = input->total.u_j * input->total.u_j;
    double all = total_variance + fmax(0, jm__matrix_dot(told, seconds, columns));
    fit->free_j = jm__matrix_dot(seconds, fit->power_w, columns);
    double difference_j = input->total.energy_j - fit->free_j;
    double z = all > 0 ? difference_j / sqrt(all) : 0;
    if (independent) fit->closure_z = z;
    /* Then its total is no equation of its own; unless the fit, of work that is not alike, knows less. */
    bool surer = input->total.source == NULL || all - total_variance < total_variance;
    bool same_readings = !independent && fit->learnt > 0 && surer;
    fit->own = fit->fitted && same_readings;
    fit->held = input->total.source != NULL && fabs(z) <= apart_z && !same_readings;
    fit->rest_variance = same_readings ? 0 : all;
    if (fit->held && all > 0) {
        fit->rest_variance = total_variance * total_variance / all;
        take_total(fit, told, all, difference_j);
    }
    free(told);
    return JM_OK;
}
