/* Room for a model. */
#include "model/board_model.h"

#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

jm_status jm__model_init(jm__board_model *model, size_t features, jm_error *err)
{
    *model = (jm__board_model){.count = features,
                               .lag_ns = NAN,
                               .width_ns = NAN,
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

void jm__model_is_of_another(jm__board_model *model)
{
    model->shipped = true;
    model->gain_u = fmax(model->gain_u, another_gain_u);
}

bool jm__model_knows_idle(const jm__board_model *model)
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
