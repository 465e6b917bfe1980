/* Rates times weights, and the errors of both. */
#include "attribute/prior/counters.h"

#include "attribute/fit/matrix.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>

/* What was seen for less than this is not told of, s: one window has so much of it. */
static const double seen_least_s = 1e-4;

/* Beyond the rates that a model was learnt from its weights are not proven: of what goes beyond, this share
 * may be wrong. A choice. */
static const double beyond_u = 0.5;

/* [count + 1] features of a column in units of their references, then 1 for the constant. Returns what lies
 * beyond the rates that the model was learnt from, W. */
static double features_of(double *out, const jm__board_model *model, const double *rate)
{
    double beyond_w = 0;
    for (size_t m = 0; m < model->count; m++) {
        const jm__feature *f = &model->features[m];
        out[m] = rate[m] / f->reference;
        if (rate[m] > f->most) beyond_w += f->weight_w * (rate[m] - f->most) / f->reference;
    }
    out[model->count] = 1;
    return beyond_w;
}

static double power_of(const jm__board_model *model, const double *features)
{
    double power_w = model->constant_w;
    for (size_t m = 0; m < model->count; m++)
        power_w += model->features[m].weight_w * features[m];
    return power_w;
}

/* The variance of a window's power that the columns' rates leave, W^2. */
static double window_variance(const jm__board_model *model, const jm__class_rates *rates)
{
    double variance = 0;
    for (size_t a = 0; a < model->count; a++)
        for (size_t b = 0; b < model->count; b++)
            variance += rates->covariance[a * model->count + b] * model->features[a].weight_w /
                        model->features[a].reference * model->features[b].weight_w /
                        model->features[b].reference;
    return fmax(variance, 0);
}

/* What lives while equations are made. */
typedef struct room {
    double *features;   /* [columns * (count + 1)] */
    double *error;      /* [columns]: one that several equations share */
    double *covariance; /* [columns^2] */
    size_t *columns;    /* of each equation */
} room;

/* Kinds of no known family have nothing in common: what others share is each one's own. */
static bool has_family(const jm__expectation *expected)
{
    return expected->family_u > 0;
}

/* While any of the columns ran, W. */
static double mean_power(const jm__board_model *model, const jm__class_rates *rates, size_t class_columns,
                         double *features)
{
    double energy_j = 0, seconds = 0;
    for (size_t k = 0; k < class_columns; k++) {
        features_of(features, model, rates->rate + k * model->count);
        energy_j += rates->seen_s[k] * power_of(model, features);
        seconds += rates->seen_s[k];
    }
    return seconds > 0 ? energy_j / seconds : 0;
}

static jm_status add_equations(jm__belief *belief, room *r, const jm__board_model *model,
                               const jm__class_rates *rates, const jm__expectation *expected,
                               size_t class_columns, jm_error *err)
{
    double mean_w = mean_power(model, rates, class_columns, r->features);
    for (size_t k = 0; k < class_columns; k++) {
        if (rates->seen_s[k] < seen_least_s) continue;
        size_t row = belief->rows;
        double *features = r->features + row * (model->count + 1);
        double beyond_w = features_of(features, model, rates->rate + k * model->count);
        double power_w = power_of(model, features);
        double own_u =
            has_family(&expected[k]) ? model->relative_u : hypot(model->relative_u, model->family_u);
        double own_w = hypot(hypot(own_u * power_w, beyond_u * beyond_w), rates->made_up[k] * mean_w);
        r->columns[row] = k;
        JM_TRY(jm__belief_add_power(belief, k, power_w, fmax(own_w, JM_POWER_LEAST_W), err));
    }
    return JM_OK;
}

/* The error of the family of equation `first`; nothing if an equation before it is of the same. */
static jm_status share_family(jm__belief *belief, room *r, const jm__board_model *model,
                              const jm__expectation *expected, size_t first, jm_error *err)
{
    uint32_t family = expected[r->columns[first]].family;
    if (!has_family(&expected[r->columns[first]])) return JM_OK;
    for (size_t i = 0; i < belief->rows; i++) {
        const jm__expectation *other = &expected[r->columns[i]];
        bool same = has_family(other) && other->family == family;
        if (same && i < first) return JM_OK;
        r->error[i] = same ? model->family_u * belief->value[i] : 0;
    }
    return jm__belief_share(belief, r->error, err);
}

static jm_status add_shared(jm__belief *belief, room *r, const jm__board_model *model,
                            const jm__class_rates *rates, const jm__expectation *expected, jm_error *err)
{
    size_t n = model->count + 1;
    double window_w2 = window_variance(model, rates);
    for (size_t i = 0; i < belief->rows; i++)
        for (size_t j = 0; j < belief->rows; j++)
            r->covariance[i * belief->rows + j] =
                jm__matrix_between(r->features + i * n, model->covariance, r->features + j * n, n) +
                window_w2 * rates->inverse[r->columns[i] * rates->columns + r->columns[j]];
    JM_TRY(jm__belief_covary(belief, r->covariance, err));
    for (size_t i = 0; i < belief->rows; i++)
        JM_TRY(share_family(belief, r, model, expected, i, err));
    for (size_t i = 0; i < belief->rows; i++)
        r->error[i] = model->gain_u * belief->value[i];
    return jm__belief_share(belief, r->error, err);
}

jm_status jm__believe_counters(jm__belief *belief, const jm__board_model *model, const jm__class_rates *rates,
                               const jm__expectation *expected, size_t class_columns, jm_error *err)
{
    room r = {
        .features = calloc(class_columns * (model->count + 1) + 1, sizeof *r.features),
        .error = calloc(class_columns + 1, sizeof *r.error),
        .covariance = calloc(class_columns * class_columns + 1, sizeof *r.covariance),
        .columns = calloc(class_columns + 1, sizeof *r.columns),
    };
    bool fine = r.features != NULL && r.error != NULL && r.covariance != NULL && r.columns != NULL;
    jm_status status = jm__belief_init(belief, JM_PROVENANCE_COUNTERS, rates->columns, err);
    if (status == JM_OK && !fine) status = jm__no_memory(err, "jm__believe_counters");
    if (status == JM_OK) status = add_equations(belief, &r, model, rates, expected, class_columns, err);
    if (status == JM_OK && belief->rows > 0) status = add_shared(belief, &r, model, rates, expected, err);
    if (status != JM_OK || belief->rows == 0) jm__belief_free(belief);
    free(r.features);
    free(r.error);
    free(r.covariance);
    free(r.columns);
    return status;
}
