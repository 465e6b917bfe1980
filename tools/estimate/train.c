/* Trains a model on a user's kernels and watts, finds its errors, and shows both. */
#include "attribute/fit/nnls.h"
#include "attribute/fit/qr.h"
#include "base/json_value.h"
#include "base/map.h"
#include "base/options.h"
#include "base/order.h"
#include "base/plain.h"
#include "base/status.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "estimate/estimate.h"
#include "estimate/features.h"
#include "estimate/trained.h"
#include "report/json.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Candidate exponents of the features. Power grows less than in proportion to a unit's use: the first events
 * wake the unit, further ones share clocks, operands and open rows (a concave law, as with the utilisation of
 * processors). The best exponent depends on chip and features, so it is chosen among few, without the kernels
 * that test it. */
#define JM_TRAIN_EXPONENTS 4
static const double train_exponents[JM_TRAIN_EXPONENTS] = {1, 0.7, 0.5, 0.35};

/* Candidate strengths of the ridge: on a weight, in watts at the feature's highest value relative to the
 * power there, squared, per row. It divides the weight between correlated features; its strength is chosen by
 * the data, too. */
#define JM_TRAIN_RIDGES 4
static const double train_ridges[JM_TRAIN_RIDGES] = {1e-4, 3e-4, 1e-3, 3e-3};

typedef struct train_rows {
    size_t count, columns;
    const double *values;  /* [count * columns]: features relative to their references */
    const double *u;       /* [count]: relative standard uncertainty of the power; 0: unknown */
    const double *power_w; /* [count] */
    const size_t *fold;    /* [count]: rows of one fold are left out together */
    size_t folds;
} train_rows;

/* How to fit: exponent, ridge, and whether errors are relative, outliers weigh less and the ridge is used. */
typedef struct train_settings {
    double exponent, ridge;
    bool plain; /* plain least squares: none of these */
} train_settings;

typedef struct jm__train_family {
    const char *name;
    size_t kernels;
    double error; /* error of its kernels, by models trained without the family; NAN: only one family */
} jm__train_family;

struct jm_training {
    jm_trained result;
    jm__features features; /* the rows used, in their order */
    double *by_kernel;     /* [rows]: W, by a model trained without the row */
    double *by_family;     /* [rows]: W, by a model trained without its family; NAN: only one family */
    jm__train_family *families;
    size_t family_count;
    JM_VEC(char *) notes;
    jm__trained model;
    char path[4096];
};

/* ---- robust non-negative least squares on relative errors, and cross-validation */

enum { ROUNDS = 8, INNER_FOLDS_MAX = 40, INNER_FOLDS = 10 };

/* Larger relative errors weigh less (Huber): the best published models err by some 10 %. */
static const double huber_limit = 0.1;

static double train_predict(const double *weights, const double *values, size_t columns, double exponent)
{
    double power_w = weights[columns];
    for (size_t c = 0; c < columns; c++)
        power_w += weights[c] * jm__trained_shape(values[c], 1, exponent);
    return power_w;
}

static void shape_row(double *row, const train_rows *rows, size_t i, double exponent, double factor)
{
    for (size_t c = 0; c < rows->columns; c++)
        row[c] = factor * jm__trained_shape(rows->values[i * rows->columns + c], 1, exponent);
    row[rows->columns] = factor;
}

static double mean_power(const train_rows *rows, const bool *use, size_t *count)
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

static void add_rows(jm__qr *qr, double *row, const double *weights, const train_rows *rows, const bool *use,
                     const train_settings *settings, bool first)
{
    for (size_t i = 0; i < rows->count; i++) {
        if (use != NULL && !use[i]) continue;
        double factor = settings->plain ? 1 : 1 / rows->power_w[i] / hypot(1, rows->u[i] / huber_limit);
        if (!first && !settings->plain) {
            double predicted =
                train_predict(weights, rows->values + i * rows->columns, rows->columns, settings->exponent);
            double deviation = fabs(predicted / rows->power_w[i] - 1);
            if (deviation > huber_limit) factor *= sqrt(huber_limit / deviation);
        }
        shape_row(row, rows, i, settings->exponent, factor);
        jm__qr_add(qr, row, factor * rows->power_w[i]);
    }
}

/* The scale of the ridge: a feature's highest ratio to the power, over the used rows only. Over all rows, a
 * left-out family that alone uses a unit much would leave it a weight held down by the ridge. */
static double ridge_scale(const train_rows *rows, const bool *use, size_t c, double exponent)
{
    double max = 0;
    for (size_t i = 0; i < rows->count; i++)
        if (use == NULL || use[i])
            max = fmax(max, jm__trained_shape(rows->values[i * rows->columns + c], 1, exponent) /
                                rows->power_w[i]);
    return max;
}

