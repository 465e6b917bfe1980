/* Untraced steps with other counts than the traced ones that represent them. */
#include "base/count_class.h"
#include "duty.h"
#include "proof.h"

enum { SEEDS = 20 };

/* How a layer's time depends on the tokens of a step. */
typedef struct shape {
    const char *name;
    double goes[DUTY_CYCLE_LAYERS];
} shape;

static const shape shapes[] = {
    {"in proportion", {1, 1, 1}},
    {"half of it", {0.5, 0.5, 0.5}},
    {"not at all", {0, 0, 0}},
    {"each its own way", {1, 0.5, 0}},
};

enum { SHAPES = sizeof shapes / sizeof *shapes };

/* A program, and how much of it is traced. */
typedef struct program {
    const char *name;
    duty_cycle_counts counts;
    int one_in, burst_steps;
    double run_s, step_u, wanders;
    double most; /* allowed errors of layers, root mean square */
} program;

/* Steps of 60 ms. In the noisy one a layer has an error of 0.15 / sqrt(70), and of its drift in seven bursts.
 */
static const program programs[] = {
    {"padded, 160 traced", DUTY_CYCLE_PADDED, 12, 8, 120, 0.05, 0, 0.01},
    {"padded, 40 traced", DUTY_CYCLE_PADDED, 80, 5, 200, 0.05, 0.03, 0.02},
    {"load, 40 traced", DUTY_CYCLE_LOAD, 80, 5, 200, 0.05, 0.03, 0.02},
    {"batches, 70 traced", DUTY_CYCLE_BATCHES, 25, 8, 120, 0.05, 0, 0.01},
    {"batches, noise, 70 traced", DUTY_CYCLE_BATCHES, 25, 8, 120, 0.15, 0.05, 0.03},
};

enum { PROGRAMS = sizeof programs / sizeof *programs };

static const char *const layers[DUTY_CYCLE_LAYERS] = {"attn", "mlp", "head"};

static duty_cycle *play(const program *of, const shape *as, uint64_t seed)
{
    duty_cycle_options options = {.seed = seed,
                                  .run_s = of->run_s,
                                  .one_in = of->one_in,
                                  .burst_steps = of->burst_steps,
                                  .slower = 2,
                                  .gap_us = 2000,
                                  .kernel_ms = 4,
                                  .step_u = of->step_u,
                                  .wanders = of->wanders,
                                  .counts = of->counts};
    memcpy(options.goes, as->goes, sizeof options.goes);
    return duty_cycle_create(options);
}

typedef struct score {
    int rows, held, sums, sums_held;
    double square, tracing_square; /* of relative errors */
    double furthest;               /* from the truth, in half widths */
} score;

static void mark(score *s, const duty_cycle *d)
{
    jm_report *report = syn_report(d->s, (jm_report_options){.by = JM_BY_LAYER});
    size_t mine[DUTY_CYCLE_LAYERS];
    double all_j = 0;
    for (size_t l = 0; l < DUTY_CYCLE_LAYERS; l++) {
        mine[l] = jm_report_row_count(report);
        for (size_t i = 0; i < jm_report_row_count(report); i++)
            if (strcmp(jm_report_row(report, i)->path, layers[l]) == 0) mine[l] = i;
        const jm_row *row = jm_report_row(report, mine[l]);
        assert_non_null(row);
        s->rows++;
        s->held += row->energy_low_j <= d->layer_j[l] && d->layer_j[l] <= row->energy_high_j;
        s->square += pow(row->energy_j / d->layer_j[l] - 1, 2);
        s->furthest = fmax(s->furthest, 2 * fabs(row->energy_j - d->layer_j[l]) /
                                            (row->energy_high_j - row->energy_low_j));
        all_j += d->layer_j[l];
        assert_int_equal(row->calls, d->steps);
    }
    jm_sum sum;
    assert_int_equal(jm_report_sum(report, mine, DUTY_CYCLE_LAYERS, &sum, NULL), JM_OK);
    s->sums++;
    s->sums_held += sum.low_j <= all_j && all_j <= sum.high_j;
    s->tracing_square += pow(jm_report_totals_get(report)->tracing_s / d->tracing_s - 1, 2);
    if (fabs(duty_cycle_sum_j(report) / jm_report_totals_get(report)->total_energy_j - 1) > 1e-9)
        fail_msg("rows do not add up");
    jm_report_free(report);
}

