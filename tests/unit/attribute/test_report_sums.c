/* Sums of rows, and covariances of two rows. */
#include "attribute/report.h"
#include "attribute/rollup/energy.h"
#include "proof.h"
#include "synthetic_report.h"

#include <joulemap/report.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static jm_report *report_of(const synthetic *s, jm_by by)
{
    return syn_report(s, (jm_report_options){.by = by});
}

static size_t row_named(const jm_report *report, const char *path)
{
    for (size_t i = 0; i < jm_report_row_count(report); i++)
        if (strcmp(jm_report_row(report, i)->path, path) == 0) return i;
    fail_msg("no row %s", path);
    return 0;
}

static jm_sum sum_of(const jm_report *report, const size_t *rows, size_t count)
{
    jm_sum sum = {0};
    jm_error err = {0};
    if (jm_report_sum(report, rows, count, &sum, &err) != JM_OK) fail_msg("%s", err.text);
    return sum;
}

static double covariance_of(const jm_report *report, size_t a, size_t b)
{
    double j2 = 0;
    assert_int_equal(jm_report_covariance(report, a, b, &j2, NULL), JM_OK);
    return j2;
}

static void assert_near(double a, double b)
{
    assert_true(fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b)) + 1e-9);
}

/* 20 s of two alternating kernels of 3 ms: the sensor, which averages over 13 ms, sees little but their sum.
 * A third one works alone now and then. */
static synthetic *twins(uint64_t seed)
{
    synthetic *s = syn_create(seed, 1, 20000);
    int64_t a = syn_class(s, "first", 1, 400), b = syn_class(s, "second", 2, 550),
            c = syn_class(s, "alone", 3, 300);
    int64_t now = 1000000000, end = 21000000000;
    int64_t phase = syn_span(s, JM_SPAN_PHASE, "train", "", 0, now, end, 100);
    int64_t outer = syn_span(s, JM_SPAN_FORWARD, "net", "Net", phase, now, end, 100);
    int64_t layers[] = {syn_span(s, JM_SPAN_FORWARD, "net.one", "One", outer, now, end, 100),
                        syn_span(s, JM_SPAN_FORWARD, "net.two", "Two", outer, now, end, 100)};
    while (now + 500000000 < end) {
        for (int64_t until = now + 300000000; now < until; now += 6000000) {
            int64_t first_ns = (int64_t)(2.6e6 + 0.8e6 * syn_uniform(s));
            syn_kernel(s, a, 0, layers[0], now, now + first_ns);
            syn_kernel(s, b, 0, layers[1], now + first_ns, now + 6000000);
        }
        syn_kernel(s, c, 0, outer, now, now + 80000000);
        now += 150000000;
    }
    syn_measure(s, 0, 500000000, 21500000000);
    syn_finish(s);
    return s;
}

static void test_a_sum_of_one_row_is_that_row_and_of_all_the_total(void **state)
{
    (void)state;
    synthetic *s = twins(1);
    for (int by = 0; by < JM_BY_COUNT; by++) {
        jm_report *report = report_of(s, (jm_by)by);
        size_t count = jm_report_row_count(report), all[64];
        assert_in_range(count, 2, 64);
        for (size_t i = 0; i < count; i++) {
            const jm_row *row = jm_report_row(report, i);
            jm_sum one = sum_of(report, &i, 1);
            all[i] = i;
            assert_near(one.energy_j, row->energy_j);
            if (strcmp(row->kind, "unresolved") == 0)
                continue; /* its interval: of the energy outside all rows */
            assert_near(one.low_j, row->energy_low_j);
            assert_near(one.high_j, row->energy_high_j);
        }
        const jm_report_totals *totals = jm_report_totals_get(report);
        jm_sum sum = sum_of(report, all, count);
        assert_near(sum.energy_j, totals->total_energy_j);
        assert_near(sum.low_j, totals->total_low_j);
        assert_near(sum.high_j, totals->total_high_j);
        jm_report_free(report);
    }
    syn_free(s);
}

