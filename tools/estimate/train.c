/* A model out of one's own kernels and watts, how good it is, and how it is shown. */
#include "attribute/fit/nnls.h"
#include "attribute/fit/qr.h"
#include "base/json_value.h"
#include "base/map.h"
#include "base/options.h"
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

/* Exponents of the features' shapes. Power grows less than in proportion to what a unit does: the first
 * events wake it, further ones share clocks, operands and rows that are open (a concave law, as with the
 * utilisation of processors). Which exponent fits is a matter of chip and features, so it is chosen, from
 * few, without the kernels that it is judged by. */
#define JM_TRAIN_EXPONENTS 4
static const double train_exponents[JM_TRAIN_EXPONENTS] = {1, 0.7, 0.5, 0.35};

/* Strengths of the ridge: of a weight, in watts at the feature's highest value over the power there, squared,
 * a row. It shares the weight of features that go together; how firmly, the data say too. */
#define JM_TRAIN_RIDGES 4
static const double train_ridges[JM_TRAIN_RIDGES] = {1e-4, 3e-4, 1e-3, 3e-3};

typedef struct train_rows {
    size_t count, columns;
    const double *values;  /* [count * columns]: features over their references */
    const double *u;       /* [count]: relative standard uncertainty of the power; 0: not known */
    const double *power_w; /* [count] */
    const size_t *fold;    /* [count]: rows of one are left out together */
    size_t folds;
} train_rows;

/* How to fit: the shape, and whether errors are relative, outliers weigh less and weights are held by a
 * ridge. */
typedef struct train_way {
    double exponent, ridge;
    bool plain; /* none of the latter */
} train_way;

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

/* ---- robust non-negative least squares on relative errors, and cross-validation around it */

enum { ROUNDS = 8, INNER_FOLDS_MAX = 40, INNER_FOLDS = 10 };

/* Relative errors beyond this weigh less (Huber): the best published models err by some 10 %. */
static const double huber = 0.1;

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
                     const train_way *way, bool first)
{
    for (size_t i = 0; i < rows->count; i++) {
        if (use != NULL && !use[i]) continue;
        double factor = way->plain ? 1 : 1 / rows->power_w[i] / hypot(1, rows->u[i] / huber);
        if (!first && !way->plain) {
            double predicted =
                train_predict(weights, rows->values + i * rows->columns, rows->columns, way->exponent);
            double off = fabs(predicted / rows->power_w[i] - 1);
            if (off > huber) factor *= sqrt(huber / off);
        }
        shape_row(row, rows, i, way->exponent, factor);
        jm__qr_add(qr, row, factor * rows->power_w[i]);
    }
}

/* The most that a feature has of a used row, by weight: what it is measured in. By its most of all rows, a
 * family that alone uses a unit much would, left out, leave it a weight that the ridge holds down. */
static double most_of(const train_rows *rows, const bool *use, size_t c, double exponent)
{
    double most = 0;
    for (size_t i = 0; i < rows->count; i++)
        if (use == NULL || use[i])
            most = fmax(most, jm__trained_shape(rows->values[i * rows->columns + c], 1, exponent) /
                                  rows->power_w[i]);
    return most;
}

/* Also what full rank needs, where a feature is 0 in all rows, or always the constant. */
static void add_ridge(jm__qr *qr, double *row, const train_rows *rows, const bool *use, const train_way *way)
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

/* weights[columns], then the constant; none below 0. Rows with use[i] alone (NULL: all). */
static jm_status train_fit(double *weights, const train_rows *rows, const bool *use, const train_way *way,
                           jm_error *err)
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
        row != NULL && is_free != NULL ? jm__qr_init(&qr, k, err) : jm__no_memory(err, "train_fit");
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

/* Folds of the used rows: as they are, or where they are many, every tenth together. */
static size_t inner_fold(const train_rows *rows, size_t i, bool few)
{
    return few ? rows->fold[i] : rows->fold[i] % INNER_FOLDS;
}

