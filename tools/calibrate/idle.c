/* The suite fitted as a report fits a run, without counters: each kernel has a power, and each idle state. */
#include "calibrate/idle.h"

#include "attribute/fit/fit.h"
#include "attribute/fit/levels.h"
#include "base/status.h"
#include "calibrate/gaps.h"
#include "calibrate/rest_noise.h"

#include <math.h>

/* Readings have told a state, and not what is believed of any (levels.c), where they leave a quarter of the
 * variance that it has by itself there. */
static bool is_told(double power_w, double variance, double seconds)
{
    return seconds > 0 && power_w > 0 && variance > 0 && variance <= pow(JM_GAP_RELATIVE_U * power_w, 2) / 4;
}

static void take(jm__board_model *model, const jm__gaps *gaps, const jm__fit *fit)
{
    for (int s = JM_IDLE_FIRST_GAP; s < JM_IDLE_STATES; s++) {
        size_t k = gaps->class_columns + (size_t)s;
        double variance = fit->covariance[k * fit->columns + k];
        if (is_told(fit->power_w[k], variance, gaps->seconds[k]))
            model->idle[s] = (jm__model_idle){fit->power_w[k], sqrt(variance), gaps->seconds[k]};
    }
}

static jm_status learn(jm__board_model *model, const jm__lesson *l, jm__gaps *gaps, jm_error *err)
{
    const jm__fit_input input = {
        .sensor = l->sensor,
        .readings = l->recorded,
        .reading_count = l->recorded_count,
        .pieces = &gaps->pieces,
        .learn = &gaps->known,
        .report = &gaps->known,
        .class_columns = gaps->class_columns,
        .columns = gaps->columns,
        .learn_seconds = gaps->seconds,
        .seconds = gaps->seconds,
    };
    jm__fit fit;
    jm_status status = jm__fit_run(&fit, &input, err);
    if (status == JM_OK && fit.fitted) {
        take(model, gaps, &fit);
        status = jm__rest_noise_find(&model->noise_w, l, gaps, fit.response, err);
    }
    jm__fit_free(&fit);
    return status;
}

jm_status jm__idle_learn(jm__board_model *model, const jm__lesson *l, jm_error *err)
{
    jm__gaps gaps;
    jm_status status = jm__gaps_find(&gaps, l, err);
    if (status == JM_OK && !gaps.too_many) status = learn(model, l, &gaps, err);
    jm__gaps_free(&gaps);
    return status;
}
