/* The steps of a fit: choose readings, priors, response, the rest of the run, the time reported, the total;
 * and sums of its columns, quadratic forms over what it knows of its errors. */
#include "attribute/fit/fit.h"

#include "attribute/fit/local_noise.h"
#include "attribute/fit/nnls.h"
#include "attribute/fit/student.h"
#include "attribute/input/ring_grid.h"
#include "base/status.h"
#include "format/rows/sensor_role.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A total that is shared by time says of a kind that it lies between nothing and twice its share. */
static const double shared_relative_u = 0.5;

static const double certain = 1e6; /* degrees of freedom: Student's t is then the normal distribution's */

/* Powers are those of the time that readings were fitted in. In steps that nobody traced, and which therefore
 * follow each other more closely, all work draws a little more or less than in those that stand for them:
 * layers of seven trainings were -4.6 to +1.0 % apart in the middle, 1.9 % in root mean square
 * (bench/results/stood.txt and turns.txt). */
static const double apart_u = 0.02;

/* s' M s of the cells' seconds s. */
static double quadratic(const double *matrix, size_t columns, const jm__cell *cells, size_t count,
                        size_t first)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        const double *row = matrix + (cells[i].column - first) * columns;
        double before = 0;
        for (size_t j = 0; j < i; j++)
            before += row[cells[j].column - first] * cells[j].seconds;
        sum += cells[i].seconds * (2 * before + row[cells[i].column - first] * cells[i].seconds);
    }
    return fmax(0, sum);
}

/* The prior that the prior's figure of the sum owes most to. */
static jm_provenance decider(const jm__joint_prior *joint_prior, const jm__cell *cells, size_t count,
                             size_t first)
{
    size_t best = 0;
    double most = -1;
    for (size_t i = 0; joint_prior->part_count > 1 && i < joint_prior->part_count; i++) {
        double share = quadratic(joint_prior->parts[i].share, joint_prior->columns, cells, count, first);
        if (share <= most) continue;
        most = share;
        best = i;
    }
    return joint_prior->parts[best].provenance;
}

jm__fit_sum jm__fit_sum_of(const jm__fit *fit, const jm__cell *cells, size_t count, size_t first)
{
    const jm__joint_prior *joint_prior = &fit->joint_prior;
    jm__fit_sum sum = {.assumed = JM_PROVENANCE_UNRESOLVED};
    for (size_t i = 0; i < count; i++) {
        size_t k = cells[i].column - first;
        double seconds = cells[i].seconds;
        sum.energy_j += seconds * fit->power_w[k];
        if (!fit->known) continue;
        sum.prior_j += seconds * joint_prior->power_w[k];
    }
    sum.variance = quadratic(fit->covariance, fit->columns, cells, count, first);
    double class_variance = 0;
    for (size_t i = 0; fit->class_variance != NULL && i < count; i++) {
        const jm__class_variance *column = &fit->class_variance[cells[i].column - first];
        class_variance += column->square * cells[i].seconds * fmax(0, column->seconds - cells[i].seconds);
    }
    sum.variance += class_variance;
    if (!fit->known) return sum;
    sum.prior_variance =
        quadratic(joint_prior->covariance, fit->columns, cells, count, first) + class_variance;
    sum.assumed = decider(joint_prior, cells, count, first);
    return sum;
}

double jm__fit_covariance(const jm__fit *fit, const double *left_s, const double *right_s,
                          const double *both_s)
{
    double sum = jm__matrix_between(left_s, fit->covariance, right_s, fit->columns);
    for (size_t k = 0; fit->class_variance != NULL && k < fit->columns; k++)
        sum += fit->class_variance[k].square *
               ((both_s != NULL ? both_s[k] * fit->class_variance[k].seconds : 0) - left_s[k] * right_s[k]);
    return sum;
}

/* A fit and the independent total: do they agree, and if so, the total as one more equation.
 *
 * With the gain g = C e / (e'C e + u^2) the powers become x + g (E - e'x) and their covariance C - g (C e)'.
 * What is left of E - e'x has u^2 / (e'C e + u^2) of its error.
 */