static jm_status inner_error(double *error, const train_rows *rows, const bool *use, const train_way *way,
                             folds *f, jm_error *err)
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
        JM_TRY(train_fit(f->weights, rows, f->use, way, err));
        for (size_t i = 0; i < rows->count; i++) {
            if ((use != NULL && !use[i]) || inner_fold(rows, i, few) != fold) continue;
            double predicted =
                train_predict(f->weights, rows->values + i * rows->columns, rows->columns, way->exponent);
            *error += fabs(predicted / rows->power_w[i] - 1);
            told++;
        }
    }
    *error = told > 0 ? *error / (double)told : INFINITY;
    return JM_OK;
}

/* The exponent and the ridge whose fits tell folds of the used rows best that they have not seen. */
static jm_status train_choose(train_way *way, const train_rows *rows, const bool *use, jm_error *err)
{
    folds f = {0};
    double least = INFINITY;
    *way = (train_way){.exponent = 1, .ridge = train_ridges[0]};
    jm_status status = folds_init(&f, rows, err);
    for (int i = 0; status == JM_OK && i < JM_TRAIN_EXPONENTS * JM_TRAIN_RIDGES; i++) {
        const train_way one = {.exponent = train_exponents[i / JM_TRAIN_RIDGES],
                               .ridge = train_ridges[i % JM_TRAIN_RIDGES]};
        double error;
        status = inner_error(&error, rows, use, &one, &f, err);
        if (status != JM_OK || !(error < least)) continue;
        least = error;
        *way = one;
    }
    folds_free(&f);
    return status;
}

static jm_status cross_fold(double *predicted, const train_rows *rows, const train_way *requested,
                            size_t fold, folds *f, jm_error *err)
{
    train_way way = requested != NULL ? *requested : (train_way){0};
    for (size_t i = 0; i < rows->count; i++)
        f->use[i] = rows->fold[i] != fold;
    if (requested == NULL) JM_TRY(train_choose(&way, rows, f->use, err));
    JM_TRY(train_fit(f->weights, rows, f->use, &way, err));
    for (size_t i = 0; i < rows->count; i++)
        if (rows->fold[i] == fold)
            predicted[i] =
                train_predict(f->weights, rows->values + i * rows->columns, rows->columns, way.exponent);
    return JM_OK;
}

/* predicted[count]: of each row by a model that has seen nothing of its fold. `way` NULL: it is chosen
 * anew each time, out of what is left. */
static jm_status train_cross(double *predicted, const train_rows *rows, const train_way *way, jm_error *err)
{
    folds f = {0};
    jm_status status = folds_init(&f, rows, err);
    for (size_t fold = 0; status == JM_OK && fold < rows->folds; fold++)
        status = cross_fold(predicted, rows, way, fold, &f, err);
    folds_free(&f);
    return status;
}

/* ---- A model out of one's own kernels and watts, how good it is, and what its data cannot tell apart */

enum { KERNELS_LEAST = 4, FOLDS_MAX = 200 };

/* A model is no better known than this, whatever its few kernels say; relative. */
static const double u_least = 0.01;

typedef struct trainer {
    jm_training *to;
    double *values; /* [rows * columns]: over their references */
    double *powers, *u;
    size_t *kernel_fold, *family_fold;
    double *weights, *others; /* [columns + 1], [rows] */
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

/* Rows without a power, or with a feature missing, cannot teach. */
static jm_status keep_whole_rows(jm_training *t, jm_error *err)
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
    if (without_power > 0) JM_TRY(note(t, err, "%zu kernels have no power and teach nothing", without_power));
    if (without_feature > 0)
        JM_TRY(note(t, err, "%zu kernels lack a feature and teach nothing", without_feature));
    return JM_OK;
}

