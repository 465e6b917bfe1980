/* Models of boards: memory, JSON, and the files they are kept in. */
#include "model/board_model.h"

#include "base/embedded.h"
#include "base/json_value.h"
#include "base/plain.h"
#include "base/status.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

jm_status jm__model_init(jm__board_model *model, size_t features, jm_error *err)
{
    *model =
        (jm__board_model){.count = features,
                          .clock_mhz = NAN,
                          .response = {.lag_ns = NAN, .lag_u_ns = NAN, .width_ns = NAN, .width_u_ns = NAN},
                          .noise_w = NAN,
                          .sampler_w = NAN,
                          .sampler_u_w = NAN};
    model->features = calloc(features + 1, sizeof *model->features);
    model->covariance = calloc((features + 1) * (features + 1), sizeof *model->covariance);
    if (model->features != NULL && model->covariance != NULL) return JM_OK;
    jm__model_free(model);
    return jm__no_memory(err, "jm__model_init");
}

/* On another board of the kind the weights were off by 1 to 4 % (shared/attribution.md). */
static const double another_gain_u = 0.05;

void jm__model_mark_other_board(jm__board_model *model)
{
    model->shipped = true;
    model->gain_u = fmax(model->gain_u, another_gain_u);
}

bool jm__model_has_response(const jm__board_model *model)
{
    const jm__model_response *r = &model->response;
    return r->sensor[0] != '\0' && isfinite(r->lag_ns) && isfinite(r->width_ns) && isfinite(r->lag_u_ns) &&
           isfinite(r->width_u_ns);
}

bool jm__model_has_idle(const jm__board_model *model)
{
    for (int s = JM_IDLE_FIRST_GAP; s < JM_IDLE_STATES; s++)
        if (model->idle[s].u_w > 0) return true;
    return false;
}

void jm__model_drop_counters(jm__board_model *model)
{
    for (size_t i = 0; model->features != NULL && i < model->count; i++)
        free(model->features[i].metric);
    free(model->features);
    free(model->covariance);
    model->features = NULL;
    model->covariance = NULL;
    model->count = 0;
}

void jm__model_free(jm__board_model *model)
{
    jm__model_drop_counters(model);
    for (size_t i = 0; model->kernels != NULL && i < model->kernel_count; i++) {
        free(model->kernels[i].name);
        free(model->kernels[i].family);
        free(model->kernels[i].data);
    }
    free(model->board);
    free(model->uuid);
    free(model->driver);
    free(model->date);
    free(model->kernels);
    *model = (jm__board_model){0};
}

/* ---- Reading and writing JSON. Files may come from others, so every number is checked. */

#define FORMAT "joulemap board model"

enum { VERSION = 1, KERNELS_MAX = 100000, BYTES_MAX = 64 << 20 };

/* Limits of all numbers, so that results computed from them stay finite. */
static const double number_max = 1e30, reference_min = 1e-30;

/* No sensor answers later, or remembers for longer. */
static const double response_max_ns = 1e10;

/* No board has a lower clock, and no power law a higher exponent. */
static const double clock_min_mhz = 1, exponent_max = 4;

/* No board draws more, and no power is known to a thousandth of a watt. */
static const double power_max_w = 1e5, power_min_u_w = 1e-3;

static const char *const gap_texts[JM_IDLE_STATES] = {
#define X(name, text, below_ns) text,
    JM_IDLE_STATE_MAP(X)
#undef X
};

/* The state of reading a model, with the first error. */
typedef struct reading {
    const char *name; /* of the file */
    jm_error *err;
    jm_status status;
} reading;

static bool report_bad_file(reading *r, const char *what)
{
    if (r->status == JM_OK)
        r->status = jm__fail(r->err, JM_BAD_DATA, 0, NULL, "%s is not a model of a board: %s", r->name, what);
    return false;
}

static bool report_bad_key(reading *r, const char *key)
{
    if (r->status == JM_OK)
        r->status = jm__fail(r->err, JM_BAD_DATA, 0, NULL,
                             "%s is not a model of a board: \"%s\" is missing or wrong", r->name, key);
    return false;
}

