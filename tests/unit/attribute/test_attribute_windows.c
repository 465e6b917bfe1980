/* Short windows of runs with known truth; powers are learnt from the whole run.
 *
 * JOULEMAP_TEST_WINDOWS: how many of each length, busy and at rest (in the proof 40 by default, too few to
 * hold each length to 92 to 99 % by itself: then all lengths together are; else one of each program).
 * JOULEMAP_TEST_SEED: of the first recording, not those with which the estimator was developed. */
#define FIGURES_NOT_KEPT /* clang takes pow(10, x), which makes the data, for another function than gcc */
#include "attribute/report.h"
#include "programs.h"
#include "proof.h"
#include "synthetic_report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { CLASSES = 6, WINDOWS = 40 };

static const double class_w[CLASSES] = {690, 610, 540, 420, 330, 250};

static synthetic *make_kinds(uint64_t seed)
{
    synthetic *s = syn_create(seed, 1, 60000);
    char name[16];
    for (size_t c = 0; c < CLASSES; c++) {
        snprintf(name, sizeof name, "class%zu", c);
        syn_class(s, name, 8, class_w[c]);
    }
    return s;
}

/* 60 s of random work on one board, whose mix changes every half second, and a sensor that drifts. */
static synthetic *make_late_run(uint64_t seed, double late_ns)
{
    synthetic *s = make_kinds(seed);
    s->lag_ns += late_ns;
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

/* ---- coverage of intervals ---- */

enum { LENGTHS = 5, PER_LENGTH = 200 };
static const int lengths_ms[LENGTHS] = {20, 50, 60, 100, 300};

static const double program_s = 6, rest_s = 3;

/* The part of totals' intervals for the gain of the ring (docs/accuracy.md): here the gain is off by as much.
 * Rows are in the ring's joules. */
static const double ring_gain_u = 0.005;

static int number_of(const char *variable, int usual)
{
    const char *text = getenv(variable);
    return text != NULL ? atoi(text) : usual;
}

static int windows_of_each(void)
{
    return number_of("JOULEMAP_TEST_WINDOWS", proof_some(WINDOWS, PROGRAMS));
}

/* Results of the windows of one length. */
typedef struct outcome {
    int windows, held;
    int rows, rows_held;
    double square; /* of the total's errors, relative */
    double *half;  /* [windows]: of its intervals, relative */
} outcome;

static void add_window(outcome *out, const synthetic *s, double gain, int64_t from_ns, int64_t to_ns)
{
    jm_report *report =
        syn_report(s, (jm_report_options){.by = JM_BY_KERNEL, .from_ns = from_ns, .to_ns = to_ns});
    const jm_report_totals *totals = jm_report_totals_get(report);
    double truth = syn_total_j(s, 0, from_ns, to_ns), sum_j = 0;
    out->held += truth >= totals->total_low_j && truth <= totals->total_high_j;
    out->square += pow(totals->total_energy_j / truth - 1, 2);
    out->half[out->windows++] = (totals->total_high_j - totals->total_low_j) / 2 / truth;
    for (size_t i = 0; i < jm_report_row_count(report); i++) {
        const jm_row *row = jm_report_row(report, i);
        int number;
        sum_j += row->energy_self_j;
        if (row->depth > 0 || sscanf(row->path, "kind%d", &number) != 1 || row->busy_s == 0) continue;
        double row_j = gain * syn_energy_j(s, number + 1, from_ns, to_ns);
        out->rows++;
        out->rows_held += row_j >= row->energy_low_j && row_j <= row->energy_high_j;
    }
    assert_true(fabs(sum_j - totals->total_energy_j) < 1e-9 * totals->total_energy_j);
    jm_report_free(report);
}

/* One window of each length, so that no two of a length share a recording's drift, gain and powers. */
static void add_recording(outcome of[LENGTHS], int number, bool resting)
{
    static const double spreads[] = {0, 0.03, 0.08};
    double spread = spreads[number / PROGRAMS % 3];
    synthetic *s = prog_make((prog_options){
        .which = &programs[number % PROGRAMS],
        .spread = spread,
        .idle_spread = spread,
        .seconds = program_s,
        .rest_s = rest_s,
        .seed = (uint64_t)(700000 + 2 * (number_of("JOULEMAP_TEST_SEED", 1) + number) + resting),
    });
    double gain = 1 + ring_gain_u * syn_normal(s);
    for (size_t i = 0; i < s->dataset.reading_count; i++)
        if (s->readings[i].sensor_id == 1) s->readings[i].value *= gain;
    for (int l = 0; l < LENGTHS; l++) {
        double first_s = resting ? 10 + program_s + 0.5 : 11.2;
        double last_s = 10 + program_s + (resting ? rest_s : 0) - 1e-3 * lengths_ms[l] - 0.05;
        int64_t from_ns = (int64_t)(1e9 * (first_s + syn_uniform(s) * (last_s - first_s)));
        add_window(&of[l], s, gain, from_ns, from_ns + lengths_ms[l] * JM_NS_PER_MS);
    }
    syn_free(s);
}

static int by_size(const void *a, const void *b)
{
    const double *left = a, *right = b;
    return (*left > *right) - (*left < *right);
}

static void print_outcome(const char *what, outcome *o)
{
    qsort(o->half, (size_t)o->windows, sizeof *o->half, by_size);
    print_message("%s: %5.1f %% of %d totals held, error %4.1f %%, half width %4.1f %% in the middle", what,
                  100.0 * o->held / o->windows, o->windows, 100 * sqrt(o->square / o->windows),
                  100 * o->half[o->windows / 2]);
    if (o->rows > 0) print_message("; rows %.1f %% of %d", 100.0 * o->rows_held / o->rows, o->rows);
    print_message("\n");
}

static double chance(int windows)
{
    return windows < PER_LENGTH ? 3 * sqrt(0.92 * 0.08 / windows) : 0;
}

/* 92 to 99 % of many 95 % intervals must contain the truth; of few, within three standard deviations. */
static bool is_held(const outcome *o)
{
    return o->held >= (0.92 - chance(o->windows)) * o->windows &&
           (o->windows < PER_LENGTH || o->held <= 0.99 * o->windows);
}

static void check_windows(bool resting)
{
    outcome of[LENGTHS] = {0}, all = {0};
    bool fine = true;
    for (int l = 0; l < LENGTHS; l++)
        of[l].half = calloc((size_t)windows_of_each(), sizeof *of[l].half);
    for (int r = 0; r < windows_of_each(); r++)
        add_recording(of, r, resting);
    for (int l = 0; l < LENGTHS; l++) {
        char what[32];
        snprintf(what, sizeof what, "%s, %3d ms", resting ? "at rest" : "busy", lengths_ms[l]);
        print_outcome(what, &of[l]);
        fine = fine && is_held(&of[l]);
        all.windows += of[l].windows;
        all.held += of[l].held;
        all.rows += of[l].rows;
        all.rows_held += of[l].rows_held;
        free(of[l].half);
    }
    assert_true(fine && is_held(&all));
    assert_true(all.rows_held >=
                (0.92 - chance(windows_of_each())) * all.rows); /* rows of a window have correlated errors */
}

static void test_intervals_hold_as_often_as_they_say_in_short_windows(void **state)
{
    (void)state;
    check_windows(false);
}

static void test_intervals_hold_as_often_as_they_say_in_short_windows_at_rest(void **state)
{
    (void)state;
    check_windows(true);
}

/* ---- what windows are learnt from ---- */

static bool holds(const synthetic *s, int64_t from_ns, int64_t to_ns)
{
    jm_report *report = syn_report(s, (jm_report_options){.from_ns = from_ns, .to_ns = to_ns});
    const jm_report_totals *totals = jm_report_totals_get(report);
    double truth = syn_total_j(s, 0, from_ns, to_ns);
    bool held = truth >= totals->total_low_j && truth <= totals->total_high_j;
    jm_report_free(report);
    return held;
}

/* A window of one reading: the integral of the sensor, which averages over 13 ms, would be off by an eighth.
 * With learnt powers, only the noise of one reading and the kernels' edges remain. */
static void test_a_window_of_20_ms_is_marked_from_what_the_run_has_taught(void **state)
{
    (void)state;
    synthetic *s = make_run(41);
    double square = 0;
    const int windows = proof_some(WINDOWS, 5);
    for (int w = 0; w < windows; w++) {
        int64_t from_ns = (int64_t)(1e9 * (4 + 54 * syn_uniform(s))), to_ns = from_ns + 20 * JM_NS_PER_MS;
        jm_report *report = syn_report(s, (jm_report_options){.from_ns = from_ns, .to_ns = to_ns});
        square +=
            pow(jm_report_totals_get(report)->total_energy_j / syn_total_j(s, 0, from_ns, to_ns) - 1, 2);
        jm_report_free(report);
    }
    print_message("20 ms: off by %.2f %%\n", 100 * sqrt(square / windows));
    assert_true(sqrt(square / windows) < 0.01);
    syn_free(s);
}

/* All kinds draw 8 % less in the last four seconds. Powers of the rest are wrong for windows there;
 * neighbouring readings show this, while the few readings of a window cannot. */
static void test_a_window_among_readings_that_the_run_does_not_explain_is_less_sure(void **state)
{
    (void)state;
    static const int64_t lengths_ns[] = {20 * JM_NS_PER_MS, 60 * JM_NS_PER_MS, 300 * JM_NS_PER_MS};
    const int64_t start_ns = 10 * JM_NS_PER_S, changed_ns = 30 * JM_NS_PER_S, end_ns = 34 * JM_NS_PER_S;
    int held = 0, windows = 0;
    for (uint64_t seed = 51; seed < 51 + (uint64_t)proof_seeds(8); seed++) {
        synthetic *s = make_kinds(seed);
        syn_random_work(s, 0, 1, CLASSES, 0, start_ns, end_ns);
        for (size_t i = 0; i < s->kernels.count; i++)
            if (s->kernels.items[i].start_ns >= changed_ns) s->kernel_w[i] *= 0.92;
        syn_measure(s, 0, start_ns, end_ns);
        syn_finish(s);
        for (int w = 0; w < 9; w++) {
            int64_t from_ns = changed_ns + (int64_t)(1e9 * (0.5 + 3 * syn_uniform(s)));
            held += holds(s, from_ns, from_ns + lengths_ns[w % 3]);
            windows++;
        }
        syn_free(s);
    }
    print_message("%d of %d totals held where powers had changed\n", held, windows);
    assert_true(proof_runs() ? held >= 0.92 * windows : held >= proof_least(windows, 0.95));
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
    double truth = syn_total_j(s, 0, from_ns, to_ns);
    assert_int_equal(totals->readings, 0);
    assert_true(totals->total_low_j <= truth && truth <= totals->total_high_j);
    bool found = false;
    for (size_t i = 0; i < jm_report_note_count(report); i++) {
        found = found || strstr(jm_report_note(report, i), "no reading of power_ring falls into") != NULL;
        assert_null(strstr(jm_report_note(report, i), "nan"));
    }
    assert_true(found);
    jm_report_free(report);
    syn_free(s);
}

/* The sensor's response, as the report of an interval states it; 0 to 0: of the whole run. */
static double marked_ms(const synthetic *s, const char *what, int64_t from_ns, int64_t to_ns)
{
    jm_report *report =
        syn_report(s, (jm_report_options){.by = JM_BY_KERNEL, .from_ns = from_ns, .to_ns = to_ns});
    double ms = NAN;
    for (size_t i = 0; i < jm_report_note_count(report); i++) {
        const char *at = strstr(jm_report_note(report, i), what);
        if (at != NULL) ms = strtod(at + strlen(what), NULL);
    }
    jm_report_free(report);
    return ms;
}

static void check_marked(const synthetic *s, const char *what, int64_t from_ns, double truth_ms)
{
    double ms = marked_ms(s, what, from_ns, from_ns + 300 * JM_NS_PER_MS);
    if (!(fabs(ms - truth_ms) < 0.3)) fail_msg("%s%.1f ms, not %.1f", what, ms, truth_ms);
}

/* 1 ms later than in its profile, two of its standard uncertainties: the 15 readings of a window of 300 ms
 * cannot determine it, the 3000 of the run can, to a tenth of that. */
static void test_a_short_window_knows_the_response_that_the_run_has_shown(void **state)
{
    (void)state;
    synthetic *s = make_late_run(44, 1e6);
    for (int64_t from_ns = 8 * JM_NS_PER_S; from_ns < 48 * JM_NS_PER_S;
         from_ns += proof_some(8, 16) * JM_NS_PER_S)
        check_marked(s, "; lag ", from_ns, s->lag_ns * 1e-6);
    syn_free(s);
}

/* Fifteen readings for ten powers leave residuals so small that any response seems certain. */
static void test_few_readings_for_many_powers_teach_no_response(void **state)
{
    (void)state;
    for (uint64_t seed = 61; seed < 61 + (uint64_t)proof_seeds(2); seed++) {
        synthetic *s =
            prog_make((prog_options){.which = &programs[2], .seconds = 6, .rest_s = 1, .seed = seed});
        double run_ms = marked_ms(s, "time constant ", 0, 0);
        for (int64_t from_ns = 12 * JM_NS_PER_S; from_ns < 15 * JM_NS_PER_S;
             from_ns += proof_some(500, 1500) * JM_NS_PER_MS)
            check_marked(s, "time constant ", from_ns, run_ms);
        syn_free(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_window_of_20_ms_is_marked_from_what_the_run_has_taught),
        cmocka_unit_test(test_intervals_hold_as_often_as_they_say_in_short_windows),
        cmocka_unit_test(test_intervals_hold_as_often_as_they_say_in_short_windows_at_rest),
        cmocka_unit_test(test_a_window_among_readings_that_the_run_does_not_explain_is_less_sure),
        cmocka_unit_test(test_a_short_window_knows_the_response_that_the_run_has_shown),
        cmocka_unit_test(test_few_readings_for_many_powers_teach_no_response),
        cmocka_unit_test(test_a_window_without_a_reading_says_where_its_powers_are_from),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
