/* The mixture of model.h: one Gaussian process a power knee and size of the rough curve, with each law as its
 * mean. */
#include "cap/model.h"

#include "base/status.h"
#include "cap/law.h"
#include "cap/rough.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

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