static jm_status read_data(jm_training *t, const jm_train_options *options, jm_error *err)
{
    size_t unknown = 0, without = 0;
    JM_TRY(jm__features_read(&t->features, options->features, err));
    if (options->power != NULL)
        JM_TRY(jm__powers_read(&t->features, options->power, &unknown, &without, err));
    if (unknown > 0) JM_TRY(note(t, err, "%zu kernels of %s have no features", unknown, options->power));
    JM_TRY(keep_whole_rows(t, err));
    if (t->features.count >= KERNELS_LEAST) return JM_OK;
    jm_status status = jm__fail(err, JM_BAD_DATA, 0, NULL,
                                "%s has %zu kernels with a power and all features; %d are the least",
                                options->features, t->features.count, (int)KERNELS_LEAST);
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
    r->others = calloc(f->count, sizeof *r->others);
    t->by_kernel = calloc(f->count, sizeof *t->by_kernel);
    t->by_family = calloc(f->count, sizeof *t->by_family);
    bool all = r->values != NULL && r->powers != NULL && r->u != NULL && r->kernel_fold != NULL &&
               r->family_fold != NULL && r->weights != NULL && r->others != NULL && t->by_kernel != NULL &&
               t->by_family != NULL;
    if (!all) return jm__no_memory(err, "jm_estimate_train");
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

/* ---- how good */

static int compare_numbers(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

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

/* Always the mean of all others. */
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

/* The standard error whose interval holds JM_ESTIMATE_COVERS of these errors, as far as so few tell: the
 * next larger one than that share of them (split conformal). `errors` is sorted by it. */
static double conformal_u(double *errors, size_t count)
{
    qsort(errors, count, sizeof *errors, compare_numbers);
    size_t at = (size_t)ceil(JM_ESTIMATE_COVERS * (double)(count + 1));
    return errors[at <= count ? at - 1 : count - 1] / JM_ESTIMATE_Z;
}

/* Each kernel's interval by what the errors of all others were. */
static double coverage(trainer *r)
{
    size_t n = r->to->features.count, inside = 0;
    for (size_t i = 0; i < n; i++) {
        size_t used = 0;
        for (size_t j = 0; j < n; j++)
            if (j != i)
                r->others[used++] =
                    relative_error(r, r->to->by_kernel, j) * r->powers[j] / r->to->by_kernel[j];
        double u = conformal_u(r->others, used);
        inside += fabs(r->powers[i] - r->to->by_kernel[i]) <= JM_ESTIMATE_Z * u * r->to->by_kernel[i];
    }
    return (double)inside / (double)n;
}

/* As a share of what is predicted, since that is what an interval is put around. */
static double error_u(trainer *r, const double *predicted)
{
    size_t n = r->to->features.count;
    for (size_t i = 0; i < n; i++)
        r->others[i] = fabs(r->powers[i] / predicted[i] - 1);
    return fmax(conformal_u(r->others, n), u_least);
}

static void judge_kernels(trainer *r)
{
    jm_trained *result = &r->to->result;
    size_t n = r->to->features.count;
    result->error_by_kernel = mean_error(r, r->to->by_kernel);
    for (size_t i = 0; i < n; i++)
        r->others[i] = relative_error(r, r->to->by_kernel, i);
    qsort(r->others, n, sizeof *r->others, compare_numbers);
    result->median_by_kernel = n % 2 == 1 ? r->others[n / 2] : (r->others[n / 2] + r->others[n / 2 - 1]) / 2;
    result->worst_by_kernel = r->others[n - 1];
    result->coverage = coverage(r);
    r->to->model.own_u = error_u(r, r->to->by_kernel);
}

static void judge_families(trainer *r)
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

static jm_status judge(trainer *r, jm_error *err)
{
    jm_training *t = r->to;
    train_rows rows = rows_of(r, false), families = rows_of(r, true);
    const train_way plain = {.exponent = 1, .plain = true};
    JM_TRY(train_cross(r->others, &rows, &plain, err));
    t->result.plain_error = mean_error(r, r->others);
    t->result.constant_error = constant_error(r);
    JM_TRY(train_cross(t->by_kernel, &rows, NULL, err));
    judge_kernels(r);
    t->result.error_by_family = NAN;
    for (size_t i = 0; i < t->features.count; i++)
        t->by_family[i] = NAN;
    t->families[0].error = NAN;
    if (t->family_count < 3) return JM_OK;
    JM_TRY(train_cross(t->by_family, &families, NULL, err));
    judge_families(r);
    return JM_OK;
}

/* ---- what the data cannot tell apart */

/* Two features that go together so closely, and one of which the others tell so much, are one as far as
 * the data say. Choices: the usual ones (a variance inflation of 10). */
static const double pair_least = 0.95, others_least = 0.9;

typedef struct columns {
    double
        *values; /* [rows * columns]: less their means, and over their spreads; 0 where they do not change */
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

/* The share of a column's variance that all others tell. */
static jm_status told_by_others(const columns *c, size_t which, double *share, jm_error *err)
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

static jm_status tell_pairs(jm_training *t, const columns *c, bool *paired, jm_error *err)
{
    const char **names = t->features.names;
    for (size_t a = 0; a < c->count; a++)
        for (size_t b = a + 1; b < c->count; b++) {
            double r = correlation(c, a, b);
            if (!c->changes[a] || !c->changes[b] || fabs(r) < pair_least) continue;
            paired[a] = paired[b] = true;
            JM_TRY(note(t, err,
                        "%.120s and %.120s go together (correlation %.3f): the data cannot tell whose "
                        "power it is",
                        names[a], names[b], r));
        }
    return JM_OK;
}

static jm_status tell_collinear(jm_training *t, const columns *c, const double *weights, bool *paired,
                                jm_error *err)
{
    if (c->rows <= c->count + 1)
        JM_TRY(note(t, err, "%zu kernels for %zu features: too few to tell them apart", c->rows, c->count));
    JM_TRY(tell_pairs(t, c, paired, err));
    for (size_t k = 0; k < c->count; k++) {
        double share = 0;
        if (!c->changes[k]) {
            JM_TRY(note(t, err, "%.120s is the same for all kernels: nothing can be learnt of it",
                        t->features.names[k]));
            continue;
        }
        if (!paired[k] && c->rows > c->count + 1) JM_TRY(told_by_others(c, k, &share, err));
        if (share > others_least)
            JM_TRY(note(t, err,
                        "%.120s is told by the other features together (R2 %.3f): its weight may be theirs",
                        t->features.names[k], share));
        if (weights[k] <= 0)
            JM_TRY(note(t, err, "%.120s got no weight: the others tell as much without it",
                        t->features.names[k]));
    }
    return JM_OK;
}

/* Notes on what the data cannot tell apart. `values`: [rows * columns], over their references. */
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
        status = tell_collinear(training, &c, weights, paired, err);
    }
    free(c.values);
    free(c.changes);
    free(paired);
    return status;
}

/* ---- A training for people and programs, and its model as a file */

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
    bool fine = put(root, "rows", rows);
    for (size_t i = 0; fine && i < t->features.count; i++) {
        const jm__feature_row *k = &t->features.rows[i];
        json_t *row = json_object();
        fine = json_array_append_new(rows, row) == 0 && put(row, "kernel", jm__json_text(k->kernel)) &&
               put(row, "family", jm__json_text(k->family)) &&
               put(row, "power_w", jm__json_real(k->power_w)) &&
               put(row, "left_out_w", jm__json_real(t->by_kernel[i])) &&
               put(row, "family_left_out_w", jm__json_real(t->by_family[i])) &&
               put(row, "error", jm__json_real(t->by_kernel[i] / k->power_w - 1));
    }
    return fine;
}

