/* Untraced steps have the energy of traced ones of their kind. */
#include "duty.h"
#include "proof.h"

static const char *const layers[DUTY_CYCLE_LAYERS] = {"attn", "mlp", "head"};

/* Steps of 60 ms, a fifth of it gaps, 8 of them traced one after the other: half a second. */
static duty_cycle_options usual(uint64_t seed, int one_in)
{
    return (duty_cycle_options){.seed = seed,
                                .run_s = one_in > 20 ? 300 : 120,
                                .one_in = one_in,
                                .burst_steps = 8,
                                .slower = 2,
                                .gap_us = 2000,
                                .kernel_ms = 4,
                                .step_u = 0.05};
}

static jm_report *report_of(const duty_cycle *d, jm_by by)
{
    return syn_report(d->s, (jm_report_options){.by = by});
}

static bool says(const jm_report *report, const char *words)
{
    for (size_t i = 0; i < jm_report_note_count(report); i++)
        if (strstr(jm_report_note(report, i), words) != NULL) return true;
    return false;
}

static void assert_near(double value, double truth, double relative)
{
    if (!(fabs(value - truth) <= relative * fabs(truth)))
        fail_msg("%g is not within %g of %g", value, relative, truth);
}

/* All rows are the total. */
static void assert_adds_up(const jm_report *report)
{
    assert_near(duty_cycle_sum_j(report), jm_report_totals_get(report)->total_energy_j, 1e-9);
}

/* What rows got, over many runs. */
typedef struct score {
    int rows, held;
    double square;   /* of relative errors */
    double furthest; /* from the truth, in half widths */
} score;

static void mark_row(score *s, const jm_row *row, double truth_j)
{
    assert_non_null(row);
    s->rows++;
    s->held += row->energy_low_j <= truth_j && truth_j <= row->energy_high_j;
    s->square += pow(row->energy_j / truth_j - 1, 2);
    s->furthest =
        fmax(s->furthest, 2 * fabs(row->energy_j - truth_j) / (row->energy_high_j - row->energy_low_j));
}

static double error_of(const score *s)
{
    return sqrt(s->square / s->rows);
}

/* 33 of 40 95 % intervals or fewer contain the truth once in 300 tries; of one seed none may be four half
 * widths off. */
enum { SEEDS = 40, HELD = 34 };

static void assert_holds(const score *s)
{
    assert_true(proof_runs() ? s->held >= HELD : s->furthest < 4);
}

static void assert_all_hold(int held, int rows)
{
    assert_true(held >= (proof_runs() ? 0.92 * rows : proof_least(rows, 0.95)));
}

/* Not more than `most` of many seeds; so much of a single one, whose error is a draw. */
static void assert_off_at_most(const score *s, double most)
{
    assert_true(error_of(s) < most * (proof_runs() ? 1 : proof_rms(1)));
}

/* Layers of a run, idle time of the program, and idle time caused by tracing. */
static void score_runs(duty_cycle_options of, score scores[DUTY_CYCLE_LAYERS + 2])
{
    for (uint64_t seed = 1; seed <= (uint64_t)proof_seeds(SEEDS); seed++) {
        of.seed = seed;
        duty_cycle *d = duty_cycle_create(of);
        jm_report *report = report_of(d, JM_BY_LAYER);
        double work_j = 0;
        assert_adds_up(report);
        assert_string_equal(jm_report_totals_get(report)->total_source, "energy_counter");
        assert_near(jm_report_totals_get(report)->total_energy_j, d->all_j, 0.001);
        for (int l = 0; l < DUTY_CYCLE_LAYERS; l++) {
            const jm_row *row = duty_cycle_row(report, layers[l], "layer");
            mark_row(&scores[l], row, d->layer_j[l]);
            assert_int_equal(row->calls, jm_report_totals_get(report)->steps);
            work_j += d->layer_j[l];
        }
        mark_row(&scores[DUTY_CYCLE_LAYERS], duty_cycle_row(report, "(idle)", "idle"), d->all_j - work_j);
        if (of.one_in > 1)
            mark_row(&scores[DUTY_CYCLE_LAYERS + 1], duty_cycle_row(report, "(idle)/made by tracing", "gap"),
                     d->s->idle_w * d->tracing_s);
        assert_int_equal(jm_report_totals_get(report)->steps, d->steps);
        jm_report_free(report);
        duty_cycle_free(d);
    }
}