/* The ridge also provides full rank if a feature is 0 in all rows, or constant. */
static void add_ridge(jm__qr *qr, double *row, const train_rows *rows, const bool *use,
                      const train_settings *settings)
{
    static const double full_rank = 1e-6;
    size_t n;
    double mean_w = mean_power(rows, use, &n), root = sqrt((double)n);
    for (size_t c = 0; c <= rows->columns; c++) {
        double strength = full_rank * (settings->plain ? 1 : 1 / mean_w);
        if (!settings->plain && c < rows->columns)
            strength = fmax(strength, sqrt(settings->ridge) * ridge_scale(rows, use, c, settings->exponent));
        memset(row, 0, (rows->columns + 1) * sizeof *row);
        row[c] = strength * root;
        jm__qr_add(qr, row, 0);
    }
}

/* weights[columns], then the constant; none below 0. Uses rows with use[i]; NULL: all. */
static jm_status train_fit(double *weights, const train_rows *rows, const bool *use,
                           const train_settings *settings, jm_error *err)
{
    size_t n, k = rows->columns + 1;
    mean_power(rows, use, &n);
    if (n < 2)
        return jm__fail(err, JM_BAD_DATA, 0, NULL, "training needs at least two kernels, here are %zu", n);
    double *row = calloc(k, sizeof *row);
    jm__qr qr = {0};
    jm_status status = row != NULL ? jm__qr_init(&qr, k, err) : jm__no_memory(err, "train_fit");
    for (int round = 0; status == JM_OK && round < (settings->plain ? 1 : ROUNDS); round++) {
        jm__qr_reset(&qr);
        add_rows(&qr, row, weights, rows, use, settings, round == 0);
        add_ridge(&qr, row, rows, use, settings);
        jm__qr_finish(&qr);
        status = jm__nnls_solve(&qr, NULL, weights, err);
    }
    jm__qr_free(&qr);
    free(row);
    return status;
}

/* ---- folds */

typedef struct folds {
    bool *use;       /* [rows]: rows outside the fold */
    double *weights; /* [columns + 1] */
} folds;

static jm_status folds_init(folds *f, const train_rows *rows, jm_error *err)
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

/* The inner fold of a row: its fold, or one of INNER_FOLDS if there are many. */
static size_t inner_fold(const train_rows *rows, size_t i, bool few)
{
    return few ? rows->fold[i] : rows->fold[i] % INNER_FOLDS;
}

static jm_status inner_error(double *error, const train_rows *rows, const bool *use,
                             const train_settings *settings, folds *f, jm_error *err)
{
    bool few = rows->folds <= INNER_FOLDS_MAX;
    size_t count = few ? rows->folds : INNER_FOLDS, tested = 0;
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
        JM_TRY(train_fit(f->weights, rows, f->use, settings, err));
        for (size_t i = 0; i < rows->count; i++) {
            if ((use != NULL && !use[i]) || inner_fold(rows, i, few) != fold) continue;
            double predicted = train_predict(f->weights, rows->values + i * rows->columns, rows->columns,
                                             settings->exponent);
            *error += fabs(predicted / rows->power_w[i] - 1);
            tested++;
        }
    }
    *error = tested > 0 ? *error / (double)tested : INFINITY;
    return JM_OK;
}

/* Choose the exponent and ridge with the least cross-validated error over the used rows. */
static jm_status choose_settings(train_settings *settings, const train_rows *rows, const bool *use,
                                 jm_error *err)
{
    folds f = {0};
    double least_error = INFINITY;
    *settings = (train_settings){.exponent = 1, .ridge = train_ridges[0]};
    jm_status status = folds_init(&f, rows, err);
    for (int i = 0; status == JM_OK && i < JM_TRAIN_EXPONENTS * JM_TRAIN_RIDGES; i++) {
        const train_settings one = {.exponent = train_exponents[i / JM_TRAIN_RIDGES],
                                    .ridge = train_ridges[i % JM_TRAIN_RIDGES]};
        double error;
        status = inner_error(&error, rows, use, &one, &f, err);
        if (status != JM_OK || !(error < least_error)) continue;
        least_error = error;
        *settings = one;
    }
    folds_free(&f);
    return status;
}

static jm_status cross_fold(double *predicted, const train_rows *rows, const train_settings *fixed,
                            size_t fold, folds *f, jm_error *err)
{
    train_settings settings = fixed != NULL ? *fixed : (train_settings){0};
    for (size_t i = 0; i < rows->count; i++)
        f->use[i] = rows->fold[i] != fold;
    if (fixed == NULL) JM_TRY(choose_settings(&settings, rows, f->use, err));
    JM_TRY(train_fit(f->weights, rows, f->use, &settings, err));
    for (size_t i = 0; i < rows->count; i++)
        if (rows->fold[i] == fold)
            predicted[i] =
                train_predict(f->weights, rows->values + i * rows->columns, rows->columns, settings.exponent);
    return JM_OK;
}

/* predicted[count]: each row by a model trained without its fold. `settings` NULL: they are chosen anew for
 * each fold, from the other rows. */
