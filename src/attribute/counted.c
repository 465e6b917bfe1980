/* From a board's counters, and what somebody knows of their worth and of its gaps, to beliefs. */
#include "attribute/counted.h"

#include "attribute/prior/counters.h"
#include "attribute/prior/idle_states.h"
#include "attribute/prior/slots.h"
#include "base/status.h"
#include "model/store.h"

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

/* A board's own model that cannot be read must not stand in the way of a report. One shipped for its kind is
 * of use where there are counters. */
static jm_status find(jm__board_part *part, jm_error *err)
{
    jm_error own = {0};
    jm_status status = jm__model_own(&part->model, part->board, &own);
    if (status == JM_NO_MEMORY) return jm__no_memory(err, "jm_report_create");
    if (status != JM_OK)
        snprintf(part->model_fault, sizeof part->model_fault, "%.*s", (int)sizeof part->model_fault - 1,
                 own.text);
    if (part->model.count > 0 || !part->counted_by_hardware) return JM_OK;
    return jm__model_shipped(&part->model, part->board, err);
}

/* Boards of a kind may have more or fewer multiprocessors, and so slots. In one window of twenty work is
 * light, and NVML's clock the true one; where even there the model's slots are far off, this board has
 * others. */
static jm_status fit_slots(jm__board_part *part, const jm__dataset *dataset, const jm__rate_choice *choice,
                           jm_error *err)
{
    double slots, *known = &part->model.slots;
    JM_TRY(jm__slots_find(&slots, dataset, part->board->id, choice, NULL, 0.95, err));
    bool other = slots > 0 && (slots < 0.93 * *known || slots > 1.1 * *known);
    if (*known > 0 && other) *known = slots;
    return JM_OK;
}

/* Its counters are those of the recording, or they are left aside. */
static jm_status fit_counters(jm__board_part *part, const jm__dataset *dataset, const char *asked,
                              jm_error *err)
{
    const char *metrics[JM_MODEL_FEATURES_MAX];
    jm__board_model *model = &part->model;
    bool known = false;
    const jm__rate_choice choice = choice_of(model, metrics);
    if (part->counted_by_hardware) JM_TRY(jm__rates_known(&known, dataset, part->board->id, &choice, err));
    if (known) return model->shipped ? fit_slots(part, dataset, &choice, err) : JM_OK;
    if (part->counted_by_hardware && (asked != NULL || !model->shipped))
        snprintf(part->model_fault, sizeof part->model_fault,
                 "its counters are not all among those of this recording (%.120s, ...)", metrics[0]);
    jm__model_drop_counters(model);
    return JM_OK;
}

jm_status jm__counted_model(jm__board_part *part, const jm__dataset *dataset, const char *asked,
                            jm_error *err)
{
    jm__board_model *model = &part->model;
    part->counted_by_hardware = has_counters(dataset, part->board);
    if (asked != NULL && strcmp(asked, JM_MODEL_NONE) == 0) return JM_OK;
    JM_TRY(asked != NULL ? jm__model_read(model, asked, err) : find(part, err));
    if (model->count == 0) return JM_OK;
    if (strcmp(model->uuid, part->board->uuid) != 0) jm__model_is_of_another(model);
    return fit_counters(part, dataset, asked, err);
}

void jm__counted_ready(jm__board_part *part, const jm__dataset *dataset, const char *asked)
{
    bool sampled = part->counted_by_hardware && dataset->ncu == NULL;
    jm__board_model *model = &part->model;
    if (model->board == NULL) return;
    /* Without a kernel nobody knows when the board had nothing to do. */
    part->idle_known = !part->work->from_host && jm__idle_of_model(&part->idle, model);
    /* Readings have in them what its sampler drew, and a shipped model has not. */
    if (asked == NULL && model->shipped && sampled && part->sampler.windows.count == 0)
        model->constant_w += part->sampler.power_w;
}

jm_status jm__counted_believe(jm__belief *belief, jm__board_part *part, const jm__dataset *dataset,
                              const jm__expectation *expected, jm_error *err)
{
    const jm__board_model *model = &part->model;
    const char *metrics[JM_MODEL_FEATURES_MAX];
    jm__class_rates rates;
    if (model->count == 0) return JM_OK;
    const jm__rate_choice choice = choice_of(model, metrics);
    JM_TRY(jm__class_rates_find(&rates, dataset, part->board->id, &choice, &part->work->pieces,
                                part->work->columns.count, part->work->columns.class_columns, err));
    part->counter_windows = rates.windows;
    jm_status status = rates.windows == 0 ? JM_OK
                                          : jm__believe_counters(belief, model, &rates, expected,
                                                                 part->work->columns.class_columns, err);
    jm__class_rates_free(&rates);
    if (status == JM_OK || status == JM_NO_MEMORY) return status;
    /* Numbers that no sum can hold: what they say is left out, and said. */
    jm__belief_free(belief);
    part->counter_windows = 0;
    snprintf(part->model_fault, sizeof part->model_fault, "what it says of this run's counters is no belief");
    return JM_OK;
}
