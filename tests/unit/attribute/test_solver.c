/* The solver against LAPACK and exhaustive search, and in extreme cases. */
#include "attribute/fit/nnls.h"
#include "attribute/fit/prior.h"
#include "attribute/fit/student.h"

#include <lapacke.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ROWS = 500, COLUMNS = 37 };

static uint64_t state_random = 88172645463325252u;

static double uniform(void)
{
    state_random ^= state_random << 13;
    state_random ^= state_random >> 7;
    state_random ^= state_random << 17;
    return (double)(state_random >> 11) / 9007199254740992.0;
}

typedef struct problem {
    double *rows; /* ROWS * COLUMNS */
    double *rhs;
} problem;

/* Half of the columns nearly parallel to their neighbours, as kernels that always run together are. */
static problem make(double spread, bool negative)
{
    problem p = {malloc(ROWS * COLUMNS * sizeof(double)), malloc(ROWS * sizeof(double))};
    for (size_t i = 0; i < ROWS; i++) {
        p.rhs[i] = uniform() - 0.5;
        for (size_t k = 0; k < COLUMNS; k++) {
            double *entry = &p.rows[i * COLUMNS + k];
            *entry = k % 2 == 1 ? entry[-1] + spread * (uniform() - 0.5) : uniform();
            double truth = negative && k % 3 == 0 ? -20 : 10 + (double)k;
            p.rhs[i] += truth * *entry;
        }
    }
    return p;
}

static void free_problem(problem p)
{
    free(p.rows);
    free(p.rhs);
}

static jm__qr fold(problem p)
{
    jm__qr qr;
    jm_error err;
    assert_int_equal(jm__qr_init(&qr, COLUMNS, &err), JM_OK);
    for (size_t i = 0; i < ROWS; i++)
        jm__qr_add(&qr, p.rows + i * COLUMNS, p.rhs[i]);
    jm__qr_finish(&qr);
    return qr;
}

static void test_rows_folded_one_by_one_give_lapacks_solution(void **state)
{
    (void)state;
    const double spreads[] = {1, 1e-3, 1e-6};
    for (size_t s = 0; s < 3; s++) {
        problem p = make(spreads[s], false);
        jm__qr qr = fold(p);
        double x[COLUMNS];
        assert_int_equal(jm__nnls_solve(&qr, NULL, x, NULL), JM_OK);
        double *a = malloc(ROWS * COLUMNS * sizeof *a), b[ROWS];
        memcpy(a, p.rows, ROWS * COLUMNS * sizeof *a);
        memcpy(b, p.rhs, sizeof b);
        assert_int_equal(LAPACKE_dgels(LAPACK_ROW_MAJOR, 'N', ROWS, COLUMNS, 1, a, COLUMNS, b, 1), 0);
        bool all_positive = true;
        for (size_t k = 0; k < COLUMNS; k++)
            all_positive = all_positive && b[k] > 0;
        for (size_t k = 0; k < COLUMNS && all_positive; k++)
            assert_true(fabs(x[k] - b[k]) < 1e-8 / spreads[s] * (1 + fabs(b[k])));
        assert_true(all_positive || spreads[s] < 0.1); /* noise / 1e-3 may well push one below zero */
        double corner = qr.triangle[COLUMNS * qr.stride + COLUMNS], square = 0;
        for (size_t i = COLUMNS; i < ROWS; i++)
            square += b[i] * b[i];
        assert_true(fabs(corner * corner - square) < 1e-9 * square);
        free(a);
        jm__qr_free(&qr);
        free_problem(p);
    }
}