static jm_status train_cross(double *predicted, const train_rows *rows, const train_settings *settings,
                             jm_error *err)
{
    folds f = {0};
    jm_status status = folds_init(&f, rows, err);
    for (size_t fold = 0; status == JM_OK && fold < rows->folds; fold++)
        status = cross_fold(predicted, rows, settings, fold, &f, err);
    folds_free(&f);
    return status;
}

/* ---- the training: model, errors, and collinear features */

enum { KERNELS_MIN = 4, FOLDS_MAX = 200 };

/* Lower bound of a model's error, as few kernels can show too small a one; relative. */
static const double u_min = 0.01;

typedef struct trainer {
    jm_training *to;
    double *values; /* [rows * columns]: relative to their references */
    double *powers, *u;
    size_t *kernel_fold, *family_fold;
    double *weights, *scratch; /* [columns + 1], [rows] */
} trainer;

__attribute__((format(printf, 3, 4))) static jm_status note(jm_training *training, jm_error *err,
                                                            const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    jm__vprint(text, sizeof text, format, args);
    va_end(args);
    char *copy = strdup(text);
    if (copy != NULL && jm__vec_push(&training->notes, copy)) return JM_OK;
    free(copy);
    return jm__no_memory(err, "jm_estimate_train");
}

/* ---- rows */

/* Drop rows without a power, or with a missing feature. */
static jm_status drop_incomplete_rows(jm_training *t, jm_error *err)
{
    jm__features *f = &t->features;
    size_t kept = 0, without_power = 0, without_feature = 0;
    for (size_t i = 0; i < f->count; i++) {
        bool missing = false;
        for (size_t c = 0; c < f->columns; c++)
            missing |= isnan(f->rows[i].values[c]);
        without_power += isnan(f->rows[i].power_w) ? 1 : 0;
        without_feature += missing && !isnan(f->rows[i].power_w) ? 1 : 0;
        if (missing || isnan(f->rows[i].power_w)) continue;
        f->rows[kept++] = f->rows[i];
    }
    f->count = kept;
    if (without_power > 0) JM_TRY(note(t, err, "%zu kernels have no power and are not used", without_power));
    if (without_feature > 0)
        JM_TRY(note(t, err, "%zu kernels lack a feature and are not used", without_feature));
    return JM_OK;
}

static jm_status read_data(jm_training *t, const jm_train_options *options, jm_error *err)
{
    size_t unknown = 0, without = 0;
    JM_TRY(jm__features_read(&t->features, options->features, err));
    if (options->power != NULL)
        JM_TRY(jm__powers_read(&t->features, options->power, &unknown, &without, err));
    if (unknown > 0) JM_TRY(note(t, err, "%zu kernels of %s have no features", unknown, options->power));
    JM_TRY(drop_incomplete_rows(t, err));
    if (t->features.count >= KERNELS_MIN) return JM_OK;
    jm_status status = jm__fail(err, JM_BAD_DATA, 0, NULL,
                                "%s has %zu kernels with a power and all features; at least %d are needed",
                                options->features, t->features.count, (int)KERNELS_MIN);
    if (options->power == NULL)
        return jm__hint(err, status, "give their watts: --power FILE, or a column power_w");
    return jm__hint(err, status, "kernels are matched by their names, column kernel of both files");
}

static jm_status find_families(jm_training *t, size_t *fold, jm_error *err)
{
    jm__map known = JM_MAP_OF_TEXTS;
    t->families = calloc(t->features.count, sizeof *t->families);
    if (t->families == NULL) return jm__no_memory(err, "jm_estimate_train");
    for (size_t i = 0; i < t->features.count; i++) {
        const char *name = t->features.rows[i].family;
        jm__map_value *family = jm__map_find(&known, &name);
        size_t at = family != NULL ? (size_t)family->id : t->family_count;
        if (family == NULL && !jm__map_put(&known, &name, (jm__map_value){.id = (int64_t)at})) {
            jm__map_free(&known);
            return jm__no_memory(err, "jm_estimate_train");
        }
        if (family == NULL) t->families[t->family_count++] = (jm__train_family){.name = name};
        t->families[at].kernels++;
        fold[i] = at;
    }
    jm__map_free(&known);
    return JM_OK;
}

