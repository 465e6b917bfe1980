/* Leases of power caps on the simulated board: taken, set, put back, refused. */
#include "cap_lease.h"

static void test_a_lease_sets_a_cap_and_its_end_puts_back_what_was_found(void **state)
{
    (void)state;
    set_limit(0, 650); /* not the default: what was found is put back, not the maximum */
    jm_cap_lease *lease = take(0, "the test");
    const jm_cap_board *board = jm_cap_lease_board(lease);
    assert_int_equal(board->index, 0);
    assert_string_equal(board->uuid, uuid_of(0));
    assert_float_equal(board->cap_w, 650, 1e-3);
    assert_float_equal(board->default_w, 700, 1e-3);
    assert_true(board->simulated);
    assert_float_equal(limit_w(0), 650, 1e-3);
    set(lease, 400);
    assert_float_equal(limit_w(0), 400, 1e-3);
    set(lease, 500);
    assert_float_equal(limit_w(0), 500, 1e-3);
    end(lease);
    assert_float_equal(limit_w(0), 650, 1e-3);
    assert_true(is_put_back(0));
    set_limit(0, 700);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_lease_sets_a_cap_and_its_end_puts_back_what_was_found),
    };
    return cmocka_run_group_tests(tests, open_board, close_board);
}