static void test_the_covariance_is_lapacks(void **state)
{
    (void)state;
    problem p = make(0.5, false);
    jm__qr qr = fold(p);
    double x[COLUMNS];
    for (size_t k = 0; k < COLUMNS; k++)
        x[k] = 1;
    double *covariance = malloc(COLUMNS * COLUMNS * sizeof *covariance);
    double *gram = calloc(COLUMNS * COLUMNS, sizeof *gram);
    assert_int_equal(jm__nnls_covariance(&qr, NULL, x, 1, covariance, NULL), JM_OK);
    for (size_t i = 0; i < ROWS; i++)
        for (size_t k = 0; k < COLUMNS; k++)
            for (size_t m = 0; m < COLUMNS; m++)
                gram[k * COLUMNS + m] += p.rows[i * COLUMNS + k] * p.rows[i * COLUMNS + m];
    assert_int_equal(LAPACKE_dpotrf(LAPACK_ROW_MAJOR, 'L', COLUMNS, gram, COLUMNS), 0);
    assert_int_equal(LAPACKE_dpotri(LAPACK_ROW_MAJOR, 'L', COLUMNS, gram, COLUMNS), 0);
    for (size_t k = 0; k < COLUMNS; k++)
        for (size_t m = 0; m <= k; m++) {
            double scale = sqrt(gram[k * COLUMNS + k] * gram[m * COLUMNS + m]);
            assert_true(fabs(covariance[k * COLUMNS + m] - gram[k * COLUMNS + m]) < 1e-9 * scale);
            assert_true(covariance[k * COLUMNS + m] == covariance[m * COLUMNS + k]);
        }
    free(covariance);
    free(gram);
    jm__qr_free(&qr);
    free_problem(p);
}

/* Karush-Kuhn-Tucker: no power is negative, and none at zero would lower the sum by rising. */
static void test_no_power_is_negative_and_none_wants_to_rise_from_zero(void **state)
{
    (void)state;
    for (int round = 0; round < 20; round++) {
        problem p = make(round % 2 ? 0.05 : 1, true);
        jm__qr qr = fold(p);
        double x[COLUMNS], scale = 0;
        size_t zeros = 0;
        assert_int_equal(jm__nnls_solve(&qr, NULL, x, NULL), JM_OK);
        for (size_t i = 0; i < ROWS; i++)
            scale += p.rhs[i] * p.rhs[i];
        for (size_t k = 0; k < COLUMNS; k++) {
            double gradient = 0;
            for (size_t i = 0; i < ROWS; i++) {
                double rest = p.rhs[i];
                for (size_t m = 0; m < COLUMNS; m++)
                    rest -= p.rows[i * COLUMNS + m] * x[m];
                gradient += p.rows[i * COLUMNS + k] * rest;
            }
            assert_true(x[k] >= 0);
            if (x[k] > 0)
                assert_true(fabs(gradient) < 1e-7 * scale);
            else
                assert_true(gradient < 1e-7 * scale);
            zeros += x[k] == 0;
        }
        assert_true(zeros >= 3 && zeros < COLUMNS); /* the truth has a dozen negative ones */
        jm__qr_free(&qr);
        free_problem(p);
    }
}

/* ---- limits at both ends */

enum { FEW = 5 };

/* The sum of squares of 5 columns with each of them at 0, at its limit or free, by LAPACK; INFINITY if a free
 * one lies beyond a limit. */
static double square_of(const double *rows, const double *rhs, const double *most, size_t choice, double *x)
{
    double a[ROWS * FEW], b[ROWS], rest = 0;
    size_t column[FEW], count = 0;
    for (size_t k = 0; k < FEW; k++, choice /= 3) {
        x[k] = choice % 3 == 1 ? most[k] : 0;
        if (choice % 3 == 2) column[count++] = k;
    }
    for (size_t i = 0; i < ROWS; i++) {
        b[i] = rhs[i];
        for (size_t k = 0; k < FEW; k++)
            b[i] -= rows[i * FEW + k] * x[k];
        for (size_t f = 0; f < count; f++)
            a[i * count + f] = rows[i * FEW + column[f]];
    }
    if (count > 0)
        assert_int_equal(
            LAPACKE_dgels(LAPACK_ROW_MAJOR, 'N', ROWS, (lapack_int)count, 1, a, (lapack_int)count, b, 1), 0);
    for (size_t f = 0; f < count; f++) {
        if (b[f] < 0 || b[f] > most[column[f]]) return INFINITY;
        x[column[f]] = b[f];
    }
    for (size_t i = count; i < ROWS; i++)
        rest += b[i] * b[i];
    return rest;
}