/* The error of a full trace of the same program shows which part is due to the fit. */
static void test_layers_of_one_step_in_many_are_those_of_all(void **state)
{
    (void)state;
    static const int one_in[] = {1, 6, 12, 50};
    int held = 0, rows = 0;
    for (size_t i = 0; i < sizeof one_in / sizeof *one_in; i++) {
        score scores[DUTY_CYCLE_LAYERS + 2] = {{0}};
        score_runs(usual(0, one_in[i]), scores);
        for (int row = 0; row < DUTY_CYCLE_LAYERS + (one_in[i] > 1 ? 2 : 0); row++) {
            print_message("one in %d, row %d: %.2f %%, %d of %d\n", one_in[i], row,
                          100 * error_of(&scores[row]), scores[row].held, scores[row].rows);
            assert_holds(&scores[row]);
            held += scores[row].held;
            rows += scores[row].rows;
            if (row < DUTY_CYCLE_LAYERS) assert_off_at_most(&scores[row], 0.02);
        }
    }
    assert_all_hold(held, rows);
}

/* The energy counter includes it, and all work of those steps shares it (else errors of 1.5 to 6 %). */
static void test_steps_that_nobody_traces_draw_more_or_less(void **state)
{
    (void)state;
    static const double apart[] = {-0.04, -0.02, 0.02, 0.04};
    for (size_t i = 0; i < sizeof apart / sizeof *apart; i++) {
        duty_cycle_options of = usual(0, 25);
        of.run_s = 60;
        of.apart = apart[i];
        score scores[DUTY_CYCLE_LAYERS + 2] = {{0}};
        score_runs(of, scores);
        for (int l = 0; l < DUTY_CYCLE_LAYERS; l++) {
            print_message("%+.0f %%, layer %d: %.2f %%, %d of %d\n", 100 * apart[i], l,
                          100 * error_of(&scores[l]), scores[l].held, scores[l].rows);
            assert_holds(&scores[l]);
            assert_off_at_most(&scores[l], 0.03);
        }
    }
}

/* Fully traced steps have their own energy, whatever untraced ones draw. */
static void test_work_that_was_traced_in_full_is_not_moved_by_what_was_not(void **state)
{
    (void)state;
    static const double apart[] = {-0.04, 0.04};
    for (size_t i = 0; i < sizeof apart / sizeof *apart; i++) {
        double off[DUTY_CYCLE_LAYERS] = {0};
        int held = 0;
        const int runs = proof_seeds(10);
        const double draw = runs > 1 ? 1 : proof_rms(1);
        for (uint64_t seed = 1; seed <= (uint64_t)runs; seed++) {
            duty_cycle_options of = usual(seed, 25);
            of.run_s = 60;
            of.apart = apart[i];
            of.traced_eval = true;
            duty_cycle *d = duty_cycle_create(of);
            jm_report *report = report_of(d, JM_BY_LAYER);
            for (int l = 0; l < DUTY_CYCLE_LAYERS; l++) {
                const jm_row *row = duty_cycle_row(report, layers[l], "layer");
                off[l] += pow(row->energy_j / d->layer_j[l] - 1, 2) / runs;
                held += row->energy_low_j <= d->layer_j[l] && d->layer_j[l] <= row->energy_high_j;
            }
            jm_report_free(report);
            duty_cycle_free(d);
        }
        print_message("%+.0f %%: %.2f, %.2f, %.2f %%, %d of %d\n", 100 * apart[i], 100 * sqrt(off[0]),
                      100 * sqrt(off[1]), 100 * sqrt(off[2]), held, DUTY_CYCLE_LAYERS * runs);
        assert_true(sqrt(off[0]) < 0.01 * draw && sqrt(off[1]) < 0.02 * draw && sqrt(off[2]) < 0.02 * draw);
        assert_true(held > 0.8 * DUTY_CYCLE_LAYERS * runs ||
                    (runs == 1 && held >= proof_least(DUTY_CYCLE_LAYERS, 0.95)));
    }
}

