/* Products of square matrices whose rows often hold zeros, and least squares within limits. */
#include "attribute/fit/nnls.h"

#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

double jm__matrix_dot(const double *left, const double *right, size_t n)
{
    double sum = 0;
    for (size_t k = 0; k < n; k++)
        sum += left[k] * right[k];
    return sum;
}

void jm__matrix_multiply(double *out, const double *left, const double *right, size_t n)
{
    memset(out, 0, n * n * sizeof *out);
    for (size_t i = 0; i < n; i++) {
        for (size_t m = 0; m < n; m++) {
            double term = left[i * n + m];
            for (size_t j = 0; term != 0 && j < n; j++)
                out[i * n + j] += term * right[m * n + j];
        }
    }
}

void jm__matrix_add_outer(double *matrix, double factor, const double *vector, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double value = factor * vector[i], *row = matrix + i * n;
        for (size_t k = 0; value != 0 && k < n; k++)
            row[k] += value * vector[k];
    }
}

void jm__matrix_add_square(double *matrix, const double *vector, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double value = vector[i], *row = matrix + i * n;
        for (size_t k = 0; value != 0 && k <= i; k++)
            row[k] += value * vector[k];
    }
}

void jm__matrix_apply(double *out, const double *matrix, const double *vector, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = jm__matrix_dot(matrix + i * n, vector, n);
}

double jm__matrix_between(const double *left, const double *matrix, const double *right, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        if (left[i] == 0) continue;
        sum += left[i] * jm__matrix_dot(matrix + i * n, right, n);
    }
    return sum;
}

bool jm__matrix_factor(double *matrix, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j <= i; j++) {
            double sum = matrix[i * n + j] - jm__matrix_dot(matrix + i * n, matrix + j * n, j);
            if (i != j)
                matrix[i * n + j] = sum / matrix[j * n + j];
            else if (sum > 0)
                matrix[i * n + i] = sqrt(sum);
            else
                return false;
        }
    }
    return true;
}

void jm__matrix_forward(double *vector, const double *lower, size_t n)
{
    for (size_t i = 0; i < n; i++)
        vector[i] = (vector[i] - jm__matrix_dot(lower + i * n, vector, i)) / lower[i * n + i];
}

void jm__matrix_back(double *vector, const double *lower, size_t n)
{
    for (size_t i = n; i-- > 0;) {
        for (size_t k = i + 1; k < n; k++)
            vector[i] -= lower[k * n + i] * vector[k];
        vector[i] /= lower[i * n + i];
    }
}

void jm__matrix_whiten(double *rows, size_t width, const double *lower, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double *row = rows + i * width;
        for (size_t j = 0; j < i; j++) {
            double part = lower[i * n + j];
            for (size_t k = 0; part != 0 && k < width; k++)
                row[k] -= part * rows[j * width + k];
        }
        for (size_t k = 0; k < width; k++)
            row[k] /= lower[i * n + i];
    }
}

/* The active set of Lawson and Hanson with limits at both ends (Stark and Parker, Computational Statistics
 * 10, 1995) on a triangle, started from the free solution, with the updates of Lawson and Hanson, Solving
 * Least Squares Problems, chapter 24: a reflection when a column enters, rotations when one leaves; each
 * costs columns^2. */

/* R and Q'd, rotated. Column k stands at matrix + k * columns; column `columns` is the right-hand side. Those
 * named by column[0] to column[count - 1] are a triangle in this order, with zeros below it. */
typedef struct free_set {
    size_t columns;
    size_t count;
    double *matrix;
    double *rotation; /* room for those of a removal: cosine, sine */
    double *rest;     /* [columns]: what the columns that are not free leave of the right-hand side */
    double *solution; /* [count]: of the free ones */
    size_t *column;   /* the free ones, then the others */
    bool *is_free;    /* [columns] */
} free_set;

static void free_set_free(free_set *set)
{
    free(set->matrix);
    free(set->column);
    free(set->is_free);
}

/* All columns of a finished triangle, free. */
static jm_status free_set_init(free_set *set, const jm__qr *qr, const char *caller, jm_error *err)
{
    size_t n = qr->columns;
    *set = (free_set){.columns = n, .count = n};
    set->matrix = calloc(n * (n + 5) + 1, sizeof *set->matrix);
    set->column = calloc(n + 1, sizeof *set->column);
    set->is_free = calloc(n + 1, sizeof *set->is_free);
    if (set->matrix == NULL || set->column == NULL || set->is_free == NULL) return jm__no_memory(err, caller);
    set->rotation = set->matrix + n * (n + 1);
    set->rest = set->rotation + 2 * n;
    set->solution = set->rest + n;
    for (size_t k = 0; k <= n; k++) {
        size_t rows = k < n ? k + 1 : n;
        memcpy(set->matrix + k * n, qr->triangle + k * qr->stride, rows * sizeof *set->matrix);
        set->column[k] = k;
        set->is_free[k] = true;
    }
    return JM_OK;
}