/* The best of all 3^5 ways to put columns at their limits. */
static void test_between_limits_the_solution_is_the_best_of_all_ways_to_keep_them(void **state)
{
    (void)state;
    double rows[ROWS * FEW], rhs[ROWS], most[FEW], x[FEW], best[FEW], tried[FEW];
    size_t at_most = 0, at_zero = 0;
    for (int round = 0; round < 40; round++) {
        jm__qr qr;
        assert_int_equal(jm__qr_init(&qr, FEW, NULL), JM_OK);
        for (size_t k = 0; k < FEW; k++)
            most[k] = round % 4 == 3 && k == 2 ? INFINITY : 5 + 10 * uniform();
        for (size_t i = 0; i < ROWS; i++) {
            rhs[i] = 4 * (uniform() - 0.5);
            for (size_t k = 0; k < FEW; k++) {
                rows[i * FEW + k] = k % 2 == 1 ? rows[i * FEW + k - 1] + 0.1 * uniform() : uniform();
                rhs[i] += rows[i * FEW + k] * (double)((round * 7 + (int)k * 11) % 31 - 8);
            }
            jm__qr_add(&qr, rows + i * FEW, rhs[i]);
        }
        jm__qr_finish(&qr);
        double square = INFINITY;
        for (size_t choice = 0; choice < 243; choice++) {
            bool open = false; /* infinity is no place to be */
            for (size_t k = 0, rest = choice; k < FEW; k++, rest /= 3)
                open = open || (rest % 3 == 1 && isinf(most[k]));
            double here = open ? INFINITY : square_of(rows, rhs, most, choice, tried);
            if (here >= square) continue;
            square = here;
            memcpy(best, tried, sizeof best);
        }
        assert_int_equal(jm__nnls_solve(&qr, most, x, NULL), JM_OK);
        for (size_t k = 0; k < FEW; k++) {
            assert_true(fabs(x[k] - best[k]) < 1e-7 * (1 + fabs(best[k])));
            assert_true(x[k] >= 0 && x[k] <= most[k]);
            at_most += x[k] == most[k];
            at_zero += x[k] == 0;
        }
        jm__qr_free(&qr);
    }
    assert_true(at_most > 20 && at_zero > 20);
}

/* Counters per second are 1e12 and more: a tiny value there is not tiny in watts. */
static void test_the_unit_does_not_matter(void **state)
{
    (void)state;
    const double unit = 3e12;
    for (int round = 0; round < 20; round++) {
        problem p = make(round % 2 ? 0.02 : 0.3, true);
        jm__qr small = fold(p);
        for (size_t i = 0; i < ROWS; i++)
            p.rhs[i] *= unit;
        jm__qr large = fold(p);
        double x[COLUMNS], many[COLUMNS];
        assert_int_equal(jm__nnls_solve(&small, NULL, x, NULL), JM_OK);
        assert_int_equal(jm__nnls_solve(&large, NULL, many, NULL), JM_OK);
        for (size_t k = 0; k < COLUMNS; k++) {
            assert_true(fabs(many[k] / unit - x[k]) < 1e-7 * (1 + x[k]));
            assert_true(many[k] >= 0);
        }
        jm__qr_free(&small);
        jm__qr_free(&large);
        free_problem(p);
    }
}

/* Karush-Kuhn-Tucker: none at its limit would lower the sum by falling. */
static void test_no_power_is_above_its_limit_and_none_wants_to_fall_from_it(void **state)
{
    (void)state;
    for (int round = 0; round < 20; round++) {
        problem p = make(round % 2 ? 0.05 : 1, true);
        jm__qr qr = fold(p);
        double x[COLUMNS], most[COLUMNS], scale = 0;
        size_t limited = 0;
        for (size_t k = 0; k < COLUMNS; k++)
            most[k] = 25; /* the truth goes up to 46 */
        assert_int_equal(jm__nnls_solve(&qr, most, x, NULL), JM_OK);
        for (size_t i = 0; i < ROWS; i++)
            scale += p.rhs[i] * p.rhs[i];
        for (size_t k = 0; k < COLUMNS; k++) {
            double gradient = 0;
            for (size_t i = 0; i < ROWS; i++) {
                double rest = p.rhs[i];
                for (size_t m = 0; m < COLUMNS; m++)
                    rest -= p.rows[i * COLUMNS + m] * x[m];
                gradient += p.rows[i * COLUMNS + k] * rest;
            }
            assert_true(x[k] >= 0 && x[k] <= 25);
            if (x[k] > 0 && x[k] < 25)
                assert_true(fabs(gradient) < 1e-7 * scale);
            else if (x[k] > 0)
                assert_true(gradient > -1e-7 * scale);
            else
                assert_true(gradient < 1e-7 * scale);
            limited += x[k] == 25;
        }
        assert_true(limited >= 3 && limited < COLUMNS);
        jm__qr_free(&qr);
        free_problem(p);
    }
}