static void take_total(jm__fit *fit, const double *marked, double variance, double difference_j)
{
    size_t columns = fit->columns;
    for (size_t k = 0; k < columns; k++) {
        double most_w = fit->joint_prior.most_w != NULL ? fit->joint_prior.most_w[k] : INFINITY;
        fit->power_w[k] = fmin(most_w, fmax(0, fit->power_w[k] + marked[k] / variance * difference_j));
        for (size_t m = 0; m < columns; m++)
            fit->covariance[k * columns + m] -= marked[k] * marked[m] / variance;
    }
}

/* How unsure work that was not traced (apart_u) makes a column's mean power. */
static double apart_w(const jm__fit *fit, const jm__fit_input *input, size_t k)
{
    return input->seconds[k] > 0 ? apart_u * input->apart_seconds[k] / input->seconds[k] * fit->power_w[k]
                                 : 0;
}

/* One error that the powers of all work have in common, as far as it was not traced. */
static void allow_for_apart(jm__fit *fit, const jm__fit_input *input)
{
    for (size_t k = 0; k < input->class_columns; k++)
        for (size_t m = 0; m < input->class_columns; m++)
            fit->covariance[k * input->columns + m] += apart_w(fit, input, k) * apart_w(fit, input, m);
}

jm_status jm__fit_hold(jm__fit *fit, const jm__fit_input *input, jm_error *err)
{
    size_t columns = input->columns;
    const double *seconds = input->seconds;
    double *marked = calloc(columns + 1, sizeof *marked); /* C e */
    if (marked == NULL) return jm__no_memory(err, "jm__fit_hold");
    if (fit->fitted && input->apart_seconds != NULL) allow_for_apart(fit, input);
    jm__matrix_apply(marked, fit->covariance, seconds, columns);
    bool independent = fit->fitted && input->total.source != NULL &&
                       (input->total.source != input->sensor->name || input->apart_seconds != NULL);
    double total_variance = input->total.u_j * input->total.u_j;
    double all = total_variance + fmax(0, jm__matrix_dot(marked, seconds, columns));
    fit->free_j = jm__matrix_dot(seconds, fit->power_w, columns);
    double difference_j = input->total.energy_j - fit->free_j;
    double z = all > 0 ? difference_j / sqrt(all) : 0;
    if (independent) fit->closure_z = z;
    /* Then its total is no equation of its own; unless the fit, of work that is not alike, knows less. */
    bool fit_surer = input->total.source == NULL || all - total_variance < total_variance;
    bool same_readings = !independent && fit->learnt > 0 && fit_surer;
    fit->own = fit->fitted && same_readings;
    fit->held = input->total.source != NULL && fabs(z) <= JM_APART_Z && !same_readings;
    fit->rest_variance = same_readings ? 0 : all;
    if (fit->held && all > 0) {
        fit->rest_variance = total_variance * total_variance / all;
        take_total(fit, marked, all, difference_j);
    }
    free(marked);
    return JM_OK;
}

/* Readings by the time that they speak of: REST is what LEARN has and REPORT has not. */
enum { LEARN, REPORT, REST, LISTS };

typedef struct chosen {
    jm__reading_list of[LISTS];
} chosen;

static void chosen_free(chosen *c)
{
    for (size_t i = 0; i < LISTS; i++)
        jm__vec_free(&c->of[i]);
}

static jm_status on_grid(jm__reading_list *list, const jm_sensor *sensor, jm_error *err)
{
    return jm__ring_grid(list->items, list->count, sensor->period_ns, true, err);
}

static jm_status choose(chosen *out, const jm__fit_input *input, jm_error *err)
{
    jm__intervals rest = {0};
    const jm__intervals *windows[LISTS] = {input->learn, input->report, &rest};
    bool fine = jm__intervals_add_all(&rest, input->learn) && jm__intervals_subtract(&rest, input->report);
    jm_status status = fine ? JM_OK : jm__no_memory(err, "jm__fit_run");
    for (size_t i = 0; status == JM_OK && i < LISTS; i++)
        status = jm__readings_choose(&out->of[i], input->sensor, input->readings, input->reading_count,
                                     windows[i], input->unknown, err);
    jm__vec_free(&rest);
    return status;
}

