/* The response model: time and power as functions of the cap; objectives, posteriors, and the expected gain
 * of a probe. */
#include "cap/model.h"

#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const jm__cap_objective jm__cap_objectives[JM_CAP_OBJECTIVE_COUNT] = {
#define X(name, text, title, unit, time_power, watt_power) {text, title, {time_power, watt_power}},
    JM_CAP_OBJECTIVE_MAP(X)
#undef X
};

const char *jm_cap_objective_text(jm_cap_objective objective)
{
    return objective < JM_CAP_OBJECTIVE_COUNT ? jm__cap_objectives[objective].text : "unknown";
}

jm_status jm_cap_objective_parse(const char *text, jm_cap_objective *out, jm_error *err)
{
    for (int i = 0; i < JM_CAP_OBJECTIVE_COUNT; i++) {
        if (strcmp(jm__cap_objectives[i].text, text) != 0) continue;
        *out = (jm_cap_objective)i;
        return JM_OK;
    }
    return jm__fail(err, JM_USAGE, 0, "jm_cap_objective_parse", "no objective \"%.60s\"", text);
}

const char *jm_cap_verdict_text(jm_cap_verdict verdict)
{
    static const char *const texts[JM_CAP_VERDICT_COUNT] = {
#define X(name, text) text,
        JM_CAP_VERDICT_MAP(X)
#undef X
    };
    return verdict < JM_CAP_VERDICT_COUNT ? texts[verdict] : "unknown";
}

double jm__cap_objective_of(jm_cap_objective objective, double time_s, double power_w)
{
    const jm__cap_powers *p = &jm__cap_objectives[objective].powers;
    return pow(time_s, p->time) * pow(power_w, p->watts);
}

/* ---- the model. No figure in it was fitted to sweeps (docs/caps.md) */

/* The power knee is somewhat above the mean power without a cap, as power varies. */
static const double knee_by_power = 1.1, knee_width = .25;
static const double lowest_knee = .8, highest_knee = 1.2; /* relative to the lowest and the highest cap */

/* Exponents of power and time below the knee, and the share of the time that follows the clock; means and
 * widths of their priors. */
static const double watts_exponent = .9, watts_exponent_width = .2;
static const double time_exponent = .2, time_exponent_width = .2;
static const double bend = .5, bend_width = .5;

/* Time follows the clock below a knee of its own, a share of the power knee. */
static const double time_knees[] = {.4, .65, .9}, floor_of_lowest = .6;

/* The residual (Gaussian process) of usual roughness: standard deviations of logarithms. More time goes with
 * less power. */
static const double smooth_deviation = .02;       /* of the smooth part */
static const double single_cap_deviation = .012;  /* of each cap, independent */
static const double time_power_correlation = -.5; /* correlation of time and power */
static const double correlation_length = .2;      /* correlation length, share of the log range of caps */

static const double level_deviation = 1; /* wide prior of the level of the first probe */
static const double jitter = 1e-9;       /* keeps the Cholesky factor valid for probes without noise */

enum {
    KNEES = 18,
    ROUGHNESS_LEVELS = 4,
    TIME_KNEES = 3,
    COMPONENTS = KNEES * ROUGHNESS_LEVELS * TIME_KNEES,
    VALUES_MAX = 2 * JM_CAP_MOST_PROBES
};
static const double roughness_levels[ROUGHNESS_LEVELS] = {.35, 1, 3, 8};
static const double roughness_weights[ROUGHNESS_LEVELS] = {.15, .5, .25, .1};

/* Components with less weight relative to the likeliest do not change any figure. */
static const double least_weight = 1e-4;

struct jm__cap_fit {
    jm__cap_data data;
    double y[VALUES_MAX];       /* logarithms of times, then of powers, relative to the first probe */
    double weights[COMPONENTS]; /* their sum is 1 */
};

/* One component of the mixture. */
typedef struct component {
    double knee_w, time_knee_w, floor_w, roughness2;
    double factor[VALUES_MAX * VALUES_MAX]; /* [2n][2n] lower triangle, by rows */
    double whitened[VALUES_MAX];            /* whitened residuals of y */
} component;

static double depth_of(const component *p, double cap_w)
{
    return cap_w < p->knee_w ? log(cap_w / p->knee_w) : 0;
}

/* Logarithm of the slowdown of the clock, which is proportional to the power above a floor. */
static double bend_of(const component *p, double cap_w)
{
    return cap_w < p->time_knee_w ? log((p->time_knee_w - p->floor_w) / (cap_w - p->floor_w)) : 0;
}