static double normal(void)
{
    return sqrt(-2 * log(uniform() + 1e-300)) * cos(6.283185307179586 * uniform());
}

/* Powers of 3 columns are normal before the limits. The mean square around the solution is that of the draws
 * that satisfy them, from 300,000. */
static void check_spread(const double *rows, const double *rhs, const double *most, size_t column,
                         double noise)
{
    enum { N = 3, DRAWS = 300000 };
    jm__qr qr;
    double x[N], covariance[N * N], drawn[N * N] = {0}, kept = 0;
    assert_int_equal(jm__qr_init(&qr, N, NULL), JM_OK);
    for (size_t i = 0; i < N; i++)
        jm__qr_add(&qr, rows + i * N, rhs[i]);
    jm__qr_finish(&qr);
    assert_int_equal(jm__nnls_solve(&qr, most, x, NULL), JM_OK);
    assert_true(x[column] == 0 || x[column] == most[column]);
    assert_int_equal(jm__nnls_covariance(&qr, most, x, noise, covariance, NULL), JM_OK);
    for (int draw = 0; draw < DRAWS; draw++) {
        jm__qr other = qr; /* the same triangle, a right-hand side of its own */
        double y[N];
        for (size_t i = 0; i < N; i++) {
            y[i] = qr.triangle[N * qr.stride + i];
            other.triangle[N * qr.stride + i] += noise * normal();
        }
        double z[N];
        jm__qr_solve(&other, z);
        for (size_t i = 0; i < N; i++)
            other.triangle[N * qr.stride + i] = y[i];
        if (x[column] > 0 ? z[column] > most[column] : z[column] < 0) continue;
        kept++;
        for (size_t k = 0; k < N; k++)
            for (size_t m = 0; m < N; m++)
                drawn[k * N + m] += (z[k] - x[k]) * (z[m] - x[m]);
    }
    assert_true(kept > 20000);
    for (size_t k = 0; k < N; k++)
        for (size_t m = 0; m < N; m++) {
            double stated = noise * noise * covariance[k * N + m], seen = drawn[k * N + m] / kept;
            double scale = noise * noise * sqrt(covariance[k * N + k] * covariance[m * N + m]);
            if (fabs(stated - seen) > 0.04 * scale) /* 20,000 draws give a variance to 1 % */
                fail_msg("%zu, %zu: said %.4g, drawn %.4g", k, m, stated, seen);
        }
    jm__qr_free(&qr);
}

static void test_a_column_at_a_limit_is_as_unsure_as_what_keeps_the_limit_spreads(void **state)
{
    (void)state;
    /* The sum of the first two is better known than each of them. */
    static const double rows[] = {1, 1, 0, 0.3, -0.2, 0.1, 0, 0.4, 1};
    static const double high[] = {110, 14, 58.4}, low[] = {48, -6.6, 70.8};
    const double most[] = {60, 1000, 1000};
    check_spread(rows, high, most, 0, 2); /* 64 +- 3.8 without a limit */
    check_spread(rows, low, most, 0, 2);  /* -4 +- 3.8 */
}

/* A unit of its own: known to 1, cut off at its middle, it is off by 1 in the mean square; cut off 20 away,
 * by the square root of 2 / 20^2. */
