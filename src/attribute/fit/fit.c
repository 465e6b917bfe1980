/* The steps of a fit: choose readings, beliefs, response, the rest of the run, the time reported, the total.
 */
#include "attribute/fit/fit.h"

#include "attribute/fit/alike.h"
#include "attribute/fit/around.h"
#include "attribute/fit/hold.h"
#include "attribute/fit/matrix.h"
#include "attribute/fit/respond.h"
#include "attribute/fit/student.h"
#include "attribute/fit/ties.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A total that is shared by time says of a kind that it lies between nothing and twice its share. */
static const double shared_relative_u = 0.5;

static const double certain = 1e6; /* degrees of freedom: Student's t is then the normal distribution's */

/* Readings have taught something of the response if its variance is down to half of the profile's: they tell
 * as much as the profile does. */
static const double surer = 0.5;

/* Readings by the time that they speak of. */
typedef struct chosen {
    jm__reading_list learn;
    jm__reading_list report;
    jm__reading_list rest; /* of `learn`, what is not in `report` */
} chosen;

static void chosen_free(chosen *c)
{
    jm__vec_free(&c->learn);
    jm__vec_free(&c->report);
    jm__vec_free(&c->rest);
}

static jm_status choose(chosen *out, const jm__fit_input *input, jm_error *err)
{
    jm__windows rest = {0};
    bool fine = jm__windows_add_all(&rest, input->learn) && jm__windows_subtract(&rest, input->report);
    jm_status status = fine ? JM_OK : jm__no_memory(err, "jm__fit_run");
    const struct {
        jm__reading_list *list;
        const jm__windows *windows;
    } parts[] = {{&out->learn, input->learn}, {&out->report, input->report}, {&out->rest, &rest}};
    for (size_t i = 0; status == JM_OK && i < sizeof parts / sizeof *parts; i++)
        status = jm__readings_choose(parts[i].list, input->sensor, input->readings, input->reading_count,
                                     parts[i].windows, input->unknown, err);
    jm__vec_free(&rest);
    return status;
}

/* `own`: before any reading of the time reported; `rest`: of the rest of the run, where what was given need
 * not hold. */
typedef struct priors {
    jm__prior own;
    jm__prior rest; /* made only if there is a rest */
} priors;

static jm_status make_priors(priors *out, const jm__fit_input *input, const jm__belief *weakest,
                             bool has_rest, jm_error *err)
{
    const jm__noise_prior noise = jm__noise_of(input->sensor);
    size_t count = input->belief_count + 1;
    const jm__belief **all = calloc(count, sizeof *all);
    if (all == NULL) return jm__no_memory(err, "jm__fit_run");
    all[0] = weakest;
    for (size_t i = 1; i < count; i++)
        all[i] = input->beliefs[i - 1];
    jm_status status = jm__prior_make(&out->own, all, count, noise, err);
    if (status == JM_OK && has_rest) status = jm__prior_make(&out->rest, all, 1, noise, err);
    if (status == JM_OK) status = jm__prior_limit(&out->own, input->most_w, err);
    if (status == JM_OK && has_rest) status = jm__prior_limit(&out->rest, input->most_w, err);
    free(all);
    return status;
}

static jm_status believe(priors *out, const jm__fit_input *input, jm__design *design, const chosen *readings,
                         jm_error *err)
{
    const jm__levels_input of = {
        .sensor = input->sensor,
        .readings = input->readings,
        .reading_count = input->reading_count,
        .design = design,
        .class_columns = input->class_columns,
        .columns = input->columns,
        .expected = input->expected,
        .idle = input->idle,
    };
    jm__belief weakest = {0};
    jm_status status = jm__levels_believe(&weakest, &of, &readings->learn, err);
    if (status == JM_OK && input->split != NULL) status = jm__ties_believe(&weakest, input->split, err);
    if (status == JM_OK) status = make_priors(out, input, &weakest, readings->rest.count > 0, err);
    jm__belief_free(&weakest);
    return status;
}