/* Then most of a layer's error is the choice of its traced steps. */
static void test_intervals_hold_where_steps_differ(void **state)
{
    (void)state;
    duty_cycle_options of = usual(0, 25);
    of.run_s = 240;
    of.step_u = 0.15;
    of.wanders = 0.15;
    score scores[DUTY_CYCLE_LAYERS + 2] = {{0}};
    double square = 0;
    score_runs(of, scores);
    for (int l = 0; l < DUTY_CYCLE_LAYERS; l++) {
        print_message("layer %d: %.2f %%, %d of %d\n", l, 100 * error_of(&scores[l]), scores[l].held,
                      scores[l].rows);
        assert_holds(&scores[l]);
        if (proof_runs()) assert_true(error_of(&scores[l]) > 0.02); /* else the test would be empty */
        square += scores[l].square / scores[l].rows;
    }
    assert_true(sqrt(square / DUTY_CYCLE_LAYERS) > 0.01);
}

static void test_what_grows_is_marked_by_the_bursts_around_it(void **state)
{
    (void)state;
    duty_cycle_options of = usual(3, 12);
    of.grows = 3;
    duty_cycle *d = duty_cycle_create(of);
    jm_report *report = report_of(d, JM_BY_LAYER);
    assert_adds_up(report);
    for (int l = 0; l < DUTY_CYCLE_LAYERS; l++)
        assert_near(duty_cycle_row(report, layers[l], "layer")->energy_j, d->layer_j[l], 0.02);
    jm_report_free(report);
    duty_cycle_free(d);
}

/* As a budget for tracing does it: the first steps are traced, and take longer. */
static void test_a_warm_up_strata_for_nothing_but_itself(void **state)
{
    (void)state;
    duty_cycle_options of = usual(18, 25);
    of.run_s = 60;
    of.opening = 30;
    duty_cycle *d = duty_cycle_create(of);
    jm_report *report = report_of(d, JM_BY_LAYER);
    assert_adds_up(report);
    for (int l = 0; l < DUTY_CYCLE_LAYERS; l++) {
        /* Steps 6 to 115 would have twice as much of it: 8 % of the whole. */
        assert_near(duty_cycle_row(report, layers[l], "layer")->busy_s, d->layer_j[l] / duty_cycle_w[l],
                    0.02);
        assert_int_equal(duty_cycle_row(report, layers[l], "layer")->calls, d->steps);
    }
    jm_report_free(report);
    duty_cycle_free(d);
}

/* Kernels leave no gaps between them, and were a fifth shorter while untraced. */
static void test_work_takes_no_more_time_than_its_steps_did(void **state)
{
    (void)state;
    duty_cycle_options of = usual(20, 12);
    of.gap_us = 0;
    of.quicker = 0.2;
    duty_cycle *d = duty_cycle_create(of);
    jm_report *report = report_of(d, JM_BY_LAYER);
    assert_adds_up(report);
    for (int l = 0; l < DUTY_CYCLE_LAYERS; l++) {
        assert_near(duty_cycle_row(report, layers[l], "layer")->busy_s, d->layer_j[l] / duty_cycle_w[l],
                    0.02);
        assert_near(duty_cycle_row(report, layers[l], "layer")->energy_j, d->layer_j[l], 0.02);
    }
    jm_report_free(report);
    duty_cycle_free(d);
}

