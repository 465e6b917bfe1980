/* Scores into equations, what may be wrong with the readings, and powers at each likely response. */
#include "attribute/fit/interval.h"

#include "attribute/fit/nnls.h"
#include "attribute/fit/total.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The lower half of the transpose in place of a matrix's own: nothing reads the upper half. */
static void transpose(double *matrix, size_t n)
{
    for (size_t i = 1; i < n; i++)
        for (size_t j = 0; j < i; j++)
            matrix[i * n + j] = matrix[j * n + i];
}

/* L, from S in `errors`; T' in `lower`, and T and Q'y in `rows`, columns * (columns + 1). */
static bool find_factor(double *errors, double *rows, double *lower, const jm__qr *data)
{
    size_t n = data->columns;
    for (size_t k = 0; k <= n; k++) {
        const double *column = data->triangle + k * data->stride;
        for (size_t i = 0; i < n && i <= k; i++)
            rows[i * (n + 1) + k] = column[i];
        if (k < n) memcpy(lower + k * n, column, (k + 1) * sizeof *lower);
    }
    for (size_t i = 0; i < n; i++)
        jm__matrix_forward(errors + i * n, lower, n);
    transpose(errors, n);
    for (size_t i = 0; i < n; i++)
        jm__matrix_forward(errors + i * n, lower, n);
    for (size_t i = 0; i < n; i++) /* rounding must not cost the factor */
        errors[i * n + i] *= 1 + 1e-9;
    return jm__matrix_factor(errors, n);
}

jm_status jm__weigh(jm__qr *equations, const jm__qr *data, const double *scores, jm_error *err)
{
    size_t n = data->columns;
    double *rows = calloc(n * (3 * n + 1) + 1, sizeof *rows);
    *equations = (jm__qr){0};
    if (rows == NULL) return jm__no_memory(err, "jm__weigh");
    double *errors = rows + n * (n + 1);
    memcpy(errors, scores, n * n * sizeof *errors);
    jm_status status = jm__qr_init(equations, n, err);
    if (status == JM_OK && !find_factor(errors, rows, errors + n * n, data))
        status =
            jm__fail(err, JM_INTERNAL, 0, "jm__weigh", "the errors of the readings are not a covariance");
    if (status == JM_OK) {
        jm__matrix_whiten(rows, n + 1, errors, n);
        for (size_t i = 0; i < n; i++)
            jm__qr_add(equations, rows + i * (n + 1), rows[i * (n + 1) + n]);
        jm__qr_finish(equations);
    }
    free(rows);
    return status;
}

/* Multiplications that a step on a sample may take: about a second on one core of 2020. */
static const double sample_cost = 1.5e9;

/* Beyond that more readings no longer change what a sample tells (16 minutes of the ring). */
static const double sample_most = 50000;

size_t jm__fit_interval_sample_size(size_t columns)
{
    double most = fmin(sample_most, sample_cost / ((double)columns * (double)columns));
    double least = 4 * (double)columns; /* fewer would leave columns without a reading */
    return (size_t)fmax(most, least);
}

jm__pass jm__fit_interval_pass(const jm__fit_interval_input *input, const jm__reading_list *readings)
{
    return (jm__pass){
        .design = input->design,
        .readings = readings->items,
        .count = readings->count,
        .period_ns = jm__power_period_ns(input->sensor),
        .columns = input->joint_prior->columns,
    };
}

/* ---- what may be wrong with the readings, as covariance of their scores */

/* What is being found out, and what it is found from. */
typedef struct search {
    const jm__fit_interval_input *input;
    jm__pass all, part; /* all readings, and a sample of them for what costs columns^2 a reading */
    jm__qr data;
    jm__posterior first; /* as if the noise were white */
    double *residual;    /* [all.count] */
    double *scores;      /* [columns * columns], like the next one */
    double *observed;    /* the scores' covariance from blocks of residuals */
    double *product;     /* [columns] */
} search;

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
    double larger = fmax(1, taken * taken * excess(s, s->product));
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

/* ---- parts of the run that the fit of the others predicts */

/* A choice: enough to see what changes along the run, each long enough to know its kinds of work. */
enum { SECTIONS = 8 };

/* Of one: its moments, centred on what was assumed, and sums of rows and of readings. */
typedef struct section {
    jm__moments of;
    double *row;
    double sum, readings;
} section;

