/* Fold, solve, and ask what is wrong with the result: response, noise, powers that are not constant. */
#include "attribute/fit/stretch.h"

#include "attribute/fit/matrix.h"
#include "attribute/fit/misfit.h"
#include "attribute/fit/replicates.h"
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

jm__pass jm__stretch_pass(const jm__stretch_input *input, const jm__reading_list *readings)
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

static jm_status solve(jm__posterior *posterior, jm__qr *qr, const jm__stretch_input *input, jm_error *err)
{
    jm__pass all = jm__stretch_pass(input, input->readings);
    JM_TRY(jm__pass_fold(&all, input->calibration->response, qr, err));
    return jm__posterior_solve(posterior, qr, input->prior, err);
}

/* ---- what may be wrong with the readings, as covariance of their scores */

/* What is being found out, and what it is found from. */
typedef struct search {
    const jm__stretch_input *input;
    jm__pass all, part; /* all readings, and a sample of them for what costs columns^2 a reading */
    jm__qr data;
    jm__posterior first; /* as if the noise were white */
    double *scores;
    double *observed; /* the scores' covariance from blocks of residuals */
    double *response[JM_RESPONSE_AXES];
} search;

/* The response one standard uncertainty off on an axis; false if nothing is unsure there. */
static bool move(jm__response *out, const jm__calibration *c, int axis)
{
    double lag_u = sqrt(c->lag_variance), along = lag_u > 0 ? c->covariance / lag_u : 0;
    double width_u = sqrt(fmax(0, c->width_variance - along * along));
    *out = c->response;
    out->lag_ns += axis == 0 ? lag_u : 0;
    out->width_ns = fmax(JM_WIDTH_LEAST_NS, out->width_ns + (axis == 0 ? along : width_u));
    return (axis == 0 ? lag_u : width_u) > 0;
}

/* Correlated residuals tell less of the response than the likelihood believed, but never less than the
 * sensor's profile knew. */
static double widening(const jm__stretch_input *input, double correlation, int axis)
{
    const jm__calibration *found = input->calibration, profile = jm__calibration_of(input->sensor);
    /* The limit is a choice: at 0.95 one in 39 readings is news. */
    double memory = fmin(0.95, fmax(0, correlation)), widen = (1 + memory) / (1 - memory);
    double before = axis == 0 ? profile.lag_variance : profile.width_variance;
    double after = axis == 0 ? found->lag_variance : found->width_variance;
    return sqrt(fmin(widen, after > 0 ? before / after : 1));
}

/* A' (A_moved - A) x, for all readings. */
static jm_status find_response_scores(search *s, int axis, double correlation, jm_error *err)
{
    const jm__calibration *c = s->input->calibration;
    const jm__pass *pass = &s->part;
    size_t count = pass->count, columns = pass->columns;
    jm__response moved;
    if (!move(&moved, c, axis) || count == 0) return JM_OK;
    double *here = calloc(2 * count + columns + 1, sizeof *here);
    if (here == NULL) return jm__no_memory(err, "jm__stretch_weigh");
    double *there = here + count, *row = there + count;
    jm_status status = jm__pass_residual_each(pass, c->response, s->first.power_w, here, err);
    if (status == JM_OK) status = jm__pass_residual_each(pass, moved, s->first.power_w, there, err);
    double scale = widening(s->input, correlation, axis) * (double)s->all.count / (double)count;
    if (status == JM_OK) jm__design_start(pass->design, c->response);
    for (size_t i = 0; status == JM_OK && i < count; i++) {
        jm__pass_row(pass, i, row);
        for (size_t k = 0; k < columns; k++)
            s->response[axis][k] += scale * row[k] * (here[i] - there[i]);
    }
    free(here);
    return status;
}

/* How much larger the scores of the residuals are than the noise explains: the mean over powers of both
 * variances of what they do to a power. */
static double excess(const search *s, double *product)
{
    size_t n = s->part.columns;
    double sum = 0, powers = 0;
    for (size_t k = 0; k < n; k++) {
        const double *row = s->first.covariance + k * n;
        jm__matrix_apply(product, s->observed, row, n);
        double seen = jm__matrix_dot(product, row, n);
        jm__matrix_apply(product, s->scores, row, n);
        double expected = jm__matrix_dot(product, row, n);
        if (expected <= 0) continue;
        sum += seen / expected;
        powers++;
    }
    return powers > 0 ? sum / powers : 1;
}

