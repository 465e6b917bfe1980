/* Attribution of recordings from joulemap-simulate, a generator that shares no code with it: as files,
 * through the import, with late stamps, jitter and all. */
#include "attribute/fit/student.h"
#include "base/csv.h"

#include <joulemap/joulemap.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "figures.h"
#include "proof.h"
#include "simulated.h"

static jm_report *report_of(int seed, const char *options)
{
    char all[256];
    jm_error err = {0};
    jm_report *report = NULL;
    snprintf(all, sizeof all, "--seconds 20 %s", options);
    simulate_files(seed, all);
    const jm_import_options import_options = {
        .size = sizeof import_options,
        .overwrite = true,
        .path = path_of("r.joulemap"),
        .board = "h200",
        .files = {
            [JM_IMPORT_READINGS] = path_of("readings.csv"), [JM_IMPORT_KERNELS] = path_of("kernels.csv")}};
    if (jm_recording_import(&import_options, &err) != JM_OK) fail_msg("%s", err.text);
    jm_recording *recording = open_run("r.joulemap");
    const jm_report_options given = {.size = sizeof given, .by = JM_BY_KERNEL, .phase = "mixture"};
    if (jm_report_create(&report, recording, &given, &err) != JM_OK) fail_msg("%s", err.text);
    figures_kept(__BASE_FILE__, report);
    jm_recording_close(recording);
    return report;
}

typedef struct tally {
    int inside, all, far; /* far: four half widths and more from the truth */
    double error_j, energy_j;
} tally;

static void compare(tally *t, const jm_report *report)
{
    double narrower = jm__student_quantile(0.90, 1e6) / jm__student_quantile(0.95, 1e6);
    jm__csv *csv;
    bool more;
    size_t name, energy;
    assert_int_equal(jm__csv_open(&csv, path_of("truth.csv"), NULL), JM_OK);
    assert_int_equal(jm__csv_column(csv, "name", &name, NULL), JM_OK);
    assert_int_equal(jm__csv_column(csv, "energy_j", &energy, NULL), JM_OK);
    while (jm__csv_next(csv, &more, NULL) == JM_OK && more) {
        const jm_row *row = NULL;
        double truth_j;
        assert_int_equal(jm__csv_number(csv, energy, &truth_j, NULL), JM_OK);
        for (size_t i = 0; i < jm_report_row_count(report); i++)
            if (strcmp(jm_report_row(report, i)->name, jm__csv_text(csv, name)) == 0)
                row = jm_report_row(report, i);
        if (jm__csv_text(csv, name)[0] == '(') continue; /* idle and the total are not classes */
        assert_non_null(row);
        double half_j =
            truth_j < row->energy_j ? row->energy_j - row->energy_low_j : row->energy_high_j - row->energy_j;
        t->inside += fabs(truth_j - row->energy_j) <= narrower * half_j;
        t->far += fabs(truth_j - row->energy_j) > 4 * narrower * half_j;
        t->all++;
        t->error_j += fabs(truth_j - row->energy_j);
        t->energy_j += truth_j;
    }
    jm__csv_close(csv);
}

/* Energy-weighted errors of the three designs, from shared/attribution.md: gaps 1.5 %, own order 2.6 %,
 * repeats 0.15 % there for 60 s; here 20 s. */
static void test_intervals_hold_in_every_design_of_the_work(void **state)
{
    (void)state;
    static const struct {
        const char *options;
        double error;
    } designs[] = {{"--order random --gap-us 200", 0.02},
                   {"--order fixed --gap-us 5", 0.05},
                   {"--order fixed --gap-us 5 --repeat-ms 10", 0.008}};
    const int recordings = proof_seeds(20);
    int inside = 0, all = 0;
    for (size_t d = 0; d < sizeof designs / sizeof designs[0]; d++) {
        tally t = {0};
        for (int seed = 1; seed <= recordings; seed++) {
            jm_report *report = report_of(seed, designs[d].options);
            compare(&t, report);
            double sum_j = 0, total_j = jm_report_totals_get(report)->total_energy_j;
            for (size_t i = 0; i < jm_report_row_count(report); i++)
                sum_j += jm_report_row(report, i)->energy_self_j;
            assert_true(fabs(sum_j - total_j) < 1e-9 * total_j);
            assert_true(fabs(jm_report_totals_get(report)->closure) < 0.005);
            jm_report_free(report);
        }
        double coverage = (double)t.inside / t.all, error = t.error_j / t.energy_j;
        print_message("%-40s %d of %d 90 %% intervals hold (%.1f %%), energy-weighted error %.2f %%\n",
                      designs[d].options, t.inside, t.all, 100 * coverage, 100 * error);
        /* 240 figures in 20 recordings, whose classes have correlated errors: the coverage has an error of 3
         * % */
        if (recordings > 1)
            assert_true(coverage > 0.81 && coverage < 0.995);
        else
            assert_true(t.far == 0 && t.inside >= proof_least(t.all, 0.9));
        inside += t.inside;
        all += t.all;
        assert_true(error < designs[d].error);
    }
    print_message("all together: %.1f %%\n", 100.0 * inside / all);
    assert_true(recordings > 1 ? inside > 0.86 * all && inside < 0.94 * all
                               : inside >= proof_least(all, 0.9));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_intervals_hold_in_every_design_of_the_work)};
    return cmocka_run_group_tests(tests, simulated_set_up, simulated_tear_down);
}
