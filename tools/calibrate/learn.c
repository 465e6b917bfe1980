/* Learns a board's model from a phase of a recording, and finds its errors. */
#include "calibrate/learn.h"
#include "attribute/fit/calibrate.h"
#include "base/options.h"
#include "base/order.h"
#include "base/status.h"
#include "calibrate/idle.h"
#include "calibrate/weights.h"
#include "format/recording.h"
#include "model/board_model.h"

#include <joulemap/model.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- errors: kernels of a family err alike. The errors of families and of single kernels are variance
 * components (one-way analysis of variance with unequal groups: Searle, Casella, McCulloch, Variance
 * Components, 1992, 3.6). */

/* Lower bound of a kernel's error: the effect of the data it works on (attribution.md). */
static const double relative_u_min = 0.03;

static double error_of(const jm__model_kernel *kernel)
{
    return kernel->predicted_w / kernel->power_w - 1;
}

/* Sums over the kernels of one family that are in the weights. */
typedef struct family {
    double count, sum, square;
} family;

static family family_of(const jm__board_model *model, const char *name)
{
    family f = {0};
    for (size_t k = 0; k < model->kernel_count; k++) {
        const jm__model_kernel *kernel = &model->kernels[k];
        if (kernel->left_out || strcmp(kernel->family, name) != 0) continue;
        f.count++;
        f.sum += error_of(kernel);
        f.square += pow(error_of(kernel), 2);
    }
    return f;
}

/* Whether it is the first kernel of its family in the weights. */
static bool is_first(const jm__board_model *model, size_t kernel)
{
    if (model->kernels[kernel].left_out) return false;
    for (size_t k = 0; k < kernel; k++)
        if (!model->kernels[k].left_out &&
            strcmp(model->kernels[k].family, model->kernels[kernel].family) == 0)
            return false;
    return true;
}

/* Splits the variance of all errors into families and kernels, and names the worst family. */
static void split_variance(jm__board_model *model, jm_learnt *learnt)
{
    double count = 0, sum = 0, square = 0, families = 0, counts = 0, means = 0;
    for (size_t k = 0; k < model->kernel_count; k++) {
        if (!is_first(model, k)) continue;
        const family f = family_of(model, model->kernels[k].family);
        families++;
        count += f.count;
        sum += f.sum;
        square += f.square;
        counts += f.count * f.count;
        means += f.sum * f.sum / f.count;
        if (sqrt(f.square / f.count) <= learnt->worst_error) continue;
        learnt->worst_error = sqrt(f.square / f.count);
        snprintf(learnt->worst_family, sizeof learnt->worst_family, "%.63s", model->kernels[k].family);
    }
    double within = count > families ? (square - means) / (count - families) : square / count;
    double between = 0, spread = count - counts / count;
    if (families > 1 && spread > 0)
        between = ((means - sum * sum / count) / (families - 1) - within) * (families - 1) / spread;
    model->family_u = sqrt(fmax(between, 0));
    model->relative_u = fmax(sqrt(within), relative_u_min);
    model->gain_u = hypot(model->gain_u, sum / count); /* the common error of all kernels */
}

jm_status jm__cross_validate(jm__board_model *model, jm_learnt *learnt, jm_error *err)
{
    double *errors = calloc(model->kernel_count + 1, sizeof *errors);
    size_t count = 0;
    if (errors == NULL) return jm__no_memory(err, "jm_model_learn");
    for (size_t k = 0; k < model->kernel_count; k++) {
        learnt->left_out += model->kernels[k].left_out;
        if (model->kernels[k].left_out) continue;
        errors[count++] = fabs(error_of(&model->kernels[k]));
        learnt->mean_error += errors[count - 1];
    }
    qsort(errors, count, sizeof *errors, jm__compare_doubles);
    learnt->kernels = count;
    if (count > 0) {
        learnt->median_error = errors[count / 2];
        learnt->p95_error = errors[(size_t)(0.95 * (double)(count - 1) + 0.5)];
        learnt->mean_error /= (double)count;
        split_variance(model, learnt);
    }
    free(errors);
    if (count > 0) return JM_OK;
    return jm__fail(err, JM_BAD_DATA, 0, NULL, "no kernel ran long enough to measure its power");
}

/* ---- the model of a board from a phase of a recording */

/* A lower clock has a lower voltage, and an event's energy is proportional to its square. On an H200 in
 * training at 1830 of 1980 MHz, weights learnt at 1980 match the sensor's mean within 0.2 % with an exponent
 * of 1; it is 6 % too high with 0, 5 % too low with 2 (bench/results/counters.txt). */
static const double clock_exponent = 1;

/* The common error at another clock or temperature than in training: a choice, about the uncertainty of the
 * clock's exponent. */
static const double gain_u = 0.03;

/* ---- the response */

/* The range of lag and width around the profile, in its standard uncertainties. */
static const double response_range = 3;
enum { ROUNDS = 2, STEPS = 8 };

