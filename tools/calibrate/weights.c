/* A kernel on unusual numbers, or one that the weights cannot describe, must not lead all others: what is
 * further off than three robust deviations is left out, and the fit made again. */
#include "calibrate/weights.h"

#include "attribute/fit/nnls.h"
#include "base/order.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Robust deviations at which a row is left out, and how often: it stands after three or four times
 * (shared/attribution.md). */
static const double outlier = 3;
enum { ROUNDS = 6 };

/* Twice as many rows as features at least: a choice. */
static const size_t rows_a_feature = 2;

/* Features that always go together share their weight: a thousandth of a reading's worth against any at all,
 * so 500 W cost as much as a reading that is 0.5 W off. */
static const double ridge = 1e-3;

static double residual_of(const jm__lesson_rows *rows, size_t i, const double *x)
{
    double rest = rows->power_w[i];
    for (size_t k = 0; k < rows->features; k++)
        rest -= rows->feature[i * rows->features + k] * x[k];
    return rest;
}

typedef struct room {
    jm__qr qr;
    double *row, *sizes;
    bool *keep, *is_free;
} room;

static jm_status solve(jm__weights *out, const jm__lesson_rows *rows, room *r, jm_error *err)
{
    jm__qr_reset(&r->qr);
    out->used = 0;
    for (size_t i = 0; i < rows->rows; i++) {
        if (!r->keep[i]) continue;
        jm__qr_add(&r->qr, rows->feature + i * rows->features, rows->power_w[i]);
        out->used++;
    }
    for (size_t k = 0; k < rows->features; k++) {
        memset(r->row, 0, rows->features * sizeof *r->row);
        r->row[k] = ridge;
        jm__qr_add(&r->qr, r->row, 0);
    }
    jm__qr_finish(&r->qr);
    return jm__nnls_solve(&r->qr, NULL, out->x, r->is_free, err);
}

/* Which rows are kept the next time. */
static void judge(jm__weights *out, const jm__lesson_rows *rows, const bool *use, room *r)
{
    size_t count = 0;
    double square = 0;
    for (size_t i = 0; i < rows->rows; i++) {
        if (!use[i]) continue;
        double rest = residual_of(rows, i, out->x);
        if (r->keep[i]) square += rest * rest;
        r->sizes[count++] = fabs(rest);
    }
    qsort(r->sizes, count, sizeof *r->sizes, jm__compare_doubles);
    out->spread_w = 1.4826 * r->sizes[count / 2];
    out->rms_w = sqrt(square / (double)out->used);
    for (size_t i = 0; i < rows->rows; i++)
        r->keep[i] = use[i] && fabs(residual_of(rows, i, out->x)) <= outlier * out->spread_w;
}

static jm_status find(jm__weights *out, const jm__lesson_rows *rows, const bool *use, room *r, jm_error *err)
{
    size_t count = 0;
    for (size_t i = 0; i < rows->rows; i++)
        count += r->keep[i] = use[i];
    if (count < rows_a_feature * rows->features)
        return jm__fail(err, JM_BAD_DATA, 0, NULL,
                        "%zu readings with counters are too few for the weights of %zu counters", count,
                        rows->features - 1);
    for (int round = 0; round < ROUNDS; round++) {
        JM_TRY(solve(out, rows, r, err));
        judge(out, rows, use, r);
    }
    return JM_OK;
}

jm_status jm__weights_find(jm__weights *out, const jm__lesson_rows *rows, const bool *use, jm_error *err)
{
    *out = (jm__weights){.x = calloc(rows->features + 1, sizeof *out->x)};
    room r = {
        .row = calloc(rows->features + 1, sizeof *r.row),
        .sizes = calloc(rows->rows + 1, sizeof *r.sizes),
        .keep = calloc(rows->rows + 1, sizeof *r.keep),
        .is_free = calloc(rows->features + 1, sizeof *r.is_free),
    };
    bool fine = out->x != NULL && r.row != NULL && r.sizes != NULL && r.keep != NULL && r.is_free != NULL;
    jm_status status = fine ? jm__qr_init(&r.qr, rows->features, err) : jm__no_memory(err, "jm_model_learn");
    if (status == JM_OK) status = find(out, rows, use, &r, err);
    jm__qr_free(&r.qr);
    free(r.row);
    free(r.sizes);
    free(r.keep);
    free(r.is_free);
    if (status != JM_OK) jm__weights_free(out);
    return status;
}

void jm__weights_free(jm__weights *weights)
{
    free(weights->x);
    *weights = (jm__weights){0};
}
