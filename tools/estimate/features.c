/* Tables of features and watts, and an estimate from them with a trained model. */
#include "estimate/features.h"

#include "base/csv.h"
#include "base/map.h"
#include "base/plain.h"
#include "base/status.h"
#include "base/vec.h"
#include "estimate/estimate.h"
#include "estimate/trained.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading features and powers */

enum { NONE = -1 };

static const double power_max_w = 1e5;

typedef struct csv_columns {
    long kernel, family, duration, power, u;
    long *features; /* [csv columns]: index of the feature; NONE */
} csv_columns;

static const char *store_text(jm__features *features, const char *text)
{
    return jm__text_store_add(&features->texts, text, strlen(text));
}

/* The family of "gemm/4096" and "gemm_k2" is "gemm". */
static const char *family_of(jm__features *features, const char *kernel)
{
    size_t length = strcspn(kernel, "/");
    if (kernel[length] == '\0') {
        size_t end = length;
        while (end > 0 && kernel[end - 1] >= '0' && kernel[end - 1] <= '9')
            end--;
        if (end < length && end >= 2 && kernel[end - 1] == 'k' && kernel[end - 2] == '_') length = end - 2;
    }
    return jm__text_store_add(&features->texts, kernel, length);
}

static jm_status find_columns(jm__features *to, csv_columns *c, const jm__csv *csv, jm_error *err)
{
    size_t count = jm__csv_column_count(csv);
    size_t kernel;
    JM_TRY(jm__csv_column(csv, "kernel", &kernel, err));
    c->kernel = (long)kernel;
    c->family = c->duration = c->power = c->u = NONE;
    c->features = calloc(count, sizeof *c->features);
    to->names = calloc(count, sizeof *to->names);
    if (c->features == NULL || to->names == NULL) return jm__no_memory(err, "jm__features_read");
    for (size_t i = 0; i < count; i++) {
        const char *name = jm__csv_column_name(csv, i);
        c->features[i] = NONE;
        if (jm__equal_ignoring_case(name, "kernel") || jm__equal_ignoring_case(name, "id") ||
            jm__csv_unnamed(csv, i))
            continue;
        long *special = jm__equal_ignoring_case(name, "family")       ? &c->family
                        : jm__equal_ignoring_case(name, "duration_s") ? &c->duration
                        : jm__equal_ignoring_case(name, "power_w")    ? &c->power
                        : jm__equal_ignoring_case(name, "u_w")        ? &c->u
                                                                      : NULL;
        if (special != NULL) {
            *special = (long)i;
            continue;
        }
        c->features[i] = (long)to->columns;
        to->names[to->columns] = store_text(to, name);
        if (to->names[to->columns++] == NULL) return jm__no_memory(err, "jm__features_read");
    }
    to->has_duration = c->duration != NONE;
    return to->columns > 0 ? JM_OK : jm__csv_bad(csv, kernel, err, "there is no column with a feature");
}

static jm_status read_optional_number(const jm__csv *csv, long column, double *out, jm_error *err)
{
    *out = NAN;
    if (column == NONE || jm__csv_missing(csv, (size_t)column)) return JM_OK;
    return jm__csv_number(csv, (size_t)column, out, err);
}

static jm_status check_power(const jm__csv *csv, long column, double power_w, jm_error *err)
{
    if (isnan(power_w) || (power_w > 0 && power_w < power_max_w)) return JM_OK;
    return jm__csv_bad(csv, (size_t)column, err, "%g W is not a power of a kernel", power_w);
}

typedef JM_VEC(jm__feature_row) row_list;
typedef JM_VEC(double) number_list;