static void add_sections(section *sections, const search *s, double *row)
{
    const double *assumed = s->input->joint_prior->power_w;
    size_t n = s->part.columns;
    jm__design_start(s->part.design, s->input->calibration->response);
    for (size_t i = 0; i < s->part.count; i++) {
        section *here = &sections[i * SECTIONS / s->part.count];
        jm__pass_row(&s->part, i, row);
        here->sum += jm__moments_add(&here->of, row, s->part.readings[i].value, assumed, n);
        for (size_t k = 0; k < n; k++)
            here->row[k] += row[k];
        here->readings++;
    }
}

/* What the fit of the other sections misses of this one's mean power; `weight`: one over the variance that it
 * expects, v (a'M^-1 a + 1 / readings), with M = v P^-1 + A'A of the others, a being the mean row. */
static double missed(double *weight, const section *left_out, const section *all, const search *s,
                     double *factor)
{
    size_t n = s->part.columns;
    double noise = pow(s->first.noise_w, 2), *moment = factor + n * n, *mean = moment + n;
    *weight = 0;
    for (size_t i = 0; i < n * n; i++)
        factor[i] = all->of.information[i] - left_out->of.information[i] +
                    noise * s->input->joint_prior->information[i];
    for (size_t k = 0; k < n; k++) {
        moment[k] = all->of.moment[k] - left_out->of.moment[k];
        mean[k] = left_out->row[k] / left_out->readings;
    }
    if (!jm__matrix_factor(factor, n)) return 0; /* rounding */
    jm__matrix_forward(moment, factor, n);
    jm__matrix_forward(mean, factor, n);
    *weight = 1 / (noise * (jm__matrix_dot(mean, mean, n) + 1 / left_out->readings));
    return left_out->sum / left_out->readings - jm__matrix_dot(moment, mean, n);
}

/* The sum of SECTIONS squares of unit variance is above that once in a hundred times. */
static const double by_chance = 20.1;

/* What sections differ by beyond that, as the variance between studies (DerSimonian and Laird, Controlled
 * Clinical Trials 7, 1986), their mean being known; nothing if chance explains it. */
static jm_status predict_sections(jm__fit_interval *out, const search *s, jm_error *err)
{
    size_t n = s->part.columns, size = n * n + 2 * n;
    section sections[SECTIONS + 1] = {0}, *all = &sections[SECTIONS];
    double square = 0, weights = 0, *room = calloc((SECTIONS + 2) * size, sizeof *room);
    if (room == NULL) return jm__no_memory(err, "jm__fit_interval_weigh");
    for (size_t i = 0; i <= SECTIONS; i++) {
        sections[i].of.information = room + i * size;
        sections[i].of.moment = sections[i].of.information + n * n;
        sections[i].row = sections[i].of.moment + n;
    }
    double *factor = room + (SECTIONS + 1) * size;
    add_sections(sections, s, factor);
    for (size_t i = 0; i < SECTIONS * size; i++)
        all->of.information[i % size] += room[i];
    for (size_t i = 0; i < SECTIONS; i++) {
        double weight, off_w = missed(&weight, &sections[i], all, s, factor);
        weights += weight;
        square += weight * off_w * off_w;
    }
    if (weights > 0) out->missed_w = square > by_chance ? sqrt((square - SECTIONS) / weights) : 0;
    double scale = out->missed_w * (double)s->all.count / (double)s->part.count;
    for (size_t i = 0; out->missed_w > 0 && i < SECTIONS; i++) /* an error that its readings have in common */
        jm__matrix_add_outer(s->scores, scale * scale, sections[i].row, n);
    free(room);
    return JM_OK;
}

static jm_status find_scores(search *s, jm__fit_interval *out, jm_error *err)
{
    const jm__fit_interval_input *input = s->input;
    const jm__response response = input->calibration->response;
    JM_TRY(jm__pass_residuals(&s->all, response, s->first.power_w, s->residual, s->observed, err));
    out->residual_w = sqrt(jm__matrix_dot(s->residual, s->residual, s->all.count) / (double)s->all.count);
    jm__noise_of_residuals(&out->noise, &s->all, s->residual, s->first.freedom);
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
    return s->all.count < JM_NOISE_READINGS ? JM_OK : predict_sections(out, s, err);
}

/* ---- readings as equations */

/* A thousandth of what is assumed goes with the readings: of what none of them tells, the scores alone could
 * not be solved for. The prior then counts for the rest. */
