/* Kernels that run together: how they share time, and the power of pairs, on a board with known
 * truth. */
#include "attribute/work/classes.h"
#include "synthetic_report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const int64_t US = 1000, MS = 1000000;

/* On 33 and 99 multiprocessors; together they are limited by power: less than the sum of what each adds to
 * the idle board, and more than either. */
enum { STEPS = 120, SMALL_W = 220, LARGE_W = 600, JOINT_W = 690 };

typedef struct truth {
    double small_s, joint_s, large_s;
} truth;

/* Each step: the small kernel alone, the large one beside it, the large one alone. What was measured as three
 * pieces is recorded as two kernels that overlap. */
static synthetic *make_overlap(truth *t, int64_t joint_us)
{
    synthetic *s = syn_create(7, 1, 8000);
    int64_t small = syn_class(s, "small", 33, SMALL_W), large = syn_class(s, "large", 99, LARGE_W),
            joint = syn_class(s, "joint", 1, JOINT_W), now = 1000 * MS;
    *t = (truth){0};
    for (int i = 0; i < STEPS; i++) {
        int64_t first_ns = (6 + i % 7) * MS, joint_ns = joint_us * US * (2 + i % 5) / 4,
                last_ns = (5 + i * 3 % 8) * MS;
        int64_t meet = now + first_ns, leave = meet + joint_ns, end = leave + last_ns;
        syn_kernel(s, small, 0, 0, now, meet);
        syn_kernel(s, joint, 0, 0, meet, leave);
        syn_kernel(s, large, 0, 0, leave, end);
        t->small_s += 1e-9 * (double)first_ns;
        t->joint_s += 1e-9 * (double)joint_ns;
        t->large_s += 1e-9 * (double)last_ns;
        now = end + (20 + 3000 * (i % 3)) * US;
    }
    syn_measure(s, 0, 500 * MS, now + 500 * MS);
    size_t kept = 0;
    for (size_t i = 0; i < s->kernels.count; i += 3) {
        const jm__kernel_run first = s->kernels.items[i], both = s->kernels.items[i + 1],
                             last = s->kernels.items[i + 2];
        s->kernels.items[kept] = first;
        s->kernels.items[kept++].end_ns = both.end_ns;
        s->kernels.items[kept] = last;
        s->kernels.items[kept++].start_ns = both.start_ns;
    }
    s->kernels.count = kept;
    syn_finish(s);
    return s;
}

static const jm_row *row_called(const jm_report *report, const char *name)
{
    for (size_t i = 0; i < jm_report_row_count(report); i++)
        if (strcmp(jm_report_row(report, i)->name, name) == 0) return jm_report_row(report, i);
    fail_msg("no row %s", name);
    return NULL;
}

static void assert_near(double value, double expected, double within)
{
    if (!(fabs(value - expected) <= within)) fail_msg("%.6g, not %.6g within %.3g", value, expected, within);
}

static void assert_adds_up(const jm_report *report)
{
    double sum_j = 0, total_j = jm_report_totals_get(report)->total_energy_j;
    for (size_t i = 0; i < jm_report_row_count(report); i++)
        sum_j += jm_report_row(report, i)->energy_self_j;
    assert_near(sum_j, total_j, 1e-9 * total_j);
}

static void check_row(const jm_report *report, const char *name, double seconds, double energy_j)
{
    const jm_row *row = row_called(report, name);
    assert_near(row->busy_s, seconds, 1e-6);
    assert_int_equal(row->calls, STEPS);
    assert_near(row->energy_j, energy_j, 0.03 * energy_j);
    if (!(row->energy_low_j <= energy_j && energy_j <= row->energy_high_j))
        fail_msg("%s: %g to %g, not %g J", name, row->energy_low_j, row->energy_high_j, energy_j);
}

/* The joint time is more than a second, some 60 readings of 4 W: 0.5 W of noise; the uncertainty of the
 * sensor's lag (0.5 ms of 10 ms pieces that differ by 100 to 400 W) adds up to 2 %. Equal shares, at the
 * powers that each has alone, are off by a third of the small one's. */
static void test_a_pair_that_often_runs_together_shares_its_power(void **state)
{
    (void)state;
    truth t;
    synthetic *s = make_overlap(&t, 10000);
    double small_j = SMALL_W * t.small_s + 0.25 * JOINT_W * t.joint_s;
    double large_j = LARGE_W * t.large_s + 0.75 * JOINT_W * t.joint_s;
    double equal_j = (SMALL_W * t.small_s + 0.5 * JOINT_W * t.joint_s);
    assert_true(equal_j > 1.3 * small_j);
    static const jm_by views[] = {JM_BY_KERNEL};
    for (size_t v = 0; v < sizeof views / sizeof *views; v++) {
        jm_report *report = syn_report(s, (jm_report_options){.by = views[v]});
        check_row(report, "small", t.small_s + 0.25 * t.joint_s, small_j);
        check_row(report, "large", t.large_s + 0.75 * t.joint_s, large_j);
        assert_int_equal(jm_report_row_count(report) > 0, 1);
        assert_adds_up(report);
        jm_report_free(report);
    }
    syn_free(s);
}

