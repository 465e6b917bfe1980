/* Time and power over the cap, with what is not known of them.
 *
 * Below its power knee p a GPU draws a power of the cap, above it the cap makes no difference:
 *     watts(c) = P x (min(c, p) / p)^g,                                    g about 0.9.
 * Time grows a little below the power knee, where the clock falls and other things than the clock hold the
 * work up, and from a knee t <= p of its own on as the clock falls, which is as c - f (f: what the GPU draws
 * without any work):
 *     time(c) = A x (p / min(c, p))^e x ((t - f) / (min(c, t) - f))^s
 * with e about 0.2, and s, the share of the time that waits for the clock, about 0.5. Beside that goes a
 * rough curve: a smooth part and one of each cap by itself. All of it is linear in logarithms and normally
 * distributed, given p, t and how rough the curve is; those are tried on a grid, and weighed by the probes.
 * So a job that follows the law is trusted between its probes, and one that jumps about is not. */
#ifndef JM_CAP_MODEL_H
#define JM_CAP_MODEL_H

#include <joulemap/cap.h>
#include <math.h>
#include <stdbool.h>

/* ---- what a cap is judged by: products of powers of time and watts, as sums of their logarithms */

/* log objective = time x log(seconds) + watts x log(watts) */
typedef struct jm__cap_powers {
    double time, watts;
} jm__cap_powers;

jm__cap_powers jm__cap_powers_of(jm_cap_objective objective);

/* Of a measurement, in its unit. */
double jm__cap_objective_of(jm_cap_objective objective, double time_s, double power_w);

const char *jm__cap_objective_title(jm_cap_objective objective); /* "ED2P" */

/* Caps are whole milliwatts where they are set; sums of steps are not exact. */
static const double jm__cap_apart_w = 1e-6;

static inline bool jm__cap_same(double a_w, double b_w)
{
    return fabs(a_w - b_w) <= jm__cap_apart_w;
}

/* ---- the fit */

/* What is known. All caps are within low_w to high_w; the first probe's time and power are what the others
 * are compared with. */
typedef struct jm__cap_data {
    const jm_cap_probe *probes;
    size_t count; /* 1 to JM_CAP_MOST_PROBES */
    double low_w, high_w;
    double drift; /* as in jm_cap_plan_options */
} jm__cap_data;

typedef struct jm__cap_fit jm__cap_fit;

/* The probes stay the caller's and must stay. */
jm_status jm__cap_fit_create(jm__cap_fit **out, const jm__cap_data *data, jm_error *err);
void jm__cap_fit_free(jm__cap_fit *fit);

/* log time and log power at a cap, as when the first probe was made, of the first probe's; or, where from_w
 * is not NAN, of those at that cap at the same moment. */
typedef struct jm__cap_question {
    double cap_w, from_w;
} jm__cap_question;

/* The quantities: each objective, energy and time among them, and power. */
enum { JM__CAP_WATTS = JM_CAP_OBJECTIVE_COUNT, JM__CAP_QUANTITIES };

/* Of logarithms. */
typedef struct jm__cap_prior {
    double mean[JM__CAP_QUANTITIES], variance[JM__CAP_QUANTITIES];
} jm__cap_prior;

/* A prior for each of `count` questions. */
jm_status jm__cap_prior_of(const jm__cap_fit *fit, const jm__cap_question *questions, size_t count,
                           jm__cap_prior *out, jm_error *err);

/* exp(prior) x unit, with its 95 % interval. */
jm_cap_figure jm__cap_figure_of(const jm__cap_prior *prior, int quantity, double unit);

/* How good a further probe is at each of `count` caps, in `gains`: what the objective is expected to fall by
 * below the incumbent's, as a share. After M. Schonlau's expected improvement of caps that keep the bound,
 * and D. Huang's (J. Global Optimization 34, 2006) of noisy probes, part by part of the mixture. */
typedef struct jm__cap_aim {
    jm_cap_objective objective;
    double incumbent_w; /* the best so far */
    double reference_w;
    double max_slowdown; /* 0: no bound */
    double noise;        /* standard deviation of log objective of one probe */
} jm__cap_aim;

jm_status jm__cap_gains(const jm__cap_fit *fit, const jm__cap_aim *aim, const double *caps_w, size_t count,
                        double *gains, jm_error *err);

#endif
