/* The covariance of free columns, and of those at a limit, which carry the free ones with them. */
#include "attribute/fit/nnls.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A normal variable of deviation 1 that lies beyond -distance: its mean square seen from there, E t^2 of the
 * density exp(-(t + distance)^2 / 2) for t >= 0. 1 at a distance of 0; far out, 2 / distance^2. */
static double cut_off(double distance)
{
    static const double far = 10; /* the next term of the series is 0.7 % there */
    if (distance > far) return 2 / pow(distance, 2) - 10 / pow(distance, 4);
    double hazard = M_2_SQRTPI * M_SQRT1_2 * exp(-distance * distance / 2) / erfc(distance * M_SQRT1_2);
    return 1 + distance * distance - distance * hazard;
}

/* The free columns first, then those at a limit: `column` tells which is where; returns how many are free. */
static size_t free_first(size_t *column, const bool *is_free, size_t columns)
{
    size_t count = 0, rest = 0;
    for (size_t k = 0; k < columns; k++)
        if (is_free[k]) column[count++] = k;
    for (size_t k = 0; k < columns; k++)
        if (!is_free[k]) column[count + rest++] = k;
    return count;
}

/* The triangle of the columns in that order: rows below the free ones are what they leave of the others. */
static jm_status reorder(jm__qr *out, const jm__qr *qr, const size_t *column, jm_error *err)
{
    size_t columns = qr->columns;
    double *row = calloc(columns + 1, sizeof *row);
    if (row == NULL) return jm__no_memory(err, "jm__nnls_covariance");
    jm_status status = jm__qr_init(out, columns, err);
    for (size_t i = 0; status == JM_OK && i < columns; i++) {
        for (size_t f = 0; f < columns; f++)
            row[f] = column[f] >= i ? qr->triangle[column[f] * qr->stride + i] : 0;
        jm__qr_add(out, row, 0);
    }
    if (status == JM_OK) jm__qr_finish(out);
    free(row);
    return status;
}

/* (R'R)^-1 of the first columns of a triangle, count * count. */
static jm_status first_covariance(double *covariance, const jm__qr *qr, size_t count, jm_error *err)
{
    jm__qr first = {0};
    JM_TRY(jm__qr_init(&first, count, err));
    for (size_t f = 0; f < count; f++)
        memcpy(first.triangle + f * first.stride, qr->triangle + f * qr->stride, (f + 1) * sizeof(double));
    jm__qr_covariance_take(&first, covariance);
    jm__qr_free(&first);
    return JM_OK;
}

/* How the free columns, the first `count` of the triangle, move with column `at` of it. */
static void find_partners(double *moved, const jm__qr *ordered, size_t count, size_t at)
{
    for (size_t f = count; f-- > 0;) {
        double sum = -ordered->triangle[at * ordered->stride + f];
        for (size_t g = f + 1; g < count; g++)
            sum -= ordered->triangle[g * ordered->stride + f] * moved[g];
        double pivot = ordered->triangle[f * ordered->stride + f];
        moved[f] = pivot != 0 ? sum / pivot : 0;
    }
}

/* The variance of a column at its limit: `left`, the square of what the free columns leave of it, is the
 * inverse of the variance it would have if it were free, and its optimum is `pull` / `left` beyond the limit.
 */
static double variance_at_limit(double left, double pull, double noise)
{
    if (!(left > 0)) return 0;
    return cut_off(pull / sqrt(left) / noise) / left;
}

static void add_partners(double *covariance, size_t columns, const size_t *column, size_t count, size_t at,
                         const double *moved, double variance)
{
    for (size_t f = 0; f <= count; f++) {
        size_t k = column[f < count ? f : at];
        double here = f < count ? moved[f] : 1;
        for (size_t g = 0; g <= count; g++) {
            size_t m = column[g < count ? g : at];
            covariance[k * columns + m] += variance * here * (g < count ? moved[g] : 1);
        }
    }
}

/* What is allocated for the covariance. */
typedef struct ordered {
    jm__qr qr;
    size_t *column;
    double *first; /* of the free columns */
    double *moved;
    double *rest;
} ordered;

static void ordered_free(ordered *o)
{
    jm__qr_free(&o->qr);
    free(o->column);
    free(o->first);
    free(o->moved);
    free(o->rest);
}

static jm_status order_columns(ordered *o, size_t *count, const jm__qr *qr, const bool *is_free,
                               jm_error *err)
{
    size_t columns = qr->columns;
    *o = (ordered){0};
    o->column = calloc(columns + 1, sizeof *o->column);
    o->first = calloc(columns * columns + 1, sizeof *o->first);
    o->moved = calloc(columns + 1, sizeof *o->moved);
    o->rest = calloc(columns + 1, sizeof *o->rest);
    if (o->column == NULL || o->first == NULL || o->moved == NULL || o->rest == NULL)
        return jm__no_memory(err, "jm__nnls_covariance");
    *count = free_first(o->column, is_free, columns);
    JM_TRY(reorder(&o->qr, qr, o->column, err));
    return first_covariance(o->first, &o->qr, *count, err);
}

jm_status jm__nnls_covariance(const jm__qr *qr, const double *x, const bool *is_free, double noise,
                              double *covariance, jm_error *err)
{
    size_t columns = qr->columns, count = 0;
    ordered o;
    jm_status status = order_columns(&o, &count, qr, is_free, err);
    memset(covariance, 0, columns * columns * sizeof(double));
    if (status == JM_OK) jm__qr_rest(qr, x, o.rest);
    for (size_t f = 0; status == JM_OK && f < count; f++)
        for (size_t g = 0; g < count; g++)
            covariance[o.column[f] * columns + o.column[g]] = o.first[f * count + g];
    for (size_t at = count; status == JM_OK && at < columns; at++) {
        double left = 0;
        for (size_t i = count; i <= at; i++)
            left += pow(o.qr.triangle[at * o.qr.stride + i], 2);
        double pull = fabs(jm__qr_column_dot(qr, o.column[at], o.rest));
        find_partners(o.moved, &o.qr, count, at);
        add_partners(covariance, columns, o.column, count, at, o.moved, variance_at_limit(left, pull, noise));
    }
    ordered_free(&o);
    return status;
}
