/* The readings as equations of unit error: each weighs what it is worth with all that may be wrong with it.
 *
 * Readings y = A x + e enter through their scores A'y, whose errors have the covariance S: noise, drift,
 * powers that are not constant, an error of the response. With A = Q T that is Q'y = T x + error of
 * covariance N = T'^-1 S T^-1, and with N = L L' the equations L^-1 (T | Q'y) have unit errors, independent
 * of each other. With white noise they are the readings' own triangle over the noise. */
#ifndef JM_ATTRIBUTE_FIT_WEIGH_H
#define JM_ATTRIBUTE_FIT_WEIGH_H

#include "attribute/fit/calibrate.h"

typedef struct jm__weigh_of {
    const jm__qr *data; /* finished: of the readings, unit weight, with the prior's share folded in */
    const jm__prior *prior;
    const double *scores;                     /* S, columns * columns */
    const double *response[JM_RESPONSE_AXES]; /* [columns]: scores per standard uncertainty of the response */
    const double *prior_shift[JM_RESPONSE_AXES]; /* [columns]: covariance of the prior's powers with that
                                                    error; NULL: none */
} jm__weigh_of;

/* What a solution needs to tell how its powers covary with an error of the response: C told. */
typedef struct jm__weighed {
    jm__qr equations;               /* finished; of the readings alone */
    double *told[JM_RESPONSE_AXES]; /* [columns] */
} jm__weighed;

jm_status jm__weigh(jm__weighed *out, const jm__weigh_of *of, jm_error *err);
void jm__weighed_free(jm__weighed *weighed);

#endif
