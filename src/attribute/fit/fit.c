/* The steps of a fit: choose readings, prior, response, fold, solve, hold against the total. */
#include "attribute/fit/fit.h"

#include "attribute/fit/hold.h"
#include "attribute/fit/misfit.h"
#include "attribute/fit/student.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    CALIBRATE_READINGS = 6000, /* enough to find lag and width */
    CALIBRATE_COLUMNS = 60,    /* groups of classes while doing so */
    BLOCK_READINGS = 200       /* a sample of readings is taken in blocks, for their correlation */
};

static const double prior_relative_u = 0.3;

/* Gaps between bursts draw more than the board at rest (H200: 77 W without a context, 123 with one, 130 to
 * 165 in gaps) and far less than work: loose, but it keeps an idle state that was hardly seen below the work.
 */
static const double idle_over_least = 1.4, idle_share = 0.3, idle_u_share = 0.15, idle_relative_u = 0.6;

/* What lives only while a fit is made. */
typedef struct workspace {
    JM_VEC(jm_reading) chosen; /* those inside the windows */
    JM_VEC(jm_reading) sample; /* a part of them */
    jm__design design;
    jm__prior prior;         /* of all columns */
    jm__prior grouped_prior; /* of the groups */
    uint32_t *group;
    jm__posterior posterior;
    jm__posterior shifted;
    jm__qr qr;
    jm__calibration calibration;
} workspace;

static void workspace_free(workspace *w)
{
    jm__vec_free(&w->chosen);
    jm__vec_free(&w->sample);
    jm__design_free(&w->design);
    free(w->prior.power_w);
    free(w->prior.u_w);
    free(w->grouped_prior.power_w);
    free(w->grouped_prior.u_w);
    free(w->group);
    jm__posterior_free(&w->posterior);
    jm__posterior_free(&w->shifted);
    jm__qr_free(&w->qr);
}

static jm_status prior_init(jm__prior *prior, size_t columns, double noise_w, jm_error *err)
{
    prior->noise_w = noise_w;
    prior->power_w = calloc(columns + 1, sizeof(double));
    prior->u_w = calloc(columns + 1, sizeof(double));
    return prior->power_w == NULL || prior->u_w == NULL ? jm__no_memory(err, "jm__fit_run") : JM_OK;
}

static jm_status workspace_init(workspace *w, const jm__fit_input *input, jm_error *err)
{
    *w = (workspace){0};
    w->group = calloc(input->columns + 1, sizeof *w->group);
    if (w->group == NULL) return jm__no_memory(err, "jm__fit_run");
    JM_TRY(jm__design_init(&w->design, input->pieces, input->columns, err));
    JM_TRY(prior_init(&w->prior, input->columns, input->sensor->noise, err));
    JM_TRY(prior_init(&w->grouped_prior, input->columns, input->sensor->noise, err));
    JM_TRY(jm__posterior_init(&w->posterior, input->columns, err));
    JM_TRY(jm__posterior_init(&w->shifted, input->columns, err));
    return jm__qr_init(&w->qr, input->columns, err);
}

/* Readings that speak mostly of time inside a window. At the start of a long one, those that still
 * remember what was before are left out. */
static jm_status choose(workspace *w, const jm__fit_input *input, jm_error *err)
{
    const jm__response r = jm__calibration_of(input->sensor).response;
    int64_t memory_ns = (int64_t)(r.kind == JM_RESPONSE_FIRST_ORDER ? 3 * r.width_ns : r.width_ns);
    size_t window = 0;
    for (size_t i = 0; i < input->reading_count; i++) {
        jm_reading reading = input->readings[i];
        int64_t t_ns = reading.t_ns - (int64_t)r.lag_ns;
        while (window < input->windows->count && input->windows->items[window].to_ns < t_ns)
            window++;
        if (window == input->windows->count) break;
        const jm__window *now = &input->windows->items[window];
        bool is_long = now->to_ns - now->from_ns > 20 * memory_ns;
        if (t_ns < now->from_ns + (is_long ? memory_ns : 0)) continue;
        if (!isfinite(reading.value) || reading.value < 0) continue;
        if (w->chosen.count > 0 && w->chosen.items[w->chosen.count - 1].t_ns >= reading.t_ns) continue;
        if (!jm__vec_push(&w->chosen, reading)) return jm__no_memory(err, "jm__fit_run");
    }
    return JM_OK;
}

