/* Whole searches of work whose best cap is known, in no time at all. */
#ifndef CAP_SEARCHES_H
#define CAP_SEARCHES_H

#include "cap_jobs.h"

#include <joulemap/cap.h>
#include <stdio.h>

enum { CAP_STEP_W = 25 };

/* The objective of the job itself, at a cap. */
static inline double job_objective(jm_cap_objective objective, const cap_job *job, double cap_w)
{
    static const double time_powers[] = {1, 2, 3, 1}, watt_powers[] = {1, 1, 1, 0};
    return pow(job_time_s(job, cap_w), time_powers[objective]) *
           pow(job_power_w(job, cap_w), watt_powers[objective]);
}

/* Of the caps that keep the bound; 0: no bound. */
static inline double job_best(jm_cap_objective objective, const cap_job *job, double max_slowdown)
{
    double best = INFINITY, most_s = (1 + max_slowdown) * job_time_s(job, cap_high_w);
    for (double cap_w = cap_low_w; cap_w <= cap_high_w; cap_w += CAP_STEP_W)
        if (max_slowdown == 0 || job_time_s(job, cap_w) <= most_s)
            best = fmin(best, job_objective(objective, job, cap_w));
    return best;
}

/* What a window measures: noise of each, and a drift that goes on from window to window. */
static inline jm_cap_probe job_window(const cap_job *job, double cap_w, size_t number, uint64_t *state)
{
    double drift = 1 + job->drift * (double)number;
    jm_cap_probe probe = {.cap_w = cap_w,
                          .time_s = job_time_s(job, cap_w) * drift * (1 + job->noise * job_normal(state)),
                          .power_w = job_power_w(job, cap_w) * (1 + job->noise * job_normal(state))};
    probe.time_u_s = job->noise * probe.time_s;
    probe.power_u_w = job->noise * probe.power_w;
    return probe;
}

/* As `joulemap cap search -- COMMAND` asks for it; `sweep` caps in place of the plan's where it is not 0. */
static inline jm_status job_search_create(jm_cap_search **out, const cap_job *job, jm_cap_objective objective,
                                          double max_slowdown, size_t sweep, uint64_t seed)
{
    const jm_cap_plan_options plan = {.size = sizeof plan,
                                      .objective = objective,
                                      .max_slowdown = max_slowdown,
                                      .low_w = cap_low_w,
                                      .high_w = cap_high_w,
                                      .step_w = CAP_STEP_W,
                                      .most_probes = job->noise > .01 ? 16 : 10,
                                      .drift = .003};
    const jm_cap_search_options options = {
        .size = sizeof options, .plan = &plan, .seed = seed, .sweep_count = sweep};
    return jm_cap_search_create(out, &options, NULL);
}

/* To its end. */
static inline jm_status job_search(jm_cap_search *search, const cap_job *job, uint64_t seed)
{
    uint64_t state = 88172645463325252u * (2 * seed + 1);
    for (;;) {
        jm_cap_trial trial;
        jm_status status = jm_cap_search_next(search, &trial, NULL);
        if (status != JM_OK || trial.stage == JM_CAP_STAGE_OVER) return status;
        jm_cap_probe probe = job_window(job, trial.cap_w, trial.number - 1, &state);
        status = jm_cap_search_tell(search, &probe, NULL);
        if (status != JM_OK) return status;
    }
}

/* Of `seeds` searches of a job. */
typedef struct job_tally {
    int seeds, near_best, inert, proven, held, over_bound;
    int bound_proven,
        falsely; /* of those with another cap than the reference: said to keep the bound, and over it */
    double windows, slowest; /* of one search: mean; of all: the most over the bound */
} job_tally;

static inline bool job_count(job_tally *t, const cap_job *job, jm_cap_objective objective,
                             double max_slowdown, size_t sweep, uint64_t seed)
{
    jm_cap_search *search;
    jm_cap_found f;
    if (job_search_create(&search, job, objective, max_slowdown, sweep, seed) != JM_OK) return false;
    bool fine = job_search(search, job, seed) == JM_OK && jm_cap_search_found(search, &f, NULL) == JM_OK;
    if (fine) {
        double saving = 1 - job_objective(JM_CAP_ENERGY, job, f.choice.cap_w) /
                                job_objective(JM_CAP_ENERGY, job, cap_high_w);
        double slower = job_time_s(job, f.choice.cap_w) / job_time_s(job, cap_high_w) - 1;
        t->seeds++;
        t->near_best +=
            job_objective(objective, job, f.choice.cap_w) <= 1.03 * job_best(objective, job, max_slowdown);
        t->inert += f.choice.verdict == JM_CAP_INERT;
        t->over_bound += max_slowdown > 0 && slower > max_slowdown;
        t->slowest = fmax(t->slowest, slower);
        if (f.proven && f.choice.cap_w < cap_high_w) {
            t->proven++;
            t->held += f.choice.saving.low <= saving && saving <= f.choice.saving.high;
            t->bound_proven += f.proof.bound_proven;
            t->falsely += f.proof.bound_proven && max_slowdown > 0 && slower > max_slowdown;
        }
        t->windows += ((double)jm_cap_search_told_count(search) - t->windows) / t->seeds;
    }
    jm_cap_search_free(search);
    return fine;
}

#endif
