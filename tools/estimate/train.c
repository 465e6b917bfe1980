/* A model out of one's own kernels and watts, how good it is, and what its data cannot tell apart. */
#include "estimate/training.h"

#include "attribute/fit/qr.h"
#include "base/map.h"
#include "base/options.h"
#include "base/plain.h"
#include "base/status.h"
#include "estimate/estimate.h"
#include "estimate/train_fit.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static jm__train_rows rows_of(const trainer *r, bool by_family)
{
    const jm__features *f = &r->to->features;
    size_t kernels = f->count < FOLDS_MAX ? f->count : FOLDS_MAX;
    return (jm__train_rows){.count = f->count,
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
    jm__train_rows rows = rows_of(r, false), families = rows_of(r, true);
    const jm__train_way plain = {.exponent = 1, .plain = true};
    JM_TRY(jm__train_cross(r->others, &rows, &plain, err));
    t->result.plain_error = mean_error(r, r->others);
    t->result.constant_error = constant_error(r);
    JM_TRY(jm__train_cross(t->by_kernel, &rows, NULL, err));
    judge_kernels(r);
    t->result.error_by_family = NAN;
    for (size_t i = 0; i < t->features.count; i++)
        t->by_family[i] = NAN;
    t->families[0].error = NAN;
    if (t->family_count < 3) return JM_OK;
    JM_TRY(jm__train_cross(t->by_family, &families, NULL, err));
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

/* ---- all of it */

static jm_status learn(trainer *r, jm_error *err)
{
    jm_training *t = r->to;
    jm__train_rows rows = rows_of(r, t->family_count >= 3); /* it is for programs that nobody has seen */
    jm__train_way way;
    JM_TRY(jm__train_choose(&way, &rows, NULL, err));
    JM_TRY(jm__train_fit(r->weights, &rows, NULL, &way, err));
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
    return jm__training_write(r->to, options->path, err);
}

jm_status jm_estimate_train(jm_training **out, const jm_train_options *asked, jm_error *err)
{
    jm_train_options options;
    *out = NULL;
    JM_TRY(jm__options_copy(&options, sizeof options, asked, "jm_estimate_train", err));
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
