/* The rows of a lesson: each reading as what its sensor remembers. */
#include "calibrate/lesson_rows.h"

#include "base/status.h"

#include <stdlib.h>
#include <string.h>

/* Of a reading's weight, what may lie where no counters were. */
static const double uncovered_most = 1e-3;

static bool is_usable(const jm__lesson_rows *rows, size_t i)
{
    return rows->feature[i * rows->features + rows->features - 1] >= 1 - uncovered_most &&
           rows->left_out[i] <= JM_LEFT_OUT_MOST;
}

static jm_status make_rows(jm__lesson_rows *rows, jm__lesson *l, jm__design *rates, jm__design *work,
                           jm__response response, jm_error *err)
{
    JM_TRY(jm__design_init(rates, &l->rates, rows->features, err));
    JM_TRY(jm__design_init(work, &l->work, rows->kernels + 1, err));
    jm__design_start(rates, response);
    jm__design_start(work, response);
    for (size_t i = 0; i < rows->rows; i++) {
        const jm_reading *reading = &l->readings[i];
        memcpy(rows->feature + i * rows->features, jm__design_row(rates, reading->t_ns),
               rows->features * sizeof *rows->feature);
        memcpy(rows->kernel + i * rows->kernels, jm__design_row(work, reading->t_ns) + 1,
               rows->kernels * sizeof *rows->kernel);
        rows->power_w[i] = reading->value;
        for (size_t k = 0; k < rows->kernels; k++)
            if (l->kernels.items[k].left_out) rows->left_out[i] += rows->kernel[i * rows->kernels + k];
        rows->usable[i] = is_usable(rows, i);
    }
    return JM_OK;
}

jm_status jm__lesson_rows_make(jm__lesson_rows *out, jm__lesson *l, jm__response response, jm_error *err)
{
    size_t rows = l->reading_count;
    jm__design rates = {0}, work = {0};
    *out = (jm__lesson_rows){.rows = rows, .features = l->count + 1, .kernels = l->kernels.count};
    out->feature = calloc(rows * out->features + 1, sizeof *out->feature);
    out->kernel = calloc(rows * out->kernels + 1, sizeof *out->kernel);
    out->power_w = calloc(rows + 1, sizeof *out->power_w);
    out->left_out = calloc(rows + 1, sizeof *out->left_out);
    out->usable = calloc(rows + 1, sizeof *out->usable);
    bool fine = out->feature != NULL && out->kernel != NULL && out->power_w != NULL &&
                out->left_out != NULL && out->usable != NULL;
    jm_status status =
        fine ? make_rows(out, l, &rates, &work, response, err) : jm__no_memory(err, "jm_model_learn");
    jm__design_free(&rates);
    jm__design_free(&work);
    if (status != JM_OK) jm__lesson_rows_free(out);
    return status;
}

void jm__lesson_rows_free(jm__lesson_rows *rows)
{
    free(rows->feature);
    free(rows->kernel);
    free(rows->power_w);
    free(rows->left_out);
    free(rows->usable);
    *rows = (jm__lesson_rows){0};
}
