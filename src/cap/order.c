/* Which caps a sweep tries, and in which order. */
#include "cap/same.h"
#include "cap/search.h"

#include "base/status.h"

#include <stdlib.h>

/* D. Lemire's and S. Vigna's splitmix64. */
uint64_t jm__cap_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* The caps nearest to equal steps over the range, each once, the reference in place of the one next to it. */
static size_t spread(const jm_cap_plan *plan, size_t count, double *caps_w)
{
    double low_w = plan->caps_w[0], width = plan->caps_w[plan->cap_count - 1] - low_w;
    size_t kept = 0, at = 0, nearest = 0;
    for (size_t i = 0; i < count; i++) {
        double wanted = low_w + width * (double)i / (double)(count - 1);
        while (at + 1 < plan->cap_count &&
               fabs(plan->caps_w[at + 1] - wanted) <= fabs(plan->caps_w[at] - wanted))
            at++;
        if (kept == 0 || !jm__cap_same(caps_w[kept - 1], plan->caps_w[at])) caps_w[kept++] = plan->caps_w[at];
    }
    for (size_t i = 0; i < kept; i++)
        if (fabs(caps_w[i] - plan->options.reference_w) < fabs(caps_w[nearest] - plan->options.reference_w))
            nearest = i;
    caps_w[nearest] = caps_w[0];
    caps_w[0] = plan->options.reference_w;
    return kept;
}

static void shuffle(double *caps_w, size_t count, uint64_t seed)
{
    uint64_t state = seed;
    for (size_t i = count; i > 1; i--) {
        size_t other = jm__cap_random(&state) % i;
        double kept_w = caps_w[i - 1];
        caps_w[i - 1] = caps_w[other];
        caps_w[other] = kept_w;
    }
}

/* The reference is first; what goes back ends there, so that each cap's mean place is the middle. */
jm_status jm__cap_sweep_order(jm_cap_search *search, jm_error *err)
{
    size_t rounds = search->options.sweep_rounds, wanted = search->options.sweep_count;
    if (wanted < 2 || wanted > JM_CAP_MOST_PROBES / 2 || rounds > JM_CAP_MOST_PROBES / wanted)
        return jm__fail(err, JM_USAGE, 0, "jm_cap_search_create", "a sweep of %zu caps, %zu times", wanted,
                        rounds);
    size_t count = spread(search->plan, wanted, search->sweep_w);
    shuffle(search->sweep_w + 1, count - 1, search->options.seed);
    for (size_t round = 1; round < rounds; round++)
        for (size_t i = 0; i < count; i++)
            search->sweep_w[round * count + i] = search->sweep_w[round * count - 1 - i];
    search->sweep_length = rounds * count;
    return JM_OK;
}