static const double lent = 1e-3;

static void lend(search *s)
{
    const jm__joint_prior *joint_prior = s->input->joint_prior;
    size_t square = joint_prior->columns * joint_prior->columns;
    double noise_square = pow(s->first.noise_w, 2);
    jm__qr_append(&s->data, &joint_prior->equations, sqrt(lent) * s->first.noise_w);
    jm__qr_finish(&s->data);
    for (size_t i = 0; i < square; i++)
        s->scores[i] += lent * noise_square * noise_square * joint_prior->information[i];
}

/* How much larger the errors of scores are than white noise makes them. */
static double inflation(const search *s)
{
    size_t n = s->all.columns;
    double seen = 0, white = 0;
    for (size_t k = 0; k < n; k++) {
        const double *column = s->data.triangle + k * s->data.stride;
        seen += s->scores[k * n + k];
        white += pow(s->first.noise_w, 2) * jm__matrix_dot(column, column, k + 1);
    }
    return white > 0 ? fmax(1, seen / white) : 1;
}

static jm_status weigh_interval(jm__qr *equations, jm__fit_interval *out, search *s, jm_error *err)
{
    const jm__fit_interval_input *input = s->input;
    JM_TRY(jm__pass_fold(&s->all, input->calibration->response, &s->data, err));
    JM_TRY(jm__posterior_solve(&s->first, &s->data, input->joint_prior, err));
    out->readings = s->all.count;
    out->noise_w = s->first.noise_w;
    out->freedom = s->first.freedom;
    out->inflation = 1;
    out->missed_w = NAN;
    if (s->all.count > 0) {
        JM_TRY(find_scores(s, out, err));
        out->inflation = inflation(s);
    }
    lend(s);
    return jm__weigh(equations, &s->data, s->scores, err);
}

jm_status jm__fit_interval_weigh(jm__qr *equations, jm__fit_interval *out,
                                 const jm__fit_interval_input *input, jm_error *err)
{
    size_t columns = input->joint_prior->columns;
    jm__reading_list sample = {0};
    search s = {.input = input, .all = jm__fit_interval_pass(input, input->readings)};
    *equations = (jm__qr){0};
    s.scores = calloc(2 * columns * columns + columns + s.all.count + 1, sizeof(double));
    if (s.scores == NULL) return jm__no_memory(err, "jm__fit_interval_weigh");
    s.observed = s.scores + columns * columns;
    s.product = s.observed + columns * columns;
    s.residual = s.product + columns;
    jm_status status = jm__posterior_init(&s.first, columns, err);
    if (status == JM_OK) status = jm__qr_init(&s.data, columns, err);
    if (status == JM_OK)
        status = jm__readings_sample(&sample, input->readings, jm__fit_interval_sample_size(columns), err);
    s.part = jm__fit_interval_pass(input, &sample);
    if (status == JM_OK) status = weigh_interval(equations, out, &s, err);
    jm__vec_free(&sample);
    jm__posterior_free(&s.first);
    jm__qr_free(&s.data);
    free(s.scores);
    return status;
}

jm_status jm__fit_interval_update(jm__posterior *posterior, const jm__qr *equations,
                                  const jm__joint_prior *joint_prior, jm_error *err)
{
    return jm__posterior_update(posterior, equations, joint_prior, sqrt(1 - lent), err);
}

/* ---- powers at each likely response */

/* Where the sum over readings of a part of them is scaled to all, and how much a reading weighs: with white
 * noise of the variance that makes powers as unsure as they are. */
typedef struct likely {
    jm__pass pass;
    const jm__fit_interval_input *input;
    double weight;
    double *information, *moment, *row, *power_w;
} likely;

static jm_status powers_at(likely *l, jm__response response, const double *shift, jm_error *err)
{
    size_t n = l->pass.columns;
    jm__moments of = {.response = response, .information = l->information, .moment = l->moment};
    jm__pass_moments(&l->pass, NULL, &of, 1, l->row);
    for (size_t i = 0; i < n * n; i++)
        l->information[i] *= l->weight;
    for (size_t k = 0; k < n; k++)
        l->moment[k] *= l->weight;
    return jm__posterior_powers(l->power_w, l->information, l->moment, l->input->joint_prior, shift, err);
}

/* Seconds are counted with the likeliest law: a column's power becomes what gives with these seconds the
 * joules that it has with the law of point p. */
