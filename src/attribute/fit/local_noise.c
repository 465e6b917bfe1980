/* A kind draws x there and x + d here; d is small for most kinds and large for a few.
 *
 * So d has Student's t distribution, with the spread m x that kinds were seen with and few degrees of
 * freedom. It is a normal distribution whose variance q is itself unknown, and expectation-maximisation finds
 * each q: q = (f m^2 x^2 + E d^2) / (f + 1), where E d^2 follows from the powers solved with the last q: with
 * V0 = C + q before and V1 after the readings, and the power moved by D, d has the mean q D / V0 and the
 * variance q - (q / V0)^2 (V0 - V1). Readings that say nothing leave q at m^2 x^2. (Dempster, Laird, Rubin
 * 1977; West, Biometrika 74, 1987.)
 *
 * C, V0 and V1 are those of one column: what the errors of columns share is left out here, so where the rest
 * could not tell two kinds apart, q stays near m^2 x^2 although their sum may have moved. The powers
 * themselves are solved with all of it.
 */
#include "attribute/fit/local_noise.h"

#include "attribute/fit/discrepancy.h"
#include "attribute/fit/nnls.h"
#include "base/search.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>

/* q then moves by less than a tenth of itself where C is below q / 2, and by less than a seventh elsewhere,
 * for differences of up to 8 m x (the equation above for one column, on a grid of C, V1 and D). */
enum { ROUNDS = 6 };

/* The noise of an interval is that of the rest within a quarter: as much as 1 / (2 * 0.25^2) readings tell.
 */
static const double noise_readings = 8;

/* What lives while the differences are looked for. */
typedef struct pair_finder {
    const jm__transfer_input *input;
    const jm__fit_interval *rest;
    double *usual_square; /* [columns], W^2: (m x)^2 */
    double *square;       /* [columns], W^2: q */
    jm__posterior here;
    jm__qr data;
} pair_finder;

static jm_status finder_init(pair_finder *f, const jm__transfer_input *input, jm_error *err)
{
    const jm__fit_interval *rest = input->rest;
    *f = (pair_finder){.input = input, .rest = rest};
    f->usual_square = calloc(2 * rest->columns + 1, sizeof(double));
    if (f->usual_square == NULL) return jm__no_memory(err, "jm__transfer_prior");
    f->square = f->usual_square + rest->columns;
    for (size_t k = 0; k < rest->columns; k++)
        f->square[k] = f->usual_square[k] =
            pow(fmax(JM_DIFFERENCE_LEAST_W, input->relative_u[k] * rest->power_w[k]), 2);
    return jm__posterior_init(&f->here, rest->columns, err);
}

static void finder_free(pair_finder *f)
{
    free(f->usual_square);
    jm__posterior_free(&f->here);
    jm__qr_free(&f->data);
}

/* What the rest teaches, with the differences that are allowed now. */
static jm_status assume(jm__joint_prior *out, const pair_finder *f, jm_error *err)
{
    const jm__noise_prior noise = {f->rest->noise_w, noise_readings};
    jm__prior taught = {.provenance = JM_PROVENANCE_FITTED, .columns = f->rest->columns};
    jm_status status = JM_OK;
    for (size_t k = 0; status == JM_OK && k < f->rest->columns; k++)
        status = jm__prior_add_power(&taught, k, f->rest->power_w[k], sqrt(f->square[k]), err);
    if (status == JM_OK) status = jm__prior_covary(&taught, f->rest->covariance, err);
    if (status == JM_OK)
        status = jm__joint_prior_make(out, &taught, f->input->priors, f->input->prior_count, noise, err);
    if (status == JM_OK) status = jm__joint_prior_limit(out, f->input->here->joint_prior->most_w, err);
    jm__prior_free(&taught);
    return status;
}

/* One round: the powers with these differences, and the differences with these powers. */
static jm_status improve(pair_finder *f, jm_error *err)
{
    size_t columns = f->rest->columns;
    jm__joint_prior joint_prior;
    JM_TRY(assume(&joint_prior, f, err));
    jm_status status = jm__fit_interval_update(&f->here, &f->data, &joint_prior, err);
    for (size_t k = 0; status == JM_OK && k < columns; k++) {
        double q = f->square[k], before = f->rest->covariance[k * columns + k] + q;
        double after = fmin(before, f->here.covariance[k * columns + k]);
        double moved = q / before * (f->here.power_w[k] - f->rest->power_w[k]);
        double seen = moved * moved + q - pow(q / before, 2) * (before - after);
        f->square[k] = (JM_DIFFERENCE_FREEDOM * f->usual_square[k] + seen) / (JM_DIFFERENCE_FREEDOM + 1);
    }
    jm__joint_prior_free(&joint_prior);
    return status;
}

jm_status jm__transfer_prior(jm__joint_prior *out, const jm__transfer_input *input, jm_error *err)
{
    pair_finder f;
    jm_status status = finder_init(&f, input, err);
    jm__fit_interval seen;
    if (status == JM_OK) status = jm__fit_interval_weigh(&f.data, &seen, input->here, err);
    for (int round = 0; status == JM_OK && input->here->readings->count > 0 && round < ROUNDS; round++)
        status = improve(&f, err);
    if (status == JM_OK) status = assume(out, &f, err);
    finder_free(&f);
    return status;
}

/* What a short interval shares with the readings around it.
 *
 * How far the powers of the rest are off near the interval, the residuals of the nearest readings show: where
 * they fit, they will fit in the interval too. Their noise is that of readings which mean about the same
 * power: residuals of other work have what its powers are off by in them, and the board at rest has not. */