/* `own`: before any reading of the time reported; `rest`: of the rest of the run, where what was given need
 * not hold. */
typedef struct joint_priors {
    jm__joint_prior own;
    jm__joint_prior rest;           /* made only if there is a rest */
    jm__sampler_draws known, draws; /* without the edges' steps, and with them */
} joint_priors;

static jm_status make_priors(joint_priors *out, const jm__fit_input *input, const jm__prior *weakest,
                             bool has_rest, jm_error *err)
{
    const jm__noise_prior noise = jm__noise_of(input->sensor);
    jm_status status =
        jm__joint_prior_make(&out->own, weakest, input->priors, input->prior_count, noise, err);
    if (status == JM_OK && has_rest) status = jm__joint_prior_make(&out->rest, weakest, NULL, 0, noise, err);
    if (status == JM_OK) status = jm__joint_prior_limit(&out->own, input->most_w, err);
    if (status == JM_OK && has_rest) status = jm__joint_prior_limit(&out->rest, input->most_w, err);
    return status;
}

/* In the fit a sampler draws what it is known to draw: its level cannot be separated from that of work. */
static const double draw_u_w = 0.1;

/* What the sampler draws goes into the rows of `weakest` about it. */
static jm_status find_draws(joint_priors *out, jm__prior *weakest, const jm__fit_input *input,
                            jm__design *design, const jm__reading_list *learn, jm_error *err)
{
    size_t first = input->columns - JM_SAMPLER_STATES; /* of columns, and of rows: one is about each */
    const jm__pass pass = {.design = design,
                           .readings = learn->items,
                           .count = learn->count,
                           .period_ns = input->sensor->period_ns,
                           .columns = input->columns};
    const jm__sampler_edges edges = {
        .pass = &pass,
        .response = input->calibration != NULL ? input->calibration->response
                                               : jm__calibration_of(input->sensor).response,
        .power_w = weakest->value,
        .class_columns = input->class_columns,
        .sampled = input->sampled,
    };
    for (size_t s = 0; s < JM_SAMPLER_STATES; s++) {
        out->known.power_w[s] = weakest->value[first + s];
        out->known.u_w[s] = weakest->u[first + s];
    }
    out->draws = out->known;
    JM_TRY(jm__sampler_steps(&out->draws, &edges, err));
    for (size_t s = 0; s < JM_SAMPLER_STATES; s++) {
        weakest->value[first + s] = out->draws.power_w[s];
        weakest->u[first + s] = draw_u_w;
    }
    return JM_OK;
}

static jm_status assume(joint_priors *out, const jm__fit_input *input, jm__design *design,
                        const chosen *readings, jm_error *err)
{
    jm__prior weakest = {0};
    jm_status status = jm__levels_prior(&weakest, input, design, &readings->of[LEARN], err);
    if (status == JM_OK && input->sampled != NULL)
        status = find_draws(out, &weakest, input, design, &readings->of[LEARN], err);
    if (status == JM_OK && input->split != NULL) status = jm__hierarchical_prior(&weakest, input->split, err);
    if (status == JM_OK) status = make_priors(out, input, &weakest, readings->of[REST].count > 0, err);
    jm__prior_free(&weakest);
    return status;
}

/* Stamps scatter around the grid of the board's own clock, and the readings tell whether their values are
 * those of the grid's time. */
static jm_status respond(jm__calibration *calibration, const jm__respond_input *of,
                         const jm__reading_list *list, jm_error *err)
{
    if (!jm__sensor_stamps_late(of->sensor)) return jm__respond(calibration, of, list, NULL, err);
    jm__reading_list moved = {0};
    jm_status status = jm__readings_sample(&moved, list, list->count, err);
    if (status == JM_OK) status = on_grid(&moved, of->sensor, err);
    if (status == JM_OK) status = jm__respond(calibration, of, list, &moved, err);
    jm__vec_free(&moved);
    return status;
}