/* The mean square of the residuals with this response, over the share of rows used. */
static jm_status residual_spread(double *spread_w, jm__training_set *l, jm__response response, jm_error *err)
{
    jm__training_set_rows rows;
    jm__weights weights;
    JM_TRY(jm__training_set_rows_make(&rows, l, response, err));
    jm_status status = jm__weights_find(&weights, &rows, rows.usable, err);
    jm__training_set_rows_free(&rows);
    if (status != JM_OK) return status;
    *spread_w = weights.rms_w * weights.rms_w / ((double)weights.used / (double)l->reading_count);
    jm__weights_free(&weights);
    return JM_OK;
}

/* Golden section search over one parameter of the response. */
static jm_status search_parameter(jm__response *best, double *parameter, double low, double high,
                                  jm__training_set *l, jm_error *err)
{
    const double golden = (sqrt(5) - 1) / 2;
    double a = high - golden * (high - low), b = low + golden * (high - low), spread_a, spread_b;
    *parameter = a;
    JM_TRY(residual_spread(&spread_a, l, *best, err));
    *parameter = b;
    JM_TRY(residual_spread(&spread_b, l, *best, err));
    for (int step = 0; step < STEPS; step++) {
        bool left = spread_a < spread_b;
        if (left) {
            high = b, b = a, spread_b = spread_a;
            a = high - golden * (high - low);
        } else {
            low = a, a = b, spread_a = spread_b;
            b = low + golden * (high - low);
        }
        *parameter = left ? a : b;
        JM_TRY(residual_spread(left ? &spread_a : &spread_b, l, *best, err));
    }
    *parameter = spread_a < spread_b ? a : b;
    return JM_OK;
}

static jm_status find_response(jm__response *out, jm__training_set *l, jm_error *err)
{
    const jm__calibration known = jm__calibration_of(l->sensor);
    *out = known.response;
    double lag_u = response_range * sqrt(known.lag_variance),
           width_u = response_range * sqrt(known.width_variance);
    for (int round = 0; round < ROUNDS; round++) {
        if (lag_u > 0)
            JM_TRY(search_parameter(out, &out->lag_ns, known.response.lag_ns - lag_u,
                                    known.response.lag_ns + lag_u, l, err));
        if (width_u > 0)
            JM_TRY(search_parameter(out, &out->width_ns,
                                    fmax(known.response.width_ns - width_u, JM_WIDTH_LEAST_NS),
                                    known.response.width_ns + width_u, l, err));
    }
    return JM_OK;
}

/* ---- the model */

char *jm__model_date(void)
{
    char text[32] = "";
    time_t now = time(NULL);
    struct tm parts;
    if (gmtime_r(&now, &parts) != NULL) strftime(text, sizeof text, "%Y-%m-%d", &parts);
    return strdup(text);
}

static jm_status set_description(jm__board_model *model, const jm__training_set *l, jm_error *err)
{
    char board[JM_BOARD_TEXT + sizeof " (simulated)"];
    snprintf(board, sizeof board, "%s%s", l->board->name, l->board->simulated ? " (simulated)" : "");
    model->board = strdup(board);
    model->uuid = strdup(l->board->uuid);
    model->driver = strdup(l->board->driver);
    model->date = jm__model_date();
    bool ok = model->board != NULL && model->uuid != NULL && model->driver != NULL && model->date != NULL;
    for (size_t i = 0; ok && i < l->count; i++)
        ok = (model->features[i].metric = strdup(l->metrics[i])) != NULL;
    return ok ? JM_OK : jm__no_memory(err, "jm_model_learn");
}

static void set_weights(jm__board_model *model, const jm__training_set *l, const jm__weights *weights,
                        const jm__left_out *out)
{
    size_t n = l->count + 1;
    for (size_t i = 0; i < l->count; i++) {
        jm__feature *f = &model->features[i];
        f->reference = l->reference[i];
        f->weight_w = weights->x[i];
        for (size_t k = 0; k < l->kernels.count; k++) {
            const jm__suite_kernel *kernel = &l->kernels.items[k];
            if (kernel->rate != NULL && !kernel->left_out)
                f->most = fmax(f->most, kernel->rate[i] * l->reference[i]);
        }
    }
    model->constant_w = weights->x[n - 1];
    memcpy(model->covariance, out->covariance, n * n * sizeof *model->covariance);
    model->clock_mhz = l->clock_mhz;
    model->clock_exponent = clock_exponent;
    model->slots = l->slots;
    model->residual_w = weights->rms_w;
    model->gain_u = gain_u;
    model->sampler_w = l->sampler_w;
    model->sampler_u_w = l->sampler_u_w;
}

