/* What is known of a board's powers before any reading of the run, by its model. */
#ifndef JM_ATTRIBUTE_PRIOR_KNOWN_H
#define JM_ATTRIBUTE_PRIOR_KNOWN_H

#include "attribute/prior/rate_windows.h"
#include "attribute/prior/source.h"

typedef struct jm__board_known {
    bool counted_by_hardware;    /* its hardware counters were sampled */
    jm__board_model model;       /* of the board; no features: none is known, none was wanted, or its counters
                                    are not those of the recording */
    char model_fault[256];       /* why its own could not be read; "": it could, or there is none */
    jm__model_response response; /* of a sensor of this very board, with its driver; no sensor: not known */
    size_t counter_windows;      /* of counters, from which powers follow */
    bool idle_known;             /* the model tells what gaps draw: */
    jm__idle_known idle;
    jm__prior_lines assumed; /* of the file of priors */
} jm__board_known;

/* What the board's counters are worth: the model that was asked for (`queried`, NULL: none), else the
 * board's own, else, where there are counters, the one of its kind; no features if there is none, or if its
 * counters are not those that were sampled. jm__model_free frees known->model. */
jm_status jm__known_model(jm__board_known *known, const jm__dataset *dataset, const jm_board *board,
                          const char *queried, jm_error *err);

/* Once it is known what ran: what the model says of gaps goes into known->idle, counters or not, where
 * kernels tell what a gap is. */
void jm__known_ready(jm__board_known *known, const jm__board_work *work, const jm__sampler_draw *sampler,
                     const jm__dataset *dataset, const char *queried);

/* The prior about the columns as they are now, of which `expected` has the families; no rows if nothing is
 * known of them. */
jm_status jm__known_counters(jm__prior *prior, jm__board_known *known, const jm__dataset *dataset,
                             const jm_board *board, jm__board_work *work, const jm__expectation *expected,
                             jm_error *err);

#endif
