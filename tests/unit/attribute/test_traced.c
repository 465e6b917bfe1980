/* Runs that are traced in part: their reports cover that time. */
#include "attribute/input/traced.h"
#include "format/rows/marks.h"
#include "synthetic_report.h"

enum { CLASSES = 3, MARKS_MAX = 64 };

static const double class_w[CLASSES] = {640, 450, 300};
static const int64_t begin_ns = 2 * JM_NS_PER_S, end_ns = 62 * JM_NS_PER_S;
/* 300 ms of each 3 s; in between, nothing is traced. */
static const int64_t cycle_ns = 3 * JM_NS_PER_S, active_ns = 300 * JM_NS_PER_MS, first_ns = 3 * JM_NS_PER_S;
static const int64_t warm_ns = 50 * JM_NS_PER_MS;

typedef struct marks {
    jm__mark items[MARKS_MAX];
    size_t count;
} marks;

static void add_mark(marks *all, synthetic *s, int64_t process_id, int64_t t_ns, const char *name)
{
    all->items[all->count++] =
        (jm__mark){.process_id = process_id, .t_ns = t_ns, .name_id = syn_name(s, name)};
    s->dataset.marks = all->items;
    s->dataset.mark_count = all->count;
}

static bool is_traced(int64_t t_ns)
{
    int64_t since_ns = t_ns - (first_ns - warm_ns);
    return since_ns >= 0 && since_ns % cycle_ns < warm_ns + active_ns;
}

/* Kernels that began while nothing was traced are in no record. */
static void forget_untraced(synthetic *s)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->kernels.count; i++)
        if (is_traced(s->kernels.items[i].start_ns)) s->kernels.items[kept++] = s->kernels.items[i];
    s->kernels.count = kept;
}

static double active_j(const synthetic *s, int64_t class_id)
{
    double sum_j = 0;
    for (int64_t from_ns = first_ns; from_ns < end_ns; from_ns += cycle_ns)
        sum_j += class_id != 0 ? syn_energy_j(s, class_id, from_ns, from_ns + active_ns)
                               : syn_total_j(s, 0, from_ns, from_ns + active_ns);
    return sum_j;
}

/* A minute of continuous work, of which a tenth is traced: as a GPU is in training. */
static synthetic *make_run(uint64_t seed, marks *all, double truth_j[CLASSES + 1])
{
    synthetic *s = syn_create(seed, 1, 60000);
    char name[16];
    *all = (marks){0};
    for (size_t c = 0; c < CLASSES; c++) {
        snprintf(name, sizeof name, "class%zu", c);
        syn_class(s, name, 8, class_w[c]);
    }
    syn_random_work(s, 0, 1, CLASSES, 0, begin_ns, end_ns);
    syn_measure(s, 0, begin_ns, end_ns);
    syn_finish(s);
    add_mark(all, s, 100, begin_ns + 1, JM_MARK_UNTRACED);
    for (int64_t from_ns = first_ns; from_ns < end_ns; from_ns += cycle_ns) {
        add_mark(all, s, 100, from_ns, JM_MARK_TRACED);
        add_mark(all, s, 100, from_ns + active_ns, JM_MARK_UNTRACED);
    }
    for (int64_t c = 0; c <= CLASSES; c++)
        truth_j[c] = active_j(s, c);
    forget_untraced(s);
    return s;
}