static jm_status prepare(trainer *r, jm_error *err)
{
    jm_training *t = r->to;
    jm__features *f = &t->features;
    r->values = calloc(f->count * f->columns + 1, sizeof *r->values);
    r->powers = calloc(f->count, sizeof *r->powers);
    r->u = calloc(f->count, sizeof *r->u);
    r->kernel_fold = calloc(f->count, sizeof *r->kernel_fold);
    r->family_fold = calloc(f->count, sizeof *r->family_fold);
    r->weights = calloc(f->columns + 1, sizeof *r->weights);
    r->scratch = calloc(f->count, sizeof *r->scratch);
    t->by_kernel = calloc(f->count, sizeof *t->by_kernel);
    t->by_family = calloc(f->count, sizeof *t->by_family);
    bool ok = r->values != NULL && r->powers != NULL && r->u != NULL && r->kernel_fold != NULL &&
              r->family_fold != NULL && r->weights != NULL && r->scratch != NULL && t->by_kernel != NULL &&
              t->by_family != NULL;
    if (!ok) return jm__no_memory(err, "jm_estimate_train");
    JM_TRY(jm__trained_init(&t->model, f->columns, err));
    for (size_t c = 0; c < f->columns; c++) {
        jm__trained_feature *feature = &t->model.features[c];
        feature->name = strdup(f->names[c]);
        if (feature->name == NULL) return jm__no_memory(err, "jm_estimate_train");
        feature->least = feature->most = f->rows[0].values[c];
        for (size_t i = 0; i < f->count; i++) {
            feature->least = fmin(feature->least, f->rows[i].values[c]);
            feature->most = fmax(feature->most, f->rows[i].values[c]);
        }
        feature->reference = feature->most > 0 ? feature->most : 1;
        for (size_t i = 0; i < f->count; i++)
            r->values[i * f->columns + c] = f->rows[i].values[c] / feature->reference;
    }
    for (size_t i = 0; i < f->count; i++) {
        r->powers[i] = f->rows[i].power_w;
        r->u[i] = fabs(f->rows[i].u_w) / f->rows[i].power_w;
        r->kernel_fold[i] = i % FOLDS_MAX;
    }
    return find_families(t, r->family_fold, err);
}

static train_rows rows_of(const trainer *r, bool by_family)
{
    const jm__features *f = &r->to->features;
    size_t kernels = f->count < FOLDS_MAX ? f->count : FOLDS_MAX;
    return (train_rows){.count = f->count,
                        .columns = f->columns,
                        .values = r->values,
                        .power_w = r->powers,
                        .u = r->u,
                        .fold = by_family ? r->family_fold : r->kernel_fold,
                        .folds = by_family ? r->to->family_count : kernels};
}

/* ---- errors */

static double relative_error(const trainer *r, const double *predicted, size_t i)
{
    return fabs(predicted[i] / r->powers[i] - 1);
}

static double mean_error(const trainer *r, const double *predicted)
{
    double sum = 0;
    for (size_t i = 0; i < r->to->features.count; i++)
        sum += relative_error(r, predicted, i);
    return sum / (double)r->to->features.count;
}

/* The error of predicting the mean of all other kernels. */
static double constant_error(const trainer *r)
{
    double sum = 0, error = 0;
    size_t n = r->to->features.count;
    for (size_t i = 0; i < n; i++)
        sum += r->powers[i];
    for (size_t i = 0; i < n; i++)
        error += fabs((sum - r->powers[i]) / (double)(n - 1) / r->powers[i] - 1);
    return error / (double)n;
}

/* The standard error with an interval that holds JM_ESTIMATE_COVERS of these errors: from the next larger
 * error (split conformal), or the largest. Sorts `errors`. */
static double conformal_u(double *errors, size_t count)
{
    qsort(errors, count, sizeof *errors, jm__compare_doubles);
    size_t at = (size_t)ceil(JM_ESTIMATE_COVERS * (double)(count + 1));
    return errors[at <= count ? at - 1 : count - 1] / JM_ESTIMATE_Z;
}

/* The part of kernels within the interval from the errors of all others. */
static double coverage(trainer *r)
{
    size_t n = r->to->features.count, inside = 0;
    for (size_t i = 0; i < n; i++) {
        size_t used = 0;
        for (size_t j = 0; j < n; j++)
            if (j != i)
                r->scratch[used++] =
                    relative_error(r, r->to->by_kernel, j) * r->powers[j] / r->to->by_kernel[j];
        double u = conformal_u(r->scratch, used);
        inside += fabs(r->powers[i] - r->to->by_kernel[i]) <= JM_ESTIMATE_Z * u * r->to->by_kernel[i];
    }
    return (double)inside / (double)n;
}

/* Relative to the prediction, as the interval is around that. */
static double error_u(trainer *r, const double *predicted)
{
    size_t n = r->to->features.count;
    for (size_t i = 0; i < n; i++)
        r->scratch[i] = fabs(r->powers[i] / predicted[i] - 1);
    return fmax(conformal_u(r->scratch, n), u_min);
}

static void evaluate_kernels(trainer *r)
{
    jm_trained *result = &r->to->result;
    size_t n = r->to->features.count;
    result->error_by_kernel = mean_error(r, r->to->by_kernel);
    for (size_t i = 0; i < n; i++)
        r->scratch[i] = relative_error(r, r->to->by_kernel, i);
    qsort(r->scratch, n, sizeof *r->scratch, jm__compare_doubles);
    result->median_by_kernel =
        n % 2 == 1 ? r->scratch[n / 2] : (r->scratch[n / 2] + r->scratch[n / 2 - 1]) / 2;
    result->worst_by_kernel = r->scratch[n - 1];
    result->coverage = coverage(r);
    r->to->model.own_u = error_u(r, r->to->by_kernel);
}

