/* Time and power over the cap, with what is not known of them: laws (law.h) weighed by the probes.
 *
 * What a law leaves is taken for a rough curve: a smooth part and one of each cap by itself, of four sizes,
 * which the probes weigh too. So a job that follows a law is trusted between its probes, and one that jumps
 * about is not. Given the power knee and that size all is linear in logarithms and normally distributed: the
 * answer is a weighed mixture, in closed form. */
#ifndef JM_CAP_MODEL_H
#define JM_CAP_MODEL_H

#include "cap/rough.h"

typedef struct jm__cap_fit jm__cap_fit;

/* Weighs the laws. The probes stay the caller's and must stay. */
jm_status jm__cap_fit_create(jm__cap_fit **out, const jm__cap_data *data, jm_error *err);
void jm__cap_fit_free(jm__cap_fit *fit);

/* Called for each law that counts: its weight (they add up to 1) and its answer[questions]. */
typedef void (*jm__cap_visit)(void *context, double weight, const jm__cap_answer *answers);

jm_status jm__cap_fit_ask(const jm__cap_fit *fit, const jm__cap_question *questions, size_t count,
                          jm__cap_visit visit, void *context, jm_error *err);

#endif