static void to_usual_seconds(double *power_w, const jm__fit_interval_input *input, size_t p, size_t columns)
{
    double gap_w = power_w[input->law->gap_column];
    for (size_t k = 0; k < columns; k++)
        power_w[k] = gap_w + (power_w[k] - gap_w) * input->law->relative[p * columns + k];
}

static jm_status find_shifts(jm__fit_interval *out, likely *l, jm_error *err)
{
    const jm__calibration *c = l->input->calibration;
    size_t n = out->columns;
    double *here = malloc((n + 1) * sizeof *here);
    if (here == NULL) return jm__no_memory(err, "jm__fit_interval_solve");
    jm__pieces *pieces = l->pass.design->cursor.pieces;
    jm_status status = powers_at(l, c->response, NULL, err);
    memcpy(here, l->power_w, n * sizeof *here);
    for (size_t p = 0; status == JM_OK && p < c->count; p++) {
        const double *moved = l->input->prior_shift != NULL ? l->input->prior_shift + p * n : NULL;
        jm__power_law_set(l->input->law, &c->values_of[p], pieces);
        status = powers_at(l, c->points[p], moved, err);
        if (l->input->law != NULL) to_usual_seconds(l->power_w, l->input, p, n);
        for (size_t k = 0; status == JM_OK && k < n; k++)
            out->shift[p * n + k] = l->power_w[k] - here[k];
    }
    jm__power_law_set(l->input->law, &c->values, pieces);
    free(here);
    return status;
}

/* Of a sample of the readings, as many as cost what one step on a sample may cost. */
static jm_status find_likely(jm__fit_interval *out, const jm__fit_interval_input *input, jm_error *err)
{
    size_t n = out->columns, all = input->readings->count;
    size_t most = jm__fit_interval_sample_size(n) / out->points;
    jm__reading_list sample = {0};
    likely l = {.input = input};
    l.information = calloc(n * n + 3 * n + 1, sizeof(double));
    if (l.information == NULL) return jm__no_memory(err, "jm__fit_interval_solve");
    jm_status status = jm__readings_sample(&sample, input->readings, most < 4 * n ? 4 * n : most, err);
    l.pass = jm__fit_interval_pass(input, &sample);
    l.moment = l.information + n * n;
    l.row = l.moment + n;
    l.power_w = l.row + n;
    if (sample.count > 0)
        l.weight = (double)all / (double)sample.count / (out->noise_w * out->noise_w * out->inflation);
    if (status == JM_OK) status = find_shifts(out, &l, err);
    jm__vec_free(&sample);
    free(l.information);
    return status;
}

/* ---- the whole */

jm_status jm__fit_interval_init(jm__fit_interval *out, size_t columns, size_t points, jm_error *err)
{
    *out = (jm__fit_interval){.columns = columns, .points = points};
    out->power_w = calloc(columns + 1, sizeof(double));
    out->covariance = calloc(columns * columns + 1, sizeof(double));
    out->shift = calloc(points * columns + 1, sizeof(double));
    bool all = out->power_w != NULL && out->covariance != NULL && out->shift != NULL;
    return all ? JM_OK : jm__no_memory(err, "jm__fit_interval_init");
}

jm_status jm__fit_interval_solve(jm__fit_interval *out, const jm__fit_interval_input *input, jm_error *err)
{
    jm__qr equations = {0};
    JM_TRY(jm__fit_interval_init(out, input->joint_prior->columns, input->calibration->count, err));
    jm_status status = jm__fit_interval_weigh(&equations, out, input, err);
    jm__posterior found = {.power_w = out->power_w, .covariance = out->covariance};
    if (status == JM_OK) status = jm__fit_interval_update(&found, &equations, input->joint_prior, err);
    if (status == JM_OK && out->points > 1) status = find_likely(out, input, err);
    jm__qr_free(&equations);
    return status;
}

void jm__fit_interval_mix(jm__fit_interval *out)
{
    size_t n = out->columns;
    double *mean = out->shift; /* that of the first point is used up last */
    for (size_t p = 0; p < out->points; p++)
        jm__matrix_add_outer(out->covariance, 1 / (double)out->points, out->shift + p * n, n);
    for (size_t p = 1; p < out->points; p++)
        for (size_t k = 0; k < n; k++)
            mean[k] += out->shift[p * n + k];
    jm__matrix_add_outer(out->covariance, -1 / pow((double)out->points, 2), mean, n);
    for (size_t k = 0; k < n; k++)
        out->power_w[k] += mean[k] / (double)out->points;
}