/* From the time reported, whose kinds draw one power more nearly than those of all the run; from all of it
 * where that says no more than the sensor's profile, or has so few readings that powers take their residuals.
 */
static jm_status find_response(jm__calibration *calibration, const jm__fit_input *input, jm__design *design,
                               const jm__joint_prior *joint_prior, const chosen *readings, jm_error *err)
{
    jm__respond_input of = {
        .sensor = input->sensor,
        .design = design,
        .class_columns = input->class_columns,
        .seconds = input->seconds,
        .joint_prior = joint_prior,
        .law = input->law,
    };
    bool alone = readings->of[REST].count == 0;
    if (alone || readings->of[REPORT].count >= JM_NOISE_READINGS) {
        JM_TRY(respond(calibration, &of, &readings->of[REPORT], err));
        if (calibration->taught || alone) return JM_OK;
    }
    of.seconds = input->learn_seconds;
    return respond(calibration, &of, &readings->of[LEARN], err);
}

/* The time reported, after what the rest has taught, at each likely response. */
static jm_status solve_after(jm__fit_interval *out, const jm__fit_interval *learnt,
                             const jm__joint_prior *joint_prior, jm__fit_interval_input report, jm_error *err)
{
    size_t columns = joint_prior->columns;
    double *moved = calloc(learnt->points * columns + 1, sizeof *moved);
    jm_status status = moved == NULL ? jm__no_memory(err, "jm__fit_run") : JM_OK;
    for (size_t p = 0; status == JM_OK && p < learnt->points; p++)
        status = jm__joint_prior_moved_by_first(moved + p * columns, joint_prior, learnt->shift + p * columns,
                                                err);
    report.prior_shift = moved;
    report.joint_prior = joint_prior;
    if (status == JM_OK) status = jm__fit_interval_solve(out, &report, err);
    free(moved);
    return status;
}

/* First what the rest of the run says, then the time reported with that as its prior. */
static jm_status solve_both(jm__fit_interval *out, const jm__fit_input *input,
                            const jm__fit_interval_input *report, const jm__joint_prior *rest_prior,
                            const jm__reading_list *rest, jm_error *err)
{
    jm__fit_interval_input elsewhere = *report;
    elsewhere.readings = rest;
    elsewhere.joint_prior = rest_prior;
    jm__fit_interval learnt = {0};
    jm__joint_prior joint_prior = {0};
    jm__local_noise local_noise = {0};
    const jm__local_noise_input near = {
        .rest = &learnt,
        .learn = rest,
        .here = report,
        .windows = input->report,
        .seconds = input->seconds,
        .class_columns = input->class_columns,
    };
    jm_status status = jm__fit_interval_solve(&learnt, &elsewhere, err);
    if (status == JM_OK) status = jm__local_noise_find(&local_noise, &near, err);
    jm__fit_interval_input here = *report;
    if (local_noise.noise_known) here.noise = &local_noise.noise;
    const jm__transfer_input transfer = {
        .rest = &learnt,
        .here = &here,
        .relative_u = local_noise.relative_u,
        .priors = input->priors,
        .prior_count = input->prior_count,
    };
    if (status == JM_OK) status = jm__transfer_prior(&joint_prior, &transfer, err);
    if (status == JM_OK) status = solve_after(out, &learnt, &joint_prior, here, err);
    if (local_noise.noise_known) out->freedom = learnt.freedom;
    jm__local_noise_free(&local_noise);
    jm__joint_prior_free(&joint_prior);
    jm__fit_interval_free(&learnt);
    return status;
}

/* The interval's powers are now the fit's. */
static void take(jm__fit *fit, jm__fit_interval *from, const jm_sensor *sensor)
{
    fit->readings = from->readings;
    fit->residual_w = from->readings > 0 ? from->residual_w : NAN;
    fit->discrepancy = from->discrepancy;
    fit->missed_w = from->missed_w;
    if (sensor->noise > 0 && from->readings > 0) fit->chi2_n = pow(from->noise_w / sensor->noise, 2);
    fit->quantile = jm__student_quantile(0.95, from->freedom);
    fit->fitted = true;
    fit->power_w = from->power_w;
    fit->covariance = from->covariance;
    from->power_w = from->covariance = NULL;
}

