/* Sets of intervals of time, against sets of 64 bits. */
#include "attribute/input/window.h"
#include "attribute/work/tally.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { UNITS = 64, ROUNDS = 2000 };

static uint64_t random_state = 88172645463325252u;

static int64_t up_to(int64_t most)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (int64_t)(random_state % (uint64_t)(most + 1));
}

/* Units [from, to). */
static uint64_t bits(int64_t from, int64_t to)
{
    uint64_t set = 0;
    for (int64_t unit = from; unit < to; unit++)
        set |= UINT64_C(1) << unit;
    return set;
}

static int64_t count_of(uint64_t set)
{
    return __builtin_popcountll(set);
}

/* Up to five intervals, in any order, some of them empty or the wrong way round; the bits of them. */
static uint64_t draw(jm__intervals *windows)
{
    uint64_t set = 0;
    for (int64_t i = up_to(5); i > 0; i--) {
        int64_t from = up_to(UNITS), to = from + up_to(12) - 2;
        if (to > UNITS) to = UNITS;
        assert_true(jm__intervals_add(windows, from, to));
        set |= bits(from, to);
    }
    return set;
}

/* Sorted, none empty; disjoint, unless they may touch. */
static void check_windows(const jm__intervals *windows, uint64_t expected, bool apart)
{
    uint64_t set = 0;
    for (size_t i = 0; i < windows->count; i++) {
        const jm__interval *window = &windows->items[i];
        assert_true(window->from_ns < window->to_ns);
        if (i > 0) assert_true(window[-1].to_ns + (apart ? 1 : 0) <= window->from_ns);
        set |= bits(window->from_ns, window->to_ns);
    }
    if (set != expected)
        fail_msg("%016llx is not %016llx", (unsigned long long)set, (unsigned long long)expected);
}

static void test_windows_are_sets_of_time(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        jm__intervals windows = {0}, others = {0};
        uint64_t set = draw(&windows), other = draw(&others);
        jm__intervals_normalise(&windows);
        jm__intervals_normalise(&others);
        check_windows(&windows, set, true);
        assert_int_equal(jm__intervals_duration_ns(&windows), count_of(set));
        int64_t from = up_to(UNITS), to = from + up_to(UNITS - from);
        assert_int_equal(jm__intervals_overlap_ns(&windows, from, to), count_of(set & bits(from, to)));
        for (int64_t unit = 0; unit < UNITS; unit++)
            assert_int_equal(jm__intervals_contain(&windows, unit), (set >> unit) & 1);
        assert_false(jm__intervals_contain(&windows, UNITS));
        jm__intervals within = {0};
        assert_true(jm__intervals_add_within(&within, &windows, from, to));
        check_windows(&within, set & bits(from, to), true);
        jm__vec_free(&within);
        size_t at = 0;
        for (int64_t next = 0; next < UNITS; next += up_to(3)) {
            int64_t until = next + up_to(UNITS - next);
            assert_int_equal(jm__intervals_next_overlap_ns(&windows, &at, next, until),
                             count_of(set & bits(next, until)));
        }
        if (round % 3 == 0) {
            assert_true(jm__intervals_subtract(&windows, &others));
            check_windows(&windows, set & ~other, true);
        } else if (round % 3 == 1) {
            assert_true(jm__intervals_intersect(&windows, &others));
            check_windows(&windows, set & other, true);
        } else {
            jm__intervals_clip(&windows, from, to);
            check_windows(&windows, set & bits(from, to), true);
            assert_true(jm__intervals_add_all(&windows, &others));
            jm__intervals_normalise(&windows);
            check_windows(&windows, (set & bits(from, to)) | other, true);
        }
        jm__vec_free(&windows);
        jm__vec_free(&others);
    }
}

/* ---- sums that are renumbered */

static void add_cell(jm__tally *tally, uint32_t row, uint32_t use, double seconds, int64_t start_ns,
                     int64_t end_ns)
{
    size_t at = jm__work_cell_at(&tally->work, row, use);
    jm__work_cell *cell = &tally->work.items.items[at];
    cell->seconds += seconds;
    cell->calls += 1;
    if (start_ns < cell->start_ns) cell->start_ns = start_ns;
    if (end_ns > cell->end_ns) cell->end_ns = end_ns;
}

static void test_uses_that_become_one_are_added_up(void **state)
{
    (void)state;
    static const uint32_t final_of[] = {1, 1, 0, 3};
    jm__tally tally = {0};
    for (uint32_t use = 0; use < 3; use++) { /* the fourth never ran */
        jm__use_sum *sum = jm__use_sum_at(&tally.uses, use);
        *sum = (jm__use_sum){.inside = {.report_s = 1 + use, .learn_s = 10 + use},
                             .outside_s = 0.5 + use,
                             .place_s = {[JM_PLACE_ELSEWHERE] = 7 + use},
                             .ran_s = use == 2 ? 4 : 0.25 + 0.25 * use,
                             .calls = 3 + (int64_t)use};
    }
    assert_true(jm__use_sum_at(&tally.uses, 3)->ran_s < 0);
    tally.idle[JM_IDLE_1_MS] = (jm__seconds){.report_s = 4, .learn_s = 5};
    add_cell(&tally, 9, 0, 1, 100, 200);
    add_cell(&tally, 9, 1, 2, 50, 150);
    add_cell(&tally, 9, 2, 4, 10, 20);
    add_cell(&tally, 8, 1, 8, 5, 300);
    assert_true(jm__tally_renumber(&tally, final_of));
    const jm__use_sum *both = &tally.uses.items[1], *one = &tally.uses.items[0];
    assert_true(both->inside.report_s == 3 && both->inside.learn_s == 21);
    assert_true(both->outside_s == 2 && both->place_s[JM_PLACE_ELSEWHERE] == 15);
    assert_true(both->ran_s == 0.75 && both->calls == 7);
    assert_true(one->inside.report_s == 3 && one->ran_s == 4 && one->calls == 5);
    assert_true(tally.idle[JM_IDLE_1_MS].report_s == 4 && tally.idle[JM_IDLE_1_MS].learn_s == 5);
    assert_int_equal(tally.work.items.count, 3);
    const jm__work_cell *cell = &tally.work.items.items[jm__work_cell_at(&tally.work, 9, 1)];
    assert_true(cell->seconds == 3 && cell->calls == 2 && cell->start_ns == 50 && cell->end_ns == 200);
    cell = &tally.work.items.items[jm__work_cell_at(&tally.work, 8, 1)];
    assert_true(cell->seconds == 8 && cell->calls == 1 && cell->start_ns == 5 && cell->end_ns == 300);
    jm__tally_free(&tally);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_windows_are_sets_of_time),
        cmocka_unit_test(test_uses_that_become_one_are_added_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