static bool read_number(reading *r, const json_t *object, const char *key, double least, double most,
                        double *out)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_number(value)) return report_bad_key(r, key);
    *out = json_number_value(value);
    return (*out >= least && *out <= most) || report_bad_key(r, key);
}

static bool read_number_or_none(reading *r, const json_t *object, const char *key, double least, double most,
                                double *out)
{
    *out = NAN;
    const json_t *value = json_object_get(object, key);
    return value == NULL || json_is_null(value) || read_number(r, object, key, least, most, out);
}

/* "" if it is missing and not required. */
static bool read_text(reading *r, const json_t *object, const char *key, bool required, char **out)
{
    const json_t *value = json_object_get(object, key);
    const char *text = json_string_value(value);
    if (text == NULL && (required || value != NULL)) return report_bad_key(r, key);
    *out = strdup(text != NULL ? text : "");
    if (*out == NULL) r->status = jm__no_memory(r->err, "jm__model_read");
    return *out != NULL;
}

static bool read_features(reading *r, const json_t *list, jm__board_model *model)
{
    for (size_t i = 0; i < model->count; i++) {
        const json_t *from = json_array_get(list, i);
        jm__feature *to = &model->features[i];
        if (!read_text(r, from, "metric", true, &to->metric) ||
            !read_number(r, from, "reference", reference_min, number_max, &to->reference) ||
            !read_number(r, from, "weight_w", 0, number_max, &to->weight_w) ||
            !read_number(r, from, "most", 0, number_max, &to->most))
            return false;
    }
    return true;
}

/* Whether the matrix is a covariance: it has a Cholesky factor, up to the rounding of a file. `lower`: buffer
 * for the factor. */
static bool is_covariance(const double *covariance, double *lower, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            double rest = covariance[i * n + j];
            if (i == j) rest += 1e-6 * rest + 1e-9;
            for (size_t k = 0; k < j; k++)
                rest -= lower[i * n + k] * lower[j * n + k];
            if (i == j && !(rest > 0)) return false;
            lower[i * n + j] = i == j ? sqrt(rest) : rest / lower[j * n + j];
        }
    return true;
}

static bool check_covariance(reading *r, const jm__board_model *model)
{
    size_t n = model->count + 1;
    double *lower = calloc(n * n, sizeof *lower);
    if (lower == NULL) {
        r->status = jm__no_memory(r->err, "jm__model_read");
        return false;
    }
    bool valid = is_covariance(model->covariance, lower, n);
    free(lower);
    return valid || report_bad_key(r, "covariance");
}

/* The matrix must be symmetric. */
static bool read_covariance(reading *r, const json_t *rows, jm__board_model *model)
{
    size_t n = model->count + 1;
    if (json_array_size(rows) != n) return report_bad_key(r, "covariance");
    for (size_t i = 0; i < n; i++) {
        const json_t *row = json_array_get(rows, i);
        if (json_array_size(row) != n) return report_bad_key(r, "covariance");
        for (size_t j = 0; j < n; j++) {
            const json_t *value = json_array_get(row, j);
            double number = json_number_value(value);
            bool valid = json_is_number(value) && fabs(number) <= number_max && (i != j || number >= 0);
            valid = valid &&
                    (j >= i || fabs(number - model->covariance[j * n + i]) <= 1e-6 * fabs(number) + 1e-9);
            if (!valid) return report_bad_key(r, "covariance");
            model->covariance[i * n + j] = j < i ? model->covariance[j * n + i] : number;
        }
    }
    return check_covariance(r, model);
}

static bool read_kernel(reading *r, const json_t *from, jm__model_kernel *to)
{
    const json_t *left_out = json_object_get(from, "left_out");
    to->left_out = json_is_true(left_out);
    return (left_out == NULL || json_is_boolean(left_out) || report_bad_key(r, "left_out")) &&
           read_text(r, from, "name", true, &to->name) && read_text(r, from, "family", false, &to->family) &&
           read_text(r, from, "data", false, &to->data) &&
           read_number(r, from, "seconds", 0, number_max, &to->seconds) &&
           read_number(r, from, "power_w", 0, number_max, &to->power_w) &&
           read_number(r, from, "predicted_w", 0, number_max, &to->predicted_w);
}

