/* How far layers may drift in the steps that a kind's only burst represents: as far as intervals of these
 * steps do, each as long as the burst. */
#include "attribute/sampling.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

static const double least_u = 0.01, single_u = 0.1;

/* Steps that burst 0 of this many step intervals represents; `times_s` is repeated. */
static double u_of(uint32_t burst_step_intervals, size_t step_intervals, const double *times_s, size_t times)
{
    jm__strata strata = {0};
    assert_true(jm__vec_push(&strata.bursts, ((jm__traced_burst){.step_intervals = burst_step_intervals})));
    int64_t now_ns = 0;
    for (size_t i = 0; i < step_intervals; i++) {
        int64_t end_ns = now_ns + (int64_t)(times_s[i % times] * 1e9);
        assert_true(
            jm__vec_push(&strata.step_intervals,
                         ((jm__step_interval){.start_ns = now_ns, .step_end_ns = end_ns, .stratum = 0})));
        now_ns = end_ns + 1000000;
    }
    assert_true(jm__single_burst_find(&strata));
    assert_int_equal(strata.single_burst.count, 1);
    assert_int_equal(strata.single_burst.items[0].burst, 0);
    double u = strata.single_burst.items[0].relative_u;
    free(strata.bursts.items);
    free(strata.step_intervals.items);
    free(strata.single_burst.items);
    return u;
}

static void test_what_evens_out_within_a_burst_is_no_difference(void **state)
{
    (void)state;
    static const double of_six[] = {1, 1, 1, 2, 2, 2};
    assert_float_equal(u_of(6, 120, of_six, 6), least_u, 1e-12);
}

static void test_of_a_short_burst_intervals_of_four_steps_count(void **state)
{
    (void)state;
    static const double of_four[] = {1, 1, 2, 2};
    assert_float_equal(u_of(2, 120, of_four, 4), least_u, 1e-12);
}

static void test_intervals_that_differ_are_marked_by_their_spread(void **state)
{
    (void)state;
    static const double of_eight[] = {1, 1, 1, 1, 3, 3, 3, 3}; /* alternating means of 1 and 3 */
    assert_float_equal(u_of(4, 80, of_eight, 8), sqrt(20.0 / 19) * 1 / 2,
                       1e-12); /* 20 means, 1 from 2 each */
}

static void test_few_intervals_or_a_single_step_are_marked_with_caution(void **state)
{
    (void)state;
    static const double one[] = {1};
    assert_float_equal(u_of(4, 11, one, 1), single_u, 1e-12); /* two intervals */
    assert_float_equal(u_of(4, 12, one, 1), least_u, 1e-12);
    assert_float_equal(u_of(1, 400, one, 1), single_u, 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_evens_out_within_a_burst_is_no_difference),
        cmocka_unit_test(test_of_a_short_burst_intervals_of_four_steps_count),
        cmocka_unit_test(test_intervals_that_differ_are_marked_by_their_spread),
        cmocka_unit_test(test_few_intervals_or_a_single_step_are_marked_with_caution),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
