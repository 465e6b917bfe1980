/* Whose turns are a board's. */
#include "record/counters/duty.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define ALL (~(jm__turn_boards)0)
enum { RANK_0 = 11, RANK_1, RANK_2 };

static void check_news(jm__turns_news news, jm__turn_boards untraced, jm__turn_boards no_turns)
{
    assert_int_equal(news.untraced, untraced);
    assert_int_equal(news.no_turns, no_turns);
}

static void test_a_rank_speaks_for_its_own_board(void **state)
{
    (void)state;
    jm__turns_of_boards turns = {0};
    jm__turns_of_boards_works(&turns, RANK_0, 0);
    jm__turns_of_boards_works(&turns, RANK_1, 1);
    jm__turns_of_boards_works(&turns, RANK_1, 63);
    assert_int_equal(jm__turns_of_boards_said(&turns, RANK_0, JM_DUTY_UNTRACED), 1);
    assert_int_equal(jm__turns_of_boards_said(&turns, RANK_1, JM_DUTY_SOON), 2 | (jm__turn_boards)1 << 63);
    assert_int_equal(jm__turns_of_boards_said(&turns, RANK_1, JM_DUTY_TRACED), 2 | (jm__turn_boards)1 << 63);
    assert_int_equal(jm__turns_of_boards_said(&turns, RANK_0, JM_DUTY_TRACED), 1);
    jm__turns_of_boards_free(&turns);
}

static void test_a_board_is_traced_while_any_of_its_processes_is(void **state)
{
    (void)state;
    jm__turns_of_boards turns = {0};
    jm__turns_of_boards_works(&turns, RANK_0, 2);
    jm__turns_of_boards_works(&turns, RANK_1, 2);
    jm__turns_of_boards_works(&turns, RANK_1, 3);
    assert_int_equal(jm__turns_of_boards_said(&turns, RANK_0, JM_DUTY_TRACED), 4);
    assert_int_equal(jm__turns_of_boards_said(&turns, RANK_1, JM_DUTY_UNTRACED), 8);
    assert_int_equal(jm__turns_of_boards_said(&turns, RANK_1, JM_DUTY_SOON), 4 | 8);
    assert_int_equal(jm__turns_of_boards_said(&turns, RANK_0, JM_DUTY_UNTRACED), 4);
    jm__turns_of_boards_free(&turns);
}

/* Its kernels are told later than its first words; or it has none, and no say where others have theirs. */
static void test_who_was_seen_nowhere_speaks_for_boards_of_nobody(void **state)
{
    (void)state;
    jm__turns_of_boards turns = {0};
    assert_int_equal(jm__turns_of_boards_said(&turns, RANK_0, JM_DUTY_UNTRACED), ALL);
    assert_int_equal(jm__turns_of_boards_said(&turns, RANK_1, JM_DUTY_TRACED), ALL);
    assert_int_equal(jm__turns_of_boards_said(&turns, RANK_0, JM_DUTY_UNTRACED), 0);
    check_news(jm__turns_of_boards_works(&turns, RANK_0, 0), 0, ALL & ~(jm__turn_boards)1);
    assert_int_equal(jm__turns_of_boards_said(&turns, RANK_0, JM_DUTY_UNTRACED), 1);
    assert_int_equal(jm__turns_of_boards_said(&turns, RANK_1, JM_DUTY_SOON), ALL & ~(jm__turn_boards)1);
    assert_int_equal(jm__turns_of_boards_said(&turns, RANK_1, JM_DUTY_UNTRACED), ALL & ~(jm__turn_boards)1);
    check_news(jm__turns_of_boards_works(&turns, RANK_2, 4), 0, 16); /* always traced, as it seems */
    check_news(jm__turns_of_boards_works(&turns, RANK_1, 5), 0, ALL & ~(jm__turn_boards)(1 | 16 | 32));
    check_news(jm__turns_of_boards_works(&turns, RANK_1, 6), 64, 0); /* so are its turns of its second */
    jm__turns_of_boards_free(&turns);
}

static void test_who_has_ended_in_its_turn_holds_no_board(void **state)
{
    (void)state;
    jm__turns_of_boards turns = {0};
    for (int64_t rank = RANK_0; rank <= RANK_2; rank++) {
        jm__turns_of_boards_works(&turns, rank, 0);
        jm__turns_of_boards_works(&turns, rank, (size_t)(1 + rank - RANK_0));
        assert_int_equal(jm__turns_of_boards_said(&turns, rank, JM_DUTY_TRACED), 1 | 2u << (rank - RANK_0));
    }
    assert_int_equal(jm__turns_of_boards_said(&turns, RANK_1, JM_DUTY_UNTRACED), 4);
    check_news(jm__turns_of_boards_ended(&turns, RANK_0), 0, 0); /* it has taken none */
    check_news(jm__turns_of_boards_ended(&turns, RANK_0), 0, 0);
    check_news(jm__turns_of_boards_ended(&turns, RANK_2), 1, 0);
    check_news(jm__turns_of_boards_ended(&turns, RANK_1), 0, 1 | 4);
    assert_int_equal(turns.processes.count, 0);
    jm__turns_of_boards_free(&turns);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_rank_speaks_for_its_own_board),
        cmocka_unit_test(test_a_board_is_traced_while_any_of_its_processes_is),
        cmocka_unit_test(test_who_was_seen_nowhere_speaks_for_boards_of_nobody),
        cmocka_unit_test(test_who_has_ended_in_its_turn_holds_no_board),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
