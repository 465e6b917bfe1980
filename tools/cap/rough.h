/* What time and power do beside a law: the covariance of the rough curve, of the exponents, of drift and of
 * the probes' noise, and what follows of it for questions. */
#ifndef JM_CAP_ROUGH_H
#define JM_CAP_ROUGH_H

#include <joulemap/cap.h>

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

#endif
