/* P(t) from loads, idle states and cap, its integrals and the account of who took it. */
#include "power.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int idle_stage(const sim_power *power)
{
    int64_t idle_ns = power->t_ns - power->work_end_ns;
    for (int i = 0; i < power->profile->stage_count; i++)
        if (idle_ns < power->profile->stages[i].until_ns) return i;
    return -1;
}

static double base_w(const sim_power *power)
{
    return power->context || power->load_count > 0 ? power->profile->idle_context_w
                                                   : power->profile->idle_no_context_w;
}

typedef struct held {
    double clock_mhz, power_w;
    bool capped;
} held;

/* Clock locks scale the power above idle; power over the limit lowers the clock until it is the limit:
 * clock = bound * (limit / demand)^exponent. A PM sampler takes its watts first, at any clock: of the limit,
 * the work has what is left. */
static held hold(const sim_profile *profile, const sim_setting *setting, double idle_w, double demand_w,
                 bool works)
{
    double full_mhz = profile->clock_max_mhz;
    held h = {fmin(setting->lock_mhz, full_mhz), demand_w, false};
    if (works && h.clock_mhz < full_mhz && demand_w > idle_w)
        h.power_w = idle_w + (demand_w - idle_w) * pow(h.clock_mhz / full_mhz, 1 / profile->clock_exponent);
    double limit_w = setting->limit_w - (setting->sampled ? profile->pm_sampler_w : 0);
    h.capped = h.power_w > limit_w;
    if (h.capped) {
        h.clock_mhz =
            fmax(profile->clock_min_mhz, h.clock_mhz * pow(limit_w / h.power_w, profile->clock_exponent));
        h.power_w = limit_w;
    }
    return h;
}

double sim_power_speed(const sim_profile *profile, const sim_setting *setting, double power_w)
{
    return hold(profile, setting, profile->idle_context_w, power_w, true).clock_mhz / profile->clock_max_mhz;
}

/* Work is not slowed here: its times come from the outside. */
static void decide(sim_power *power)
{
    const sim_profile *profile = power->profile;
    double idle = base_w(power);
    double demand = idle;
    for (int i = 0; i < power->load_count; i++)
        demand += power->loads[i].power_w - idle;
    if (power->load_count == 0) {
        int stage = power->context ? idle_stage(power) : -1;
        if (stage >= 0) demand = profile->stages[stage].power_w;
    }
    held h = hold(profile, &power->setting, idle, demand, power->load_count > 0);
    double sampler_w = power->setting.sampled ? profile->pm_sampler_w : 0;
    power->now.capped = h.capped;
    power->clock_mhz = power->load_count > 0 || power->context ? h.clock_mhz : profile->clock_idle_mhz;
    power->now.power_w = fmax(h.power_w, 0) + sampler_w;
    power->now.sampler_w = sampler_w;
    power->now.busy = power->load_count > 0;
}

/* Keep what lies up to SIM_HISTORY_NS back; grow where that does not fit. */
static void remember(sim_power *power)
{
    power->now.t_ns = power->t_ns;
    if (power->history_count > 0) {
        sim_interval *last = &power->history[(power->history_count - 1) & (power->history_size - 1)];
        if (last->t_ns == power->t_ns) {
            *last = power->now;
            return;
        }
    }
    if (power->history_count - power->history_first >= power->history_size) {
        /* The one after the oldest must be old enough for the oldest to go. */
        const sim_interval *second = &power->history[(power->history_first + 1) & (power->history_size - 1)];
        if (second->t_ns > power->t_ns - SIM_HISTORY_NS) {
            uint64_t size = power->history_size < 1024 ? 1024 : power->history_size * 2;
            sim_interval *grown = malloc(size * sizeof *grown);
            if (grown == NULL) {
                power->failed = true;
            } else {
                for (uint64_t i = power->history_first; i < power->history_count; i++)
                    grown[i & (size - 1)] = power->history[i & (power->history_size - 1)];
                free(power->history);
                power->history = grown;
                power->history_size = size;
            }
        }
    }
    power->history[power->history_count & (power->history_size - 1)] = power->now;
    power->history_count++;
    if (power->history_count - power->history_first > power->history_size) power->history_first++;
}

sim_setting sim_setting_default(const sim_profile *profile, int64_t t_ns)
{
    return (sim_setting){t_ns, profile->limit_default_w, profile->clock_max_mhz, false};
}

bool sim_power_open(sim_power *power, const sim_profile *profile, int64_t start_ns)
{
    memset(power, 0, sizeof *power);
    power->profile = profile;
    power->history_size = 1024;
    power->history = malloc(power->history_size * sizeof *power->history);
    if (power->history == NULL) return false;
    power->t_ns = start_ns;
    power->work_end_ns = start_ns - SIM_HISTORY_NS;
    power->setting = sim_setting_default(profile, start_ns);
    power->next_setting.t_ns = INT64_MAX;
    power->heat_w = profile->idle_no_context_w;
    decide(power);
    remember(power);
    return true;
}