static void test_steps_of_other_phases_are_marked_by_their_own(void **state)
{
    (void)state;
    duty_cycle_options of = usual(4, 6);
    of.eval = true;
    duty_cycle *d = duty_cycle_create(of);
    jm_report *report = report_of(d, JM_BY_LAYER);
    assert_adds_up(report);
    for (int l = 0; l < DUTY_CYCLE_LAYERS; l++)
        assert_near(duty_cycle_row(report, layers[l], "layer")->energy_j, d->layer_j[l], 0.02);
    assert_int_equal(duty_cycle_row(report, layers[2], "layer")->calls, d->steps - d->eval_steps);
    jm_report_free(report);
    report = report_of(d, JM_BY_PHASE);
    assert_adds_up(report);
    const jm_row *row = duty_cycle_row(report, "eval/step/forward", "forward");
    assert_near(row->energy_j, d->eval_j[0] + d->eval_j[1], 0.03);
    assert_int_equal(row->calls, 2 * d->eval_steps);
    assert_int_equal(duty_cycle_row(report, "eval/step", "step")->calls, d->eval_steps);
    assert_int_equal(duty_cycle_row(report, "eval", "phase")->provenance, JM_PROVENANCE_MEASURED);
    assert_int_equal(duty_cycle_row(report, "eval", "phase")->calls, (d->eval_steps + 19) / 20);
    assert_int_equal(duty_cycle_row(report, "train", "phase")->calls, (d->steps + 19) / 200 + 1);
    jm_report_free(report);
    report = syn_report(d->s, (jm_report_options){.by = JM_BY_LAYER, .phase = "eval"});
    assert_adds_up(report);
    assert_near(duty_cycle_row(report, layers[0], "layer")->energy_j, d->eval_j[0], 0.03);
    assert_null(duty_cycle_row(report, layers[2], "layer"));
    jm_report_free(report);
    duty_cycle_free(d);
}

/* The evaluation, all of which is in this row, was not traced. */
static void check_untraced_eval(const jm_report *report, const char *path, const duty_cycle *d)
{
    const jm_row *row = duty_cycle_row(report, path, "forward");
    assert_adds_up(report);
    assert_non_null(row);
    assert_near(row->energy_j, d->eval_j[0] + d->eval_j[1] + d->eval_j[2], 0.03);
    assert_int_equal(row->calls, DUTY_CYCLE_LAYERS * d->eval_steps);
}

/* None of its steps was traced, but equal steps elsewhere were. */
static void test_steps_of_a_phase_that_was_never_traced_are_marked_by_those_of_another(void **state)
{
    (void)state;
    duty_cycle_options of = usual(5, 6);
    of.untraced_eval = true;
    duty_cycle *d = duty_cycle_create(of);
    jm_report *report = report_of(d, JM_BY_PHASE);
    check_untraced_eval(report, "eval/step/forward", d);
    assert_int_equal(jm_report_totals_get(report)->unmatched_steps, 0);
    jm_report_free(report);
    report = syn_report(d->s, (jm_report_options){.by = JM_BY_LAYER, .phase = "eval"});
    assert_adds_up(report);
    for (int l = 0; l < DUTY_CYCLE_LAYERS; l++)
        assert_near(duty_cycle_row(report, layers[l], "layer")->energy_j, d->eval_j[l], 0.03);
    jm_report_free(report);
    duty_cycle_free(d);
}

static void test_phases_without_steps_stand_for_each_other(void **state)
{
    (void)state;
    duty_cycle_options of = usual(19, 6);
    of.bare_eval = true;
    duty_cycle *d = duty_cycle_create(of);
    jm_report *report = report_of(d, JM_BY_PHASE);
    check_untraced_eval(report, "eval/forward", d);
    assert_int_equal(jm_report_totals_get(report)->steps, d->steps);
    assert_int_equal(jm_report_totals_get(report)->traced_steps, d->traced);
    jm_report_free(report);
    duty_cycle_free(d);
}

