/* Fold, solve, and ask what is wrong with the result: response, noise, powers that are not constant. */
#include "attribute/fit/stretch.h"

#include "attribute/fit/matrix.h"
#include "attribute/fit/misfit.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Multiplications that a step on a sample may take: about a second on one core of 2020. */
static const double sample_cost = 1.5e9;

/* Beyond that more readings no longer change what a sample tells (16 minutes of the ring). */
static const double sample_most = 50000;

/* A period for sensors that tell none: the slowest that boards were seen with. */
static const int64_t unknown_period_ns = 100000000;

size_t jm__stretch_sample_size(size_t columns)
{
    double most = fmin(sample_most, sample_cost / ((double)columns * (double)columns));
    double least = 4 * (double)columns; /* fewer would leave columns without a reading */
    return (size_t)fmax(most, least);
}

static jm__pass pass_of(const jm__stretch_input *input, const jm__reading_list *readings)
{
    jm__pass pass = {
        .design = input->design,
        .readings = readings->items,
        .count = readings->count,
        .period_ns = input->sensor->period_ns > 0 ? input->sensor->period_ns : unknown_period_ns,
        .columns = input->prior->columns,
    };
    return pass;
}

jm_status jm__stretch_fold(jm__qr *qr, const jm__stretch_input *input, jm_error *err)
{
    jm__pass pass = pass_of(input, input->readings);
    return jm__pass_fold(&pass, input->calibration->response, qr, err);
}

static jm_status solve(jm__posterior *posterior, const jm__pass *pass, jm__response response,
                       const jm__prior *prior, jm_error *err)
{
    jm__qr qr = {0};
    JM_TRY(jm__qr_init(&qr, pass->columns, err));
    jm_status status = jm__pass_fold(pass, response, &qr, err);
    if (status == JM_OK) status = jm__posterior_solve(posterior, &qr, prior, err);
    jm__qr_free(&qr);
    return status;
}

/* ---- an error of the response */

/* What was learnt elsewhere with the same response moves with it. */
static jm_status solve_moved(jm__posterior *posterior, const jm__pass *pass, jm__response response,
                             const jm__stretch_input *input, int axis, jm_error *err)
{
    if (input->prior_shift[axis] == NULL) return solve(posterior, pass, response, input->prior, err);
    jm__prior moved = *input->prior;
    JM_TRY(jm__prior_equations_moved(&moved.equations, input->prior, input->prior_shift[axis], err));
    jm_status status = solve(posterior, pass, response, &moved, err);
    jm__qr_free(&moved.equations);
    return status;
}

static jm_status find_shifts(jm__stretch *out, const jm__stretch_input *input, const jm__pass *part,
                             jm__posterior *here, jm__posterior *there, jm_error *err)
{
    const jm__calibration *c = input->calibration;
    JM_TRY(solve(here, part, c->response, input->prior, err));
    double lag_u = sqrt(c->lag_variance);
    double along = lag_u > 0 ? c->covariance / lag_u : 0;
    double width_u = sqrt(fmax(0, c->width_variance - along * along));
    for (int axis = 0; axis < JM_RESPONSE_AXES; axis++) {
        jm__response response = c->response;
        response.lag_ns += axis == 0 ? lag_u : 0;
        response.width_ns = fmax(JM_WIDTH_LEAST_NS, response.width_ns + (axis == 0 ? along : width_u));
        if ((axis == 0 ? lag_u : width_u) <= 0) continue;
        JM_TRY(solve_moved(there, part, response, input, axis, err));
        for (size_t k = 0; k < out->columns; k++)
            out->shift[axis][k] = there->power_w[k] - here->power_w[k];
    }
    return JM_OK;
}

/* Correlated residuals tell less of the response than the likelihood believed, but never less than the
 * sensor's profile knew. */
static void widen_shifts(jm__stretch *out, const jm__stretch_input *input)
{
    const jm__calibration *found = input->calibration, profile = jm__calibration_of(input->sensor);
    /* The limit is a choice: at 0.95 one in 39 readings is news. */
    double memory = fmin(0.95, fmax(0, out->correlation)), widen = (1 + memory) / (1 - memory);
    double most[JM_RESPONSE_AXES] = {
        found->lag_variance > 0 ? profile.lag_variance / found->lag_variance : 1,
        found->width_variance > 0 ? profile.width_variance / found->width_variance : 1,
    };
    for (int axis = 0; axis < JM_RESPONSE_AXES; axis++)
        for (size_t k = 0; k < out->columns; k++)
            out->shift[axis][k] *= sqrt(fmin(widen, most[axis]));
}

/* ---- covariances */

/* The sandwich C (S + I) C: what noise of covariance N, with scores S = A'NA / sigma^4, and the beliefs'
 * errors (their information I) did to the powers. `scores` is scaled and used up. */
static jm_status sandwich(double *out, const jm__posterior *posterior, const jm__prior *prior, double *scores,
                          double scale, jm_error *err)
{
    size_t columns = prior->columns;
    double *half = malloc((columns * columns + 1) * sizeof *half);
    if (half == NULL) return jm__no_memory(err, "jm__stretch_solve");
    for (size_t i = 0; i < columns * columns; i++)
        scores[i] = scale * scores[i] + prior->information[i];
    jm__matrix_multiply(half, 1, posterior->covariance, scores, columns);
    jm__matrix_multiply(out, 1, half, posterior->covariance, columns);
    free(half);
    return JM_OK;
}

