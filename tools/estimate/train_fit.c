/* Robust non-negative least squares on relative errors, and cross-validation around it. */
#include "estimate/train_fit.h"

#include "attribute/fit/nnls.h"
#include "base/status.h"
#include "estimate/trained.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 8, INNER_FOLDS_MAX = 40, INNER_FOLDS = 10 };

const double jm__train_exponents[JM_TRAIN_EXPONENTS] = {1, 0.7, 0.5, 0.35};

/* Relative errors beyond this weigh less (Huber): the best published models err by some 10 %. */
static const double huber = 0.1;

const double jm__train_ridges[JM_TRAIN_RIDGES] = {1e-4, 3e-4, 1e-3, 3e-3};

double jm__train_predict(const double *weights, const double *values, size_t columns, double exponent)
{
    double power_w = weights[columns];
    for (size_t c = 0; c < columns; c++)
        power_w += weights[c] * jm__trained_shape(values[c], 1, exponent);
    return power_w;
}

static void shape_row(double *row, const jm__train_rows *rows, size_t i, double exponent, double factor)
{
    for (size_t c = 0; c < rows->columns; c++)
        row[c] = factor * jm__trained_shape(rows->values[i * rows->columns + c], 1, exponent);
    row[rows->columns] = factor;
}

static double mean_power(const jm__train_rows *rows, const bool *use, size_t *count)
{
    double sum = 0;
    *count = 0;
    for (size_t i = 0; i < rows->count; i++) {
        if (use != NULL && !use[i]) continue;
        sum += rows->power_w[i];
        (*count)++;
    }
    return *count > 0 ? sum / (double)*count : 0;
}

static void add_rows(jm__qr *qr, double *row, const double *weights, const jm__train_rows *rows,
                     const bool *use, const jm__train_way *way, bool first)
{
    for (size_t i = 0; i < rows->count; i++) {
        if (use != NULL && !use[i]) continue;
        double factor = way->plain ? 1 : 1 / rows->power_w[i] / hypot(1, rows->u[i] / huber);
        if (!first && !way->plain) {
            double predicted =
                jm__train_predict(weights, rows->values + i * rows->columns, rows->columns, way->exponent);
            double off = fabs(predicted / rows->power_w[i] - 1);
            if (off > huber) factor *= sqrt(huber / off);
        }
        shape_row(row, rows, i, way->exponent, factor);
        jm__qr_add(qr, row, factor * rows->power_w[i]);
    }
}

/* The most that a feature has of a used row, by weight: what it is measured in. By its most of all rows, a
 * family that alone uses a unit much would, left out, leave it a weight that the ridge holds down. */
static double most_of(const jm__train_rows *rows, const bool *use, size_t c, double exponent)
{
    double most = 0;
    for (size_t i = 0; i < rows->count; i++)
        if (use == NULL || use[i])
            most = fmax(most, jm__trained_shape(rows->values[i * rows->columns + c], 1, exponent) /
                                  rows->power_w[i]);
    return most;
}

/* Also what full rank needs, where a feature is 0 in all rows, or always the constant. */
static void add_ridge(jm__qr *qr, double *row, const jm__train_rows *rows, const bool *use,
                      const jm__train_way *way)
{
    static const double full_rank = 1e-6;
    size_t n;
    double mean_w = mean_power(rows, use, &n), root = sqrt((double)n);
    for (size_t c = 0; c <= rows->columns; c++) {
        double strength = full_rank * (way->plain ? 1 : 1 / mean_w);
        if (!way->plain && c < rows->columns)
            strength = fmax(strength, sqrt(way->ridge) * most_of(rows, use, c, way->exponent));
        memset(row, 0, (rows->columns + 1) * sizeof *row);
        row[c] = strength * root;
        jm__qr_add(qr, row, 0);
    }
}

jm_status jm__train_fit(double *weights, const jm__train_rows *rows, const bool *use,
                        const jm__train_way *way, jm_error *err)
{
    size_t n, k = rows->columns + 1;
    mean_power(rows, use, &n);
    if (n < 2)
        return jm__fail(err, JM_BAD_DATA, 0, NULL,
                        "two kernels at least are needed to learn from, here are %zu", n);
    double *row = calloc(k, sizeof *row);
    bool *is_free = calloc(k, sizeof *is_free);
    jm__qr qr = {0};
    jm_status status =
        row != NULL && is_free != NULL ? jm__qr_init(&qr, k, err) : jm__no_memory(err, "jm__train_fit");
    for (int round = 0; status == JM_OK && round < (way->plain ? 1 : ROUNDS); round++) {
        jm__qr_reset(&qr);
        add_rows(&qr, row, weights, rows, use, way, round == 0);
        add_ridge(&qr, row, rows, use, way);
        jm__qr_finish(&qr);
        status = jm__nnls_solve(&qr, NULL, weights, is_free, err);
    }
    jm__qr_free(&qr);
    free(row);
    free(is_free);
    return status;
}

