/* Which parts of a class may draw different power, and which groups of parts may share a difference. */
#include "attribute/fit/refine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* A board's work, put down by hand: classes are columns, uses lie in places. */
typedef struct program {
    jm__work_set set;
    jm__board_work work;
    uint32_t of_class[8], of_use[400];
    bool merged[8];
    double learn_seconds[8];
} program;

static program p;

static int set_up(void **state)
{
    (void)state;
    memset(&p, 0, sizeof p);
    p.work.columns = (jm__columns){.of_class = p.of_class, .of_use = p.of_use, .merged = p.merged};
    p.work.learn_seconds = p.learn_seconds;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    jm__vec_free(&p.set.classes);
    jm__vec_free(&p.set.contexts.items);
    jm__uses_free(&p.set.uses);
    jm__tally_free(&p.work.tally);
    return 0;
}

static void add_class(void)
{
    uint32_t column = (uint32_t)p.work.columns.class_columns++;
    p.work.columns.count = p.work.columns.class_columns;
    p.of_class[column] = column;
    assert_true(jm__vec_push(&p.set.classes, ((jm__class){.name = "kernel"})));
}

/* A use of the newest class, learnt from for so long; returns its number. */
static uint32_t use(int64_t phase, int64_t layer, int64_t type, double seconds)
{
    const jm__context place = {.phase = phase, .layer = layer, .type = type, .kind = JM_SPAN_FORWARD};
    uint32_t column = (uint32_t)p.work.columns.class_columns - 1, number;
    assert_true(jm__vec_push(&p.set.contexts.items, place));
    assert_true(jm__use_number(&p.set.uses, column, (uint32_t)p.set.contexts.items.count - 1, &number));
    p.of_use[number] = column;
    jm__use_sum_at(&p.work.tally.uses, number)->inside.learn_s = seconds;
    p.learn_seconds[column] += seconds;
    return number;
}

static jm__parts choose(void)
{
    jm__parts parts;
    assert_int_equal(jm__parts_choose(&parts, &p.set, &p.work, NULL), JM_OK);
    return parts;
}

static void test_a_class_in_several_places_has_a_part_in_each(void **state)
{
    (void)state;
    add_class(); /* in one layer twice, and in another */
    uint32_t first = use(1, 10, 0, 20), again = use(1, 10, 0, 10), other = use(1, 11, 0, 30);
    add_class(); /* in one place: nothing to split */
    uint32_t alone = use(1, 10, 0, 40);
    add_class(); /* in two, but for less than a hundredth of the time */
    uint32_t little = use(1, 10, 0, 0.5);
    use(1, 11, 0, 0.4);
    add_class(); /* merged with others */
    uint32_t merged = use(1, 10, 0, 10);
    use(1, 11, 0, 10);
    p.merged[3] = true;
    jm__parts parts = choose();
    assert_int_equal(parts.count, 2);
    assert_true(parts.busy_s > 120.89 && parts.busy_s < 120.91);
    assert_int_equal(parts.of_use[first], 0);
    assert_int_equal(parts.of_use[again], 0);
    assert_int_equal(parts.of_use[other], 1);
    assert_int_equal(parts.of_use[alone], JM_NO_PART);
    assert_int_equal(parts.of_use[little], JM_NO_PART);
    assert_int_equal(parts.of_use[merged], JM_NO_PART);
    assert_true(parts.items[0].seconds == 30 && parts.items[1].seconds == 30);
    assert_int_equal(parts.items[1].place.layer, 11);
    jm__parts_free(&parts);
}

static void test_a_use_that_is_not_learnt_from_is_in_no_part(void **state)
{
    (void)state;
    add_class();
    use(1, 10, 0, 20);
    use(1, 11, 0, 30);
    uint32_t unseen = use(1, 12, 0, 0);
    jm__parts parts = choose();
    assert_int_equal(parts.count, 2);
    assert_int_equal(parts.of_use[unseen], JM_NO_PART);
    jm__parts_free(&parts);
}