/* 0.12 s of 3 s: six readings, and what is assumed of pairs. */
static void test_a_pair_that_seldom_does_shares_its_power_too(void **state)
{
    (void)state;
    truth t;
    synthetic *s = make_overlap(&t, 1000);
    assert_true(t.joint_s < 0.2);
    jm_report *report = syn_report(s, (jm_report_options){.by = JM_BY_KERNEL});
    const jm_row *small = row_called(report, "small"), *large = row_called(report, "large");
    assert_near(small->busy_s, t.small_s + 0.25 * t.joint_s, 1e-6);
    assert_near(large->busy_s, t.large_s + 0.75 * t.joint_s, 1e-6);
    double small_j = SMALL_W * t.small_s + 0.25 * JOINT_W * t.joint_s;
    assert_near(small->energy_j, small_j, 0.03 * small_j);
    assert_adds_up(report);
    jm_report_free(report);
    syn_free(s);
}

static void test_a_window_has_its_part_of_joint_time(void **state)
{
    (void)state;
    truth t;
    synthetic *s = make_overlap(&t, 10000);
    int64_t meet = s->kernels.items[1].start_ns;
    jm_report *report = syn_report(
        s, (jm_report_options){.by = JM_BY_KERNEL, .from_ns = meet - 2 * MS, .to_ns = meet + 4 * MS});
    assert_near(row_called(report, "small")->busy_s, 2e-3 + 0.25 * 4e-3, 1e-9);
    assert_near(row_called(report, "large")->busy_s, 0.75 * 4e-3, 1e-9);
    jm_report_free(report);
    syn_free(s);
}

static void test_a_kernel_is_on_as_many_multiprocessors_as_it_has_blocks(void **state)
{
    (void)state;
    const jm_board recorded = {.multiprocessors = 108}, unrecorded = {.multiprocessors = 0};
    assert_int_equal(jm__multiprocessors_on(&recorded), 108);
    assert_int_equal(jm__multiprocessors_on(&unrecorded), 132);
    const jm__class some = {.name = "k", .grid = {4, 3, 2}},
                    many = {.name = "k", .grid = {65535, 65535, 65535}},
                    copy = {.name = "[memcpy HtoD]", .copy = JM_COPY},
                    inside = {.name = "[memcpy DtoD]", .copy = JM_COPY}, unknown = {.name = "k"};
    assert_true(jm__multiprocessors_of(&some, 108) == 24);
    assert_true(jm__multiprocessors_of(&many, 108) == 108);
    assert_true(jm__multiprocessors_of(&copy, 108) == 1);
    assert_true(jm__multiprocessors_of(&inside, 108) == 54);
    assert_true(jm__multiprocessors_of(&unknown, 108) == 54);
}

/* ---- processes that share a board */

static bool has_note(const jm_report *report, const char *words)
{
    for (size_t i = 0; i < jm_report_note_count(report); i++)
        if (strstr(jm_report_note(report, i), words) != NULL) return true;
    return false;
}

static void test_processes_that_share_a_board_are_marked_and_those_that_nobody_records(void **state)
{
    (void)state;
    truth t;
    synthetic *s = make_overlap(&t, 1000);
    jm_report *report = syn_report(s, (jm_report_options){.by = JM_BY_KERNEL});
    assert_false(has_note(report, "shared by") || has_note(report, "not recorded:"));
    jm_report_free(report);
    s->streams[1] = (jm__stream){.id = 2, .process_id = 101, .board_id = 1};
    s->processes[1] = (jm__process){.id = 101, .pid = 101, .rank = -1, .command = "another"};
    s->dataset.stream_count = s->dataset.process_count = 2;
    s->kernels.items[1].stream_id = 2;
    const jm__event events[] = {
        {.kind = JM_EVENT_PROCESSES, .board_id = 1, .text = "100 (python3), 4711 (game)"},
        {.kind = JM_EVENT_PROCESSES, .board_id = 1, .text = "100 (python3), 4711 (game), 12"},
        {.kind = JM_EVENT_PROCESSES, .board_id = 2, .text = "99"},
    };
    s->dataset.events = events;
    s->dataset.event_count = 3;
    report = syn_report(s, (jm_report_options){.by = JM_BY_KERNEL});
    assert_true(has_note(report, "shared by 2 processes of this run (100, 101)"));
    assert_true(has_note(report, "processes that are not recorded: 4711 (game), 12."));
    assert_false(has_note(report, "MIG"));
    jm_report_free(report);
    s->boards[0].mig = true;
    report = syn_report(s, (jm_report_options){.by = JM_BY_KERNEL});
    assert_true(has_note(report, "cut into MIG instances: its power is that of the whole GPU"));
    jm_report_free(report);
    syn_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_pair_that_often_runs_together_shares_its_power),
        cmocka_unit_test(test_a_pair_that_seldom_does_shares_its_power_too),
        cmocka_unit_test(test_a_window_has_its_part_of_joint_time),
        cmocka_unit_test(test_processes_that_share_a_board_are_marked_and_those_that_nobody_records),
        cmocka_unit_test(test_a_kernel_is_on_as_many_multiprocessors_as_it_has_blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
