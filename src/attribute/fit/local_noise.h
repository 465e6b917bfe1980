/* What the rest of a run teaches about one interval of it: a prior as sure as the two are alike. */
#ifndef JM_ATTRIBUTE_FIT_LOCAL_NOISE_H
#define JM_ATTRIBUTE_FIT_LOCAL_NOISE_H

#include "attribute/fit/interval.h"

typedef struct jm__transfer_input {
    const jm__fit_interval *rest; /* solved on all readings but those of `here`, from the weakest prior */
    const jm__fit_interval_input *here;
    const double *relative_u;       /* [columns]: how far its power here may be from that of the rest */
    const jm__prior *const *priors; /* what holds here beside it */
    size_t prior_count;
} jm__transfer_input;

/* The prior of `here`: its first part is what the rest teaches. A kind that the readings of `here` show to
 * draw otherwise is assumed less for it. */
jm_status jm__transfer_prior(jm__joint_prior *out, const jm__transfer_input *input, jm_error *err);

/* An interval with few readings: what those around it tell of it. */

typedef struct jm__local_noise_input {
    const jm__fit_interval *rest;  /* the powers of the rest of the run */
    const jm__reading_list *learn; /* solved from these */
    const jm__fit_interval_input *here;
    const jm__intervals *windows; /* when the interval is; may be none */
    const double *seconds;        /* [columns]: of the interval */
    size_t class_columns;         /* the first idle column */
} jm__local_noise_input;

typedef struct jm__local_noise {
    double *relative_u; /* [columns]: how far a kind's power here is likely to be from that of the rest */
    jm__noise noise;    /* of a reading here */
    bool noise_known;   /* false: nothing but the interval's own readings could tell it */
} jm__local_noise;

/* What kinds are usually off by, if the interval has readings enough to tell the rest itself. */
jm_status jm__local_noise_find(jm__local_noise *out, const jm__local_noise_input *input, jm_error *err);
void jm__local_noise_free(jm__local_noise *local_noise);

#endif
