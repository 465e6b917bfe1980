/* A run in parts: each is a recording by itself, and their sums are those of the run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "day.h"
#include "proof.h"
#include "rotated.h"

/* Ten minutes, in one file and in parts of two and a half, in check three and one and a half: one step in 200
 * is traced; a phase is open all of the time, and one for forty seconds of each minute, at the first cut
 * among others. */
static int run_s(void)
{
    return proof_some(600, 180);
}

static int part_s(void)
{
    return proof_some(150, 90);
}

static day make(jm__writer *writer, int seconds, double keep_s)
{
    day d = day_begin_with(writer, 200, keep_s, 0);
    int64_t all = jm__writer_name(writer, "all"), minute = jm__writer_name(writer, "minute");
    int64_t outer = rotated_open(&d, JM_SPAN_PHASE, all, 0);
    for (int i = 0; i < seconds / 60; i++) {
        day_go_on(&d, 20);
        int64_t inner = rotated_open(&d, JM_SPAN_PHASE, minute, outer);
        day_go_on(&d, 40);
        rotated_close(&d, inner);
    }
    rotated_close(&d, outer);
    day_end(&d);
    return d;
}

static jm__writer *begin_whole(void)
{
    jm__writer *writer;
    assert_int_equal(jm__writer_create(&writer, whole_path, true, NULL), JM_OK);
    return writer;
}

static day make_both(void)
{
    static day d;
    if (d.start_ns != 0) return d;
    make(begin_whole(), run_s(), 0);
    d = make(rotated_begin(part_s(), 0, 0), run_s(), 0);
    return d;
}

enum { PARTS_MOST = 16 };

static jm_report *by_board[PARTS_MOST]; /* [part], asked for by many tests; NULL: not yet */

static const jm_report *board_report(int part)
{
    assert_true(part < PARTS_MOST);
    if (by_board[part] == NULL) by_board[part] = rotated_report(rotated_path(part), JM_BY_BOARD, NULL);
    return by_board[part];
}

static sums board_sums(void)
{
    sums all = {0};
    for (int part = 1; part <= rotated_count(); part++) {
        sums one = sums_in(board_report(part));
        sums_add(&all, &one);
    }
    return all;
}

static bool has_note(int part, const char *words, char note[400])
{
    return rotated_note_in(board_report(part), words, note);
}

static void remove_parts(void)
{
    for (int part = 0; part < PARTS_MOST; part++) {
        jm_report_free(by_board[part]);
        by_board[part] = NULL;
    }
    rotated_empty();
}

static int tear_down(void **state)
{
    remove_parts();
    return rotated_tear_down(state);
}

static void check_sums(jm_by by)
{
    sums whole = sums_of(whole_path, by), parts = by == JM_BY_BOARD ? board_sums() : rotated_sums(by);
    assert_true(fabs(parts.energy_j - whole.energy_j) < 1e-6);
    assert_true(fabs(parts.rows_j - whole.rows_j) < 1e-3); /* a sum of many rows */
    assert_true(fabs(parts.seconds - whole.seconds) < 1e-6);
    assert_int_equal(parts.steps, whole.steps);
    assert_int_equal(parts.samples, whole.samples);
    assert_int_equal(parts.calls, whole.calls);
}

static void test_parts_follow_each_other_without_a_gap(void **state)
{
    (void)state;
    day d = make_both();
    int64_t at_ns = d.start_ns, wall_ns = d.start_ns;
    assert_int_equal(rotated_count(), run_s() / part_s());
    for (int part = 1; part <= rotated_count(); part++) {
        assert_int_equal(rotated_fact(part, "part"), part);
        assert_int_equal(rotated_fact(part, "start_ns"), at_ns);
        assert_int_equal(rotated_fact(part, "start_unix_ns"), wall_ns);
        assert_int_equal(rotated_fact(part, "closed"), 1);
        assert_int_equal(rotated_fact(part, "run_start_ns"), part == 1 ? -1 : d.start_ns);
        at_ns = rotated_fact(part, "end_ns");
        wall_ns = rotated_fact(part, "end_unix_ns");
        assert_false(rotated_has_journal(part));
    }
    assert_int_equal(at_ns, d.t_ns);
}