static bool put_families(json_t *root, const jm_training *t)
{
    json_t *families = json_array();
    bool fine = put(root, "families", families);
    for (size_t i = 0; fine && i < t->family_count; i++) {
        json_t *family = json_object();
        fine = json_array_append_new(families, family) == 0 &&
               put(family, "name", jm__json_text(t->families[i].name)) &&
               put(family, "kernels", size_json(t->families[i].kernels)) &&
               put(family, "error", jm__json_real(t->family_count < 3 ? NAN : t->families[i].error));
    }
    return fine;
}

static bool put_features(json_t *root, const jm__trained *model)
{
    json_t *features = json_array();
    bool fine = put(root, "features", features);
    for (size_t i = 0; fine && i < model->count; i++) {
        const jm__trained_feature *f = &model->features[i];
        json_t *feature = json_object();
        fine =
            json_array_append_new(features, feature) == 0 && put(feature, "name", jm__json_text(f->name)) &&
            put(feature, "reference", jm__json_real(f->reference)) &&
            put(feature, "least", jm__json_real(f->least)) && put(feature, "most", jm__json_real(f->most)) &&
            put(feature, "weight_w", jm__json_real(f->weight_w));
    }
    return fine;
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
    bool fine = put(root, "notes", notes);
    for (size_t i = 0; fine && i < t->notes.count; i++)
        fine = json_array_append_new(notes, jm__json_text(t->notes.items[i])) == 0;
    return fine;
}

