/* What a cap is judged by: products of powers of time and watts, as sums of their logarithms. */
#ifndef JM_CAP_OBJECTIVE_H
#define JM_CAP_OBJECTIVE_H

#include <joulemap/cap.h>

/* log objective = time x log(seconds) + watts x log(watts) */
typedef struct jm__cap_powers {
    double time, watts;
} jm__cap_powers;

jm__cap_powers jm__cap_powers_of(jm_cap_objective objective);

/* Of a measurement, in its unit. */
double jm__cap_objective_of(jm_cap_objective objective, double time_s, double power_w);

const char *jm__cap_objective_title(jm_cap_objective objective); /* "ED2P" */
const char *jm__cap_objective_unit(jm_cap_objective objective);  /* "J s2" */

#endif