static void test_rows_add_up_to_the_energy_of_the_traced_time(void **state)
{
    (void)state;
    enum { RUNS = 20 };
    int held = 0, rows = 0;
    for (uint64_t seed = 1; seed <= RUNS; seed++) {
        marks all;
        double truth_j[CLASSES + 1], sum_j = 0;
        synthetic *s = make_run(seed, &all, truth_j);
        jm_report *report = syn_report(s, (jm_report_options){.by = JM_BY_KERNEL});
        const jm_report_totals *totals = jm_report_totals_get(report);
        assert_true(fabs(totals->duration_s - 6) < 1e-6); /* 20 x 300 ms */
        assert_true(fabs(totals->total_energy_j - truth_j[0]) < 0.02 * truth_j[0]);
        for (size_t i = 0; i < jm_report_row_count(report); i++) {
            const jm_row *row = jm_report_row(report, i);
            sum_j += row->energy_self_j;
            for (size_t c = 0; c < CLASSES; c++) {
                if (strncmp(row->name, "class", 5) != 0 || row->name[5] != (char)('0' + c)) continue;
                rows++;
                held += row->energy_low_j <= truth_j[c + 1] && truth_j[c + 1] <= row->energy_high_j;
                assert_true(fabs(row->energy_j - truth_j[c + 1]) < 0.03 * truth_j[c + 1]);
            }
        }
        assert_true(fabs(sum_j - totals->total_energy_j) < 1e-6 * sum_j);
        assert_true(totals->idle_energy_j <
                    0.1 * totals->total_energy_j); /* untraced work does not count as idle */
        jm_report_free(report);
        syn_free(s);
    }
    assert_int_equal(rows, RUNS * CLASSES);
    assert_true(held >= 52); /* of 60; of 95 % each, fewer than one time in a hundred */
}

static void test_rows_by_board_have_all_of_the_run(void **state)
{
    (void)state;
    marks all;
    double truth_j[CLASSES + 1];
    synthetic *s = make_run(7, &all, truth_j);
    double whole_j = 0;
    jm_report *report = syn_report(s, (jm_report_options){.by = JM_BY_BOARD});
    for (size_t i = 0; i < s->dataset.reading_count; i++) /* the counter's last, less its first */
        if (s->readings[i].sensor_id == 2) whole_j = s->readings[i].value - 1000;
    const jm_report_totals *totals = jm_report_totals_get(report);
    assert_true(fabs(totals->total_energy_j - whole_j) < 0.01 * whole_j);
    assert_true(fabs(totals->duration_s - 60) < 1e-6);
    jm_report_free(report);
    syn_free(s);
}

static bool says(const jm_report *report, const char *words)
{
    for (size_t i = 0; i < jm_report_note_count(report); i++)
        if (strstr(jm_report_note(report, i), words) != NULL) return true;
    return false;
}

static void test_a_report_says_how_much_was_traced_and_fails_where_nothing_was(void **state)
{
    (void)state;
    marks all;
    double truth_j[CLASSES + 1];
    synthetic *s = make_run(8, &all, truth_j);
    jm_report *report = syn_report(s, (jm_report_options){.by = JM_BY_LAYER});
    assert_true(says(report, "these figures are of 6 s of a run of 60 s, in 20 pieces"));
    jm_report_free(report);
    jm_error err = {0};
    jm_report_options options = {.size = sizeof options,
                                 .by = JM_BY_LAYER,
                                 .from_ns = first_ns + active_ns,
                                 .to_ns = first_ns + cycle_ns};
    assert_int_equal(jm__report_from_dataset(&report, &s->dataset, &options, &err), JM_NOT_FOUND);
    assert_non_null(strstr(err.text, "nothing of this time was traced"));
    assert_int_equal(err.code, 0);
    options.by = JM_BY_BOARD;
    assert_int_equal(jm__report_from_dataset(&report, &s->dataset, &options, &err), JM_OK);
    figures_kept(__BASE_FILE__, report);
    jm_report_free(report);
    syn_free(s);
}

static void assert_windows(const jm__intervals *windows, const int64_t *edges, size_t count)
{
    assert_int_equal(windows->count, count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(windows->items[i].from_ns, edges[2 * i]);
        assert_int_equal(windows->items[i].to_ns, edges[2 * i + 1]);
    }
}