/* At most `most` readings, in blocks spread over all of them. */
static jm_status take_sample(workspace *w, size_t most, jm_error *err)
{
    size_t count = w->chosen.count, blocks = most / BLOCK_READINGS + 1;
    w->sample.count = 0;
    if (!jm__vec_reserve(&w->sample, count < most ? count : most)) return jm__no_memory(err, "jm__fit_run");
    for (size_t i = 0; i < count && w->sample.count < most; i++) {
        size_t block = i * blocks / count, start = (block * count + blocks - 1) / blocks;
        if (count > most && i - start >= BLOCK_READINGS) continue;
        w->sample.items[w->sample.count++] = w->chosen.items[i];
    }
    return JM_OK;
}

/* Readings for the few fits on a sample: as many as cost about a second each. */
static size_t sample_for_shifts(const jm__fit_input *input)
{
    double most = 1.5e9 / ((double)input->columns * (double)input->columns);
    if (most > 50000) most = 50000;
    size_t least = 4 * input->columns;
    return most > (double)least ? (size_t)most : least;
}

static jm__pass pass_of(workspace *w, const jm__fit_input *input, bool sample, size_t groups)
{
    jm__pass pass = {
        .design = &w->design,
        .readings = sample ? w->sample.items : w->chosen.items,
        .count = sample ? w->sample.count : w->chosen.count,
        .period_ns = input->sensor->period_ns > 0 ? input->sensor->period_ns : 100000000,
        .group = groups > 0 ? w->group : NULL,
        .columns = groups > 0 ? groups : input->columns,
    };
    return pass;
}

/* Busy and idle level of the recording: where the prior of every class stands. */
static jm_status find_levels(workspace *w, const jm__fit_input *input, jm_error *err)
{
    double mean_w = 0;
    for (size_t i = 0; i < w->sample.count; i++)
        mean_w += w->sample.items[i].value / (double)w->sample.count;
    if (mean_w < 1e-3) mean_w = 1e-3;
    double least_w = mean_w; /* of the whole recording, also outside of the windows */
    for (size_t i = 0; i < input->reading_count; i++)
        if (input->readings[i].value > 0 && input->readings[i].value < least_w)
            least_w = input->readings[i].value;
    for (size_t k = 0; k < input->columns; k++)
        w->group[k] = k >= input->class_columns;
    w->grouped_prior.power_w[0] = mean_w;
    w->grouped_prior.power_w[1] = 0.4 * mean_w;
    w->grouped_prior.u_w[0] = w->grouped_prior.u_w[1] = mean_w;
    jm__pass pass = pass_of(w, input, true, 2);
    jm__qr qr = {0};
    jm__posterior level = {0};
    jm_status status = jm__qr_init(&qr, 2, err);
    if (status == JM_OK) status = jm__posterior_init(&level, 2, err);
    if (status == JM_OK) status = jm__pass_fold(&pass, jm__calibration_of(input->sensor).response, &qr, err);
    if (status == JM_OK) status = jm__posterior_solve(&level, &qr, &w->grouped_prior, err);
    for (size_t k = 0; status == JM_OK && k < input->columns; k++) {
        bool idle = k >= input->class_columns;
        double busy_w = level.power_w[0] > 0.1 * mean_w ? level.power_w[0] : mean_w;
        double idle_w = fmin(idle_over_least * least_w, idle_share * busy_w);
        w->prior.power_w[k] = idle ? idle_w : busy_w;
        w->prior.u_w[k] =
            idle ? fmax(idle_relative_u * idle_w, idle_u_share * busy_w) : prior_relative_u * busy_w;
    }
    jm__qr_free(&qr);
    jm__posterior_free(&level);
    return status;
}

static jm_status solve(workspace *w, const jm__pass *pass, jm__response response, jm__posterior *posterior,
                       jm_error *err)
{
    JM_TRY(jm__pass_fold(pass, response, &w->qr, err));
    return jm__posterior_solve(posterior, &w->qr, &w->prior, err);
}

typedef struct power_rank {
    double power_w;
    size_t column;
} power_rank;

static int weakest_first(const void *a, const void *b)
{
    const power_rank *left = a, *right = b;
    if (left->power_w != right->power_w) return left->power_w < right->power_w ? -1 : 1;
    return (left->column > right->column) - (left->column < right->column);
}

/* Classes of about the same power, each group with about the same share of the time: what is lost by
 * fitting them as one is little, and does not look like another response. `ranks`: room for all classes. */
