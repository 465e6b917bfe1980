/* What a further probe is expected to gain. */
#include "cap/belief.h"

#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
static void add_law(void *context, double weight, const jm__cap_answer *answers)
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
    jm_status status = jm__cap_fit_ask(fit, questions, 2 * count, add_law, &h, err);
    free(questions);
    return status;
}
