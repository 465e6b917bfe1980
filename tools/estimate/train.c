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
#include "estimate/estimate.h"
#include "estimate/features.h"
#include "estimate/trained.h"

#include <errno.h>
#include <math.h>
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
    jm__estimate_notes notes;
    jm__trained model;
    char path[4096];
};

/* ---- robust non-negative least squares on relative errors, and cross-validation */

enum { ROUNDS = 8, INNER_FOLDS_MAX = 40, INNER_FOLDS = 10 };

/* Larger relative errors weigh less (Huber): the best published models err by some 10 %. */
static const double huber_limit = 0.1;

/* The rows that are used, and buffers. */
typedef struct trainer {
    jm_training *to;
    size_t count, columns;
    double *values;                    /* [count * columns]: features relative to their references */
    double *power_w;                   /* [count] */
    double *u;                         /* [count]: relative standard uncertainty of the power; 0: unknown */
    size_t *kernel_fold, *family_fold; /* [count] */
    const size_t *fold;                /* one of them: rows of one fold are left out together */
    size_t folds;
    bool *use, *use_inner; /* [count]: the rows outside a fold; of those, the rows outside an inner fold */
    double *weights;       /* [columns + 1]: of the last fit, then its constant */
    double *row;           /* [columns + 1] */
    double *scratch;       /* [count] */
    jm__qr qr;
} trainer;

static double shape(const trainer *r, size_t i, size_t column, double exponent)
{
    return jm__trained_shape(r->values[i * r->columns + column], 1, exponent);
}

/* A row's power by the last fit. */
static double predict(const trainer *r, size_t i, double exponent)
{
    double power_w = r->weights[r->columns];
    for (size_t c = 0; c < r->columns; c++)
        power_w += r->weights[c] * shape(r, i, c, exponent);
    return power_w;
}

static void add_rows(trainer *r, const bool *use, const train_settings *settings, bool first)
{
    for (size_t i = 0; i < r->count; i++) {
        if (!use[i]) continue;
        double factor = settings->plain ? 1 : 1 / r->power_w[i] / hypot(1, r->u[i] / huber_limit);
        if (!first && !settings->plain) {
            double deviation = fabs(predict(r, i, settings->exponent) / r->power_w[i] - 1);
            if (deviation > huber_limit) factor *= sqrt(huber_limit / deviation);
        }
        for (size_t c = 0; c < r->columns; c++)
            r->row[c] = factor * shape(r, i, c, settings->exponent);
        r->row[r->columns] = factor;
        jm__qr_add(&r->qr, r->row, factor * r->power_w[i]);
    }
}

/* The scale of the ridge: a feature's highest ratio to the power, over the used rows only. Over all rows, a
 * left-out family that alone uses a unit much would leave it a weight held down by the ridge. */
static double ridge_scale(const trainer *r, const bool *use, size_t column, double exponent)
{
    double max = 0;
    for (size_t i = 0; i < r->count; i++)
        if (use[i]) max = fmax(max, shape(r, i, column, exponent) / r->power_w[i]);
    return max;
}

/* The ridge also provides full rank if a feature is 0 in all rows, or constant. */
static void add_ridge(trainer *r, const bool *use, const train_settings *settings, size_t used, double mean_w)
{
    static const double full_rank = 1e-6;
    for (size_t c = 0; c <= r->columns; c++) {
        double strength = full_rank * (settings->plain ? 1 : 1 / mean_w);
        if (!settings->plain && c < r->columns)
            strength = fmax(strength, sqrt(settings->ridge) * ridge_scale(r, use, c, settings->exponent));
        memset(r->row, 0, (r->columns + 1) * sizeof *r->row);
        r->row[c] = strength * sqrt((double)used);
        jm__qr_add(&r->qr, r->row, 0);
    }
}

