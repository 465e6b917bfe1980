/* Equations with shared errors, made independent by the Cholesky factor of their covariance and folded into
 * one triangle, which is solved with the readings' own. */
#include "attribute/fit/prior.h"

#include "attribute/fit/nnls.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A double has 16 digits: of an equation as sure as this (in units of u, by the larger of its value and 1 W)
 * four are left for all others, and not much beyond it the sums are no longer finite. */
#define JM_PRIOR_SUREST 1e12

void jm__prior_free(jm__prior *prior)
{
    free(prior->row);
    free(prior->value);
    free(prior->u);
    free(prior->covariance);
    *prior = (jm__prior){0};
}

static bool grow(double **values, size_t count)
{
    double *moved = realloc(*values, (count + 1) * sizeof *moved);
    if (moved == NULL) return false;
    *values = moved;
    return true;
}

bool jm__prior_is_sane(double value, double u)
{
    return u > 0 && isfinite(u) && isfinite(value) && fmax(1, fabs(value)) <= JM_PRIOR_SUREST * u;
}

/* One more equation: room for its row, zeroed. */
static jm_status push(jm__prior *prior, double **row, double value, double u, jm_error *err)
{
    if (!jm__prior_is_sane(value, u))
        return jm__fail(err, JM_BAD_DATA, 0, "jm__prior_add", "a prior of %g with the uncertainty %g is none",
                        value, u);
    if (prior->covariance != NULL)
        return jm__fail(err, JM_INTERNAL, 0, "jm__prior_add", "equations come before the errors they share");
    if (prior->rows == prior->capacity) {
        size_t larger = 2 * prior->capacity + 4;
        if (!grow(&prior->row, larger * prior->columns) || !grow(&prior->value, larger) ||
            !grow(&prior->u, larger))
            return jm__no_memory(err, "jm__prior_add");
        prior->capacity = larger;
    }
    *row = memset(prior->row + prior->rows * prior->columns, 0, prior->columns * sizeof **row);
    prior->value[prior->rows] = value;
    prior->u[prior->rows++] = u;
    return JM_OK;
}

jm_status jm__prior_add(jm__prior *prior, const double *row, double value, double u, jm_error *err)
{
    double *own;
    JM_TRY(push(prior, &own, value, u, err));
    memcpy(own, row, prior->columns * sizeof *own);
    return JM_OK;
}

jm_status jm__prior_add_power(jm__prior *prior, size_t column, double power_w, double u_w, jm_error *err)
{
    double *own;
    JM_TRY(push(prior, &own, power_w, u_w, err));
    own[column] = 1;
    return JM_OK;
}

static jm_status share(jm__prior *prior, jm_error *err)
{
    if (prior->covariance == NULL) prior->covariance = calloc(prior->rows * prior->rows + 1, sizeof(double));
    return prior->covariance == NULL ? jm__no_memory(err, "jm__prior_share") : JM_OK;
}

jm_status jm__prior_share(jm__prior *prior, const double *error, jm_error *err)
{
    JM_TRY(share(prior, err));
    jm__matrix_add_outer(prior->covariance, 1, error, prior->rows);
    return JM_OK;
}

jm_status jm__prior_covary(jm__prior *prior, const double *covariance, jm_error *err)
{
    JM_TRY(share(prior, err));
    for (size_t i = 0; i < prior->rows * prior->rows; i++)
        prior->covariance[i] += covariance[i];
    return JM_OK;
}

/* Rows and values in units of errors that are independent; false if the errors are no covariance. `lower`:
 * rows * rows; NULL: the equations share none. */
static bool whiten(double *rows, double *values, double *lower, const jm__prior *prior)
{
    size_t n = prior->rows, columns = prior->columns;
    for (size_t i = 0; lower == NULL && i < n * columns; i++)
        rows[i] /= prior->u[i / columns];
    for (size_t i = 0; lower == NULL && i < n; i++)
        values[i] /= prior->u[i];
    if (lower == NULL) return true;
    memcpy(lower, prior->covariance, n * n * sizeof *lower);
    for (size_t i = 0; i < n; i++)
        lower[i * n + i] += prior->u[i] * prior->u[i];
    if (!jm__matrix_factor(lower, n)) return false;
    jm__matrix_whiten(rows, columns, lower, n);
    jm__matrix_forward(values, lower, n);
    return true;
}