static jm_status solve_with(jm__fit *fit, jm__fit_interval *found, const jm__fit_input *input,
                            jm__design *design, const jm__joint_prior *rest_prior, chosen *readings,
                            jm_error *err)
{
    fit->calibration = *input->calibration;
    for (size_t i = 0; fit->calibration.moved && i < LISTS; i++)
        JM_TRY(on_grid(&readings->of[i], input->sensor, err));
    const jm__fit_interval_input report = {
        .sensor = input->sensor,
        .design = design,
        .readings = &readings->of[REPORT],
        .calibration = &fit->calibration,
        .joint_prior = &fit->joint_prior,
        .law = input->law,
    };
    fit->learnt = readings->of[REST].count;
    if (fit->learnt == 0) return jm__fit_interval_solve(found, &report, err);
    return solve_both(found, input, &report, rest_prior, &readings->of[REST], err);
}

/* What the sampler draws more, work and idle states draw less: of their time that was fitted, so much was
 * sampled. */
static void allow_for_draws(jm__fit *fit, const jm__fit_input *input, const joint_priors *before)
{
    size_t columns = input->columns, first = columns - JM_SAMPLER_STATES;
    const double *seconds = fit->readings > 0 ? input->seconds : input->learn_seconds;
    for (size_t s = 0; s < JM_SAMPLER_STATES; s++) {
        size_t from = s == JM_SAMPLER_BUSY ? 0 : input->class_columns;
        size_t to = s == JM_SAMPLER_BUSY ? input->class_columns : first;
        double all_s = 0;
        for (size_t k = from; k < to; k++)
            all_s += seconds[k];
        double share = all_s > 0 ? fmin(1, seconds[first + s] / all_s) : 0;
        double square = before->draws.u_w[s] * before->draws.u_w[s];
        fit->joint_prior.u_w[first + s] = before->known.u_w[s];
        fit->joint_prior.covariance[(first + s) * (columns + 1)] =
            before->known.u_w[s] * before->known.u_w[s];
        fit->covariance[(first + s) * (columns + 1)] += square;
        for (size_t k = from; k < to; k++) {
            fit->covariance[k * columns + first + s] -= share * square;
            fit->covariance[(first + s) * columns + k] -= share * square;
            for (size_t m = from; m < to; m++)
                fit->covariance[k * columns + m] += share * share * square;
        }
    }
}

static jm_status solve(jm__fit *fit, const jm__fit_input *input, chosen *readings, jm_error *err)
{
    jm__design design = {0};
    jm__fit_interval found = {0};
    joint_priors before = {0};
    JM_TRY(jm__design_init(&design, input->pieces, input->columns, err));
    jm_status status = assume(&before, input, &design, readings, err);
    fit->joint_prior = before.own; /* the fit's own from here on */
    if (status == JM_OK) status = solve_with(fit, &found, input, &design, &before.rest, readings, err);
    if (status == JM_OK) jm__fit_interval_mix(&found);
    if (status == JM_OK) take(fit, &found, input->sensor);
    if (status == JM_OK && input->sampled != NULL) allow_for_draws(fit, input, &before);
    jm__joint_prior_free(&before.rest);
    jm__fit_interval_free(&found);
    jm__design_free(&design);
    return status;
}

