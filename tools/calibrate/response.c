/* Learns how a board's power sensor answers, from work of known times. */
#include "attribute/attribution.h"
#include "base/options.h"
#include "base/status.h"
#include "calibrate/learn.h"
#include "format/recording.h"

#include <joulemap/model.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char call[] = "jm_response_learn";

/* Clocks of kernels and of readings are that far apart from one run to the next, and a kernel that begins
 * after a rest does not draw its power at once: of the width, relative. Both standard, on an H200:
 * bench/results/response.txt. */
static const double clocks_u_ns = 5e5, rise_u = 0.15;

static uint32_t no_row(void *context, size_t section, int64_t process_id)
{
    (void)context;
    (void)section;
    (void)process_id;
    return JM__NO_ROW;
}

static uint32_t no_collective(void *context, size_t section, int64_t process_id, uint32_t collective,
                              size_t waits_on)
{
    (void)collective;
    (void)waits_on;
    return no_row(context, section, process_id);
}

static const jm__board_part *find_part(const jm__attribution *a)
{
    for (size_t b = 0; b < a->scope.dataset->board_count; b++) {
        const jm__board_part *part = &a->boards[b];
        if (part->requested && jm__board_is_fitted(part->board) && part->readings.sensor != NULL) return part;
    }
    return NULL;
}

/* What the readings say, and what was known before. */
static void combine(double *value, double *u, double known, double known_variance, double variance)
{
    if (known_variance <= 0) { /* it is no unknown of this sensor */
        *value = known;
        *u = 0;
        return;
    }
    double weight = 1 / variance + 1 / known_variance;
    *value = (*value / variance + known / known_variance) / weight;
    *u = sqrt(1 / weight);
}

static void take(jm_learnt_response *out, const jm__board_part *part)
{
    const jm__calibration *c = &part->calibration, before = jm__calibration_of(part->readings.sensor);
    double lag_ns = 0, width_ns = 0, lag_u_ns, width_u_ns;
    for (size_t i = 0; i < c->count; i++) {
        lag_ns += c->points[i].lag_ns / (double)c->count;
        width_ns += c->points[i].width_ns / (double)c->count;
    }
    combine(&lag_ns, &lag_u_ns, before.response.lag_ns, before.lag_variance,
            c->lag_variance + clocks_u_ns * clocks_u_ns);
    combine(&width_ns, &width_u_ns, before.response.width_ns, before.width_variance,
            c->width_variance + pow(rise_u * width_ns, 2));
    *out = (jm_learnt_response){
        .simulated = part->board->simulated,
        .first_order = part->readings.sensor->response == JM_RESPONSE_FIRST_ORDER,
        .lag_ns = lag_ns,
        .lag_u_ns = lag_u_ns,
        .width_ns = width_ns,
        .width_u_ns = width_u_ns,
        .before_lag_u_ns = sqrt(before.lag_variance),
        .before_width_u_ns = sqrt(before.width_variance),
        .readings = part->fit.readings,
    };
    snprintf(out->board, sizeof out->board, "%s", part->board->name);
    snprintf(out->sensor, sizeof out->sensor, "%s", part->readings.sensor->name);
}

static bool set_text(char **to, const char *text)
{
    char *copy = strdup(text);
    if (copy == NULL) return false;
    free(*to);
    *to = copy;
    return true;
}

/* Into the model that is there, or a new one. */
static jm_status write_response(jm_learnt_response *learnt, const jm_board *board, const char *path,
                                jm_error *err)
{
    jm__board_model model = {0};
    if (path == NULL && learnt->simulated) return JM_OK;
    JM_TRY(jm__model_path(learnt->path, sizeof learnt->path, board, path, err));
    bool exists = access(learnt->path, F_OK) == 0;
    JM_TRY(exists ? jm__model_read(&model, learnt->path, err) : jm__model_init(&model, 0, err));
    jm_status status = JM_OK;
    if (exists && strcmp(model.uuid, board->uuid) != 0)
        status = jm__fail(err, JM_USAGE, 0, call, "%s is the model of another board", learnt->path);
    char *date = jm__model_date();
    bool fine = date != NULL && set_text(&model.board, board->name) && set_text(&model.uuid, board->uuid) &&
                set_text(&model.driver, board->driver) && set_text(&model.date, date);
    free(date);
    if (status == JM_OK && !fine) status = jm__no_memory(err, call);
    model.response = (jm__model_response){.lag_ns = learnt->lag_ns,
                                          .lag_u_ns = learnt->lag_u_ns,
                                          .width_ns = learnt->width_ns,
                                          .width_u_ns = learnt->width_u_ns};
    snprintf(model.response.sensor, sizeof model.response.sensor, "%s", learnt->sensor);
    if (status == JM_OK) status = jm__model_write(&model, learnt->path, err);
    jm__model_free(&model);
    return status;
}

static jm_status learn(jm_learnt_response *learnt, const jm__attribution *a, const char *path, jm_error *err)
{
    const jm__board_part *part = find_part(a);
    if (part == NULL)
        return jm__fail(err, JM_NOT_FOUND, 0, call, "no GPU in the recording has a power sensor");
    if (!part->fit.fitted || !part->calibration.taught) {
        jm__fail(err, JM_NOT_FOUND, 0, call, "the readings of %s do not show its lag",
                 part->readings.sensor->name);
        return jm__hint(err, JM_NOT_FOUND,
                        "record a kernel that runs and rests for random times, and nothing else on the GPU");
    }
    take(learnt, part);
    return write_response(learnt, part->board, path, err);
}

jm_status jm__response_learn(const jm__dataset *dataset, const jm_learn_options *options,
                             jm_learnt_response *learnt, jm_error *err)
{
    jm__attribution a = {0};
    const jm__row_of rows = {no_row, no_collective, NULL};
    const jm_report_options report = {.size = sizeof report,
                                      .by = JM_BY_KERNEL,
                                      .phase = options->phase,
                                      .board_id = options->board_id,
                                      .model = JM_MODEL_NONE};
    jm_status status = jm__attribution_begin(&a, dataset, &report, err);
    if (status == JM_OK) status = jm__attribution_fit(&a, &rows, err);
    if (status == JM_OK) status = learn(learnt, &a, options->path, err);
    jm__attribution_free(&a);
    return status;
}

jm_status jm_response_learn(jm_recording *recording, const jm_learn_options *options,
                            jm_learnt_response *learnt, jm_error *err)
{
    jm_learn_options given;
    jm_learnt_response result = {0};
    jm__dataset *dataset = NULL;
    JM_TRY(jm__options_copy(&given, sizeof given, options, call, err));
    JM_TRY(jm__dataset_load(&dataset, recording, err));
    jm_status status = jm__response_learn(dataset, &given, &result, err);
    jm__dataset_free(dataset);
    if (status == JM_OK && learnt != NULL) *learnt = result;
    return status;
}