static jm_status read_row(jm__features *to, const csv_columns *c, const jm__csv *csv, row_list *rows,
                          number_list *values, jm_error *err)
{
    jm__feature_row row = {.line = jm__csv_line(csv),
                           .kernel = store_text(to, jm__csv_name(csv, (size_t)c->kernel))};
    if (row.kernel == NULL) return jm__no_memory(err, "jm__features_read");
    if (row.kernel[0] == '\0') return jm__csv_bad(csv, (size_t)c->kernel, err, "a kernel without a name");
    row.family =
        c->family != NONE ? store_text(to, jm__csv_name(csv, (size_t)c->family)) : family_of(to, row.kernel);
    JM_TRY(read_optional_number(csv, c->duration, &row.duration_s, err));
    JM_TRY(read_optional_number(csv, c->power, &row.power_w, err));
    JM_TRY(read_optional_number(csv, c->u, &row.u_w, err));
    JM_TRY(check_power(csv, c->power, row.power_w, err));
    if (isnan(row.u_w)) row.u_w = 0;
    for (size_t i = 0; i < jm__csv_column_count(csv); i++) {
        double value;
        if (c->features[i] == NONE) continue;
        JM_TRY(read_optional_number(csv, (long)i, &value, err));
        if (value < 0)
            return jm__csv_bad(csv, i, err, "%g: a feature is a rate, a duty or a percentage, none below 0",
                               value);
        if (!jm__vec_push(values, value)) return jm__no_memory(err, "jm__features_read");
    }
    if (rows->count >= JM_FEATURE_ROWS_MAX)
        return jm__csv_bad(csv, (size_t)c->kernel, err, "more than %d kernels", JM_FEATURE_ROWS_MAX);
    return row.family != NULL && jm__vec_push(rows, row) ? JM_OK : jm__no_memory(err, "jm__features_read");
}

static jm_status read_rows(jm__features *to, const csv_columns *c, jm__csv *csv, jm_error *err)
{
    row_list rows = {0};
    number_list values = {0};
    jm_status status;
    for (;;) {
        bool more;
        status = jm__csv_next(csv, &more, err);
        if (status != JM_OK || !more) break;
        status = read_row(to, c, csv, &rows, &values, err);
        if (status != JM_OK) break;
    }
    to->rows = rows.items;
    to->count = rows.count;
    to->values = values.items;
    for (size_t i = 0; i < to->count; i++)
        to->rows[i].values = to->values + i * to->columns;
    if (status != JM_OK || to->count > 0) return status;
    return jm__csv_bad(csv, (size_t)c->kernel, err, "there is no kernel below the header line");
}

jm_status jm__features_read(jm__features *features, const char *path, jm_error *err)
{
    jm__csv *csv;
    csv_columns c = {0};
    *features = (jm__features){0};
    JM_TRY(jm__csv_open(&csv, path, err));
    jm_status status = find_columns(features, &c, csv, err);
    if (status == JM_OK) status = read_rows(features, &c, csv, err);
    jm__csv_close(csv);
    free(c.features);
    if (status != JM_OK) jm__features_free(features);
    return status;
}

void jm__features_free(jm__features *features)
{
    free(features->names);
    free(features->rows);
    free(features->values);
    jm__text_store_free(&features->texts);
    *features = (jm__features){0};
}

static jm_status read_power(jm__features *features, const jm__map *rows, const jm__csv *csv, size_t kernel,
                            size_t power, size_t *unknown, jm_error *err)
{
    size_t u = jm__csv_find(csv, "u_w");
    double power_w, u_w = NAN;
    const char *name = jm__csv_name(csv, kernel);
    JM_TRY(read_optional_number(csv, (long)power, &power_w, err));
    if (isnan(power_w)) return JM_OK; /* an empty field */
    JM_TRY(check_power(csv, (long)power, power_w, err));
    if (u != JM_CSV_NONE) JM_TRY(read_optional_number(csv, (long)u, &u_w, err));
    const jm__map_value *row = jm__map_find(rows, &name);
    if (row == NULL) {
        (*unknown)++;
        return JM_OK;
    }
    if (!isnan(features->rows[row->id].power_w))
        return jm__csv_bad(csv, kernel, err, "\"%.80s\" has a power already", name);
    features->rows[row->id].power_w = power_w;
    features->rows[row->id].u_w = isnan(u_w) ? 0 : fabs(u_w);
    return JM_OK;
}

