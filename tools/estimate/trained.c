/* A trained model: its file and its prediction. */
#include "estimate/trained.h"

#include "base/plain.h"
#include "base/status.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FORMAT "joulemap trained model"

enum { VERSION = 1 };

static const double number_max = 1e30, reference_min = 1e-30;

/* *root is NULL if it fails. */
static jm_status load_json(json_t **root, const char *path, jm_error *err)
{
    json_error_t json_err;
    *root = NULL;
    FILE *file = fopen(path, "re");
    if (file == NULL) return jm__fail(err, JM_NOT_FOUND, errno, "open", "%s: %s", path, strerror(errno));
    bool readable = jm__skip_bom(file);
    if (readable) *root = json_loadf(file, JSON_REJECT_DUPLICATES, &json_err);
    fclose(file);
    if (!readable) return jm__in_utf16(path, err);
    if (*root != NULL) return JM_OK;
    return jm__fail(err, JM_BAD_DATA, 0, "json_loadf", "%s, line %d: %s", path, json_err.line, json_err.text);
}

static bool has_format(const json_t *root)
{
    const char *format = json_string_value(json_object_get(root, "format"));
    return format != NULL && strcmp(format, FORMAT) == 0;
}

jm_status jm__trained_is(const char *path, bool *is_trained, jm_error *err)
{
    json_t *root;
    jm_error cause = {0};
    bool damaged = load_json(&root, path, &cause) == JM_BAD_DATA;
    *is_trained = has_format(root);
    json_decref(root);
    if (damaged && err != NULL) *err = cause;
    return damaged ? JM_BAD_DATA : JM_OK;
}

jm_status jm__trained_init(jm__trained *model, size_t count, jm_error *err)
{
    *model =
        (jm__trained){.count = count, .features = calloc(count + 1, sizeof *model->features), .exponent = 1};
    return model->features != NULL ? JM_OK : jm__no_memory(err, "jm__trained_init");
}

void jm__trained_free(jm__trained *model)
{
    for (size_t i = 0; model->features != NULL && i < model->count; i++)
        free(model->features[i].name);
    free(model->features);
    *model = (jm__trained){0};
}

static bool read_number(const json_t *object, const char *key, double min, double *out)
{
    const json_t *value = json_object_get(object, key);
    *out = json_number_value(value);
    return json_is_number(value) && *out >= min && *out <= number_max;
}

static const char *read_feature(jm__trained_feature *to, const json_t *from)
{
    const char *name = json_string_value(json_object_get(from, "name"));
    if (name == NULL || (to->name = strdup(name)) == NULL) return "name";
    if (!read_number(from, "reference", reference_min, &to->reference)) return "reference";
    if (!read_number(from, "least", -number_max, &to->least)) return "least";
    if (!read_number(from, "most", -number_max, &to->most)) return "most";
    return read_number(from, "weight_w", 0, &to->weight_w) ? NULL : "weight_w";
}

/* The key that is missing or wrong; NULL: none. */
static const char *read_model(jm__trained *model, const json_t *root)
{
    double version, kernels;
    if (!read_number(root, "version", VERSION, &version) || version > VERSION) return "version";
    if (!read_number(root, "exponent", 0.01, &model->exponent) || model->exponent > 4) return "exponent";
    if (!read_number(root, "constant_w", 0, &model->constant_w)) return "constant_w";
    if (!read_number(root, "own_u", 0, &model->own_u)) return "own_u";
    if (!read_number(root, "family_u", 0, &model->family_u)) return "family_u";
    if (!read_number(root, "low_w", 0, &model->low_w)) return "low_w";
    if (!read_number(root, "high_w", 0, &model->high_w)) return "high_w";
    if (!read_number(root, "kernels", 0, &kernels)) return "kernels";
    model->kernels = (size_t)kernels;
    for (size_t i = 0; i < model->count; i++) {
        const char *wrong =
            read_feature(&model->features[i], json_array_get(json_object_get(root, "features"), i));
        if (wrong != NULL) return wrong;
    }
    return NULL;
}

jm_status jm__trained_read(jm__trained *model, const char *path, jm_error *err)
{
    *model = (jm__trained){0};
    json_t *root;
    JM_TRY(load_json(&root, path, err));
    size_t count = json_array_size(json_object_get(root, "features"));
    const char *wrong = !has_format(root)                               ? "format"
                        : count == 0 || count > JM_TRAINED_FEATURES_MAX ? "features"
                                                                        : NULL;
    jm_status status = wrong == NULL ? jm__trained_init(model, count, err) : JM_OK;
    if (wrong == NULL && status == JM_OK) wrong = read_model(model, root);
    json_decref(root);
    if (wrong != NULL)
        status = jm__fail(err, JM_BAD_DATA, 0, NULL, "%s is not a trained model: \"%s\" is missing or wrong",
                          path, wrong);
    if (status != JM_OK) jm__trained_free(model);
    return status;
}

double jm__trained_shape(double value, double reference, double exponent)
{
    return value > 0 ? pow(value / reference, exponent) : 0;
}

double jm__trained_power(const jm__trained *model, const double *values, double *beyond_w)
{
    double power_w = model->constant_w;
    *beyond_w = 0;
    for (size_t i = 0; i < model->count; i++) {
        const jm__trained_feature *f = &model->features[i];
        double part = jm__trained_shape(values[i], f->reference, model->exponent);
        power_w += f->weight_w * part;
        if (values[i] > f->most)
            *beyond_w += f->weight_w * (part - jm__trained_shape(f->most, f->reference, model->exponent));
    }
    return power_w;
}
