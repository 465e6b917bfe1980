/* Moments of the mixture of laws. */
#include "cap/belief.h"

#include <math.h>
#include <string.h>

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