static double mean_of(const component *p, bool watts, double cap_w)
{
    double d = depth_of(p, cap_w);
    return watts ? watts_exponent * d : -time_exponent * d + bend * bend_of(p, cap_w);
}

/* Covariance of log time or log power at two caps. */
static double covariance(const jm__cap_data *data, const component *p, bool a_watts, double a_w, bool b_watts,
                         double b_w)
{
    double range = fmax(log(data->high_w / data->low_w), 1e-3),
           distance = log(a_w / b_w) / (range * correlation_length);
    double curve = p->roughness2 * (smooth_deviation * smooth_deviation * exp(-distance * distance / 2) +
                                    single_cap_deviation * single_cap_deviation * jm__cap_same(a_w, b_w));
    if (a_watts != b_watts) return time_power_correlation * curve;
    double width = a_watts ? watts_exponent_width : time_exponent_width;
    double depths = depth_of(p, a_w) * depth_of(p, b_w);
    double bends = a_watts ? 0 : bend_width * bend_width * bend_of(p, a_w) * bend_of(p, b_w);
    return level_deviation * level_deviation + width * width * depths + bends + curve;
}

/* Covariance of two queries, or of a query and a probe. */
static double query_covariance(const jm__cap_data *data, const component *p, bool a_watts, jm__cap_query a,
                               bool b_watts, jm__cap_query b)
{
    double sum = covariance(data, p, a_watts, a.cap_w, b_watts, b.cap_w);
    if (!isnan(a.from_w)) sum -= covariance(data, p, a_watts, a.from_w, b_watts, b.cap_w);
    if (!isnan(b.from_w)) sum -= covariance(data, p, a_watts, a.cap_w, b_watts, b.from_w);
    if (!isnan(a.from_w) && !isnan(b.from_w))
        sum += covariance(data, p, a_watts, a.from_w, b_watts, b.from_w);
    return sum;
}

static void whiten(const component *p, size_t size, double *values)
{
    for (size_t i = 0; i < size; i++) {
        const double *row = p->factor + i * size;
        double sum = values[i];
        for (size_t k = 0; k < i; k++)
            sum -= row[k] * values[k];
        values[i] = sum / row[i];
    }
}

/* Cholesky factorisation in place, lower triangle. The jitter keeps the diagonal positive. */
static void factorise(double *m, size_t size)
{
    for (size_t j = 0; j < size; j++)
        for (size_t i = j; i < size; i++) {
            double sum = m[i * size + j];
            for (size_t k = 0; k < j; k++)
                sum -= m[i * size + k] * m[j * size + k];
            m[i * size + j] = i == j ? sqrt(fmax(sum, jitter / 100)) : sum / m[j * size + j];
        }
}

static void make_component(component *p, const jm__cap_fit *fit, size_t number)
{
    const jm__cap_data *data = &fit->data;
    size_t n = data->count, size = 2 * n;
    double low = log(lowest_knee * data->low_w), high = log(highest_knee * data->high_w);
    size_t knee = number / ROUGHNESS_LEVELS / TIME_KNEES;
    p->knee_w = exp(low + (high - low) * (double)knee / (KNEES - 1));
    p->floor_w = floor_of_lowest * data->low_w;
    p->time_knee_w = fmax(time_knees[number / ROUGHNESS_LEVELS % TIME_KNEES] * p->knee_w, 1.05 * p->floor_w);
    p->roughness2 = roughness_levels[number % ROUGHNESS_LEVELS] * roughness_levels[number % ROUGHNESS_LEVELS];
    for (size_t i = 0; i < size; i++) {
        const jm_cap_probe *probe = &data->probes[i % n];
        for (size_t j = 0; j <= i; j++) {
            double drift = i / n == j / n ? data->drift * data->drift * (double)(i % n) * (double)(j % n) : 0;
            p->factor[i * size + j] =
                drift + covariance(data, p, i >= n, probe->cap_w, j >= n, data->probes[j % n].cap_w);
        }
        double u = i < n ? probe->time_u_s / probe->time_s : probe->power_u_w / probe->power_w;
        p->factor[i * size + i] += jitter + u * u;
        p->whitened[i] = fit->y[i] - mean_of(p, i >= n, probe->cap_w);
    }
    factorise(p->factor, size);
    whiten(p, size, p->whitened);
}

static double log_weight(const component *p, const jm__cap_fit *fit, size_t number)
{
    double distance = log(p->knee_w / (knee_by_power * fit->data.probes[0].power_w)) / knee_width;
    double sum = log(roughness_weights[number % ROUGHNESS_LEVELS]) - distance * distance / 2;
    size_t size = 2 * fit->data.count;
    for (size_t i = 0; i < size; i++)
        sum -= log(p->factor[i * size + i]) + p->whitened[i] * p->whitened[i] / 2;
    return sum;
}