static void evaluate_families(trainer *r)
{
    jm_training *t = r->to;
    t->result.error_by_family = mean_error(r, t->by_family);
    double all_u = error_u(r, t->by_family);
    t->model.family_u = sqrt(fmax(all_u * all_u - t->model.own_u * t->model.own_u, 0));
    for (size_t k = 0; k < t->family_count; k++)
        t->families[k].error = 0;
    for (size_t i = 0; i < t->features.count; i++)
        t->families[r->family_fold[i]].error +=
            relative_error(r, t->by_family, i) / (double)t->families[r->family_fold[i]].kernels;
}

static jm_status evaluate(trainer *r, jm_error *err)
{
    jm_training *t = r->to;
    train_rows rows = rows_of(r, false), families = rows_of(r, true);
    const train_settings plain = {.exponent = 1, .plain = true};
    JM_TRY(train_cross(r->scratch, &rows, &plain, err));
    t->result.plain_error = mean_error(r, r->scratch);
    t->result.constant_error = constant_error(r);
    JM_TRY(train_cross(t->by_kernel, &rows, NULL, err));
    evaluate_kernels(r);
    t->result.error_by_family = NAN;
    for (size_t i = 0; i < t->features.count; i++)
        t->by_family[i] = NAN;
    t->families[0].error = NAN;
    if (t->family_count < 3) return JM_OK;
    JM_TRY(train_cross(t->by_family, &families, NULL, err));
    evaluate_families(r);
    return JM_OK;
}

/* ---- features that the data cannot separate */

/* Limits of the correlation of a pair, and of the R2 of one feature by all others. Choices: the usual ones (a
 * variance inflation of 10). */
static const double pair_min = 0.95, others_min = 0.9;

typedef struct columns {
    double *values; /* [rows * columns]: standardised; 0 for constant columns */
    bool *changes;
    size_t rows, count;
} columns;

static void standardise(columns *c, const double *values)
{
    for (size_t k = 0; k < c->count; k++) {
        double mean = 0, square = 0;
        for (size_t i = 0; i < c->rows; i++)
            mean += values[i * c->count + k] / (double)c->rows;
        for (size_t i = 0; i < c->rows; i++)
            square += pow(values[i * c->count + k] - mean, 2);
        double spread = sqrt(square);
        c->changes[k] = spread > 1e-9;
        for (size_t i = 0; i < c->rows; i++)
            c->values[i * c->count + k] = c->changes[k] ? (values[i * c->count + k] - mean) / spread : 0;
    }
}

static double correlation(const columns *c, size_t a, size_t b)
{
    double sum = 0;
    for (size_t i = 0; i < c->rows; i++)
        sum += c->values[i * c->count + a] * c->values[i * c->count + b];
    return sum;
}

/* The part of a column's variance that all others explain. */
static jm_status explained_by_others(const columns *c, size_t which, double *share, jm_error *err)
{
    jm__qr qr;
    double *row = calloc(c->count + 1, sizeof *row), *x = calloc(c->count + 1, sizeof *x);
    jm_status status =
        row != NULL && x != NULL ? jm__qr_init(&qr, c->count, err) : jm__no_memory(err, "jm_estimate_train");
    if (status == JM_OK) {
        for (size_t i = 0; i < c->rows; i++) {
            memcpy(row, c->values + i * c->count, c->count * sizeof *row);
            row[which] = 0;
            jm__qr_add(&qr, row, c->values[i * c->count + which]);
        }
        for (size_t k = 0; k < c->count; k++) { /* full rank */
            memset(row, 0, c->count * sizeof *row);
            row[k] = 1e-4;
            jm__qr_add(&qr, row, 0);
        }
        jm__qr_finish(&qr);
        jm__qr_solve(&qr, x);
        double left = 0;
        for (size_t i = 0; i < c->rows; i++) {
            double rest = c->values[i * c->count + which];
            for (size_t k = 0; k < c->count; k++)
                if (k != which) rest -= x[k] * c->values[i * c->count + k];
            left += rest * rest;
        }
        *share = 1 - left;
        jm__qr_free(&qr);
    }
    free(row);
    free(x);
    return status;
}

static jm_status note_pairs(jm_training *t, const columns *c, bool *paired, jm_error *err)
{
    const char **names = t->features.names;
    for (size_t a = 0; a < c->count; a++)
        for (size_t b = a + 1; b < c->count; b++) {
            double r = correlation(c, a, b);
            if (!c->changes[a] || !c->changes[b] || fabs(r) < pair_min) continue;
            paired[a] = paired[b] = true;
            JM_TRY(note(t, err,
                        "%.120s and %.120s go together (correlation %.3f): the data cannot separate their "
                        "power",
                        names[a], names[b], r));
        }
    return JM_OK;
}