/* Sets r->weights, none below 0, from the rows with use[i]. */
static jm_status fit(trainer *r, const bool *use, const train_settings *settings, jm_error *err)
{
    size_t used = 0;
    double sum_w = 0;
    for (size_t i = 0; i < r->count; i++) {
        if (!use[i]) continue;
        sum_w += r->power_w[i];
        used++;
    }
    if (used < 2)
        return jm__fail(err, JM_BAD_DATA, 0, NULL, "training needs at least two kernels, here are %zu", used);
    for (int round = 0; round < (settings->plain ? 1 : ROUNDS); round++) {
        jm__qr_reset(&r->qr);
        add_rows(r, use, settings, round == 0);
        add_ridge(r, use, settings, used, sum_w / (double)used);
        jm__qr_finish(&r->qr);
        JM_TRY(jm__nnls_solve(&r->qr, NULL, r->weights, err));
    }
    return JM_OK;
}

/* The mean error of the used rows, each by a model trained without its inner fold: its fold, or one of
 * INNER_FOLDS if there are many. */
static jm_status inner_error(double *error, trainer *r, const train_settings *settings, jm_error *err)
{
    size_t folds = r->folds <= INNER_FOLDS_MAX ? r->folds : INNER_FOLDS, tested = 0;
    *error = 0;
    for (size_t fold = 0; fold < folds; fold++) {
        size_t out = 0, in = 0;
        for (size_t i = 0; i < r->count; i++) {
            bool is_out = r->fold[i] % folds == fold;
            r->use_inner[i] = r->use[i] && !is_out;
            out += r->use[i] && is_out;
            in += r->use_inner[i];
        }
        if (out == 0 || in < 2) continue;
        JM_TRY(fit(r, r->use_inner, settings, err));
        for (size_t i = 0; i < r->count; i++) {
            if (!r->use[i] || r->use_inner[i]) continue;
            *error += fabs(predict(r, i, settings->exponent) / r->power_w[i] - 1);
            tested++;
        }
    }
    *error = tested > 0 ? *error / (double)tested : INFINITY;
    return JM_OK;
}

/* Choose the exponent and ridge with the least cross-validated error over the used rows. */
static jm_status choose_settings(train_settings *settings, trainer *r, jm_error *err)
{
    double least_error = INFINITY;
    *settings = (train_settings){.exponent = 1, .ridge = train_ridges[0]};
    for (int i = 0; i < JM_TRAIN_EXPONENTS * JM_TRAIN_RIDGES; i++) {
        const train_settings one = {.exponent = train_exponents[i / JM_TRAIN_RIDGES],
                                    .ridge = train_ridges[i % JM_TRAIN_RIDGES]};
        double error;
        JM_TRY(inner_error(&error, r, &one, err));
        if (!(error < least_error)) continue;
        least_error = error;
        *settings = one;
    }
    return JM_OK;
}

/* predicted[count]: each row by a model trained without its fold. `fixed` NULL: the settings are chosen anew
 * for each fold, from the other rows. */
static jm_status cross_validate(double *predicted, trainer *r, const train_settings *fixed, jm_error *err)
{
    for (size_t fold = 0; fold < r->folds; fold++) {
        train_settings settings = fixed != NULL ? *fixed : (train_settings){0};
        for (size_t i = 0; i < r->count; i++)
            r->use[i] = r->fold[i] != fold;
        if (fixed == NULL) JM_TRY(choose_settings(&settings, r, err));
        JM_TRY(fit(r, r->use, &settings, err));
        for (size_t i = 0; i < r->count; i++)
            if (r->fold[i] == fold) predicted[i] = predict(r, i, settings.exponent);
    }
    return JM_OK;
}

/* ---- the training: model, errors, and collinear features */

enum { KERNELS_MIN = 4, FOLDS_MAX = 200 };

/* Lower bound of a model's error, as few kernels can show too small a one; relative. */
static const double u_min = 0.01;

/* ---- rows */