/* From the time reported, whose kinds draw one power more nearly than those of all the run; from all of it
 * where that says no more than the sensor's profile, or has so few readings that powers take their residuals.
 */
static jm_status find_response(jm__calibration *calibration, const jm__fit_input *input, jm__design *design,
                               const jm__prior *prior, const chosen *readings, jm_error *err)
{
    jm__respond_input of = {
        .sensor = input->sensor,
        .design = design,
        .class_columns = input->class_columns,
        .seconds = input->seconds,
        .prior = prior,
    };
    const jm__calibration profile = jm__calibration_of(input->sensor);
    bool alone = readings->rest.count == 0;
    if (alone || readings->report.count >= JM_NOISE_READINGS) {
        JM_TRY(jm__respond(calibration, &of, &readings->report, err));
        bool taught = calibration->lag_variance < surer * profile.lag_variance ||
                      calibration->width_variance < surer * profile.width_variance;
        if (taught || alone) return JM_OK;
    }
    of.seconds = input->learn_seconds;
    return jm__respond(calibration, &of, &readings->learn, err);
}

/* The time reported, after what the rest has taught. */
static jm_status solve_after(jm__stretch *out, const jm__stretch *learnt, const jm__prior *prior,
                             jm__stretch_input report, jm_error *err)
{
    double *moved = calloc(JM_RESPONSE_AXES * (prior->columns + 1), sizeof *moved);
    jm_status status = moved == NULL ? jm__no_memory(err, "jm__fit_run") : JM_OK;
    for (int axis = 0; status == JM_OK && axis < JM_RESPONSE_AXES; axis++) {
        report.prior_shift[axis] = moved + (size_t)axis * prior->columns;
        status =
            jm__prior_moved_by_first(moved + (size_t)axis * prior->columns, prior, learnt->shift[axis], err);
    }
    report.prior = prior;
    if (status == JM_OK) status = jm__stretch_solve(out, &report, err);
    free(moved);
    return status;
}

/* First what the rest of the run says, then the time reported with that as its prior. */
static jm_status solve_both(jm__stretch *out, const jm__fit_input *input, const jm__stretch_input *report,
                            const jm__prior *rest_prior, const jm__reading_list *rest, jm_error *err)
{
    jm__stretch_input elsewhere = *report;
    elsewhere.readings = rest;
    elsewhere.prior = rest_prior;
    jm__stretch learnt = {0};
    jm__prior prior = {0};
    jm__around around = {0};
    const jm__around_input near = {
        .rest = &learnt,
        .learn = rest,
        .here = report,
        .windows = input->report,
        .seconds = input->seconds,
        .class_columns = input->class_columns,
    };
    jm_status status = jm__stretch_solve(&learnt, &elsewhere, err);
    if (status == JM_OK) status = jm__around_find(&around, &near, err);
    jm__stretch_input here = *report;
    if (around.noise_known) here.noise = &around.noise;
    const jm__alike_input alike = {
        .rest = &learnt,
        .here = &here,
        .relative_u = around.relative_u,
        .beliefs = input->beliefs,
        .belief_count = input->belief_count,
    };
    if (status == JM_OK) status = jm__alike_believe(&prior, &alike, err);
    if (status == JM_OK) status = solve_after(out, &learnt, &prior, here, err);
    if (around.noise_known) out->freedom = learnt.freedom;
    jm__around_free(&around);
    jm__prior_free(&prior);
    jm__stretch_free(&learnt);
    return status;
}

/* The stretch's powers are now the fit's. */
static void take_powers(jm__fit *fit, jm__stretch *from)
{
    fit->power_w = from->power_w;
    fit->covariance = from->covariance;
    from->power_w = from->covariance = NULL;
}