static bool read_kernels(reading *r, const json_t *from, jm__board_model *model)
{
    size_t count = json_array_size(from);
    if (count > KERNELS_MAX || (from != NULL && !json_is_array(from))) return report_bad_key(r, "kernels");
    model->kernels = calloc(count + 1, sizeof *model->kernels);
    if (model->kernels == NULL) {
        r->status = jm__no_memory(r->err, "jm__model_read");
        return false;
    }
    model->kernel_count = count;
    for (size_t i = 0; i < count; i++)
        if (!read_kernel(r, json_array_get(from, i), &model->kernels[i])) return false;
    return true;
}

/* One state. Unknown and repeated states are errors. */
static bool read_state(reading *r, const json_t *from, jm__model_idle *idle)
{
    const char *gap = json_string_value(json_object_get(from, "gap"));
    int s = JM_IDLE_FIRST_GAP;
    while (gap != NULL && s < JM_IDLE_STATES && strcmp(gap, gap_texts[s]) != 0)
        s++;
    if (gap == NULL || s == JM_IDLE_STATES || idle[s].u_w > 0) return report_bad_key(r, "gap");
    return read_number(r, from, "power_w", 0, power_max_w, &idle[s].power_w) &&
           read_number(r, from, "u_w", power_min_u_w, power_max_w, &idle[s].u_w) &&
           read_number(r, from, "seconds", 0, number_max, &idle[s].seconds);
}

/* Older files have no idle states. */
static bool read_idle(reading *r, const json_t *from, jm__model_idle *idle)
{
    size_t count = json_array_size(from);
    if (from != NULL && !json_is_array(from)) return report_bad_key(r, "idle");
    for (size_t i = 0; i < count; i++)
        if (!read_state(r, json_array_get(from, i), idle)) return false;
    return true;
}

static bool read_response(reading *r, const json_t *from, jm__model_response *response)
{
    const json_t *sensor = json_object_get(from, "sensor");
    if (sensor != NULL && !json_is_string(sensor)) return report_bad_key(r, "sensor");
    if (sensor != NULL) snprintf(response->sensor, sizeof response->sensor, "%s", json_string_value(sensor));
    return read_number_or_none(r, from, "lag_ns", -response_max_ns, response_max_ns, &response->lag_ns) &&
           read_number_or_none(r, from, "lag_u_ns", 0, response_max_ns, &response->lag_u_ns) &&
           read_number_or_none(r, from, "width_ns", 0, response_max_ns, &response->width_ns) &&
           read_number_or_none(r, from, "width_u_ns", 0, response_max_ns, &response->width_u_ns);
}

static bool read_all(reading *r, const json_t *root, jm__board_model *model)
{
    const char *format = json_string_value(json_object_get(root, "format"));
    const json_t *features = json_object_get(root, "features"), *clock = json_object_get(root, "clock");
    const json_t *errors = json_object_get(root, "errors"), *response = json_object_get(root, "response");
    const json_t *sampler = json_object_get(root, "sampler");
    double version;
    if (format == NULL || strcmp(format, FORMAT) != 0) return report_bad_file(r, "its \"format\" is another");
    if (!read_number(r, root, "version", 1, number_max, &version)) return false;
    if (version > VERSION) return report_bad_file(r, "a newer joulemap wrote it");
    size_t count = json_array_size(features);
    if (!json_is_array(features) || count > JM_MODEL_FEATURES_MAX) return report_bad_key(r, "features");
    if (response != NULL && !json_is_object(response)) return report_bad_key(r, "response");
    if (sampler != NULL && !json_is_object(sampler)) return report_bad_key(r, "sampler");
    r->status = jm__model_init(model, count, r->err);
    return r->status == JM_OK && read_response(r, response, &model->response) &&
           (count > 0 || jm__model_has_response(model) || report_bad_key(r, "features")) &&
           read_text(r, root, "board", false, &model->board) &&
           read_text(r, root, "uuid", false, &model->uuid) &&
           read_text(r, root, "driver", false, &model->driver) &&
           read_text(r, root, "date", false, &model->date) && read_features(r, features, model) &&
           read_number(r, root, "constant_w", 0, number_max, &model->constant_w) &&
           read_covariance(r, json_object_get(root, "covariance"), model) &&
           read_number_or_none(r, clock, "reference_mhz", clock_min_mhz, number_max, &model->clock_mhz) &&
           read_number(r, clock, "exponent", 0, exponent_max, &model->clock_exponent) &&
           read_number(r, clock, "slots", 0, number_max, &model->slots) &&
           read_number(r, errors, "kernel", 0, number_max, &model->relative_u) &&
           read_number(r, errors, "family", 0, number_max, &model->family_u) &&
           read_number(r, errors, "gain", 0, number_max, &model->gain_u) &&
           read_number(r, errors, "residual_w", 0, number_max, &model->residual_w) &&
           read_idle(r, json_object_get(root, "idle"), model->idle) &&
           read_number_or_none(r, root, "noise_w", 0, power_max_w, &model->noise_w) &&
           read_number_or_none(r, sampler, "power_w", 0, power_max_w, &model->sampler_w) &&
           read_number_or_none(r, sampler, "u_w", 0, number_max, &model->sampler_u_w) &&
           (isnan(model->sampler_w) == isnan(model->sampler_u_w) || report_bad_key(r, "u_w")) &&
           read_kernels(r, json_object_get(root, "kernels"), model);
}