static size_t group_by_power(workspace *w, const jm__fit_input *input, power_rank *ranks)
{
    double all_s = 0, sum_s = 0;
    for (size_t k = 0; k < input->class_columns; k++) {
        ranks[k] = (power_rank){w->posterior.power_w[k], k};
        all_s += input->seconds[k];
    }
    qsort(ranks, input->class_columns, sizeof *ranks, weakest_first);
    for (size_t i = 0; i < input->class_columns; i++) {
        size_t k = ranks[i].column;
        double middle_s = sum_s + input->seconds[k] / 2;
        size_t group = all_s > 0 ? (size_t)(middle_s / all_s * CALIBRATE_COLUMNS) : 0;
        w->group[k] = (uint32_t)(group < CALIBRATE_COLUMNS ? group : CALIBRATE_COLUMNS - 1);
        sum_s += input->seconds[k];
    }
    return CALIBRATE_COLUMNS;
}

/* Few classes stay as they are; many are put together by what a first fit says of their power. */
static jm_status make_groups(workspace *w, const jm__fit_input *input, size_t *groups, jm_error *err)
{
    *groups = input->class_columns;
    for (size_t k = 0; k < input->columns; k++)
        w->group[k] = (uint32_t)k;
    if (input->class_columns > CALIBRATE_COLUMNS) {
        jm__pass pass = pass_of(w, input, true, 0);
        JM_TRY(solve(w, &pass, jm__calibration_of(input->sensor).response, &w->posterior, err));
        power_rank *ranks = calloc(input->class_columns, sizeof *ranks);
        if (ranks == NULL) return jm__no_memory(err, "jm__fit_run");
        *groups = group_by_power(w, input, ranks);
        free(ranks);
    }
    for (size_t k = input->class_columns; k < input->columns; k++)
        w->group[k] = (uint32_t)(*groups)++;
    for (size_t g = 0; g < *groups; g++) { /* a group may stay empty */
        w->grouped_prior.power_w[g] = w->prior.power_w[0];
        w->grouped_prior.u_w[g] = w->prior.u_w[0];
    }
    for (size_t k = 0; k < input->columns; k++) {
        w->grouped_prior.power_w[w->group[k]] = w->prior.power_w[k];
        w->grouped_prior.u_w[w->group[k]] = w->prior.u_w[k];
    }
    return JM_OK;
}

static jm_status find_response(workspace *w, const jm__fit_input *input, jm_error *err)
{
    size_t groups;
    JM_TRY(take_sample(w, sample_for_shifts(input), err));
    JM_TRY(make_groups(w, input, &groups, err));
    JM_TRY(take_sample(w, CALIBRATE_READINGS, err));
    jm__pass pass = pass_of(w, input, true, groups);
    return jm__calibrate(&w->calibration, input->sensor, &pass, &w->grouped_prior, err);
}

/* On a sample: what an error of the response does to each power. The response's covariance is cut into
 * two independent errors: along lag (with the width that comes with it), and of width. */
static jm_status find_shifts(jm__fit *fit, workspace *w, const jm__fit_input *input, jm_error *err)
{
    jm__pass pass = pass_of(w, input, true, 0);
    const jm__calibration *c = &w->calibration;
    JM_TRY(solve(w, &pass, c->response, &w->posterior, err));
    double lag_u = sqrt(c->lag_variance);
    double along = lag_u > 0 ? c->covariance / lag_u : 0;
    double width_u = sqrt(fmax(0, c->width_variance - along * along));
    for (int axis = 0; axis < 2; axis++) {
        jm__response response = c->response;
        response.lag_ns += axis == 0 ? lag_u : 0;
        response.width_ns = fmax(1000, response.width_ns + (axis == 0 ? along : width_u));
        double *shift = axis == 0 ? fit->lag_shift : fit->width_shift;
        if ((axis == 0 ? lag_u : width_u) <= 0) continue;
        JM_TRY(solve(w, &pass, response, &w->shifted, err));
        for (size_t k = 0; k < input->columns; k++)
            shift[k] = w->shifted.power_w[k] - w->posterior.power_w[k];
    }
    return JM_OK;
}

/* out = left * right, square and symmetric or not; out may be neither. */
static void multiply(double *out, const double *left, const double *right, size_t columns)
{
    memset(out, 0, columns * columns * sizeof *out);
    for (size_t i = 0; i < columns; i++) {
        for (size_t m = 0; m < columns; m++) {
            double factor = left[i * columns + m];
            for (size_t j = 0; factor != 0 && j < columns; j++)
                out[i * columns + j] += factor * right[m * columns + j];
        }
    }
}