static void test_ranks_are_traced_each_at_its_own_times(void **state)
{
    (void)state;
    duty_cycle_options of = usual(6, 12);
    of.processes = 2;
    duty_cycle *d = duty_cycle_create(of);
    jm_report *report = report_of(d, JM_BY_LAYER);
    assert_adds_up(report);
    for (int l = 0; l < DUTY_CYCLE_LAYERS; l++) {
        assert_near(duty_cycle_row(report, layers[l], "layer")->energy_j, d->layer_j[l], 0.02);
        assert_int_equal(duty_cycle_row(report, layers[l], "layer")->calls, d->steps);
    }
    assert_near(jm_report_totals_get(report)->tracing_s, d->tracing_s, 0.03);
    jm_report_free(report);
    report = syn_report(d->s, (jm_report_options){.by = JM_BY_LAYER, .process_id = 101});
    assert_adds_up(report);
    assert_near(duty_cycle_row(report, layers[0], "layer")->energy_j, d->layer_j[0] / 2, 0.03);
    assert_near(duty_cycle_row(report, "(other processes)", "outside")->energy_j,
                (d->layer_j[0] + d->layer_j[1] + d->layer_j[2]) / 2, 0.03);
    jm_report_free(report);
    duty_cycle_free(d);
}

/* The GPU runs half a step behind the host: work belongs to the step that launched it. */
static void test_work_goes_by_its_launch(void **state)
{
    (void)state;
    duty_cycle_options of = usual(7, 12);
    of.lag_ns = 30 * JM_NS_PER_MS;
    duty_cycle *d = duty_cycle_create(of);
    jm_report *report = report_of(d, JM_BY_LAYER);
    assert_adds_up(report);
    for (int l = 0; l < DUTY_CYCLE_LAYERS; l++)
        assert_near(duty_cycle_row(report, layers[l], "layer")->energy_j, d->layer_j[l], 0.02);
    jm_report_free(report);
    duty_cycle_free(d);
}

static void test_steps_like_no_traced_one_are_left_out_and_marked(void **state)
{
    (void)state;
    duty_cycle_options of = usual(8, 12);
    of.odd_one_in = 97; /* never in a burst: 97 and the bursts' 96 meet in step 97 * 96 alone */
    duty_cycle *d = duty_cycle_create(of);
    jm_report *report = report_of(d, JM_BY_LAYER);
    const jm_report_totals *totals = jm_report_totals_get(report);
    assert_adds_up(report);
    assert_int_equal(totals->unmatched_steps, d->odd);
    assert_int_equal(totals->steps, d->steps - d->odd);
    assert_true(says(report, "For 20 steps, no step of their kind"));
    assert_near(d->all_j - totals->total_energy_j, (double)d->odd_ns * 1e-9 * d->all_j / 120, 0.2);
    jm_report_free(report);
    duty_cycle_free(d);
}

/* From the middle of an untraced step to the middle of another. */
static void test_a_time_queried_for_cuts_steps(void **state)
{
    (void)state;
    duty_cycle *d = duty_cycle_create(usual(9, 12));
    /* Marks of steps and of traced ones alternate, the first one of steps. */
    int64_t from_ns = d->marks[10].t_ns + 215 * JM_NS_PER_MS, to_ns = d->marks[11].t_ns - 345 * JM_NS_PER_MS;
    double seconds = (double)(to_ns - from_ns) * 1e-9, untraced_s = 120 - d->tracing_s;
    jm_report *report =
        syn_report(d->s, (jm_report_options){.by = JM_BY_LAYER, .from_ns = from_ns, .to_ns = to_ns});
    const jm_report_totals *totals = jm_report_totals_get(report);
    assert_int_equal(totals->traced_steps, 0);
    assert_near(totals->duration_s, seconds, 1e-9);
    assert_near(duty_cycle_sum_j(report), totals->total_energy_j, 1e-9);
    for (int l = 0; l < DUTY_CYCLE_LAYERS; l++)
        assert_near(duty_cycle_row(report, layers[l], "layer")->energy_j,
                    seconds / untraced_s * d->layer_j[l], 0.05);
    assert_null(duty_cycle_row(report, "(idle)/made by tracing", "gap"));
    jm_report_free(report);
    duty_cycle_free(d);
}