void sim_power_close(sim_power *power)
{
    free(power->history);
    free(power->accounts);
    memset(power, 0, sizeof *power);
}

void sim_power_load(sim_power *power, const sim_load *loads, int count, bool context)
{
    if (count > SIM_LOADS) {
        power->loads_left_out += (uint64_t)(count - SIM_LOADS);
        count = SIM_LOADS;
    }
    if (count == 0 && power->load_count > 0) {
        power->work_end_ns = power->t_ns;
        power->idle.calls++;
    }
    if (count > 0) memcpy(power->loads, loads, (size_t)count * sizeof *loads);
    power->load_count = count;
    power->context = context;
    decide(power);
    remember(power);
}

int64_t sim_power_next_ns(const sim_power *power)
{
    int64_t next = power->next_setting.t_ns;
    if (power->load_count == 0 && power->context) {
        int stage = idle_stage(power);
        if (stage >= 0) {
            int64_t end = power->work_end_ns + power->profile->stages[stage].until_ns;
            if (end < next) next = end;
        }
    }
    return next;
}

static sim_account *account(sim_power *power, uint32_t label)
{
    if (label >= power->account_count) {
        size_t count = power->account_count == 0 ? 64 : power->account_count;
        while (count <= label)
            count *= 2;
        sim_account *grown = realloc(power->accounts, count * sizeof *grown);
        if (grown == NULL) {
            power->failed = true;
            return NULL;
        }
        memset(grown + power->account_count, 0, (count - power->account_count) * sizeof *grown);
        power->accounts = grown;
        power->account_count = count;
    }
    return &power->accounts[label];
}

/* Watts above idle, which the memory has a share of. */
static double above_idle_w(const sim_power *power, const sim_interval *of)
{
    return fmax(of->power_w - of->sampler_w - power->profile->idle_context_w, 0);
}

/* Idle power in equal parts, what is above it by what each asked for: the parts add up to P, less what the PM
 * sampler takes. */
static void charge(sim_power *power, double seconds)
{
    double watts = power->now.power_w - power->now.sampler_w;
    power->total.busy_s += seconds;
    power->total.energy_j += watts * seconds;
    if (power->load_count == 0) {
        power->idle.busy_s += seconds;
        power->idle.energy_j += watts * seconds;
        return;
    }
    double idle = fmin(base_w(power), watts);
    double asked = 0;
    for (int i = 0; i < power->load_count; i++)
        asked += fmax(power->loads[i].power_w - base_w(power), 0);
    for (int i = 0; i < power->load_count; i++) {
        sim_account *one = account(power, power->loads[i].label);
        if (one == NULL) continue;
        double part =
            asked > 0 ? fmax(power->loads[i].power_w - base_w(power), 0) / asked : 1.0 / power->load_count;
        one->busy_s += seconds;
        one->energy_j += (idle / power->load_count + (watts - idle) * part) * seconds;
    }
}

void sim_power_advance(sim_power *power, int64_t t_ns)
{
    if (t_ns > power->t_ns) {
        const sim_profile *profile = power->profile;
        double seconds = (double)(t_ns - power->t_ns) * 1e-9;
        double watts = power->now.power_w;
        double above = above_idle_w(power, &power->now);
        charge(power, seconds);
        power->now.energy_j += watts * seconds;
        power->now.memory_j += (profile->memory_idle_w + profile->memory_share * above) * seconds;
        if (power->now.busy) power->now.busy_s += seconds;
        double keep = exp(-(double)(t_ns - power->t_ns) / (double)profile->thermal_tau_ns);
        power->heat_w = watts + (power->heat_w - watts) * keep;
        power->t_ns = t_ns;
    }
    if (power->next_setting.t_ns <= power->t_ns) {
        power->setting = power->next_setting;
        power->next_setting.t_ns = INT64_MAX;
    }
    sim_interval before = power->now;
    decide(power);
    if (power->now.power_w != before.power_w || power->now.sampler_w != before.sampler_w ||
        power->now.capped != before.capped)
        remember(power);
}

sim_interval sim_power_at(const sim_power *power, int64_t t_ns)
{
    uint64_t low = power->history_first;
    uint64_t high = power->history_count;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (power->history[middle & (power->history_size - 1)].t_ns <= t_ns)
            low = middle;
        else
            high = middle;
    }
    sim_interval at = power->history[low & (power->history_size - 1)];
    double seconds = (double)(t_ns - at.t_ns) * 1e-9;
    double above = above_idle_w(power, &at);
    at.energy_j += at.power_w * seconds;
    at.memory_j += (power->profile->memory_idle_w + power->profile->memory_share * above) * seconds;
    if (at.busy) at.busy_s += seconds;
    at.t_ns = t_ns;
    return at;
}

void sim_power_call(sim_power *power, uint32_t label)
{
    sim_account *one = account(power, label);
    if (one != NULL) one->calls++;
}

void sim_power_account_reset(sim_power *power)
{
    if (power->account_count > 0) memset(power->accounts, 0, power->account_count * sizeof *power->accounts);
    power->idle = (sim_account){0};
    power->total = (sim_account){0};
}
