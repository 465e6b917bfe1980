/* The active set of Lawson and Hanson with limits at both ends (Stark and Parker, Computational Statistics
 * 10, 1995) on a triangle, started from the free solution. */
#include "attribute/fit/nnls.h"

#include "attribute/fit/free_set.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The place in the set of the column at a limit whose way back would lower the sum of squares most; the
 * number of columns if none would. */
static size_t steepest(const jm__free_set *set, const jm__qr *qr, const double *x, const bool *refused)
{
    size_t columns = qr->columns, best = columns;
    double best_gain = 0;
    for (size_t f = set->count; f < columns; f++) {
        size_t k = set->column[f];
        if (refused[k]) continue;
        double up = jm__free_set_slope(set, k),
               length = sqrt(jm__qr_column_dot(qr, k, qr->triangle + k * qr->stride));
        double gain = length > 0 ? (x[k] > 0 ? -up : up) / length : 0;
        if (gain > best_gain) {
            best_gain = gain;
            best = f;
        }
    }
    return best_gain > 1e-9 * fabs(qr->triangle[columns * qr->stride + columns]) + 1e-12 ? best : columns;
}

static double most_of(const double *most, size_t column)
{
    return most != NULL ? most[column] : INFINITY;
}

/* Fix every column that is beyond a limit at once until none is left: a start within them. */
static void start(jm__free_set *set, const double *most, double *x, bool *is_free, double *solution)
{
    for (size_t k = 0; k < set->columns; k++)
        is_free[k] = true;
    for (bool beyond = true; beyond;) {
        jm__free_set_solve(set, x, solution);
        beyond = false;
        for (size_t f = 0; f < set->count; f++) {
            size_t k = set->column[f];
            x[k] = fmin(fmax(solution[f], 0), most_of(most, k));
            is_free[k] = x[k] == solution[f];
            beyond = beyond || !is_free[k];
        }
        jm__free_set_keep(set, is_free);
    }
}

/* How much of the way from a column's value to its solution lies within the limits. */
static double way(double from, double to, double most)
{
    if (to <= 0) return from > 0 ? from / (from - to) : 0;
    if (to >= most) return from < most ? (most - from) / (to - from) : 0;
    return 1;
}

/* Walk towards the solution of the free set until a column meets a limit, which stays there; the share of the
 * way that was walked. */
static double step(const jm__free_set *set, const double *most, const double *solution, double *x,
                   bool *is_free)
{
    double length = 1;
    for (size_t f = 0; f < set->count; f++)
        length = fmin(length, way(x[set->column[f]], solution[f], most_of(most, set->column[f])));
    for (size_t f = 0; f < set->count; f++) {
        size_t k = set->column[f];
        double to = solution[f];
        is_free[k] = length >= 1 || way(x[k], to, most_of(most, k)) > length;
        x[k] = is_free[k] ? x[k] + length * (to - x[k]) : to <= 0 ? 0 : most_of(most, k);
    }
    return length;
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
    jm__free_set set = {0};
    bool *refused = calloc(qr->columns, sizeof *refused);
    double *solution = calloc(qr->columns, sizeof *solution);
    jm_status status = refused == NULL || solution == NULL ? jm__no_memory(err, "jm__nnls_solve")
                                                           : jm__free_set_init(&set, qr, err);
    if (status == JM_OK) start(&set, most, x, is_free, solution);
    /* The set is finite and each turn lowers the sum; the bound only guards against rounding. */
    for (size_t turn = 0; status == JM_OK && turn < 3 * qr->columns; turn++) {
        size_t place = steepest(&set, qr, x, refused), entering = set.column[place];
        if (place == qr->columns) break;
        is_free[entering] = true;
        jm__free_set_add(&set, place);
        bool moved = false;
        for (double length = 0; length < 1;) {
            bool could = is_free[entering];
            jm__free_set_solve(&set, x, solution);
            length = step(&set, most, solution, x, is_free);
            moved = moved || (could && length > 0);
            jm__free_set_keep(&set, is_free);
        }
        if (moved) /* the sum is lower: whoever could not move may now */
            memset(refused, 0, qr->columns * sizeof *refused);
        else
            refused[entering] = true;
    }
    jm__free_set_free(&set);
    free(refused);
    free(solution);
    return status;
}
