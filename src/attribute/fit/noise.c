/* Autocovariance of residuals as white noise plus a first-order drift. */
#include "attribute/fit/noise.h"

#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A choice: 0.4 s of the ring. Drift that lasts longer is in the residuals' blocks of a second (pass.c). */
enum { LAGS = 20 };

/* covariance[l] of residuals l readings apart, l from 0 to LAGS; false if there are too few. */
static bool autocovariance(const jm__pass *pass, const double *residual, double covariance[LAGS + 1])
{
    size_t run = 0; /* readings since the last gap */
    size_t pairs[LAGS + 1] = {0};
    memset(covariance, 0, (LAGS + 1) * sizeof *covariance);
    for (size_t i = 0; i < pass->count; i++) {
        run = jm__pass_are_neighbours(pass, i) ? run + 1 : 0;
        for (size_t l = 0; l <= LAGS && l <= run; l++) {
            covariance[l] += residual[i] * residual[i - l];
            pairs[l]++;
        }
    }
    for (size_t l = 0; l <= LAGS; l++)
        covariance[l] = pairs[l] > 0 ? covariance[l] / (double)pairs[l] : 0;
    return pairs[LAGS] >= (size_t)5 * LAGS; /* a choice: each lag is then known to a tenth of the variance */
}

/* The drift whose autocovariance is nearest to what was seen at lags 1 to LAGS. */
static void fit_drift(jm__noise *noise, const double covariance[LAGS + 1], double readings)
{
    double best = INFINITY;
    for (int percent = 10; percent <= 98; percent += 2) {
        double keep = percent / 100.0, product = 0, square = 0, power = 1, seen = 0;
        for (size_t l = 1; l <= LAGS; l++) {
            power *= keep;
            product += covariance[l] * power;
            square += power * power;
            seen += covariance[l] * covariance[l];
        }
        double drift = fmax(0, product / square), rest = seen - 2 * drift * product + drift * drift * square;
        if (rest >= best) continue;
        best = rest;
        noise->drift = fmin(drift, covariance[0]);
        noise->keep = keep;
    }
    /* What white noise alone would show by chance is not called drift. */
    if (noise->drift * noise->keep < 2 * covariance[0] / sqrt(readings)) noise->drift = 0;
    noise->white = covariance[0] - noise->drift;
}

void jm__noise_of_residuals(jm__noise *noise, const jm__pass *pass, const double *residual, double freedom)
{
    double covariance[LAGS + 1];
    *noise = (jm__noise){0};
    if (!autocovariance(pass, residual, covariance)) return;
    double taken = (double)pass->count / fmax(1, fmin(freedom, (double)pass->count));
    for (size_t l = 0; l <= LAGS; l++)
        covariance[l] *= taken;
    fit_drift(noise, covariance, (double)pass->count);
}

jm_status jm__noise_fit(jm__noise *noise, const jm__pass *pass, jm__response response, const double *x,
                        double freedom, jm_error *err)
{
    double *residual = calloc(pass->count + 1, sizeof *residual);
    *noise = (jm__noise){0};
    if (residual == NULL) return jm__no_memory(err, "jm__noise_fit");
    jm_status status = jm__pass_residual_each(pass, response, x, residual, err);
    if (status == JM_OK) jm__noise_of_residuals(noise, pass, residual, freedom);
    free(residual);
    return status;
}

/* scores += factor (a b' + b a') */
static void add_both(double *scores, const double *a, const double *b, double factor, size_t columns)
{
    for (size_t k = 0; k < columns; k++) {
        double left = factor * a[k], right = factor * b[k];
        if (left == 0 && right == 0) continue;
        double *row = scores + k * columns;
        for (size_t m = 0; m < columns; m++)
            row[m] += left * b[m] + right * a[m];
    }
}

jm_status jm__noise_scores(const jm__noise *noise, const jm__pass *pass, jm__response response,
                           double *scores, jm_error *err)
{
    size_t columns = pass->columns;
    double *row = calloc(2 * columns + 2, sizeof *row);
    if (row == NULL) return jm__no_memory(err, "jm__noise_scores");
    double *memory = row + columns + 1;
    memset(scores, 0, columns * columns * sizeof *scores);
    jm__design_start(pass->design, response);
    for (size_t i = 0; i < pass->count; i++) {
        bool follows = jm__pass_are_neighbours(pass, i);
        for (size_t k = 0; k < columns; k++) /* rows before this one, each faded by its distance */
            memory[k] = follows ? noise->keep * (memory[k] + row[k]) : 0;
        jm__pass_row(pass, i, row);
        add_both(scores, row, row, (noise->white + noise->drift) / 2, columns);
        if (noise->drift > 0) add_both(scores, row, memory, noise->drift, columns);
    }
    free(row);
    return JM_OK;
}
