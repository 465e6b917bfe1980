/* Of many pairs of runs whose truth is known: how often a diff sees a change where there is none, and how
 * often it finds a layer that got dearer.
 *
 * JOULEMAP_TEST_PAIRS: how many pairs of each (in the proof 50 and 100 without it, else few). */
#include "proof.h"
#include "synthetic_report.h"

#include <joulemap/diff.h>

enum { STEPS = 60, LAYERS = 6, DEARER = 2, GAP_NS = 2 * JM_NS_PER_MS };

static int pairs(int usual)
{
    const char *text = getenv("JOULEMAP_TEST_PAIRS");
    return text != NULL ? atoi(text) : proof_some(usual, 2);
}

/* A program of a run: what it takes is the same for each seed; the order of its layers and the sensor's noise
 * are not. */
typedef struct program {
    const char *prefix; /* of the layers' paths */
    double dearer;      /* the power of one layer, times this */
    double
        scatter; /* of each layer's power from run to run, and as much of all together; standard, relative */
    int steps;
    uint32_t samples; /* of a step */
    const char *uuid; /* of the GPU; NULL: as usual */
} program;

static const program usual = {.prefix = "", .dearer = 1, .steps = STEPS};

static void shuffle(synthetic *s, int order[LAYERS])
{
    for (int i = 0; i < LAYERS; i++)
        order[i] = i;
    for (int i = LAYERS - 1; i > 0; i--) {
        int j = (int)(syn_uniform(s) * (i + 1)), kept = order[i];
        order[i] = order[j];
        order[j] = kept;
    }
}

static int64_t run_step(synthetic *s, const program *p, int64_t first_class, int64_t now_ns)
{
    int order[LAYERS];
    int64_t step = syn_span(s, JM_SPAN_STEP, "step", "", 0, now_ns, now_ns, 100);
    s->spans[step - 1].samples = p->samples;
    shuffle(s, order);
    for (int i = 0; i < LAYERS; i++) {
        char path[48];
        snprintf(path, sizeof path, "%sblocks.%d", p->prefix, order[i]);
        int64_t end_ns = now_ns + (10 + 5 * order[i]) * JM_NS_PER_MS;
        int64_t layer = syn_span(s, JM_SPAN_FORWARD, path, "Block", step, now_ns, end_ns, 100);
        syn_kernel(s, first_class + order[i], 0, layer, now_ns, end_ns);
        now_ns = end_ns + GAP_NS;
    }
    s->spans[step - 1].end_ns = now_ns;
    return now_ns;
}

static synthetic *play(uint64_t seed, const program *p)
{
    synthetic *s = syn_create(seed, 1, 40000);
    if (p->uuid != NULL) snprintf(s->boards[0].uuid, sizeof s->boards[0].uuid, "%s", p->uuid);
    s->sensors[0].gain_u = s->sensors[1].gain_u = 0.029;
    double all = p->scatter > 0 ? 1 + p->scatter * syn_normal(s) : 1;
    for (int i = 0; i < LAYERS; i++) {
        char name[16];
        double own = p->scatter > 0 ? 1 + p->scatter * syn_normal(s) : 1;
        snprintf(name, sizeof name, "kernel_%d", i);
        syn_class(s, name, 8, (300 + 60 * i) * all * own * (i == DEARER ? p->dearer : 1));
    }
    int64_t now_ns = 500 * JM_NS_PER_MS;
    for (int i = 0; i < p->steps; i++)
        now_ns = run_step(s, p, 1, now_ns);
    syn_measure(s, 0, 0, now_ns + 500 * JM_NS_PER_MS);
    syn_finish(s);
    return s;
}

enum { A_SIDE = 3 };

typedef struct compared {
    synthetic *runs[2 * A_SIDE]; /* of A, then of B */
    jm_report *reports[2 * A_SIDE];
    int count;
    jm_diff *diff;
} compared;

/* So many runs of each. */
static compared compare_runs(uint64_t seed, const program *a, const program *b, int a_side, jm_per per)
{
    jm_error err = {0};
    const jm_diff_options options = {.size = sizeof options, .per = per};
    compared c = {.count = 2 * a_side};
    for (int r = 0; r < c.count; r++) {
        c.runs[r] = play((uint64_t)c.count * seed + (uint64_t)r, r < a_side ? a : b);
        c.reports[r] = syn_report(c.runs[r], (jm_report_options){.by = JM_BY_LAYER});
    }
    const jm_report *const *reports = (const jm_report *const *)c.reports;
    const jm_diff_side sides[2] = {{reports, NULL, (size_t)a_side}, {reports + a_side, NULL, (size_t)a_side}};
    if (jm_diff_create_many(&c.diff, &sides[0], &sides[1], &options, &err) != JM_OK) fail_msg("%s", err.text);
    return c;
}