/* Added to both opinions of the covariance: each takes the power of a kind to be the same everywhere. */
static jm_status add_misfit(jm__stretch *out, const jm__stretch_input *input, const jm__posterior *posterior,
                            const jm__pass *part, const jm__noise *noise, jm_error *err)
{
    size_t square = out->columns * out->columns;
    double *error = malloc((square + 1) * sizeof *error);
    if (error == NULL) return jm__no_memory(err, "jm__stretch_solve");
    const jm__misfit_of of = {
        .pass = part,
        .response = input->calibration->response,
        .power_w = posterior->power_w,
        .covariance = posterior->covariance,
        .prior_u_w = input->prior->u_w,
        .noise_w = posterior->noise_w,
        .readings = (double)out->readings,
        .seen_square = jm__misfit_seen(noise, input->sensor->noise),
    };
    jm_status status = jm__misfit_find(error, &out->misfit, &of, err);
    for (size_t i = 0; status == JM_OK && i < square; i++) {
        out->covariance[i] += error[i];
        out->observed[i] += error[i];
    }
    free(error);
    return status;
}

/* Two opinions of the powers' covariance: from a model of the noise, and from the residuals as they are. */
static jm_status find_covariances(jm__stretch *out, const jm__stretch_input *input, const jm__pass *part,
                                  const jm__posterior *posterior, double *scores, jm_error *err)
{
    size_t columns = out->columns;
    jm__pass all = pass_of(input, input->readings);
    jm__response response = input->calibration->response;
    const double *x = posterior->power_w;
    double noise_square = posterior->noise_w * posterior->noise_w;
    jm__residuals residuals;
    JM_TRY(jm__pass_residuals(&all, response, x, &residuals, scores, err));
    out->residual_w = residuals.rms;
    out->correlation = residuals.correlation;
    /* Residuals are smaller than the noise by what the fit took of it. */
    double scale = residuals.rms > 0 ? 1 / (noise_square * residuals.rms * residuals.rms) : 0;
    JM_TRY(sandwich(out->observed, posterior, input->prior, scores, scale, err));
    JM_TRY(jm__noise_fit(&out->noise, &all, response, x, posterior->freedom, err));
    const jm__noise noise = input->noise != NULL ? *input->noise : out->noise;
    memcpy(out->covariance, posterior->covariance, columns * columns * sizeof(double));
    if (noise.drift == 0 || all.count == 0) return JM_OK;
    JM_TRY(jm__noise_scores(&noise, part, response, scores, err));
    scale = (double)all.count / (double)part->count / ((noise.white + noise.drift) * noise_square);
    JM_TRY(sandwich(out->covariance, posterior, input->prior, scores, scale, err));
    return add_misfit(out, input, posterior, part, &noise, err);
}

/* ---- the whole */

jm_status jm__stretch_init(jm__stretch *out, size_t columns, jm_error *err)
{
    *out = (jm__stretch){.columns = columns};
    out->power_w = calloc(columns + 1, sizeof(double));
    out->covariance = calloc(columns * columns + 1, sizeof(double));
    out->observed = calloc(columns * columns + 1, sizeof(double));
    bool all = out->power_w != NULL && out->covariance != NULL && out->observed != NULL;
    for (int axis = 0; axis < JM_RESPONSE_AXES; axis++) {
        out->shift[axis] = calloc(columns + 1, sizeof(double));
        all = all && out->shift[axis] != NULL;
    }
    return all ? JM_OK : jm__no_memory(err, "jm__stretch_init");
}

static jm_status solve_all(jm__stretch *out, const jm__stretch_input *input, const jm__pass *part,
                           jm__posterior *posterior, double *scores, jm_error *err)
{
    jm__pass all = pass_of(input, input->readings);
    JM_TRY(solve(posterior, &all, input->calibration->response, input->prior, err));
    out->readings = all.count;
    out->noise_w = posterior->noise_w;
    out->freedom = posterior->freedom;
    memcpy(out->power_w, posterior->power_w, out->columns * sizeof(double));
    JM_TRY(find_covariances(out, input, part, posterior, scores, err));
    widen_shifts(out, input);
    return JM_OK;
}

jm_status jm__stretch_solve(jm__stretch *out, const jm__stretch_input *input, jm_error *err)
{
    size_t columns = input->prior->columns;
    jm__reading_list sample = {0};
    jm__posterior here = {0}, there = {0};
    double *scores = malloc((columns * columns + 1) * sizeof *scores);
    jm_status status = jm__stretch_init(out, columns, err);
    if (status == JM_OK && scores == NULL) status = jm__no_memory(err, "jm__stretch_solve");
    if (status == JM_OK) status = jm__posterior_init(&here, columns, err);
    if (status == JM_OK) status = jm__posterior_init(&there, columns, err);
    if (status == JM_OK)
        status = jm__readings_sample(&sample, input->readings, jm__stretch_sample_size(columns), err);
    jm__pass part = pass_of(input, &sample);
    if (status == JM_OK) status = find_shifts(out, input, &part, &here, &there, err);
    if (status == JM_OK) status = solve_all(out, input, &part, &here, scores, err);
    jm__posterior_free(&here);
    jm__posterior_free(&there);
    jm__vec_free(&sample);
    free(scores);
    return status;
}

void jm__stretch_free(jm__stretch *stretch)
{
    free(stretch->power_w);
    free(stretch->covariance);
    free(stretch->observed);
    for (int axis = 0; axis < JM_RESPONSE_AXES; axis++)
        free(stretch->shift[axis]);
    *stretch = (jm__stretch){0};
}
