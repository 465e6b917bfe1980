/* Beliefs folded into one triangle, which is solved once. */
#include "attribute/fit/prior.h"

#include "attribute/fit/matrix.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* R'R of a finished triangle. */
static void information_of(double *out, const jm__qr *qr)
{
    size_t n = qr->columns;
    for (size_t k = 0; k < n; k++) {
        for (size_t m = k; m < n; m++) {
            double sum = 0;
            for (size_t i = 0; i <= k; i++)
                sum += qr->triangle[k * qr->stride + i] * qr->triangle[m * qr->stride + i];
            out[k * n + m] = out[m * n + k] = sum;
        }
    }
}

/* The rows of a finished triangle, times `weight`. */
static void append(jm__qr *joint, const jm__qr *from, double weight, double *row)
{
    for (size_t i = 0; i < from->columns; i++) {
        for (size_t k = 0; k < from->columns; k++)
            row[k] = k >= i ? weight * from->triangle[k * from->stride + i] : 0;
        jm__qr_add(joint, row, weight * from->triangle[from->columns * from->stride + i]);
    }
}

/* A belief among others: by itself first, for what it alone tells. */
static jm_status fold_part(jm__prior *prior, jm__prior_part *part, const jm__belief *belief, jm_error *err)
{
    size_t n = prior->columns;
    jm__qr own = {0};
    double *row = malloc((n + 1) * sizeof *row);
    part->information = malloc((n * n + 1) * sizeof *part->information);
    jm_status status = row == NULL || part->information == NULL ? jm__no_memory(err, "jm__prior_make")
                                                                : jm__qr_init(&own, n, err);
    if (status == JM_OK) status = jm__belief_fold(belief, &own, err);
    if (status == JM_OK) {
        jm__qr_finish(&own);
        information_of(part->information, &own);
        append(&prior->equations, &own, 1, row);
    }
    jm__qr_free(&own);
    free(row);
    return status;
}

static jm_status add_part(jm__prior *prior, const jm__belief *belief, bool only, jm_error *err)
{
    jm__prior_part *part = &prior->parts[prior->part_count++];
    *part = (jm__prior_part){.provenance = belief->provenance};
    return only ? jm__belief_fold(belief, &prior->equations, err) : fold_part(prior, part, belief, err);
}

/* The estimate is C times the sum over beliefs of what each says in units of its variance, so each has the
 * share C I C of the covariance, I being its information; the shares add up to all of it. */
static jm_status share_out(jm__prior *prior, jm_error *err)
{
    size_t n = prior->columns;
    if (prior->part_count == 1) return JM_OK;
    double *told = malloc((n * n + 1) * sizeof *told);
    bool all = told != NULL;
    for (size_t i = 0; all && i < prior->part_count; i++) {
        jm__prior_part *part = &prior->parts[i];
        part->share = malloc((n * n + 1) * sizeof *part->share);
        all = part->share != NULL;
        if (!all) break;
        jm__matrix_multiply(told, 1, part->information, prior->covariance, n);
        jm__matrix_multiply(part->share, 1, prior->covariance, told, n);
    }
    free(told);
    return all ? JM_OK : jm__no_memory(err, "jm__prior_make");
}

/* Mean and covariance of the folded equations. */
static jm_status solve(jm__prior *prior, jm_error *err)
{
    size_t n = prior->columns;
    jm__qr inverse = {0};
    for (size_t k = 0; k < n; k++)
        if (prior->equations.triangle[k * prior->equations.stride + k] == 0)
            return jm__fail(err, JM_INTERNAL, 0, "jm__prior_make", "nothing is believed of column %zu", k);
    JM_TRY(jm__qr_init(&inverse, n, err));
    memcpy(inverse.triangle, prior->equations.triangle, inverse.stride * inverse.stride * sizeof(double));
    jm__qr_solve(&inverse, prior->power_w);
    memset(prior->covariance, 0, n * n * sizeof(double));
    jm__qr_covariance_take(&inverse, prior->covariance);
    information_of(prior->information, &prior->equations);
    prior->independent = true;
    for (size_t k = 0; k < n; k++) {
        prior->u_w[k] = sqrt(prior->covariance[k * n + k]);
        for (size_t m = 0; m < n; m++)
            prior->independent = prior->independent && (m == k || prior->covariance[k * n + m] == 0);
    }
    jm__qr_free(&inverse);
    return JM_OK;
}

