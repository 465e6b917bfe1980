/* A model that a user trained on own kernels and watts, for any chip: kept as JSON (docs/estimate.md).
 *
 *  P = constant + sum over features of weight * (value / reference) ^ exponent */
#ifndef JM_ESTIMATE_TRAINED_H
#define JM_ESTIMATE_TRAINED_H

#include <joulemap/status.h>
#include <stdbool.h>
#include <stddef.h>

#define JM_TRAINED_FEATURES_MAX 256

typedef struct jm__trained_feature {
    char *name;
    double reference; /* highest value in training, which adds weight_w */
    double least, most;
    double weight_w;
} jm__trained_feature;

typedef struct jm__trained {
    jm__trained_feature *features;
    size_t count;
    double exponent, constant_w;
    double own_u;         /* error of a single kernel, relative, standard */
    double family_u;      /* additional common error of a family */
    double low_w, high_w; /* range of powers in training */
    size_t kernels;
} jm__trained;

/* Whether the file is a trained model. BAD_DATA: not JSON. */
jm_status jm__trained_is(const char *path, bool *is_trained, jm_error *err);

jm_status jm__trained_read(jm__trained *model, const char *path, jm_error *err);
jm_status jm__trained_init(jm__trained *model, size_t count, jm_error *err);
void jm__trained_free(jm__trained *model);

/* The power in W, from features in the model's order. `beyond_w`: its part from features beyond their
 * training range. */
double jm__trained_power(const jm__trained *model, const double *values, double *beyond_w);

/* The factor of a weight. */
double jm__trained_shape(double value, double reference, double exponent);

#endif