/* The sandwich C (S + R^-1) C: what noise with scores S = A'SA / sigma^4, and the prior's error, did to the
 * powers. */
static jm_status sandwich(double *out, const workspace *w, double *scores, double scale, size_t columns,
                          jm_error *err)
{
    double *half = malloc((columns * columns + 1) * sizeof *half);
    if (half == NULL) return jm__no_memory(err, "jm__fit_run");
    for (size_t i = 0; i < columns * columns; i++)
        scores[i] *= scale;
    for (size_t k = 0; k < columns; k++)
        scores[k * columns + k] += 1 / (w->prior.u_w[k] * w->prior.u_w[k]);
    multiply(half, w->posterior.covariance, scores, columns);
    multiply(out, half, w->posterior.covariance, columns);
    free(half);
    return JM_OK;
}

/* To both opinions of the covariance: neither knows that a kind has not one power. */
static jm_status add_misfit(jm__fit *fit, workspace *w, const jm__fit_input *input, const jm__noise *noise,
                            double *error, jm_error *err)
{
    size_t columns = input->columns;
    jm__pass part = pass_of(w, input, true, 0);
    const jm__misfit_of of = {
        .pass = &part,
        .response = fit->response,
        .power_w = w->posterior.power_w,
        .covariance = w->posterior.covariance,
        .prior_u_w = w->prior.u_w,
        .noise_w = w->posterior.noise_w,
        .readings = (double)w->chosen.count,
        .seen_square = jm__misfit_seen(noise, input->sensor->noise),
    };
    JM_TRY(jm__misfit_find(error, &fit->misfit, &of, err));
    for (size_t i = 0; i < columns * columns; i++) {
        fit->covariance[i] += error[i];
        fit->observed[i] += error[i];
    }
    return JM_OK;
}

/* Two opinions of the powers' covariance: from a model of the noise, and from the residuals as they are. */
static jm_status find_covariances(jm__fit *fit, workspace *w, const jm__fit_input *input, double *scores,
                                  jm_error *err)
{
    size_t columns = input->columns;
    jm__pass all = pass_of(w, input, false, 0), part = pass_of(w, input, true, 0);
    const double *x = w->posterior.power_w;
    double noise_square = w->posterior.noise_w * w->posterior.noise_w;
    jm__residuals residuals;
    JM_TRY(jm__pass_residuals(&all, fit->response, x, &residuals, scores, err));
    fit->residual_w = residuals.rms;
    fit->correlation = residuals.correlation;
    /* Residuals are smaller than the noise by what the fit took of it. */
    double scale = residuals.rms > 0 ? 1 / (noise_square * residuals.rms * residuals.rms) : 0;
    JM_TRY(sandwich(fit->observed, w, scores, scale, columns, err));
    jm__noise noise;
    JM_TRY(jm__noise_fit(&noise, &all, fit->response, x, w->posterior.freedom, err));
    memcpy(fit->covariance, w->posterior.covariance, columns * columns * sizeof(double));
    if (noise.drift == 0) return JM_OK;
    JM_TRY(jm__noise_scores(&noise, &part, fit->response, scores, err));
    scale = (double)all.count / (double)part.count / ((noise.white + noise.drift) * noise_square);
    JM_TRY(sandwich(fit->covariance, w, scores, scale, columns, err));
    return add_misfit(fit, w, input, &noise, scores, err);
}

/* Correlated residuals tell less of the response than the likelihood believed, but never less than the
 * sensor's profile knew. */
static void widen_shifts(jm__fit *fit, const jm__calibration *found, const jm_sensor *sensor)
{
    double memory = fmin(0.95, fmax(0, fit->correlation)), widen = (1 + memory) / (1 - memory);
    const jm__calibration profile = jm__calibration_of(sensor);
    double lag = found->lag_variance > 0 ? profile.lag_variance / found->lag_variance : 1;
    double width = found->width_variance > 0 ? profile.width_variance / found->width_variance : 1;
    for (size_t k = 0; k < fit->columns; k++) {
        fit->lag_shift[k] *= sqrt(fmin(widen, lag));
        fit->width_shift[k] *= sqrt(fmin(widen, width));
    }
}