static void test_what_tracing_made_is_no_steps(void **state)
{
    (void)state;
    duty_cycle *d = duty_cycle_create(usual(10, 6));
    jm_report *report = report_of(d, JM_BY_LAYER);
    const jm_report_totals *totals = jm_report_totals_get(report);
    assert_int_equal(totals->traced_steps, d->traced);
    assert_near(totals->tracing_slow_down, 0.2, 0.05); /* gaps are a fifth of the time */
    assert_near(totals->tracing_s, d->tracing_s, 0.03);
    assert_near(totals->tracing_energy_j, d->tracing_s * d->s->idle_w, 0.1);
    assert_near(totals->steady_step_j, (d->all_j - d->s->idle_w * (d->tracing_s + 0.1)) / (double)d->steps,
                0.005);
    assert_true(says(report, "of the steps were traced, and represent the others of their kind"));
    char *text;
    assert_int_equal(jm_report_text(report, NULL, &text, NULL), JM_OK);
    assert_non_null(
        strstr(text, " % of the steps; the others are extrapolated from them; tracing made them 2"));
    free(text);
    jm_report_free(report);
    duty_cycle_free(d);
    d = duty_cycle_create(usual(10, 1));
    report = report_of(d, JM_BY_LAYER);
    totals = jm_report_totals_get(report);
    assert_int_equal(totals->traced_steps, -1);
    assert_int_equal(totals->unmatched_steps, -1);
    assert_true(isnan(totals->tracing_s) && isnan(totals->tracing_energy_j) &&
                isnan(totals->tracing_slow_down));
    jm_report_free(report);
    duty_cycle_free(d);
}

/* All boards and kinds of gaps: rests between steps and between kernels, each at its power. */
static void test_the_note_on_tracing_says_what_it_cost_in_time_and_joules(void **state)
{
    (void)state;
    duty_cycle_options options = usual(14, 5);
    options.processes = 2;
    options.between_us = 4000;
    duty_cycle *d = duty_cycle_create(options);
    jm_report *report = report_of(d, JM_BY_LAYER);
    double traced, longer, time, energy_j, run_s = 2e-9 * (double)(d->end_ns - d->begin_ns);
    const char *note = NULL;
    for (size_t i = 0; i < jm_report_note_count(report) && note == NULL; i++)
        if (strstr(jm_report_note(report, i), "of the steps were traced") != NULL)
            note = jm_report_note(report, i);
    assert_non_null(note);
    assert_int_equal(
        sscanf(note,
               "%lf %% of the steps were traced, and represent the others of their kind; a traced "
               "step took %lf %% longer: that cost %lf %% of the time and %lf J.",
               &traced, &longer, &time, &energy_j),
        4);
    assert_near(traced, 100.0 * (double)d->traced / (double)d->steps, 0.05); /* two digits */
    assert_near(time, 100 * d->tracing_s / run_s, 0.08);
    assert_near(energy_j, d->tracing_s * d->s->idle_w, 0.1);
    assert_near(energy_j, jm_report_totals_get(report)->tracing_energy_j, 0.005);
    jm_report_free(report);
    duty_cycle_free(d);
}

/* The same figures in all views. */
static void test_all_views_tell_the_same(void **state)
{
    (void)state;
    duty_cycle *d = duty_cycle_create(usual(11, 12));
    double work_j[JM_BY_COUNT] = {0};
    for (jm_by by = 0; by < JM_BY_COUNT; by++) {
        if (by == JM_BY_BOARD || by == JM_BY_REQUEST) continue;
        jm_report *report = report_of(d, by);
        assert_adds_up(report);
        for (size_t i = 0; i < jm_report_row_count(report); i++) {
            const jm_row *row = jm_report_row(report, i);
            bool idle = strncmp(row->path, "(idle)", 6) == 0 || strstr(row->path, "/(idle)") != NULL;
            if (!idle && strcmp(row->kind, "unresolved") != 0) work_j[by] += row->energy_self_j;
        }
        jm_report_free(report);
        if (by != JM_BY_PHASE) assert_near(work_j[by], work_j[JM_BY_LAYER], 1e-6);
    }
    assert_near(work_j[JM_BY_PHASE], work_j[JM_BY_LAYER], 0.01); /* a measured phase */
    duty_cycle_free(d);
}