static jm_status note_features(jm_training *t, const columns *c, const double *weights, bool *paired,
                               jm_error *err)
{
    if (c->rows <= c->count + 1)
        JM_TRY(note(t, err, "%zu kernels for %zu features: too few to separate them", c->rows, c->count));
    JM_TRY(note_pairs(t, c, paired, err));
    for (size_t k = 0; k < c->count; k++) {
        double share = 0;
        if (!c->changes[k]) {
            JM_TRY(
                note(t, err, "%.120s is the same for all kernels: it gets no weight", t->features.names[k]));
            continue;
        }
        if (!paired[k] && c->rows > c->count + 1) JM_TRY(explained_by_others(c, k, &share, err));
        if (share > others_min)
            JM_TRY(note(t, err, "%.120s follows from the other features (R2 %.3f): its weight may be theirs",
                        t->features.names[k], share));
        if (weights[k] <= 0)
            JM_TRY(note(t, err, "%.120s got no weight: the others predict as well without it",
                        t->features.names[k]));
    }
    return JM_OK;
}

/* Notes on features that the data cannot separate. `values`: [rows * columns], relative to their references.
 */
static jm_status note_collinear(jm_training *training, const double *values, const double *weights,
                                jm_error *err)
{
    columns c = {.rows = training->features.count, .count = training->features.columns};
    c.values = calloc(c.rows * c.count + 1, sizeof *c.values);
    c.changes = calloc(c.count + 1, sizeof *c.changes);
    bool *paired = calloc(c.count + 1, sizeof *paired);
    jm_status status = c.values != NULL && c.changes != NULL && paired != NULL
                           ? JM_OK
                           : jm__no_memory(err, "jm_estimate_train");
    if (status == JM_OK) {
        standardise(&c, values);
        status = note_features(training, &c, weights, paired, err);
    }
    free(c.values);
    free(c.changes);
    free(paired);
    return status;
}

/* ---- a training as JSON, and its model as a file */

static bool put(json_t *object, const char *key, json_t *value)
{
    return json_object_set_new(object, key, value) == 0;
}

static json_t *size_json(size_t count)
{
    return json_integer((json_int_t)count);
}

static bool put_rows(json_t *root, const jm_training *t)
{
    json_t *rows = json_array();
    bool ok = put(root, "rows", rows);
    for (size_t i = 0; ok && i < t->features.count; i++) {
        const jm__feature_row *k = &t->features.rows[i];
        json_t *row = json_object();
        ok = json_array_append_new(rows, row) == 0 && put(row, "kernel", jm__json_text(k->kernel)) &&
             put(row, "family", jm__json_text(k->family)) && put(row, "power_w", jm__json_real(k->power_w)) &&
             put(row, "left_out_w", jm__json_real(t->by_kernel[i])) &&
             put(row, "family_left_out_w", jm__json_real(t->by_family[i])) &&
             put(row, "error", jm__json_real(t->by_kernel[i] / k->power_w - 1));
    }
    return ok;
}

static bool put_families(json_t *root, const jm_training *t)
{
    json_t *families = json_array();
    bool ok = put(root, "families", families);
    for (size_t i = 0; ok && i < t->family_count; i++) {
        json_t *family = json_object();
        ok = json_array_append_new(families, family) == 0 &&
             put(family, "name", jm__json_text(t->families[i].name)) &&
             put(family, "kernels", size_json(t->families[i].kernels)) &&
             put(family, "error", jm__json_real(t->family_count < 3 ? NAN : t->families[i].error));
    }
    return ok;
}

static bool put_features(json_t *root, const jm__trained *model)
{
    json_t *features = json_array();
    bool ok = put(root, "features", features);
    for (size_t i = 0; ok && i < model->count; i++) {
        const jm__trained_feature *f = &model->features[i];
        json_t *feature = json_object();
        ok = json_array_append_new(features, feature) == 0 && put(feature, "name", jm__json_text(f->name)) &&
             put(feature, "reference", jm__json_real(f->reference)) &&
             put(feature, "least", jm__json_real(f->least)) && put(feature, "most", jm__json_real(f->most)) &&
             put(feature, "weight_w", jm__json_real(f->weight_w));
    }
    return ok;
}

static bool put_errors(json_t *root, const jm_trained *r)
{
    return put(root, "error_by_kernel", jm__json_real(r->error_by_kernel)) &&
           put(root, "error_by_family", jm__json_real(r->error_by_family)) &&
           put(root, "median_by_kernel", jm__json_real(r->median_by_kernel)) &&
           put(root, "worst_by_kernel", jm__json_real(r->worst_by_kernel)) &&
           put(root, "constant_error", jm__json_real(r->constant_error)) &&
           put(root, "plain_error", jm__json_real(r->plain_error)) &&
           put(root, "coverage", jm__json_real(r->coverage));
}

