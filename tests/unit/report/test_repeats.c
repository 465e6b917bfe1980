/* Figures of repeated measurements, against textbooks and against chance. */
#include "proof.h"

#include <joulemap/repeats.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { VALUES = 12 };

static int trials(void)
{
    return proof_some(2000, 100);
}

static uint64_t state = 88172645463325252u;

static double uniform(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return ((double)(state >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(void)
{
    return sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform());
}

static void draw(double *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        values[i] = 100 + 2 * normal();
}

static void test_figures_are_those_of_a_textbook(void **unused)
{
    (void)unused;
    static const double values[] = {2, 4, 4, 4, 5, 5, 7, 9};
    jm_repeats of;
    assert_int_equal(jm_repeats_of(values, 8, &of, NULL), JM_OK);
    assert_true(fabs(of.mean - 5) < 1e-12 && fabs(of.median - 4.5) < 1e-12);
    assert_true(fabs(of.deviation - sqrt(32. / 7)) < 1e-12);
    assert_true(of.least == 2 && of.most == 9 && of.count == 8);
    assert_true(fabs((of.high - of.low) / 2 - 2.3646 * of.deviation / sqrt(8)) < 1e-3); /* t of 7 */
    assert_true(fabs(of.slope - 34. / 42) < 1e-12);
    assert_true(of.slope_low > 0);
}

static void test_few_values_tell_less(void **unused)
{
    (void)unused;
    static const double values[] = {3, 5};
    jm_repeats of;
    jm_error err = {0};
    assert_int_equal(jm_repeats_of(values, 0, &of, &err), JM_USAGE);
    assert_int_equal(jm_repeats_of(values, 1, &of, &err), JM_OK);
    assert_true(of.mean == 3 && of.median == 3 && isnan(of.low) && isnan(of.deviation) && isnan(of.slope));
    assert_int_equal(jm_repeats_of(values, 2, &of, &err), JM_OK);
    assert_true(of.mean == 4 && isfinite(of.low) && isnan(of.slope));
    assert_int_equal(jm_repeats_warm_up(values, 2), 0);
}

/* Rosner 1983, as in NIST's handbook, 1.3.5.17.3: the three largest are outliers. */
static void test_outliers_are_those_of_the_paper(void **unused)
{
    (void)unused;
    static const double values[] = {-0.25, 0.68, 0.94, 1.15, 1.20, 1.26, 1.26, 1.34, 1.38, 1.43, 1.49,
                                    1.49,  1.55, 1.56, 1.58, 1.65, 1.69, 1.70, 1.76, 1.77, 1.81, 1.91,
                                    1.94,  1.96, 1.99, 2.06, 2.09, 2.10, 2.14, 2.15, 2.23, 2.24, 2.26,
                                    2.35,  2.37, 2.40, 2.47, 2.54, 2.62, 2.64, 2.90, 2.92, 2.92, 2.93,
                                    3.21,  3.26, 3.30, 3.59, 3.68, 4.30, 4.64, 5.34, 5.42, 6.01};
    enum { COUNT = sizeof values / sizeof *values };
    bool outlier[COUNT];
    size_t found;
    assert_int_equal(jm_repeats_outliers(values, COUNT, outlier, &found, NULL), JM_OK);
    assert_int_equal(found, 3);
    for (size_t i = 0; i < COUNT; i++)
        assert_int_equal(outlier[i], i >= COUNT - 3);
}

static void test_chance_alone_seldom_makes_anything(void **unused)
{
    (void)unused;
    size_t outliers = 0, warm = 0, drifts = 0, held = 0;
    for (int trial = 0; trial < trials(); trial++) {
        double values[VALUES];
        bool outlier[VALUES];
        size_t found;
        jm_repeats of;
        draw(values, VALUES);
        assert_int_equal(jm_repeats_of(values, VALUES, &of, NULL), JM_OK);
        assert_int_equal(jm_repeats_outliers(values, VALUES, outlier, &found, NULL), JM_OK);
        outliers += found > 0;
        warm += jm_repeats_warm_up(values, VALUES) > 0;
        drifts += of.slope_low > 0 || of.slope_high < 0;
        held += of.low <= 100 && of.high >= 100;
    }
    if (proof_runs()) {
        assert_in_range(outliers, 60, 180); /* of 2000: 5 %, a little more of so few values */
        assert_in_range(warm, 1, 40);       /* 1 % */
        assert_in_range(drifts, 60, 140);
        assert_in_range(held, 1860, 1940);
    } else {
        assert_in_range(outliers, proof_least(trials(), 0.05), proof_most(trials(), 0.06));
        assert_in_range(warm, 0, proof_most(trials(), 0.01));
        assert_in_range(drifts, proof_least(trials(), 0.05), proof_most(trials(), 0.05));
        assert_in_range(held, proof_least(trials(), 0.95), trials());
    }
}

static void test_what_is_there_is_found(void **unused)
{
    (void)unused;
    size_t outliers = 0, warm = 0, drifts = 0;
    for (int trial = 0; trial < trials(); trial++) {
        double values[VALUES];
        bool outlier[VALUES];
        size_t found;
        jm_repeats of;
        draw(values, VALUES);
        values[0] += 20; /* ten deviations */
        values[1] += 20;
        warm += jm_repeats_warm_up(values, VALUES) == 2;
        draw(values, VALUES);
        values[5] += 20;
        assert_int_equal(jm_repeats_outliers(values, VALUES, outlier, &found, NULL), JM_OK);
        outliers += outlier[5];
        draw(values, VALUES);
        for (size_t i = 0; i < VALUES; i++)
            values[i] += 2 * (double)i;
        assert_int_equal(jm_repeats_of(values, VALUES, &of, NULL), JM_OK);
        drifts += of.slope_low > 0 && of.slope_high > 2 && of.slope_low < 2;
    }
    if (proof_runs()) {
        assert_true(warm > 1900 && outliers > 1960 && drifts > 1860); /* of 2000 */
    } else {
        assert_in_range(warm, proof_least(trials(), 0.95), trials());
        assert_in_range(outliers, proof_least(trials(), 0.98), trials());
        assert_in_range(drifts, proof_least(trials(), 0.93), trials());
    }
}

/* A run that goes on warming up keeps at least two thirds of its values. */
static void test_a_warm_up_ends(void **unused)
{
    (void)unused;
    double values[VALUES];
    for (size_t i = 0; i < VALUES; i++)
        values[i] = i < 8 ? 1000 * pow(10, 8 - (double)i) : 100 + (double)(i % 2);
    assert_true(jm_repeats_warm_up(values, VALUES) <= VALUES / 3);
    assert_int_equal(jm_repeats_warm_up(values, 4), 0);
    static const double even[] = {90, 80, 80, 80, 80, 80};
    assert_int_equal(jm_repeats_warm_up(even, 6), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_figures_are_those_of_a_textbook),
        cmocka_unit_test(test_few_values_tell_less),
        cmocka_unit_test(test_outliers_are_those_of_the_paper),
        cmocka_unit_test(test_chance_alone_seldom_makes_anything),
        cmocka_unit_test(test_what_is_there_is_found),
        cmocka_unit_test(test_a_warm_up_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