/* Drop rows without a power, or with a missing feature. */
static void drop_incomplete_rows(jm_training *t)
{
    jm__features *f = &t->features;
    size_t kept = 0, without_power = 0, without_feature = 0;
    for (size_t i = 0; i < f->count; i++) {
        bool missing = false;
        for (size_t c = 0; c < f->columns; c++)
            missing |= isnan(f->rows[i].values[c]);
        if (isnan(f->rows[i].power_w))
            without_power++;
        else if (missing)
            without_feature++;
        else
            f->rows[kept++] = f->rows[i];
    }
    f->count = kept;
    if (without_power > 0)
        jm__estimate_note(&t->notes, "%zu kernels have no power and are not used", without_power);
    if (without_feature > 0)
        jm__estimate_note(&t->notes, "%zu kernels lack a feature and are not used", without_feature);
}

static jm_status read_data(jm_training *t, const jm_train_options *options, jm_error *err)
{
    size_t unknown = 0;
    JM_TRY(jm__features_read(&t->features, options->features, err));
    if (options->power != NULL) JM_TRY(jm__powers_read(&t->features, options->power, &unknown, err));
    if (unknown > 0)
        jm__estimate_note(&t->notes, "%zu kernels of %s have no features", unknown, options->power);
    drop_incomplete_rows(t);
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

static jm_status allocate(trainer *r, jm_error *err)
{
    jm_training *t = r->to;
    size_t n = r->count = t->features.count, k = r->columns = t->features.columns;
    r->values = calloc(n * k + 1, sizeof *r->values);
    r->power_w = calloc(n, sizeof *r->power_w);
    r->u = calloc(n, sizeof *r->u);
    r->kernel_fold = calloc(n, sizeof *r->kernel_fold);
    r->family_fold = calloc(n, sizeof *r->family_fold);
    r->use = calloc(n, sizeof *r->use);
    r->use_inner = calloc(n, sizeof *r->use_inner);
    r->weights = calloc(k + 1, sizeof *r->weights);
    r->row = calloc(k + 1, sizeof *r->row);
    r->scratch = calloc(n, sizeof *r->scratch);
    t->by_kernel = calloc(n, sizeof *t->by_kernel);
    t->by_family = calloc(n, sizeof *t->by_family);
    bool ok = r->values != NULL && r->power_w != NULL && r->u != NULL && r->kernel_fold != NULL &&
              r->family_fold != NULL && r->use != NULL && r->use_inner != NULL && r->weights != NULL &&
              r->row != NULL && r->scratch != NULL && t->by_kernel != NULL && t->by_family != NULL;
    return ok ? jm__qr_init(&r->qr, k + 1, err) : jm__no_memory(err, "jm_estimate_train");
}

static jm_status prepare(trainer *r, jm_error *err)
{
    const jm__features *f = &r->to->features;
    JM_TRY(allocate(r, err));
    JM_TRY(jm__trained_init(&r->to->model, f->columns, err));
    for (size_t c = 0; c < f->columns; c++) {
        jm__trained_feature *feature = &r->to->model.features[c];
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
        r->power_w[i] = f->rows[i].power_w;
        r->u[i] = fabs(f->rows[i].u_w) / f->rows[i].power_w;
        r->kernel_fold[i] = i % FOLDS_MAX;
    }
    return find_families(r->to, r->family_fold, err);
}

/* What is left out together from now on: kernels of a family, or single kernels (some, if there are many). */
static void set_folds(trainer *r, bool families)
{
    r->fold = families ? r->family_fold : r->kernel_fold;
    r->folds = families ? r->to->family_count : r->count < FOLDS_MAX ? r->count : FOLDS_MAX;
}

/* ---- errors */

static double relative_error(const trainer *r, const double *predicted, size_t i)
{
    return fabs(predicted[i] / r->power_w[i] - 1);
}

static double mean_error(const trainer *r, const double *predicted)
{
    double sum = 0;
    for (size_t i = 0; i < r->count; i++)
        sum += relative_error(r, predicted, i);
    return sum / (double)r->count;
}

/* The error of predicting the mean of all other kernels. */
static double constant_error(const trainer *r)
{
    double sum = 0, error = 0;
    size_t n = r->count;
    for (size_t i = 0; i < n; i++)
        sum += r->power_w[i];
    for (size_t i = 0; i < n; i++)
        error += fabs((sum - r->power_w[i]) / (double)(n - 1) / r->power_w[i] - 1);
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
    size_t n = r->count, inside = 0;
    for (size_t i = 0; i < n; i++) {
        size_t used = 0;
        for (size_t j = 0; j < n; j++)
            if (j != i)
                r->scratch[used++] =
                    relative_error(r, r->to->by_kernel, j) * r->power_w[j] / r->to->by_kernel[j];
        double u = conformal_u(r->scratch, used);
        inside += fabs(r->power_w[i] - r->to->by_kernel[i]) <= JM_ESTIMATE_Z * u * r->to->by_kernel[i];
    }
    return (double)inside / (double)n;
}

/* Relative to the prediction, as the interval is around that. */
static double error_u(trainer *r, const double *predicted)
{
    size_t n = r->count;
    for (size_t i = 0; i < n; i++)
        r->scratch[i] = fabs(r->power_w[i] / predicted[i] - 1);
    return fmax(conformal_u(r->scratch, n), u_min);
}

static void evaluate_kernels(trainer *r)
{
    jm_trained *result = &r->to->result;
    size_t n = r->count;
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
    const train_settings plain = {.exponent = 1, .plain = true};
    set_folds(r, false);
    JM_TRY(cross_validate(r->scratch, r, &plain, err));
    t->result.plain_error = mean_error(r, r->scratch);
    t->result.constant_error = constant_error(r);
    JM_TRY(cross_validate(t->by_kernel, r, NULL, err));
    evaluate_kernels(r);
    t->result.error_by_family = NAN;
    for (size_t i = 0; i < r->count; i++)
        t->by_family[i] = NAN;
    t->families[0].error = NAN;
    if (t->family_count < 3) return JM_OK;
    set_folds(r, true);
    JM_TRY(cross_validate(t->by_family, r, NULL, err));
    evaluate_families(r);
    return JM_OK;
}

/* ---- features that the data cannot separate */

/* Limits of the correlation of a pair, and of the R2 of one feature by all others. Choices: the usual ones (a
 * variance inflation of 10). */
static const double pair_min = 0.95, others_min = 0.9;

typedef struct columns {
    double *values; /* [rows * count]: standardised; 0 for constant columns */
    bool *changes, *paired;
    size_t rows, count;
    jm__qr qr; /* of `count` columns */
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

/* The part of a column's variance that all others explain. `row`, `x`: buffers of [count]. */
static double explained_by_others(columns *c, size_t which, double *row, double *x)
{
    jm__qr_reset(&c->qr);
    for (size_t i = 0; i < c->rows; i++) {
        memcpy(row, c->values + i * c->count, c->count * sizeof *row);
        row[which] = 0;
        jm__qr_add(&c->qr, row, c->values[i * c->count + which]);
    }
    for (size_t k = 0; k < c->count; k++) { /* full rank */
        memset(row, 0, c->count * sizeof *row);
        row[k] = 1e-4;
        jm__qr_add(&c->qr, row, 0);
    }
    jm__qr_finish(&c->qr);
    jm__qr_solve(&c->qr, x);
    double left = 0;
    for (size_t i = 0; i < c->rows; i++) {
        double rest = c->values[i * c->count + which];
        for (size_t k = 0; k < c->count; k++)
            if (k != which) rest -= x[k] * c->values[i * c->count + k];
        left += rest * rest;
    }
    return 1 - left;
}

static void note_pairs(jm_training *t, columns *c)
{
    for (size_t a = 0; a < c->count; a++)
        for (size_t b = a + 1; b < c->count; b++) {
            double r = correlation(c, a, b);
            if (!c->changes[a] || !c->changes[b] || fabs(r) < pair_min) continue;
            c->paired[a] = c->paired[b] = true;
            jm__estimate_note(
                &t->notes,
                "%.120s and %.120s go together (correlation %.3f): the data cannot separate their power",
                t->features.names[a], t->features.names[b], r);
        }
}

static void note_features(trainer *r, columns *c)
{
    jm__estimate_notes *notes = &r->to->notes;
    bool enough = c->rows > c->count + 1;
    if (!enough)
        jm__estimate_note(notes, "%zu kernels for %zu features: too few to separate them", c->rows, c->count);
    note_pairs(r->to, c);
    for (size_t k = 0; k < c->count; k++) {
        const jm__trained_feature *feature = &r->to->model.features[k];
        if (!c->changes[k]) {
            jm__estimate_note(notes, "%.120s is the same for all kernels: it gets no weight", feature->name);
            continue;
        }
        double share = c->paired[k] || !enough ? 0 : explained_by_others(c, k, r->row, r->weights);
        if (share > others_min)
            jm__estimate_note(notes,
                              "%.120s follows from the other features (R2 %.3f): its weight may be theirs",
                              feature->name, share);
        if (feature->weight_w <= 0)
            jm__estimate_note(notes, "%.120s got no weight: the others predict as well without it",
                              feature->name);
    }
}

/* Notes on features that the data cannot separate. */
static jm_status note_collinear(trainer *r, jm_error *err)
{
    columns c = {.rows = r->count,
                 .count = r->columns,
                 .values = calloc(r->count * r->columns + 1, sizeof *c.values),
                 .changes = calloc(r->columns + 1, sizeof *c.changes),
                 .paired = calloc(r->columns + 1, sizeof *c.paired)};
    bool ok = c.values != NULL && c.changes != NULL && c.paired != NULL;
    jm_status status = ok ? jm__qr_init(&c.qr, c.count, err) : jm__no_memory(err, "jm_estimate_train");
    if (status == JM_OK) {
        standardise(&c, r->values);
        note_features(r, &c);
        if (r->to->notes.failed) status = jm__no_memory(err, "jm_estimate_train");
    }
    jm__qr_free(&c.qr);
    free(c.values);
    free(c.changes);
    free(c.paired);
    return status;
}

/* ---- a training as JSON, and its model as a file */

static json_t *row_json(const void *training, size_t i)
{
    const jm_training *t = training;
    const jm__feature_row *k = &t->features.rows[i];
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "kernel", jm__json_text(k->kernel), "family",
                     jm__json_text(k->family), "power_w", jm__json_real(k->power_w), "left_out_w",
                     jm__json_real(t->by_kernel[i]), "family_left_out_w", jm__json_real(t->by_family[i]),
                     "error", jm__json_real(t->by_kernel[i] / k->power_w - 1));
}

static json_t *family_json(const void *training, size_t i)
{
    const jm_training *t = training;
    const jm__train_family *family = &t->families[i];
    return json_pack("{s:o, s:I, s:o}", "name", jm__json_text(family->name), "kernels",
                     (json_int_t)family->kernels, "error",
                     jm__json_real(t->family_count < 3 ? NAN : family->error));
}

static json_t *feature_json(const void *model, size_t i)
{
    const jm__trained_feature *f = &((const jm__trained *)model)->features[i];
    return json_pack("{s:o, s:o, s:o, s:o, s:o}", "name", jm__json_text(f->name), "reference",
                     jm__json_real(f->reference), "least", jm__json_real(f->least), "most",
                     jm__json_real(f->most), "weight_w", jm__json_real(f->weight_w));
}

static json_t *model_json(const jm_training *t)
{
    const jm__trained *m = &t->model;
    const jm_trained *r = &t->result;
    return json_pack("{s:s, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
                     "format", "joulemap trained model", "version", 1, "exponent", jm__json_real(m->exponent),
                     "constant_w", jm__json_real(m->constant_w), "own_u", jm__json_real(m->own_u), "family_u",
                     jm__json_real(m->family_u), "low_w", jm__json_real(m->low_w), "high_w",
                     jm__json_real(m->high_w), "kernels", (json_int_t)m->kernels, "features",
                     jm__json_array(m->count, feature_json, m), "error_by_kernel",
                     jm__json_real(r->error_by_kernel), "error_by_family", jm__json_real(r->error_by_family),
                     "median_by_kernel", jm__json_real(r->median_by_kernel), "worst_by_kernel",
                     jm__json_real(r->worst_by_kernel), "constant_error", jm__json_real(r->constant_error),
                     "plain_error", jm__json_real(r->plain_error), "coverage", jm__json_real(r->coverage));
}

jm_status jm_training_json(const jm_training *t, char **out, jm_error *err)
{
    json_t *root = model_json(t);
    jm__json_set(&root, "families", jm__json_array(t->family_count, family_json, t));
    jm__json_set(&root, "rows", jm__json_array(t->features.count, row_json, t));
    jm__json_set(&root, "notes", jm__estimate_notes_json(&t->notes));
    return jm__estimate_json_take(out, root, "jm_training_json", err);
}

/* Writes a temporary file and renames it. */
static jm_status write_training(const jm_training *training, const char *path, jm_error *err)
{
    char temporary[4096];
    if ((size_t)snprintf(temporary, sizeof temporary, "%s.new-%d", path, (int)getpid()) >= sizeof temporary)
        return jm__fail(err, JM_USAGE, 0, NULL, "%s is too long a path", path);
    char *text;
    JM_TRY(jm__estimate_json_take(&text, model_json(training), "jm_estimate_train", err));
    FILE *file = fopen(temporary, "w");
    bool ok = file != NULL && fputs(text, file) >= 0 && fputc('\n', file) >= 0;
    if (file != NULL) ok = fclose(file) == 0 && ok;
    ok = ok && rename(temporary, path) == 0;
    int code = errno;
    free(text);
    if (ok) return JM_OK;
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
    for (size_t i = 0; i < training->notes.list.count; i++)
        jm__strbuf_format(&text, "%s\n", training->notes.list.items[i]);
    if (training->path[0] != '\0') jm__strbuf_format(&text, "%s: the model\n", training->path);
    *out = ok ? jm__strbuf_take(&text) : NULL;
    jm__strbuf_free(&text);
    return *out != NULL ? JM_OK : jm__no_memory(err, "jm_training_text");
}

/* ---- the whole training */

static jm_status learn(trainer *r, jm_error *err)
{
    jm_training *t = r->to;
    jm__trained *model = &t->model;
    train_settings settings;
    set_folds(r, t->family_count >= 3); /* settings for programs outside the training data */
    for (size_t i = 0; i < r->count; i++)
        r->use[i] = true;
    JM_TRY(choose_settings(&settings, r, err));
    JM_TRY(fit(r, r->use, &settings, err));
    model->exponent = t->result.exponent = settings.exponent;
    model->constant_w = r->weights[r->columns];
    model->kernels = t->result.kernels = r->count;
    model->low_w = model->high_w = r->power_w[0];
    for (size_t i = 0; i < r->count; i++) {
        model->low_w = fmin(model->low_w, r->power_w[i]);
        model->high_w = fmax(model->high_w, r->power_w[i]);
    }
    for (size_t c = 0; c < r->columns; c++)
        model->features[c].weight_w = r->weights[c];
    t->result.features = r->columns;
    t->result.families = t->family_count;
    return note_collinear(r, err);
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
    free(r.power_w);
    free(r.u);
    free(r.kernel_fold);
    free(r.family_fold);
    free(r.use);
    free(r.use_inner);
    free(r.weights);
    free(r.row);
    free(r.scratch);
    jm__qr_free(&r.qr);
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
    jm__estimate_notes_free(&training->notes);
    free(training);
}

const jm_trained *jm_training_result(const jm_training *training)
{
    return &training->result;
}
