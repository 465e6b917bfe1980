/* A model's idle states, from a suite of the simulated board to the report of a run with long waits: near the
 * hidden truth, and useful where readings cannot separate work from gaps. */
#include "attribute/prior/source.h"
#include "attribute/report.h"
#include "base/csv.h"
#include "base/status.h"
#include "figures.h"
#include "model/board_model.h"
#include "synthetic.h"

#include <joulemap/joulemap.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "proof.h"
#include "simulated.h"

enum { GAPS = JM_IDLE_STATES };

/* ---- the model's figures as a prior */

static jm__board_model model_of(double gap_w, double gap_u_w, double rest_w, double rest_u_w)
{
    jm__board_model model;
    assert_int_equal(jm__model_init(&model, 1, NULL), JM_OK);
    model.board = strdup("Synthetic");
    model.uuid = strdup("GPU-0");
    model.driver = strdup("");
    model.date = strdup("2026-11-22");
    model.features[0] = (jm__feature){strdup("inst.sum"), 1e9, 100, 1e9};
    model.covariance[0] = model.covariance[3] = 1;
    model.constant_w = 100;
    model.clock_mhz = 1980;
    if (gap_w > 0) model.idle[JM_IDLE_20_MS] = (jm__model_idle){gap_w, gap_u_w, 10};
    if (rest_w > 0) model.idle[JM_IDLE_LONG] = (jm__model_idle){rest_w, rest_u_w, 6};
    return model;
}

static void test_states_are_as_sure_as_the_model_and_what_another_run_has_otherwise(void **state)
{
    (void)state;
    jm__idle_known known;
    jm__board_model model = model_of(150, 9, 120, 0.5);
    assert_true(jm__idle_of_model(&known, &model));
    assert_true(known.power_w[JM_IDLE_20_MS] == 150 && known.power_w[JM_IDLE_LONG] == 120);
    assert_true(fabs(known.u_w[JM_IDLE_20_MS] - sqrt(9 * 9 + 12 * 12)) < 1e-9); /* 8 % for its lengths */
    assert_true(fabs(known.u_w[JM_IDLE_LONG] - sqrt(0.5 * 0.5 + 9.6 * 9.6)) < 1e-9);
    assert_true(known.together_u == 0.25);
    assert_true(isnan(known.power_w[JM_IDLE_BEFORE]) && isnan(known.power_w[JM_IDLE_50_US]));
    jm__model_mark_other_board(&model);
    assert_true(jm__idle_of_model(&known, &model));
    assert_true(known.together_u == 0.35);
    jm__model_free(&model);
    model = model_of(0, 0, 0, 0);
    assert_false(jm__idle_of_model(&known, &model));
    jm__model_free(&model);
}

/* ---- simulated recordings */

/* Power after the end of work, as sim/profiles/h200.json has it. */
static double gap_energy_j(double seconds)
{
    return 165 * fmin(seconds, 1e-3) + 140 * fmax(0, fmin(seconds, 20e-3) - 1e-3) +
           123 * fmax(0, seconds - 20e-3);
}

typedef struct gap_sum {
    double seconds, energy_j;
} gap_sum;

/* The gaps between kernels, from kernels.csv, by state. */
static void sum_gaps(gap_sum sums[GAPS])
{
    jm__csv *csv = NULL;
    bool more;
    size_t start_at, length_at;
    double start_s, length_us, ended_s = NAN;
    memset(sums, 0, GAPS * sizeof *sums);
    assert_int_equal(jm__csv_open(&csv, path_of("kernels.csv"), NULL), JM_OK);
    assert_int_equal(jm__csv_column(csv, "t_start_s", &start_at, NULL), JM_OK);
    assert_int_equal(jm__csv_column(csv, "duration_us", &length_at, NULL), JM_OK);
    while (jm__csv_next(csv, &more, NULL) == JM_OK && more) {
        assert_int_equal(jm__csv_number(csv, start_at, &start_s, NULL), JM_OK);
        assert_int_equal(jm__csv_number(csv, length_at, &length_us, NULL), JM_OK);
        double gap_s = start_s - ended_s;
        int s = gap_s < 50e-6   ? JM_IDLE_50_US
                : gap_s < 1e-3  ? JM_IDLE_1_MS
                : gap_s < 20e-3 ? JM_IDLE_20_MS
                                : JM_IDLE_LONG;
        if (gap_s > 0) {
            sums[s].seconds += gap_s;
            sums[s].energy_j += gap_energy_j(gap_s);
        }
        ended_s = start_s + 1e-6 * length_us;
    }
    jm__csv_close(csv);
}

