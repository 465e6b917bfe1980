/* A board's model, of its own or of its kind, and the counters that it tells powers from. */
#include "attribute/prior/known.h"

#include "attribute/prior/counters.h"
#include "base/status.h"

#include <stdio.h>
#include <string.h>

/* The model's counters, as the windows are asked for them. `metrics`: room for all. */
static jm__rate_choice choice_of(const jm__board_model *model, const char **metrics)
{
    for (size_t m = 0; m < model->count; m++)
        metrics[m] = model->features[m].metric;
    return (jm__rate_choice){metrics, model->count, model->clock_mhz, model->clock_exponent, model->slots};
}

static bool has_counters(const jm__dataset *dataset, const jm_board *board)
{
    for (size_t i = 0; i < dataset->counters.set_count; i++)
        if (dataset->counters.sets[i].board_id == board->id) return true;
    return false;
}

/* What was learnt of a sensor holds for this very board and its driver. */
static void find_response(jm__board_known *known, const jm_board *board)
{
    const jm__board_model *model = &known->model;
    bool own = model->board != NULL && jm__model_has_response(model) &&
               strcmp(model->uuid, board->uuid) == 0 && strcmp(model->driver, board->driver) == 0;
    if (own) known->response = model->response;
}

/* A board's own model that cannot be read must not stand in the way of a report. One shipped for its kind is
 * of use where there are counters. */
static jm_status find(jm__board_known *known, const jm_board *board, jm_error *err)
{
    jm_error own = {0};
    jm_status status = jm__model_own(&known->model, board, &own);
    if (status == JM_NO_MEMORY) return jm__no_memory(err, "jm_report_create");
    if (status != JM_OK)
        snprintf(known->model_fault, sizeof known->model_fault, "%.*s", (int)sizeof known->model_fault - 1,
                 own.text);
    find_response(known, board);
    if (known->model.count > 0 || !known->counted_by_hardware) return JM_OK;
    jm__model_free(&known->model);
    return jm__model_shipped(&known->model, board, err);
}

/* Boards of a kind may have more or fewer multiprocessors, and so slots. In one window of twenty work is
 * light, and NVML's clock the true one; where even there the model's slots are far off, this board has
 * others. */
static jm_status fit_slots(jm__board_model *model, const jm__dataset *dataset, const jm_board *board,
                           const jm__rate_choice *choice, jm_error *err)
{
    double slots, *known = &model->slots;
    JM_TRY(jm__slots_find(&slots, dataset, board->id, choice, NULL, 0.95, err));
    bool other = slots > 0 && (slots < 0.93 * *known || slots > 1.1 * *known);
    if (*known > 0 && other) *known = slots;
    return JM_OK;
}

/* Its counters are those of the recording, or they are left aside. */
static jm_status fit_counters(jm__board_known *known, const jm__dataset *dataset, const jm_board *board,
                              const char *queried, jm_error *err)
{
    const char *metrics[JM_MODEL_FEATURES_MAX];
    jm__board_model *model = &known->model;
    bool available = false;
    const jm__rate_choice choice = choice_of(model, metrics);
    if (known->counted_by_hardware) JM_TRY(jm__rates_available(&available, dataset, board->id, &choice, err));
    if (available) return model->shipped ? fit_slots(model, dataset, board, &choice, err) : JM_OK;
    if (known->counted_by_hardware && (queried != NULL || !model->shipped))
        snprintf(known->model_fault, sizeof known->model_fault,
                 "its counters are not all among those of this recording (%.120s, ...)", metrics[0]);
    jm__model_drop_counters(model);
    return JM_OK;
}

jm_status jm__known_model(jm__board_known *known, const jm__dataset *dataset, const jm_board *board,
                          const char *queried, jm_error *err)
{
    jm__board_model *model = &known->model;
    known->counted_by_hardware = has_counters(dataset, board);
    if (queried != NULL && strcmp(queried, JM_MODEL_NONE) == 0) return JM_OK;
    JM_TRY(queried != NULL ? jm__model_read(model, queried, err) : find(known, board, err));
    if (queried != NULL) find_response(known, board);
    if (model->count == 0) return JM_OK;
    if (strcmp(model->uuid, board->uuid) != 0) jm__model_mark_other_board(model);
    return fit_counters(known, dataset, board, queried, err);
}

void jm__known_ready(jm__board_known *known, const jm__board_work *work, const jm__sampler_draw *sampler,
                     const jm__dataset *dataset, const char *queried)
{
    bool sampled = known->counted_by_hardware && dataset->ncu == NULL;
    jm__board_model *model = &known->model;
    if (model->board == NULL) return;
    /* Without a kernel nobody knows when the board had nothing to do. */
    known->idle_known = !work->from_host && jm__idle_of_model(&known->idle, model);
    /* Readings have in them what its sampler drew, and a shipped model has not. */
    if (queried == NULL && model->shipped && sampled && sampler->windows.count == 0)
        model->constant_w += sampler->known.rest_w;
}

jm_status jm__known_counters(jm__prior *prior, jm__board_known *known, const jm__dataset *dataset,
                             const jm_board *board, jm__board_work *work, const jm__expectation *expected,
                             jm_error *err)
{
    const jm__board_model *model = &known->model;
    const char *metrics[JM_MODEL_FEATURES_MAX];
    jm__class_rates rates;
    if (model->count == 0) return JM_OK;
    const jm__rate_choice choice = choice_of(model, metrics);
    JM_TRY(jm__class_rates_find(&rates, dataset, board->id, &choice, &work->pieces, work->columns.count,
                                work->columns.class_columns, err));
    known->counter_windows = rates.windows;
    jm_status status = rates.windows == 0 ? JM_OK
                                          : jm__prior_from_counters(prior, model, &rates, expected,
                                                                    work->columns.class_columns, err);
    jm__class_rates_free(&rates);
    if (status == JM_OK || status == JM_NO_MEMORY) return status;
    /* Numbers that no sum can hold: what they say is left out, and said. */
    jm__prior_free(prior);
    known->counter_windows = 0;
    snprintf(known->model_fault, sizeof known->model_fault,
             "its errors for this run's counters are not a covariance");
    return JM_OK;
}
