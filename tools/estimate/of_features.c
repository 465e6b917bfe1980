/* An estimate from a table of features, with a model that was trained on such. */
#include "estimate/estimate.h"

#include "base/status.h"
#include "estimate/features.h"
#include "estimate/trained.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of what lies beyond what was learnt from, this may be wrong. A choice, as with boards' models. */
static const double beyond_u = 0.5;

static jm_status match_columns(const jm__features *features, const jm__trained *model, const char *path,
                               size_t *columns, jm_error *err)
{
    for (size_t m = 0; m < model->count; m++) {
        size_t c = 0;
        while (c < features->columns && strcmp(features->names[c], model->features[m].name) != 0)
            c++;
        if (c == features->columns)
            return jm__fail(err, JM_BAD_DATA, 0, NULL,
                            "%s, line 1: no column \"%.80s\", which the model needs", path,
                            model->features[m].name);
        columns[m] = c;
    }
    return JM_OK;
}

static void fill(jm_estimated_kernel *to, const jm__feature_row *row, const jm__trained *model,
                 const size_t *columns)
{
    double values[JM_TRAINED_FEATURES_MAX], beyond_w;
    to->duration_s = row->duration_s;
    for (size_t m = 0; m < model->count; m++) {
        values[m] = row->values[columns[m]];
        if (isnan(values[m]) && model->features[m].weight_w > 0)
            to->reason = "a feature that the model needs is missing";
    }
    if (to->reason[0] != '\0') return;
    to->power_w = jm__trained_power(model, values, &beyond_w);
    double u_w = hypot(hypot(model->own_u, model->family_u) * to->power_w, beyond_u * beyond_w);
    to->power_low_w = fmax(to->power_w - JM_ESTIMATE_Z * u_w, 0);
    to->power_high_w = to->power_w + JM_ESTIMATE_Z * u_w;
    to->beyond_w = beyond_w;
    to->missing_w = 0;
    to->energy_j = to->power_w * row->duration_s;
    to->energy_low_j = to->power_low_w * row->duration_s;
    to->energy_high_j = to->power_high_w * row->duration_s;
}

static jm_status add(jm_estimate *estimate, const jm__feature_row *row, const jm__trained *model,
                     const size_t *columns, size_t *beyond, jm_error *err)
{
    jm_estimated_total *t = &estimate->total;
    jm_estimated_kernel k = jm__estimated_nothing();
    k.id = (int64_t)t->kernels;
    k.line = row->line;
    k.kernel = jm__estimate_text(estimate, row->kernel);
    if (k.kernel == NULL) return jm__no_memory(err, "jm_estimate_make");
    fill(&k, row, model, columns);
    t->kernels++;
    if (isfinite(k.power_w)) {
        jm_estimated_range range = {k.power_w, k.power_low_w, k.power_high_w};
        *beyond += k.beyond_w > 0.05 * k.power_w;
        if (t->estimated == 0 || k.power_w > t->peak_w.value) t->peak_w = range;
        if (t->estimated == 0 || k.power_w < t->min_w.value) t->min_w = range;
        t->estimated++;
        t->launches++;
        t->kernels_s += k.duration_s; /* NAN without durations: then there is no energy */
        t->kernels_j.value += k.energy_j;
    }
    return jm__vec_push(&estimate->kernels, k) ? JM_OK : jm__no_memory(err, "jm_estimate_make");
}

/* Errors of a model are alike for kernels of a family; of a whole program nothing says how far they cancel,
 * so they are taken as all alike. */
static void find_totals(jm_estimate *estimate, const jm__trained *model)
{
    jm_estimated_total *t = &estimate->total;
    double u = JM_ESTIMATE_Z * hypot(model->own_u, model->family_u), energy_j = t->kernels_j.value;
    t->kernels_j = (jm_estimated_range){energy_j, energy_j * (1 - u), energy_j * (1 + u)};
    t->average_w = (jm_estimated_range){energy_j / t->kernels_s, energy_j / t->kernels_s * (1 - u),
                                        energy_j / t->kernels_s * (1 + u)};
    t->program_j = t->idle_w = (jm_estimated_range){NAN, NAN, NAN};
    t->program_s = t->idle_s = t->limit_w = t->limit_mhz = NAN;
}

static jm_status make(jm_estimate *estimate, const jm_estimate_options *options, const jm__features *features,
                      const jm__trained *model, jm_error *err)
{
    size_t columns[JM_TRAINED_FEATURES_MAX], beyond = 0;
    if (options->clock_mhz > 0 || options->program_s > 0)
        return jm__fail(err, JM_USAGE, 0, "jm_estimate_make", "a trained model knows no clocks and no gaps");
    JM_TRY(match_columns(features, model, options->csv, columns, err));
    for (size_t i = 0; i < features->count; i++)
        JM_TRY(add(estimate, &features->rows[i], model, columns, &beyond, err));
    if (estimate->total.estimated == 0)
        return jm__fail(err, JM_BAD_DATA, 0, NULL, "%s, line %lld: no kernel can be estimated; the first: %s",
                        options->csv, (long long)features->rows[0].line, estimate->kernels.items[0].reason);
    find_totals(estimate, model);
    JM_TRY(jm__estimate_note(estimate, err, "model: %s, trained on %zu kernels of %.0f to %.0f W",
                             options->model, model->kernels, model->low_w, model->high_w));
    if (beyond > 0)
        JM_TRY(jm__estimate_note(
            estimate, err, "%zu kernels do more than any that the model was trained on; intervals are wider",
            beyond));
    if (!features->has_duration)
        JM_TRY(jm__estimate_note(estimate, err, "no energy: the file has no column duration_s"));
    return JM_OK;
}

jm_status jm__estimate_of_features(jm_estimate *estimate, const jm_estimate_options *options, jm_error *err)
{
    jm__features features;
    jm__trained model;
    JM_TRY(jm__trained_read(&model, options->model, err));
    jm_status status = jm__features_read(&features, options->csv, err);
    if (status == JM_OK) status = make(estimate, options, &features, &model, err);
    if (status == JM_OK) snprintf(estimate->model, sizeof estimate->model, "%.100s", options->model);
    jm__features_free(&features);
    jm__trained_free(&model);
    return status;
}
