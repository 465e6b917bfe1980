/* One pass of readings through the design into a triangle, and back for the residuals. */
#ifndef JM_ATTRIBUTE_FIT_PASS_H
#define JM_ATTRIBUTE_FIT_PASS_H

#include "attribute/fit/qr.h"
#include "attribute/fit/response.h"

/* The readings that a fit works on, and how the columns of the design are put together for it. */
typedef struct jm__pass {
    jm__design *design;
    const jm_reading *readings; /* sorted by time */
    size_t count;
    int64_t period_ns;     /* readings farther apart than 1.5 of it are not neighbours */
    const uint32_t *group; /* [design->columns]: column of the fit; NULL: each its own */
    const double *scale;   /* [design->columns]: power of each, of that of its group; NULL: all 1 */
    size_t columns;        /* of the fit */
} jm__pass;

/* Reset `qr` (of pass->columns columns) and fold all readings in, unit weight. */
jm_status jm__pass_fold(const jm__pass *pass, jm__response response, jm__qr *qr, jm_error *err);

/* The weights of reading i; in order of time after jm__design_start. */
void jm__pass_row(const jm__pass *pass, size_t i, double *row);

/* Reading i comes right after the one before it. */
bool jm__pass_are_neighbours(const jm__pass *pass, size_t i);

/* residual[count] of a solution. */
jm_status jm__pass_residual_each(const jm__pass *pass, jm__response response, const double *x,
                                 double *residual, jm_error *err);

typedef struct jm__residuals {
    double rms;
    double correlation; /* of neighbours */
} jm__residuals;

/* The size of the residuals, and `scores` (columns * columns): the sum over blocks of about a second of
 * g g', where g is the block's sum of row times residual. With white noise it is the noise's variance
 * times A'A; with drift, or with powers that are not constant, it is what they make of it. */
jm_status jm__pass_residuals(const jm__pass *pass, jm__response response, const double *x, jm__residuals *out,
                             double *scores, jm_error *err);

#endif