static void test_sums_over_parts_are_those_of_the_run(void **state)
{
    (void)state;
    day d = make_both();
    static const jm_by keys[] = {JM_BY_BOARD, JM_BY_LAYER, JM_BY_PHASE, JM_BY_KERNEL};
    for (size_t k = 0; k < (proof_runs() ? sizeof keys / sizeof *keys : 2); k++)
        check_sums(keys[k]);
    sums board = board_sums();
    assert_true(fabs(board.energy_j / d.energy_j - 1) < 1e-4);
    assert_int_equal(board.steps, d.steps);
}

/* Rows of the whole between a part's times, one for one. */
static void test_each_row_of_the_run_is_in_the_part_of_its_time(void **state)
{
    (void)state;
    make_both();
    static const struct {
        const char *table, *stamp;
    } tables[] = {{"readings", "t_ns"}, {"kernels", "start_ns"}, {"spans", "start_ns"}};
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        for (int part = 1; part <= rotated_count(); part++) {
            char sql[200];
            snprintf(sql, sizeof sql, "SELECT count(*) FROM %s WHERE %s >= %lld AND %s < %lld",
                     tables[t].table, tables[t].stamp, (long long)rotated_fact(part, "start_ns"),
                     tables[t].stamp, (long long)rotated_fact(part, "end_ns"));
            assert_int_equal(rotated_ask(part, sql), ask_of(whole_path, sql));
        }
}

/* Joules of a phase, and how long it is. */
static sums phase_of(const char *file, const char *name)
{
    jm_report *report = rotated_report(file, JM_BY_BOARD, name);
    const jm_report_totals *totals = jm_report_totals_get(report);
    sums s = {.energy_j = totals->total_energy_j, .seconds = totals->duration_s};
    jm_report_free(report);
    return s;
}

static void test_phase_that_is_open_at_a_cut_is_cut_there_and_this_is_said(void **state)
{
    (void)state;
    make_both();
    static const char *const phases[] = {"all", "minute"};
    for (size_t p = proof_runs() ? 0 : 1; p < 2; p++) {
        sums whole = phase_of(whole_path, phases[p]), parts = {0};
        for (int part = 1; part <= rotated_count(); part++) {
            sums one = phase_of(rotated_path(part), phases[p]);
            parts.energy_j += one.energy_j;
            parts.seconds += one.seconds;
        }
        assert_true(fabs(parts.energy_j - whole.energy_j) < 1e-6);
        assert_true(fabs(parts.seconds - whole.seconds) < 1e-6);
    }
    for (int part = 1; part <= rotated_count(); part++) {
        char note[400];
        assert_true(has_note(part, "is part", note));
        bool came_in = strstr(note, " 0 spans that came in") == NULL,
             go_on = strstr(note, "and 0 that go on") == NULL;
        assert_true(came_in == (part > 1));
        assert_true(go_on == (part < rotated_count()));
        assert_false(has_note(part, "never ended", note));
    }
}

static void test_window_of_several_parts_has_the_joules_of_all(void **state)
{
    (void)state;
    day d = make_both();
    int64_t from_ns = d.start_ns + 50 * JM_NS_PER_S, to_ns = d.t_ns - 50 * JM_NS_PER_S;
    double whole_j = energy_of(whole_path, from_ns, to_ns);
    assert_true(fabs(energy_of(rotated_path(rotated_count()), from_ns, to_ns) - whole_j) < 1e-6);
    assert_true(fabs(energy_of(rotated_path(2), from_ns, from_ns + part_s() * JM_NS_PER_S) -
                     energy_of(whole_path, from_ns, from_ns + part_s() * JM_NS_PER_S)) < 1e-6);
    /* Without bounds it is the part's own time. */
    const int middle = rotated_count() / 2;
    sums own = sums_in(board_report(middle));
    assert_true(fabs(energy_of(rotated_path(middle), INT64_MIN, INT64_MAX) - own.energy_j) < 1e-6);
}

