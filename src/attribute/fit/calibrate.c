/* Newton's steps on the penalised sum of squares over (lag, width). */
#include "attribute/fit/calibrate.h"

#include "base/status.h"

#include <math.h>
#include <stdlib.h>

/* How far from the profile, in its standard uncertainties: one board in 22 is further off, and a search that
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

static jm__response moved(const search *s, double lag_u, double width_u)
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
    JM_TRY(jm__pass_fold(s->pass, moved(s, lag_u, width_u), &s->data, err));
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

/* One step: six evaluations give the quadratic, whose lowest point inside the limits is next. */
static jm_status newton(search *s, double *lag_u, double *width_u, double step, jm__calibration *out,
                        jm_error *err)
{
    bool lag = s->start.lag_variance > 0, width = s->start.width_variance > 0;
    double l = *lag_u, w = *width_u, dl = lag ? step : 0, dw = width ? step : 0;
    double middle, l_plus, l_minus, w_plus, w_minus, both;
    JM_TRY(evaluate(s, l, w, &middle, err));
    l_plus = l_minus = w_plus = w_minus = both = middle;
    if (lag) JM_TRY(evaluate(s, l + dl, w, &l_plus, err));
    if (lag) JM_TRY(evaluate(s, l - dl, w, &l_minus, err));
    if (width) JM_TRY(evaluate(s, l, w + dw, &w_plus, err));
    if (width) JM_TRY(evaluate(s, l, w - dw, &w_minus, err));
    if (lag && width) JM_TRY(evaluate(s, l + dl, w + dw, &both, err));
    double h_ll = lag ? (l_plus - 2 * middle + l_minus) / (step * step) : 2;
    double h_ww = width ? (w_plus - 2 * middle + w_minus) / (step * step) : 2;
    double h_lw = lag && width ? (both - l_plus - w_plus + middle) / (step * step) : 0;
    double g_l = (l_plus - l_minus) / (2 * step), g_w = (w_plus - w_minus) / (2 * step);
    double determinant = h_ll * h_ww - h_lw * h_lw;
    if (h_ll <= 0 || h_ww <= 0 || determinant <= 0) { /* no bowl: walk downhill by one step */
        *lag_u = clamp(l - (g_l > 0 ? dl : g_l < 0 ? -dl : 0));
        *width_u = clamp(w - (g_w > 0 ? dw : g_w < 0 ? -dw : 0));
        return JM_OK;
    }
    *lag_u = clamp(l - (h_ww * g_l - h_lw * g_w) / determinant);
    *width_u = clamp(w - (h_ll * g_w - h_lw * g_l) / determinant);
    /* The inverse of half the curvature, never more than what the calibration already knew. */
    out->lag_variance = s->start.lag_variance * fmin(1, 2 * h_ww / determinant);
    out->width_variance = s->start.width_variance * fmin(1, 2 * h_ll / determinant);
    double limit = sqrt(out->lag_variance * out->width_variance);
    double together = -2 * h_lw / determinant * sqrt(s->start.lag_variance * s->start.width_variance);
    out->covariance = fmax(-limit, fmin(limit, together));
    return JM_OK;
}

jm_status jm__calibrate(jm__calibration *calibration, const jm_sensor *sensor, const jm__pass *pass,
                        const jm__prior *prior, jm_error *err)
{
    *calibration = jm__calibration_of(sensor);
    if (pass->count < pass->columns + 3) return JM_OK;
    if (calibration->lag_variance <= 0 && calibration->width_variance <= 0) return JM_OK;
    search s = {.pass = pass, .prior = prior, .start = *calibration};
    s.row = calloc(pass->columns + 1, sizeof *s.row);
    double lag_u = 0, width_u = 0;
    jm_status status = s.row == NULL ? jm__no_memory(err, "jm__calibrate") : JM_OK;
    if (status == JM_OK) status = jm__qr_init(&s.data, pass->columns, err);
    if (status == JM_OK) status = jm__qr_init(&s.joint, pass->columns, err);
    const double steps[] = {1, 0.5, 0.25}; /* a choice: from as far as the profile is unsure, by halves */
    for (size_t i = 0; status == JM_OK && i < sizeof steps / sizeof steps[0]; i++)
        status = newton(&s, &lag_u, &width_u, steps[i], calibration, err);
    if (status == JM_OK) calibration->response = moved(&s, lag_u, width_u);
    /* A search that ends at its limit wanted to go on: it has not made its parameter surer. */
    if (fabs(lag_u) >= limit_u) calibration->lag_variance = s.start.lag_variance;
    if (fabs(width_u) >= limit_u) calibration->width_variance = s.start.width_variance;
    jm__qr_free(&s.data);
    jm__qr_free(&s.joint);
    free(s.row);
    return status;
}
