/* Short windows of a run of known truth: learnt from all of it, told for themselves. */
#include "attribute/report.h"
#include "synthetic_report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* Of 60 intervals that say 95 %, 57 are expected, 52 at worst (three standard deviations of chance). */
enum { CLASSES = 6, WINDOWS = 60, LEAST_HELD = 52 };

static const double class_w[CLASSES] = {690, 610, 540, 420, 330, 250};

/* 60 s of random work on one board, whose mix changes every half second, and a sensor that drifts. */
static synthetic *make_late_run(uint64_t seed, double late_ns)
{
    synthetic *s = syn_create(seed, 1, 60000);
    s->lag_ns += late_ns;
    char name[16];
    for (size_t c = 0; c < CLASSES; c++) {
        snprintf(name, sizeof name, "class%zu", c);
        syn_class(s, name, 8, class_w[c]);
    }
    s->drift_w = 3;
    syn_random_work(s, 0, 1, CLASSES, 0, 2 * JM_NS_PER_S, 61 * JM_NS_PER_S);
    syn_measure(s, 0, JM_NS_PER_S, 80 * JM_NS_PER_S); /* at rest from 61 s on */
    syn_finish(s);
    return s;
}

static synthetic *make_run(uint64_t seed)
{
    return make_late_run(seed, 0);
}

static double truth_j(const synthetic *s, int64_t from_ns, int64_t to_ns)
{
    double joules = (double)(to_ns - from_ns) * 1e-9 * s->idle_w;
    for (int64_t c = 1; c <= CLASSES; c++)
        joules += syn_energy_j(s, c, from_ns, to_ns) * (1 - s->idle_w / s->class_w[c - 1]);
    return joules;
}

/* What became of the windows of one length. */
typedef struct outcome {
    int totals_held;
    int rows_held;
    int rows;
    double error; /* of the total: root mean square, relative */
} outcome;

static void add_window(outcome *out, const synthetic *s, int64_t from_ns, int64_t to_ns)
{
    jm_report *report =
        syn_report(s, (jm_report_options){.by = JM_BY_KERNEL, .from_ns = from_ns, .to_ns = to_ns});
    const jm_report_totals *totals = jm_report_totals_get(report);
    double truth = truth_j(s, from_ns, to_ns), sum_j = 0;
    out->totals_held += truth >= totals->total_low_j && truth <= totals->total_high_j;
    out->error += pow(totals->total_energy_j / truth - 1, 2) / WINDOWS;
    for (size_t i = 0; i < jm_report_row_count(report); i++) {
        const jm_row *row = jm_report_row(report, i);
        sum_j += row->energy_self_j;
        if (strncmp(row->path, "class", 5) != 0 || row->busy_s == 0) continue;
        double row_j = syn_energy_j(s, row->path[5] - '0' + 1, from_ns, to_ns);
        out->rows++;
        out->rows_held += row_j >= row->energy_low_j && row_j <= row->energy_high_j;
    }
    assert_true(fabs(sum_j - totals->total_energy_j) < 1e-9 * totals->total_energy_j);
    jm_report_free(report);
}

static outcome windows_between(int64_t length_ns, double first_s, double last_s)
{
    outcome out = {0};
    synthetic *s = make_run(41);
    for (int w = 0; w < WINDOWS; w++) {
        int64_t from_ns = (int64_t)(1e9 * (first_s + syn_uniform(s) * (last_s - first_s)));
        add_window(&out, s, from_ns, from_ns + length_ns);
    }
    out.error = sqrt(out.error);
    print_message("%4d ms: %d of %d totals held, typical error %.1f %%; rows %d of %d\n",
                  (int)(length_ns / JM_NS_PER_MS), out.totals_held, WINDOWS, 100 * out.error, out.rows_held,
                  out.rows);
    syn_free(s);
    return out;
}

static outcome windows_of(int64_t length_ns)
{
    return windows_between(length_ns, 4, 58);
}

/* A window of one reading: the integral of the sensor, which remembers 13 ms, would be off by an eighth of
 * it. Learnt powers make it good to what one reading's noise and the kernels' edges leave. */