static int seed_of_model; /* of what model.json was learnt from */

/* A suite of 30 s, then, in a phase called `idle`, rests of some seconds between a few kernels. */
static jm_learnt learn(int seed)
{
    seed_of_model = seed;
    simulate(seed,
             proof_runs() ? "--suite 30 --counters --seconds 15 --part idle --round-gap-us 3000000"
                          : "--suite 15 --counters --seconds 15 --part idle --round-gap-us 3000000",
             "run.joulemap");
    add_counters("run.joulemap", "counted.joulemap");
    return learn_from("counted.joulemap");
}

static jm_report *report_of(const char *model, jm_by by)
{
    jm_error err = {0};
    jm_report *report = NULL;
    jm_recording *recording = open_run("run.joulemap");
    const jm_report_options options = {.size = sizeof options, .by = by, .phase = "mixture", .model = model};
    if (jm_report_create(&report, recording, &options, &err) != JM_OK) fail_msg("%s", err.text);
    figures_kept(__BASE_FILE__, report);
    jm_recording_close(recording);
    return report;
}

static const jm_row *idle_row(const jm_report *report)
{
    for (size_t i = 0; i < jm_report_row_count(report); i++)
        if (strcmp(jm_report_row(report, i)->name, "(idle)") == 0) return jm_report_row(report, i);
    fail_msg("no idle row");
    return NULL;
}

/* ---- learnt */

/* At rest to a watt. In gaps of the suite, whose first millisecond draws more, part of that is attributed to
 * the kernels before: 5 %. The ring's noise is 4 W; from hundreds of readings it is found to 13 %. */
static void test_idle_states_are_learnt_near_the_hidden_truth(void **state)
{
    (void)state;
    for (int seed = 1; seed <= proof_seeds(3); seed++) {
        gap_sum truth[GAPS];
        jm_learnt learnt = learn(seed);
        sum_gaps(truth);
        double rest_w = truth[JM_IDLE_LONG].energy_j / truth[JM_IDLE_LONG].seconds;
        double gap_w = truth[JM_IDLE_20_MS].energy_j / truth[JM_IDLE_20_MS].seconds;
        print_message("rest %.1f +-%.1f (%.1f) W, gaps %.1f +-%.1f (%.1f) W, noise %.2f W\n", learnt.idle_w,
                      learnt.idle_u_w, rest_w, learnt.gap_w, learnt.gap_u_w, gap_w, learnt.noise_w);
        assert_true(fabs(learnt.idle_w - rest_w) < 1 && learnt.idle_u_w < 1);
        assert_true(fabs(learnt.gap_w / gap_w - 1) < 0.05 && learnt.gap_u_w < 0.05 * gap_w);
        assert_true(fabs(learnt.gap_w - gap_w) < 3 * learnt.gap_u_w);
        assert_true(fabs(learnt.noise_w / 4 - 1) < 0.13);
    }
}

/* ---- used */

typedef struct tally {
    double square, width;
    int inside, runs;
} tally;

static void compare(tally *t, const char *model, double truth_j)
{
    jm_report *report = report_of(model, JM_BY_KERNEL);
    const jm_row *row = idle_row(report);
    t->runs++;
    t->square += (pow(row->energy_j / truth_j - 1, 2) - t->square) / t->runs;
    t->width += ((row->energy_high_j - row->energy_low_j) / truth_j - t->width) / t->runs;
    t->inside += row->energy_low_j <= truth_j && truth_j <= row->energy_high_j;
    jm_report_free(report);
}

/* A program without counters that waits 6 ms, a third of the time, after each round of kernels in the same
 * order: the sensor sees their mixture. The errors of 12 runs are 6 % without a model (root mean square) and
 * 4 % with the model of another run of the board; the test requires an improvement of a fifth. */
static void test_a_run_that_waits_is_marked_better_with_a_model(void **state)
{
    (void)state;
    const int runs = proof_some(12, 3);
    tally without = {0}, with = {0};
    if (seed_of_model != 1) (void)learn(1);
    for (int seed = 21; seed < 21 + runs; seed++) {
        gap_sum gaps[GAPS];
        double truth_j = 0;
        simulate(seed, "--seconds 10 --round-gap-us 6000", "run.joulemap");
        sum_gaps(gaps);
        for (int s = 0; s < GAPS; s++)
            truth_j += gaps[s].energy_j;
        compare(&without, JM_MODEL_NONE, truth_j);
        compare(&with, path_of("model.json"), truth_j);
    }
    print_message(
        "idle energy: %.1f %% off without, %.1f %% with a model; intervals %.1f and %.1f %% wide; %d "
        "and %d of %d hold\n",
        100 * sqrt(without.square), 100 * sqrt(with.square), 100 * without.width, 100 * with.width,
        without.inside, with.inside, runs);
    assert_true(sqrt(with.square) < 0.8 * sqrt(without.square));
    assert_true(with.width < 0.95 * without.width);
    assert_true(with.inside >= runs - 1); /* 95 %: of 12, fewer than 11 once in 8 tries */
}