/* A batch of requests is extrapolated from traced steps like any other. */
static void test_requests_share_steps_that_were_not_traced(void **state)
{
    (void)state;
    duty_cycle_options of = usual(17, 12);
    of.requests = true;
    duty_cycle *d = duty_cycle_create(of);
    jm_report *report = report_of(d, JM_BY_REQUEST);
    assert_adds_up(report);
    for (int r = 0; r < 2; r++) {
        const jm_row *row = duty_cycle_row(report, r == 0 ? "first" : "second", "request");
        assert_non_null(row);
        assert_near(row->energy_j, d->request_j[r], 0.02);
    }
    assert_near(jm_report_totals_get(report)->tracing_s, d->tracing_s, 0.05);
    assert_near(duty_cycle_row(report, "(idle)/made by tracing", "gap")->busy_s, d->tracing_s, 0.05);
    jm_report_free(report);
    duty_cycle_free(d);
}

/* Single untraced steps are rows with the energy of such a step. */
static void test_each_step_has_its_joules(void **state)
{
    (void)state;
    duty_cycle_options of = usual(12, 12);
    of.run_s = 30;
    duty_cycle *d = duty_cycle_create(of);
    jm_report *report = report_of(d, JM_BY_SPAN);
    double work_j = d->layer_j[0] + d->layer_j[1] + d->layer_j[2], each_j = work_j / (double)d->steps;
    int64_t steps = 0;
    for (size_t i = 0; i < jm_report_row_count(report); i++) {
        const jm_row *row = jm_report_row(report, i);
        if (strcmp(row->kind, "step") != 0) continue;
        steps++;
        assert_near(row->energy_j, each_j, 0.15);
        assert_true(row->energy_high_j - row->energy_low_j < 0.4 * each_j);
    }
    assert_int_equal(steps, d->steps);
    jm_report_free(report);
    duty_cycle_free(d);
}

static double half(const jm_row *row)
{
    return (row->energy_high_j - row->energy_low_j) / 2;
}

/* If powers follow the total, one layer's excess is another's lack: their sum is more certain. And all rows
 * together are as certain as the total. */
static void test_errors_of_rows_go_into_sums(void **state)
{
    (void)state;
    duty_cycle_options of = usual(13, 12);
    of.step_u = 0.2;
    duty_cycle *d = duty_cycle_create(of);
    jm_report *report = report_of(d, JM_BY_LAYER);
    size_t rows = jm_report_row_count(report), all[32], mine[DUTY_CYCLE_LAYERS], count = 0;
    for (size_t i = 0; i < rows && i < 32; i++) {
        all[i] = i;
        for (int l = 0; l < DUTY_CYCLE_LAYERS; l++)
            if (strcmp(jm_report_row(report, i)->path, layers[l]) == 0) mine[count++] = i;
    }
    assert_int_equal(count, DUTY_CYCLE_LAYERS);
    jm_sum sum, one;
    const jm_report_totals *totals = jm_report_totals_get(report);
    assert_int_equal(jm_report_sum(report, all, rows, &sum, NULL), JM_OK);
    assert_near(sum.high_j - sum.low_j, totals->total_high_j - totals->total_low_j, 1e-9);
    double variance = 0, square = 0;
    for (size_t i = 0; i < count; i++) {
        const jm_row *row = jm_report_row(report, mine[i]);
        assert_int_equal(jm_report_sum(report, &mine[i], 1, &one, NULL), JM_OK);
        assert_near(one.high_j - one.low_j, 2 * half(row), 0.02);
        square += pow(half(row), 2);
        for (size_t k = 0; k < count; k++) {
            double covariance_j2;
            assert_int_equal(jm_report_covariance(report, mine[i], mine[k], &covariance_j2, NULL), JM_OK);
            variance += covariance_j2;
        }
    }
    assert_int_equal(jm_report_sum(report, mine, count, &sum, NULL), JM_OK);
    assert_near((sum.high_j - sum.low_j) / 2, 1.96 * sqrt(variance), 0.05);
    assert_true(pow((sum.high_j - sum.low_j) / 2, 2) < 0.5 * square);
    jm_report_free(report);
    duty_cycle_free(d);
}