/* Fold the equations into `qr`, each in units of its error. BAD_DATA if their covariance is none. */
static jm_status prior_fold(const jm__prior *prior, jm__qr *qr, jm_error *err)
{
    size_t n = prior->rows, columns = prior->columns, square = prior->covariance != NULL ? n * n : 0;
    double *rows = malloc((n * columns + n + square + 1) * sizeof *rows);
    if (rows == NULL) return jm__no_memory(err, "jm__prior_fold");
    double *values = rows + n * columns;
    jm_status status = JM_OK;
    if (n > 0) {
        memcpy(rows, prior->row, n * columns * sizeof *rows);
        memcpy(values, prior->value, n * sizeof *values);
    }
    if (!whiten(rows, values, prior->covariance != NULL ? values + n : NULL, prior))
        status =
            jm__fail(err, JM_BAD_DATA, 0, "jm__prior_fold", "the errors of a prior are not a covariance");
    for (size_t i = 0; status == JM_OK && i < n; i++)
        jm__qr_add(qr, rows + i * columns, values[i]);
    free(rows);
    return status;
}

/* A prior among others: by itself first, for what it alone tells. */
static jm_status fold_part(jm__joint_prior *joint_prior, jm__joint_prior_part *part, const jm__prior *prior,
                           jm_error *err)
{
    size_t n = joint_prior->columns;
    jm__qr own = {0};
    part->information = malloc((n * n + 1) * sizeof *part->information);
    jm_status status =
        part->information == NULL ? jm__no_memory(err, "jm__joint_prior_make") : jm__qr_init(&own, n, err);
    if (status == JM_OK) status = prior_fold(prior, &own, err);
    if (status == JM_OK) {
        jm__qr_finish(&own);
        jm__qr_information(part->information, NULL, &own, 0);
        jm__qr_append(&joint_prior->equations, &own, 1);
    }
    jm__qr_free(&own);
    return status;
}

static jm_status add_part(jm__joint_prior *joint_prior, const jm__prior *prior, bool only, jm_error *err)
{
    jm__joint_prior_part *part = &joint_prior->parts[joint_prior->part_count++];
    *part = (jm__joint_prior_part){.provenance = prior->provenance};
    return only ? prior_fold(prior, &joint_prior->equations, err) : fold_part(joint_prior, part, prior, err);
}

/* The estimate is C times the sum over priors of what each says in units of its variance, so each has the
 * share C I C of the covariance, I being its information; the shares add up to all of it. */
static jm_status share_out(jm__joint_prior *joint_prior, jm_error *err)
{
    size_t n = joint_prior->columns;
    if (joint_prior->part_count == 1) return JM_OK;
    double *marked = malloc((n * n + 1) * sizeof *marked);
    bool all = marked != NULL;
    for (size_t i = 0; all && i < joint_prior->part_count; i++) {
        jm__joint_prior_part *part = &joint_prior->parts[i];
        part->share = malloc((n * n + 1) * sizeof *part->share);
        all = part->share != NULL;
        if (!all) break;
        jm__matrix_multiply(marked, part->information, joint_prior->covariance, n);
        jm__matrix_multiply(part->share, joint_prior->covariance, marked, n);
    }
    free(marked);
    return all ? JM_OK : jm__no_memory(err, "jm__joint_prior_make");
}

/* Mean and covariance of the folded equations. */
static jm_status solve(jm__joint_prior *joint_prior, jm_error *err)
{
    size_t n = joint_prior->columns;
    jm__qr inverse = {0};
    for (size_t k = 0; k < n; k++)
        if (joint_prior->equations.triangle[k * joint_prior->equations.stride + k] == 0)
            return jm__fail(err, JM_INTERNAL, 0, "jm__joint_prior_make", "nothing is assumed of column %zu",
                            k);
    JM_TRY(jm__qr_init(&inverse, n, err));
    memcpy(inverse.triangle, joint_prior->equations.triangle,
           inverse.stride * inverse.stride * sizeof(double));
    jm__qr_solve(&inverse, joint_prior->power_w);
    jm__qr_covariance_take(&inverse, joint_prior->covariance);
    jm__qr_information(joint_prior->information, NULL, &joint_prior->equations, 0);
    for (size_t k = 0; k < n; k++)
        joint_prior->u_w[k] = sqrt(joint_prior->covariance[k * n + k]);
    jm__qr_free(&inverse);
    return JM_OK;
}