static compared compare(uint64_t seed, const program *a, const program *b, jm_per per)
{
    return compare_runs(seed, a, b, 1, per);
}

static void leave(compared *c)
{
    jm_diff_free(c->diff);
    for (int r = 0; r < c->count; r++) {
        jm_report_free(c->reports[r]);
        syn_free(c->runs[r]);
    }
}

static const jm_diff_row *row_of(const jm_diff *diff, const char *path)
{
    for (size_t i = 0; i < jm_diff_row_count(diff); i++)
        if (strcmp(jm_diff_row_get(diff, i)->path, path) == 0) return jm_diff_row_get(diff, i);
    fail_msg("no row %s", path);
    return NULL;
}

static bool is_change(const jm_diff_row *row)
{
    return row->verdict == JM_CHANGE_LESS || row->verdict == JM_CHANGE_MORE;
}

typedef struct tally {
    int rows, changed, totals;
} tally;

static tally count_changes(const program *p, int a_side, int count)
{
    tally all = {0};
    for (int i = 1; i <= count; i++) {
        compared c = compare_runs((uint64_t)i, p, p, a_side, JM_PER_FITTING);
        assert_int_equal(jm_diff_per(c.diff), JM_PER_STEP);
        for (size_t k = 0; k < jm_diff_row_count(c.diff); k++) {
            const jm_diff_row *row = jm_diff_row_get(c.diff, k);
            assert_true(row->verdict <= JM_CHANGE_NOT_SEEN);
            if (strcmp(row->kind, "unresolved") == 0) { /* what rounding leaves: no figure of its own */
                assert_false(is_change(row));
                continue;
            }
            all.rows++;
            all.changed += is_change(row);
        }
        all.totals += is_change(jm_diff_total(c.diff));
        leave(&c);
    }
    return all;
}

/* Each interval of 95 % may be left by 1 in 20. Rows of one pair err together, so the pairs are what chance
 * is reckoned with: 2 standard deviations of it. */
static void assert_one_in_20(const tally *all, int count, const char *what)
{
    double most = 0.05 + 2 * sqrt(0.05 * 0.95 / count);
    print_message("%s, %d pairs: %d of %d rows changed (%.1f %%), %d totals; at most %.1f %%\n", what, count,
                  all->changed, all->rows, 100.0 * all->changed / all->rows, all->totals, 100 * most);
    assert_true(all->rows >= count * (LAYERS + 1));
    assert_true(all->changed <= most * all->rows);
    assert_true(all->totals <= most * count);
}

static void test_a_change_is_seen_in_at_most_one_of_20_rows_of_equal_runs(void **state)
{
    (void)state;
    int count = pairs(50);
    tally all = count_changes(&usual, 1, count);
    assert_one_in_20(&all, count, "equal runs");
}

/* One run a side cannot know what changes from run to run, and takes it for a change. */
static void test_several_runs_tell_what_scatters_from_what_changed(void **state)
{
    (void)state;
    int count = pairs(50);
    program scattered = usual;
    scattered.scatter = 0.02;
    tally one = count_changes(&scattered, 1, count), three = count_changes(&scattered, A_SIDE, count);
    print_message("runs that scatter by 2 %%, one a side: %.1f %% of rows changed\n",
                  100.0 * one.changed / one.rows);
    assert_one_in_20(&three, count, "runs that scatter by 2 %, 3 a side");
    assert_true(one.changed > three.changed);
}

