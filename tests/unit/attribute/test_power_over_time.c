/* Power over time, against the truth of generated boards. */
#include "proof.h"
#include "synthetic_report.h"

#include <time.h>

enum { S = 1000000000 };

static const double busy_w = 500, rest_w = 90;

/* Rest, work from 2 s to 6 s, rest until 10 s; a phase around the first half of the work. */
static synthetic *make_run(void)
{
    synthetic *s = syn_create(3, 1, 2000);
    int64_t kernel = syn_class(s, "busy", 1, busy_w);
    syn_span(s, JM_SPAN_PHASE, "train", "", 0, 2 * (int64_t)S, 4 * (int64_t)S, 100);
    for (int64_t t = 2 * (int64_t)S; t < 6 * (int64_t)S; t += 10000000)
        syn_kernel(s, kernel, 0, 1, t, t + 10000000);
    syn_measure(s, 0, 0, 10 * (int64_t)S);
    syn_finish(s);
    return s;
}

static void bins_of(jm_power_bin *bins, size_t count, const synthetic *s, jm_report_options options)
{
    jm_report *report = syn_report(s, options);
    jm_error err = {0};
    if (jm_report_power(report, 0, bins, count, &err) != JM_OK) fail_msg("%s", err.text);
    jm_report_free(report);
}

static void test_bins_say_what_the_board_drew_when_it_did(void **state)
{
    (void)state;
    enum { BINS = 20 };
    synthetic *s = make_run();
    jm_power_bin bins[BINS];
    double sum_j = 0;
    bins_of(bins, BINS, s, (jm_report_options){0});
    for (size_t i = 0; i < BINS; i++) {
        assert_int_equal(bins[i].from_ns, (int64_t)i * S / 2);
        assert_int_equal(bins[i].to_ns, (int64_t)(i + 1) * S / 2);
        double true_w = syn_total_j(s, 0, bins[i].from_ns, bins[i].to_ns) * 2;
        if (fabs(bins[i].mean_w - true_w) > 12) fail_msg("bin %zu: %g W, drew %g", i, bins[i].mean_w, true_w);
        assert_true(bins[i].least_w < bins[i].mean_w && bins[i].mean_w < bins[i].most_w);
        assert_true(isnan(bins[i].clock_mhz));
        sum_j += bins[i].mean_w / 2;
    }
    double total_j = syn_total_j(s, 0, 0, 10 * (int64_t)S);
    assert_true(fabs(sum_j - total_j) < 0.005 * total_j);
    syn_free(s);
}

static void test_bins_are_of_the_report(void **state)
{
    (void)state;
    enum { BINS = 8 };
    synthetic *s = make_run();
    jm_power_bin bins[BINS];
    bins_of(bins, BINS, s, (jm_report_options){.phase = "train"});
    assert_int_equal(bins[0].from_ns, 2 * (int64_t)S);
    assert_int_equal(bins[BINS - 1].to_ns, 4 * (int64_t)S);
    for (size_t i = 1; i < BINS; i++)
        assert_true(fabs(bins[i].mean_w - busy_w) < 6);
    syn_free(s);
}

static void test_what_lies_between_two_phases_is_not_said(void **state)
{
    (void)state;
    enum { BINS = 10 };
    synthetic *s = make_run();
    jm_power_bin bins[BINS];
    syn_span(s, JM_SPAN_PHASE, "train", "", 0, 7 * (int64_t)S, 10 * (int64_t)S, 100);
    bins_of(bins, BINS, s, (jm_report_options){.phase = "train"}); /* of 0.8 s, from 2 s to 10 s */
    for (size_t i = 0; i < BINS; i++) {
        bool between = i > 2 && i < 6; /* 4.4 s to 6.8 s */
        assert_int_equal(isnan(bins[i].mean_w), between);
        assert_int_equal(isnan(bins[i].most_w), between);
    }
    assert_true(fabs(bins[2].mean_w - busy_w) < 15); /* half of it is: of what is */
    assert_true(fabs(bins[6].mean_w - rest_w) < 15);
    syn_free(s);
}

