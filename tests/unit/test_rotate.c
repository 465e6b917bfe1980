/* A run in parts: each is a recording by itself, and their sums are those of the run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "day.h"
#include "rotated.h"

/* The same twenty minutes in one file and in parts of five; a phase is open all of the time, and one begins
 * and ends in each minute. */
enum { SECONDS = 1200, PART_S = 300 };

static day make(jm__writer *writer)
{
    day d = day_begin_with(writer, 60, 0, 0);
    int64_t all = jm__writer_name(writer, "all"), minute = jm__writer_name(writer, "minute");
    rotated_open(&d, 1000000, JM_SPAN_PHASE, all, 0);
    for (int64_t i = 0; i < SECONDS / 60; i++) {
        day_go_on(&d, 20);
        rotated_open(&d, 1000001 + i, JM_SPAN_EPOCH, minute, 1000000);
        day_go_on(&d, 40);
        rotated_close(&d, 1000001 + i);
    }
    rotated_close(&d, 1000000);
    day_end(&d);
    return d;
}

static day make_both(void)
{
    static day d;
    jm__writer *writer;
    if (d.start_ns != 0) return d;
    assert_int_equal(jm__writer_create(&writer, whole_path, true, NULL), JM_OK);
    make(writer);
    d = make(rotated_begin(PART_S, 0, 0));
    return d;
}

static void test_parts_follow_each_other_without_a_gap(void **state)
{
    (void)state;
    day d = make_both();
    int count = rotated_count();
    assert_int_equal(count, SECONDS / PART_S);
    int64_t at_ns = d.start_ns;
    for (int part = 1; part <= count; part++) {
        assert_int_equal(rotated_ask(part, "SELECT value FROM meta WHERE key = 'part'"), part);
        assert_int_equal(rotated_ask(part, "SELECT value FROM meta WHERE key = 'start_ns'"), at_ns);
        assert_int_equal(rotated_ask(part, "SELECT value FROM meta WHERE key = 'closed'"), 1);
        at_ns = rotated_ask(part, "SELECT value FROM meta WHERE key = 'end_ns'");
        print_message("part %d ends at %.3f s\n", part, (double)(at_ns - d.start_ns) / 1e9);
    }
    assert_int_equal(at_ns, d.t_ns);
}

static void test_sums_over_parts_are_those_of_the_run(void **state)
{
    (void)state;
    day d = make_both();
    static const jm_by keys[] = {JM_BY_BOARD, JM_BY_LAYER, JM_BY_PHASE, JM_BY_KERNEL};
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
        sums whole = sums_of(whole_path, keys[k]), parts = rotated_sums(keys[k]);
        print_message("%s: %.6f J in %.3f s, %lld steps, %lld calls; in parts %.6f J in %.3f s, %lld, %lld\n",
                      jm_by_text(keys[k]), whole.energy_j, whole.seconds, (long long)whole.steps,
                      (long long)whole.calls, parts.energy_j, parts.seconds, (long long)parts.steps,
                      (long long)parts.calls);
    }
    (void)d;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts_follow_each_other_without_a_gap),
        cmocka_unit_test(test_sums_over_parts_are_those_of_the_run),
    };
    return cmocka_run_group_tests(tests, rotated_set_up, rotated_tear_down);
}