/* As if only powers of two were recorded: then steps within a factor of two are one kind, in equal parts. */
static void round_counts(duty_cycle *d)
{
    for (size_t i = 0; i < d->s->dataset.span_count; i++)
        d->s->spans[i].tokens = jm__count_class(d->s->spans[i].tokens);
}

static double error_of(const score *s)
{
    return sqrt(s->square / s->rows);
}

/* 48 of 60 95 % intervals or fewer contain the truth once in 5,000 tries, if the layers of a run have
 * independent errors; 15 of 20 sums once in 400. */
static void check_many(const program *of, const score *own, const score *equal)
{
    assert_true(error_of(own) < of->most);
    /* The total corrects a common error of all layers in either case. */
    assert_true(error_of(own) < 1.3 * error_of(equal));
    assert_true(own->held > 48);
    assert_true(sqrt(own->tracing_square / SEEDS) < 0.08); /* in equal parts up to 0.18 */
    assert_true(own->sums_held > 15);
}

/* The three layers of one run: their errors are three draws. */
static void check_one(const program *of, const score *own)
{
    assert_true(error_of(own) < of->most * proof_rms(DUTY_CYCLE_LAYERS));
    assert_true(own->furthest < 4);
    assert_true(sqrt(own->tracing_square) < 0.08 * proof_rms(1));
}

static void test_layers_are_marked_by_steps_of_their_counts(void **state)
{
    (void)state;
    const int seeds = proof_seeds(SEEDS);
    score all = {0}, in_equal_parts = {0};
    double tracing_square = 0, equal_tracing_square = 0; /* in proportion */
    for (size_t p = 0; p < PROGRAMS; p++) {
        for (size_t h = 0; h < SHAPES; h++) {
            score own = {0}, equal = {0};
            for (uint64_t seed = 1; seed <= (uint64_t)seeds; seed++) {
                duty_cycle *d = play(&programs[p], &shapes[h], seed);
                mark(&own, d);
                round_counts(d);
                mark(&equal, d);
                duty_cycle_free(d);
            }
            print_message("%-26s %-17s %.2f %%, %2d of %d, sums %2d of %d, tracing %4.1f %%; in equal parts "
                          "%.2f %%, %2d of %d, tracing %4.1f %%\n",
                          programs[p].name, shapes[h].name, 100 * error_of(&own), own.held, own.rows,
                          own.sums_held, own.sums, 100 * sqrt(own.tracing_square / seeds),
                          100 * error_of(&equal), equal.held, equal.rows,
                          100 * sqrt(equal.tracing_square / seeds));
            if (seeds > 1)
                check_many(&programs[p], &own, &equal);
            else
                check_one(&programs[p], &own);
            if (h == 0) {
                if (seeds > 1) assert_true(own.tracing_square < 0.5 * equal.tracing_square);
                tracing_square += own.tracing_square;
                equal_tracing_square += equal.tracing_square;
            }
            all.held += own.held;
            all.rows += own.rows;
            all.square += own.square;
            in_equal_parts.rows += equal.rows;
            in_equal_parts.square += equal.square;
            all.sums += own.sums;
            all.sums_held += own.sums_held;
        }
    }
    print_message("%d of %d, sums %d of %d\n", all.held, all.rows, all.sums_held, all.sums);
    assert_true(tracing_square < 0.5 * equal_tracing_square);
    assert_true(error_of(&all) < 1.3 * error_of(&in_equal_parts));
    if (seeds > 1)
        assert_true(all.held >= 0.92 * all.rows && all.held <= 0.99 * all.rows);
    else
        assert_true(all.held >= proof_least(all.rows, 0.95) && all.sums_held >= proof_least(all.sums, 0.95));
}