static void test_a_parent_and_its_child_are_the_parent(void **state)
{
    (void)state;
    synthetic *s = twins(2);
    jm_report *report = report_of(s, JM_BY_LAYER);
    const size_t family[] = {row_named(report, "net.two"), row_named(report, "net"),
                             row_named(report, "net.two")};
    jm_sum both = sum_of(report, family, 3), parent = sum_of(report, &family[1], 1);
    assert_near(both.energy_j, parent.energy_j);
    assert_near(both.low_j, parent.low_j);
    assert_near(both.high_j, parent.high_j);
    jm_report_free(report);
    syn_free(s);
}

static void test_what_is_not_there_is_refused_or_not_known(void **state)
{
    (void)state;
    synthetic *s = twins(3);
    jm_report *report = report_of(s, JM_BY_KERNEL);
    size_t beyond = jm_report_row_count(report), last = beyond - 1;
    jm_sum sum;
    jm_error err = {0};
    double j2;
    assert_int_equal(jm_report_sum(report, &beyond, 1, &sum, &err), JM_USAGE);
    assert_int_equal(jm_report_covariance(report, 0, beyond, &j2, &err), JM_USAGE);
    assert_string_equal(jm_report_row(report, last)->path, "(unresolved)");
    assert_true(isnan(covariance_of(report, 0, last)));
    sum = sum_of(report, NULL, 0);
    assert_true(sum.energy_j == 0 && sum.low_j == 0 && sum.high_j == 0);
    jm_report_free(report);
    syn_free(s);
}

/* The sum of two rows has both variances and twice their covariance; half an interval is 1.96 standard
 * deviations, a little more with few readings. */
static void test_the_interval_of_a_sum_is_that_of_its_covariances(void **state)
{
    (void)state;
    synthetic *s = twins(4);
    jm_report *report = report_of(s, JM_BY_KERNEL);
    const size_t rows[] = {row_named(report, "first"), row_named(report, "second"),
                           row_named(report, "alone")};
    double variance = 0;
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            double shared = covariance_of(report, rows[i], rows[j]);
            assert_near(shared, covariance_of(report, rows[j], rows[i]));
            if (i < 2 && j < 2) variance += shared;
        }
    }
    jm_sum sum = sum_of(report, rows, 2);
    double half_j = (sum.high_j - sum.low_j) / 2;
    print_message("half of the interval: %.2f J, of the covariances: %.2f J\n", half_j,
                  1.96 * sqrt(variance));
    assert_true(half_j > 1.94 * sqrt(variance) && half_j < 2.1 * sqrt(variance));
    jm_report_free(report);
    syn_free(s);
}

/* The report's covariance of two errors, against the errors themselves. From 60 recordings a variance has an
 * error of 18 %: three times that. These kinds draw one power each, which their readings cannot show, so the
 * report must assume the usual variation: twice the error, four times the variance. */