static jm_status parse_root(jm__board_model *model, json_t *root, const json_error_t *fault, const char *name,
                            jm_error *err)
{
    reading r = {.name = name, .err = err};
    *model = (jm__board_model){0};
    if (root == NULL && (fault->text[0] == '\0' || json_error_code(fault) == json_error_out_of_memory))
        r.status = jm__no_memory(err, "json_load");
    else if (root == NULL)
        r.status = jm__fail(err, JM_BAD_DATA, 0, NULL, "%s, line %d: %s", name, fault->line, fault->text);
    else if (!read_all(&r, root, model))
        jm__model_free(model);
    json_decref(root);
    return r.status;
}

jm_status jm__model_parse(jm__board_model *model, const char *text, size_t size, const char *name,
                          jm_error *err)
{
    json_error_t fault;
    size_t mark = jm__bom_length(text, size);
    return parse_root(model, json_loadb(text + mark, size - mark, 0, &fault), &fault, name, err);
}

jm_status jm__model_read(jm__board_model *model, const char *path, jm_error *err)
{
    json_error_t fault;
    FILE *file = fopen(path, "r");
    if (file == NULL && errno == ENOMEM) return jm__no_memory(err, "fopen");
    if (file == NULL)
        return jm__fail(err, errno == ENOENT ? JM_NOT_FOUND : JM_IO, errno, "fopen", "%s: %s", path,
                        strerror(errno));
    struct stat info;
    if (fstat(fileno(file), &info) == 0 && info.st_size > BYTES_MAX) {
        fclose(file);
        return jm__fail(err, JM_BAD_DATA, 0, NULL, "%s is larger than any model of a board", path);
    }
    bool readable = jm__skip_bom(file);
    json_t *root = readable ? json_loadf(file, 0, &fault) : NULL;
    fclose(file);
    if (!readable) return jm__in_utf16(path, err);
    return parse_root(model, root, &fault, path, err);
}

/* ---- writing */

/* Append to an array. NULL if the array is NULL or memory is out; then the array is freed. */
static json_t *append(json_t *array, json_t *value)
{
    if (json_array_append_new(array, value) == 0) return array; /* it takes the value also on failure */
    json_decref(array);
    return NULL;
}

static json_t *features_of(const jm__board_model *model)
{
    json_t *array = json_array();
    for (size_t i = 0; i < model->count; i++) {
        const jm__feature *f = &model->features[i];
        array = append(array, json_pack("{s:s, s:o, s:o, s:o}", "metric", f->metric, "reference",
                                        jm__json_real(f->reference), "weight_w", jm__json_real(f->weight_w),
                                        "most", jm__json_real(f->most)));
    }
    return array;
}