static void test_time_without_readings_is_not_known(void **state)
{
    (void)state;
    enum { BINS = 10 };
    synthetic *s = make_run();
    jm__dataset *d = &s->dataset;
    size_t kept = 0;
    for (size_t i = 0; i < d->reading_count; i++)
        if (s->readings[i].sensor_id != 1 || s->readings[i].t_ns < 3 * (int64_t)S ||
            s->readings[i].t_ns > 5 * (int64_t)S)
            s->readings[kept++] = s->readings[i];
    d->reading_count = kept;
    jm_power_bin bins[BINS];
    bins_of(bins, BINS, s, (jm_report_options){0});
    for (size_t i = 0; i < BINS; i++)
        assert_int_equal(isnan(bins[i].mean_w), i == 3 || i == 4);
    syn_free(s);
}

/* The ring ends at 4.5 s, in the middle of a bin, and the counter with it. */
static void test_a_bin_says_how_much_of_it_was_seen(void **state)
{
    (void)state;
    enum { BINS = 10 };
    for (int with_ring = 0; with_ring < 2; with_ring++) {
        synthetic *s = make_run();
        jm__dataset *d = &s->dataset;
        size_t kept = 0;
        for (size_t i = 0; i < d->reading_count; i++)
            if (s->readings[i].t_ns <= (with_ring ? 4500 : 5000) * (int64_t)S / 1000)
                s->readings[kept++] = s->readings[i];
        d->reading_count = kept;
        if (!with_ring) { /* the counter was read at 0 s and 5 s: a bin of 4 s is covered for one */
            s->sensors[0].quantity = JM_QUANTITY_TEMPERATURE;
            jm_power_bin bins[3];
            s->dataset.end_ns = 12 * (int64_t)S;
            bins_of(bins, 3, s, (jm_report_options){0});
            assert_true(fabs(bins[0].seen_s - 4) < 0.01 && fabs(bins[1].seen_s - 1) < 0.01);
            assert_true(bins[2].seen_s == 0 && isnan(bins[2].mean_w));
            syn_free(s);
            continue;
        }
        jm_power_bin bins[BINS];
        bins_of(bins, BINS, s, (jm_report_options){0});
        for (size_t i = 0; i < BINS; i++) { /* a reading covers one and a half periods of 20 ms */
            assert_true(fabs(bins[i].seen_s - (i < 4 ? 1 : i == 4 ? 0.5 : 0)) < 0.05);
            assert_int_equal(isnan(bins[i].mean_w), i > 4);
        }
        assert_true(fabs(bins[4].mean_w - busy_w) < 6); /* the mean over the covered half */
        syn_free(s);
    }
}

static double cpu_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* CPU seconds of a report and its bins, of a phase with many occurrences. The minimum of a few tries, since
 * others use the machine. */
static double cost_s(size_t phases)
{
    enum { BINS = 1000, TRIES = 3 };
    static jm_power_bin bins[BINS];
    double least_s = INFINITY;
    synthetic *s = syn_create(3, 1, phases + 2000);
    int64_t length = 10 * (int64_t)S / (int64_t)phases;
    for (size_t i = 0; i < phases; i++)
        syn_span(s, JM_SPAN_PHASE, "train", "", 0, (int64_t)i * length, (int64_t)i * length + length / 2,
                 100);
    syn_measure(s, 0, 0, 10 * (int64_t)S);
    syn_finish(s);
    for (int i = 0; i < TRIES; i++) {
        double begin_s = cpu_s();
        bins_of(bins, BINS, s, (jm_report_options){.by = JM_BY_PHASE, .phase = "train"});
        least_s = fmin(least_s, cpu_s() - begin_s);
    }
    syn_free(s);
    return least_s;
}