static void test_errors_that_cancel_make_the_sum_surer_than_its_parts(void **state)
{
    (void)state;
    const int recordings = proof_some(60, 6);
    double product = 0, square = 0, said_product = 0, said_square = 0;
    int held = 0;
    for (uint64_t seed = 1; seed <= (uint64_t)recordings; seed++) {
        synthetic *s = twins(100 + seed);
        jm_report *report = report_of(s, JM_BY_KERNEL);
        const size_t rows[] = {row_named(report, "first"), row_named(report, "second")};
        double truth_j[2], error_j[2];
        for (int i = 0; i < 2; i++) {
            truth_j[i] = syn_energy_j(s, i + 1, 0, INT64_MAX);
            error_j[i] = jm_report_row(report, rows[i])->energy_j - truth_j[i];
        }
        jm_sum sum = sum_of(report, rows, 2);
        product += error_j[0] * error_j[1] / recordings;
        square += pow(error_j[0] + error_j[1], 2) / recordings;
        said_product += covariance_of(report, rows[0], rows[1]) / recordings;
        said_square += pow((sum.high_j - sum.low_j) / 2 / 1.96, 2) / recordings;
        held += sum.low_j <= truth_j[0] + truth_j[1] && truth_j[0] + truth_j[1] <= sum.high_j;
        jm_report_free(report);
        syn_free(s);
    }
    print_message("covariance %.1f J^2, said %.1f; variance of the sum %.2f J^2, said %.2f; %d of %d held\n",
                  product, said_product, square, said_square, held, recordings);
    assert_true(product < 0 && said_product < 0);
    assert_true(said_square < -0.2 * said_product); /* each alone is much less certain */
    if (recordings == 60) {
        assert_true(said_product / product > 0.5 && said_product / product < 4 * 1.54);
        assert_true(square < 1.54 * said_square);
        assert_true(held >= 60 * 95 / 100 - 6);
    } else {
        double chance = pow(proof_rms(recordings), 2);
        assert_true(product / said_product < chance && square / said_square < chance);
        assert_true(held >= proof_least(recordings, 0.95));
    }
}

/* If no counter covers a window, its total is the sum of its columns: nothing is unresolved, and adding that
 * does not widen any row. */
static void test_nothing_unresolved_makes_no_sum_less_sure(void **state)
{
    (void)state;
    synthetic *s = twins(5);
    size_t count = 0;
    for (size_t i = 0; i < s->dataset.reading_count; i++) /* the ring alone */
        if (s->readings[i].sensor_id == 1) s->readings[count++] = s->readings[i];
    s->dataset.reading_count = count;
    const jm_report_options options = {
        .size = sizeof options, .by = JM_BY_KERNEL, .from_ns = 8000000000, .to_ns = 9000000000};
    jm_report *report = NULL;
    assert_int_equal(jm__report_from_dataset(&report, &s->dataset, &options, NULL), JM_OK);
    figures_kept(__BASE_FILE__, report);
    const size_t rows[] = {row_named(report, "alone"), row_named(report, "(unresolved)")};
    assert_near(jm_report_row(report, rows[1])->energy_j, 0);
    jm_sum alone = sum_of(report, rows, 1), both = sum_of(report, rows, 2);
    assert_near(both.energy_j, alone.energy_j);
    assert_near(both.low_j, alone.low_j);
    assert_near(both.high_j, alone.high_j);
    jm_report_free(report);
    syn_free(s);
}

/* The energy of a meter upstream of the boards includes theirs: it is a sum of its own, and adds nothing. */
/* Two alternating layers, each call a span of its own: their difference is the same in all calls, so many
 * calls are as uncertain as the layer in one row. */
