/* The covariance of free columns, and of those at a limit, which carry the free ones with them. */
#include "attribute/fit/free_set.h"
#include "attribute/fit/matrix.h"
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

/* Column `place` of the set, in its order: with rows of the triangle first, then what those leave of it. */
static const double *column_of(const jm__free_set *set, size_t place)
{
    return set->matrix + set->column[place] * set->columns;
}

/* (R'R)^-1 of the free columns, count * count. */
static jm_status free_covariance(double *covariance, const jm__free_set *set, jm_error *err)
{
    jm__qr first = {0};
    JM_TRY(jm__qr_init(&first, set->count, err));
    for (size_t f = 0; f < set->count; f++)
        memcpy(first.triangle + f * first.stride, column_of(set, f), (f + 1) * sizeof(double));
    jm__qr_covariance_take(&first, covariance);
    jm__qr_free(&first);
    return JM_OK;
}

/* How the free columns move with column[at]. */
static void find_partners(double *moved, const jm__free_set *set, size_t at)
{
    for (size_t f = set->count; f-- > 0;) {
        double sum = -column_of(set, at)[f];
        for (size_t g = f + 1; g < set->count; g++)
            sum -= column_of(set, g)[f] * moved[g];
        double pivot = column_of(set, f)[f];
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

static void add_partners(double *covariance, const jm__free_set *set, size_t at, const double *moved,
                         double variance)
{
    size_t count = set->count;
    for (size_t f = 0; f <= count; f++) {
        double *row = covariance + set->column[f < count ? f : at] * set->columns;
        double here = f < count ? moved[f] : 1;
        for (size_t g = 0; g <= count; g++)
            row[set->column[g < count ? g : at]] += variance * here * (g < count ? moved[g] : 1);
    }
}

/* What is allocated for the covariance. */
typedef struct parts {
    jm__free_set set;
    double *first; /* of the free columns */
    double *moved;
    double *rest;
} parts;

static void parts_free(parts *p)
{
    jm__free_set_free(&p->set);
    free(p->first);
    free(p->moved);
    free(p->rest);
}

static jm_status parts_make(parts *p, const jm__qr *qr, const bool *is_free, jm_error *err)
{
    size_t columns = qr->columns;
    *p = (parts){0};
    p->first = calloc(columns * columns + 1, sizeof *p->first);
    p->moved = calloc(columns + 1, sizeof *p->moved);
    p->rest = calloc(columns + 1, sizeof *p->rest);
    if (p->first == NULL || p->moved == NULL || p->rest == NULL)
        return jm__no_memory(err, "jm__nnls_covariance");
    JM_TRY(jm__free_set_init(&p->set, qr, err));
    jm__free_set_keep(&p->set, is_free);
    return free_covariance(p->first, &p->set, err);
}

jm_status jm__nnls_covariance(const jm__qr *qr, const double *x, const bool *is_free, double noise,
                              double *covariance, jm_error *err)
{
    size_t columns = qr->columns;
    parts p;
    jm_status status = parts_make(&p, qr, is_free, err);
    memset(covariance, 0, columns * columns * sizeof(double));
    if (status == JM_OK) jm__qr_rest(qr, x, p.rest);
    size_t count = p.set.count;
    for (size_t f = 0; status == JM_OK && f < count; f++)
        for (size_t g = 0; g < count; g++)
            covariance[p.set.column[f] * columns + p.set.column[g]] = p.first[f * count + g];
    for (size_t at = count; status == JM_OK && at < columns; at++) {
        const double *below = column_of(&p.set, at) + count;
        double left = jm__matrix_dot(below, below, columns - count);
        double pull = fabs(jm__qr_column_dot(qr, p.set.column[at], p.rest));
        find_partners(p.moved, &p.set, at);
        add_partners(covariance, &p.set, at, p.moved, variance_at_limit(left, pull, noise));
    }
    parts_free(&p);
    return status;
}
