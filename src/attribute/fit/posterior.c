/* Least squares within limits, with a prior; the noise is found by turns with the powers. */
#include "attribute/fit/posterior.h"

#include "attribute/fit/nnls.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

jm_status jm__posterior_init(jm__posterior *posterior, size_t columns, jm_error *err)
{
    *posterior = (jm__posterior){0};
    posterior->power_w = calloc(columns + 1, sizeof(double));
    posterior->covariance = calloc(columns * columns + 1, sizeof(double));
    if (posterior->power_w != NULL && posterior->covariance != NULL) return JM_OK;
    jm__posterior_free(posterior);
    return jm__no_memory(err, "jm__posterior_init");
}

void jm__posterior_free(jm__posterior *posterior)
{
    free(posterior->power_w);
    free(posterior->covariance);
    *posterior = (jm__posterior){0};
}

/* |y - A x|^2 of the readings alone. */
static double data_square(const jm__qr *data, const double *x)
{
    double corner = data->triangle[data->columns * data->stride + data->columns];
    double square = corner * corner;
    for (size_t i = 0; i < data->columns; i++) {
        double rest = data->triangle[data->columns * data->stride + i];
        for (size_t k = i; k < data->columns; k++)
            rest -= data->triangle[k * data->stride + i] * x[k];
        square += rest * rest;
    }
    return square;
}

/* How many parameters the data, not the beliefs, decide: the trace of 1 - C I, where C is the covariance
 * after and I the information before. */
static double decided(const jm__posterior *posterior, const jm__prior *prior, double noise_w)
{
    size_t columns = prior->columns;
    double sum = 0;
    for (size_t k = 0; k < columns; k++) {
        double share = 0;
        for (size_t m = 0; m < columns; m++)
            share += posterior->covariance[k * columns + m] * prior->information[m * columns + k];
        share *= noise_w * noise_w;
        sum += share < 1 ? 1 - share : 0;
    }
    return sum;
}

jm_status jm__posterior_solve(jm__posterior *posterior, const jm__qr *data, const jm__prior *prior,
                              jm_error *err)
{
    size_t columns = data->columns;
    double *row = calloc(columns + 1, sizeof *row), rows = (double)data->rows;
    bool *is_free = calloc(columns + 1, sizeof *is_free);
    jm__qr joint = {0};
    jm_status status = row == NULL || is_free == NULL ? jm__no_memory(err, "jm__posterior_solve") : JM_OK;
    if (status == JM_OK) status = jm__qr_init(&joint, columns, err);
    double noise_w = prior->noise.noise_w, expected = prior->noise.readings;
    double expected_square = expected * noise_w * noise_w;
    for (int turn = 0; status == JM_OK && turn < 4; turn++) {
        jm__prior_append(&joint, data, prior, noise_w, row);
        status = jm__nnls_solve(&joint, prior->most_w, posterior->power_w, is_free, err);
        if (status == JM_OK)
            status =
                jm__nnls_covariance(&joint, posterior->power_w, is_free, noise_w, posterior->covariance, err);
        if (status != JM_OK) break;
        double freedom = rows - decided(posterior, prior, noise_w);
        posterior->freedom = (freedom > 0 ? freedom : 0) + expected;
        double square = data_square(data, posterior->power_w) + expected_square;
        noise_w = sqrt(square / posterior->freedom);
    }
    if (status == JM_OK) {
        posterior->noise_w = noise_w;
        for (size_t i = 0; i < columns * columns; i++)
            posterior->covariance[i] *= noise_w * noise_w;
    }
    jm__qr_free(&joint);
    free(row);
    free(is_free);
    return status;
}

jm_status jm__posterior_update(jm__posterior *posterior, const jm__qr *equations, const jm__prior *prior,
                               double weight, jm_error *err)
{
    size_t columns = prior->columns;
    double *row = calloc(columns + 1, sizeof *row);
    bool *is_free = calloc(columns + 1, sizeof *is_free);
    jm__qr joint = {0};
    jm_status status = row == NULL || is_free == NULL ? jm__no_memory(err, "jm__posterior_update") : JM_OK;
    if (status == JM_OK) status = jm__qr_init(&joint, columns, err);
    if (status == JM_OK) {
        jm__prior_append(&joint, equations, prior, weight, row);
        status = jm__nnls_solve(&joint, prior->most_w, posterior->power_w, is_free, err);
    }
    if (status == JM_OK)
        status = jm__nnls_covariance(&joint, posterior->power_w, is_free, 1, posterior->covariance, err);
    jm__qr_free(&joint);
    free(row);
    free(is_free);
    return status;
}