/* Convert log weights to weights with the sum 1. */
static void normalise(double *w)
{
    double largest = -INFINITY, sum = 0;
    for (size_t i = 0; i < COMPONENTS; i++)
        largest = fmax(largest, w[i]);
    for (size_t i = 0; i < COMPONENTS; i++) {
        w[i] = exp(w[i] - largest);
        if (w[i] < least_weight) w[i] = 0;
        sum += w[i];
    }
    for (size_t i = 0; i < COMPONENTS; i++)
        w[i] /= sum;
}

jm_status jm__cap_fit_create(jm__cap_fit **out, const jm__cap_data *data, jm_error *err)
{
    jm__cap_fit *fit = *out = malloc(sizeof *fit);
    component *p = malloc(sizeof *p);
    if (fit == NULL || p == NULL) {
        *out = NULL;
        free(fit);
        free(p);
        return jm__no_memory(err, "jm__cap_fit_create");
    }
    fit->data = *data;
    for (size_t i = 0; i < data->count; i++) {
        fit->y[i] = log(data->probes[i].time_s / data->probes[0].time_s);
        fit->y[data->count + i] = log(data->probes[i].power_w / data->probes[0].power_w);
    }
    for (size_t g = 0; g < COMPONENTS; g++) {
        make_component(p, fit, g);
        fit->weights[g] = log_weight(p, fit, g);
    }
    normalise(fit->weights);
    free(p);
    return JM_OK;
}

void jm__cap_fit_free(jm__cap_fit *fit)
{
    free(fit);
}

/* ---- posteriors of queries */

typedef struct posterior_moments {
    double time, watts;                /* posterior means */
    double time_var, watts_var, covar; /* of the true values, without a probe's noise */
} posterior_moments;

static double dot(const double *a, const double *b, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += a[i] * b[i];
    return sum;
}

/* A query is at the time of the first probe, so it has no drift. */
static posterior_moments moments_of(const component *p, const jm__cap_data *data, jm__cap_query q)
{
    double cross_covariance[2][VALUES_MAX];
    size_t n = data->count, size = 2 * n;
    double mean[2];
    for (int w = 0; w < 2; w++) {
        for (size_t i = 0; i < size; i++)
            cross_covariance[w][i] =
                query_covariance(data, p, w, q, i >= n, (jm__cap_query){data->probes[i % n].cap_w, NAN});
        whiten(p, size, cross_covariance[w]);
        mean[w] = mean_of(p, w, q.cap_w) - (isnan(q.from_w) ? 0 : mean_of(p, w, q.from_w)) +
                  dot(cross_covariance[w], p->whitened, size);
    }
    return (posterior_moments){
        mean[0], mean[1],
        fmax(query_covariance(data, p, 0, q, 0, q) - dot(cross_covariance[0], cross_covariance[0], size), 0),
        fmax(query_covariance(data, p, 1, q, 1, q) - dot(cross_covariance[1], cross_covariance[1], size), 0),
        query_covariance(data, p, 0, q, 1, q) - dot(cross_covariance[0], cross_covariance[1], size)};
}

/* The components with weight, one after another. */
typedef struct mixture {
    const jm__cap_fit *fit;
    const jm__cap_query *queries; /* [count] */
    size_t count, next;
    double weight; /* of the present component */
    component *p;
    posterior_moments *moments; /* [count]: of the queries, by the present component */
} mixture;

static void end_mixture(mixture *m)
{
    free(m->p);
    free(m->moments);
}

static jm_status begin_mixture(mixture *m, const jm__cap_fit *fit, const jm__cap_query *queries, size_t count,
                               jm_error *err)
{
    *m = (mixture){.fit = fit,
                   .queries = queries,
                   .count = count,
                   .p = malloc(sizeof *m->p),
                   .moments = calloc(count, sizeof *m->moments)};
    if (m->p != NULL && m->moments != NULL) return JM_OK;
    end_mixture(m);
    return jm__no_memory(err, "jm__cap_fit_ask");
}

/* False: there are no more, and the mixture has ended. */
static bool next_component(mixture *m)
{
    while (m->next < COMPONENTS && !(m->fit->weights[m->next] > 0))
        m->next++;
    if (m->next == COMPONENTS) {
        end_mixture(m);
        return false;
    }
    make_component(m->p, m->fit, m->next);
    for (size_t q = 0; q < m->count; q++)
        m->moments[q] = moments_of(m->p, &m->fit->data, m->queries[q]);
    m->weight = m->fit->weights[m->next++];
    return true;
}

