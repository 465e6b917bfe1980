/* When a sample was taken: late stamps of the ring, and updates that polls see. All of it reckoned by hand.
 */
#include "sample/ring_correct.h"
#include "sample/tick.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void test_a_late_stamp_goes_to_the_middle_of_its_neighbours(void **state)
{
    (void)state;
    enum { PERIOD = 20 };
    static const int64_t cases[][4] = {
        /* before, stamp, after, corrected */
        {0, 20, 40, 20},          {0, 30, 40, 20}, {1000, 1034, 1044, 1022}, {0, 26, 40, 20}, /* just late */
        {0, 25, 39, 25},          {0, 26, 41, 26},                                            /* just not */
        {0, 20, 30, 20},                           /* nothing before it is missing */
        {0, 30, 50, 30},                           /* its right neighbour is a period away */
        {0, 40, 50, 25},          {0, 41, 51, 31}, /* samples are missing before it: from two and a half
                                                      periods */
        {1000, 1070, 1080, 1060},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(jm__ring_correct(cases[i][0], cases[i][1], cases[i][2], PERIOD), cases[i][3]);
}

static void test_rows_are_corrected_by_the_stamps_as_read(void **state)
{
    (void)state;
    static const int64_t read[] = {0, 30, 40, 60, 90, 100, 130}, wanted[] = {0, 20, 40, 60, 80, 100, 130};
    enum { COUNT = sizeof read / sizeof *read };
    jm_reading rows[COUNT];
    for (size_t i = 0; i < COUNT; i++)
        rows[i] = (jm_reading){1, read[i], (double)i};
    assert_int_equal(jm__ring_correct_rows(rows, COUNT, 20), 2);
    for (size_t i = 0; i < COUNT; i++)
        assert_int_equal(rows[i].t_ns, wanted[i]);
    jm_reading three[] = {{1, 0, 0}, {1, 30, 0}, {1, 40, 0}};
    assert_int_equal(jm__ring_correct_rows(three, 2, 20), 0);
    assert_int_equal(jm__ring_correct_rows(three, 3, 20), 1);
    assert_int_equal(three[1].t_ns, 20);
}

static void check_window(const jm__tick *tick, int64_t after_ns, int64_t wanted_low_ns,
                         int64_t wanted_high_ns)
{
    int64_t low_ns, high_ns;
    assert_true(jm__tick_next(tick, after_ns, &low_ns, &high_ns));
    assert_int_equal(low_ns, wanted_low_ns);
    assert_int_equal(high_ns, wanted_high_ns);
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
        cmocka_unit_test(test_a_late_stamp_goes_to_the_middle_of_its_neighbours),
        cmocka_unit_test(test_rows_are_corrected_by_the_stamps_as_read),
        cmocka_unit_test(test_updates_are_looked_for_where_the_grid_may_be),
        cmocka_unit_test(test_each_update_narrows_what_is_known_of_the_grid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
