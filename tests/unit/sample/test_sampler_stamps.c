/* When updates that polls see took place. All of it reckoned by hand. */
#include "record/sample/stamps.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void check_window(const jm__tick *tick, int64_t after_ns, int64_t requested_low_ns,
                         int64_t requested_high_ns)
{
    int64_t low_ns, high_ns;
    assert_true(jm__tick_next(tick, after_ns, &low_ns, &high_ns));
    assert_int_equal(low_ns, requested_low_ns);
    assert_int_equal(high_ns, requested_high_ns);
}

/* An update may be off its grid by 320 / 32, and the grid by a 4000th of the time passed. */
static void test_updates_are_looked_for_where_the_grid_may_be(void **state)
{
    (void)state;
    int64_t low_ns, high_ns;
    jm__tick tick = {.period_ns = 320};
    assert_int_equal(jm__tick_observe(&tick, 1000, 1100), 1050);
    check_window(&tick, 1000, 990, 1110);
    check_window(&tick, 1109, 990, 1110);
    check_window(&tick, 1110, 1310, 1430); /* that one is over */
    check_window(&tick, 5000, 5150, 5270);
    check_window(&tick, 1050 + 160000, 160990 - 40, 161110 + 40);
    check_window(&tick, 1050 - 160000, -159010 - 40, -158890 + 40);
    assert_false(jm__tick_next(&tick, 1050 + 400000, &low_ns, &high_ns)); /* it may be anywhere by then */
}

static void test_each_update_narrows_what_is_known_of_the_grid(void **state)
{
    (void)state;
    int64_t low_ns, high_ns;
    jm__tick tick = {.period_ns = 320};
    jm__tick_observe(&tick, 1000, 1100);
    assert_int_equal(jm__tick_observe(&tick, 1340, 1400), 1370);
    check_window(&tick, 1400, 1330, 1410);
    assert_int_equal(jm__tick_observe(&tick, 1640, 1690), 1675);
    check_window(&tick, 1690, 1650, 1700);
    assert_int_equal(jm__tick_observe(&tick, 1960, 1975), 1975); /* seen by then: not later */
    check_window(&tick, 1975, 1970, 1985);
    assert_int_equal(jm__tick_observe(&tick, 2100, 2110), 2105); /* another grid */
    check_window(&tick, 2110, 2090, 2120);
    jm__tick_observe(&tick, 3000, 3320); /* a poll that slept through a whole period */
    assert_false(jm__tick_next(&tick, 4000, &low_ns, &high_ns));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_updates_are_looked_for_where_the_grid_may_be),
        cmocka_unit_test(test_each_update_narrows_what_is_known_of_the_grid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
