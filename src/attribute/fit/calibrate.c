/* The lowest point of the penalised sum of squares over (lag, width), by a star of four points that shrinks.
 * Away from that point the sum has kinks, where an edge of the load passes a reading, so no step is believed
 * that has not been tried.
 */
#include "attribute/fit/calibrate.h"

#include "base/status.h"

#include <math.h>
#include <stdlib.h>

/* How far from the profile, in its standard uncertainties: one board in 370 is further off, and a search that
 * goes there has more often mistaken something else for a response. */
static const double limit_u = 2;

typedef struct search {
    const jm__pass *pass;
    const jm__prior *prior;
    jm__qr data;
    jm__qr joint;
    double *row;
    jm__calibration start;
    double noise_w; /* 0 until the first evaluation has found it */
} search;

jm__calibration jm__calibration_of(const jm_sensor *sensor)
{
    bool first_order = sensor->response == JM_RESPONSE_FIRST_ORDER;
    double width_ns = (double)(first_order ? sensor->tau_ns : sensor->window_ns);
    if (sensor->response == JM_RESPONSE_INSTANT || width_ns < JM_WIDTH_LEAST_NS) width_ns = JM_WIDTH_LEAST_NS;
    jm__calibration calibration = {.response = {sensor->response, (double)sensor->lag_ns, width_ns}};
    calibration.lag_variance = pow((double)sensor->lag_u_ns, 2);
    if (width_ns > JM_WIDTH_LEAST_NS) calibration.width_variance = pow((double)sensor->tau_u_ns, 2);
    return calibration;
}

jm__noise_prior jm__noise_of(const jm_sensor *sensor)
{
    return (jm__noise_prior){.noise_w = sensor->noise > 0 ? sensor->noise : JM_NOISE_UNKNOWN_W,
                             .readings = 2};
}

static jm__response response_at(const search *s, double lag_u, double width_u)
{
    jm__response response = s->start.response;
    response.lag_ns += lag_u * sqrt(s->start.lag_variance);
    response.width_ns += width_u * sqrt(s->start.width_variance);
    if (response.width_ns < JM_WIDTH_LEAST_NS) response.width_ns = JM_WIDTH_LEAST_NS;
    return response;
}

/* -2 log likelihood, with the calibration's own, at an offset in standard uncertainties. */
static jm_status evaluate(search *s, double lag_u, double width_u, double *out, jm_error *err)
{
    JM_TRY(jm__pass_fold(s->pass, response_at(s, lag_u, width_u), &s->data, err));
    double noise_w = s->noise_w > 0 ? s->noise_w : (s->prior->noise.noise_w);
    for (int turn = 0; turn < (s->noise_w > 0 ? 1 : 3); turn++) {
        jm__prior_append(&s->joint, &s->data, s->prior, noise_w, s->row);
        double rest =
            s->data.triangle[s->data.columns * s->data.stride + s->data.columns]; /* no x removes it */
        double corner = s->joint.triangle[s->joint.columns * s->joint.stride + s->joint.columns];
        double square = rest * rest + corner * corner;
        *out = square / (noise_w * noise_w) + lag_u * lag_u + width_u * width_u;
        if (s->noise_w == 0) {
            double freedom = (double)s->pass->count - (double)s->pass->columns;
            noise_w = fmax(sqrt(square / (freedom > 1 ? freedom : 1)), 1e-3);
        }
    }
    if (s->noise_w == 0) {
        s->noise_w = noise_w;
        return evaluate(s, lag_u, width_u, out, err);
    }
    return JM_OK;
}

static double clamp(double value)
{
    return value < -limit_u ? -limit_u : value > limit_u ? limit_u : value;
}

/* A place, what the sum is there, and around it. */
typedef struct star {
    double lag, width;         /* in standard uncertainties */
    double sum;                /* here */
    double lags[2], widths[2]; /* one step below and above */
} star;

static jm_status look_around(search *s, star *at, double step, jm_error *err)
{
    for (int side = 0; side < 2; side++) {
        double off = side == 0 ? -step : step;
        at->lags[side] = at->widths[side] = at->sum;
        if (s->start.lag_variance > 0) JM_TRY(evaluate(s, at->lag + off, at->width, &at->lags[side], err));
        if (s->start.width_variance > 0)
            JM_TRY(evaluate(s, at->lag, at->width + off, &at->widths[side], err));
    }
    return JM_OK;
}

