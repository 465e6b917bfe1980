/* What a fit says of caps, all laws together: means and variances of logarithms. */
#ifndef JM_CAP_BELIEF_H
#define JM_CAP_BELIEF_H

#include "cap/model.h"
#include "cap/objective.h"

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
