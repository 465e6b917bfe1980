/* Time and power over the cap: objectives, the model, what it says of caps, and what a probe may gain. */
#include "cap/model.h"

#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *text, *title;
    jm__cap_powers powers;
} objectives[JM_CAP_OBJECTIVE_COUNT] = {
#define X(name, text, title, unit, time_power, watt_power) {text, title, {time_power, watt_power}},
    JM_CAP_OBJECTIVE_MAP(X)
#undef X
};

const char *jm_cap_objective_text(jm_cap_objective objective)
{
    return objective < JM_CAP_OBJECTIVE_COUNT ? objectives[objective].text : "unknown";
}

jm_status jm_cap_objective_parse(const char *text, jm_cap_objective *out, jm_error *err)
{
    for (int i = 0; i < JM_CAP_OBJECTIVE_COUNT; i++) {
        if (strcmp(objectives[i].text, text) != 0) continue;
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

jm__cap_powers jm__cap_powers_of(jm_cap_objective objective)
{
    return objectives[objective].powers;
}

double jm__cap_objective_of(jm_cap_objective objective, double time_s, double power_w)
{
    const jm__cap_powers *p = &objectives[objective].powers;
    return pow(time_s, p->time) * pow(power_w, p->watts);
}

const char *jm__cap_objective_title(jm_cap_objective objective)
{
    return objectives[objective].title;
}

/* ---- the model. No figure in it was fitted to sweeps (docs/caps.md) */

/* The power knee is somewhat above the mean power without a cap, since power goes up and down. */
static const double knee_by_power = 1.1, knee_width = .25;
static const double lowest_knee = .8, highest_knee = 1.2; /* of the lowest and the highest cap */

/* Exponents of power and of time over the depth below the knee, and how much time bends beside that. */
static const double watts_exponent = .9, watts_exponent_width = .2;
static const double time_exponent = .2, time_exponent_width = .2;
static const double bend = .5, bend_width = .5;

/* Time bends below a knee of its own, a share of the power knee. */
static const double time_knees[] = {.4, .65, .9}, floor_of_lowest = .6;

/* The rough curve of the usual size: standard deviations of logarithms. Slower goes with less power. */
static const double smooth = .02;   /* of what changes over `reach` of the range */
static const double alone = .012;   /* of each cap by itself */
static const double together = -.5; /* correlation of time and power */
static const double reach = .2;     /* of the range of caps, in logarithms */

static const double level = 1;     /* of the first probe, by which all is measured: wide */
static const double jitter = 1e-9; /* keeps the factor from failing where probes are without noise */

enum {
    KNEES = 18,
    SIZES = 4,
    TIME_KNEES = 3,
    PARTS = KNEES * SIZES * TIME_KNEES,
    MOST = 2 * JM_CAP_MOST_PROBES
};
static const double sizes[SIZES] = {.35, 1, 3, 8};
static const double size_shares[SIZES] = {.15, .5, .25, .1};

/* Parts of less than this, relative to the likeliest, would change no figure. */
static const double least_weight = 1e-4;

struct jm__cap_fit {
    jm__cap_data data;
    double y[MOST];        /* logs of times, then of powers, of the first's */
    double weights[PARTS]; /* they add up to 1 */
};

/* One part of the mixture, made ready. */
typedef struct part {
    double knee_w, time_knee_w, floor_w, size2;
    double factor[MOST * MOST]; /* [2n][2n] lower triangle, by rows */
    double white[MOST];         /* what the means leave of y */
} part;

static double knee_at(const jm__cap_data *data, size_t part_number)
{
    double low = log(lowest_knee * data->low_w), high = log(highest_knee * data->high_w);
    return exp(low + (high - low) * (double)(part_number / SIZES / TIME_KNEES) / (KNEES - 1));
}

static double depth_of(const part *p, double cap_w)
{
    return cap_w < p->knee_w ? log(cap_w / p->knee_w) : 0;
}

/* Logarithm of how much slower the clock is, which falls as the power above a floor does. */
static double bend_of(const part *p, double cap_w)
{
    return cap_w < p->time_knee_w ? log((p->time_knee_w - p->floor_w) / (cap_w - p->floor_w)) : 0;
}

static double mean_of(const part *p, bool watts, double cap_w)
{
    double d = depth_of(p, cap_w);
    return watts ? watts_exponent * d : -time_exponent * d + bend * bend_of(p, cap_w);
}

/* Of log time or log power at two caps. */
static double covariance(const jm__cap_data *data, const part *p, bool a_watts, double a_w, bool b_watts,
                         double b_w)
{
    double range = fmax(log(data->high_w / data->low_w), 1e-3), off = log(a_w / b_w) / (range * reach);
    double curve =
        p->size2 * (smooth * smooth * exp(-off * off / 2) + alone * alone * jm__cap_same(a_w, b_w));
    if (a_watts != b_watts) return together * curve;
    double width = a_watts ? watts_exponent_width : time_exponent_width;
    double depths = depth_of(p, a_w) * depth_of(p, b_w);
    double bends = a_watts ? 0 : bend_width * bend_width * bend_of(p, a_w) * bend_of(p, b_w);
    return level * level + width * width * depths + bends + curve;
}

/* Of a question and a probe, or of two questions. */
static double difference(const jm__cap_data *data, const part *p, bool a_watts, jm__cap_question a,
                         bool b_watts, jm__cap_question b)
{
    double sum = covariance(data, p, a_watts, a.cap_w, b_watts, b.cap_w);
    if (!isnan(a.from_w)) sum -= covariance(data, p, a_watts, a.from_w, b_watts, b.cap_w);
    if (!isnan(b.from_w)) sum -= covariance(data, p, a_watts, a.cap_w, b_watts, b.from_w);
    if (!isnan(a.from_w) && !isnan(b.from_w))
        sum += covariance(data, p, a_watts, a.from_w, b_watts, b.from_w);
    return sum;
}

static void whiten(const part *p, size_t size, double *values)
{
    for (size_t i = 0; i < size; i++) {
        const double *row = p->factor + i * size;
        double sum = values[i];
        for (size_t k = 0; k < i; k++)
            sum -= row[k] * values[k];
        values[i] = sum / row[i];
    }
}

/* Cholesky, in place, the lower triangle. The jitter keeps the diagonal positive. */
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

static void make_part(part *p, const jm__cap_fit *fit, size_t number)
{
    const jm__cap_data *data = &fit->data;
    size_t n = data->count, size = 2 * n;
    p->knee_w = knee_at(data, number);
    p->floor_w = floor_of_lowest * data->low_w;
    p->time_knee_w = fmax(time_knees[number / SIZES % TIME_KNEES] * p->knee_w, 1.05 * p->floor_w);
    p->size2 = sizes[number % SIZES] * sizes[number % SIZES];
    for (size_t i = 0; i < size; i++) {
        const jm_cap_probe *probe = &data->probes[i % n];
        for (size_t j = 0; j <= i; j++) {
            double drift = i / n == j / n ? data->drift * data->drift * (double)(i % n) * (double)(j % n) : 0;
            p->factor[i * size + j] =
                drift + covariance(data, p, i >= n, probe->cap_w, j >= n, data->probes[j % n].cap_w);
        }
        double u = i < n ? probe->time_u_s / probe->time_s : probe->power_u_w / probe->power_w;
        p->factor[i * size + i] += jitter + u * u;
        p->white[i] = fit->y[i] - mean_of(p, i >= n, probe->cap_w);
    }
    factorise(p->factor, size);
    whiten(p, size, p->white);
}

static double log_weight(const part *p, const jm__cap_fit *fit, size_t number)
{
    double off = log(p->knee_w / (knee_by_power * fit->data.probes[0].power_w)) / knee_width;
    double sum = log(size_shares[number % SIZES]) - off * off / 2;
    size_t size = 2 * fit->data.count;
    for (size_t i = 0; i < size; i++)
        sum -= log(p->factor[i * size + i]) + p->white[i] * p->white[i] / 2;
    return sum;
}

/* From logarithms to weights that add up to 1. */
static void normalise(double *w)
{
    double largest = -INFINITY, sum = 0;
    for (size_t i = 0; i < PARTS; i++)
        largest = fmax(largest, w[i]);
    for (size_t i = 0; i < PARTS; i++) {
        w[i] = exp(w[i] - largest);
        if (w[i] < least_weight) w[i] = 0;
        sum += w[i];
    }
    for (size_t i = 0; i < PARTS; i++)
        w[i] /= sum;
}

jm_status jm__cap_fit_create(jm__cap_fit **out, const jm__cap_data *data, jm_error *err)
{
    jm__cap_fit *fit = malloc(sizeof *fit);
    part *p = malloc(sizeof *p);
    *out = fit;
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
    for (size_t g = 0; g < PARTS; g++) {
        make_part(p, fit, g);
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

/* ---- questions */

typedef struct answer {
    double time, watts;                /* means */
    double time_var, watts_var, covar; /* of what is true, not of one more probe */
} answer;

static double dot(const double *a, const double *b, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += a[i] * b[i];
    return sum;
}

/* A question is of the moment of the first probe, so drift has not begun. */
static answer answer_of(const part *p, const jm__cap_data *data, jm__cap_question q)
{
    double reaching[2][MOST];
    size_t n = data->count, size = 2 * n;
    double mean[2];
    for (int w = 0; w < 2; w++) {
        for (size_t i = 0; i < size; i++)
            reaching[w][i] =
                difference(data, p, w, q, i >= n, (jm__cap_question){data->probes[i % n].cap_w, NAN});
        whiten(p, size, reaching[w]);
        mean[w] = mean_of(p, w, q.cap_w) - (isnan(q.from_w) ? 0 : mean_of(p, w, q.from_w)) +
                  dot(reaching[w], p->white, size);
    }
    return (answer){mean[0], mean[1],
                    fmax(difference(data, p, 0, q, 0, q) - dot(reaching[0], reaching[0], size), 0),
                    fmax(difference(data, p, 1, q, 1, q) - dot(reaching[1], reaching[1], size), 0),
                    difference(data, p, 0, q, 1, q) - dot(reaching[0], reaching[1], size)};
}

typedef void (*visit)(void *context, double weight, const answer *answers);

/* Each part of the mixture that counts: its weight, and its answer[count]. */
static jm_status ask(const jm__cap_fit *fit, const jm__cap_question *questions, size_t count, visit tell,
                     void *context, jm_error *err)
{
    part *p = malloc(sizeof *p);
    answer *answers = calloc(count, sizeof *answers);
    bool all = p != NULL && answers != NULL;
    for (size_t g = 0; all && g < PARTS; g++) {
        if (!(fit->weights[g] > 0)) continue;
        make_part(p, fit, g);
        for (size_t q = 0; q < count; q++)
            answers[q] = answer_of(p, &fit->data, questions[q]);
        tell(context, fit->weights[g], answers);
    }
    free(p);
    free(answers);
    return all ? JM_OK : jm__no_memory(err, "jm__cap_fit_ask");
}

/* ---- what is assumed: moments of the mixture */

static double answer_mean(const answer *a, jm__cap_powers powers)
{
    return powers.time * a->time + powers.watts * a->watts;
}

static double answer_variance(const answer *a, jm__cap_powers powers)
{
    double v = powers.time * powers.time * a->time_var + powers.watts * powers.watts * a->watts_var +
               2 * powers.time * powers.watts * a->covar;
    return fmax(v, 0);
}

static jm__cap_powers powers_of(int quantity)
{
    return quantity == JM__CAP_WATTS ? (jm__cap_powers){0, 1} : jm__cap_powers_of((jm_cap_objective)quantity);
}

typedef struct sums {
    jm__cap_prior *priors; /* second moments in place of variances */
    size_t count;
} sums;

static void add_response(void *context, double weight, const answer *answers)
{
    sums *s = context;
    for (size_t i = 0; i < s->count; i++)
        for (int q = 0; q < JM__CAP_QUANTITIES; q++) {
            jm__cap_powers powers = powers_of(q);
            double mean = answer_mean(&answers[i], powers);
            s->priors[i].mean[q] += weight * mean;
            s->priors[i].variance[q] += weight * (answer_variance(&answers[i], powers) + mean * mean);
        }
}

jm_status jm__cap_prior_of(const jm__cap_fit *fit, const jm__cap_question *questions, size_t count,
                           jm__cap_prior *out, jm_error *err)
{
    sums s = {out, count};
    memset(out, 0, count * sizeof *out);
    jm_status status = ask(fit, questions, count, add_response, &s, err);
    for (size_t i = 0; i < count; i++)
        for (int q = 0; q < JM__CAP_QUANTITIES; q++)
            out[i].variance[q] = fmax(out[i].variance[q] - out[i].mean[q] * out[i].mean[q], 0);
    return status;
}

jm_cap_figure jm__cap_figure_of(const jm__cap_prior *prior, int quantity, double unit)
{
    static const double two_sided_95 = 1.959964; /* of the normal distribution */
    double half = two_sided_95 * sqrt(prior->variance[quantity]);
    return (jm_cap_figure){unit * exp(prior->mean[quantity]), unit * exp(prior->mean[quantity] - half),
                           unit * exp(prior->mean[quantity] + half)};
}

/* ---- What a further probe is expected to gain */

typedef struct hopes {
    const jm__cap_aim *aim;
    jm__cap_powers powers;
    size_t count;
    double *gains;
} hopes;

static double below(double z) /* of the normal distribution */
{
    return erfc(-z / sqrt(2)) / 2;
}

/* Of a value with this mean and deviation: how far it is expected to be below 0. */
static double expected_below(double mean, double deviation)
{
    static const double density = 0.3989422804014327; /* 1 / sqrt(2 pi) */
    if (deviation <= 0) return fmax(-mean, 0);
    double z = -mean / deviation;
    return deviation * density * exp(-z * z / 2) - mean * below(z);
}

static double keeps_bound(const answer *from_reference, double max_slowdown)
{
    if (max_slowdown <= 0) return 1;
    double room = log1p(max_slowdown) - from_reference->time;
    double deviation = sqrt(from_reference->time_var);
    return deviation > 0 ? below(room / deviation) : room >= 0;
}

/* A probe of what is known as well as a probe tells little. */
static double telling(double variance, double noise)
{
    return noise > 0 ? 1 - noise / sqrt(noise * noise + variance) : 1;
}

/* Answers: caps against the incumbent, then caps against the reference. */
static void add_gain(void *context, double weight, const answer *answers)
{
    const hopes *h = context;
    for (size_t i = 0; i < h->count; i++) {
        double mean = answer_mean(&answers[i], h->powers);
        double variance = answer_variance(&answers[i], h->powers);
        h->gains[i] += weight * expected_below(mean, sqrt(variance)) * telling(variance, h->aim->noise) *
                       keeps_bound(&answers[h->count + i], h->aim->max_slowdown);
    }
}

jm_status jm__cap_gains(const jm__cap_fit *fit, const jm__cap_aim *aim, const double *caps_w, size_t count,
                        double *gains, jm_error *err)
{
    jm__cap_question *questions = calloc(2 * count, sizeof *questions);
    if (questions == NULL) return jm__no_memory(err, "jm__cap_gains");
    for (size_t i = 0; i < count; i++) {
        questions[i] = (jm__cap_question){caps_w[i], aim->incumbent_w};
        questions[count + i] = (jm__cap_question){caps_w[i], aim->reference_w};
    }
    hopes h = {aim, jm__cap_powers_of(aim->objective), count, gains};
    memset(gains, 0, count * sizeof *gains);
    jm_status status = ask(fit, questions, 2 * count, add_gain, &h, err);
    free(questions);
    return status;
}
