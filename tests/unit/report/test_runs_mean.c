/* Means over runs: never narrower than what the spread or the runs themselves say, and right as often as they
 * say.
 */
#include "attribute/fit/student.h"
#include "report/change.h"
#include "synthetic.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { MOST_RUNS = 8 };

static double student[MOST_RUNS + 1];

static int find_student(void **state)
{
    (void)state;
    for (size_t runs = 2; runs <= MOST_RUNS; runs++)
        student[runs] = jm__student_quantile(0.95, (double)(runs - 1));
    return 0;
}

static jm__run_figure run_of(double energy_j, double half_j)
{
    return (jm__run_figure){true, energy_j, energy_j - half_j, energy_j + half_j, 1};
}

static double half_of(const jm__runs_mean *mean)
{
    return (mean->high_j - mean->low_j) / 2;
}

/* 99, 100, 101: deviation 1, t of 2 degrees of freedom 4.303 (tables), so 4.303 / sqrt(3) = 2.484. */
static void test_runs_without_own_errors_have_students_interval(void **state)
{
    (void)state;
    const jm__run_figure runs[] = {run_of(101, 0), run_of(99, 0), run_of(100, 0)};
    jm__runs_mean mean = jm__runs_mean_of(runs, 3, student);
    assert_true(mean.runs == 3 && fabs(mean.energy_j - 100) < 1e-12 && fabs(mean.deviation_j - 1) < 1e-12);
    assert_true(fabs(half_of(&mean) - 2.484) < 0.002);
}

/* Errors that are the same in all runs get no smaller by a mean of them. */
static void test_runs_without_spread_have_the_interval_of_one(void **state)
{
    (void)state;
    const jm__run_figure runs[] = {run_of(100, 8), run_of(100, 8), run_of(100, 8)};
    jm__runs_mean mean = jm__runs_mean_of(runs, 3, student);
    assert_true(fabs(half_of(&mean) - 8) < 1e-9 && mean.deviation_j == 0);
}

static void test_one_run_keeps_its_own_interval(void **state)
{
    (void)state;
    const jm__run_figure runs[] = {{false, 0, 0, 0, 0}, {true, 10, 0, 25, 1}, {false, 0, 0, 0, 0}};
    jm__runs_mean mean = jm__runs_mean_of(runs, 3, student);
    assert_true(mean.runs == 1 && mean.energy_j == 10 && mean.low_j == 0 && mean.high_j == 25);
    assert_true(isnan(mean.deviation_j));
}

static void test_what_is_not_known_in_one_run_is_not_known_of_all(void **state)
{
    (void)state;
    jm__run_figure runs[] = {run_of(100, 8), {true, NAN, NAN, NAN, NAN}};
    jm__runs_mean mean = jm__runs_mean_of(runs, 2, student);
    assert_true(isnan(mean.energy_j) && isnan(mean.low_j) && isnan(mean.high_j));
    runs[1] = (jm__run_figure){true, 101, NAN, NAN, 1};
    mean = jm__runs_mean_of(runs, 2, student);
    assert_true(mean.energy_j == 100.5 && isnan(mean.low_j) && isnan(mean.high_j));
}

/* Whatever the runs are: Student's interval of the spread, and that of independent own errors. */
static void test_no_interval_is_narrower_than_spread_or_own_errors_say(void **state)
{
    (void)state;
    synthetic *s = syn_create(1, 1, 1);
    for (int trial = 0; trial < 2000; trial++) {
        jm__run_figure runs[MOST_RUNS];
        int count = 2 + (int)(syn_uniform(s) * (MOST_RUNS - 1));
        double spread = 3 * syn_uniform(s), own_j2 = 0, sum = 0, square = 0;
        for (int i = 0; i < count; i++) {
            double half = 5 * syn_uniform(s);
            runs[i] = run_of(100 + spread * syn_normal(s), half);
            own_j2 += half * half;
            sum += runs[i].energy_j;
        }
        for (int i = 0; i < count; i++)
            square += pow(runs[i].energy_j - sum / count, 2);
        double spread_j = jm__student_quantile(0.95, count - 1) * sqrt(square / (count - 1) / count);
        jm__runs_mean mean = jm__runs_mean_of(runs, (size_t)count, student);
        assert_true(half_of(&mean) >= spread_j * (1 - 1e-6));
        assert_true(half_of(&mean) >= sqrt(own_j2) / count * (1 - 1e-6));
        assert_true(half_of(&mean) <= hypot(spread_j, sqrt(own_j2 / count)) * (1 + 1e-6));
    }
    syn_free(s);
}