/* The noise as it is modelled, made larger where blocks of a second show more. */
static jm_status find_noise_scores(search *s, jm__stretch *out, const jm__noise *noise, jm_error *err)
{
    size_t square = s->part.columns * s->part.columns;
    JM_TRY(jm__noise_scores(noise, &s->part, s->input->calibration->response, s->scores, err));
    double scale = (double)s->all.count / (double)s->part.count;
    for (size_t i = 0; i < square; i++)
        s->scores[i] *= scale;
    if (s->all.count < JM_NOISE_READINGS) return JM_OK;
    double taken = s->first.noise_w / out->residual_w; /* the fit took some of the residuals */
    double larger = fmax(1, taken * taken * excess(s, s->response[0]));
    memset(s->response[0], 0, s->part.columns * sizeof(double));
    for (size_t i = 0; i < square; i++)
        s->scores[i] *= larger;
    return JM_OK;
}

static jm_status find_seen(jm__misfit_seen *seen, const search *s, const jm__noise *noise, jm_error *err)
{
    const jm__stretch_input *input = s->input;
    jm__reading_list few = {0};
    *seen = jm__misfit_of_noise(noise, jm__noise_of(input->sensor).noise_w);
    jm_status status = jm__readings_sample(&few, input->readings, jm__replicates_most(s->all.columns), err);
    const jm__pass pass = jm__stretch_pass(input, &few);
    if (status == JM_OK)
        status = jm__replicates_find(seen, &pass, input->calibration->response, s->first.power_w,
                                     s->first.covariance, err);
    jm__vec_free(&few);
    return status;
}

static jm_status find_scores(search *s, jm__stretch *out, jm_error *err)
{
    const jm__stretch_input *input = s->input;
    const jm__response response = input->calibration->response;
    jm__residuals residuals;
    JM_TRY(jm__pass_residuals(&s->all, response, s->first.power_w, &residuals, s->observed, err));
    out->residual_w = residuals.rms;
    out->correlation = residuals.correlation;
    JM_TRY(jm__noise_fit(&out->noise, &s->all, response, s->first.power_w, s->first.freedom, err));
    jm__noise noise = input->noise != NULL ? *input->noise : out->noise;
    if (noise.white + noise.drift <= 0) noise = (jm__noise){.white = pow(s->first.noise_w, 2)};
    JM_TRY(find_noise_scores(s, out, &noise, err));
    jm__misfit_seen seen;
    JM_TRY(find_seen(&seen, s, &noise, err));
    const jm__misfit_of of = {
        .pass = &s->part,
        .response = response,
        .power_w = s->first.power_w,
        .readings = (double)s->all.count,
        .covariance = s->first.covariance,
        .noise_w = s->first.noise_w,
        .seen = seen,
    };
    JM_TRY(jm__misfit_add(s->scores, &out->misfit, &of, err));
    for (int axis = 0; axis < JM_RESPONSE_AXES; axis++)
        JM_TRY(find_response_scores(s, axis, out->correlation, err));
    return JM_OK;
}

/* ---- readings as equations */

/* A thousandth of what is believed goes with the readings: of what none of them tells, the scores alone could
 * not be solved for. The prior then counts for the rest. */
static const double lent = 1e-3;

static void lend(search *s, double *row)
{
    const jm__prior *prior = s->input->prior;
    size_t square = prior->columns * prior->columns;
    double noise_square = pow(s->first.noise_w, 2);
    jm__prior_add(&s->data, prior, sqrt(lent) * s->first.noise_w, row);
    jm__qr_finish(&s->data);
    for (size_t i = 0; i < square; i++)
        s->scores[i] += lent * noise_square * noise_square * prior->information[i];
}

