/* Products of square matrices whose rows often hold zeros, and least squares within limits. */
#include "attribute/fit/nnls.h"

#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* R and Q'd, rotated. Column k stands at matrix + k * columns; column `columns` is the right-hand side. Those
 * named by column[0] to column[count - 1] are a triangle in this order, with zeros below it. */
typedef struct free_set {
    size_t columns;
    size_t count;
    double *matrix;
    size_t *column; /* the free ones, then the others */
    double *burst;  /* room for the rotations of a removal: cosine, sine */
    double *rest;   /* [columns]: what the columns that are not free leave of the right-hand side */
} free_set;

double jm__matrix_dot(const double *left, const double *right, size_t n)
{
    double sum = 0;
    for (size_t k = 0; k < n; k++)
        sum += left[k] * right[k];
    return sum;
}

void jm__matrix_multiply(double *out, double factor, const double *left, const double *right, size_t n)
{
    memset(out, 0, n * n * sizeof *out);
    for (size_t i = 0; i < n; i++) {
        for (size_t m = 0; m < n; m++) {
            double term = factor * left[i * n + m];
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

void jm__matrix_whiten(double *rows, size_t width, const double *lower, size_t i, size_t n)
{
    double *row = rows + i * width;
    for (size_t j = 0; j < i; j++) {
        double part = lower[i * n + j];
        for (size_t k = 0; part != 0 && k < width; k++)
            row[k] -= part * rows[j * width + k];
    }
    for (size_t k = 0; k < width; k++)
        row[k] /= lower[i * n + i];
}

static void free_set_free(free_set *set)
{
    free(set->matrix);
    free(set->column);
    free(set->burst);
    free(set->rest);
    *set = (free_set){0};
}

/* The updates of Lawson and Hanson, Solving Least Squares Problems, chapter 24: a reflection when a column
 * enters, rotations when one leaves; each costs columns^2. */

/* All columns of a finished triangle, free. */
static jm_status free_set_init(free_set *set, const jm__qr *qr, jm_error *err)
{
    size_t n = qr->columns;
    *set = (free_set){.columns = n, .count = n};
    set->matrix = calloc(n * (n + 1) + 1, sizeof *set->matrix);
    set->column = calloc(n + 1, sizeof *set->column);
    set->burst = calloc(2 * n + 1, sizeof *set->burst);
    set->rest = calloc(n + 1, sizeof *set->rest);
    if (set->matrix == NULL || set->column == NULL || set->burst == NULL || set->rest == NULL) {
        free_set_free(set);
        return jm__no_memory(err, "jm__free_set_init");
    }
    for (size_t k = 0; k <= n; k++) {
        size_t rows = k < n ? k + 1 : n;
        memcpy(set->matrix + k * n, qr->triangle + k * qr->stride, rows * sizeof *set->matrix);
        set->column[k] = k;
    }
    return JM_OK;
}

static void rotate(double *column, const double *burst, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        double cosine = burst[2 * i], sine = burst[2 * i + 1], above = column[i], below = column[i + 1];
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
        rotate(column, set->burst, place, i);
        double length = hypot(column[i], column[i + 1]);
        set->burst[2 * i] = length > 0 ? column[i] / length : 1;
        set->burst[2 * i + 1] = length > 0 ? column[i + 1] / length : 0;
        column[i] = length;
        column[i + 1] = 0;
    }
    set->column[last] = gone;
    set->count = last;
    for (size_t f = last; f < n; f++)
        rotate(set->matrix + set->column[f] * n, set->burst, place, last);
    rotate(set->matrix + n * n, set->burst, place, last);
}

/* Those that are not free leave. */
static void free_set_keep(free_set *set, const bool *is_free)
{
    for (size_t f = set->count; f-- > 0;)
        if (!is_free[set->column[f]]) free_set_remove(set, f);
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

/* solution[f] of the free column[f], the others being where x[column] has them; finds `rest`. */
static void free_set_solve(free_set *set, const double *x, double *solution)
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

/* How steeply the sum of squares falls if a column that is not free grows; after a solution. */
static double free_set_slope(const free_set *set, size_t column)
{
    size_t top = set->count;
    return jm__matrix_dot(set->matrix + column * set->columns + top, set->rest + top, set->columns - top);
}

/* The active set of Lawson and Hanson with limits at both ends (Stark and Parker, Computational Statistics
 * 10, 1995) on a triangle, started from the free solution. */

/* The place in the set of the column at a limit whose way back would lower the sum of squares most; the
 * number of columns if none would. */
static size_t steepest(const free_set *set, const jm__qr *qr, const double *x, const bool *refused)
{
    size_t columns = qr->columns, best = columns;
    double best_gain = 0;
    for (size_t f = set->count; f < columns; f++) {
        size_t k = set->column[f];
        if (refused[k]) continue;
        double up = free_set_slope(set, k),
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
static void start(free_set *set, const double *most, double *x, bool *is_free, double *solution)
{
    for (size_t k = 0; k < set->columns; k++)
        is_free[k] = true;
    for (bool beyond = true; beyond;) {
        free_set_solve(set, x, solution);
        beyond = false;
        for (size_t f = 0; f < set->count; f++) {
            size_t k = set->column[f];
            x[k] = fmin(fmax(solution[f], 0), most_of(most, k));
            is_free[k] = x[k] == solution[f];
            beyond = beyond || !is_free[k];
        }
        free_set_keep(set, is_free);
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
static double step(const free_set *set, const double *most, const double *solution, double *x, bool *is_free)
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
    free_set set = {0};
    bool *refused = calloc(qr->columns, sizeof *refused);
    double *solution = calloc(qr->columns, sizeof *solution);
    jm_status status = refused == NULL || solution == NULL ? jm__no_memory(err, "jm__nnls_solve")
                                                           : free_set_init(&set, qr, err);
    if (status == JM_OK) start(&set, most, x, is_free, solution);
    /* The set is finite and each turn lowers the sum; the bound only guards against rounding. */
    for (size_t burst = 0; status == JM_OK && burst < 3 * qr->columns; burst++) {
        size_t place = steepest(&set, qr, x, refused), entering = set.column[place];
        if (place == qr->columns) break;
        is_free[entering] = true;
        free_set_add(&set, place);
        bool moved = false;
        for (double length = 0; length < 1;) {
            bool could = is_free[entering];
            free_set_solve(&set, x, solution);
            length = step(&set, most, solution, x, is_free);
            moved = moved || (could && length > 0);
            free_set_keep(&set, is_free);
        }
        if (moved) /* the sum is lower: whoever could not move may now */
            memset(refused, 0, qr->columns * sizeof *refused);
        else
            refused[entering] = true;
    }
    free_set_free(&set);
    free(refused);
    free(solution);
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

/* Column `place` of the set, in its order: with rows of the triangle first, then what those leave of it. */
static const double *column_of(const free_set *set, size_t place)
{
    return set->matrix + set->column[place] * set->columns;
}

/* (R'R)^-1 of the free columns, count * count. */
static jm_status free_covariance(double *covariance, const free_set *set, jm_error *err)
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
static void find_partners(double *moved, const free_set *set, size_t at)
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

static void add_partners(double *covariance, const free_set *set, size_t at, const double *moved,
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
    free_set set;
    double *first; /* of the free columns */
    double *moved;
    double *rest;
} parts;

static void parts_free(parts *p)
{
    free_set_free(&p->set);
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
    JM_TRY(free_set_init(&p->set, qr, err));
    free_set_keep(&p->set, is_free);
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