static int sign_of(const jm__run_figure *a, int count_a, const jm__run_figure *b, int count_b)
{
    jm__runs_mean mean_a = jm__runs_mean_of(a, (size_t)count_a, student),
                  mean_b = jm__runs_mean_of(b, (size_t)count_b, student);
    return jm__change_of((jm__figure){mean_a.energy_j, mean_a.low_j, mean_a.high_j, 0},
                         (jm__figure){mean_b.energy_j, mean_b.low_j, mean_b.high_j, 0})
        .sign;
}

/* What runs do that are alike but for chance: each has its own error, told by its interval, one of all runs
 * of its side, and what it took, which no run can tell. */
typedef struct sides {
    const char *name;
    int counts[2];
    double own, shared; /* standard; the intervals hold both */
    double scatter[2];  /* of each side's runs */
} sides;

static void play(synthetic *s, const sides *of, int side, double mean_j, jm__run_figure *runs)
{
    double half = 1.96 * hypot(of->own, of->shared), common = of->shared * syn_normal(s);
    for (int i = 0; i < of->counts[side]; i++)
        runs[i] = run_of(mean_j + common + of->own * syn_normal(s) + of->scatter[side] * syn_normal(s), half);
}

static double share_changed(const sides *of, double more, int trials)
{
    synthetic *s = syn_create(3, 1, 1);
    int changed = 0;
    for (int i = 0; i < trials; i++) {
        jm__run_figure a[MOST_RUNS], b[MOST_RUNS];
        play(s, of, 0, 100, a);
        play(s, of, 1, 100 * (1 + more), b);
        changed += sign_of(a, of->counts[0], b, of->counts[1]) != 0;
    }
    syn_free(s);
    return (double)changed / trials;
}

/* At most 5 %, and 4 standard deviations of 20000 trials: 0.6 %. */
static void test_equal_sides_differ_at_most_once_in_20(void **state)
{
    (void)state;
    static const sides all[] = {{"spread alone, 3 and 3", {3, 3}, 0, 0, {1, 1}},
                                {"spread alone, 2 and 2", {2, 2}, 0, 0, {1, 1}},
                                {"spread alone, 8 and 8", {8, 8}, 0, 0, {1, 1}},
                                {"twice the spread in B", {3, 3}, 0, 0, {1, 2}},
                                {"twenty times the spread in B", {3, 3}, 0, 0, {1, 20}},
                                {"more spread where runs are few", {2, 5}, 0, 0, {3, 1}},
                                {"as much, 2 and 5", {2, 5}, 0, 0, {1, 1}},
                                {"own errors alone", {3, 3}, 1, 0, {0, 0}},
                                {"errors of all runs alone", {3, 3}, 0, 1, {0, 0}},
                                {"own errors of one run a side", {1, 1}, 1, 1, {0, 0}},
                                {"own errors, 1 and 5", {1, 5}, 1, 0, {0, 0}},
                                {"some of each", {3, 3}, 1, 1, {1, 1}}};
    enum { TRIALS = 20000 };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        double share = share_changed(&all[i], 0, TRIALS);
        print_message("%s: %.1f %%\n", all[i].name, 100 * share);
        assert_true(share <= 0.05 + 4 * sqrt(0.05 * 0.95 / TRIALS));
    }
}

/* 10 % with runs that scatter by 1.4 %: t of 2 degrees of freedom, 4.30, times 1.4 % and the root of 2/3
 * is 4.9 %. */
static void test_a_tenth_more_is_found_with_three_runs_a_side(void **state)
{
    (void)state;
    static const sides scattered = {"3 and 3", {3, 3}, 1, 1, {1, 1}};
    double share = share_changed(&scattered, 0.1, 20000);
    print_message("10 %% more: found in %.1f %%\n", 100 * share);
    assert_true(share >= 0.95);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_runs_without_own_errors_have_students_interval),
        cmocka_unit_test(test_runs_without_spread_have_the_interval_of_one),
        cmocka_unit_test(test_one_run_keeps_its_own_interval),
        cmocka_unit_test(test_what_is_not_known_in_one_run_is_not_known_of_all),
        cmocka_unit_test(test_no_interval_is_narrower_than_spread_or_own_errors_say),
        cmocka_unit_test(test_equal_sides_differ_at_most_once_in_20),
        cmocka_unit_test(test_a_tenth_more_is_found_with_three_runs_a_side),
    };
    return cmocka_run_group_tests(tests, find_student, NULL);
}
