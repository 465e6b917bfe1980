/* A fit and the independent total: do they agree, and if so, the total as one more equation. */
#include "attribute/fit/hold.h"

#include "base/status.h"

#include <math.h>
#include <stdlib.h>

/* e'C e, and C e into `direction` if it is not NULL. */
static double quadratic(const double *matrix, const double *seconds, size_t columns, double *direction)
{
    double sum = 0;
    for (size_t k = 0; k < columns; k++) {
        double product = 0;
        for (size_t m = 0; m < columns; m++)
            product += matrix[k * columns + m] * seconds[m];
        if (direction != NULL) direction[k] = product;
        sum += product * seconds[k];
    }
    return fmax(0, sum);
}

/* M becomes (I - g e') M (I - e g') + u^2 g g': right for any gain g, so for both covariances. */
static void constrain(double *matrix, const double *gain, const double *seconds, double variance,
                      size_t columns, double *product)
{
    double inner = quadratic(matrix, seconds, columns, product);
    for (size_t k = 0; k < columns; k++)
        for (size_t m = 0; m < columns; m++)
            matrix[k * columns + m] +=
                gain[k] * gain[m] * (inner + variance) - gain[k] * product[m] - product[k] * gain[m];
}

jm_status jm__fit_hold(jm__fit *fit, const jm__fit_input *input, jm_error *err)
{
    size_t columns = input->columns;
    double *gain = calloc(2 * columns + 2, sizeof *gain), *product = gain + columns + 1;
    if (gain == NULL) return jm__no_memory(err, "jm__fit_hold");
    double variance = quadratic(fit->covariance, input->seconds, columns, gain);
    double observed = quadratic(fit->observed, input->seconds, columns, NULL);
    double lag_j = 0, width_j = 0, total_variance = input->total.u_j * input->total.u_j;
    fit->free_j = 0;
    for (size_t k = 0; k < columns; k++) {
        fit->free_j += input->seconds[k] * fit->power_w[k];
        lag_j += input->seconds[k] * fit->lag_shift[k];
        width_j += input->seconds[k] * fit->width_shift[k];
    }
    double difference_j = input->total.energy_j - fit->free_j;
    double all = total_variance + fmax(variance, observed) + lag_j * lag_j + width_j * width_j;
    double z = all > 0 ? difference_j / sqrt(all) : 0;
    bool independent =
        fit->fitted && input->total.source != NULL && input->total.source != input->sensor->name;
    if (independent) fit->closure_z = z;
    fit->forced = input->total.source != NULL && fabs(z) <= 3;
    if (fit->forced && total_variance + variance > 0) {
        for (size_t k = 0; k < columns; k++) {
            gain[k] /= total_variance + variance;
            fit->power_w[k] = fmax(0, fit->power_w[k] + gain[k] * difference_j);
        }
        constrain(fit->covariance, gain, input->seconds, total_variance, columns, product);
        constrain(fit->observed, gain, input->seconds, total_variance, columns, product);
    }
    free(gain);
    return JM_OK;
}
