/* Time and power over the cap, with what is not known of them: laws (law.h) weighed by the probes.
 *
 * What a law leaves is taken for a rough curve: a smooth part and one of each cap by itself, of four sizes,
 * which the probes weigh too. So a job that follows a law is trusted between its probes, and one that jumps
 * about is not. Given the power knee and that size all is linear in logarithms and normally distributed: the
 * answer is a weighed mixture, in closed form. */
#ifndef JM_CAP_MODEL_H
#define JM_CAP_MODEL_H

#include <joulemap/cap.h>

/* What is known. All caps are within low_w to high_w; the first probe's time and power are what the others
 * are compared with. */
typedef struct jm__cap_data {
    const jm_cap_probe *probes;
    size_t count; /* 1 to JM_CAP_MOST_PROBES */
    double low_w, high_w;
    double drift; /* as in jm_cap_plan_options */
} jm__cap_data;

typedef struct jm__cap_fit jm__cap_fit;

/* Weighs the laws. The probes stay the caller's and must stay. */
jm_status jm__cap_fit_create(jm__cap_fit **out, const jm__cap_data *data, jm_error *err);
void jm__cap_fit_free(jm__cap_fit *fit);

/* log time and log power at a cap, as when the first probe was made, of the first probe's; or, where from_w
 * is not NAN, of those at that cap at the same moment. */
typedef struct jm__cap_question {
    double cap_w, from_w;
} jm__cap_question;

typedef struct jm__cap_answer {
    double time, watts;                /* means */
    double time_var, watts_var, covar; /* of what is true, not of one more probe */
} jm__cap_answer;

/* Called for each law that counts: its weight (they add up to 1) and its answer[questions]. */
typedef void (*jm__cap_visit)(void *context, double weight, const jm__cap_answer *answers);

jm_status jm__cap_fit_ask(const jm__cap_fit *fit, const jm__cap_question *questions, size_t count,
                          jm__cap_visit visit, void *context, jm_error *err);

#endif