static jm_status map_rows(const jm__features *features, jm__map *rows, const char *path, jm_error *err)
{
    for (size_t i = 0; i < features->count; i++) {
        if (jm__map_find(rows, &features->rows[i].kernel) != NULL)
            return jm__fail(err, JM_BAD_DATA, 0, NULL,
                            "\"%.80s\" is twice among the features (line %lld): powers in %s "
                            "cannot be assigned",
                            features->rows[i].kernel, (long long)features->rows[i].line, path);
        if (!jm__map_put(rows, &features->rows[i].kernel, (jm__map_value){.id = (int64_t)i}))
            return jm__no_memory(err, "jm__powers_read");
    }
    return JM_OK;
}

jm_status jm__powers_read(jm__features *features, const char *path, size_t *unknown, jm_error *err)
{
    jm__csv *csv;
    jm__map rows = JM_MAP_OF_TEXTS;
    size_t kernel, power;
    bool more = true;
    *unknown = 0;
    JM_TRY(jm__csv_open(&csv, path, err));
    jm_status status = jm__csv_column(csv, "kernel", &kernel, err);
    if (status == JM_OK) status = jm__csv_column(csv, "power_w", &power, err);
    if (status == JM_OK) status = map_rows(features, &rows, path, err);
    while (status == JM_OK) {
        status = jm__csv_next(csv, &more, err);
        if (status != JM_OK || !more) break;
        status = read_power(features, &rows, csv, kernel, power, unknown, err);
    }
    jm__csv_close(csv);
    jm__map_free(&rows);
    return status;
}

/* ---- an estimate from a table of features, with a trained model */

/* Relative uncertainty of the power beyond the training range. A choice, as with boards' models. */
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

static void estimate_row(jm_estimated_kernel *to, const jm__feature_row *row, const jm__trained *model,
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

static jm_status add_kernel(jm_estimate *estimate, const jm__feature_row *row, const jm__trained *model,
                            const size_t *columns, size_t *beyond, jm_error *err)
{
    jm_estimated_total *t = &estimate->total;
    jm_estimated_kernel k = jm__estimated_empty();
    k.id = (int64_t)t->kernels;
    k.line = row->line;
    k.kernel = jm__estimate_text(estimate, row->kernel);
    if (k.kernel == NULL) return jm__no_memory(err, "jm_estimate_make");
    estimate_row(&k, row, model, columns);
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

/* Kernels of a family have alike errors. How far errors cancel over a program is unknown, so all errors are
 * taken as equal. */
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

static jm_status estimate_rows(jm_estimate *estimate, const jm_estimate_options *options,
                               const jm__features *features, const jm__trained *model, jm_error *err)
{
    size_t columns[JM_TRAINED_FEATURES_MAX], beyond = 0;
    if (options->clock_mhz > 0 || options->program_s > 0)
        return jm__fail(err, JM_USAGE, 0, "jm_estimate_make", "a trained model has no clocks and no gaps");
    JM_TRY(match_columns(features, model, options->csv, columns, err));
    for (size_t i = 0; i < features->count; i++)
        JM_TRY(add_kernel(estimate, &features->rows[i], model, columns, &beyond, err));
    if (estimate->total.estimated == 0)
        return jm__fail(err, JM_BAD_DATA, 0, NULL, "%s, line %lld: no kernel can be estimated; the first: %s",
                        options->csv, (long long)features->rows[0].line, estimate->kernels.items[0].reason);
    find_totals(estimate, model);
    jm__estimate_note(&estimate->notes, "model: %s, trained on %zu kernels of %.0f to %.0f W", options->model,
                      model->kernels, model->low_w, model->high_w);
    if (beyond > 0)
        jm__estimate_note(&estimate->notes,
                          "%zu kernels do more than any that the model was trained on; intervals are wider",
                          beyond);
    if (!features->has_duration)
        jm__estimate_note(&estimate->notes, "no energy: the file has no column duration_s");
    return JM_OK;
}

jm_status jm__estimate_of_features(jm_estimate *estimate, const jm_estimate_options *options, jm_error *err)
{
    jm__features features;
    jm__trained model;
    JM_TRY(jm__trained_read(&model, options->model, err));
    jm_status status = jm__features_read(&features, options->csv, err);
    if (status == JM_OK) status = estimate_rows(estimate, options, &features, &model, err);
    if (status == JM_OK) snprintf(estimate->model, sizeof estimate->model, "%.100s", options->model);
    jm__features_free(&features);
    jm__trained_free(&model);
    return status;
}
