/* Scores into equations.
 *
 * Errors of the response t, each of variance 1, add B t to the errors of Q'y, and the prior's powers may know
 * of them already: they covary with t by S, as they were learnt with the same response. Then t = W'(x - x0) +
 * r with W = P^-1 S, P being the prior's covariance, and r of covariance R = 1 - S'W independent of x. So Q'y
 * = (T + B W') x - B W'x0 + B r + the other errors: equations of x alone. After them x covaries with t by C
 * (W - T' N^-1 B R), T and N being the new ones. */
#include "attribute/fit/interval.h"

#include "attribute/fit/nnls.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct weigher {
    const jm__weigh_of *of;
    size_t columns;
    double *errors;                                  /* N, then L */
    double *rows;                                    /* columns * (columns + 1): T and Q'y */
    double *moved[JM_RESPONSE_AXES];                 /* B */
    double *known[JM_RESPONSE_AXES];                 /* W */
    double rest[JM_RESPONSE_AXES][JM_RESPONSE_AXES]; /* R */
} weigher;

static jm_status weigher_init(weigher *w, const jm__weigh_of *of, jm_error *err)
{
    size_t n = of->data->columns;
    *w = (weigher){.of = of, .columns = n};
    w->errors = malloc((n * n + 1) * sizeof(double));
    w->rows = calloc(n * (n + 1) + 1, sizeof(double));
    bool all = w->errors != NULL && w->rows != NULL;
    for (int axis = 0; axis < JM_RESPONSE_AXES; axis++) {
        w->moved[axis] = calloc(n + 1, sizeof(double));
        w->known[axis] = calloc(n + 1, sizeof(double));
        all = all && w->moved[axis] != NULL && w->known[axis] != NULL;
    }
    return all ? JM_OK : jm__no_memory(err, "jm__weigh");
}

static void weigher_free(weigher *w)
{
    free(w->errors);
    free(w->rows);
    for (int axis = 0; axis < JM_RESPONSE_AXES; axis++) {
        free(w->moved[axis]);
        free(w->known[axis]);
    }
}

/* values = T'^-1 values: from a score to the orthogonal basis. */
static void to_basis(double *values, const jm__qr *data)
{
    for (size_t i = 0; i < data->columns; i++) {
        const double *column = data->triangle + i * data->stride;
        values[i] = (values[i] - jm__matrix_dot(column, values, i)) / column[i];
    }
}

/* The lower half of the transpose in place of a matrix's own: nothing reads the upper half. */
static void burst(double *matrix, size_t n)
{
    for (size_t i = 1; i < n; i++)
        for (size_t j = 0; j < i; j++)
            matrix[i * n + j] = matrix[j * n + i];
}

static void take_triangle(weigher *w)
{
    const jm__qr *data = w->of->data;
    size_t n = w->columns;
    for (size_t i = 0; i < n; i++) {
        for (size_t k = i; k <= n; k++)
            w->rows[i * (n + 1) + k] = data->triangle[k * data->stride + i];
        to_basis(memcpy(w->errors + i * n, w->of->scores + i * n, n * sizeof(double)), data);
    }
    burst(w->errors, n);
    for (size_t i = 0; i < n; i++)
        to_basis(w->errors + i * n, data);
}

static void take_axis(weigher *w, int axis)
{
    const jm__weigh_of *of = w->of;
    size_t n = w->columns;
    double *b = w->moved[axis], *known = w->known[axis];
    to_basis(memcpy(b, of->response[axis], n * sizeof *b), of->data);
    if (of->prior_shift[axis] == NULL) return;
    jm__matrix_apply(known, of->joint_prior->information, of->prior_shift[axis], n);
    double before = jm__matrix_dot(known, of->joint_prior->power_w, n);
    for (size_t i = 0; i < n; i++) {
        double *row = w->rows + i * (n + 1);
        for (size_t k = 0; k < n; k++)
            row[k] += b[i] * known[k];
        row[n] += b[i] * before;
    }
}

/* What the prior's powers leave of the errors of the response: a covariance, whatever rounding and powers at
 * their limits make of it. */
static void find_rest(weigher *w)
{
    for (int a = 0; a < JM_RESPONSE_AXES; a++) {
        const double *shift = w->of->prior_shift[a];
        w->rest[a][a] = 1;
        if (shift != NULL) w->rest[a][a] = fmax(0, 1 - jm__matrix_dot(w->known[a], shift, w->columns));
        for (int b = 0; shift != NULL && b < a; b++) {
            double most = sqrt(w->rest[a][a] * w->rest[b][b]);
            double both = -jm__matrix_dot(w->known[b], shift, w->columns);
            w->rest[a][b] = w->rest[b][a] = fmax(-most, fmin(most, both));
        }
    }
}