static json_t *covariance_of(const jm__board_model *model)
{
    json_t *rows = json_array();
    size_t n = model->count + 1;
    for (size_t i = 0; i < n; i++) {
        json_t *row = json_array();
        for (size_t j = 0; j < n; j++)
            row = append(row, jm__json_real(model->covariance[i * n + j]));
        rows = append(rows, row);
    }
    return rows;
}

static json_t *response_of(const jm__model_response *r)
{
    return json_pack("{s:s, s:o, s:o, s:o, s:o}", "sensor", r->sensor, "lag_ns", jm__json_real(r->lag_ns),
                     "lag_u_ns", jm__json_real(r->lag_u_ns), "width_ns", jm__json_real(r->width_ns),
                     "width_u_ns", jm__json_real(r->width_u_ns));
}

static json_t *idle_of(const jm__board_model *model)
{
    json_t *array = json_array();
    for (int s = JM_IDLE_FIRST_GAP; s < JM_IDLE_STATES; s++) {
        const jm__model_idle *idle = &model->idle[s];
        if (idle->u_w > 0)
            array = append(array, json_pack("{s:s, s:o, s:o, s:o}", "gap", gap_texts[s], "power_w",
                                            jm__json_real(idle->power_w), "u_w", jm__json_real(idle->u_w),
                                            "seconds", jm__json_real(idle->seconds)));
    }
    return array;
}

static json_t *kernels_of(const jm__board_model *model)
{
    json_t *array = json_array();
    for (size_t i = 0; i < model->kernel_count; i++) {
        const jm__model_kernel *k = &model->kernels[i];
        array = append(array, json_pack("{s:s, s:s, s:s, s:o, s:o, s:o, s:b}", "name", k->name, "family",
                                        k->family, "data", k->data, "seconds", jm__json_real(k->seconds),
                                        "power_w", jm__json_real(k->power_w), "predicted_w",
                                        jm__json_real(k->predicted_w), "left_out", (int)k->left_out));
    }
    return array;
}

/* NULL if memory is out. */
static char *text_of(const jm__board_model *model)
{
    json_t *root = json_pack(
        "{s:s, s:i, s:s, s:s, s:s, s:s, s:{s:o, s:f, s:f}, s:o, s:f, s:o, s:{s:f, s:f, s:f, s:f}, s:o, s:o, "
        "s:{s:o, s:o}, s:o, s:o}",
        "format", FORMAT, "version", (int)VERSION, "board", model->board, "uuid", model->uuid, "driver",
        model->driver, "date", model->date, "clock", "reference_mhz", jm__json_real(model->clock_mhz),
        "exponent", model->clock_exponent, "slots", model->slots, "features", features_of(model),
        "constant_w", model->constant_w, "covariance", covariance_of(model), "errors", "kernel",
        model->relative_u, "family", model->family_u, "gain", model->gain_u, "residual_w", model->residual_w,
        "response", response_of(&model->response), "idle", idle_of(model), "sampler", "power_w",
        jm__json_real(model->sampler_w), "u_w", jm__json_real(model->sampler_u_w), "noise_w",
        jm__json_real(model->noise_w), "kernels", kernels_of(model));
    char *text = root != NULL ? json_dumps(root, JSON_INDENT(1) | JSON_REAL_PRECISION(9)) : NULL;
    json_decref(root);
    return text;
}

static jm_status cannot_write(const char *path, jm_error *err)
{
    int code = errno;
    if (code == ENOMEM) return jm__no_memory(err, "fopen");
    return jm__fail(err, code == ENOSPC ? JM_DISK_FULL : JM_IO, code, "fopen", "%s cannot be written: %s",
                    path, strerror(code));
}

jm_status jm__model_write(const jm__board_model *model, const char *path, jm_error *err)
{
    char temporary[4096];
    if ((size_t)snprintf(temporary, sizeof temporary, "%s.new-%d", path, (int)getpid()) >= sizeof temporary)
        return jm__fail(err, JM_USAGE, 0, NULL, "%s is too long a path", path);
    char *text = text_of(model);
    if (text == NULL) return jm__no_memory(err, "jm__model_write");
    FILE *file = fopen(temporary, "w");
    bool ok = file != NULL && fputs(text, file) >= 0 && fputc('\n', file) >= 0;
    if (file != NULL) ok = fclose(file) == 0 && ok;
    free(text);
    if (ok && rename(temporary, path) == 0) return JM_OK;
    jm_status status = cannot_write(path, err);
    unlink(temporary);
    return status;
}

