/* What a budget knows of the steps of each kind, and what tracing them has cost it: for the rules in budget.c
 * alone. `kind` is NULL where it is not known. */
#ifndef JM_RUN_BUDGET_KINDS_H
#define JM_RUN_BUDGET_KINDS_H

#include "run/budget.h"

/* Of a normal distribution. */
#define JM_BUDGET_MAD_TO_SIGMA 1.4826

/* Of the last `most` ones, nanoseconds. `mad_ns`, unless NULL: the median of their distances from it. */
int64_t jm__budget_median(const jm__budget_last *last, size_t most, int64_t *mad_ns);

/* So many steps, of which each takes that long, take at least `ns`. */
double jm__budget_steps_in(int64_t ns, int64_t step_ns);

/* Of a step that begins, whose tokens may be told at its end: that of the last one like it; NULL: it is new.
 */
const jm__budget_kind *jm__budget_guess(const jm__budget *budget, const jm__budget_step *step);

/* Steps of its name and phase were traced from their beginning. */
bool jm__budget_is_opened(const jm__budget *budget, const jm__budget_kind *kind, const jm__budget_step *step);

/* So many of its untraced steps are known that traced ones can be compared with them. */
bool jm__budget_has_known_time(const jm__budget_kind *kind);

/* Tracing each step of the kind costs less than turns may, and that is no chance. */
bool jm__budget_is_cheap(const jm__budget *budget, const jm__budget_kind *kind);

/* What a turn that begins with the kind will cost. */
double jm__budget_turn_cost_ns(const jm__budget *budget, const jm__budget_kind *kind);

/* Add up what traced steps have cost since the last time. */
void jm__budget_charge(jm__budget *budget);

/* What is left of that part of the share, now and at a time to come; below 0: it is owed. */
double jm__budget_left_ns(const jm__budget *budget, double part);
double jm__budget_left_at_ns(const jm__budget *budget, double part, int64_t t_ns);

/* The step that goes on is over. */
void jm__budget_end_step(jm__budget *budget, int64_t t_ns);

#endif
