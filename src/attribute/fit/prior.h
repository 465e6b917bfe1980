/* All beliefs together: what is expected of the powers before any reading, and how surely. */
#ifndef JM_ATTRIBUTE_FIT_PRIOR_H
#define JM_ATTRIBUTE_FIT_PRIOR_H

#include "attribute/fit/belief.h"

/* One reading of an H200's ring in steady load is off by 2 to 8 W (docs/sensors.md): where a sensor's row
 * says nothing. */
#define JM_NOISE_UNKNOWN_W 5.0

/* The noise expected of a reading, and how many readings' worth that expectation is. */
typedef struct jm__noise_prior {
    double noise_w;
    double readings;
} jm__noise_prior;

typedef struct jm__prior_part {
    jm_provenance provenance;
    double *information; /* [columns * columns], 1/W^2; NULL: the only part has all of it */
    double *share;       /* [columns * columns], W^2: of the covariance, what is owed to it; NULL likewise */
} jm__prior_part;

typedef struct jm__prior {
    size_t columns;
    jm__qr equations;    /* finished: of all beliefs, in units of their errors */
    double *power_w;     /* [columns] */
    double *u_w;         /* [columns] */
    double *covariance;  /* [columns * columns], W^2 */
    double *information; /* its inverse */
    double *most_w;      /* [columns]: no power is higher; NULL: there is no limit */
    bool independent;    /* the covariance has nothing beside its diagonal */
    jm__prior_part *parts;
    size_t part_count;
    jm__noise_prior noise;
} jm__prior;

/* INTERNAL if the beliefs leave a power open. */
jm_status jm__prior_make(jm__prior *prior, const jm__belief *const *beliefs, size_t count,
                         jm__noise_prior noise, jm_error *err);
void jm__prior_free(jm__prior *prior);

/* No power can be above most_w[columns], whatever readings say; NULL: no limit. Copied. */
jm_status jm__prior_limit(jm__prior *prior, const double *most_w, jm_error *err);

/* The prior's equations, each in units of its error times `weight`. `row`: room for one. */
void jm__prior_add(jm__qr *qr, const jm__prior *prior, double weight, double *row);

/* Start `joint` again from the rows of `data`, then the prior's, weighted for this noise. `row`: room for
 * one. */
void jm__prior_append(jm__qr *joint, const jm__qr *data, const jm__prior *prior, double noise_w, double *row);

/* out[columns]: how far the powers move if those that the first belief speaks of move by `shift`. */
jm_status jm__prior_moved_by_first(double *out, const jm__prior *prior, const double *shift, jm_error *err);

#endif