static void test_a_layer_of_a_tenth_more_is_found(void **state)
{
    (void)state;
    program dearer = usual;
    dearer.dearer = 1.1;
    char path[16];
    snprintf(path, sizeof path, "blocks.%d", DEARER);
    int found = 0, held = 0, count = pairs(100);
    for (int i = 1; i <= count; i++) {
        compared c = compare(1000 + (uint64_t)i, &usual, &dearer, JM_PER_STEP);
        const jm_diff_row *row = row_of(c.diff, path);
        found += row->verdict == JM_CHANGE_MORE;
        held += row->change_low <= 0.1 && row->change_high >= 0.1;
        leave(&c);
    }
    print_message("10 %% dearer, %d pairs: found in %d; its interval holds 10 %% in %d\n", count, found,
                  held);
    assert_true(found >= 0.95 * count);
    assert_true(held >= (0.95 - 2 * sqrt(0.05 * 0.95 / count)) * count);
}

/* Its own 1 % and that of all together: 1.4 %, of which Student's interval of 3 and 3 runs makes 4.9 %. */
static void test_a_layer_of_a_tenth_more_is_found_among_runs_that_scatter(void **state)
{
    (void)state;
    program scattered = usual, dearer;
    scattered.scatter = 0.01;
    dearer = scattered;
    dearer.dearer = 1.1;
    char path[16];
    snprintf(path, sizeof path, "blocks.%d", DEARER);
    int found = 0, held = 0, count = pairs(100);
    for (int i = 1; i <= count; i++) {
        compared c = compare_runs(5000 + (uint64_t)i, &scattered, &dearer, A_SIDE, JM_PER_STEP);
        const jm_diff_row *row = row_of(c.diff, path);
        found += row->verdict == JM_CHANGE_MORE;
        held += row->change_low <= 0.1 && row->change_high >= 0.1;
        leave(&c);
    }
    print_message("10 %% dearer, runs that scatter by 1 %%, 3 a side, %d pairs: found in %d; its interval "
                  "holds 10 %% in "
                  "%d\n",
                  count, found, held);
    assert_true(found >= 0.95 * count);
    assert_true(held >= (0.95 - 2 * sqrt(0.05 * 0.95 / count)) * count);
}

static void test_a_run_beside_itself_has_no_change(void **state)
{
    (void)state;
    jm_error err = {0};
    jm_diff *diff;
    synthetic *s = play(7, &usual);
    jm_report *report = syn_report(s, (jm_report_options){.by = JM_BY_LAYER});
    assert_int_equal(jm_diff_create(&diff, report, report, NULL, &err), JM_OK);
    assert_true(jm_diff_row_count(diff) >= LAYERS + 1);
    for (size_t i = 0; i < jm_diff_row_count(diff); i++) {
        assert_int_equal(jm_diff_row_get(diff, i)->verdict, JM_CHANGE_NOT_SEEN);
        assert_false(fabs(jm_diff_row_get(diff, i)->change) > 0);
    }
    assert_true(jm_diff_total(diff)->change == 0 && jm_diff_gain_u(diff) == 0);
    jm_diff_free(diff);
    jm_report_free(report);
    syn_free(s);
}

/* Twice the steps of half the samples each: the same joules a step, twice as many a sample and a run. */
static void test_joules_are_divided_by_what_is_queried_for(void **state)
{
    (void)state;
    program a = usual, b = usual;
    a.steps = 20;
    b.steps = 40;
    a.samples = 32;
    b.samples = 16;
    static const struct {
        jm_per per;
        double change;
    } units[] = {{JM_PER_STEP, 0}, {JM_PER_SAMPLE, 1}, {JM_PER_RUN, 1}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        compared c = compare(50, &a, &b, units[i].per);
        const jm_diff_row *row = row_of(c.diff, "blocks.5");
        assert_true(fabs(row->change - units[i].change) < 0.05);
        assert_true(row->change_low < units[i].change && row->change_high > units[i].change);
        double truth_j = syn_energy_j(c.runs[0], 6, 0, INT64_MAX) / (units[i].per == JM_PER_STEP     ? 20
                                                                     : units[i].per == JM_PER_SAMPLE ? 20 * 32
                                                                                                     : 1);
        assert_true(fabs(row->a_j / truth_j - 1) < 0.05);
        leave(&c);
    }
}