static void test_a_column_far_beyond_its_limit_lies_at_it(void **state)
{
    (void)state;
    const double most[] = {100};
    const double wants[] = {100.000001, 120}, variance[] = {1, 2 / 400.0 - 10 / 160000.0};
    for (int i = 0; i < 2; i++) {
        jm__qr qr;
        double x, covariance;
        assert_int_equal(jm__qr_init(&qr, 1, NULL), JM_OK);
        jm__qr_add(&qr, (double[]){1}, wants[i]);
        jm__qr_finish(&qr);
        assert_int_equal(jm__nnls_solve(&qr, most, &x, NULL), JM_OK);
        assert_true(x == 100);
        assert_int_equal(jm__nnls_covariance(&qr, most, &x, 1, &covariance, NULL), JM_OK);
        assert_true(fabs(covariance / variance[i] - 1) < 1e-4);
        jm__qr_free(&qr);
    }
}

static void solve_with_prior(jm__posterior *posterior, const jm__qr *data, double noise_w)
{
    jm_error err = {0};
    jm__prior prior;
    jm__joint_prior joint_prior;
    const jm__prior *all = &prior;
    prior = (jm__prior){.provenance = JM_PROVENANCE_WEAK, .columns = data->columns};
    for (size_t k = 0; k < data->columns; k++)
        assert_int_equal(jm__prior_add_power(&prior, k, 100, 30, &err), JM_OK);
    assert_int_equal(jm__joint_prior_make(&joint_prior, all, NULL, 0, (jm__noise_prior){noise_w, 2}, &err),
                     JM_OK);
    assert_int_equal(jm__posterior_init(posterior, data->columns, &err), JM_OK);
    assert_int_equal(jm__posterior_solve(posterior, data, &joint_prior, &err), JM_OK);
    jm__joint_prior_free(&joint_prior);
    jm__prior_free(&prior);
}

static void test_columns_that_cannot_be_marked_apart_share_what_their_sum_is(void **state)
{
    (void)state;
    jm__qr qr;
    jm__posterior posterior;
    double row[3] = {0.5, 0.5, 0}; /* the first two are one, the third was never seen */
    assert_int_equal(jm__qr_init(&qr, 3, NULL), JM_OK);
    for (int i = 0; i < 1000; i++)
        jm__qr_add(&qr, row, 120 + (i % 2 ? 1 : -1));
    jm__qr_finish(&qr);
    solve_with_prior(&posterior, &qr, 1);
    const double *c = posterior.covariance;
    assert_true(fabs(posterior.power_w[0] - 120) < 0.1 && fabs(posterior.power_w[1] - 120) < 0.1);
    assert_true(fabs(posterior.power_w[2] - 100) < 1e-6);
    assert_true(fabs(sqrt(c[8]) - 30) < 1e-6);                    /* nothing but the prior */
    assert_true(fabs(sqrt(c[0]) - 30 / sqrt(2)) < 0.1);           /* half of it */
    assert_true(sqrt(fmax(0, c[0] + 2 * c[1] + c[4])) / 2 < 0.1); /* their mean is known */
    assert_true(fabs(posterior.noise_w - 1) < 0.05);
    jm__posterior_free(&posterior);
    jm__qr_free(&qr);
}

static void test_no_rows_leave_the_prior_as_it_was(void **state)
{
    (void)state;
    jm__qr qr;
    jm__posterior posterior;
    assert_int_equal(jm__qr_init(&qr, 4, NULL), JM_OK);
    jm__qr_finish(&qr);
    solve_with_prior(&posterior, &qr, 5);
    for (size_t k = 0; k < 4; k++) {
        assert_true(fabs(posterior.power_w[k] - 100) < 1e-9);
        assert_true(fabs(sqrt(posterior.covariance[k * 4 + k]) - 30) < 1e-6);
    }
    jm__posterior_free(&posterior);
    jm__qr_free(&qr);
}

