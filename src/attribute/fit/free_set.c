/* The updates of Lawson and Hanson, Solving Least Squares Problems, chapter 24: a reflection when a column
 * enters, rotations when one leaves; each costs columns^2. */
#include "attribute/fit/free_set.h"

#include "attribute/fit/matrix.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

jm_status jm__free_set_init(jm__free_set *set, const jm__qr *qr, jm_error *err)
{
    size_t n = qr->columns;
    *set = (jm__free_set){.columns = n, .count = n};
    set->matrix = calloc(n * (n + 1) + 1, sizeof *set->matrix);
    set->column = calloc(n + 1, sizeof *set->column);
    set->turn = calloc(2 * n + 1, sizeof *set->turn);
    set->rest = calloc(n + 1, sizeof *set->rest);
    if (set->matrix == NULL || set->column == NULL || set->turn == NULL || set->rest == NULL) {
        jm__free_set_free(set);
        return jm__no_memory(err, "jm__free_set_init");
    }
    for (size_t k = 0; k <= n; k++) {
        size_t rows = k < n ? k + 1 : n;
        memcpy(set->matrix + k * n, qr->triangle + k * qr->stride, rows * sizeof *set->matrix);
        set->column[k] = k;
    }
    return JM_OK;
}

void jm__free_set_free(jm__free_set *set)
{
    free(set->matrix);
    free(set->column);
    free(set->turn);
    free(set->rest);
    *set = (jm__free_set){0};
}

static void rotate(double *column, const double *turn, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        double cosine = turn[2 * i], sine = turn[2 * i + 1], above = column[i], below = column[i + 1];
        column[i] = cosine * above + sine * below;
        column[i + 1] = cosine * below - sine * above;
    }
}

void jm__free_set_remove(jm__free_set *set, size_t place)
{
    size_t n = set->columns, last = set->count - 1, gone = set->column[place];
    for (size_t i = place; i < last; i++) { /* each column after it has one row too many */
        set->column[i] = set->column[i + 1];
        double *column = set->matrix + set->column[i] * n;
        rotate(column, set->turn, place, i);
        double length = hypot(column[i], column[i + 1]);
        set->turn[2 * i] = length > 0 ? column[i] / length : 1;
        set->turn[2 * i + 1] = length > 0 ? column[i + 1] / length : 0;
        column[i] = length;
        column[i + 1] = 0;
    }
    set->column[last] = gone;
    set->count = last;
    for (size_t f = last; f < n; f++)
        rotate(set->matrix + set->column[f] * n, set->turn, place, last);
    rotate(set->matrix + n * n, set->turn, place, last);
}

void jm__free_set_keep(jm__free_set *set, const bool *is_free)
{
    for (size_t f = set->count; f-- > 0;)
        if (!is_free[set->column[f]]) jm__free_set_remove(set, f);
}

/* other -= 2 v (v . other) / (v . v) */
static void reflect(double *other, const double *v, double square, size_t rows)
{
    double factor = 2 * jm__matrix_dot(v, other, rows) / square;
    for (size_t i = 0; i < rows; i++)
        other[i] -= factor * v[i];
}

void jm__free_set_add(jm__free_set *set, size_t place)
{
    size_t n = set->columns, top = set->count, rows = n - top, entering = set->column[place];
    set->column[place] = set->column[top];
    set->column[top] = entering;
    set->count++;
    double *v = set->matrix + entering * n + top;
    double length = sqrt(jm__matrix_dot(v, v, rows)), diagonal = v[0] > 0 ? -length : length;
    v[0] -= diagonal; /* away from zero */
    double square = jm__matrix_dot(v, v, rows);
    for (size_t f = set->count; square > 0 && f < n; f++)
        reflect(set->matrix + set->column[f] * n + top, v, square, rows);
    if (square > 0) reflect(set->matrix + n * n + top, v, square, rows);
    memset(v, 0, rows * sizeof *v);
    v[0] = diagonal;
}

void jm__free_set_solve(jm__free_set *set, const double *x, double *solution)
{
    size_t n = set->columns;
    memcpy(set->rest, set->matrix + n * n, n * sizeof *set->rest);
    for (size_t f = set->count; f < n; f++) {
        size_t k = set->column[f];
        for (size_t i = 0; x[k] != 0 && i < n; i++)
            set->rest[i] -= x[k] * set->matrix[k * n + i];
    }
    memcpy(solution, set->rest, set->count * sizeof *solution);
    for (size_t f = set->count; f-- > 0;) {
        const double *column = set->matrix + set->column[f] * n;
        solution[f] = column[f] != 0 ? solution[f] / column[f] : 0;
        for (size_t i = 0; i < f; i++)
            solution[i] -= column[i] * solution[f];
    }
}

double jm__free_set_slope(const jm__free_set *set, size_t column)
{
    size_t top = set->count;
    return jm__matrix_dot(set->matrix + column * set->columns + top, set->rest + top, set->columns - top);
}
