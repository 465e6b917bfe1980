/* Non-negative weights of features, and their predictions of families outside the training data. */
#include "calibrate/weights.h"

#include "attribute/fit/nnls.h"
#include "base/order.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the rows of a training set: each reading as a weighted sum over the sensor's memory */

/* The largest part of a reading's weight without counters. */
static const double uncovered_max = 1e-3;

static jm_status make_rows(jm__training_set_rows *rows, jm__training_set *l, jm__design *rates,
                           jm__design *work, jm__response response, jm_error *err)
{
    JM_TRY(jm__design_init(rates, &l->rates, rows->features, err));
    JM_TRY(jm__design_init(work, &l->work, rows->kernels + 1, err));
    jm__design_start(rates, response);
    jm__design_start(work, response);
    for (size_t i = 0; i < rows->rows; i++) {
        const jm_reading *reading = &l->readings[i];
        memcpy(rows->feature + i * rows->features, jm__design_row(rates, reading->t_ns),
               rows->features * sizeof *rows->feature);
        memcpy(rows->kernel + i * rows->kernels, jm__design_row(work, reading->t_ns) + 1,
               rows->kernels * sizeof *rows->kernel);
        rows->power_w[i] = reading->value;
        for (size_t k = 0; k < rows->kernels; k++)
            if (l->kernels.items[k].left_out) rows->left_out[i] += rows->kernel[i * rows->kernels + k];
        double covered = rows->feature[(i + 1) * rows->features - 1];
        rows->usable[i] = covered >= 1 - uncovered_max && rows->left_out[i] <= JM_LEFT_OUT_MAX;
    }
    return JM_OK;
}

jm_status jm__training_set_rows_make(jm__training_set_rows *out, jm__training_set *l, jm__response response,
                                     jm_error *err)
{
    size_t rows = l->reading_count;
    jm__design rates = {0}, work = {0};
    *out = (jm__training_set_rows){.rows = rows, .features = l->count + 1, .kernels = l->kernels.count};
    out->feature = calloc(rows * out->features + 1, sizeof *out->feature);
    out->kernel = calloc(rows * out->kernels + 1, sizeof *out->kernel);
    out->power_w = calloc(rows + 1, sizeof *out->power_w);
    out->left_out = calloc(rows + 1, sizeof *out->left_out);
    out->usable = calloc(rows + 1, sizeof *out->usable);
    bool ok = out->feature != NULL && out->kernel != NULL && out->power_w != NULL && out->left_out != NULL &&
              out->usable != NULL;
    jm_status status =
        ok ? make_rows(out, l, &rates, &work, response, err) : jm__no_memory(err, "jm_model_learn");
    jm__design_free(&rates);
    jm__design_free(&work);
    if (status != JM_OK) jm__training_set_rows_free(out);
    return status;
}

void jm__training_set_rows_free(jm__training_set_rows *rows)
{
    free(rows->feature);
    free(rows->kernel);
    free(rows->power_w);
    free(rows->left_out);
    free(rows->usable);
    *rows = (jm__training_set_rows){0};
}

/* ---- the fit: rows whose residual is more than three robust deviations are rejected, and the fit repeated.
 * Otherwise a kernel on unusual data, or one that the features do not describe, would distort all weights */

/* The limit in robust deviations, and the number of repetitions: the rows settle after three or four
 * (shared/attribution.md). */
static const double outlier_limit = 3;
enum { ROUNDS = 6 };

/* The smallest ratio of rows to features: a choice. */
static const size_t rows_per_feature = 2;

/* A small ridge lets features that always go together share their weight: 500 W cost as much as a residual of
 * 0.5 W in one reading. */
static const double ridge = 1e-3;

static double residual_of(const jm__training_set_rows *rows, size_t i, const double *x)
{
    double residual = rows->power_w[i];
    for (size_t k = 0; k < rows->features; k++)
        residual -= rows->feature[i * rows->features + k] * x[k];
    return residual;
}

typedef struct workspace {
    jm__qr qr;
    double *row, *sizes;
    bool *keep;
} workspace;

static jm_status solve(jm__weights *out, const jm__training_set_rows *rows, workspace *r, jm_error *err)
{
    jm__qr_reset(&r->qr);
    out->used = 0;
    for (size_t i = 0; i < rows->rows; i++) {
        if (!r->keep[i]) continue;
        jm__qr_add(&r->qr, rows->feature + i * rows->features, rows->power_w[i]);
        out->used++;
    }
    for (size_t k = 0; k < rows->features; k++) {
        memset(r->row, 0, rows->features * sizeof *r->row);
        r->row[k] = ridge;
        jm__qr_add(&r->qr, r->row, 0);
    }
    jm__qr_finish(&r->qr);
    return jm__nnls_solve(&r->qr, NULL, out->x, err);
}