/* The time in which any process traced nothing. */
static bool find_untraced(jm__intervals *untraced, const jm__dataset *d)
{
    jm__traced *traced = jm__traced_find(d);
    bool fine = traced != NULL;
    for (size_t i = 0; fine && i < d->process_count; i++)
        fine = jm__intervals_add_all(untraced, &traced[i].nothing);
    jm__intervals_normalise(untraced);
    jm__traced_free(traced, d);
    return fine;
}

static void test_traced_is_what_all_processes_traced_that_do_so_at_times(void **state)
{
    (void)state;
    synthetic *s = syn_create(1, 3, 8); /* processes 100, 101, 102 */
    s->processes[2].id = 102;
    marks all = {0};
    jm__intervals untraced = {0};
    assert_true(find_untraced(&untraced, &s->dataset));
    assert_int_equal(untraced.count, 0);
    add_mark(&all, s, 100, 10, "epoch"); /* a mark of the program's own */
    add_mark(&all, s, 100, 20, JM_MARK_TRACED);
    add_mark(&all, s, 101, 25, JM_MARK_UNTRACED);
    add_mark(&all, s, 101, 30, JM_MARK_TRACED);
    add_mark(&all, s, 100, 50, JM_MARK_UNTRACED);
    add_mark(&all, s, 100, 52, JM_MARK_UNTRACED);
    add_mark(&all, s, 101, 60, JM_MARK_UNTRACED);
    add_mark(&all, s, 101, 70, JM_MARK_TRACED);
    add_mark(&all, s, 100, 80, JM_MARK_TRACED);
    assert_true(find_untraced(&untraced, &s->dataset));
    static const int64_t edges[] = {INT64_MIN, 30, 50, 80};
    assert_windows(&untraced, edges, 2);
    jm__vec_free(&untraced);
    untraced = (jm__intervals){0};
    add_mark(&all, s, 101, 90, JM_MARK_UNTRACED); /* and never again */
    static const int64_t longer[] = {INT64_MIN, 30, 50, 80, 90, INT64_MAX};
    assert_true(find_untraced(&untraced, &s->dataset));
    assert_windows(&untraced, longer, 3);
    jm__vec_free(&untraced);
    syn_free(s);
}

/* As in a script, with a moment between them. */
static void test_a_program_is_untraced_only_while_it_lives(void **state)
{
    (void)state;
    synthetic *s = syn_create(1, 3, 8);
    marks all = {0};
    jm__intervals untraced = {0};
    s->processes[0].start_ns = 10, s->processes[0].end_ns = 90; /* traces everything */
    s->processes[1].start_ns = 100, s->processes[1].end_ns = 200;
    s->processes[2].start_ns = 300, s->processes[2].end_ns = 400;
    add_mark(&all, s, 101, 110, JM_MARK_UNTRACED);
    add_mark(&all, s, 101, 120, JM_MARK_TRACED);
    add_mark(&all, s, 101, 150, JM_MARK_UNTRACED);
    assert_true(find_untraced(&untraced, &s->dataset));
    static const int64_t living[] = {100, 120, 150, INT64_MAX};
    assert_windows(&untraced, living, 2);
    jm__vec_free(&untraced);
    untraced = (jm__intervals){0};
    add_mark(&all, s, 101, 210, JM_MARK_ENDED);
    add_mark(&all, s, 102, 320, JM_MARK_TRACED); /* and all the rest of it */
    add_mark(&all, s, 102, 410, JM_MARK_ENDED);
    assert_true(find_untraced(&untraced, &s->dataset));
    static const int64_t ended[] = {100, 120, 150, 210, 300, 320};
    assert_windows(&untraced, ended, 3);
    jm__vec_free(&untraced);
    syn_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_add_up_to_the_energy_of_the_traced_time),
        cmocka_unit_test(test_rows_by_board_have_all_of_the_run),
        cmocka_unit_test(test_a_report_says_how_much_was_traced_and_fails_where_nothing_was),
        cmocka_unit_test(test_traced_is_what_all_processes_traced_that_do_so_at_times),
        cmocka_unit_test(test_a_program_is_untraced_only_while_it_lives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