static void rotate(double *column, const double *rotation, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        double cosine = rotation[2 * i], sine = rotation[2 * i + 1], above = column[i], below = column[i + 1];
        column[i] = cosine * above + sine * below;
        column[i + 1] = cosine * below - sine * above;
    }
}

/* column[place], `place` below `count`, is free no longer: the order of those after it stays. */
static void free_set_remove(free_set *set, size_t place)
{
    size_t n = set->columns, last = set->count - 1, gone = set->column[place];
    for (size_t i = place; i < last; i++) { /* each column after it has one row too many */
        set->column[i] = set->column[i + 1];
        double *column = set->matrix + set->column[i] * n;
        rotate(column, set->rotation, place, i);
        double length = hypot(column[i], column[i + 1]);
        set->rotation[2 * i] = length > 0 ? column[i] / length : 1;
        set->rotation[2 * i + 1] = length > 0 ? column[i + 1] / length : 0;
        column[i] = length;
        column[i + 1] = 0;
    }
    set->column[last] = gone;
    set->count = last;
    for (size_t f = last; f < n; f++)
        rotate(set->matrix + set->column[f] * n, set->rotation, place, last);
    rotate(set->matrix + n * n, set->rotation, place, last);
}

/* Those that are no longer free leave. */
static void free_set_update(free_set *set)
{
    for (size_t f = set->count; f-- > 0;)
        if (!set->is_free[set->column[f]]) free_set_remove(set, f);
}

/* other -= 2 v (v . other) / (v . v) */
static void reflect(double *other, const double *v, double square, size_t rows)
{
    double factor = 2 * jm__matrix_dot(v, other, rows) / square;
    for (size_t i = 0; i < rows; i++)
        other[i] -= factor * v[i];
}