/* Choose the rows for the next repetition, by their residuals. */
static void select_rows(jm__weights *out, const jm__training_set_rows *rows, const bool *use, workspace *r)
{
    size_t count = 0;
    double square = 0;
    for (size_t i = 0; i < rows->rows; i++) {
        if (!use[i]) continue;
        double residual = residual_of(rows, i, out->x);
        if (r->keep[i]) square += residual * residual;
        r->sizes[count++] = fabs(residual);
    }
    qsort(r->sizes, count, sizeof *r->sizes, jm__compare_doubles);
    out->spread_w = 1.4826 * r->sizes[count / 2];
    out->rms_w = sqrt(square / (double)out->used);
    for (size_t i = 0; i < rows->rows; i++)
        r->keep[i] = use[i] && fabs(residual_of(rows, i, out->x)) <= outlier_limit * out->spread_w;
}

static jm_status fit_robustly(jm__weights *out, const jm__training_set_rows *rows, const bool *use,
                              workspace *r, jm_error *err)
{
    size_t count = 0;
    for (size_t i = 0; i < rows->rows; i++)
        count += r->keep[i] = use[i];
    if (count < rows_per_feature * rows->features)
        return jm__fail(err, JM_BAD_DATA, 0, NULL,
                        "%zu readings with counters are too few for the weights of %zu counters", count,
                        rows->features - 1);
    for (int round = 0; round < ROUNDS; round++) {
        JM_TRY(solve(out, rows, r, err));
        select_rows(out, rows, use, r);
    }
    return JM_OK;
}

jm_status jm__weights_find(jm__weights *out, const jm__training_set_rows *rows, const bool *use,
                           jm_error *err)
{
    *out = (jm__weights){.x = calloc(rows->features + 1, sizeof *out->x)};
    workspace r = {
        .row = calloc(rows->features + 1, sizeof *r.row),
        .sizes = calloc(rows->rows + 1, sizeof *r.sizes),
        .keep = calloc(rows->rows + 1, sizeof *r.keep),
    };
    bool ok = out->x != NULL && r.row != NULL && r.sizes != NULL && r.keep != NULL;
    jm_status status = ok ? jm__qr_init(&r.qr, rows->features, err) : jm__no_memory(err, "jm_model_learn");
    if (status == JM_OK) status = fit_robustly(out, rows, use, &r, err);
    jm__qr_free(&r.qr);
    free(r.row);
    free(r.sizes);
    free(r.keep);
    if (status != JM_OK) jm__weights_free(out);
    return status;
}

void jm__weights_free(jm__weights *weights)
{
    free(weights->x);
    *weights = (jm__weights){0};
}

/* ---- weights without a family, and their jackknife (Efron and Stein, Annals of Statistics 9, 1981): kernels
 * of a family err alike, so families are independent, readings are not */

/* The largest part of a reading's weight in kernels of the family that is left out. */
static const double family_max = 0.05;

/* Readings with at least this part in a kernel determine the kernel's own power. */
static const double own_min = 0.2;

/* The smallest part of such a reading's weight with counters. */
static const double covered_min = 0.99;

static bool is_family(const jm__training_set *l, size_t kernel, const char *family)
{
    return strcmp(l->kernels.items[kernel].family, family) == 0;
}

/* Whether it is the first kernel of its family that is not on constant data. */
static bool is_first(const jm__training_set *l, size_t kernel)
{
    if (l->kernels.items[kernel].left_out) return false;
    for (size_t k = 0; k < kernel; k++)
        if (!l->kernels.items[k].left_out && is_family(l, k, l->kernels.items[kernel].family)) return false;
    return true;
}

static void use_rows_without(bool *use, const jm__training_set *l, const jm__training_set_rows *rows,
                             const char *family)
{
    for (size_t i = 0; i < rows->rows; i++) {
        double share = 0;
        for (size_t k = 0; k < rows->kernels; k++)
            if (is_family(l, k, family)) share += rows->kernel[i * rows->kernels + k];
        use[i] = rows->usable[i] && share <= family_max;
    }
}

static double predict(const jm__suite_kernel *kernel, const double *x, size_t features)
{
    double power_w = x[features - 1];
    for (size_t i = 0; kernel->rate != NULL && i + 1 < features; i++)
        power_w += kernel->rate[i] * x[i];
    return power_w;
}

/* The difference between the readings and these weights: the kernel's additional power. NAN: too few
 * readings. */
static double power_correction(const jm__training_set_rows *rows, size_t kernel, bool left_out,
                               const double *x)
{
    double product = 0, square = 0;
    for (size_t i = 0; i < rows->rows; i++) {
        double share = rows->kernel[i * rows->kernels + kernel];
        double others = rows->left_out[i] - (left_out ? share : 0); /* no weights describe those */
        if (share < own_min || others > JM_LEFT_OUT_MAX) continue;
        if (rows->feature[(i + 1) * rows->features - 1] < covered_min) continue;
        product += share * residual_of(rows, i, x);
        square += share * share;
    }
    return square >= 1 ? product / square : NAN;
}