/* More layers than parts: by type and phase, and if those are too many, by type alone. */
static void test_where_there_are_many_layers_they_go_by_type(void **state)
{
    (void)state;
    add_class();
    for (int64_t i = 0; i < 100; i++)
        use(1 + i % 2, 100 + i, 1000 + i % 3, 1);
    add_class();
    for (int64_t i = 0; i < 100; i++)
        use(1 + i % 25, 100 + i, 1000 + i % 4, 1);
    jm__parts parts = choose();
    assert_int_equal(parts.count, 6 + 4);
    for (size_t i = 0; i < parts.count; i++) {
        assert_int_equal(parts.items[i].place.layer, 0);
        assert_int_equal(parts.items[i].place.phase == 0, i >= 6);
    }
    jm__parts_free(&parts);
}

static uint64_t count_of(const jm__part_sets *sets, uint64_t bits)
{
    uint64_t count = 0;
    for (size_t i = 0; i < sets->count; i++)
        count += sets->items[i].bits == bits;
    return count;
}

/* Parts 0 to 3: layers 10 and 11 of one type in phase 1, layer 10 in phase 2, layer 12 of another type there.
 */
static void test_sets_are_what_parts_have_in_common(void **state)
{
    (void)state;
    add_class();
    use(1, 10, 1000, 20);
    use(1, 11, 1000, 20);
    use(2, 10, 1000, 20);
    use(2, 12, 1001, 20);
    jm__parts parts = choose();
    jm__part_sets sets = {0};
    assert_int_equal(parts.count, 4);
    assert_true(jm__parts_list_sets(&sets, &parts, &p.work));
    /* type in phase: 01, 2, 3; type: 012; layer: 02, 1; phase: 23; each alone: 0. All of them is the class.
     */
    static const uint64_t expected[] = {1, 2, 4, 8, 3, 7, 5, 12};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        if (count_of(&sets, expected[i]) != 1)
            fail_msg("%d times the set %d", (int)count_of(&sets, expected[i]), (int)expected[i]);
    assert_int_equal(sets.count, sizeof expected / sizeof *expected);
    for (size_t i = 0; i < sets.count; i++) {
        uint64_t bits = sets.items[i].bits;
        assert_int_equal(sets.items[i].whole, 15);
        assert_int_equal(sets.items[i].first, 0);
        assert_int_equal(sets.items[i].is_type, bits == 3 || bits == 4 || bits == 8);
    }
    jm__vec_free(&sets);
    jm__parts_free(&parts);
}

/* If a class has more parts than are fitted, all of them are a group too; a group of next to no time is none.
 */
static void test_a_class_with_more_than_its_parts_may_differ_from_all_of_them(void **state)
{
    (void)state;
    add_class();
    use(1, 10, 1000, 20);
    use(1, 11, 1001, 0.05);
    p.learn_seconds[0] += 10;
    add_class();
    use(1, 10, 1000, 30);
    use(1, 11, 1001, 30);
    jm__parts parts = choose();
    jm__part_sets sets = {0};
    assert_int_equal(parts.count, 4);
    assert_true(jm__parts_list_sets(&sets, &parts, &p.work));
    assert_int_equal(sets.count, 2 + 2);
    assert_int_equal(sets.items[0].whole, 0);
    assert_int_equal(count_of(&sets, 3), 1);
    assert_int_equal(sets.items[2].first, 2);
    assert_int_equal(sets.items[2].whole, 3);
    assert_int_equal(count_of(&sets, 1), 2);
    assert_int_equal(count_of(&sets, 2), 1);
    jm__vec_free(&sets);
    jm__parts_free(&parts);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_class_in_several_places_has_a_part_in_each),
        TEST(test_a_use_that_is_not_learnt_from_is_in_no_part),
        TEST(test_where_there_are_many_layers_they_go_by_type),
        TEST(test_sets_are_what_parts_have_in_common),
        TEST(test_a_class_with_more_than_its_parts_may_differ_from_all_of_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