static void test_a_run_without_samples_or_steps_says_what_to_do(void **state)
{
    (void)state;
    jm_error err = {0};
    jm_diff *diff = NULL;
    program stepless = usual;
    stepless.steps = 0;
    synthetic *runs[] = {play(1, &usual), play(2, &stepless)};
    jm_report *reports[2];
    for (int r = 0; r < 2; r++)
        reports[r] = syn_report(runs[r], (jm_report_options){.by = JM_BY_LAYER});
    jm_diff_options options = {.size = sizeof options, .per = JM_PER_SAMPLE, .name_a = "base"};
    assert_int_equal(jm_diff_create(&diff, reports[0], reports[1], &options, &err), JM_USAGE);
    assert_string_equal(err.text, "base has no samples of steps: its joules a sample are not known");
    assert_non_null(strstr(err.hint, "run.step(samples=N)"));
    options.per = JM_PER_STEP;
    assert_int_equal(jm_diff_create(&diff, reports[0], reports[1], &options, &err), JM_USAGE);
    assert_string_equal(err.text, "B has no steps: its joules a step are not known");
    assert_null(diff);
    options.per = JM_PER_FITTING;
    assert_int_equal(jm_diff_create(&diff, reports[0], reports[1], &options, &err), JM_OK);
    assert_int_equal(jm_diff_per(diff), JM_PER_RUN);
    jm_diff_free(diff);
    for (int r = 0; r < 2; r++) {
        jm_report_free(reports[r]);
        syn_free(runs[r]);
    }
}

static void test_a_wrapped_model_is_the_same_model(void **state)
{
    (void)state;
    program wrapped = usual, compiled = usual;
    wrapped.prefix = "module.";
    compiled.prefix = "_orig_mod.module.";
    const program *others[] = {&wrapped, &compiled};
    for (int i = 0; i < 2; i++) {
        compared c = compare(60, &usual, others[i], JM_PER_STEP);
        for (size_t k = 0; k < jm_diff_row_count(c.diff); k++)
            assert_true(jm_diff_row_get(c.diff, k)->verdict < JM_CHANGE_ONLY_IN_A);
        assert_int_equal(row_of(c.diff, "blocks")->depth, 0);
        assert_int_equal(row_of(c.diff, "blocks.0")->depth, 1);
        leave(&c);
        c = compare(60, others[i], &usual, JM_PER_STEP); /* the wrapped one's tree, without the wrapper */
        for (size_t k = 0; k < jm_diff_row_count(c.diff); k++) {
            assert_true(jm_diff_row_get(c.diff, k)->verdict < JM_CHANGE_ONLY_IN_A);
            assert_true(jm_diff_row_get(c.diff, k)->depth <= 1);
        }
        leave(&c);
    }
}

/* 1.96 x 2.9 % of each of two GPUs, in quadrature: 8.0 %. */
static void test_the_gains_of_two_gpus_are_in_the_change(void **state)
{
    (void)state;
    program another = usual;
    another.uuid = "GPU-another";
    double gain = 1.96 * 0.029 * sqrt(2), half[2];
    compared c = compare(70, &usual, &usual, JM_PER_STEP);
    assert_int_equal(jm_diff_sameness(c.diff), JM_SAMENESS_SAME);
    half[0] = (jm_diff_total(c.diff)->change_high - jm_diff_total(c.diff)->change_low) / 2;
    leave(&c);
    c = compare(70, &usual, &another, JM_PER_STEP);
    assert_int_equal(jm_diff_sameness(c.diff), JM_SAMENESS_DIFFERENT);
    assert_true(fabs(jm_diff_gain_u(c.diff) - 0.029 * sqrt(2)) < 1e-12);
    half[1] = (jm_diff_total(c.diff)->change_high - jm_diff_total(c.diff)->change_low) / 2;
    assert_true(half[0] < 0.03 && fabs(half[1] - hypot(half[0], gain)) < 0.003);
    const jm_diff_row *row = row_of(c.diff, "blocks.5");
    assert_true(row->change_high - row->change_low > 2 * gain);
    leave(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_change_is_seen_in_at_most_one_of_20_rows_of_equal_runs),
        cmocka_unit_test(test_several_runs_tell_what_scatters_from_what_changed),
        cmocka_unit_test(test_a_layer_of_a_tenth_more_is_found),
        cmocka_unit_test(test_a_layer_of_a_tenth_more_is_found_among_runs_that_scatter),
        cmocka_unit_test(test_a_run_beside_itself_has_no_change),
        cmocka_unit_test(test_joules_are_divided_by_what_is_queried_for),
        cmocka_unit_test(test_a_run_without_samples_or_steps_says_what_to_do),
        cmocka_unit_test(test_a_wrapped_model_is_the_same_model),
        cmocka_unit_test(test_the_gains_of_two_gpus_are_in_the_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
