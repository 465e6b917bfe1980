/* The SM clock as a second knob: one coordinate after the other, by the same planner.
 *
 * A bound of the clock acts on work as a cap does: flat above what the work takes, slower and thriftier
 * below. So clocks are told to a plan as watts, the highest as what the board draws at the chosen cap. */
#include "cap/search.h"

#include "base/status.h"
#include "cap/same.h"

#include <math.h>

/* What is left of the bound once the cap is set. */
static double bound_left(const jm_cap_search *search, const jm_cap_choice *choice)
{
    double bound = search->plan->options.max_slowdown;
    return bound == 0 ? 0 : (1 + bound) / (1 + choice->slowdown.value) - 1;
}

static double power_at(const jm_cap_search *search, double cap_w)
{
    double power_w = 0;
    for (size_t i = 0; i < search->plan->probe_count; i++)
        if (jm__cap_same(search->plan->probes[i].cap_w, cap_w)) power_w = search->plan->probes[i].power_w;
    return power_w;
}

static jm_status begin(jm_cap_search *search, double max_slowdown, jm_error *err)
{
    double watts[JM_CAP_MOST_CAPS];
    size_t count = search->options.clock_count;
    search->clock_w_per_mhz = power_at(search, search->clock_cap_w) / search->clocks_mhz[count - 1];
    for (size_t i = 0; i < count; i++)
        watts[i] = search->clocks_mhz[i] * search->clock_w_per_mhz;
    jm_cap_plan_options options = search->plan->options;
    options.size = sizeof options;
    options.caps_w = watts;
    options.cap_count = count;
    options.low_w = options.high_w = options.step_w = options.reference_w = 0;
    options.max_slowdown = max_slowdown;
    return jm_cap_plan_create(&search->clock_plan, &options, err);
}

jm_status jm__cap_clock_begin(jm_cap_search *search, jm_error *err)
{
    static const double least_bound = 1e-3;
    jm_cap_choice choice;
    if (search->options.clock_count < 2) return JM_OK;
    JM_TRY(jm_cap_plan_choice(search->plan, &choice, err));
    double bound = bound_left(search, &choice);
    if (search->plan->options.max_slowdown > 0 && bound < least_bound) return JM_OK;
    search->clock_cap_w = choice.cap_w;
    return begin(search, bound, err);
}

/* Watts of the plan as a bound: the highest is none. */
static double clock_of(const jm_cap_search *search, double watts)
{
    size_t last = search->options.clock_count - 1;
    for (size_t i = 0; i < last; i++)
        if (fabs(search->clocks_mhz[i] * search->clock_w_per_mhz - watts) < 1e-9 * watts)
            return search->clocks_mhz[i];
    return 0;
}

jm_status jm__cap_clock_next(jm_cap_search *search, double *clock_mhz, jm_error *err)
{
    double watts;
    *clock_mhz = NAN;
    if (search->clock_plan == NULL) return JM_OK;
    JM_TRY(jm_cap_plan_next(search->clock_plan, &watts, err));
    if (!isnan(watts)) *clock_mhz = clock_of(search, watts);
    return JM_OK;
}

jm_status jm__cap_clock_tell(jm_cap_search *search, const jm_cap_probe *probe, jm_error *err)
{
    jm_cap_probe told = *probe;
    double clock_mhz = search->trial.clock_mhz;
    if (clock_mhz == 0) clock_mhz = search->clocks_mhz[search->options.clock_count - 1];
    told.cap_w = clock_mhz * search->clock_w_per_mhz;
    return jm_cap_plan_tell(search->clock_plan, &told, err);
}

jm_status jm__cap_clock_choice(jm_cap_search *search, double *clock_mhz, jm_cap_choice *choice, jm_error *err)
{
    *clock_mhz = 0;
    if (search->clock_plan == NULL || search->clock_plan->probe_count < 2) return JM_OK;
    JM_TRY(jm_cap_plan_choice(search->clock_plan, choice, err));
    *clock_mhz = clock_of(search, choice->cap_w);
    return JM_OK;
}
