/* What hardware counters tell of the powers on a board. */
#ifndef JM_ATTRIBUTE_COUNTED_H
#define JM_ATTRIBUTE_COUNTED_H

#include "attribute/board_part.h"

/* What the board's counters are worth, into part->model: the model that was asked for (`asked`, NULL: none),
 * else the board's own, else, where there are counters, the one of its kind; no features if there is none, or
 * if its counters are not those that were sampled. */
jm_status jm__counted_model(jm__board_part *part, const jm__dataset *dataset, const char *asked,
                            jm_error *err);

/* Once it is known what ran: what the model says of gaps goes into part->idle, counters or not, where kernels
 * tell what a gap is. */
void jm__counted_ready(jm__board_part *part, const jm__dataset *dataset, const char *asked);

/* The belief about the columns as they are now, of which `expected` tells the families; no rows if nothing is
 * told of them. */
jm_status jm__counted_believe(jm__belief *belief, jm__board_part *part, const jm__dataset *dataset,
                              const jm__expectation *expected, jm_error *err);

#endif