/* ---- folds */

typedef struct folds {
    bool *use;       /* [rows]: with a fold left out */
    double *weights; /* [columns + 1] */
} folds;

static jm_status folds_init(folds *f, const jm__train_rows *rows, jm_error *err)
{
    f->use = calloc(rows->count + 1, sizeof *f->use);
    f->weights = calloc(rows->columns + 1, sizeof *f->weights);
    return f->use != NULL && f->weights != NULL ? JM_OK : jm__no_memory(err, "jm_estimate_train");
}

static void folds_free(folds *f)
{
    free(f->use);
    free(f->weights);
}

/* Folds of the used rows: as they are, or where they are many, every tenth together. */
static size_t inner_fold(const jm__train_rows *rows, size_t i, bool few)
{
    return few ? rows->fold[i] : rows->fold[i] % INNER_FOLDS;
}

static jm_status inner_error(double *error, const jm__train_rows *rows, const bool *use,
                             const jm__train_way *way, folds *f, jm_error *err)
{
    bool few = rows->folds <= INNER_FOLDS_MAX;
    size_t count = few ? rows->folds : INNER_FOLDS, told = 0;
    *error = 0;
    for (size_t fold = 0; fold < count; fold++) {
        size_t out = 0, in = 0;
        for (size_t i = 0; i < rows->count; i++) {
            bool is_out = inner_fold(rows, i, few) == fold;
            f->use[i] = (use == NULL || use[i]) && !is_out;
            out += (use == NULL || use[i]) && is_out;
            in += f->use[i];
        }
        if (out == 0 || in < 2) continue;
        JM_TRY(jm__train_fit(f->weights, rows, f->use, way, err));
        for (size_t i = 0; i < rows->count; i++) {
            if ((use != NULL && !use[i]) || inner_fold(rows, i, few) != fold) continue;
            double predicted =
                jm__train_predict(f->weights, rows->values + i * rows->columns, rows->columns, way->exponent);
            *error += fabs(predicted / rows->power_w[i] - 1);
            told++;
        }
    }
    *error = told > 0 ? *error / (double)told : INFINITY;
    return JM_OK;
}

jm_status jm__train_choose(jm__train_way *way, const jm__train_rows *rows, const bool *use, jm_error *err)
{
    folds f = {0};
    double least = INFINITY;
    *way = (jm__train_way){.exponent = 1, .ridge = jm__train_ridges[0]};
    jm_status status = folds_init(&f, rows, err);
    for (int i = 0; status == JM_OK && i < JM_TRAIN_EXPONENTS * JM_TRAIN_RIDGES; i++) {
        const jm__train_way one = {.exponent = jm__train_exponents[i / JM_TRAIN_RIDGES],
                                   .ridge = jm__train_ridges[i % JM_TRAIN_RIDGES]};
        double error;
        status = inner_error(&error, rows, use, &one, &f, err);
        if (status != JM_OK || !(error < least)) continue;
        least = error;
        *way = one;
    }
    folds_free(&f);
    return status;
}

static jm_status cross_fold(double *predicted, const jm__train_rows *rows, const jm__train_way *wanted,
                            size_t fold, folds *f, jm_error *err)
{
    jm__train_way way = wanted != NULL ? *wanted : (jm__train_way){0};
    for (size_t i = 0; i < rows->count; i++)
        f->use[i] = rows->fold[i] != fold;
    if (wanted == NULL) JM_TRY(jm__train_choose(&way, rows, f->use, err));
    JM_TRY(jm__train_fit(f->weights, rows, f->use, &way, err));
    for (size_t i = 0; i < rows->count; i++)
        if (rows->fold[i] == fold)
            predicted[i] =
                jm__train_predict(f->weights, rows->values + i * rows->columns, rows->columns, way.exponent);
    return JM_OK;
}

jm_status jm__train_cross(double *predicted, const jm__train_rows *rows, const jm__train_way *way,
                          jm_error *err)
{
    folds f = {0};
    jm_status status = folds_init(&f, rows, err);
    for (size_t fold = 0; status == JM_OK && fold < rows->folds; fold++)
        status = cross_fold(predicted, rows, way, fold, &f, err);
    folds_free(&f);
    return status;
}
