/* Inside of a training: what it found, for its views and its file. */
#ifndef JM_ESTIMATE_TRAINING_H
#define JM_ESTIMATE_TRAINING_H

#include "base/vec.h"
#include "estimate/features.h"
#include "estimate/trained.h"

#include <joulemap/estimate.h>

typedef struct jm__train_family {
    const char *name;
    size_t kernels;
    double
        error; /* of its kernels, by models that knew no other kernel of it; NAN: there is but one family */
} jm__train_family;

struct jm_training {
    jm_trained result;
    jm__features features; /* rows that were used, in their order */
    double *by_kernel;     /* [rows]: W, by a model that had not seen it */
    double *by_family;     /* likewise none of its family; NAN: there is but one */
    jm__train_family *families;
    size_t family_count;
    JM_VEC(char *) notes;
    jm__trained model;
    char path[4096];
};

/* Beside it, and moved into its place. */
jm_status jm__training_write(const jm_training *training, const char *path, jm_error *err);

#endif
