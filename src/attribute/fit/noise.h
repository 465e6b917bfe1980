/* The noise of readings: a white part and a drift that fades, both found in the residuals. */
#ifndef JM_ATTRIBUTE_FIT_NOISE_H
#define JM_ATTRIBUTE_FIT_NOISE_H

#include "attribute/fit/pass.h"

/* Fewer readings cannot tell a drift: ten times as long as it is followed for, they would give its variance
 * to a third. */
enum { JM_NOISE_READINGS = 200 };

typedef struct jm__noise {
    double white; /* variance, W^2 */
    double drift; /* variance, W^2; 0: none was seen */
    double keep;  /* what of the drift is left one reading later */
} jm__noise;

/* `freedom`: degrees of freedom of the residuals, for what the fit took of them. */
jm_status jm__noise_fit(jm__noise *noise, const jm__pass *pass, jm__response response, const double *x,
                        double freedom, jm_error *err);

/* The same of residuals that are there already, [pass->count]; all 0 if they are too few. */
void jm__noise_of_residuals(jm__noise *noise, const jm__pass *pass, const double *residual, double freedom);

/* A' S A of the pass's readings, S being the noise's covariance: columns * columns. */
jm_status jm__noise_scores(const jm__noise *noise, const jm__pass *pass, jm__response response,
                           double *scores, jm_error *err);

#endif