static jm_status allocate(jm__joint_prior *joint_prior, size_t columns, size_t priors, jm_error *err)
{
    *joint_prior = (jm__joint_prior){.columns = columns};
    joint_prior->power_w = calloc(2 * columns * (1 + columns) + 1, sizeof(double));
    joint_prior->parts = calloc(priors + 1, sizeof *joint_prior->parts);
    if (joint_prior->power_w == NULL || joint_prior->parts == NULL)
        return jm__no_memory(err, "jm__joint_prior_make");
    joint_prior->u_w = joint_prior->power_w + columns;
    joint_prior->covariance = joint_prior->u_w + columns;
    joint_prior->information = joint_prior->covariance + columns * columns;
    return jm__qr_init(&joint_prior->equations, columns, err);
}

jm_status jm__joint_prior_make(jm__joint_prior *joint_prior, const jm__prior *first,
                               const jm__prior *const *others, size_t count, jm__noise_prior noise,
                               jm_error *err)
{
    jm_status status = allocate(joint_prior, first->columns, count + 1, err);
    joint_prior->noise = noise;
    if (!(joint_prior->noise.noise_w > 0)) joint_prior->noise.noise_w = JM_NOISE_UNKNOWN_W;
    if (status == JM_OK) status = add_part(joint_prior, first, count == 0, err);
    for (size_t i = 0; status == JM_OK && i < count; i++)
        status = add_part(joint_prior, others[i], false, err);
    if (status == JM_OK) {
        jm__qr_finish(&joint_prior->equations);
        status = solve(joint_prior, err);
    }
    if (status == JM_OK) status = share_out(joint_prior, err);
    if (status != JM_OK) jm__joint_prior_free(joint_prior);
    return status;
}

void jm__joint_prior_free(jm__joint_prior *joint_prior)
{
    jm__qr_free(&joint_prior->equations);
    free(joint_prior->power_w);
    for (size_t i = 0; i < joint_prior->part_count; i++) {
        free(joint_prior->parts[i].information);
        free(joint_prior->parts[i].share);
    }
    free(joint_prior->parts);
    free(joint_prior->most_w);
    *joint_prior = (jm__joint_prior){0};
}

jm_status jm__joint_prior_limit(jm__joint_prior *joint_prior, const double *most_w, jm_error *err)
{
    if (most_w == NULL) return JM_OK;
    joint_prior->most_w = calloc(joint_prior->columns + 1, sizeof *joint_prior->most_w);
    if (joint_prior->most_w == NULL) return jm__no_memory(err, "jm__joint_prior_limit");
    memcpy(joint_prior->most_w, most_w, joint_prior->columns * sizeof *most_w);
    return JM_OK;
}

/* The mean is C times the sum over priors of I x, I being the information of each. */
jm_status jm__joint_prior_moved_by_first(double *out, const jm__joint_prior *joint_prior, const double *shift,
                                         jm_error *err)
{
    const double *first =
        joint_prior->part_count == 1 ? joint_prior->information : joint_prior->parts[0].information;
    double *marked = malloc((joint_prior->columns + 1) * sizeof *marked);
    if (marked == NULL) return jm__no_memory(err, "jm__joint_prior_moved_by_first");
    jm__matrix_apply(marked, first, shift, joint_prior->columns);
    jm__matrix_apply(out, joint_prior->covariance, marked, joint_prior->columns);
    free(marked);
    return JM_OK;
}

/* Least squares within limits, with a prior; the noise is found by turns with the powers. */

jm_status jm__posterior_init(jm__posterior *posterior, size_t columns, jm_error *err)
{
    *posterior = (jm__posterior){.power_w = calloc(columns + columns * columns + 1, sizeof(double))};
    if (posterior->power_w == NULL) return jm__no_memory(err, "jm__posterior_init");
    posterior->covariance = posterior->power_w + columns;
    return JM_OK;
}

