/* Readings at rest, each less the mean of its stretch: a board that cooled in between is no noise. */
#include "calibrate/rest_noise.h"

#include "attribute/fit/calibrate.h"
#include "attribute/fit/misfit.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>

/* Of a reading's weight, what may lie in anything else: of 1000 W, a watt. */
static const double awake_most = 1e-3;

static jm_status choose(jm__reading_list *out, const jm__lesson *l, jm__gaps *gaps, jm__response response,
                        jm_error *err)
{
    jm__design design = {0};
    size_t rest = gaps->class_columns + JM_IDLE_LONG;
    jm_status status = jm__design_init(&design, &gaps->pieces, gaps->columns, err);
    if (status == JM_OK) jm__design_start(&design, response);
    for (size_t i = 0; status == JM_OK && i < l->recorded_count; i++) {
        jm_reading reading = l->recorded[i];
        if (!jm__windows_hold(&gaps->known, reading.t_ns) || !isfinite(reading.value)) continue;
        if (out->count > 0 && out->items[out->count - 1].t_ns >= reading.t_ns) continue;
        if (jm__design_row(&design, reading.t_ns)[rest] < 1 - awake_most) continue;
        if (!jm__vec_push(out, reading)) status = jm__no_memory(err, "jm_model_learn");
    }
    jm__design_free(&design);
    return status;
}

/* Returns how many stretches of neighbours there are. */
static size_t take_means(double *residual, const jm__pass *pass)
{
    size_t stretches = 0;
    for (size_t from = 0, to; from < pass->count; from = to, stretches++) {
        double mean_w = 0;
        for (to = from + 1; to < pass->count && jm__pass_are_neighbours(pass, to); to++)
            ;
        for (size_t i = from; i < to; i++)
            mean_w += pass->readings[i].value / (double)(to - from);
        for (size_t i = from; i < to; i++)
            residual[i] = pass->readings[i].value - mean_w;
    }
    return stretches;
}

jm_status jm__rest_noise_find(double *noise_w, const jm__lesson *l, jm__gaps *gaps, jm__response response,
                              jm_error *err)
{
    jm__reading_list rest = {0};
    jm_status status = choose(&rest, l, gaps, response, err);
    const jm__pass pass = {.readings = rest.items, .count = rest.count, .period_ns = l->sensor->period_ns};
    double *residual = calloc(rest.count + 1, sizeof *residual);
    *noise_w = NAN;
    if (status == JM_OK && residual == NULL) status = jm__no_memory(err, "jm_model_learn");
    if (status == JM_OK) {
        jm__noise noise;
        size_t stretches = take_means(residual, &pass);
        jm__noise_of_residuals(&noise, &pass, residual, (double)(rest.count - stretches));
        if (noise.white > 0) *noise_w = sqrt(noise.white);
    }
    free(residual);
    jm__vec_free(&rest);
    return status;
}