/* Choices: 40 s of the ring show its noise, of which those count that mean this power within a factor; the
 * nearest of these show what powers are off by, as many as can tell a drift. */
enum { NEAR_READINGS = 2000 };

static const double same_power = 1.5;

/* Idle between bursts was 122 to 148 W on one H200 (shared/attribution.md): a tenth around its middle, and
 * so twice what kinds of work differ by. */
static const double idle_times = 2;

typedef struct finder {
    const jm__local_noise_input *input;
    jm__reading_list like; /* of about the interval's power */
    double *residual;      /* of those */
    double *row;           /* [columns] */
} finder;

static int64_t middle_ns(const jm__intervals *windows)
{
    if (windows->count == 0) return 0;
    return windows->items[0].from_ns / 2 + windows->items[windows->count - 1].to_ns / 2;
}

/* At most so many readings that are nearest to a time. */
static jm__pass nearest(const jm__pass *all, int64_t t_ns, size_t most)
{
    jm__pass near = *all;
    size_t at;
    jm__search(at, all->count, all->readings[at].t_ns < t_ns);
    size_t first = at > most / 2 ? at - most / 2 : 0;
    if (all->count > most && first > all->count - most) first = all->count - most;
    if (first > 0) near.readings += first;
    near.count = all->count - first < most ? all->count - first : most;
    return near;
}

static double mean_power_w(const jm__local_noise_input *input)
{
    double seconds = 0;
    for (size_t k = 0; k < input->rest->columns && k < input->class_columns + JM_IDLE_STATES; k++)
        seconds += input->seconds[k];
    double joules = jm__matrix_dot(input->seconds, input->rest->power_w, input->rest->columns);
    return seconds > 0 ? joules / seconds : 0;
}

static jm_status choose(finder *f, const jm__pass *near, jm_error *err)
{
    double mean_w = mean_power_w(f->input);
    jm__design_start(near->design, f->input->here->calibration->response);
    for (size_t i = 0; i < near->count; i++) {
        jm__pass_row(near, i, f->row);
        double expected_w = jm__matrix_dot(f->row, f->input->rest->power_w, near->columns);
        if (expected_w > same_power * mean_w || expected_w < mean_w / same_power) continue;
        f->residual[f->like.count] = near->readings[i].value - expected_w;
        if (!jm__vec_push(&f->like, near->readings[i])) return jm__no_memory(err, "jm__local_noise_find");
    }
    return JM_OK;
}

static void find_noise(jm__local_noise *out, const finder *f, const jm__pass *like)
{
    const jm__fit_interval *rest = f->input->rest;
    out->noise_known = rest->readings >= JM_NOISE_READINGS;
    if (!out->noise_known) return;
    jm__noise_of_residuals(&out->noise, like, f->residual, (double)like->count);
    if (out->noise.white + out->noise.drift <= 0) out->noise = rest->noise; /* too few were like it */
}

static jm_status find_differences(jm__local_noise *out, const finder *f, const jm__pass *like, jm_error *err)
{
    const jm__fit_interval *rest = f->input->rest;
    jm__pass near = nearest(like, middle_ns(f->input->windows), JM_NOISE_READINGS);
    if (near.count < JM_NOISE_READINGS) return JM_OK;
    const double *residual = f->residual + (near.readings - like->readings);
    double square = jm__matrix_dot(residual, residual, near.count) / (double)near.count;
    for (size_t k = 0; k < rest->columns; k++)
        f->row[k] = (k < f->input->class_columns ? 1 : idle_times) * rest->power_w[k];
    const jm__discrepancy_of of = {
        .pass = &near,
        .response = f->input->here->calibration->response,
        .power_w = f->row,
        .covariance = rest->covariance,
        .noise_w = rest->noise_w,
        .readings = (double)near.count, /* the powers are the rest's: these have no share in them */
        .seen = jm__discrepancy_beyond(square, jm__noise_of(f->input->here->sensor).noise_w),
    };
    return jm__discrepancy_over(out->relative_u, &of, f->input->seconds, err);
}

static jm_status look_around(jm__local_noise *out, finder *f, jm_error *err)
{
    const jm__pass all = jm__fit_interval_pass(f->input->here, f->input->learn);
    const jm__pass near = nearest(&all, middle_ns(f->input->windows), NEAR_READINGS);
    jm__pass like = all;
    JM_TRY(choose(f, &near, err));
    like.readings = f->like.items;
    like.count = f->like.count;
    find_noise(out, f, &like);
    return find_differences(out, f, &like, err);
}

jm_status jm__local_noise_find(jm__local_noise *out, const jm__local_noise_input *input, jm_error *err)
{
    size_t columns = input->rest->columns;
    finder f = {.input = input};
    *out = (jm__local_noise){.relative_u = calloc(columns + 1, sizeof(double))};
    f.row = calloc(columns + NEAR_READINGS, sizeof *f.row);
    bool fine = out->relative_u != NULL && f.row != NULL;
    if (fine) f.residual = f.row + columns;
    jm_status status = fine ? JM_OK : jm__no_memory(err, "jm__local_noise_find");
    for (size_t k = 0; fine && k < columns; k++)
        out->relative_u[k] = JM_DISCREPANCY_USUAL_U;
    if (fine && input->here->readings->count < JM_NOISE_READINGS) status = look_around(out, &f, err);
    for (size_t k = input->class_columns; fine && k < columns; k++)
        out->relative_u[k] *= k < input->class_columns + JM_IDLE_STATES ? idle_times : 0;
    jm__vec_free(&f.like);
    free(f.row);
    return status;
}

void jm__local_noise_free(jm__local_noise *local_noise)
{
    free(local_noise->relative_u);
    *local_noise = (jm__local_noise){0};
}