void jm__fit_interval_free(jm__fit_interval *interval)
{
    free(interval->power_w);
    free(interval->covariance);
    free(interval->shift);
    *interval = (jm__fit_interval){0};
}

/* Few classes stay as they are; many are put together by what a first fit says of their power. */

/* Groups of classes while lag and width are looked for: the search costs their square, and members of one
 * group, each with a 30th of the busy time, are no more than a few watts apart. */
enum { GROUPS = 30 };

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
static void group_by_power(uint32_t *group, double *scale, const jm__respond_input *input,
                           const double *power_w, power_rank *ranks)
{
    double all_s = 0, sum_s = 0, group_s[GROUPS] = {0}, group_j[GROUPS] = {0};
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
        group_s[group[k]] += input->seconds[k];
        group_j[group[k]] += input->seconds[k] * power_w[k];
    }
    for (size_t k = 0; k < input->class_columns; k++)
        if (group_j[group[k]] > 0) scale[k] = power_w[k] * group_s[group[k]] / group_j[group[k]];
}

static jm__pass pass_of(const jm__respond_input *input, const jm__reading_list *readings)
{
    return (jm__pass){
        .design = input->design,
        .readings = readings->items,
        .count = readings->count,
        .columns = input->joint_prior->columns,
    };
}

/* What a fit with the response of the sensor's profile says of each power. */
static jm_status first_fit(jm__posterior *powers, const jm__respond_input *input,
                           const jm__reading_list *learn, jm_error *err)
{
    jm__reading_list sample = {0};
    size_t most = jm__fit_interval_sample_size(input->joint_prior->columns);
    jm_status status = jm__readings_sample(&sample, learn, most, err);
    const jm__pass pass = pass_of(input, &sample);
    if (status == JM_OK)
        status = jm__pass_solve(powers, &pass, jm__calibration_of(input->sensor).response, input->joint_prior,
                                err);
    jm__vec_free(&sample);
    return status;
}

/* group[k] of each column, and its power over that of the group; idle states stay alone. Returns the number
 * of groups through `groups`. */
static jm_status make_groups(uint32_t *group, double *scale, size_t *groups, const jm__respond_input *input,
                             const jm__reading_list *learn, jm_error *err)
{
    size_t columns = input->joint_prior->columns;
    *groups = input->class_columns;
    for (size_t k = 0; k < columns; k++) {
        group[k] = (uint32_t)k;
        scale[k] = 1;
    }
    if (input->class_columns > GROUPS) {
        jm__posterior powers = {0};
        power_rank *ranks = calloc(input->class_columns, sizeof *ranks);
        jm_status status =
            ranks == NULL ? jm__no_memory(err, "jm__respond") : first_fit(&powers, input, learn, err);
        if (status == JM_OK) group_by_power(group, scale, input, powers.power_w, ranks);
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
    jm__prior prior = {.provenance = JM_PROVENANCE_WEAK, .columns = groups};
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
                      const jm__reading_list *moved, jm_error *err)
{
    jm__reading_list sample = {0}, other = {0};
    jm__joint_prior grouped = {0};
    size_t groups = 0;
    uint32_t *group = calloc(input->joint_prior->columns + 1, sizeof *group);
    double *scale = calloc(input->joint_prior->columns + 1, sizeof *scale);
    jm_status status = group == NULL || scale == NULL ? jm__no_memory(err, "jm__respond") : JM_OK;
    if (status == JM_OK) status = make_groups(group, scale, &groups, input, learn, err);
    if (status == JM_OK) status = group_prior(&grouped, group, groups, input->joint_prior, err);
    if (status == JM_OK) status = jm__readings_sample(&sample, learn, JM_CALIBRATE_READINGS, err);
    if (status == JM_OK && moved != NULL)
        status = jm__readings_sample(&other, moved, JM_CALIBRATE_READINGS, err);
    jm__pass pass = pass_of(input, &sample);
    pass.group = group;
    pass.scale = scale;
    pass.columns = groups;
    if (status == JM_OK)
        status = jm__calibrate(out, input->sensor, &pass, other.items, &grouped, input->law, err);
    jm__joint_prior_free(&grouped);
    jm__vec_free(&other);
    jm__vec_free(&sample);
    free(group);
    free(scale);
    return status;
}