static jm_status allocate(jm__prior *prior, size_t columns, size_t beliefs, jm_error *err)
{
    *prior = (jm__prior){.columns = columns};
    prior->power_w = calloc(columns + 1, sizeof(double));
    prior->u_w = calloc(columns + 1, sizeof(double));
    prior->covariance = calloc(columns * columns + 1, sizeof(double));
    prior->information = calloc(columns * columns + 1, sizeof(double));
    prior->parts = calloc(beliefs + 1, sizeof *prior->parts);
    bool all = prior->power_w != NULL && prior->u_w != NULL && prior->covariance != NULL &&
               prior->information != NULL && prior->parts != NULL;
    return all ? jm__qr_init(&prior->equations, columns, err) : jm__no_memory(err, "jm__prior_make");
}

jm_status jm__prior_make(jm__prior *prior, const jm__belief *const *beliefs, size_t count,
                         jm__noise_prior noise, jm_error *err)
{
    jm_status status = allocate(prior, beliefs[0]->columns, count, err);
    prior->noise = noise;
    if (!(prior->noise.noise_w > 0)) prior->noise.noise_w = JM_NOISE_UNKNOWN_W;
    for (size_t i = 0; status == JM_OK && i < count; i++)
        status = add_part(prior, beliefs[i], count == 1, err);
    if (status == JM_OK) {
        jm__qr_finish(&prior->equations);
        status = solve(prior, err);
    }
    if (status == JM_OK) status = share_out(prior, err);
    if (status != JM_OK) jm__prior_free(prior);
    return status;
}

void jm__prior_free(jm__prior *prior)
{
    jm__qr_free(&prior->equations);
    free(prior->power_w);
    free(prior->u_w);
    free(prior->covariance);
    free(prior->information);
    for (size_t i = 0; i < prior->part_count; i++) {
        free(prior->parts[i].information);
        free(prior->parts[i].share);
    }
    free(prior->parts);
    free(prior->most_w);
    *prior = (jm__prior){0};
}

jm_status jm__prior_limit(jm__prior *prior, const double *most_w, jm_error *err)
{
    if (most_w == NULL) return JM_OK;
    prior->most_w = calloc(prior->columns + 1, sizeof *prior->most_w);
    if (prior->most_w == NULL) return jm__no_memory(err, "jm__prior_limit");
    memcpy(prior->most_w, most_w, prior->columns * sizeof *most_w);
    return JM_OK;
}

void jm__prior_add(jm__qr *qr, const jm__prior *prior, double weight, double *row)
{
    append(qr, &prior->equations, weight, row);
}

void jm__prior_append(jm__qr *joint, const jm__qr *data, const jm__prior *prior, double noise_w, double *row)
{
    jm__qr_reset(joint);
    append(joint, data, 1, row);
    append(joint, &prior->equations, noise_w, row);
    jm__qr_finish(joint);
}

/* The mean is C times the sum over beliefs of I x, I being the information of each. */
jm_status jm__prior_moved_by_first(double *out, const jm__prior *prior, const double *shift, jm_error *err)
{
    const double *first = prior->part_count == 1 ? prior->information : prior->parts[0].information;
    double *told = malloc((prior->columns + 1) * sizeof *told);
    if (told == NULL) return jm__no_memory(err, "jm__prior_moved_by_first");
    jm__matrix_apply(told, first, shift, prior->columns);
    jm__matrix_apply(out, prior->covariance, told, prior->columns);
    free(told);
    return JM_OK;
}