/* ---- found */

/* Work and gaps of 5 ms, alternating: a sensor that averages over 13 ms sees one mixture. */
static synthetic *waiting_run(void)
{
    synthetic *s = syn_create(5, 1, 4000);
    int64_t kernel = syn_class(s, "work", 1, 500);
    for (int64_t ms = 0; ms < 3000; ms += 10)
        syn_kernel(s, kernel, 0, 0, ms * JM_NS_PER_MS, (ms + 5) * JM_NS_PER_MS);
    syn_measure(s, 0, 0, 3 * JM_NS_PER_S);
    syn_finish(s);
    return s;
}

static double idle_of_synthetic_j(const synthetic *s, const char *model)
{
    jm_report *report = NULL;
    jm_error err = {0};
    const jm_report_options options = {.size = sizeof options, .by = JM_BY_KERNEL, .model = model};
    if (jm__report_from_dataset(&report, &s->dataset, &options, &err) != JM_OK) fail_msg("%s", err.text);
    figures_kept(__BASE_FILE__, report);
    double energy_j = idle_row(report)->energy_j;
    jm_report_free(report);
    return energy_j;
}

/* Between two spans of the host the board may do anything. */
static void test_without_kernels_nobody_knows_what_a_gap_is(void **state)
{
    (void)state;
    jm_error err = {0};
    jm__board_model model = model_of(160, 1, 160, 1);
    synthetic *s = waiting_run();
    assert_int_equal(jm__model_write(&model, path_of("own.json"), &err), JM_OK);
    assert_true(idle_of_synthetic_j(s, path_of("own.json")) > 1.05 * idle_of_synthetic_j(s, JM_MODEL_NONE));
    for (size_t i = 0; i < s->kernels.count; i++)
        syn_span(s, JM_SPAN_FORWARD, "work", "work", 0, s->kernels.items[i].start_ns,
                 s->kernels.items[i].end_ns, 100);
    s->kernels.count = 0;
    assert_true(idle_of_synthetic_j(s, path_of("own.json")) == idle_of_synthetic_j(s, JM_MODEL_NONE));
    jm__model_free(&model);
    syn_free(s);
}

/* Stored by the board's UUID, used without counters; not for another board. */
static void test_a_boards_own_model_tells_its_gaps_without_counters(void **state)
{
    (void)state;
    char own[256];
    jm_error err = {0};
    synthetic *s = waiting_run();
    jm__board_model model = model_of(160, 1, 0, 0);
    double before_j = idle_of_synthetic_j(s, NULL);
    assert_true(before_j == idle_of_synthetic_j(s, JM_MODEL_NONE));
    assert_int_equal(jm__model_make_folder(own, sizeof own, &s->boards[0], &err), JM_OK);
    assert_int_equal(jm__model_write(&model, own, &err), JM_OK);
    assert_int_equal(jm__model_write(&model, path_of("same.json"), &err), JM_OK);
    double after_j = idle_of_synthetic_j(s, NULL);
    assert_true(after_j > 1.05 * before_j);
    assert_true(after_j == idle_of_synthetic_j(s, path_of("same.json")));
    assert_true(before_j == idle_of_synthetic_j(s, JM_MODEL_NONE));
    snprintf(s->boards[0].uuid, sizeof s->boards[0].uuid, "GPU-9");
    assert_true(before_j == idle_of_synthetic_j(s, NULL));
    jm__model_free(&model);
    syn_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_states_are_as_sure_as_the_model_and_what_another_run_has_otherwise),
        cmocka_unit_test(test_idle_states_are_learnt_near_the_hidden_truth),
        cmocka_unit_test(test_a_run_that_waits_is_marked_better_with_a_model),
        cmocka_unit_test(test_without_kernels_nobody_knows_what_a_gap_is),
        cmocka_unit_test(test_a_boards_own_model_tells_its_gaps_without_counters),
    };
    return cmocka_run_group_tests(tests, simulated_set_up, simulated_tear_down);
}