/* NULL: memory is out. */
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
    bool fine = put_model(root, training) && put_families(root, training) && put_rows(root, training) &&
                put_notes(root, training);
    *out = fine ? text_take(root) : NULL;
    json_decref(root);
    return *out != NULL ? JM_OK : jm__no_memory(err, "jm_training_json");
}

/* Beside it, and moved into its place. */
static jm_status write_training(const jm_training *training, const char *path, jm_error *err)
{
    char beside[4096];
    if ((size_t)snprintf(beside, sizeof beside, "%s.new-%d", path, (int)getpid()) >= sizeof beside)
        return jm__fail(err, JM_USAGE, 0, NULL, "%s is too long a path", path);
    json_t *root = json_object();
    char *text = put_model(root, training) ? text_take(root) : NULL;
    json_decref(root);
    if (text == NULL) return jm__no_memory(err, "jm_estimate_train");
    FILE *file = fopen(beside, "w");
    bool fine = file != NULL && fputs(text, file) >= 0 && fputc('\n', file) >= 0;
    int code = errno;
    if (file != NULL && fclose(file) != 0) {
        code = errno;
        fine = false;
    }
    free(text);
    if (fine && rename(beside, path) == 0) return JM_OK;
    if (fine) code = errno;
    unlink(beside);
    return jm__fail(err, jm_status_of_errno(code), code, "fopen", "%s cannot be written: %s", path,
                    strerror(code));
}

/* ---- for people */

static int dearer(const void *a, const void *b)
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
    qsort(sorted, m->count, sizeof *sorted, dearer);
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
    jm__strbuf_format(out, "worst kernel: %.60s, %.0f W where it draws %.0f\n",
                      t->features.rows[worst].kernel, t->by_kernel[worst], t->features.rows[worst].power_w);
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
    bool fine = add_weights(&text, &training->model);
    for (size_t i = 0; i < training->notes.count; i++)
        jm__strbuf_format(&text, "%s\n", training->notes.items[i]);
    if (training->path[0] != '\0') jm__strbuf_format(&text, "%s: the model\n", training->path);
    *out = fine ? jm__strbuf_take(&text) : NULL;
    jm__strbuf_free(&text);
    return *out != NULL ? JM_OK : jm__no_memory(err, "jm_training_text");
}

/* ---- all of it */

static jm_status learn(trainer *r, jm_error *err)
{
    jm_training *t = r->to;
    train_rows rows = rows_of(r, t->family_count >= 3); /* it is for programs that nobody has seen */
    train_way way;
    JM_TRY(train_choose(&way, &rows, NULL, err));
    JM_TRY(train_fit(r->weights, &rows, NULL, &way, err));
    t->model.exponent = t->result.exponent = way.exponent;
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
    JM_TRY(judge(r, err));
    JM_TRY(learn(r, err));
    if (options->path == NULL) return JM_OK;
    snprintf(r->to->path, sizeof r->to->path, "%s", options->path);
    return write_training(r->to, options->path, err);
}

jm_status jm_estimate_train(jm_training **out, const jm_train_options *queried, jm_error *err)
{
    jm_train_options options;
    *out = NULL;
    JM_TRY(jm__options_copy(&options, sizeof options, queried, "jm_estimate_train", err));
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
    free(r.others);
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