static void test_calls_of_a_layer_differ_transfer(void **state)
{
    (void)state;
    synthetic *s = syn_create(9, 1, 20000);
    int64_t kernel = syn_class(s, "kernel", 1, 400), other = syn_class(s, "other", 2, 600);
    int64_t now = 1000000000, end = 13000000000;
    int64_t phase = syn_span(s, JM_SPAN_PHASE, "train", "", 0, now, end, 100);
    while (now + 60000000 < end) {
        for (int l = 0; l < 2; l++) {
            int64_t until = now + 20000000;
            int64_t layer =
                syn_span(s, JM_SPAN_FORWARD, l == 0 ? "net.one" : "net.two", "Layer", phase, now, until, 100);
            syn_kernel(s, kernel, 0, layer, now, until);
            now = until;
        }
        int64_t until = now + (int64_t)(20e6 * syn_uniform(s));
        syn_kernel(s, other, 0, phase, now, until);
        now = until;
    }
    syn_measure(s, 0, 500000000, 13500000000);
    syn_finish(s);
    jm_report *layers = report_of(s, JM_BY_LAYER), *spans = report_of(s, JM_BY_SPAN);
    size_t one = row_named(layers, "net.one"), count = 0, calls[400];
    double alone = 0;
    for (size_t i = 0; i < jm_report_row_count(spans); i++) {
        const jm_row *row = jm_report_row(spans, i);
        if (strcmp(row->path, "net.one") != 0) continue;
        assert_in_range(count, 0, 399);
        alone = row->energy_high_j - row->energy_low_j;
        calls[count++] = i;
    }
    assert_in_range(count, 200, 400);
    const jm_row *layer = jm_report_row(layers, one);
    jm_sum sum = sum_of(spans, calls, count);
    double wide = sum.high_j - sum.low_j, of_layer = layer->energy_high_j - layer->energy_low_j;
    print_message("a call +-%.3f J, %zu calls +-%.2f J, the layer +-%.2f J\n", alone / 2, count, wide / 2,
                  of_layer / 2);
    assert_near(sum.energy_j, layer->energy_j);
    assert_true(fabs(wide / of_layer - 1) < 0.01);
    double sum_j2 = 0; /* and so say the covariances of the calls */
    for (size_t i = 0; i < count; i++)
        sum_j2 += covariance_of(spans, calls[i], calls[0]);
    sum_j2 *= (double)count;
    jm_sum first = sum_of(spans, calls, 1);
    double quantile = (first.high_j - first.low_j) / 2 / sqrt(covariance_of(spans, calls[0], calls[0]));
    assert_true(fabs(wide / 2 / (quantile * sqrt(sum_j2)) - 1) < 0.05);
    jm_report_free(layers);
    jm_report_free(spans);
    syn_free(s);
}

static void test_a_meter_adds_nothing_to_what_it_measures(void **state)
{
    (void)state;
    synthetic *s = syn_create(6, 3, 20000);
    syn_class(s, "work", 1, 400);
    for (size_t b = 0; b < 3; b++) {
        syn_random_work(s, b, 1, 1, 0, 2000000000, 8000000000);
        syn_measure(s, b, 1000000000, 9000000000);
    }
    s->boards[2].upstream = true;
    syn_finish(s);
    jm_report *report = report_of(s, JM_BY_BOARD);
    const size_t rows[] = {row_named(report, "GPU-2"), row_named(report, "GPU-0"),
                           row_named(report, "GPU-1")};
    const jm_row *meter = jm_report_row(report, rows[0]);
    jm_sum alone = sum_of(report, rows, 1), all = sum_of(report, rows, 3), gpus = sum_of(report, rows + 1, 2);
    assert_true(meter->energy_j > 1000);
    assert_near(alone.energy_j, meter->energy_j);
    assert_near(alone.low_j, meter->energy_low_j);
    assert_near(alone.high_j, meter->energy_high_j);
    assert_near(gpus.energy_j, jm_report_totals_get(report)->total_energy_j);
    assert_near(all.energy_j, gpus.energy_j);
    assert_near(all.low_j, gpus.low_j);
    assert_near(all.high_j, gpus.high_j);
    jm_report_free(report);
    syn_free(s);
}

enum { BOARDS_MOST = 3 };

/* Boards of one column each, 100 W, and a second of each. */
typedef struct one_column {
    double power_w[BOARDS_MOST], variance[BOARDS_MOST];
    jm__dataset dataset;
    jm__board_part parts[BOARDS_MOST];
    jm__board_work work;
    jm__attribution a;
    jm__cell cells[BOARDS_MOST];
} one_column;

static void add_one_column(one_column *c, jm_provenance from, double u_before_w, double variance_after)
{
    static const jm__fit fitted = {.columns = 1, .fitted = true, .known = true, .quantile = 1.96};
    size_t b = c->dataset.board_count++;
    jm__prior prior;
    const jm__prior *all = &prior;
    jm__fit *fit = &c->parts[b].fit;
    c->work.columns.count = 1;
    c->a = (jm__attribution){.scope.dataset = &c->dataset, .boards = c->parts, .columns = b + 1};
    c->parts[b] = (jm__board_part){.requested = true, .work = &c->work, .first_column = b};
    c->power_w[b] = 100;
    c->variance[b] = variance_after;
    *fit = fitted;
    fit->power_w = &c->power_w[b];
    fit->covariance = &c->variance[b];
    prior = (jm__prior){.provenance = from, .columns = 1};
    assert_int_equal(jm__prior_add_power(&prior, 0, 100, u_before_w, NULL), JM_OK);
    assert_int_equal(jm__joint_prior_make(&fit->joint_prior, all, NULL, 0, (jm__noise_prior){5, 2}, NULL),
                     JM_OK);
    jm__prior_free(&prior);
    c->cells[b] = (jm__cell){.column = (uint32_t)b, .seconds = 1};
}

