/* The active set of Lawson and Hanson on a triangle, started from the free solution. */
#include "attribute/fit/nnls.h"

#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The problem cut down to its free columns. */
typedef struct reduced {
    jm__qr qr;
    size_t *column; /* of each free one */
    double *row;
    double *solution;
    double *rest; /* [columns]: what the solution leaves of the right-hand side */
    size_t count;
} reduced;

static jm_status reduced_init(reduced *r, size_t columns, jm_error *err)
{
    *r = (reduced){0};
    r->column = calloc(columns + 1, sizeof *r->column);
    r->row = calloc(columns + 1, sizeof *r->row);
    r->solution = calloc(columns + 1, sizeof *r->solution);
    r->rest = calloc(columns + 1, sizeof *r->rest);
    if (r->column != NULL && r->row != NULL && r->solution != NULL && r->rest != NULL) return JM_OK;
    return jm__no_memory(err, "jm__nnls_solve");
}

static void reduced_free(reduced *r)
{
    jm__qr_free(&r->qr);
    free(r->column);
    free(r->row);
    free(r->solution);
    free(r->rest);
}

static jm_status reduced_build(reduced *r, const jm__qr *full, const bool *is_free, jm_error *err)
{
    r->count = 0;
    for (size_t k = 0; k < full->columns; k++)
        if (is_free[k]) r->column[r->count++] = k;
    jm__qr_free(&r->qr);
    JM_TRY(jm__qr_init(&r->qr, r->count, err));
    for (size_t i = 0; i < full->columns; i++) {
        for (size_t f = 0; f < r->count; f++)
            r->row[f] = r->column[f] >= i ? full->triangle[r->column[f] * full->stride + i] : 0;
        jm__qr_add(&r->qr, r->row, full->triangle[full->columns * full->stride + i]);
    }
    jm__qr_finish(&r->qr);
    return JM_OK;
}

/* The column at zero whose rise would lower the sum of squares most; columns if none would. */
static size_t steepest(const jm__qr *qr, const double *x, const bool *is_free, const bool *refused,
                       double *rest)
{
    size_t columns = qr->columns, best = columns;
    double best_gain = 0;
    memcpy(rest, qr->triangle + columns * qr->stride, columns * sizeof(double));
    for (size_t k = 0; k < columns; k++)
        for (size_t i = 0; x[k] != 0 && i <= k; i++)
            rest[i] -= qr->triangle[k * qr->stride + i] * x[k];
    for (size_t k = 0; k < columns; k++) {
        if (is_free[k] || refused[k]) continue;
        double gradient = 0, norm = 0;
        for (size_t i = 0; i <= k; i++) {
            double entry = qr->triangle[k * qr->stride + i];
            gradient += entry * rest[i];
            norm += entry * entry;
        }
        double gain = norm > 0 ? gradient / sqrt(norm) : 0;
        if (gain > best_gain) {
            best_gain = gain;
            best = k;
        }
    }
    return best_gain > 1e-9 * fabs(qr->triangle[columns * qr->stride + columns]) + 1e-12 ? best : columns;
}

/* Drop every negative column at once until none is left: a feasible start. */
static jm_status start(reduced *r, const jm__qr *qr, double *x, bool *is_free, jm_error *err)
{
    for (size_t k = 0; k < qr->columns; k++)
        is_free[k] = true;
    for (bool negative = true; negative;) {
        JM_TRY(reduced_build(r, qr, is_free, err));
        jm__qr_solve(&r->qr, r->solution);
        negative = false;
        for (size_t f = 0; f < r->count; f++) {
            if (r->solution[f] >= 0) continue;
            is_free[r->column[f]] = false;
            negative = true;
        }
    }
    memset(x, 0, qr->columns * sizeof(double));
    for (size_t f = 0; f < r->count; f++)
        x[r->column[f]] = r->solution[f];
    return JM_OK;
}

/* Walk towards the solution of the free set until a column meets zero; true when it is reached. */
static bool step(reduced *r, double *x, bool *is_free)
{
    double length = 1;
    for (size_t f = 0; f < r->count; f++) {
        double from = x[r->column[f]], to = r->solution[f];
        if (to <= 0 && from / (from - to) < length) length = from > 0 ? from / (from - to) : 0;
    }
    for (size_t f = 0; f < r->count; f++) {
        size_t k = r->column[f];
        x[k] += length * (r->solution[f] - x[k]);
        if (length < 1 && r->solution[f] <= 0 && x[k] <= 1e-12) {
            x[k] = 0;
            is_free[k] = false;
        }
    }
    return length >= 1;
}

/* A triangle with a NaN in it would give powers of zero that look like any other. */
static bool all_finite(const jm__qr *qr)
{
    for (size_t k = 0; k <= qr->columns; k++)
        for (size_t i = 0; i <= k; i++)
            if (!isfinite(qr->triangle[k * qr->stride + i])) return false;
    return true;
}

jm_status jm__nnls_solve(const jm__qr *qr, double *x, bool *is_free, jm_error *err)
{
    if (qr->columns == 0) return JM_OK;
    if (!all_finite(qr))
        return jm__fail(err, JM_INTERNAL, 0, "jm__nnls_solve", "the fit's equations are no longer finite");
    reduced r;
    bool *refused = calloc(qr->columns, sizeof *refused);
    if (refused == NULL) return jm__no_memory(err, "jm__nnls_solve");
    jm_status status = reduced_init(&r, qr->columns, err);
    if (status == JM_OK) status = start(&r, qr, x, is_free, err);
    /* The set is finite and each turn lowers the sum; the bound only guards against rounding. */
    for (size_t turn = 0; status == JM_OK && turn < 3 * qr->columns; turn++) {
        size_t entering = steepest(qr, x, is_free, refused, r.rest);
        if (entering == qr->columns) break;
        is_free[entering] = true;
        bool reached = false;
        while (status == JM_OK && !reached) {
            status = reduced_build(&r, qr, is_free, err);
            if (status != JM_OK) break;
            jm__qr_solve(&r.qr, r.solution);
            reached = step(&r, x, is_free);
        }
        if (!is_free[entering]) refused[entering] = true;
    }
    reduced_free(&r);
    free(refused);
    return status;
}

jm_status jm__nnls_covariance(const jm__qr *qr, const bool *is_free, double *covariance, jm_error *err)
{
    size_t columns = qr->columns;
    reduced r;
    double *own = NULL;
    jm_status status = reduced_init(&r, columns, err);
    if (status == JM_OK) status = reduced_build(&r, qr, is_free, err);
    if (status != JM_OK) goto out;
    memset(covariance, 0, columns * columns * sizeof(double));
    own = calloc(r.count * r.count + 1, sizeof *own);
    if (own == NULL) {
        status = jm__no_memory(err, "jm__nnls_covariance");
        goto out;
    }
    jm__qr_covariance_take(&r.qr, own);
    for (size_t i = 0; i < r.count; i++)
        for (size_t j = 0; j < r.count; j++)
            covariance[r.column[i] * columns + r.column[j]] = own[i * r.count + j];
    for (size_t k = 0; k < columns; k++) {
        if (is_free[k]) continue;
        double norm = 0;
        for (size_t i = 0; i <= k; i++)
            norm += qr->triangle[k * qr->stride + i] * qr->triangle[k * qr->stride + i];
        covariance[k * columns + k] = norm > 0 ? 1 / norm : 0;
    }
out:
    free(own);
    reduced_free(&r);
    return status;
}