static void test_a_window_of_20_ms_is_told_from_what_the_run_has_taught(void **state)
{
    (void)state;
    assert_true(windows_of(20 * JM_NS_PER_MS).error < 0.02);
}

static void test_intervals_hold_in_windows_of_any_length(void **state)
{
    (void)state;
    static const int64_t lengths_ms[] = {20, 50, 60, 100, 300, 3000};
    for (size_t i = 0; i < sizeof lengths_ms / sizeof *lengths_ms; i++) {
        outcome out = windows_of(lengths_ms[i] * JM_NS_PER_MS);
        assert_true(out.totals_held >= LEAST_HELD);
        assert_true(out.rows_held >=
                    0.91 * out.rows); /* rows of a window err together: fewer than they seem */
    }
}

/* The board at rest for 18 s of the run's 80. */
static void test_intervals_hold_in_windows_of_a_board_at_rest(void **state)
{
    (void)state;
    static const int64_t lengths_ms[] = {20, 50, 60, 100, 300};
    for (size_t i = 0; i < sizeof lengths_ms / sizeof *lengths_ms; i++)
        assert_true(windows_between(lengths_ms[i] * JM_NS_PER_MS, 62, 79).totals_held >= LEAST_HELD);
}

/* Shorter than the sensor's period, between two of its readings. */
static void test_a_window_without_a_reading_says_where_its_powers_are_from(void **state)
{
    (void)state;
    synthetic *s = make_run(43);
    const int64_t from_ns = 8 * JM_NS_PER_S + 4 * JM_NS_PER_MS, to_ns = from_ns + 5 * JM_NS_PER_MS;
    const jm_report_options options = {
        .size = sizeof options, .by = JM_BY_KERNEL, .from_ns = from_ns, .to_ns = to_ns};
    jm_report *report = NULL;
    assert_int_equal(jm__report_from_dataset(&report, &s->dataset, &options, NULL), JM_OK);
    const jm_report_totals *totals = jm_report_totals_get(report);
    double truth = truth_j(s, from_ns, to_ns);
    assert_int_equal(totals->readings, 0);
    assert_true(totals->total_low_j <= truth && truth <= totals->total_high_j);
    bool told = false;
    for (size_t i = 0; i < jm_report_note_count(report); i++) {
        told = told || strstr(jm_report_note(report, i), "no reading of power_ring falls into") != NULL;
        assert_null(strstr(jm_report_note(report, i), "nan"));
    }
    assert_true(told);
    jm_report_free(report);
    syn_free(s);
}

/* 1 ms later than its profile says, two of its standard uncertainties: the 15 readings of a window of 300 ms
 * cannot tell, the 3000 of the run can, to a tenth of that. */
static void test_a_short_window_knows_the_response_that_the_run_has_shown(void **state)
{
    (void)state;
    synthetic *s = make_late_run(44, 1e6);
    for (int64_t from_ns = 8 * JM_NS_PER_S; from_ns < 48 * JM_NS_PER_S; from_ns += 8 * JM_NS_PER_S) {
        const jm_report_options options = {.size = sizeof options,
                                           .by = JM_BY_KERNEL,
                                           .from_ns = from_ns,
                                           .to_ns = from_ns + 300 * JM_NS_PER_MS};
        jm_report *report = NULL;
        assert_int_equal(jm__report_from_dataset(&report, &s->dataset, &options, NULL), JM_OK);
        double lag_ms = NAN;
        for (size_t i = 0; i < jm_report_note_count(report); i++) {
            const char *at = strstr(jm_report_note(report, i), "; lag ");
            if (at != NULL) lag_ms = strtod(at + strlen("; lag "), NULL);
        }
        if (!(fabs(lag_ms - s->lag_ns * 1e-6) < 0.3)) fail_msg("lag %.1f ms", lag_ms);
        jm_report_free(report);
    }
    syn_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_window_of_20_ms_is_told_from_what_the_run_has_taught),
        cmocka_unit_test(test_intervals_hold_in_windows_of_any_length),
        cmocka_unit_test(test_intervals_hold_in_windows_of_a_board_at_rest),
        cmocka_unit_test(test_a_short_window_knows_the_response_that_the_run_has_shown),
        cmocka_unit_test(test_a_window_without_a_reading_says_where_its_powers_are_from),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