void jm__posterior_free(jm__posterior *posterior)
{
    free(posterior->power_w);
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

/* How many parameters the data, not the priors, decide: the trace of 1 - C I, where C is the covariance
 * after and I the information before. */
static double decided(const jm__posterior *posterior, const jm__joint_prior *joint_prior, double noise_w)
{
    size_t columns = joint_prior->columns;
    double sum = 0;
    for (size_t k = 0; k < columns; k++) {
        double share = 0;
        for (size_t m = 0; m < columns; m++)
            share += posterior->covariance[k * columns + m] * joint_prior->information[m * columns + k];
        share *= noise_w * noise_w;
        sum += share < 1 ? 1 - share : 0;
    }
    return sum;
}

/* Powers within the limits, and their covariance in units of noise_w^2, after these equations and the prior's
 * times `weight`. `joint`: room for both. */
static jm_status solve_joint(jm__posterior *posterior, jm__qr *joint, const jm__qr *equations,
                             const jm__joint_prior *joint_prior, double weight, double noise_w, jm_error *err)
{
    jm__qr_reset(joint);
    jm__qr_append(joint, equations, 1);
    jm__qr_append(joint, &joint_prior->equations, weight);
    jm__qr_finish(joint);
    JM_TRY(jm__nnls_solve(joint, joint_prior->most_w, posterior->power_w, err));
    return jm__nnls_covariance(joint, joint_prior->most_w, posterior->power_w, noise_w, posterior->covariance,
                               err);
}

jm_status jm__posterior_solve(jm__posterior *posterior, const jm__qr *data,
                              const jm__joint_prior *joint_prior, jm_error *err)
{
    size_t columns = data->columns;
    jm__qr joint;
    JM_TRY(jm__qr_init(&joint, columns, err));
    jm_status status = JM_OK;
    double noise_w = joint_prior->noise.noise_w, expected = joint_prior->noise.readings;
    double expected_square = expected * noise_w * noise_w;
    for (int round = 0; status == JM_OK && round < 4; round++) {
        status = solve_joint(posterior, &joint, data, joint_prior, noise_w, noise_w, err);
        if (status != JM_OK) break;
        double freedom = (double)data->rows - decided(posterior, joint_prior, noise_w);
        posterior->freedom = fmax(0, freedom) + expected;
        double square = data_square(data, posterior->power_w) + expected_square;
        posterior->noise_w = noise_w = sqrt(square / posterior->freedom);
    }
    for (size_t i = 0; status == JM_OK && i < columns * columns; i++)
        posterior->covariance[i] *= noise_w * noise_w;
    jm__qr_free(&joint);
    return status;
}

jm_status jm__posterior_update(jm__posterior *posterior, const jm__qr *equations,
                               const jm__joint_prior *joint_prior, double weight, jm_error *err)
{
    jm__qr joint;
    JM_TRY(jm__qr_init(&joint, joint_prior->columns, err));
    jm_status status = solve_joint(posterior, &joint, equations, joint_prior, weight, 1, err);
    jm__qr_free(&joint);
    return status;
}

jm_status jm__posterior_powers(double *power_w, const double *information, const double *moment,
                               const jm__joint_prior *joint_prior, const double *shift, jm_error *err)
{
    size_t n = joint_prior->columns;
    double *factor = malloc((n * n + 2 * n + 1) * sizeof *factor);
    jm__qr joint = {0};
    jm_status status =
        factor == NULL ? jm__no_memory(err, "jm__posterior_powers") : jm__qr_init(&joint, n, err);
    if (status != JM_OK) goto out;
    double *before = factor + n * n, *right = before + n;
    for (size_t k = 0; k < n; k++)
        before[k] = joint_prior->power_w[k] + (shift != NULL ? shift[k] : 0);
    for (size_t i = 0; i < n; i++) {
        right[i] = moment[i] + jm__matrix_dot(joint_prior->information + i * n, before, n);
        for (size_t k = 0; k <= i; k++)
            factor[i * n + k] = information[i * n + k] + joint_prior->information[i * n + k];
        factor[i * n + i] *= 1 + 1e-12; /* rounding must not cost the factor */
    }
    if (!jm__matrix_factor(factor, n)) {
        status = jm__fail(err, JM_INTERNAL, 0, "jm__posterior_powers", "the readings hold no information");
        goto out;
    }
    jm__matrix_forward(right, factor, n);
    jm__qr_load(&joint, factor, right);
    status = jm__nnls_solve(&joint, joint_prior->most_w, power_w, err);
out:
    jm__qr_free(&joint);
    free(factor);
    return status;
}