/* Condensed as it is in one file: totals and steps are what they were, and of kernels some stay. */
static void test_parts_are_condensed_as_a_file_is(void **state)
{
    (void)state;
    enum { PART_S = 150 };
    const int seconds = proof_some(600, 300);
    make_both();
    sums told = {0};
    if (proof_runs()) told = sums_of(whole_path, JM_BY_LAYER);
    char sql[200];
    remove_parts();
    day d = make(rotated_begin(PART_S, 0, 0), seconds, 60);
    if (!proof_runs()) told.steps = d.steps;
    sums parts = board_sums(), layers = rotated_sums(JM_BY_LAYER);
    assert_int_equal(rotated_count(), seconds / PART_S);
    assert_int_equal(parts.steps, d.steps);
    make(begin_whole(), seconds, 60);
    assert_true(fabs(parts.energy_j - sums_of(whole_path, JM_BY_BOARD).energy_j) < 1e-6);
    /* Steps before the first traced one of a part have none to stand for them. */
    assert_true(layers.steps <= told.steps && layers.steps > told.steps * 99 / 100);
    for (int part = 1; part <= rotated_count(); part++) {
        int64_t until_ns = rotated_fact(part, "condensed_until_ns");
        assert_true(until_ns > rotated_fact(part, "start_ns") + (PART_S - 120) * JM_NS_PER_S);
        snprintf(sql, sizeof sql, "SELECT count(*) FROM kernels WHERE start_ns >= %lld AND start_ns < %lld",
                 (long long)rotated_fact(part, "start_ns"), (long long)until_ns);
        int64_t minutes = (until_ns - rotated_fact(part, "start_ns")) / (60 * JM_NS_PER_S) + 2;
        assert_true(rotated_ask(part, sql) <= minutes * 2 * DAY_KERNELS);
    }
}

/* One step in ten traced: 16 MB a minute; in check a third of both. */
static day make_by_size(int64_t bytes, int length_s)
{
    remove_parts();
    day d = day_begin_with(rotated_begin(0, bytes, 0), proof_some(10, 30), 0, 0);
    for (int second = 0; second < length_s; second++) {
        day_go_on(&d, 1);
        assert_true(jm__writer_commit(d.writer, d.t_ns, NULL) == JM_OK);
    }
    day_end(&d);
    return d;
}

static int64_t bytes_of(int part)
{
    struct stat info;
    return stat(rotated_path(part), &info) == 0 ? (int64_t)info.st_size : 0;
}

static void test_parts_stay_below_the_size_that_was_asked_for(void **state)
{
    (void)state;
    char note[400];
    const int64_t most = proof_some(15000000, 5000000);
    day d = make_by_size(most, 180);
    assert_true(rotated_count() >= 3 && rotated_count() <= 5);
    for (int part = 1; part <= rotated_count(); part++) {
        assert_true(bytes_of(part) <= most);
        assert_true(part == rotated_count() || bytes_of(part) > most * 5 / 6);
        assert_false(has_note(part, "parts pass the size", note));
    }
    assert_true(fabs(board_sums().energy_j / d.energy_j - 1) < 1e-3);
}

static void test_parts_too_small_for_a_cut_are_made_larger_and_this_is_said(void **state)
{
    (void)state;
    char note[400];
    day d = make_by_size(proof_some(1000000, 333333), 120);
    assert_true(rotated_count() > 3 && rotated_count() <= 120 / 21 + 1);
    assert_true(has_note(2, "parts pass the size that was asked for", note));
    assert_false(has_note(3, "parts pass the size that was asked for", note));
    sums board = board_sums();
    assert_true(fabs(board.energy_j / d.energy_j - 1) < 1e-3);
    assert_int_equal(board.steps, d.steps);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts_follow_each_other_without_a_gap),
        cmocka_unit_test(test_sums_over_parts_are_those_of_the_run),
        cmocka_unit_test(test_each_row_of_the_run_is_in_the_part_of_its_time),
        cmocka_unit_test(test_phase_that_is_open_at_a_cut_is_cut_there_and_this_is_said),
        cmocka_unit_test(test_window_of_several_parts_has_the_joules_of_all),
        cmocka_unit_test(test_parts_are_condensed_as_a_file_is),
        cmocka_unit_test(test_parts_stay_below_the_size_that_was_asked_for),
        cmocka_unit_test(test_parts_too_small_for_a_cut_are_made_larger_and_this_is_said),
    };
    return cmocka_run_group_tests(tests, rotated_set_up, tear_down);
}
