/* What a cap is judged by: products of powers of time and watts, as sums of their logarithms. */
#ifndef JM_CAP_OBJECTIVE_H
#define JM_CAP_OBJECTIVE_H

#include <joulemap/cap.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>

/* log objective = time x log(seconds) + watts x log(watts) */
typedef struct jm__cap_powers {
    double time, watts;
} jm__cap_powers;

jm__cap_powers jm__cap_powers_of(jm_cap_objective objective);

/* Of a measurement, in its unit. */
double jm__cap_objective_of(jm_cap_objective objective, double time_s, double power_w);

const char *jm__cap_objective_title(jm_cap_objective objective); /* "ED2P" */
const char *jm__cap_objective_unit(jm_cap_objective objective);  /* "J s2" */

/* ---- When two caps are one. */

/* Caps are whole milliwatts where they are set; sums of steps are not exact. */
static const double jm__cap_apart_w = 1e-6;

static inline bool jm__cap_same(double a_w, double b_w)
{
    return fabs(a_w - b_w) <= jm__cap_apart_w;
}

/* ---- The laws that time and power over the cap may follow, and what is believed of each before any probe. *
 * Below its power knee p a GPU draws a power of the cap, above it the cap makes no difference: watts(c) = P x
 * (min(c, p) / p)^g,                                    g about 0.9. Time grows a little below the power
 * knee, where the clock falls and other things than the clock hold the work up, and from a knee t <= p of its
 * own on as fast as the clock falls, which is as c - f (f: what the GPU draws without any work): time(c) = A
 * x (p / min(c, p))^e x (1 + s x ((t - f) / (min(c, t) - f) - 1)), s being the share of the time at t that
 * waits for the clock; e about 0.1. A, P, g and e are straight lines in logarithms, which least squares
 * finds; p, t, f and s are tried on a grid. */

enum { JM__CAP_KNEES = 18, JM__CAP_LAWS = 7 * 4 * 6 }; /* power knees, and laws of each */

/* The range of the caps, and the power at the highest, which says where the knee may be. */
typedef struct jm__cap_range {
    double low_w, high_w;
    double power_w;
} jm__cap_range;

typedef struct jm__cap_law {
    double knee_w;  /* of time: t */
    double floor_w; /* f */
    double share;   /* s */
    double log_prior;
} jm__cap_law;

double jm__cap_knee_w(const jm__cap_range *range, size_t knee); /* p */
jm__cap_law jm__cap_law_at(const jm__cap_range *range, size_t knee, size_t law);

/* log((1 + ...)) of the formula above, of a law's steep part. */
double jm__cap_slowdown(const jm__cap_law *law, double cap_w);

/* log(min(c, p) / p): 0 above the knee, below it negative. */
double jm__cap_depth(double knee_w, double cap_w);

/* ---- What time and power do beside a law: the covariance of the rough curve, of the exponents, of drift and
 * of the probes' noise, and what follows of it for questions. */

/* What is known. All caps are within low_w to high_w; the first probe's time and power are what the others
 * are compared with. */
typedef struct jm__cap_data {
    const jm_cap_probe *probes;
    size_t count; /* 1 to JM_CAP_MOST_PROBES */
    double low_w, high_w;
    double drift; /* as in jm_cap_plan_options */
} jm__cap_data;

/* log time and log power at a cap, as when the first probe was made, of the first probe's; or, where from_w
 * is not NAN, of those at that cap at the same moment. */
typedef struct jm__cap_question {
    double cap_w, from_w;
} jm__cap_question;

typedef struct jm__cap_answer {
    double time, watts;                /* means */
    double time_var, watts_var, covar; /* of what is true, not of one more probe */
} jm__cap_answer;

enum { JM__CAP_SIZES = 4 }; /* how rough: from smooth jobs to those that jump about */

double jm__cap_size_share(size_t size); /* of jobs that are so, before any probe */

typedef struct jm__cap_rough jm__cap_rough;

/* Data and questions stay the caller's and must stay. */
jm_status jm__cap_rough_create(jm__cap_rough **out, const jm__cap_data *data,
                               const jm__cap_question *questions, size_t count, jm_error *err);
void jm__cap_rough_free(jm__cap_rough *rough);

/* Go on with this power knee and this size; all that follows is of them. */
void jm__cap_rough_set(jm__cap_rough *rough, double knee_w, size_t size);

double jm__cap_rough_log_det(const jm__cap_rough *rough); /* of the covariance of the probes */

/* What a law leaves at the probes (times, then powers) becomes as many independent values of variance 1. */
void jm__cap_rough_whiten(const jm__cap_rough *rough, double *values);

/* Set the variances of an answer; add to its means what whitened values say of it. */
void jm__cap_rough_variance(const jm__cap_rough *rough, size_t question, jm__cap_answer *answer);
void jm__cap_rough_add(const jm__cap_rough *rough, size_t question, const double *white,
                       jm__cap_answer *answer);

/* ---- Time and power over the cap, with what is not known of them: laws (law.h) weighed by the probes. *
 * What a law leaves is taken for a rough curve: a smooth part and one of each cap by itself, of four sizes,
 * which the probes weigh too. So a job that follows a law is trusted between its probes, and one that jumps
 * about is not. Given the power knee and that size all is linear in logarithms and normally distributed: the
 * answer is a weighed mixture, in closed form. */

typedef struct jm__cap_fit jm__cap_fit;

/* Weighs the laws. The probes stay the caller's and must stay. */
jm_status jm__cap_fit_create(jm__cap_fit **out, const jm__cap_data *data, jm_error *err);
void jm__cap_fit_free(jm__cap_fit *fit);

/* Called for each law that counts: its weight (they add up to 1) and its answer[questions]. */
typedef void (*jm__cap_visit)(void *context, double weight, const jm__cap_answer *answers);

jm_status jm__cap_fit_ask(const jm__cap_fit *fit, const jm__cap_question *questions, size_t count,
                          jm__cap_visit visit, void *context, jm_error *err);

/* ---- What a fit says of caps, all laws together: means and variances of logarithms. */

/* The quantities: each objective, energy and time among them, and power. */
enum { JM__CAP_WATTS = JM_CAP_OBJECTIVE_COUNT, JM__CAP_QUANTITIES };

typedef struct jm__cap_belief {
    double mean[JM__CAP_QUANTITIES], variance[JM__CAP_QUANTITIES];
} jm__cap_belief;

/* A belief for each of `count` questions. */
jm_status jm__cap_believe(const jm__cap_fit *fit, const jm__cap_question *questions, size_t count,
                          jm__cap_belief *out, jm_error *err);

/* exp(belief) x unit, with its 95 % interval. */
jm_cap_figure jm__cap_figure_of(const jm__cap_belief *belief, int quantity, double unit);

/* An answer of a law in a quantity. */
double jm__cap_answer_mean(const jm__cap_answer *answer, jm__cap_powers powers);
double jm__cap_answer_variance(const jm__cap_answer *answer, jm__cap_powers powers);

/* How good a further probe is at each of `count` caps, in `gains`: what the objective is expected to fall by
 * below the incumbent's, as a share. After M. Schonlau's expected improvement of caps that keep the bound,
 * and D. Huang's (J. Global Optimization 34, 2006) of noisy probes, law by law. */
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