static jm__energy energy_of(one_column *c)
{
    jm__energy energy = jm__energy_of(&c->a, c->cells, c->dataset.board_count);
    for (size_t b = 0; b < c->dataset.board_count; b++)
        jm__joint_prior_free(&c->parts[b].fit.joint_prior);
    return energy;
}

/* Three boards, +- 20, +- 20 and +- 25 W before any reading, the last one given by a person. One second of
 * each: variances of 400, 400 and 625 J^2, of which the last is the largest. */
static void test_of_three_boards_the_least_sure_one_names_the_prior(void **state)
{
    (void)state;
    one_column c = {0};
    add_one_column(&c, JM_PROVENANCE_WEAK, 20, 1);
    add_one_column(&c, JM_PROVENANCE_WEAK, 20, 1);
    add_one_column(&c, JM_PROVENANCE_GIVEN, 25, 1);
    jm__energy energy = energy_of(&c);
    assert_int_equal(energy.assumed, JM_PROVENANCE_GIVEN);
    assert_near(energy.energy_j, 300);
    assert_near(energy.half_j, 1.96 * sqrt(3));
    assert_near(energy.shrinkage, 1 - 3 / (400 + 400 + 625.0));
    assert_true(energy.decided);
}

/* 400 J^2 before: readings decide if they leave no more than half of it. */
static void test_the_readings_decide_where_they_took_half_of_the_variance(void **state)
{
    (void)state;
    static const struct {
        double variance_after, shrinkage;
        bool decided;
    } cases[] = {
        {200, 0.5, true},   {200.4, 0.499, false}, {199.6, 0.501, true},
        {220, 0.45, false}, {399, 0.0025, false},  {0.01, 0.999975, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        one_column c = {0};
        add_one_column(&c, JM_PROVENANCE_WEAK, 20, cases[i].variance_after);
        jm__energy energy = energy_of(&c);
        assert_near(energy.shrinkage, cases[i].shrinkage);
        assert_true(energy.decided == cases[i].decided);
    }
}

/* Shares by time are not from readings, whatever their variance. */
static void test_without_a_fit_nothing_is_decided_by_readings(void **state)
{
    (void)state;
    one_column c = {0};
    add_one_column(&c, JM_PROVENANCE_WEAK, 20, 1);
    c.parts[0].fit.fitted = false;
    assert_false(energy_of(&c).decided);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_sum_of_one_row_is_that_row_and_of_all_the_total),
        cmocka_unit_test(test_a_parent_and_its_child_are_the_parent),
        cmocka_unit_test(test_what_is_not_there_is_refused_or_not_known),
        cmocka_unit_test(test_the_interval_of_a_sum_is_that_of_its_covariances),
        cmocka_unit_test(test_errors_that_cancel_make_the_sum_surer_than_its_parts),
        cmocka_unit_test(test_nothing_unresolved_makes_no_sum_less_sure),
        cmocka_unit_test(test_calls_of_a_layer_differ_transfer),
        cmocka_unit_test(test_a_meter_adds_nothing_to_what_it_measures),
        cmocka_unit_test(test_of_three_boards_the_least_sure_one_names_the_prior),
        cmocka_unit_test(test_the_readings_decide_where_they_took_half_of_the_variance),
        cmocka_unit_test(test_without_a_fit_nothing_is_decided_by_readings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