static void test_rows_of_zeros_say_nothing(void **state)
{
    (void)state;
    jm__qr qr;
    jm__posterior posterior;
    const double row[2] = {0, 0};
    assert_int_equal(jm__qr_init(&qr, 2, NULL), JM_OK);
    for (int i = 0; i < 200; i++)
        jm__qr_add(&qr, row, i % 2 ? 3 : -3);
    jm__qr_finish(&qr);
    solve_with_prior(&posterior, &qr, 3);
    assert_true(fabs(posterior.power_w[0] - 100) < 1e-9 && isfinite(posterior.covariance[0]));
    assert_true(fabs(posterior.noise_w - 3) < 0.1);
    jm__posterior_free(&posterior);
    jm__qr_free(&qr);
}

/* A tiny remainder in a column, from old work or rounding, has a square of zero, by which nothing may be
 * divided: an hour with 300 kinds of work once failed by it. */
static void test_next_to_nothing_in_a_column_spoils_no_other(void **state)
{
    (void)state;
    jm__qr qr;
    double x[2];
    assert_int_equal(jm__qr_init(&qr, 2, NULL), JM_OK);
    for (size_t i = 0; i < ROWS; i++) {
        double row[] = {uniform(), i < ROWS / 2 ? 3e-156 * uniform() : uniform()};
        jm__qr_add(&qr, row, 500 * row[0] + 700 * row[1]);
    }
    jm__qr_finish(&qr);
    assert_int_equal(jm__nnls_solve(&qr, NULL, x, NULL), JM_OK);
    assert_true(fabs(x[0] - 500) < 1e-9 && fabs(x[1] - 700) < 1e-9);
    jm__qr_free(&qr);
}

static void test_equations_that_are_no_numbers_are_an_error_not_zero_watts(void **state)
{
    (void)state;
    for (size_t bad = 0; bad <= 2; bad++) { /* a column, the other one, the right-hand side */
        jm__qr qr;
        jm_error err;
        double x[2];
        assert_int_equal(jm__qr_init(&qr, 2, NULL), JM_OK);
        jm__qr_add(&qr, (double[]){1, 0}, 300);
        jm__qr_add(&qr, (double[]){0, 1}, 300);
        jm__qr_finish(&qr);
        qr.triangle[bad * qr.stride] = NAN;
        assert_int_equal(jm__nnls_solve(&qr, NULL, x, &err), JM_INTERNAL);
        jm__qr_free(&qr);
    }
}

static void test_students_quantiles_are_those_of_the_tables(void **state)
{
    (void)state;
    static const struct {
        double probability, freedom, t;
    } table[] = {{0.95, 1, 12.7062},   {0.95, 2, 4.30265},  {0.95, 5, 2.57058}, {0.95, 30, 2.04227},
                 {0.95, 1e6, 1.95996}, {0.90, 10, 1.81246}, {0.99, 3, 5.84091}, {0.50, 1, 1.0},
                 {0.50, 5, 0.726687},  {0.20, 2, 0.288675}};
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        assert_true(fabs(jm__student_quantile(table[i].probability, table[i].freedom) / table[i].t - 1) <
                    1e-5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_folded_one_by_one_give_lapacks_solution),
        cmocka_unit_test(test_the_covariance_is_lapacks),
        cmocka_unit_test(test_no_power_is_negative_and_none_wants_to_rise_from_zero),
        cmocka_unit_test(test_the_unit_does_not_matter),
        cmocka_unit_test(test_between_limits_the_solution_is_the_best_of_all_ways_to_keep_them),
        cmocka_unit_test(test_no_power_is_above_its_limit_and_none_wants_to_fall_from_it),
        cmocka_unit_test(test_a_column_at_a_limit_is_as_unsure_as_what_keeps_the_limit_spreads),
        cmocka_unit_test(test_a_column_far_beyond_its_limit_lies_at_it),
        cmocka_unit_test(test_columns_that_cannot_be_marked_apart_share_what_their_sum_is),
        cmocka_unit_test(test_no_rows_leave_the_prior_as_it_was),
        cmocka_unit_test(test_rows_of_zeros_say_nothing),
        cmocka_unit_test(test_next_to_nothing_in_a_column_spoils_no_other),
        cmocka_unit_test(test_equations_that_are_no_numbers_are_an_error_not_zero_watts),
        cmocka_unit_test(test_students_quantiles_are_those_of_the_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
