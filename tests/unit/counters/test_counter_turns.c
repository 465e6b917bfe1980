/* Whose turns are a board's. */
#include "record/counters/duty_cycle.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define ALL (~(jm__burst_boards)0)
enum { RANK_0 = 11, RANK_1, RANK_2 };

static void check_news(jm__burst_changes news, jm__burst_boards untraced, jm__burst_boards no_bursts)
{
    assert_int_equal(news.untraced, untraced);
    assert_int_equal(news.no_bursts, no_bursts);
}

static void test_a_rank_speaks_for_its_own_board(void **state)
{
    (void)state;
    jm__bursts_of_boards bursts = {0};
    jm__bursts_of_boards_runs_on(&bursts, RANK_0, 0);
    jm__bursts_of_boards_runs_on(&bursts, RANK_1, 1);
    jm__bursts_of_boards_runs_on(&bursts, RANK_1, 63);
    assert_int_equal(jm__bursts_of_boards_mark(&bursts, RANK_0, JM_DUTY_CYCLE_UNTRACED), 1);
    assert_int_equal(jm__bursts_of_boards_mark(&bursts, RANK_1, JM_DUTY_CYCLE_SOON),
                     2 | (jm__burst_boards)1 << 63);
    assert_int_equal(jm__bursts_of_boards_mark(&bursts, RANK_1, JM_DUTY_CYCLE_TRACED),
                     2 | (jm__burst_boards)1 << 63);
    assert_int_equal(jm__bursts_of_boards_mark(&bursts, RANK_0, JM_DUTY_CYCLE_TRACED), 1);
    jm__bursts_of_boards_free(&bursts);
}

static void test_a_board_is_traced_while_any_of_its_processes_is(void **state)
{
    (void)state;
    jm__bursts_of_boards bursts = {0};
    jm__bursts_of_boards_runs_on(&bursts, RANK_0, 2);
    jm__bursts_of_boards_runs_on(&bursts, RANK_1, 2);
    jm__bursts_of_boards_runs_on(&bursts, RANK_1, 3);
    assert_int_equal(jm__bursts_of_boards_mark(&bursts, RANK_0, JM_DUTY_CYCLE_TRACED), 4);
    assert_int_equal(jm__bursts_of_boards_mark(&bursts, RANK_1, JM_DUTY_CYCLE_UNTRACED), 8);
    assert_int_equal(jm__bursts_of_boards_mark(&bursts, RANK_1, JM_DUTY_CYCLE_SOON), 4 | 8);
    assert_int_equal(jm__bursts_of_boards_mark(&bursts, RANK_0, JM_DUTY_CYCLE_UNTRACED), 4);
    jm__bursts_of_boards_free(&bursts);
}

/* Its kernels are told later than its first words; or it has none, and no say where others have theirs. */
static void test_who_was_seen_nowhere_speaks_for_boards_of_nobody(void **state)
{
    (void)state;
    jm__bursts_of_boards bursts = {0};
    assert_int_equal(jm__bursts_of_boards_mark(&bursts, RANK_0, JM_DUTY_CYCLE_UNTRACED), ALL);
    assert_int_equal(jm__bursts_of_boards_mark(&bursts, RANK_1, JM_DUTY_CYCLE_TRACED), ALL);
    assert_int_equal(jm__bursts_of_boards_mark(&bursts, RANK_0, JM_DUTY_CYCLE_UNTRACED), 0);
    check_news(jm__bursts_of_boards_runs_on(&bursts, RANK_0, 0), 0, ALL & ~(jm__burst_boards)1);
    assert_int_equal(jm__bursts_of_boards_mark(&bursts, RANK_0, JM_DUTY_CYCLE_UNTRACED), 1);
    assert_int_equal(jm__bursts_of_boards_mark(&bursts, RANK_1, JM_DUTY_CYCLE_SOON),
                     ALL & ~(jm__burst_boards)1);
    assert_int_equal(jm__bursts_of_boards_mark(&bursts, RANK_1, JM_DUTY_CYCLE_UNTRACED),
                     ALL & ~(jm__burst_boards)1);
    check_news(jm__bursts_of_boards_runs_on(&bursts, RANK_2, 4), 0, 16); /* always traced, as it seems */
    check_news(jm__bursts_of_boards_runs_on(&bursts, RANK_1, 5), 0, ALL & ~(jm__burst_boards)(1 | 16 | 32));
    check_news(jm__bursts_of_boards_runs_on(&bursts, RANK_1, 6), 64, 0); /* so are its turns of its second */
    jm__bursts_of_boards_free(&bursts);
}

static void test_who_has_ended_in_its_burst_holds_no_board(void **state)
{
    (void)state;
    jm__bursts_of_boards bursts = {0};
    for (int64_t rank = RANK_0; rank <= RANK_2; rank++) {
        jm__bursts_of_boards_runs_on(&bursts, rank, 0);
        jm__bursts_of_boards_runs_on(&bursts, rank, (size_t)(1 + rank - RANK_0));
        assert_int_equal(jm__bursts_of_boards_mark(&bursts, rank, JM_DUTY_CYCLE_TRACED),
                         1 | 2u << (rank - RANK_0));
    }
    assert_int_equal(jm__bursts_of_boards_mark(&bursts, RANK_1, JM_DUTY_CYCLE_UNTRACED), 4);
    check_news(jm__bursts_of_boards_ended(&bursts, RANK_0), 0, 0); /* it has taken none */
    check_news(jm__bursts_of_boards_ended(&bursts, RANK_0), 0, 0);
    check_news(jm__bursts_of_boards_ended(&bursts, RANK_2), 1, 0);
    check_news(jm__bursts_of_boards_ended(&bursts, RANK_1), 0, 1 | 4);
    assert_int_equal(bursts.processes.count, 0);
    jm__bursts_of_boards_free(&bursts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_rank_speaks_for_its_own_board),
        cmocka_unit_test(test_a_board_is_traced_while_any_of_its_processes_is),
        cmocka_unit_test(test_who_was_seen_nowhere_speaks_for_boards_of_nobody),
        cmocka_unit_test(test_who_has_ended_in_its_burst_holds_no_board),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