static bool put_model(json_t *root, const jm_training *t)
{
    const jm__trained *m = &t->model;
    return put(root, "format", json_string("joulemap trained model")) &&
           put(root, "version", json_integer(1)) && put(root, "exponent", jm__json_real(m->exponent)) &&
           put(root, "constant_w", jm__json_real(m->constant_w)) &&
           put(root, "own_u", jm__json_real(m->own_u)) && put(root, "family_u", jm__json_real(m->family_u)) &&
           put(root, "low_w", jm__json_real(m->low_w)) && put(root, "high_w", jm__json_real(m->high_w)) &&
           put(root, "kernels", size_json(m->kernels)) && put_features(root, m) &&
           put_errors(root, &t->result);
}

static bool put_notes(json_t *root, const jm_training *t)
{
    json_t *notes = json_array();
    bool ok = put(root, "notes", notes);
    for (size_t i = 0; ok && i < t->notes.count; i++)
        ok = json_array_append_new(notes, jm__json_text(t->notes.items[i])) == 0;
    return ok;
}

/* NULL: no memory. */
static char *text_take(const json_t *root)
{
    jm__strbuf text = {0};
    char *taken = jm__json_add(&text, root, 0) ? jm__strbuf_take(&text) : NULL;
    jm__strbuf_free(&text);
    return taken;
}

jm_status jm_training_json(const jm_training *training, char **out, jm_error *err)
{
    json_t *root = json_object();
    bool ok = put_model(root, training) && put_families(root, training) && put_rows(root, training) &&
              put_notes(root, training);
    *out = ok ? text_take(root) : NULL;
    json_decref(root);
    return *out != NULL ? JM_OK : jm__no_memory(err, "jm_training_json");
}

/* Writes a temporary file and renames it. */
static jm_status write_training(const jm_training *training, const char *path, jm_error *err)
{
    char temporary[4096];
    if ((size_t)snprintf(temporary, sizeof temporary, "%s.new-%d", path, (int)getpid()) >= sizeof temporary)
        return jm__fail(err, JM_USAGE, 0, NULL, "%s is too long a path", path);
    json_t *root = json_object();
    char *text = put_model(root, training) ? text_take(root) : NULL;
    json_decref(root);
    if (text == NULL) return jm__no_memory(err, "jm_estimate_train");
    FILE *file = fopen(temporary, "w");
    bool ok = file != NULL && fputs(text, file) >= 0 && fputc('\n', file) >= 0;
    int code = errno;
    if (file != NULL && fclose(file) != 0) {
        code = errno;
        ok = false;
    }
    free(text);
    if (ok && rename(temporary, path) == 0) return JM_OK;
    if (ok) code = errno;
    unlink(temporary);
    return jm__fail(err, jm_status_of_errno(code), code, "fopen", "%s cannot be written: %s", path,
                    strerror(code));
}

/* ---- a training as text */

static int by_weight(const void *a, const void *b)
{
    const jm__trained_feature *x = *(const jm__trained_feature *const *)a,
                              *y = *(const jm__trained_feature *const *)b;
    return (x->weight_w < y->weight_w) - (x->weight_w > y->weight_w);
}

static bool add_weights(jm__strbuf *out, const jm__trained *m)
{
    const jm__trained_feature **sorted = calloc(m->count + 1, sizeof *sorted);
    if (sorted == NULL) return false;
    for (size_t i = 0; i < m->count; i++)
        sorted[i] = &m->features[i];
    qsort(sorted, m->count, sizeof *sorted, by_weight);
    jm__strbuf_format(out, "power = %.1f W", m->constant_w);
    for (size_t i = 0; i < m->count; i++)
        if (sorted[i]->weight_w > 0)
            jm__strbuf_format(out, "\n      + %.1f W (%s / %.4g)^%g", sorted[i]->weight_w, sorted[i]->name,
                              sorted[i]->reference, m->exponent);
    jm__strbuf_add(out, "\n");
    free(sorted);
    return true;
}

static void add_worst(jm__strbuf *out, const jm_training *t)
{
    size_t worst = 0;
    for (size_t i = 1; i < t->features.count; i++)
        if (fabs(t->by_kernel[i] / t->features.rows[i].power_w - 1) >
            fabs(t->by_kernel[worst] / t->features.rows[worst].power_w - 1))
            worst = i;
    jm__strbuf_format(out, "worst kernel: %.60s, %.0f W, measured %.0f W\n", t->features.rows[worst].kernel,
                      t->by_kernel[worst], t->features.rows[worst].power_w);
    if (t->family_count < 3) return;
    worst = 0;
    for (size_t i = 1; i < t->family_count; i++)
        if (t->families[i].error > t->families[worst].error) worst = i;
    jm__strbuf_format(out, "worst family: %.60s, %.1f %%\n", t->families[worst].name,
                      100 * t->families[worst].error);
}