static void take_response(weigher *w)
{
    size_t n = w->columns;
    for (int axis = 0; axis < JM_RESPONSE_AXES; axis++)
        take_axis(w, axis);
    find_rest(w);
    for (int a = 0; a < JM_RESPONSE_AXES; a++)
        for (int b = 0; b < JM_RESPONSE_AXES; b++)
            for (size_t i = 0; i < n; i++)
                for (size_t k = 0; k < n; k++)
                    w->errors[i * n + k] += w->rest[a][b] * w->moved[a][i] * w->moved[b][k];
}

static jm_status whiten(weigher *w, jm_error *err)
{
    size_t n = w->columns;
    for (size_t i = 0; i < n; i++) /* rounding must not cost the factor */
        w->errors[i * n + i] *= 1 + 1e-9;
    if (!jm__matrix_factor(w->errors, n))
        return jm__fail(err, JM_INTERNAL, 0, "jm__weigh", "the errors of the readings are no covariance");
    for (size_t i = 0; i < n; i++)
        jm__matrix_whiten(w->rows, n + 1, w->errors, i, n);
    for (int axis = 0; axis < JM_RESPONSE_AXES; axis++)
        for (size_t i = 0; i < n; i++)
            jm__matrix_whiten(w->moved[axis], 1, w->errors, i, n);
    return JM_OK;
}

/* W - T' N^-1 B R */
static jm_status tell(jm__weighed *out, const weigher *w, jm_error *err)
{
    size_t n = w->columns;
    for (int axis = 0; axis < JM_RESPONSE_AXES; axis++) {
        out->marked[axis] = malloc((n + 1) * sizeof(double));
        if (out->marked[axis] == NULL) return jm__no_memory(err, "jm__weigh");
        memcpy(out->marked[axis], w->known[axis], n * sizeof(double));
        for (int other = 0; other < JM_RESPONSE_AXES; other++)
            for (size_t i = 0; i < n; i++)
                for (size_t k = 0; k < n; k++)
                    out->marked[axis][k] -=
                        w->rest[axis][other] * w->moved[other][i] * w->rows[i * (n + 1) + k];
    }
    return JM_OK;
}

static jm_status weigh(jm__weighed *out, weigher *w, jm_error *err)
{
    size_t n = w->columns;
    take_triangle(w);
    take_response(w);
    JM_TRY(whiten(w, err));
    JM_TRY(jm__qr_init(&out->equations, n, err));
    for (size_t i = 0; i < n; i++)
        jm__qr_add(&out->equations, w->rows + i * (n + 1), w->rows[i * (n + 1) + n]);
    jm__qr_finish(&out->equations);
    return tell(out, w, err);
}

jm_status jm__weigh(jm__weighed *out, const jm__weigh_of *of, jm_error *err)
{
    weigher w;
    *out = (jm__weighed){0};
    jm_status status = weigher_init(&w, of, err);
    if (status == JM_OK) status = weigh(out, &w, err);
    weigher_free(&w);
    if (status != JM_OK) jm__weighed_free(out);
    return status;
}

void jm__weighed_free(jm__weighed *weighed)
{
    jm__qr_free(&weighed->equations);
    for (int axis = 0; axis < JM_RESPONSE_AXES; axis++)
        free(weighed->marked[axis]);
    *weighed = (jm__weighed){0};
}

/* Multiplications that a step on a sample may take: about a second on one core of 2020. */
static const double sample_cost = 1.5e9;

/* Beyond that more readings no longer change what a sample tells (16 minutes of the ring). */
static const double sample_most = 50000;

/* A period for sensors that tell none: the slowest that boards were seen with. */
static const int64_t unknown_period_ns = 100000000;

size_t jm__fit_interval_sample_size(size_t columns)
{
    double most = fmin(sample_most, sample_cost / ((double)columns * (double)columns));
    double least = 4 * (double)columns; /* fewer would leave columns without a reading */
    return (size_t)fmax(most, least);
}

jm__pass jm__fit_interval_pass(const jm__fit_interval_input *input, const jm__reading_list *readings)
{
    jm__pass pass = {
        .design = input->design,
        .readings = readings->items,
        .count = readings->count,
        .period_ns = input->sensor->period_ns > 0 ? input->sensor->period_ns : unknown_period_ns,
        .columns = input->joint_prior->columns,
    };
    return pass;
}

