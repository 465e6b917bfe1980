/* The active set of Lawson and Hanson with limits at both ends (Stark and Parker, Computational Statistics
 * 10, 1995) on a triangle, started from the free solution. */
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
    double *fixed; /* [columns]: x of those that are not free, else 0 */
    double *rest;  /* [columns]: what a solution leaves of the right-hand side */
    size_t count;
} reduced;

static jm_status reduced_init(reduced *r, size_t columns, jm_error *err)
{
    *r = (reduced){0};
    r->column = calloc(columns + 1, sizeof *r->column);
    r->row = calloc(columns + 1, sizeof *r->row);
    r->solution = calloc(columns + 1, sizeof *r->solution);
    r->fixed = calloc(columns + 1, sizeof *r->fixed);
    r->rest = calloc(columns + 1, sizeof *r->rest);
    bool all = r->column != NULL && r->row != NULL && r->solution != NULL;
    if (all && r->fixed != NULL && r->rest != NULL) return JM_OK;
    return jm__no_memory(err, "jm__nnls_solve");
}

static void reduced_free(reduced *r)
{
    jm__qr_free(&r->qr);
    free(r->column);
    free(r->row);
    free(r->solution);
    free(r->fixed);
    free(r->rest);
}

/* The columns that are not free stay where x has them. */
static jm_status reduced_build(reduced *r, const jm__qr *full, const double *x, const bool *is_free,
                               jm_error *err)
{
    r->count = 0;
    for (size_t k = 0; k < full->columns; k++)
        r->fixed[k] = is_free[k] ? 0 : x[k];
    jm__qr_rest(full, r->fixed, r->rest);
    for (size_t k = 0; k < full->columns; k++)
        if (is_free[k]) r->column[r->count++] = k;
    jm__qr_free(&r->qr);
    JM_TRY(jm__qr_init(&r->qr, r->count, err));
    for (size_t i = 0; i < full->columns; i++) {
        for (size_t f = 0; f < r->count; f++)
            r->row[f] = r->column[f] >= i ? full->triangle[r->column[f] * full->stride + i] : 0;
        jm__qr_add(&r->qr, r->row, r->rest[i]);
    }
    jm__qr_finish(&r->qr);
    return JM_OK;
}

/* The column at a limit whose way back would lower the sum of squares most; columns if none would. */
static size_t steepest(const jm__qr *qr, const double *x, const bool *is_free, const bool *refused,
                       double *rest)
{
    size_t columns = qr->columns, best = columns;
    double best_gain = 0;
    jm__qr_rest(qr, x, rest);
    for (size_t k = 0; k < columns; k++) {
        if (is_free[k] || refused[k]) continue;
        double up = jm__qr_column_dot(qr, k, rest),
               length = sqrt(jm__qr_column_dot(qr, k, qr->triangle + k * qr->stride));
        double gain = length > 0 ? (x[k] > 0 ? -up : up) / length : 0;
        if (gain > best_gain) {
            best_gain = gain;
            best = k;
        }
    }
    return best_gain > 1e-9 * fabs(qr->triangle[columns * qr->stride + columns]) + 1e-12 ? best : columns;
}

static double most_of(const double *most, size_t column)
{
    return most != NULL ? most[column] : INFINITY;
}

/* Fix every column that is beyond a limit at once until none is left: a start within them. */
static jm_status start(reduced *r, const jm__qr *qr, const double *most, double *x, bool *is_free,
                       jm_error *err)
{
    for (size_t k = 0; k < qr->columns; k++)
        is_free[k] = true;
    for (bool beyond = true; beyond;) {
        JM_TRY(reduced_build(r, qr, x, is_free, err));
        jm__qr_solve(&r->qr, r->solution);
        beyond = false;
        for (size_t f = 0; f < r->count; f++) {
            size_t k = r->column[f];
            x[k] = fmin(fmax(r->solution[f], 0), most_of(most, k));
            is_free[k] = x[k] == r->solution[f];
            beyond = beyond || !is_free[k];
        }
    }
    return JM_OK;
}

/* How much of the way from a column's value to its solution lies within the limits. */
static double way(double from, double to, double most)
{
    if (to <= 0) return from > 0 ? from / (from - to) : 0;
    if (to >= most) return from < most ? (most - from) / (to - from) : 0;
    return 1;
}

/* Walk towards the solution of the free set until a column meets a limit; true when it is reached. */
static bool step(reduced *r, const double *most, double *x, bool *is_free)
{
    double length = 1;
    for (size_t f = 0; f < r->count; f++)
        length = fmin(length, way(x[r->column[f]], r->solution[f], most_of(most, r->column[f])));
    for (size_t f = 0; f < r->count; f++) {
        size_t k = r->column[f];
        double to = r->solution[f], limit = to <= 0 ? 0 : most_of(most, k);
        x[k] += length * (to - x[k]);
        bool beyond = to <= 0 || to >= limit;
        if (length < 1 && beyond && fabs(x[k] - limit) <= 1e-12 * fmax(1, limit)) {
            x[k] = limit;
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

jm_status jm__nnls_solve(const jm__qr *qr, const double *most, double *x, bool *is_free, jm_error *err)
{
    if (qr->columns == 0) return JM_OK;
    if (!all_finite(qr))
        return jm__fail(err, JM_INTERNAL, 0, "jm__nnls_solve", "the fit's equations are no longer finite");
    reduced r;
    bool *refused = calloc(qr->columns, sizeof *refused);
    if (refused == NULL) return jm__no_memory(err, "jm__nnls_solve");
    jm_status status = reduced_init(&r, qr->columns, err);
    if (status == JM_OK) status = start(&r, qr, most, x, is_free, err);
    /* The set is finite and each turn lowers the sum; the bound only guards against rounding. */
    for (size_t turn = 0; status == JM_OK && turn < 3 * qr->columns; turn++) {
        size_t entering = steepest(qr, x, is_free, refused, r.rest);
        if (entering == qr->columns) break;
        is_free[entering] = true;
        bool reached = false;
        while (status == JM_OK && !reached) {
            status = reduced_build(&r, qr, x, is_free, err);
            if (status != JM_OK) break;
            jm__qr_solve(&r.qr, r.solution);
            reached = step(&r, most, x, is_free);
        }
        if (!is_free[entering]) refused[entering] = true;
    }
    reduced_free(&r);
    free(refused);
    return status;
}