static void test_each_step_has_the_joules_of_its_counts(void **state)
{
    (void)state;
    duty_cycle *d = play(&programs[0], &shapes[0], 3);
    jm_report *report = syn_report(d->s, (jm_report_options){.by = JM_BY_SPAN});
    double work_j = d->layer_j[0] + d->layer_j[1] + d->layer_j[2], square = 0, tokens = 0;
    int64_t steps = 0;
    for (size_t i = 0; i < d->s->dataset.span_count; i++)
        tokens += d->s->spans[i].tokens;
    for (size_t i = 0; i < jm_report_row_count(report); i++) {
        const jm_row *row = jm_report_row(report, i);
        if (strcmp(row->kind, "step") != 0) continue;
        steps++;
        square += pow(row->energy_j / (work_j * (double)row->tokens / tokens) - 1, 2);
    }
    assert_int_equal(steps, d->steps);
    /* Three layers of 5 %, weighed by energy, and up to 5 % of tokens; tokens alone are 16 % off their mean.
     */
    print_message("%.2f %%\n", 100 * sqrt(square / (double)steps));
    assert_true(sqrt(square / (double)steps) < 0.06);
    jm_report_free(report);
    duty_cycle_free(d);
}

/* Evaluations of 20 steps none of which was traced: the nearest interval has a step with similar counts. */
static void test_steps_of_another_phase_are_marked_by_those_of_their_counts(void **state)
{
    (void)state;
    duty_cycle_options of = {.seed = 4,
                             .run_s = 120,
                             .one_in = 6,
                             .burst_steps = 8,
                             .slower = 2,
                             .gap_us = 2000,
                             .kernel_ms = 4,
                             .step_u = 0.05,
                             .untraced_eval = true,
                             .counts = DUTY_CYCLE_PADDED,
                             .goes = {1, 0.5, 0}};
    const int seeds = proof_some(SEEDS, 2);
    double off[2] = {0};
    for (of.seed = 1; of.seed <= (uint64_t)seeds; of.seed++) {
        duty_cycle *d = duty_cycle_create(of);
        for (int equal = 0; equal < 2; equal++) {
            if (equal) round_counts(d);
            jm_report *report = syn_report(d->s, (jm_report_options){.by = JM_BY_LAYER, .phase = "eval"});
            for (int l = 0; l < DUTY_CYCLE_LAYERS; l++)
                off[equal] += pow(duty_cycle_row(report, layers[l], "layer")->energy_j / d->eval_j[l] - 1, 2);
            jm_report_free(report);
        }
        duty_cycle_free(d);
    }
    print_message("%.2f %%, in equal parts %.2f %%\n", 100 * sqrt(off[0] / seeds / DUTY_CYCLE_LAYERS),
                  100 * sqrt(off[1] / seeds / DUTY_CYCLE_LAYERS));
    assert_true(off[0] < 0.7 * off[1]);
}

/* One step of some forty does something else under the same name and counts, and takes longer. A burst has
 * more or fewer of them by chance: the layer still has its calls and joules. */
static void test_long_steps_of_the_same_counts_stand_for_long_ones(void **state)
{
    (void)state;
    duty_cycle_options of = {.run_s = 120,
                             .one_in = 12,
                             .burst_steps = 8,
                             .slower = 2,
                             .gap_us = 2000,
                             .kernel_ms = 4,
                             .step_u = 0.05,
                             .odd_takes = 16};
    static const int one_in[] = {50, 37, 29};
    for (int i = 0; i < 3; i++) {
        of.seed = 5 + (uint64_t)i;
        of.odd_one_in = one_in[i];
        duty_cycle *d = duty_cycle_create(of);
        jm_report *report = syn_report(d->s, (jm_report_options){.by = JM_BY_LAYER});
        for (int l = 0; l < DUTY_CYCLE_LAYERS; l++) {
            const jm_row *row = duty_cycle_row(report, layers[l], "layer");
            double calls = (double)(l == 2 ? d->odd : d->steps - d->odd);
            print_message("%s, one in %d: %" PRIu64 " calls of %.0f, %.3g J of %.3g\n", layers[l], one_in[i],
                          row->calls, calls, row->energy_j, d->layer_j[l]);
            assert_true(fabs((double)row->calls / calls - 1) < 0.02);
            assert_true(fabs(row->energy_j / d->layer_j[l] - 1) < 0.05);
        }
        jm_report_free(report);
        duty_cycle_free(d);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layers_are_marked_by_steps_of_their_counts),
        cmocka_unit_test(test_each_step_has_the_joules_of_its_counts),
        cmocka_unit_test(test_steps_of_another_phase_are_marked_by_those_of_their_counts),
        cmocka_unit_test(test_long_steps_of_the_same_counts_stand_for_long_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