static void test_a_single_burst_says_that_drift_is_unknown(void **state)
{
    (void)state;
    duty_cycle_options of = usual(14, 120);
    of.run_s = 100; /* one burst, nearly at its end: 960 steps of 60 ms */
    of.burst_steps = 12;
    of.grows = 1.3;
    duty_cycle *d = duty_cycle_create(of);
    jm_report *report = report_of(d, JM_BY_LAYER);
    assert_adds_up(report);
    assert_true(says(report, "extrapolated from a single interval of traced ones"));
    const jm_row *row = duty_cycle_row(report, layers[0], "layer");
    assert_true(half(row) > 0.02 * row->energy_j);
    jm_report_free(report);
    duty_cycle_free(d);
}

/* Without kernels the host's spans are the work, which tracing makes longer: here by a fifth. */
static void test_spans_of_the_host_stand_for_others_too(void **state)
{
    (void)state;
    for (int slower = 1; slower <= 2; slower++) {
        duty_cycle_options of = usual(15, 12);
        of.slower = slower;
        of.between_us = 6000;
        duty_cycle *d = duty_cycle_create(of);
        d->s->kernels.count = 0;
        d->s->dataset.stream_count = 0;
        jm_report *report = report_of(d, JM_BY_LAYER);
        const jm_report_totals *totals = jm_report_totals_get(report);
        assert_near(duty_cycle_sum_j(report), totals->total_energy_j, 1e-9);
        double span_s = 0, step_s = 0;
        for (int l = 0; l < DUTY_CYCLE_LAYERS; l++)
            span_s += duty_cycle_row(report, layers[l], "layer")->busy_s;
        for (size_t i = 0; i < d->s->dataset.span_count; i++)
            if (d->s->spans[i].kind == JM_SPAN_STEP)
                step_s += (double)(d->s->spans[i].end_ns - d->s->spans[i].start_ns) * 1e-9;
        /* All of a step is in a layer; time caused by tracing is in none. */
        assert_near(span_s, step_s, 0.01);
        double share = duty_cycle_row(report, layers[2], "layer")->busy_s / span_s;
        if (slower == 1) assert_near(share, (2 * 12 + 4) / (2.0 * 24 + 12), 0.02);
        jm_report_free(report);
        duty_cycle_free(d);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layers_of_one_step_in_many_are_those_of_all),
        cmocka_unit_test(test_steps_that_nobody_traces_draw_more_or_less),
        cmocka_unit_test(test_work_that_was_traced_in_full_is_not_moved_by_what_was_not),
        cmocka_unit_test(test_intervals_hold_where_steps_differ),
        cmocka_unit_test(test_what_grows_is_marked_by_the_bursts_around_it),
        cmocka_unit_test(test_a_warm_up_strata_for_nothing_but_itself),
        cmocka_unit_test(test_work_takes_no_more_time_than_its_steps_did),
        cmocka_unit_test(test_steps_of_other_phases_are_marked_by_their_own),
        cmocka_unit_test(test_steps_of_a_phase_that_was_never_traced_are_marked_by_those_of_another),
        cmocka_unit_test(test_phases_without_steps_stand_for_each_other),
        cmocka_unit_test(test_ranks_are_traced_each_at_its_own_times),
        cmocka_unit_test(test_work_goes_by_its_launch),
        cmocka_unit_test(test_steps_like_no_traced_one_are_left_out_and_marked),
        cmocka_unit_test(test_a_time_queried_for_cuts_steps),
        cmocka_unit_test(test_what_tracing_made_is_no_steps),
        cmocka_unit_test(test_the_note_on_tracing_says_what_it_cost_in_time_and_joules),
        cmocka_unit_test(test_all_views_tell_the_same),
        cmocka_unit_test(test_requests_share_steps_that_were_not_traced),
        cmocka_unit_test(test_each_step_has_its_joules),
        cmocka_unit_test(test_errors_of_rows_go_into_sums),
        cmocka_unit_test(test_a_single_burst_says_that_drift_is_unknown),
        cmocka_unit_test(test_spans_of_the_host_stand_for_others_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
