/* The response model: time and power as functions of the cap, with their uncertainty.
 *
 * Below its power knee p a GPU draws a power of the cap, above it the cap has no effect: watts(c) = P x
 * (min(c, p) / p)^g, with g about 0.9.
 *
 * Time grows a little below the power knee, where the clock falls but other things limit the work. Below a
 * knee t <= p of its own it grows with the clock period; the clock is proportional to c - f (f: power without
 * any work): time(c) = A x (p / min(c, p))^e x ((t - f) / (min(c, t) - f))^s, with e about 0.2, and s, the
 * share of the time that follows the clock, about 0.5.
 *
 * A residual is added: a smooth Gaussian process, and an independent part per cap. In logarithms all of it is
 * linear and normal for given p, t and roughness. Those are a grid, weighted by the probes. So the model
 * interpolates between the probes of a job that follows the response, and is uncertain for one that does not.
 */
#ifndef JM_CAP_MODEL_H
#define JM_CAP_MODEL_H

#include <joulemap/cap.h>
#include <math.h>
#include <stdbool.h>

/* ---- objectives: products of powers of time and watts */

/* log objective = time x log(seconds) + watts x log(watts) */
typedef struct jm__cap_powers {
    double time, watts;
} jm__cap_powers;

/* By objective: its title ("ED2P"), and its powers. */
typedef struct jm__cap_objective {
    const char *text, *title;
    jm__cap_powers powers;
} jm__cap_objective;

extern const jm__cap_objective jm__cap_objectives[JM_CAP_OBJECTIVE_COUNT];

/* The objective of a measurement, in its unit. */
double jm__cap_objective_of(jm_cap_objective objective, double time_s, double power_w);

/* Caps this near are equal: set caps are whole milliwatts, and sums of steps are not exact. */
static const double jm__cap_apart_w = 1e-6;

static inline bool jm__cap_same(double a_w, double b_w)
{
    return fabs(a_w - b_w) <= jm__cap_apart_w;
}

/* ---- the fit */

/* The probes. All caps are within low_w to high_w; time and power are relative to the first probe. */
typedef struct jm__cap_data {
    const jm_cap_probe *probes;
    size_t count; /* 1 to JM_CAP_MOST_PROBES */
    double low_w, high_w;
    double drift; /* as in jm_cap_plan_options */
} jm__cap_data;

typedef struct jm__cap_fit jm__cap_fit;

/* The probes are the caller's and must outlive the fit. */
jm_status jm__cap_fit_create(jm__cap_fit **out, const jm__cap_data *data, jm_error *err);
void jm__cap_fit_free(jm__cap_fit *fit);

/* A query for log time and log power at a cap, without drift, relative to the first probe. If from_w is not
 * NAN, relative to that cap. */
typedef struct jm__cap_query {
    double cap_w, from_w;
} jm__cap_query;

/* Quantities: each objective (energy and time among them), and power. */
enum { JM__CAP_WATTS = JM_CAP_OBJECTIVE_COUNT, JM__CAP_QUANTITIES };

/* Posterior moments of logarithms. */
typedef struct jm__cap_posterior {
    double mean[JM__CAP_QUANTITIES], variance[JM__CAP_QUANTITIES];
} jm__cap_posterior;

/* The posterior of each of `count` queries. */
jm_status jm__cap_posterior_of(const jm__cap_fit *fit, const jm__cap_query *queries, size_t count,
                               jm__cap_posterior *out, jm_error *err);

/* exp(posterior) x unit, with its 95 % interval. */
jm_cap_figure jm__cap_figure_of(const jm__cap_posterior *posterior, int quantity, double unit);

/* The value of a further probe at each of `count` caps, in `gains`: the expected fall of the objective below
 * the incumbent's, as a share. M. Schonlau's expected improvement with a constraint, and D. Huang's for noisy
 * probes (J. Global Optimization 34, 2006), for each component of the mixture. */
typedef struct jm__cap_aim {
    jm_cap_objective objective;
    double incumbent_w; /* the best cap so far */
    double reference_w;
    double max_slowdown; /* 0: no bound */
    double noise;        /* standard deviation of the log objective of one probe */
} jm__cap_aim;

jm_status jm__cap_gains(const jm__cap_fit *fit, const jm__cap_aim *aim, const double *caps_w, size_t count,
                        double *gains, jm_error *err);

#endif