static void take(jm__fit *fit, jm__stretch *from, const jm_sensor *sensor)
{
    fit->readings = from->readings;
    fit->residual_w = from->readings > 0 ? from->residual_w : NAN;
    fit->noise_w = from->noise_w;
    fit->correlation = from->correlation;
    fit->misfit = from->misfit;
    if (sensor->noise > 0 && from->readings > 0) fit->chi2_n = pow(from->noise_w / sensor->noise, 2);
    fit->quantile = jm__student_quantile(0.95, from->freedom);
    fit->fitted = true;
    take_powers(fit, from);
}

static jm_status solve_with(jm__fit *fit, jm__stretch *found, const jm__fit_input *input, jm__design *design,
                            const jm__prior *rest_prior, const chosen *readings, jm_error *err)
{
    jm__calibration calibration;
    JM_TRY(find_response(&calibration, input, design, &fit->prior, readings, err));
    const jm__stretch_input report = {
        .sensor = input->sensor,
        .design = design,
        .readings = &readings->report,
        .calibration = &calibration,
        .prior = &fit->prior,
    };
    fit->response = calibration.response;
    fit->learnt = readings->rest.count;
    if (fit->learnt == 0) return jm__stretch_solve(found, &report, err);
    return solve_both(found, input, &report, rest_prior, &readings->rest, err);
}

static jm_status solve(jm__fit *fit, const jm__fit_input *input, const chosen *readings, jm_error *err)
{
    jm__design design = {0};
    jm__stretch found = {0};
    priors before = {0};
    JM_TRY(jm__design_init(&design, input->pieces, input->columns, err));
    jm_status status = believe(&before, input, &design, readings, err);
    fit->prior = before.own; /* the fit's own from here on */
    if (status == JM_OK) status = solve_with(fit, &found, input, &design, &before.rest, readings, err);
    if (status == JM_OK) take(fit, &found, input->sensor);
    jm__prior_free(&before.rest);
    jm__stretch_free(&found);
    jm__design_free(&design);
    return status;
}

/* Without readings the total is shared by time, busy and idle alike: a model, and said to be one. */
static jm_status share_by_time(jm__fit *fit, const jm__fit_input *input, jm_error *err)
{
    jm__stretch none;
    jm_status status = jm__stretch_init(&none, input->columns, err);
    take_powers(fit, &none);
    jm__stretch_free(&none);
    if (status != JM_OK) return status;
    double seconds = 0;
    for (size_t k = 0; k < input->columns; k++)
        seconds += input->seconds[k];
    fit->known = input->total.source != NULL && seconds > 0;
    fit->quantile = jm__student_quantile(0.95, certain);
    if (!fit->known) return JM_OK;
    double power_w = input->total.energy_j / seconds, u_w = shared_relative_u * fabs(power_w);
    jm__belief shared;
    JM_TRY(jm__belief_init(&shared, JM_PROVENANCE_WEAK, input->columns, err));
    for (size_t k = 0; status == JM_OK && k < input->columns; k++) {
        fit->power_w[k] = power_w;
        fit->covariance[k * input->columns + k] = u_w * u_w;
        status = jm__belief_add_power(&shared, k, power_w, fmax(u_w, JM_POWER_LEAST_W), err);
    }
    const jm__belief *all = &shared;
    if (status == JM_OK) status = jm__prior_make(&fit->prior, &all, 1, (jm__noise_prior){0}, err);
    jm__belief_free(&shared);
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
    fit->residual_w = fit->chi2_n = fit->closure_z = fit->noise_w = NAN;
    chosen readings = {0};
    jm_status status = input->sensor != NULL ? choose(&readings, input, err) : JM_OK;
    if (status == JM_OK)
        status =
            readings.learn.count > 0 ? solve(fit, input, &readings, err) : share_by_time(fit, input, err);
    if (status == JM_OK) status = jm__fit_hold(fit, input, err);
    fit->total = fit->own ? own_total(fit, input) : input->total;
    chosen_free(&readings);
    return status;
}

void jm__fit_free(jm__fit *fit)
{
    free(fit->power_w);
    free(fit->covariance);
    free(fit->uneven);
    jm__prior_free(&fit->prior);
    *fit = (jm__fit){0};
}