static void predict_family(jm__left_out *out, const jm__training_set *l, const jm__training_set_rows *rows,
                           const char *family, const double *x)
{
    for (size_t k = 0; k < rows->kernels; k++) {
        const jm__suite_kernel *kernel = &l->kernels.items[k];
        if (!is_family(l, k, family) || kernel->rate == NULL) continue;
        out->predicted_w[k] = predict(kernel, x, rows->features);
        out->power_w[k] = out->predicted_w[k] + power_correction(rows, k, kernel->left_out, x);
    }
}

/* Buffers for the weights without each family. */
typedef struct fold_workspace {
    bool *use;
    double *x; /* [families * features] */
} fold_workspace;

static jm_status fit_without_families(jm__left_out *out, const jm__training_set *l,
                                      const jm__training_set_rows *rows, fold_workspace *r, jm_error *err)
{
    for (size_t k = 0; k < rows->kernels; k++) {
        if (!is_first(l, k)) continue;
        jm__weights without;
        use_rows_without(r->use, l, rows, l->kernels.items[k].family);
        JM_TRY(jm__weights_find(&without, rows, r->use, err));
        memcpy(r->x + out->families++ * rows->features, without.x, rows->features * sizeof *r->x);
        predict_family(out, l, rows, l->kernels.items[k].family, without.x);
        jm__weights_free(&without);
    }
    return JM_OK;
}

static void find_covariance(jm__left_out *out, const double *x, size_t features)
{
    size_t f = out->families;
    double factor = f > 1 ? (double)(f - 1) / (double)f : 0;
    for (size_t i = 0; i < features; i++) {
        for (size_t j = 0; j < features; j++) {
            double mean_i = 0, mean_j = 0, product = 0;
            for (size_t n = 0; n < f; n++) {
                mean_i += x[n * features + i] / (double)f;
                mean_j += x[n * features + j] / (double)f;
            }
            for (size_t n = 0; n < f; n++)
                product += (x[n * features + i] - mean_i) * (x[n * features + j] - mean_j);
            out->covariance[i * features + j] = factor * product;
        }
    }
}

/* With only one family, leaving it out would leave no training data. */
static jm_status check_families(const jm__training_set *l, jm_error *err)
{
    const char *only = NULL;
    for (size_t k = 0; k < l->kernels.count; k++) {
        if (l->kernels.items[k].left_out) continue;
        if (only != NULL && strcmp(l->kernels.items[k].family, only) != 0) return JM_OK;
        only = l->kernels.items[k].family;
    }
    jm_status status =
        only != NULL ? jm__fail(err, JM_BAD_DATA, 0, NULL, "all kernels are of one family, \"%s\"", only)
                     : jm__fail(err, JM_BAD_DATA, 0, NULL, "all kernels are on constant data");
    return jm__hint(err, status, "name bursts FAMILY/WHAT, and run kernels of several families");
}

jm_status jm__left_out_find(jm__left_out *out, const jm__training_set *training_set,
                            const jm__training_set_rows *rows, const jm__weights *all, jm_error *err)
{
    *out = (jm__left_out){
        .power_w = malloc((rows->kernels + 1) * sizeof *out->power_w),
        .predicted_w = malloc((rows->kernels + 1) * sizeof *out->predicted_w),
        .covariance = calloc(rows->features * rows->features + 1, sizeof *out->covariance),
    };
    fold_workspace r = {
        .use = calloc(rows->rows + 1, sizeof *r.use),
        .x = calloc((rows->kernels + 1) * rows->features, sizeof *r.x),
    };
    bool ok = out->power_w != NULL && out->predicted_w != NULL && out->covariance != NULL && r.use != NULL &&
              r.x != NULL;
    for (size_t k = 0; ok && k < rows->kernels; k++)
        out->power_w[k] = out->predicted_w[k] = NAN;
    jm_status status = ok ? check_families(training_set, err) : jm__no_memory(err, "jm_model_learn");
    if (status == JM_OK) status = fit_without_families(out, training_set, rows, &r, err);
    if (status == JM_OK) {
        /* Families with only constant data are in no weights: predict them by all weights. */
        for (size_t k = 0; k < rows->kernels; k++)
            if (isnan(out->predicted_w[k]))
                predict_family(out, training_set, rows, training_set->kernels.items[k].family, all->x);
        find_covariance(out, r.x, rows->features);
    } else {
        jm__left_out_free(out);
    }
    free(r.use);
    free(r.x);
    return status;
}

void jm__left_out_free(jm__left_out *out)
{
    free(out->power_w);
    free(out->predicted_w);
    free(out->covariance);
    *out = (jm__left_out){0};
}