/* ---- moments of the mixture */

static double mean_in(const posterior_moments *a, jm__cap_powers powers)
{
    return powers.time * a->time + powers.watts * a->watts;
}

static double variance_in(const posterior_moments *a, jm__cap_powers powers)
{
    double v = powers.time * powers.time * a->time_var + powers.watts * powers.watts * a->watts_var +
               2 * powers.time * powers.watts * a->covar;
    return fmax(v, 0);
}

static jm__cap_powers powers_of(int quantity)
{
    return quantity == JM__CAP_WATTS ? (jm__cap_powers){0, 1} : jm__cap_objectives[quantity].powers;
}

jm_status jm__cap_posterior_of(const jm__cap_fit *fit, const jm__cap_query *queries, size_t count,
                               jm__cap_posterior *out, jm_error *err)
{
    mixture m;
    memset(out, 0, count * sizeof *out);
    JM_TRY(begin_mixture(&m, fit, queries, count, err));
    while (next_component(&m))
        for (size_t i = 0; i < count; i++)
            for (int q = 0; q < JM__CAP_QUANTITIES; q++) {
                jm__cap_powers powers = powers_of(q);
                double mean = mean_in(&m.moments[i], powers);
                out[i].mean[q] += m.weight * mean;
                out[i].variance[q] += m.weight * (variance_in(&m.moments[i], powers) + mean * mean);
            }
    for (size_t i = 0; i < count; i++)
        for (int q = 0; q < JM__CAP_QUANTITIES; q++)
            out[i].variance[q] = fmax(out[i].variance[q] - out[i].mean[q] * out[i].mean[q], 0);
    return JM_OK;
}

jm_cap_figure jm__cap_figure_of(const jm__cap_posterior *posterior, int quantity, double unit)
{
    static const double two_sided_95 = 1.959964; /* of the normal distribution */
    double half = two_sided_95 * sqrt(posterior->variance[quantity]);
    return (jm_cap_figure){unit * exp(posterior->mean[quantity]),
                           unit * exp(posterior->mean[quantity] - half),
                           unit * exp(posterior->mean[quantity] + half)};
}

/* ---- the expected gain of a further probe */

static double normal_cdf(double z) /* of the normal distribution */
{
    return erfc(-z / sqrt(2)) / 2;
}

/* Expected distance below 0 of a normal value. */
static double expected_below(double mean, double deviation)
{
    static const double density = 0.3989422804014327; /* 1 / sqrt(2 pi) */
    if (deviation <= 0) return fmax(-mean, 0);
    double z = -mean / deviation;
    return deviation * density * exp(-z * z / 2) - mean * normal_cdf(z);
}

static double probability_of_bound(const posterior_moments *from_reference, double max_slowdown)
{
    if (max_slowdown <= 0) return 1;
    double margin = log1p(max_slowdown) - from_reference->time;
    double deviation = sqrt(from_reference->time_var);
    return deviation > 0 ? normal_cdf(margin / deviation) : margin >= 0;
}

/* Factor for the noise of a probe: a noisy probe of a well-known cap adds little. */
static double noise_factor(double variance, double noise)
{
    return noise > 0 ? 1 - noise / sqrt(noise * noise + variance) : 1;
}

jm_status jm__cap_gains(const jm__cap_fit *fit, const jm__cap_aim *aim, const double *caps_w, size_t count,
                        double *gains, jm_error *err)
{
    jm__cap_powers powers = jm__cap_objectives[aim->objective].powers;
    mixture m;
    /* The caps relative to the incumbent, then relative to the reference. */
    jm__cap_query *queries = calloc(2 * count, sizeof *queries);
    if (queries == NULL) return jm__no_memory(err, "jm__cap_gains");
    for (size_t i = 0; i < count; i++) {
        queries[i] = (jm__cap_query){caps_w[i], aim->incumbent_w};
        queries[count + i] = (jm__cap_query){caps_w[i], aim->reference_w};
    }
    memset(gains, 0, count * sizeof *gains);
    jm_status status = begin_mixture(&m, fit, queries, 2 * count, err);
    while (status == JM_OK && next_component(&m))
        for (size_t i = 0; i < count; i++) {
            double mean = mean_in(&m.moments[i], powers), variance = variance_in(&m.moments[i], powers);
            gains[i] += m.weight * expected_below(mean, sqrt(variance)) * noise_factor(variance, aim->noise) *
                        probability_of_bound(&m.moments[count + i], aim->max_slowdown);
        }
    free(queries);
    return status;
}