/* Ten times the phases are some ten times the work; if each phase met each other, or each bin, it would be a
 * hundred times. */
static void test_many_phases_are_not_each_held_against_all(void **state)
{
    (void)state;
    const size_t few = (size_t)proof_some(10000, 4000);
    double few_s = cost_s(few), many_s = cost_s(10 * few);
    if (many_s > 30 * few_s) fail_msg("%g s of %zu phases, %g s of ten times as many", few_s, few, many_s);
}

static void test_a_counter_alone_tells_of_power_too(void **state)
{
    (void)state;
    synthetic *s = make_run();
    s->sensors[0].quantity = JM_QUANTITY_TEMPERATURE;
    jm_power_bin bins[2];
    bins_of(bins, 2, s, (jm_report_options){0});
    for (size_t i = 0; i < 2; i++) {
        double true_w = syn_total_j(s, 0, bins[i].from_ns, bins[i].to_ns) / 5;
        assert_true(fabs(bins[i].mean_w - true_w) < 2);
        assert_true(bins[i].least_w == bins[i].mean_w && bins[i].most_w == bins[i].mean_w);
    }
    syn_free(s);
}

static void test_the_clock_is_that_of_its_readings(void **state)
{
    (void)state;
    synthetic *s = make_run();
    jm__dataset *d = &s->dataset;
    s->sensors[d->sensor_count++] = (jm_sensor){.id = 3,
                                                .board_id = 1,
                                                .name = "clock_sm",
                                                .quantity = JM_QUANTITY_CLOCK_SM,
                                                .response = JM_RESPONSE_INSTANT};
    for (int64_t i = 0; i < 6; i++)
        s->readings[d->reading_count++] = (jm_reading){3, i * S, 1000 + 100 * (double)i};
    syn_finish(s);
    jm_power_bin bins[5];
    bins_of(bins, 5, s, (jm_report_options){0});
    assert_true(fabs(bins[0].clock_mhz - 1050) < 1e-9);
    assert_true(fabs(bins[1].clock_mhz - 1250) < 1e-9);
    assert_true(fabs(bins[2].clock_mhz - 1450) < 1e-9);
    assert_true(isnan(bins[3].clock_mhz));
    jm_power_bin phase[4];
    syn_span(s, JM_SPAN_PHASE, "train", "", 0, 5 * (int64_t)S, 10 * (int64_t)S, 100);
    bins_of(phase, 4, s,
            (jm_report_options){.phase = "train"}); /* of 2 s, from 2 s on; 4 s to 5 s are not in it */
    assert_true(fabs(phase[0].clock_mhz - 1250) < 1e-9);
    assert_true(fabs(phase[1].clock_mhz - 1500) < 1e-9); /* the reading at 4 s is no more in the phase */
    syn_free(s);
}

static void test_what_cannot_be_shown(void **state)
{
    (void)state;
    synthetic *s = make_run();
    jm_report *report = syn_report(s, (jm_report_options){0});
    jm_power_bin bin;
    jm_error err = {0};
    assert_int_equal(jm_report_power(report, 1, &bin, 1, &err), JM_NOT_FOUND);
    assert_int_equal(jm_report_power(report, 0, &bin, 0, &err), JM_USAGE);
    jm_report_free(report);
    syn_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bins_say_what_the_board_drew_when_it_did),
        cmocka_unit_test(test_bins_are_of_the_report),
        cmocka_unit_test(test_what_lies_between_two_phases_is_not_said),
        cmocka_unit_test(test_time_without_readings_is_not_known),
        cmocka_unit_test(test_a_bin_says_how_much_of_it_was_seen),
        cmocka_unit_test(test_many_phases_are_not_each_held_against_all),
        cmocka_unit_test(test_a_counter_alone_tells_of_power_too),
        cmocka_unit_test(test_the_clock_is_that_of_its_readings),
        cmocka_unit_test(test_what_cannot_be_shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