static jm_status set_kernels(jm__board_model *model, const jm__training_set *l, const jm__left_out *out,
                             jm_error *err)
{
    model->kernels = calloc(l->kernels.count + 1, sizeof *model->kernels);
    if (model->kernels == NULL) return jm__no_memory(err, "jm_model_learn");
    for (size_t k = 0; k < l->kernels.count; k++) {
        const jm__suite_kernel *from = &l->kernels.items[k];
        if (!isfinite(out->power_w[k]) || !(out->power_w[k] > 0)) continue;
        jm__model_kernel *to = &model->kernels[model->kernel_count++];
        *to = (jm__model_kernel){
            .name = strdup(from->name),
            .family = strdup(from->family),
            .data = strdup(from->data),
            .seconds = from->seconds,
            .power_w = out->power_w[k],
            .predicted_w = out->predicted_w[k],
            .left_out = from->left_out,
        };
        if (to->name == NULL || to->family == NULL || to->data == NULL)
            return jm__no_memory(err, "jm_model_learn");
    }
    return JM_OK;
}

static jm_status learn(jm__board_model *model, jm_learnt *learnt, jm__training_set *l,
                       const jm__training_set_rows *rows, jm_error *err)
{
    jm__weights weights;
    jm__left_out out = {0};
    JM_TRY(jm__weights_find(&weights, rows, rows->usable, err));
    jm_status status = jm__left_out_find(&out, l, rows, &weights, err);
    if (status == JM_OK) status = set_description(model, l, err);
    if (status == JM_OK) {
        set_weights(model, l, &weights, &out);
        status = set_kernels(model, l, &out, err);
    }
    learnt->features = l->count;
    learnt->families = out.families;
    for (size_t i = 0; i < rows->rows; i++)
        learnt->readings += rows->usable[i];
    learnt->readings_used = weights.used;
    learnt->residual_w = weights.rms_w;
    if (status == JM_OK) status = jm__cross_validate(model, learnt, err);
    jm__left_out_free(&out);
    jm__weights_free(&weights);
    return status;
}

static jm_status learn_from(jm__board_model *model, jm_learnt *learnt, jm__training_set *l, jm_error *err)
{
    jm__response response;
    jm__training_set_rows rows;
    JM_TRY(find_response(&response, l, err));
    JM_TRY(jm__training_set_rows_make(&rows, l, response, err));
    jm_status status = jm__model_init(model, l->count, err);
    if (status == JM_OK) {
        model->response.lag_ns = response.lag_ns;
        model->response.width_ns = response.width_ns;
        status = learn(model, learnt, l, &rows, err);
        if (status == JM_OK) status = jm__idle_learn(model, l, err);
    }
    jm__training_set_rows_free(&rows);
    return status;
}

static void copy_idle(double *power_w, double *u_w, const jm__model_idle *idle)
{
    *power_w = idle->u_w > 0 ? idle->power_w : NAN;
    *u_w = idle->u_w > 0 ? idle->u_w : NAN;
}

jm_status jm__model_path(char *out, size_t size, const jm_board *board, const char *path, jm_error *err)
{
    if (path == NULL) return jm__model_make_folder(out, size, board, err);
    if ((size_t)snprintf(out, size, "%s", path) < size) return JM_OK;
    return jm__fail(err, JM_USAGE, 0, NULL, "%s is too long a path", path);
}

/* Without a path, the model of a simulated board is not written. */
static jm_status write_model(const jm__board_model *model, jm_learnt *learnt, const jm__training_set *l,
                             const char *path, jm_error *err)
{
    snprintf(learnt->board, sizeof learnt->board, "%s", l->board->name);
    copy_idle(&learnt->idle_w, &learnt->idle_u_w, &model->idle[JM_IDLE_LONG]);
    copy_idle(&learnt->gap_w, &learnt->gap_u_w, &model->idle[JM_IDLE_20_MS]);
    learnt->noise_w = model->noise_w;
    learnt->sampler_w = model->sampler_w;
    learnt->sampler_u_w = model->sampler_u_w;
    learnt->simulated = l->board->simulated;
    if (path == NULL && learnt->simulated) return JM_OK;
    JM_TRY(jm__model_path(learnt->path, sizeof learnt->path, l->board, path, err));
    return jm__model_write(model, learnt->path, err);
}

jm_status jm_model_learn(jm_recording *recording, const jm_learn_options *options, jm_learnt *learnt,
                         jm_error *err)
{
    jm_learn_options given;
    jm_learnt result = {0};
    jm__dataset *dataset = NULL;
    jm__training_set training_set = {.rates = {.file = -1}, .work = {.file = -1}};
    jm__board_model model = {0};
    JM_TRY(jm__options_copy(&given, sizeof given, options, "jm_model_learn", err));
    if (given.phase == NULL || given.phase[0] == '\0')
        return jm__fail(err, JM_USAGE, 0, "jm_model_learn", "no phase to learn from is given");
    JM_TRY(jm__dataset_load(&dataset, recording, err));
    jm_status status =
        jm__training_set_begin(&training_set, dataset, given.phase, given.board_id, clock_exponent, err);
    if (status == JM_OK) status = learn_from(&model, &result, &training_set, err);
    if (status == JM_OK) status = write_model(&model, &result, &training_set, given.path, err);
    if (status == JM_OK && learnt != NULL) *learnt = result;
    jm__model_free(&model);
    jm__training_set_free(&training_set);
    jm__dataset_free(dataset);
    return status;
}