/* column[place], `place` from `count` on, is free: the last of the triangle. */
static void free_set_add(free_set *set, size_t place)
{
    size_t n = set->columns, top = set->count, rows = n - top, entering = set->column[place];
    set->is_free[entering] = true;
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

/* Column `place` of the set, in its order: with rows of the triangle first, then what those leave of it. */
static double *column_of(const free_set *set, size_t place)
{
    return set->matrix + set->column[place] * set->columns;
}

/* vector = T^-1 vector, T being the triangle of the first `count` columns. */
static void free_set_back(const free_set *set, double *vector, size_t count)
{
    for (size_t f = count; f-- > 0;) {
        const double *column = column_of(set, f);
        vector[f] = column[f] != 0 ? vector[f] / column[f] : 0;
        for (size_t i = 0; i < f; i++)
            vector[i] -= column[i] * vector[f];
    }
}

/* Finds `rest` and `solution`, the columns that are not free being where x has them. */
static void free_set_solve(free_set *set, const double *x)
{
    size_t n = set->columns;
    memcpy(set->rest, set->matrix + n * n, n * sizeof *set->rest);
    for (size_t f = set->count; f < n; f++) {
        double value = x[set->column[f]];
        for (size_t i = 0; value != 0 && i < n; i++)
            set->rest[i] -= value * column_of(set, f)[i];
    }
    memcpy(set->solution, set->rest, set->count * sizeof *set->solution);
    free_set_back(set, set->solution, set->count);
}

/* How steeply the sum of squares falls if the column at a place that is not free grows; after a solution. */
static double free_set_slope(const free_set *set, size_t place)
{
    size_t top = set->count;
    return jm__matrix_dot(column_of(set, place) + top, set->rest + top, set->columns - top);
}

/* The place in the set of the column at a limit whose way back would lower the sum of squares most; the
 * number of columns if none would. */
static size_t steepest(const free_set *set, const jm__qr *qr, const double *x, const bool *refused)
{
    size_t columns = qr->columns, best = columns;
    double best_gain = 0;
    for (size_t f = set->count; f < columns; f++) {
        size_t k = set->column[f];
        if (refused[k]) continue;
        double up = free_set_slope(set, f);
        double length = sqrt(jm__matrix_dot(column_of(set, f), column_of(set, f), columns));
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
static void start(free_set *set, const double *most, double *x)
{
    for (bool beyond = true; beyond;) {
        free_set_solve(set, x);
        beyond = false;
        for (size_t f = 0; f < set->count; f++) {
            size_t k = set->column[f];
            x[k] = fmin(fmax(set->solution[f], 0), most_of(most, k));
            set->is_free[k] = x[k] == set->solution[f];
            beyond = beyond || !set->is_free[k];
        }
        free_set_update(set);
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
static double step(free_set *set, const double *most, double *x)
{
    double length = 1;
    for (size_t f = 0; f < set->count; f++)
        length = fmin(length, way(x[set->column[f]], set->solution[f], most_of(most, set->column[f])));
    for (size_t f = 0; f < set->count; f++) {
        size_t k = set->column[f];
        double to = set->solution[f], limit = most_of(most, k);
        set->is_free[k] = length >= 1 || way(x[k], to, limit) > length;
        x[k] = set->is_free[k] ? x[k] + length * (to - x[k]) : to <= 0 ? 0 : limit;
    }
    free_set_update(set);
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

jm_status jm__nnls_solve(const jm__qr *qr, const double *most, double *x, jm_error *err)
{
    if (qr->columns == 0) return JM_OK;
    if (!all_finite(qr))
        return jm__fail(err, JM_INTERNAL, 0, "jm__nnls_solve", "the fit's equations are no longer finite");
    free_set set;
    bool *refused = calloc(qr->columns, sizeof *refused);
    jm_status status = free_set_init(&set, qr, "jm__nnls_solve", err);
    if (status == JM_OK && refused == NULL) status = jm__no_memory(err, "jm__nnls_solve");
    if (status == JM_OK) start(&set, most, x);
    /* The set is finite and each turn lowers the sum; the bound only guards against rounding. */
    for (size_t turn = 0; status == JM_OK && turn < 3 * qr->columns; turn++) {
        size_t place = steepest(&set, qr, x, refused), entering = set.column[place];
        if (place == qr->columns) break;
        free_set_add(&set, place);
        bool moved = false;
        for (double length = 0; length < 1;) {
            bool could = set.is_free[entering];
            free_set_solve(&set, x);
            length = step(&set, most, x);
            moved = moved || (could && length > 0);
        }
        if (moved) /* the sum is lower: whoever could not move may now */
            memset(refused, 0, qr->columns * sizeof *refused);
        else
            refused[entering] = true;
    }
    free_set_free(&set);
    free(refused);
    return status;
}

/* A normal variable of deviation 1 that lies beyond -distance: its mean square seen from there, E t^2 of the
 * density exp(-(t + distance)^2 / 2) for t >= 0. 1 at a distance of 0; far out, 2 / distance^2. */
static double cut_off(double distance)
{
    static const double far = 10; /* the next term of the series is 0.7 % there */
    if (distance > far) return 2 / pow(distance, 2) - 10 / pow(distance, 4);
    double hazard = M_2_SQRTPI * M_SQRT1_2 * exp(-distance * distance / 2) / erfc(distance * M_SQRT1_2);
    return 1 + distance * distance - distance * hazard;
}

/* The variance of the column at a place that is not free: `left`, the square of what the free columns leave
 * of it, is the inverse of the variance it would have if it were free; its optimum is pull / left beyond the
 * limit. */
static double variance_at_limit(const free_set *set, size_t place, double noise)
{
    const double *below = column_of(set, place) + set->count;
    double left = jm__matrix_dot(below, below, set->columns - set->count);
    if (!(left > 0)) return 0;
    return cut_off(fabs(free_set_slope(set, place)) / sqrt(left) / noise) / left;
}

/* How all columns move with the one at a place; with a free one, by an error of 1 in its row of the triangle.
 */
static const double *move_with(free_set *set, size_t place)
{
    bool is_free = place < set->count;
    size_t rows = is_free ? place + 1 : set->count;
    double *moved = set->solution, *all = set->rotation; /* used up: room for both */
    memset(all, 0, set->columns * sizeof *all);
    for (size_t f = 0; f < rows; f++)
        moved[f] = is_free ? f == place : -column_of(set, place)[f];
    free_set_back(set, moved, rows);
    for (size_t f = 0; f < rows; f++)
        all[set->column[f]] = moved[f];
    if (!is_free) all[set->column[place]] = 1;
    return all;
}

jm_status jm__nnls_covariance(const jm__qr *qr, const double *most, const double *x, double noise,
                              double *covariance, jm_error *err)
{
    size_t n = qr->columns;
    free_set set;
    jm_status status = free_set_init(&set, qr, "jm__nnls_covariance", err);
    memset(covariance, 0, n * n * sizeof *covariance);
    if (status == JM_OK) {
        for (size_t k = 0; k < n; k++)
            set.is_free[k] = x[k] > 0 && x[k] < most_of(most, k);
        free_set_update(&set);
        free_set_solve(&set, x);
        for (size_t place = 0; place < n; place++) {
            double variance = place < set.count ? 1 : variance_at_limit(&set, place, noise);
            jm__matrix_add_outer(covariance, variance, move_with(&set, place), n);
        }
    }
    free_set_free(&set);
    return status;
}
