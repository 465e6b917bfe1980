/* Reading features and powers. */
#include "estimate/features.h"

#include "base/csv.h"
#include "base/map.h"
#include "base/plain.h"
#include "base/status.h"
#include "base/vec.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NONE = -1 };

static const double power_most_w = 1e5;

typedef struct columns {
    long kernel, family, duration, power, u;
    long *features; /* [csv columns]: which feature; NONE */
} columns;

static const char *keep(jm__features *features, const char *text)
{
    return jm__text_store_add(&features->texts, text, strlen(text));
}

/* "gemm/4096" and "gemm_k2" are of gemm. */
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

static jm_status find_columns(jm__features *to, columns *c, const jm__csv *csv, jm_error *err)
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
        if (jm__same_letters(name, "kernel") || jm__same_letters(name, "id") || jm__csv_unnamed(csv, i))
            continue;
        if (jm__same_letters(name, "family")) {
            c->family = (long)i;
        } else if (jm__same_letters(name, "duration_s")) {
            c->duration = (long)i;
        } else if (jm__same_letters(name, "power_w")) {
            c->power = (long)i;
        } else if (jm__same_letters(name, "u_w")) {
            c->u = (long)i;
        } else {
            c->features[i] = (long)to->columns;
            to->names[to->columns++] = keep(to, name);
            if (to->names[to->columns - 1] == NULL) return jm__no_memory(err, "jm__features_read");
        }
    }
    to->has_family = c->family != NONE;
    to->has_duration = c->duration != NONE;
    return to->columns > 0 ? JM_OK
                           : jm__csv_bad(csv, kernel, err, "there is no column with a feature beside it");
}

static jm_status number_or_none(const jm__csv *csv, long column, double *out, jm_error *err)
{
    *out = NAN;
    if (column == NONE || jm__csv_missing(csv, (size_t)column)) return JM_OK;
    return jm__csv_number(csv, (size_t)column, out, err);
}

static jm_status check_power(const jm__csv *csv, long column, double power_w, jm_error *err)
{
    if (isnan(power_w) || (power_w > 0 && power_w < power_most_w)) return JM_OK;
    return jm__csv_bad(csv, (size_t)column, err, "%g W is no power of a kernel", power_w);
}

typedef JM_VEC(jm__feature_row) row_list;
typedef JM_VEC(double) number_list;

static jm_status read_row(jm__features *to, const columns *c, const jm__csv *csv, row_list *rows,
                          number_list *values, jm_error *err)
{
    jm__feature_row row = {.line = jm__csv_line(csv),
                           .kernel = keep(to, jm__csv_name(csv, (size_t)c->kernel))};
    if (row.kernel == NULL) return jm__no_memory(err, "jm__features_read");
    if (row.kernel[0] == '\0') return jm__csv_bad(csv, (size_t)c->kernel, err, "a kernel without a name");
    row.family =
        c->family != NONE ? keep(to, jm__csv_name(csv, (size_t)c->family)) : family_of(to, row.kernel);
    JM_TRY(number_or_none(csv, c->duration, &row.duration_s, err));
    JM_TRY(number_or_none(csv, c->power, &row.power_w, err));
    JM_TRY(number_or_none(csv, c->u, &row.u_w, err));
    JM_TRY(check_power(csv, c->power, row.power_w, err));
    if (isnan(row.u_w)) row.u_w = 0;
    for (size_t i = 0; i < jm__csv_column_count(csv); i++) {
        double value;
        if (c->features[i] == NONE) continue;
        JM_TRY(number_or_none(csv, (long)i, &value, err));
        if (value < 0)
            return jm__csv_bad(csv, i, err, "%g: a feature is a rate, a duty or a percentage, none below 0",
                               value);
        if (!jm__vec_push(values, value)) return jm__no_memory(err, "jm__features_read");
    }
    if (rows->count >= JM_FEATURE_ROWS_MAX)
        return jm__csv_bad(csv, (size_t)c->kernel, err, "more than %d kernels", JM_FEATURE_ROWS_MAX);
    return row.family != NULL && jm__vec_push(rows, row) ? JM_OK : jm__no_memory(err, "jm__features_read");
}

static jm_status read_rows(jm__features *to, const columns *c, jm__csv *csv, jm_error *err)
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
    columns c = {0};
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
    size_t u;
    double power_w, u_w = NAN;
    const char *name = jm__csv_name(csv, kernel);
    JM_TRY(number_or_none(csv, (long)power, &power_w, err));
    if (isnan(power_w)) return JM_OK; /* a gap */
    JM_TRY(check_power(csv, (long)power, power_w, err));
    if (jm__csv_has(csv, "u_w") && jm__csv_column(csv, "u_w", &u, NULL) == JM_OK)
        JM_TRY(number_or_none(csv, (long)u, &u_w, err));
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
                            "\"%.80s\" stands twice among the features (line %lld): powers in %s "
                            "cannot tell which is meant",
                            features->rows[i].kernel, (long long)features->rows[i].line, path);
        if (!jm__map_put(rows, &features->rows[i].kernel, (jm__map_value){.id = (int64_t)i}))
            return jm__no_memory(err, "jm__powers_read");
    }
    return JM_OK;
}

jm_status jm__powers_read(jm__features *features, const char *path, size_t *unknown, size_t *without,
                          jm_error *err)
{
    jm__csv *csv;
    jm__map rows = JM_MAP_OF_TEXTS;
    size_t kernel, power;
    bool more = true;
    *unknown = *without = 0;
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
    for (size_t i = 0; i < features->count; i++)
        *without += isnan(features->rows[i].power_w) ? 1 : 0;
    return status;
}