/* Where a parabola through three points is lowest, at most a step away. */
static double lowest(double sum, const double sides[2], double step)
{
    double slope = sides[1] - sides[0], bend = sides[1] - 2 * sum + sides[0];
    double off = bend > 0 ? -step * slope / (2 * bend) : slope > 0 ? -step : slope < 0 ? step : 0;
    return fmax(-step, fmin(step, off));
}

/* One move to where the sum is lower; false: nowhere. */
static jm_status descend(search *s, star *at, double step, bool *moved, jm_error *err)
{
    double lag = clamp(at->lag + lowest(at->sum, at->lags, step));
    double width = clamp(at->width + lowest(at->sum, at->widths, step)), sum;
    JM_TRY(evaluate(s, lag, width, &sum, err));
    *moved = sum < at->sum;
    if (*moved) *at = (star){.lag = lag, .width = width, .sum = sum};
    return JM_OK;
}

/* The inverse of half the curvature, never more than what the profile knew. */
static jm_status find_errors(search *s, const star *at, double step, jm__calibration *out, jm_error *err)
{
    bool lag = s->start.lag_variance > 0, width = s->start.width_variance > 0;
    double h_ll = lag ? (at->lags[1] - 2 * at->sum + at->lags[0]) / (step * step) : 2, h_lw = 0;
    double h_ww = width ? (at->widths[1] - 2 * at->sum + at->widths[0]) / (step * step) : 2;
    if (lag && width) {
        double both;
        JM_TRY(evaluate(s, at->lag + step, at->width + step, &both, err));
        h_lw = (both - at->lags[1] - at->widths[1] + at->sum) / (step * step);
    }
    double determinant = h_ll * h_ww - h_lw * h_lw;
    if (h_ll <= 0 || h_ww <= 0 || determinant <= 0) return JM_OK;
    out->lag_variance = s->start.lag_variance * fmin(1, 2 * h_ww / determinant);
    out->width_variance = s->start.width_variance * fmin(1, 2 * h_ll / determinant);
    double limit = sqrt(out->lag_variance * out->width_variance);
    double together = -2 * h_lw / determinant * sqrt(s->start.lag_variance * s->start.width_variance);
    out->covariance = fmax(-limit, fmin(limit, together));
    /* A search that ends at its limit wanted to go on: it has not made its parameter surer. */
    if (fabs(at->lag) >= limit_u) out->lag_variance = s->start.lag_variance;
    if (fabs(at->width) >= limit_u) out->width_variance = s->start.width_variance;
    return JM_OK;
}

/* From as far as the profile is unsure down to an eighth of that; a choice, as is how often it may move. */
static jm_status find(search *s, jm__calibration *out, jm_error *err)
{
    enum { MOVES = 12 };
    star at = {0};
    double step = 1, least = 0.125;
    JM_TRY(evaluate(s, 0, 0, &at.sum, err));
    JM_TRY(look_around(s, &at, step, err));
    for (int turn = 0; turn < MOVES; turn++) {
        bool moved;
        star before = at;
        JM_TRY(descend(s, &at, step, &moved, err));
        bool near = fabs(at.lag - before.lag) < step / 2 && fabs(at.width - before.width) < step / 2;
        if (near && step <= least) break;
        if (near) step /= 2;
        JM_TRY(look_around(s, &at, step, err));
    }
    if (at.lags[0] == 0 && at.lags[1] == 0) JM_TRY(look_around(s, &at, step, err));
    out->response = response_at(s, at.lag, at.width);
    return find_errors(s, &at, step, out, err);
}

jm_status jm__calibrate(jm__calibration *calibration, const jm_sensor *sensor, const jm__pass *pass,
                        const jm__prior *prior, jm_error *err)
{
    *calibration = jm__calibration_of(sensor);
    if (pass->count < pass->columns + 3) return JM_OK;
    if (calibration->lag_variance <= 0 && calibration->width_variance <= 0) return JM_OK;
    search s = {.pass = pass, .prior = prior, .start = *calibration};
    s.row = calloc(pass->columns + 1, sizeof *s.row);
    jm_status status = s.row == NULL ? jm__no_memory(err, "jm__calibrate") : JM_OK;
    if (status == JM_OK) status = jm__qr_init(&s.data, pass->columns, err);
    if (status == JM_OK) status = jm__qr_init(&s.joint, pass->columns, err);
    if (status == JM_OK) status = find(&s, calibration, err);
    jm__qr_free(&s.data);
    jm__qr_free(&s.joint);
    free(s.row);
    return status;
}