static jm_status solve(jm__posterior *posterior, jm__qr *qr, const jm__fit_interval_input *input,
                       jm_error *err)
{
    jm__pass all = jm__fit_interval_pass(input, input->readings);
    JM_TRY(jm__pass_fold(&all, input->calibration->response, qr, err));
    return jm__posterior_solve(posterior, qr, input->joint_prior, err);
}

/* ---- what may be wrong with the readings, as covariance of their scores */

/* What is being found out, and what it is found from. */
typedef struct search {
    const jm__fit_interval_input *input;
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

/* Correlated residuals tell less of the response than the likelihood assumed, but never less than the
 * sensor's profile knew. */
static double widening(const jm__fit_interval_input *input, double correlation, int axis)
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
    if (here == NULL) return jm__no_memory(err, "jm__fit_interval_weigh");
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
static jm_status find_noise_scores(search *s, jm__fit_interval *out, const jm__noise *noise, jm_error *err)
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

static jm_status find_seen(jm__discrepancy_seen *seen, const search *s, const jm__noise *noise, jm_error *err)
{
    const jm__fit_interval_input *input = s->input;
    jm__reading_list few = {0};
    *seen = jm__discrepancy_of_noise(noise, jm__noise_of(input->sensor).noise_w);
    jm_status status = jm__readings_sample(&few, input->readings, jm__replicates_most(s->all.columns), err);
    const jm__pass pass = jm__fit_interval_pass(input, &few);
    if (status == JM_OK)
        status = jm__replicates_find(seen, &pass, input->calibration->response, s->first.power_w,
                                     s->first.covariance, err);
    jm__vec_free(&few);
    return status;
}

static jm_status find_scores(search *s, jm__fit_interval *out, jm_error *err)
{
    const jm__fit_interval_input *input = s->input;
    const jm__response response = input->calibration->response;
    jm__residuals residuals;
    JM_TRY(jm__pass_residuals(&s->all, response, s->first.power_w, &residuals, s->observed, err));
    out->residual_w = residuals.rms;
    out->correlation = residuals.correlation;
    JM_TRY(jm__noise_fit(&out->noise, &s->all, response, s->first.power_w, s->first.freedom, err));
    jm__noise noise = input->noise != NULL ? *input->noise : out->noise;
    if (noise.white + noise.drift <= 0) noise = (jm__noise){.white = pow(s->first.noise_w, 2)};
    JM_TRY(find_noise_scores(s, out, &noise, err));
    jm__discrepancy_seen seen;
    JM_TRY(find_seen(&seen, s, &noise, err));
    const jm__discrepancy_of of = {
        .pass = &s->part,
        .response = response,
        .power_w = s->first.power_w,
        .readings = (double)s->all.count,
        .covariance = s->first.covariance,
        .noise_w = s->first.noise_w,
        .seen = seen,
    };
    JM_TRY(jm__discrepancy_add(s->scores, &out->discrepancy, &of, err));
    for (int axis = 0; axis < JM_RESPONSE_AXES; axis++)
        JM_TRY(find_response_scores(s, axis, out->correlation, err));
    return JM_OK;
}

/* ---- readings as equations */

/* A thousandth of what is assumed goes with the readings: of what none of them tells, the scores alone could
 * not be solved for. The prior then counts for the rest. */
static const double lent = 1e-3;

static void lend(search *s, double *row)
{
    const jm__joint_prior *joint_prior = s->input->joint_prior;
    size_t square = joint_prior->columns * joint_prior->columns;
    double noise_square = pow(s->first.noise_w, 2);
    jm__joint_prior_add(&s->data, joint_prior, sqrt(lent) * s->first.noise_w, row);
    jm__qr_finish(&s->data);
    for (size_t i = 0; i < square; i++)
        s->scores[i] += lent * noise_square * noise_square * joint_prior->information[i];
}

static jm_status weigh_interval(jm__weighed *equations, jm__fit_interval *out, search *s, jm_error *err)
{
    const jm__fit_interval_input *input = s->input;
    JM_TRY(solve(&s->first, &s->data, input, err));
    out->readings = s->all.count;
    out->noise_w = s->first.noise_w;
    out->freedom = s->first.freedom;
    if (s->all.count > 0) JM_TRY(find_scores(s, out, err));
    lend(s, s->observed); /* used up: room for a row */
    const jm__weigh_of of = {
        .data = &s->data,
        .joint_prior = input->joint_prior,
        .scores = s->scores,
        .response = {s->response[0], s->response[1]},
        .prior_shift = {input->prior_shift[0], input->prior_shift[1]},
    };
    return jm__weigh(equations, &of, err);
}

jm_status jm__fit_interval_weigh(jm__weighed *equations, jm__fit_interval *out,
                                 const jm__fit_interval_input *input, jm_error *err)
{
    size_t columns = input->joint_prior->columns;
    jm__reading_list sample = {0};
    search s = {.input = input, .all = jm__fit_interval_pass(input, input->readings)};
    *equations = (jm__weighed){0};
    s.scores = calloc(columns * columns + 1, sizeof(double));
    s.observed = calloc(columns * columns + columns + 1, sizeof(double));
    bool fine = s.scores != NULL && s.observed != NULL;
    for (int axis = 0; axis < JM_RESPONSE_AXES; axis++) {
        s.response[axis] = calloc(columns + 1, sizeof(double));
        fine = fine && s.response[axis] != NULL;
    }
    jm_status status =
        fine ? jm__posterior_init(&s.first, columns, err) : jm__no_memory(err, "jm__fit_interval_weigh");
    if (status == JM_OK) status = jm__qr_init(&s.data, columns, err);
    if (status == JM_OK)
        status = jm__readings_sample(&sample, input->readings, jm__fit_interval_sample_size(columns), err);
    s.part = jm__fit_interval_pass(input, &sample);
    if (status == JM_OK) status = weigh_interval(equations, out, &s, err);
    jm__vec_free(&sample);
    jm__posterior_free(&s.first);
    jm__qr_free(&s.data);
    free(s.scores);
    free(s.observed);
    for (int axis = 0; axis < JM_RESPONSE_AXES; axis++)
        free(s.response[axis]);
    return status;
}

jm_status jm__fit_interval_update(jm__posterior *posterior, const jm__weighed *equations,
                                  const jm__joint_prior *joint_prior, jm_error *err)
{
    return jm__posterior_update(posterior, &equations->equations, joint_prior, sqrt(1 - lent), err);
}

/* ---- the whole */

jm_status jm__fit_interval_init(jm__fit_interval *out, size_t columns, jm_error *err)
{
    *out = (jm__fit_interval){.columns = columns};
    out->power_w = calloc(columns + 1, sizeof(double));
    out->covariance = calloc(columns * columns + 1, sizeof(double));
    bool all = out->power_w != NULL && out->covariance != NULL;
    for (int axis = 0; axis < JM_RESPONSE_AXES; axis++) {
        out->shift[axis] = calloc(columns + 1, sizeof(double));
        all = all && out->shift[axis] != NULL;
    }
    return all ? JM_OK : jm__no_memory(err, "jm__fit_interval_init");
}

jm_status jm__fit_interval_solve(jm__fit_interval *out, const jm__fit_interval_input *input, jm_error *err)
{
    size_t columns = input->joint_prior->columns;
    jm__weighed equations = {0};
    JM_TRY(jm__fit_interval_init(out, columns, err));
    jm_status status = jm__fit_interval_weigh(&equations, out, input, err);
    jm__posterior found = {.power_w = out->power_w, .covariance = out->covariance};
    if (status == JM_OK) status = jm__fit_interval_update(&found, &equations, input->joint_prior, err);
    for (int axis = 0; status == JM_OK && axis < JM_RESPONSE_AXES; axis++)
        jm__matrix_apply(out->shift[axis], found.covariance, equations.marked[axis], columns);
    jm__weighed_free(&equations);
    return status;
}

void jm__fit_interval_free(jm__fit_interval *interval)
{
    free(interval->power_w);
    free(interval->covariance);
    for (int axis = 0; axis < JM_RESPONSE_AXES; axis++)
        free(interval->shift[axis]);
    *interval = (jm__fit_interval){0};
}

/* Few classes stay as they are; many are put together by what a first fit says of their power. */

/* Groups of classes while lag and width are looked for: the search costs their square, and members of one
 * group, each with a 60th of the busy time, are no more than a few watts apart. */
enum { GROUPS = 60 };

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
 * fitting them as one is little, and does not look like another response. */
static void group_by_power(uint32_t *group, const jm__respond_input *input, const double *power_w,
                           power_rank *ranks)
{
    double all_s = 0, sum_s = 0;
    for (size_t k = 0; k < input->class_columns; k++) {
        ranks[k] = (power_rank){power_w[k], k};
        all_s += input->seconds[k];
    }
    qsort(ranks, input->class_columns, sizeof *ranks, weakest_first);
    for (size_t i = 0; i < input->class_columns; i++) {
        size_t k = ranks[i].column;
        double middle_s = sum_s + input->seconds[k] / 2;
        size_t number = all_s > 0 ? (size_t)(middle_s / all_s * GROUPS) : 0;
        group[k] = (uint32_t)(number < GROUPS ? number : GROUPS - 1);
        sum_s += input->seconds[k];
    }
}

static jm__pass pass_of(const jm__respond_input *input, const jm__reading_list *readings)
{
    jm__pass pass = {
        .design = input->design,
        .readings = readings->items,
        .count = readings->count,
        .columns = input->joint_prior->columns,
    };
    return pass;
}

/* What a fit with the response of the sensor's profile says of each power. */
static jm_status first_fit(jm__posterior *powers, const jm__respond_input *input,
                           const jm__reading_list *learn, jm_error *err)
{
    jm__reading_list sample = {0};
    jm__qr qr = {0};
    size_t columns = input->joint_prior->columns;
    jm_status status = jm__readings_sample(&sample, learn, jm__fit_interval_sample_size(columns), err);
    jm__pass pass = pass_of(input, &sample);
    if (status == JM_OK) status = jm__qr_init(&qr, columns, err);
    if (status == JM_OK) status = jm__pass_fold(&pass, jm__calibration_of(input->sensor).response, &qr, err);
    if (status == JM_OK) status = jm__posterior_solve(powers, &qr, input->joint_prior, err);
    jm__qr_free(&qr);
    jm__vec_free(&sample);
    return status;
}

/* group[k] of each column; idle states stay alone. Returns the number of groups through `groups`. */
static jm_status make_groups(uint32_t *group, size_t *groups, const jm__respond_input *input,
                             const jm__reading_list *learn, jm_error *err)
{
    size_t columns = input->joint_prior->columns;
    *groups = input->class_columns;
    for (size_t k = 0; k < columns; k++)
        group[k] = (uint32_t)k;
    if (input->class_columns > GROUPS) {
        jm__posterior powers = {0};
        power_rank *ranks = calloc(input->class_columns, sizeof *ranks);
        jm_status status = jm__posterior_init(&powers, columns, err);
        if (status == JM_OK && ranks == NULL) status = jm__no_memory(err, "jm__respond");
        if (status == JM_OK) status = first_fit(&powers, input, learn, err);
        if (status == JM_OK) group_by_power(group, input, powers.power_w, ranks);
        free(ranks);
        jm__posterior_free(&powers);
        if (status != JM_OK) return status;
        *groups = GROUPS;
    }
    for (size_t k = input->class_columns; k < columns; k++)
        group[k] = (uint32_t)(*groups)++;
    return JM_OK;
}

/* A group starts from the prior about one of its columns; one that stayed empty from any. */
static jm_status group_prior(jm__joint_prior *out, const uint32_t *group, size_t groups,
                             const jm__joint_prior *joint_prior, jm_error *err)
{
    jm__prior prior;
    JM_TRY(jm__prior_init(&prior, JM_PROVENANCE_WEAK, groups, err));
    jm_status status = JM_OK;
    for (size_t g = 0; status == JM_OK && g < groups; g++) {
        size_t member = 0;
        for (size_t k = 0; k < joint_prior->columns; k++)
            if (group[k] == g) member = k;
        status = jm__prior_add_power(&prior, g, joint_prior->power_w[member], joint_prior->u_w[member], err);
    }
    if (status == JM_OK) status = jm__joint_prior_make(out, &prior, NULL, 0, joint_prior->noise, err);
    jm__prior_free(&prior);
    return status;
}

jm_status jm__respond(jm__calibration *out, const jm__respond_input *input, const jm__reading_list *learn,
                      jm_error *err)
{
    jm__reading_list sample = {0};
    jm__joint_prior grouped = {0};
    size_t groups = 0;
    uint32_t *group = calloc(input->joint_prior->columns + 1, sizeof *group);
    jm_status status = group == NULL ? jm__no_memory(err, "jm__respond") : JM_OK;
    if (status == JM_OK) status = make_groups(group, &groups, input, learn, err);
    if (status == JM_OK) status = group_prior(&grouped, group, groups, input->joint_prior, err);
    if (status == JM_OK) status = jm__readings_sample(&sample, learn, JM_CALIBRATE_READINGS, err);
    jm__pass pass = pass_of(input, &sample);
    pass.group = group;
    pass.columns = groups;
    if (status == JM_OK) status = jm__calibrate(out, input->sensor, &pass, &grouped, err);
    jm__joint_prior_free(&grouped);
    jm__vec_free(&sample);
    free(group);
    return status;
}
