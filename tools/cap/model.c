/* The table of objectives, and their names. */
#include "cap/model.h"

#include "base/status.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *text, *title, *unit;
    jm__cap_powers powers;
} objectives[JM_CAP_OBJECTIVE_COUNT] = {
#define X(name, text, title, unit, time_power, watt_power) {text, title, unit, {time_power, watt_power}},
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

const char *jm__cap_objective_unit(jm_cap_objective objective)
{
    return objectives[objective].unit;
}

/* ---- The grid of laws. Its prior is wide on purpose: no figure in it was fitted to sweeps (docs/caps.md) */

/* The power knee is somewhat above the mean power without a cap, since power goes up and down: by 1.2, give
 * or take 20 %. */
static const double knee_by_power = 1.1, knee_width = .25;
static const double lowest_knee = .8, highest_knee = 1.2; /* of the lowest and the highest cap */

/* The knee of time, as a share of the power knee: about two thirds, hardly known. */
static const double time_knees[] = {.4, .5, .6, .7, .8, .9, 1};
static const double time_knee = .65, time_knee_width = .3;

static const double floors[] = {.1, .35, .6, .8}; /* shares of the lowest cap */

/* What waits for the clock: about half, by a factor of e. Beyond 1: the memory's clock falls too. */
static const double shares[] = {.03, .1, .25, .5, .8, 1.1};
static const double share = .5, share_width = 1;

enum {
    TIME_KNEES = sizeof time_knees / sizeof *time_knees,
    FLOORS = sizeof floors / sizeof *floors,
    SHARES = sizeof shares / sizeof *shares
};
_Static_assert(TIME_KNEES *FLOORS *SHARES == JM__CAP_LAWS, "law.h says how many there are");

static double penalty(double value, double mean, double width)
{
    double z = (value - mean) / width;
    return -z * z / 2;
}

double jm__cap_knee_w(const jm__cap_range *range, size_t knee)
{
    double low = log(lowest_knee * range->low_w), high = log(highest_knee * range->high_w);
    return exp(low + (high - low) * (double)knee / (JM__CAP_KNEES - 1));
}

jm__cap_law jm__cap_law_at(const jm__cap_range *range, size_t knee, size_t law)
{
    double knee_w = jm__cap_knee_w(range, knee);
    double of_knee = time_knees[law % TIME_KNEES], of_low = floors[law / TIME_KNEES % FLOORS],
           waits = shares[law / (TIME_KNEES * FLOORS)];
    double floor_w = of_low * range->low_w;
    return (jm__cap_law){
        .knee_w = fmax(of_knee * knee_w, 1.05 * floor_w), /* the clock stands still at the floor */
        .floor_w = floor_w,
        .share = waits,
        .log_prior = penalty(log(knee_w), log(knee_by_power * range->power_w), knee_width) +
                     penalty(of_knee, time_knee, time_knee_width) +
                     penalty(log(waits), log(share), share_width),
    };
}

double jm__cap_slowdown(const jm__cap_law *law, double cap_w)
{
    if (cap_w >= law->knee_w) return 0;
    return log1p(law->share * ((law->knee_w - law->floor_w) / (cap_w - law->floor_w) - 1));
}

double jm__cap_depth(double knee_w, double cap_w)
{
    return cap_w < knee_w ? log(cap_w / knee_w) : 0;
}

/* ---- Covariances, and their Cholesky factor */

/* The rough curve of the usual size: standard deviations of logarithms. Slower goes with less power. */
static const double time_smooth = .02, watts_smooth = .02; /* of what changes over `reach` of the range */
static const double time_alone = .012, watts_alone = .012; /* of each cap by itself */
static const double together = -.5;                        /* correlation of time and power */
static const double reach = .2;                            /* of the range of caps, in logarithms */

static const double sizes[JM__CAP_SIZES] = {.35, 1, 3, 8};
static const double size_shares[JM__CAP_SIZES] = {.15, .5, .25, .1};

static const double time_exponent_width = .2, watts_exponent_width = .2;
static const double level = 1;     /* of the first probe, by which all is measured: wide */
static const double jitter = 1e-9; /* keeps the factor from failing where probes are without noise */
/* Of two points, or of the differences of two each: how alike they are. */
typedef struct alike {
    double smooth, alone;
} alike;

struct jm__cap_rough {
    const jm__cap_data *data;
    const jm__cap_question *questions;
    size_t n, count;
    alike *probes;    /* [n][n] */
    alike *asked;     /* [count][n] */
    alike *own;       /* [count] of a question with itself */
    double *factor;   /* [2n][2n] lower triangle, by rows */
    double *reaching; /* [2 count][2n] covariances of questions with the probes, whitened */
    double knee_w, size2;
};

double jm__cap_size_share(size_t size)
{
    return size_shares[size];
}

static alike alike_caps(const jm__cap_data *data, double a_w, double b_w)
{
    double range = fmax(log(data->high_w / data->low_w), 1e-3), d = log(a_w / b_w) / (range * reach);
    return (alike){exp(-d * d / 2), jm__cap_same(a_w, b_w)};
}

static alike less(alike a, alike b)
{
    return (alike){a.smooth - b.smooth, a.alone - b.alone};
}

static void compare(jm__cap_rough *r)
{
    const jm_cap_probe *p = r->data->probes;
    for (size_t i = 0; i < r->n; i++)
        for (size_t j = 0; j < r->n; j++)
            r->probes[i * r->n + j] = alike_caps(r->data, p[i].cap_w, p[j].cap_w);
    for (size_t q = 0; q < r->count; q++) {
        double cap_w = r->questions[q].cap_w, from_w = r->questions[q].from_w;
        bool difference = !isnan(from_w);
        for (size_t i = 0; i < r->n; i++) {
            alike *to = &r->asked[q * r->n + i];
            *to = alike_caps(r->data, cap_w, p[i].cap_w);
            if (difference) *to = less(*to, alike_caps(r->data, from_w, p[i].cap_w));
        }
        alike between = {0};
        if (difference) between = alike_caps(r->data, cap_w, from_w);
        r->own[q] = difference ? (alike){2 - 2 * between.smooth, 2 - 2 * between.alone} : (alike){1, 1};
    }
}

jm_status jm__cap_rough_create(jm__cap_rough **out, const jm__cap_data *data,
                               const jm__cap_question *questions, size_t count, jm_error *err)
{
    jm__cap_rough *r = calloc(1, sizeof *r);
    *out = NULL;
    if (r == NULL) return jm__no_memory(err, "jm__cap_rough_create");
    size_t n = data->count;
    *r = (jm__cap_rough){.data = data, .questions = questions, .n = n, .count = count};
    r->probes = calloc(n * n, sizeof *r->probes);
    r->asked = calloc(count * n + 1, sizeof *r->asked);
    r->own = calloc(count + 1, sizeof *r->own);
    r->factor = calloc(4 * n * n, sizeof *r->factor);
    r->reaching = calloc(4 * count * n + 1, sizeof *r->reaching);
    if (!r->probes || !r->asked || !r->own || !r->factor || !r->reaching) {
        jm__cap_rough_free(r);
        return jm__no_memory(err, "jm__cap_rough_create");
    }
    compare(r);
    *out = r;
    return JM_OK;
}

void jm__cap_rough_free(jm__cap_rough *rough)
{
    if (rough == NULL) return;
    free(rough->probes);
    free(rough->asked);
    free(rough->own);
    free(rough->factor);
    free(rough->reaching);
    free(rough);
}

/* Covariances of time with time, power with power, time with power. `depths`: the product of the depths. */
static double time_time(const jm__cap_rough *r, alike a, double depths)
{
    return time_exponent_width * time_exponent_width * depths +
           r->size2 * (time_smooth * time_smooth * a.smooth + time_alone * time_alone * a.alone);
}

static double watts_watts(const jm__cap_rough *r, alike a, double depths)
{
    return watts_exponent_width * watts_exponent_width * depths +
           r->size2 * (watts_smooth * watts_smooth * a.smooth + watts_alone * watts_alone * a.alone);
}

static double time_watts(const jm__cap_rough *r, alike a)
{
    return r->size2 * together * (time_smooth * watts_smooth * a.smooth + time_alone * watts_alone * a.alone);
}

static double probe_depth(const jm__cap_rough *r, size_t probe)
{
    return jm__cap_depth(r->knee_w, r->data->probes[probe].cap_w);
}

static double question_depth(const jm__cap_rough *r, size_t question)
{
    const jm__cap_question *q = &r->questions[question];
    double depth = jm__cap_depth(r->knee_w, q->cap_w);
    return isnan(q->from_w) ? depth : depth - jm__cap_depth(r->knee_w, q->from_w);
}

static void fill_covariance(jm__cap_rough *r)
{
    size_t n = r->n, size = 2 * n;
    for (size_t i = 0; i < n; i++) {
        const jm_cap_probe *p = &r->data->probes[i];
        double depth = probe_depth(r, i);
        for (size_t j = 0; j < n; j++) {
            alike a = r->probes[i * n + j];
            double common = level * level + r->data->drift * r->data->drift * (double)i * (double)j;
            double depths = depth * probe_depth(r, j);
            r->factor[i * size + j] = common + time_time(r, a, depths);
            r->factor[(n + i) * size + n + j] = common + watts_watts(r, a, depths);
            r->factor[(n + i) * size + j] = time_watts(r, a);
        }
        double u_time = p->time_u_s / p->time_s, u_watts = p->power_u_w / p->power_w;
        r->factor[i * size + i] += jitter + u_time * u_time;
        r->factor[(n + i) * size + n + i] += jitter + u_watts * u_watts;
    }
}

/* In place, the lower triangle. The jitter keeps the diagonal positive. */
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

void jm__cap_rough_whiten(const jm__cap_rough *rough, double *values)
{
    size_t size = 2 * rough->n;
    for (size_t i = 0; i < size; i++) {
        const double *row = rough->factor + i * size;
        double sum = values[i];
        for (size_t k = 0; k < i; k++)
            sum -= row[k] * values[k];
        values[i] = sum / row[i];
    }
}

/* A question is of the moment of the first probe, so drift has not begun. */
static void reach_question(jm__cap_rough *r, size_t question)
{
    size_t n = r->n;
    double *time = r->reaching + 4 * question * n, *watts = time + 2 * n;
    double depth = question_depth(r, question),
           common = isnan(r->questions[question].from_w) ? level * level : 0;
    for (size_t i = 0; i < n; i++) {
        alike a = r->asked[question * n + i];
        double depths = depth * probe_depth(r, i);
        time[i] = common + time_time(r, a, depths);
        time[n + i] = watts[i] = time_watts(r, a);
        watts[n + i] = common + watts_watts(r, a, depths);
    }
    jm__cap_rough_whiten(r, time);
    jm__cap_rough_whiten(r, watts);
}

void jm__cap_rough_set(jm__cap_rough *rough, double knee_w, size_t size)
{
    rough->knee_w = knee_w;
    rough->size2 = sizes[size] * sizes[size];
    fill_covariance(rough);
    factorise(rough->factor, 2 * rough->n);
    for (size_t q = 0; q < rough->count; q++)
        reach_question(rough, q);
}

double jm__cap_rough_log_det(const jm__cap_rough *rough)
{
    size_t size = 2 * rough->n;
    double sum = 0;
    for (size_t i = 0; i < size; i++)
        sum += 2 * log(rough->factor[i * size + i]);
    return sum;
}

static double dot(const double *a, const double *b, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += a[i] * b[i];
    return sum;
}

void jm__cap_rough_variance(const jm__cap_rough *rough, size_t question, jm__cap_answer *answer)
{
    size_t size = 2 * rough->n;
    const double *time = rough->reaching + 2 * question * size, *watts = time + size;
    double depth = question_depth(rough, question);
    double common = isnan(rough->questions[question].from_w) ? level * level : 0;
    alike own = rough->own[question];
    answer->time_var = fmax(common + time_time(rough, own, depth * depth) - dot(time, time, size), 0);
    answer->watts_var = fmax(common + watts_watts(rough, own, depth * depth) - dot(watts, watts, size), 0);
    answer->covar = time_watts(rough, own) - dot(time, watts, size);
}

void jm__cap_rough_add(const jm__cap_rough *rough, size_t question, const double *white,
                       jm__cap_answer *answer)
{
    size_t size = 2 * rough->n;
    const double *time = rough->reaching + 2 * question * size;
    answer->time += dot(time, white, size);
    answer->watts += dot(time + size, white, size);
}

/* ---- The mixture of model.h: one Gaussian process a power knee and size of the rough curve, with each law
 * as its mean */

enum { GROUPS = JM__CAP_KNEES * JM__CAP_SIZES };

/* Laws of less than this, relative to the likeliest, would change no figure. */
static const double least_weight = 1e-4;

/* The usual exponents of power and of the gentle part of time over the depth below the knee. */
static const double power_exponent = .9, time_exponent = .2;

struct jm__cap_fit {
    jm__cap_data data;
    jm__cap_range range;
    double y[2 * JM_CAP_MOST_PROBES];     /* logs of times, then of powers, of the first's */
    double weights[GROUPS][JM__CAP_LAWS]; /* they add up to 1 */
};

/* What all laws of a power knee have in common at a cap: time without the steep part, and power. */
typedef struct gentle {
    double time, watts;
} gentle;

static gentle gentle_at(double knee_w, double cap_w)
{
    double depth = jm__cap_depth(knee_w, cap_w);
    return (gentle){-time_exponent * depth, power_exponent * depth};
}

/* y less the gentle part. */
static void take_gentle(const jm__cap_fit *fit, double knee_w, double *left)
{
    size_t n = fit->data.count;
    for (size_t i = 0; i < n; i++) {
        gentle at = gentle_at(knee_w, fit->data.probes[i].cap_w);
        left[i] = fit->y[i] - at.time;
        left[n + i] = fit->y[n + i] - at.watts;
    }
}

/* What a law leaves of that, whitened. */
static void whiten_rest(const jm__cap_fit *fit, const jm__cap_rough *rough, const jm__cap_law *law,
                        const double *left, double *white)
{
    size_t n = fit->data.count;
    memcpy(white, left, 2 * n * sizeof *white);
    for (size_t i = 0; i < n; i++)
        white[i] -= jm__cap_slowdown(law, fit->data.probes[i].cap_w);
    jm__cap_rough_whiten(rough, white);
}

static void weigh_group(jm__cap_fit *fit, size_t group, const jm__cap_rough *rough)
{
    size_t knee = group / JM__CAP_SIZES;
    double left[2 * JM_CAP_MOST_PROBES], white[2 * JM_CAP_MOST_PROBES];
    double prior = log(jm__cap_size_share(group % JM__CAP_SIZES)) - jm__cap_rough_log_det(rough) / 2;
    take_gentle(fit, jm__cap_knee_w(&fit->range, knee), left);
    for (size_t l = 0; l < JM__CAP_LAWS; l++) {
        jm__cap_law law = jm__cap_law_at(&fit->range, knee, l);
        whiten_rest(fit, rough, &law, left, white);
        double chi2 = 0;
        for (size_t i = 0; i < 2 * fit->data.count; i++)
            chi2 += white[i] * white[i];
        fit->weights[group][l] = law.log_prior + prior - chi2 / 2;
    }
}

/* From logarithms to weights that add up to 1. */
static void normalise(jm__cap_fit *fit)
{
    double *w = fit->weights[0], largest = -INFINITY, sum = 0;
    for (size_t i = 0; i < (size_t)GROUPS * JM__CAP_LAWS; i++)
        largest = fmax(largest, w[i]);
    for (size_t i = 0; i < (size_t)GROUPS * JM__CAP_LAWS; i++) {
        w[i] = exp(w[i] - largest);
        if (w[i] < least_weight) w[i] = 0;
        sum += w[i];
    }
    for (size_t i = 0; i < (size_t)GROUPS * JM__CAP_LAWS; i++)
        w[i] /= sum;
}

static double group_knee(const jm__cap_fit *fit, size_t group)
{
    return jm__cap_knee_w(&fit->range, group / JM__CAP_SIZES);
}

static jm_status weigh(jm__cap_fit *fit, jm_error *err)
{
    jm__cap_rough *rough;
    JM_TRY(jm__cap_rough_create(&rough, &fit->data, NULL, 0, err));
    for (size_t g = 0; g < GROUPS; g++) {
        jm__cap_rough_set(rough, group_knee(fit, g), g % JM__CAP_SIZES);
        weigh_group(fit, g, rough);
    }
    jm__cap_rough_free(rough);
    normalise(fit);
    return JM_OK;
}

jm_status jm__cap_fit_create(jm__cap_fit **out, const jm__cap_data *data, jm_error *err)
{
    *out = NULL;
    jm__cap_fit *fit = malloc(sizeof *fit);
    if (fit == NULL) return jm__no_memory(err, "jm__cap_fit_create");
    const jm_cap_probe *p = data->probes;
    fit->data = *data;
    fit->range = (jm__cap_range){data->low_w, data->high_w, p[0].power_w};
    for (size_t i = 0; i < data->count; i++) {
        fit->y[i] = log(p[i].time_s / p[0].time_s);
        fit->y[data->count + i] = log(p[i].power_w / p[0].power_w);
    }
    jm_status status = weigh(fit, err);
    if (status == JM_OK)
        *out = fit;
    else
        free(fit);
    return status;
}

void jm__cap_fit_free(jm__cap_fit *fit)
{
    free(fit);
}

static bool group_counts(const jm__cap_fit *fit, size_t group)
{
    for (size_t l = 0; l < JM__CAP_LAWS; l++)
        if (fit->weights[group][l] > 0) return true;
    return false;
}

typedef struct asking {
    const jm__cap_fit *fit;
    const jm__cap_question *questions;
    size_t count;
    gentle *gentle;          /* [count] of the group */
    jm__cap_answer *answers; /* [count] */
    jm__cap_visit visit;
    void *context;
} asking;

static void prepare_group(const asking *a, double knee_w, const jm__cap_rough *rough)
{
    for (size_t q = 0; q < a->count; q++) {
        const jm__cap_question *question = &a->questions[q];
        a->gentle[q] = gentle_at(knee_w, question->cap_w);
        if (!isnan(question->from_w)) {
            gentle from = gentle_at(knee_w, question->from_w);
            a->gentle[q].time -= from.time;
            a->gentle[q].watts -= from.watts;
        }
        jm__cap_rough_variance(rough, q, &a->answers[q]);
    }
}

static void ask_law(const asking *a, const jm__cap_rough *rough, const jm__cap_law *law, const double *left)
{
    double white[2 * JM_CAP_MOST_PROBES];
    whiten_rest(a->fit, rough, law, left, white);
    for (size_t q = 0; q < a->count; q++) {
        const jm__cap_question *question = &a->questions[q];
        a->answers[q].time = a->gentle[q].time + jm__cap_slowdown(law, question->cap_w);
        a->answers[q].watts = a->gentle[q].watts;
        if (!isnan(question->from_w)) a->answers[q].time -= jm__cap_slowdown(law, question->from_w);
        jm__cap_rough_add(rough, q, white, &a->answers[q]);
    }
}

static void ask_group(const asking *a, size_t group, const jm__cap_rough *rough)
{
    double left[2 * JM_CAP_MOST_PROBES], knee_w = group_knee(a->fit, group);
    prepare_group(a, knee_w, rough);
    take_gentle(a->fit, knee_w, left);
    for (size_t l = 0; l < JM__CAP_LAWS; l++) {
        if (!(a->fit->weights[group][l] > 0)) continue;
        jm__cap_law law = jm__cap_law_at(&a->fit->range, group / JM__CAP_SIZES, l);
        ask_law(a, rough, &law, left);
        a->visit(a->context, a->fit->weights[group][l], a->answers);
    }
}

jm_status jm__cap_fit_ask(const jm__cap_fit *fit, const jm__cap_question *questions, size_t count,
                          jm__cap_visit visit, void *context, jm_error *err)
{
    jm__cap_rough *rough;
    JM_TRY(jm__cap_rough_create(&rough, &fit->data, questions, count, err));
    asking a = {fit,   questions, count, calloc(count, sizeof *a.gentle), calloc(count, sizeof *a.answers),
                visit, context};
    bool all = a.answers != NULL && a.gentle != NULL;
    for (size_t g = 0; all && g < GROUPS; g++) {
        if (!group_counts(fit, g)) continue;
        jm__cap_rough_set(rough, group_knee(fit, g), g % JM__CAP_SIZES);
        ask_group(&a, g, rough);
    }
    jm__cap_rough_free(rough);
    free(a.gentle);
    free(a.answers);
    return all ? JM_OK : jm__no_memory(err, "jm__cap_fit_ask");
}

/* ---- Moments of the mixture of laws */

double jm__cap_answer_mean(const jm__cap_answer *answer, jm__cap_powers powers)
{
    return powers.time * answer->time + powers.watts * answer->watts;
}

double jm__cap_answer_variance(const jm__cap_answer *answer, jm__cap_powers powers)
{
    double v = powers.time * powers.time * answer->time_var +
               powers.watts * powers.watts * answer->watts_var +
               2 * powers.time * powers.watts * answer->covar;
    return fmax(v, 0);
}

static jm__cap_powers powers_of(int quantity)
{
    return quantity == JM__CAP_WATTS ? (jm__cap_powers){0, 1} : jm__cap_powers_of((jm_cap_objective)quantity);
}

typedef struct sums {
    jm__cap_belief *beliefs; /* second moments in place of variances */
    size_t count;
} sums;

static void add_law(void *context, double weight, const jm__cap_answer *answers)
{
    sums *s = context;
    for (size_t i = 0; i < s->count; i++)
        for (int q = 0; q < JM__CAP_QUANTITIES; q++) {
            jm__cap_powers powers = powers_of(q);
            double mean = jm__cap_answer_mean(&answers[i], powers);
            s->beliefs[i].mean[q] += weight * mean;
            s->beliefs[i].variance[q] +=
                weight * (jm__cap_answer_variance(&answers[i], powers) + mean * mean);
        }
}

jm_status jm__cap_believe(const jm__cap_fit *fit, const jm__cap_question *questions, size_t count,
                          jm__cap_belief *out, jm_error *err)
{
    sums s = {out, count};
    memset(out, 0, count * sizeof *out);
    jm_status status = jm__cap_fit_ask(fit, questions, count, add_law, &s, err);
    for (size_t i = 0; i < count; i++)
        for (int q = 0; q < JM__CAP_QUANTITIES; q++)
            out[i].variance[q] = fmax(out[i].variance[q] - out[i].mean[q] * out[i].mean[q], 0);
    return status;
}

jm_cap_figure jm__cap_figure_of(const jm__cap_belief *belief, int quantity, double unit)
{
    static const double two_sided_95 = 1.959964; /* of the normal distribution */
    double half = two_sided_95 * sqrt(belief->variance[quantity]);
    return (jm_cap_figure){unit * exp(belief->mean[quantity]), unit * exp(belief->mean[quantity] - half),
                           unit * exp(belief->mean[quantity] + half)};
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

static double keeps_bound(const jm__cap_answer *from_reference, double max_slowdown)
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
static void add_gain(void *context, double weight, const jm__cap_answer *answers)
{
    const hopes *h = context;
    for (size_t i = 0; i < h->count; i++) {
        double mean = jm__cap_answer_mean(&answers[i], h->powers);
        double variance = jm__cap_answer_variance(&answers[i], h->powers);
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
    jm_status status = jm__cap_fit_ask(fit, questions, 2 * count, add_gain, &h, err);
    free(questions);
    return status;
}
