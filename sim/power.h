/* The true power of one board: piecewise constant, pushed forward in time.
 *
 * Whoever drives the board (script, live spans, generator) says in rising order of time which
 * work is on it. What the work asks for, the idle state and the cap give P(t); its integral is
 * exact. Times: CLOCK_MONOTONIC ns. */
#ifndef SIM_POWER_H
#define SIM_POWER_H

#include "profile.h"

/* Something that runs: `label` says for whom the truth is kept, `power_w` what the board takes while it alone
 * runs. */
typedef struct sim_load {
    uint32_t label;
    double power_w;
} sim_load;

#define SIM_LOADS 64 /* at once; what is beyond is left out and counted */

/* What was set on the board from outside. */
typedef struct sim_setting {
    int64_t t_ns; /* from when on */
    double limit_w;
    double lock_mhz; /* upper bound of the clock */
    bool sampled;    /* somebody has a PM sampler on it */
} sim_setting;

/* One interval of constant power, which begins at t_ns with these integrals behind it. */
typedef struct sim_interval {
    int64_t t_ns;
    double power_w;
    double sampler_w; /* of power_w: what the PM sampler takes, not the work */
    double energy_j;
    double busy_s; /* time with work on the board */
    double memory_j;
    bool busy;
    bool capped;
} sim_interval;

/* Self time and self energy of one label, since sim_power_account_reset. What a PM sampler takes is in no
 * account. */
typedef struct sim_account {
    uint64_t calls;
    double busy_s;
    double energy_j;
} sim_account;

typedef struct sim_power {
    const sim_profile *profile;
    sim_interval *history;  /* intervals `history_first` to `history_count`, in a ring of `history_size` */
    uint64_t history_first; /* the oldest that is kept */
    uint64_t history_count;
    uint64_t history_size;
    int64_t t_ns; /* P is known up to here */
    sim_interval now;
    double clock_mhz;
    double heat_w; /* first-order mean of P over the thermal time */
    bool context;
    int64_t work_end_ns; /* when the board last fell idle */
    sim_load loads[SIM_LOADS];
    int load_count;
    uint64_t loads_left_out;
    sim_setting setting;
    sim_setting next_setting; /* t_ns INT64_MAX: none */
    sim_account *accounts;    /* by label */
    size_t account_count;
    sim_account idle;
    sim_account total;
    bool failed; /* memory ran out: the truth is not to be trusted */
} sim_power;

/* What holds from t_ns on where nobody has set anything. */
sim_setting sim_setting_default(const sim_profile *profile, int64_t t_ns);

/* The clock's share of the highest, at which a board with this setting runs work that alone takes `power_w`.
 */
double sim_power_speed(const sim_profile *profile, const sim_setting *setting, double power_w);

bool sim_power_open(sim_power *power, const sim_profile *profile, int64_t start_ns);
void sim_power_close(sim_power *power);

/* From power->t_ns on: `count` loads, and whether there is a context. */
void sim_power_load(sim_power *power, const sim_load *loads, int count, bool context);

/* When P changes next by itself (idle stage, setting); INT64_MAX: never. */
int64_t sim_power_next_ns(const sim_power *power);

/* Know P up to t_ns; t_ns at most sim_power_next_ns. */
void sim_power_advance(sim_power *power, int64_t t_ns);

/* The integrals at t_ns, which lies in the history kept (SIM_HISTORY_NS back, at least). */
sim_interval sim_power_at(const sim_power *power, int64_t t_ns);

/* A call of this label begins. */
void sim_power_call(sim_power *power, uint32_t label);
void sim_power_account_reset(sim_power *power);

#define SIM_HISTORY_NS INT64_C(3000000000)

#endif