/* ---- the user's data folder, and models shipped with the library */

/* The files of src/model/shipped, by the profile of a board. */
extern const jm__embedded jm__shipped_models[];

/* The length of a UUID that is safe as a file name. */
static size_t plain_length(const char *uuid)
{
    return strspn(uuid, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_");
}

/* The path of a board's model; for "" the path of the folder, with a slash at its end. */
static jm_status path_of(char *path, size_t size, const char *uuid, jm_error *err)
{
    const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    const char *end = uuid[0] != '\0' ? ".json" : "";
    bool absolute = data != NULL && data[0] == '/';
    if (!absolute && (home == NULL || home[0] != '/'))
        return jm__fail(err, JM_NOT_FOUND, 0, NULL,
                        "neither XDG_DATA_HOME nor HOME says where models are kept");
    int length = absolute ? snprintf(path, size, "%s/joulemap/models/%s%s", data, uuid, end)
                          : snprintf(path, size, "%s/.local/share/joulemap/models/%s%s", home, uuid, end);
    if (length > 0 && (size_t)length < size) return JM_OK;
    return jm__fail(err, JM_NOT_FOUND, 0, NULL, "the path of the folder for models is too long");
}

jm_status jm__model_own_path(char *path, size_t size, const jm_board *board, jm_error *err)
{
    if (board->uuid[0] == '\0' || board->uuid[plain_length(board->uuid)] != '\0')
        return jm__fail(err, JM_NOT_FOUND, 0, NULL, "%s has no UUID to keep its model by", board->name);
    return path_of(path, size, board->uuid, err);
}

jm_status jm__model_make_folder(char *path, size_t size, const jm_board *board, jm_error *err)
{
    JM_TRY(jm__model_own_path(path, size, board, err));
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        bool made = mkdir(path, 0777) == 0 || errno == EEXIST;
        int code = errno;
        if (!made) return jm__fail(err, JM_IO, code, "mkdir", "%s cannot be made: %s", path, strerror(code));
        *slash = '/';
    }
    return JM_OK;
}

jm_status jm__model_shipped(jm__board_model *model, const jm_board *board, jm_error *err)
{
    *model = (jm__board_model){0};
    for (const jm__embedded *known = jm__shipped_models; known->name != NULL; known++) {
        if (strcmp(known->name, board->profile) != 0) continue;
        JM_TRY(jm__model_parse(model, known->text, known->length, known->name, err));
        jm__model_mark_other_board(model);
        return JM_OK;
    }
    return JM_OK;
}

jm_status jm__model_own(jm__board_model *model, const jm_board *board, jm_error *err)
{
    char path[4096];
    *model = (jm__board_model){0};
    if (jm__model_own_path(path, sizeof path, board, NULL) != JM_OK || access(path, F_OK) != 0) return JM_OK;
    return jm__model_read(model, path, err);
}

/* "UUID.json" */
static int is_model_file(const struct dirent *entry)
{
    size_t length = plain_length(entry->d_name);
    return length > 0 && length < JM_BOARD_TEXT && strcmp(entry->d_name + length, ".json") == 0;
}

jm_status jm__model_each_own(jm_status (*take)(void *taker, const char *uuid, const char *path,
                                               jm_error *err),
                             void *taker, jm_error *err)
{
    char folder[4096], path[4096 + 256];
    struct dirent **found = NULL;
    if (path_of(folder, sizeof folder, "", NULL) != JM_OK) return JM_OK;
    int count = scandir(folder, &found, is_model_file, alphasort);
    if (count < 0 && errno == ENOMEM) return jm__no_memory(err, "scandir");
    jm_status status = JM_OK;
    for (int i = 0; i < count; i++) {
        snprintf(path, sizeof path, "%s%s", folder, found[i]->d_name);
        found[i]->d_name[strlen(found[i]->d_name) - 5] = '\0';
        if (status == JM_OK) status = take(taker, found[i]->d_name, path, err);
        free(found[i]);
    }
    free(found);
    return status;
}