static jm_status weigh(jm__weighed *equations, jm__stretch *out, search *s, jm_error *err)
{
    const jm__stretch_input *input = s->input;
    JM_TRY(solve(&s->first, &s->data, input, err));
    out->readings = s->all.count;
    out->noise_w = s->first.noise_w;
    out->freedom = s->first.freedom;
    if (s->all.count > 0) JM_TRY(find_scores(s, out, err));
    lend(s, s->observed); /* used up: room for a row */
    const jm__weigh_of of = {
        .data = &s->data,
        .prior = input->prior,
        .scores = s->scores,
        .response = {s->response[0], s->response[1]},
        .prior_shift = {input->prior_shift[0], input->prior_shift[1]},
    };
    return jm__weigh(equations, &of, err);
}

jm_status jm__stretch_weigh(jm__weighed *equations, jm__stretch *out, const jm__stretch_input *input,
                            jm_error *err)
{
    size_t columns = input->prior->columns;
    jm__reading_list sample = {0};
    search s = {.input = input, .all = jm__stretch_pass(input, input->readings)};
    *equations = (jm__weighed){0};
    s.scores = calloc(columns * columns + 1, sizeof(double));
    s.observed = calloc(columns * columns + columns + 1, sizeof(double));
    bool fine = s.scores != NULL && s.observed != NULL;
    for (int axis = 0; axis < JM_RESPONSE_AXES; axis++) {
        s.response[axis] = calloc(columns + 1, sizeof(double));
        fine = fine && s.response[axis] != NULL;
    }
    jm_status status =
        fine ? jm__posterior_init(&s.first, columns, err) : jm__no_memory(err, "jm__stretch_weigh");
    if (status == JM_OK) status = jm__qr_init(&s.data, columns, err);
    if (status == JM_OK)
        status = jm__readings_sample(&sample, input->readings, jm__stretch_sample_size(columns), err);
    s.part = jm__stretch_pass(input, &sample);
    if (status == JM_OK) status = weigh(equations, out, &s, err);
    jm__vec_free(&sample);
    jm__posterior_free(&s.first);
    jm__qr_free(&s.data);
    free(s.scores);
    free(s.observed);
    for (int axis = 0; axis < JM_RESPONSE_AXES; axis++)
        free(s.response[axis]);
    return status;
}

jm_status jm__stretch_update(jm__posterior *posterior, const jm__weighed *equations, const jm__prior *prior,
                             jm_error *err)
{
    return jm__posterior_update(posterior, &equations->equations, prior, sqrt(1 - lent), err);
}

/* ---- the whole */

jm_status jm__stretch_init(jm__stretch *out, size_t columns, jm_error *err)
{
    *out = (jm__stretch){.columns = columns};
    out->power_w = calloc(columns + 1, sizeof(double));
    out->covariance = calloc(columns * columns + 1, sizeof(double));
    bool all = out->power_w != NULL && out->covariance != NULL;
    for (int axis = 0; axis < JM_RESPONSE_AXES; axis++) {
        out->shift[axis] = calloc(columns + 1, sizeof(double));
        all = all && out->shift[axis] != NULL;
    }
    return all ? JM_OK : jm__no_memory(err, "jm__stretch_init");
}

jm_status jm__stretch_solve(jm__stretch *out, const jm__stretch_input *input, jm_error *err)
{
    size_t columns = input->prior->columns;
    jm__weighed equations = {0};
    jm__posterior found = {0};
    JM_TRY(jm__stretch_init(out, columns, err));
    jm_status status = jm__stretch_weigh(&equations, out, input, err);
    if (status == JM_OK) status = jm__posterior_init(&found, columns, err);
    if (status == JM_OK) status = jm__stretch_update(&found, &equations, input->prior, err);
    if (status == JM_OK) {
        memcpy(out->power_w, found.power_w, columns * sizeof(double));
        memcpy(out->covariance, found.covariance, columns * columns * sizeof(double));
        for (int axis = 0; axis < JM_RESPONSE_AXES; axis++)
            jm__matrix_apply(out->shift[axis], found.covariance, equations.told[axis], columns);
    }
    jm__posterior_free(&found);
    jm__weighed_free(&equations);
    return status;
}

void jm__stretch_free(jm__stretch *stretch)
{
    free(stretch->power_w);
    free(stretch->covariance);
    for (int axis = 0; axis < JM_RESPONSE_AXES; axis++)
        free(stretch->shift[axis]);
    *stretch = (jm__stretch){0};
}
