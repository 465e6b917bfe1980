/* One fit of a trained model, and folds that tell how far off it is for kernels that it has not seen. */
#ifndef JM_ESTIMATE_TRAIN_FIT_H
#define JM_ESTIMATE_TRAIN_FIT_H

#include "attribute/fit/qr.h"
#include "base/vec.h"
#include "estimate/features.h"
#include "estimate/trained.h"

#include <joulemap/estimate.h>
#include <stdbool.h>

/* Exponents of the features' shapes. Power grows less than in proportion to what a unit does: the first
 * events wake it, further ones share clocks, operands and rows that are open (a concave law, as with the
 * utilisation of processors). Which exponent fits is a matter of chip and features, so it is chosen, from
 * few, without the kernels that it is judged by. */
#define JM_TRAIN_EXPONENTS 4
extern const double jm__train_exponents[JM_TRAIN_EXPONENTS];

/* Strengths of the ridge: of a weight, in watts at the feature's highest value over the power there, squared,
 * a row. It shares the weight of features that go together; how firmly, the data say too. */
#define JM_TRAIN_RIDGES 4
extern const double jm__train_ridges[JM_TRAIN_RIDGES];

typedef struct jm__train_rows {
    size_t count, columns;
    const double *values;  /* [count * columns]: features over their references */
    const double *u;       /* [count]: relative standard uncertainty of the power; 0: not known */
    const double *power_w; /* [count] */
    const size_t *fold;    /* [count]: rows of one are left out together */
    size_t folds;
} jm__train_rows;

/* How to fit: the shape, and whether errors are relative, outliers weigh less and weights are held by a
 * ridge. */
typedef struct jm__train_way {
    double exponent, ridge;
    bool plain; /* none of the latter */
} jm__train_way;

/* weights[columns], then the constant; none below 0. Rows with use[i] alone (NULL: all). */
jm_status jm__train_fit(double *weights, const jm__train_rows *rows, const bool *use,
                        const jm__train_way *way, jm_error *err);

double jm__train_predict(const double *weights, const double *values, size_t columns, double exponent);

/* The exponent and the ridge whose fits tell folds of the used rows best that they have not seen. */
jm_status jm__train_choose(jm__train_way *way, const jm__train_rows *rows, const bool *use, jm_error *err);

/* predicted[count]: of each row by a model that has seen nothing of its fold. `way` NULL: it is chosen
 * anew each time, out of what is left. */
jm_status jm__train_cross(double *predicted, const jm__train_rows *rows, const jm__train_way *way,
                          jm_error *err);

/* ---- Inside of a training: what it found, for its views and its file. */

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