static jm_status fold_all(jm__fit *fit, workspace *w, const jm__fit_input *input, jm_error *err)
{
    size_t columns = input->columns;
    jm__pass pass = pass_of(w, input, false, 0);
    fit->response = w->calibration.response;
    JM_TRY(solve(w, &pass, fit->response, &w->posterior, err));
    double *scores = malloc((columns * columns + 1) * sizeof *scores);
    if (scores == NULL) return jm__no_memory(err, "jm__fit_run");
    jm_status status = find_covariances(fit, w, input, scores, err);
    free(scores);
    if (status != JM_OK) return status;
    memcpy(fit->power_w, w->posterior.power_w, columns * sizeof(double));
    memcpy(fit->prior_w, w->prior.power_w, columns * sizeof(double));
    memcpy(fit->prior_u_w, w->prior.u_w, columns * sizeof(double));
    fit->readings = pass.count;
    fit->noise_w = w->posterior.noise_w;
    if (input->sensor->noise > 0) fit->chi2_n = pow(fit->noise_w / input->sensor->noise, 2);
    fit->quantile = jm__student_quantile(0.95, w->posterior.freedom);
    widen_shifts(fit, &w->calibration, input->sensor);
    fit->fitted = true;
    return JM_OK;
}

/* Without readings the total is shared by time, busy and idle alike: a model, and said to be one. */
static void share_by_time(jm__fit *fit, const jm__fit_input *input)
{
    double seconds = 0;
    for (size_t k = 0; k < input->columns; k++)
        seconds += input->seconds[k];
    fit->known = input->total.source != NULL && seconds > 0;
    for (size_t k = 0; k < input->columns && fit->known; k++) {
        fit->power_w[k] = input->total.energy_j / seconds;
        fit->prior_w[k] = fit->power_w[k];
        fit->prior_u_w[k] = 0.5 * fit->power_w[k];
        fit->covariance[k * input->columns + k] = pow(fit->prior_u_w[k], 2);
    }
    fit->quantile = jm__student_quantile(0.95, 1e6);
}

static jm_status allocate(jm__fit *fit, size_t columns, jm_error *err)
{
    *fit = (jm__fit){.columns = columns, .known = true};
    fit->residual_w = fit->chi2_n = fit->closure_z = fit->noise_w = NAN;
    fit->power_w = calloc(columns + 1, sizeof(double));
    fit->covariance = calloc(columns * columns + 1, sizeof(double));
    fit->observed = calloc(columns * columns + 1, sizeof(double));
    fit->prior_w = calloc(columns + 1, sizeof(double));
    fit->prior_u_w = calloc(columns + 1, sizeof(double));
    fit->lag_shift = calloc(columns + 1, sizeof(double));
    fit->width_shift = calloc(columns + 1, sizeof(double));
    bool all = fit->power_w != NULL && fit->covariance != NULL && fit->observed != NULL &&
               fit->prior_w != NULL && fit->prior_u_w != NULL && fit->lag_shift != NULL &&
               fit->width_shift != NULL;
    return all ? JM_OK : jm__no_memory(err, "jm__fit_run");
}

jm_status jm__fit_run(jm__fit *fit, const jm__fit_input *input, jm_error *err)
{
    JM_TRY(allocate(fit, input->columns, err));
    workspace w = {0};
    jm_status status = JM_OK;
    if (input->sensor != NULL) {
        status = workspace_init(&w, input, err);
        if (status == JM_OK) status = choose(&w, input, err);
    }
    if (status == JM_OK && w.chosen.count == 0) {
        share_by_time(fit, input);
    } else if (status == JM_OK) {
        status = take_sample(&w, CALIBRATE_READINGS, err);
        if (status == JM_OK) status = find_levels(&w, input, err);
        if (status == JM_OK) status = find_response(&w, input, err);
        if (status == JM_OK) status = take_sample(&w, sample_for_shifts(input), err);
        if (status == JM_OK) status = find_shifts(fit, &w, input, err);
        if (status == JM_OK) status = fold_all(fit, &w, input, err);
    }
    if (status == JM_OK) status = jm__fit_hold(fit, input, err);
    workspace_free(&w);
    return status;
}

void jm__fit_free(jm__fit *fit)
{
    free(fit->power_w);
    free(fit->covariance);
    free(fit->observed);
    free(fit->prior_w);
    free(fit->prior_u_w);
    free(fit->lag_shift);
    free(fit->width_shift);
    *fit = (jm__fit){0};
}
