/* Work whose time and power over the cap are known: a GPU of 700 W by physics of its own, which shares
 * nothing with the planner's laws. The clock f that a cap c allows solves c = idle + swing x activity x
 * f^2.4. */
#ifndef CAP_JOBS_H
#define CAP_JOBS_H

#include <math.h>
#include <stdint.h>

enum { COMPUTE, MEMORY, MIXED, INERT, NOISY, DRIFTING, JOBS };

static const double cap_low_w = 200, cap_high_w = 700, idle_w = 90, exponent = 2.4;

typedef struct cap_job {
    const char *name;
    double full_w;       /* mean power at full clock, were there no cap */
    double host, memory; /* seconds: before all else, and of which the slower counts */
    double compute;      /* seconds at full clock */
    double noise, drift; /* of one probe, shares; of time a probe */
} cap_job;

static const cap_job cap_jobs[JOBS] = {
    [COMPUTE] = {"compute-bound", 820, .02, .1, .98, .005, 0},
    [MEMORY] = {"memory-bound", 560, .02, .98, .7, .005, 0},
    [MIXED] = {"mixed", 660, .4, .2, .6, .005, 0},
    [INERT] = {"inert", 170, .5, .3, .4, .005, 0},
    [NOISY] = {"noisy", 660, .4, .2, .6, .02, 0},
    [DRIFTING] = {"drifting", 660, .4, .2, .6, .005, .004},
};

static inline double job_clock(const cap_job *job, double cap_w)
{
    double f = pow((cap_w - idle_w) / (job->full_w - idle_w), 1 / exponent);
    return f < 1 ? f : 1;
}

/* The slower of memory and compute counts, softly. */
static inline double job_time_s(const cap_job *job, double cap_w)
{
    double compute = job->compute / job_clock(job, cap_w), sharp = 8;
    return job->host + pow(pow(job->memory, sharp) + pow(compute, sharp), 1 / sharp);
}

static inline double job_power_w(const cap_job *job, double cap_w)
{
    return idle_w + (job->full_w - idle_w) * pow(job_clock(job, cap_w), exponent);
}

/* Independent of any other generator: a seed a run. */
static inline double job_uniform(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return ((double)(*state >> 11) + 0.5) / 9007199254740992.0;
}

static inline double job_normal(uint64_t *state)
{
    double radius = sqrt(-2 * log(job_uniform(state)));
    return radius * cos(6.283185307179586 * job_uniform(state));
}

#endif