jm_status jm_training_text(const jm_training *training, char **out, jm_error *err)
{
    const jm_trained *r = &training->result;
    jm__strbuf text = {0};
    jm__strbuf_format(&text, "%zu kernels of %zu families, %zu features\n", r->kernels, r->families,
                      r->features);
    jm__strbuf_format(
        &text,
        "error of a kernel that was left out: %.1f %% on average, %.1f %% in the middle, %.1f %% at worst\n",
        100 * r->error_by_kernel, 100 * r->median_by_kernel, 100 * r->worst_by_kernel);
    if (isfinite(r->error_by_family))
        jm__strbuf_format(&text, "error of a kernel whose family was left out: %.1f %% on average\n",
                          100 * r->error_by_family);
    jm__strbuf_format(
        &text, "for comparison: the mean of the others %.1f %%, plain non-negative least squares %.1f %%\n",
        100 * r->constant_error, 100 * r->plain_error);
    jm__strbuf_format(&text, "intervals of %.0f %% held %.0f %% of kernels that were left out\n",
                      100 * JM_ESTIMATE_COVERS, 100 * r->coverage);
    add_worst(&text, training);
    bool ok = add_weights(&text, &training->model);
    for (size_t i = 0; i < training->notes.count; i++)
        jm__strbuf_format(&text, "%s\n", training->notes.items[i]);
    if (training->path[0] != '\0') jm__strbuf_format(&text, "%s: the model\n", training->path);
    *out = ok ? jm__strbuf_take(&text) : NULL;
    jm__strbuf_free(&text);
    return *out != NULL ? JM_OK : jm__no_memory(err, "jm_training_text");
}

/* ---- the whole training */

static jm_status learn(trainer *r, jm_error *err)
{
    jm_training *t = r->to;
    train_rows rows = rows_of(r, t->family_count >= 3); /* settings for programs outside the training data */
    train_settings settings;
    JM_TRY(choose_settings(&settings, &rows, NULL, err));
    JM_TRY(train_fit(r->weights, &rows, NULL, &settings, err));
    t->model.exponent = t->result.exponent = settings.exponent;
    t->model.constant_w = r->weights[rows.columns];
    t->model.kernels = rows.count;
    t->model.low_w = t->model.high_w = r->powers[0];
    for (size_t i = 0; i < rows.count; i++) {
        t->model.low_w = fmin(t->model.low_w, r->powers[i]);
        t->model.high_w = fmax(t->model.high_w, r->powers[i]);
    }
    for (size_t c = 0; c < rows.columns; c++)
        t->model.features[c].weight_w = r->weights[c];
    t->result.kernels = rows.count;
    t->result.features = rows.columns;
    t->result.families = t->family_count;
    return note_collinear(t, r->values, r->weights, err);
}

static jm_status train(trainer *r, const jm_train_options *options, jm_error *err)
{
    JM_TRY(read_data(r->to, options, err));
    if (r->to->features.columns > JM_TRAINED_FEATURES_MAX)
        return jm__fail(err, JM_LIMIT, 0, NULL, "%s has more than %d features", options->features,
                        JM_TRAINED_FEATURES_MAX);
    JM_TRY(prepare(r, err));
    JM_TRY(evaluate(r, err));
    JM_TRY(learn(r, err));
    if (options->path == NULL) return JM_OK;
    snprintf(r->to->path, sizeof r->to->path, "%s", options->path);
    return write_training(r->to, options->path, err);
}

jm_status jm_estimate_train(jm_training **out, const jm_train_options *requested, jm_error *err)
{
    jm_train_options options;
    *out = NULL;
    JM_TRY(jm__options_copy(&options, sizeof options, requested, "jm_estimate_train", err));
    if (options.features == NULL)
        return jm__fail(err, JM_USAGE, 0, "jm_estimate_train", "there are no features to learn from");
    jm_training *training = calloc(1, sizeof *training);
    if (training == NULL) return jm__no_memory(err, "jm_estimate_train");
    trainer r = {.to = training};
    jm_status status = train(&r, &options, err);
    free(r.values);
    free(r.powers);
    free(r.u);
    free(r.kernel_fold);
    free(r.family_fold);
    free(r.weights);
    free(r.scratch);
    if (status == JM_OK)
        *out = training;
    else
        jm_training_free(training);
    return status;
}

void jm_training_free(jm_training *training)
{
    if (training == NULL) return;
    jm__features_free(&training->features);
    jm__trained_free(&training->model);
    free(training->by_kernel);
    free(training->by_family);
    free(training->families);
    for (size_t i = 0; i < training->notes.count; i++)
        free(training->notes.items[i]);
    jm__vec_free(&training->notes);
    free(training);
}

const jm_trained *jm_training_result(const jm_training *training)
{
    return &training->result;
}