jm_status jm__fit_respond(jm__calibration *calibration, const jm__fit_input *input, jm_error *err)
{
    chosen readings = {0};
    jm__design design = {0};
    joint_priors before = {0};
    *calibration = (jm__calibration){.count = 1};
    if (input->sensor == NULL) return JM_OK;
    *calibration = jm__calibration_of(input->sensor);
    jm_status status = choose(&readings, input, err);
    if (status == JM_OK && readings.of[LEARN].count == 0) goto out;
    if (status == JM_OK) status = jm__design_init(&design, input->pieces, input->columns, err);
    if (status == JM_OK) status = assume(&before, input, &design, &readings, err);
    if (status == JM_OK) status = find_response(calibration, input, &design, &before.own, &readings, err);
out:
    jm__joint_prior_free(&before.own);
    jm__joint_prior_free(&before.rest);
    jm__design_free(&design);
    chosen_free(&readings);
    return status;
}

/* Without readings the total is shared by time, busy and idle alike: a model, and said to be one. */
static jm_status share_by_time(jm__fit *fit, const jm__fit_input *input, jm_error *err)
{
    fit->power_w = calloc(input->columns + 1, sizeof(double));
    fit->covariance = calloc(input->columns * input->columns + 1, sizeof(double));
    if (fit->power_w == NULL || fit->covariance == NULL) return jm__no_memory(err, "jm__fit_run");
    double seconds = 0, sampler_j = 0;
    for (size_t k = 0; k < input->columns; k++) {
        bool samples = k >= input->class_columns + JM_IDLE_STATES;
        *(samples ? &sampler_j : &seconds) += input->seconds[k] * (samples ? input->sampler.rest_w : 1);
    }
    fit->known = input->total.source != NULL && seconds > 0;
    fit->quantile = jm__student_quantile(0.95, certain);
    if (!fit->known) return JM_OK;
    sampler_j = fmin(sampler_j, input->total.energy_j);
    double power_w = (input->total.energy_j - sampler_j) / seconds, u_w = shared_relative_u * fabs(power_w);
    jm__prior shared = {.provenance = JM_PROVENANCE_WEAK, .columns = input->columns};
    jm_status status = JM_OK;
    for (size_t k = 0; status == JM_OK && k < input->columns; k++) {
        bool samples = k >= input->class_columns + JM_IDLE_STATES;
        double own_w = samples ? input->sampler.rest_w : power_w,
               own_u_w = samples ? input->sampler.busy_u_w : u_w;
        fit->power_w[k] = own_w;
        fit->covariance[k * input->columns + k] = own_u_w * own_u_w;
        status = jm__prior_add_power(&shared, k, own_w, fmax(own_u_w, JM_POWER_LEAST_W), err);
    }
    if (status == JM_OK)
        status = jm__joint_prior_make(&fit->joint_prior, &shared, NULL, 0, (jm__noise_prior){0}, err);
    jm__prior_free(&shared);
    return status;
}

/* The energy of all columns, as a total. */
static jm__total own_total(const jm__fit *fit, const jm__fit_input *input)
{
    double variance = jm__fit_covariance(fit, input->seconds, input->seconds, input->seconds);
    double energy_j = jm__matrix_dot(input->seconds, fit->power_w, fit->columns);
    jm__total total = input->total;
    total.energy_j = energy_j;
    total.u_j = hypot(fit->quantile / JM_NORMAL_95 * sqrt(variance), JM_POWER_RELATIVE_U * energy_j);
    return total;
}

jm_status jm__fit_run(jm__fit *fit, const jm__fit_input *input, jm_error *err)
{
    *fit = (jm__fit){.columns = input->columns, .known = true};
    fit->residual_w = fit->chi2_n = fit->closure_z = fit->missed_w = NAN;
    chosen readings = {0};
    jm_status status = input->sensor != NULL ? choose(&readings, input, err) : JM_OK;
    if (status == JM_OK)
        status =
            readings.of[LEARN].count > 0 ? solve(fit, input, &readings, err) : share_by_time(fit, input, err);
    if (status == JM_OK) status = jm__fit_hold(fit, input, err);
    fit->total = fit->own ? own_total(fit, input) : input->total;
    chosen_free(&readings);
    return status;
}

void jm__fit_free(jm__fit *fit)
{
    free(fit->power_w);
    free(fit->covariance);
    free(fit->class_variance);
    jm__joint_prior_free(&fit->joint_prior);
    *fit = (jm__fit){0};
}
