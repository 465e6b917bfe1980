/* A model that somebody trained on kernels and watts of his own, any chip: kept as JSON (docs/estimate.md).
 *
 *     P = constant + sum over features of weight * (value / reference) ^ exponent */
#ifndef JM_ESTIMATE_TRAINED_H
#define JM_ESTIMATE_TRAINED_H

#include <joulemap/status.h>
#include <stdbool.h>
#include <stddef.h>

#define JM_TRAINED_FEATURES_MAX 256

typedef struct jm__trained_feature {
    char *name;
    double reference; /* the highest that was learnt from: there it adds weight_w */
    double least, most;
    double weight_w;
} jm__trained_feature;

typedef struct jm__trained {
    jm__trained_feature *features;
    size_t count;
    double exponent, constant_w;
    double own_u;         /* relative, standard: of a kernel by itself */
    double family_u;      /* of kernels of a family alike, beside that */
    double low_w, high_w; /* of what was learnt from */
    size_t kernels;
} jm__trained;

/* Does that file say it is one? BAD_DATA: it is none of any kind, being no JSON. */
jm_status jm__trained_is(const char *path, bool *is, jm_error *err);

jm_status jm__trained_read(jm__trained *model, const char *path, jm_error *err);
jm_status jm__trained_init(jm__trained *model, size_t count, jm_error *err);
void jm__trained_free(jm__trained *model);

/* W, of features in the model's order. `beyond_w`: of it, what lies beyond what was learnt from. */
double jm__trained_power(const jm__trained *model, const double *values, double *beyond_w);

/* What a weight is multiplied by. */
double jm__trained_shape(double value, double reference, double exponent);

#endif
