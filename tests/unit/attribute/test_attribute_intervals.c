/* Coverage of 90 % intervals, for each of four programs whose kinds of work draw one power or several.
 *
 * JOULEMAP_TEST_RECORDINGS: recordings per program and spread (in the proof 12 by default; rows of a
 * recording have correlated errors, so the limits are then two standard deviations wider). */
#define FIGURES_NOT_KEPT /* clang takes pow(10, x), which makes the data, for another function than gcc */
#include "attribute/fit/student.h"
#include "attribute/report.h"
#include "programs.h"
#include "proof.h"
#include "synthetic_report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const double spreads[] = {0, 0.03, 0.08};

enum { SPREADS = sizeof spreads / sizeof *spreads };

static int number_of(const char *variable, int usual)
{
    const char *text = getenv(variable);
    return text != NULL ? atoi(text) : usual;
}

static int recordings(void)
{
    return number_of("JOULEMAP_TEST_RECORDINGS", proof_seeds(12));
}

/* Of the first recording: not those with which the estimator was developed. */
static int first_seed(void)
{
    return number_of("JOULEMAP_TEST_SEED", 1);
}

typedef struct held {
    int inside, all, far; /* far: four half widths and more from the truth */
    double error_square, half_sum, z_square;
} held;

/* [provenance is fitted][view is by layer] */
typedef struct outcome {
    held rows[2][2];
} outcome;

static held together(const outcome *o, bool fitted_only)
{
    held sum = {0};
    for (int fitted = fitted_only; fitted < 2; fitted++)
        for (int layer = 0; layer < 2; layer++) {
            const held *h = &o->rows[fitted][layer];
            sum.inside += h->inside;
            sum.all += h->all;
            sum.far += h->far;
            sum.error_square += h->error_square;
            sum.half_sum += h->half_sum;
            sum.z_square += h->z_square;
        }
    return sum;
}

static void take_row(outcome *out, const jm_row *row, double truth_j, bool layer)
{
    double narrower = jm__student_quantile(0.90, 1e6) / jm__student_quantile(0.95, 1e6);
    double half_j = narrower * (truth_j < row->energy_j ? row->energy_j - row->energy_low_j
                                                        : row->energy_high_j - row->energy_j);
    held *h = &out->rows[row->provenance == JM_PROVENANCE_FITTED][layer];
    h->all++;
    h->inside += fabs(truth_j - row->energy_j) <= half_j;
    h->far += fabs(truth_j - row->energy_j) > 4 * half_j;
    h->error_square += pow(row->energy_j / truth_j - 1, 2);
    h->half_sum += half_j / truth_j;
    h->z_square += pow((truth_j - row->energy_j) / half_j, 2);
}

static void take_view(outcome *out, const synthetic *s, jm_by by)
{
    jm_report *report = syn_report(s, (jm_report_options){.by = by});
    for (size_t i = 0; i < jm_report_row_count(report); i++) {
        const jm_row *row = jm_report_row(report, i);
        int number;
        if (by == JM_BY_KERNEL && row->depth == 0 && sscanf(row->path, "kind%d", &number) == 1)
            take_row(out, row, prog_truth_j(s, number + 1, 0), false);
        else if (by == JM_BY_LAYER && sscanf(row->path, "net.%d", &number) == 1)
            take_row(out, row, prog_truth_j(s, 0, number + 4), true);
        else if (by == JM_BY_LAYER && strcmp(row->path, "net") == 0)
            take_row(out, row, prog_truth_j(s, 0, 0), true);
    }
    jm_report_free(report);
}

static void add(outcome *to, const outcome *from)
{
    for (int i = 0; i < 4; i++) {
        held *t = &to->rows[i / 2][i % 2];
        const held *f = &from->rows[i / 2][i % 2];
        t->inside += f->inside;
        t->all += f->all;
        t->far += f->far;
        t->error_square += f->error_square;
        t->half_sum += f->half_sum;
        t->z_square += f->z_square;
    }
}

static void print_outcome(const char *name, const char *spread, const outcome *o)
{
    held fitted = together(o, true), all = together(o, false);
    print_message(
        "%-12s %5s: fitted %5.1f %% of %4d, all %5.1f %% of %4d; error %4.1f %%, half width %4.1f %%", name,
        spread, 100.0 * fitted.inside / fitted.all, fitted.all, 100.0 * all.inside / all.all, all.all,
        100 * sqrt(all.error_square / all.all), 100 * all.half_sum / all.all);
    for (int layer = 0; layer < 2; layer++) {
        held h = o->rows[1][layer];
        print_message("; %s %5.1f %%", layer ? "layers" : "kernels", 100.0 * h.inside / h.all);
    }
    print_message("\n");
}

/* Three recordings are too few for a coverage: rows of one have correlated errors. */
static bool few_hold(const held *of)
{
    return of->far == 0 && of->inside >= proof_least(of->all, 0.86);
}

static void test_intervals_hold_as_often_as_they_say_in_each_program(void **state)
{
    (void)state;
    bool fine = true;
    double slack = recordings() < 40 ? 0.02 : 0;
    for (int p = 0; p < PROGRAMS; p++) {
        outcome whole = {0};
        for (int m = 0; m < SPREADS; m++) {
            outcome out = {0};
            char spread[16];
            snprintf(spread, sizeof spread, "%g %%", 100 * spreads[m]);
            for (int r = 0; r < recordings(); r++) {
                synthetic *s = prog_record(&programs[p], spreads[m],
                                           (uint64_t)(1000 * p + 100000 * m + r + first_seed()),
                                           recordings() == 1 ? 6 : 12);
                take_view(&out, s, JM_BY_KERNEL);
                take_view(&out, s, JM_BY_LAYER);
                syn_free(s);
            }
            print_outcome(programs[p].name, spread, &out);
            add(&whole, &out);
        }
        print_outcome(programs[p].name, "all", &whole);
        held fitted = together(&whole, true), all = together(&whole, false);
        if (recordings() == 1)
            fine = fine && few_hold(&fitted) && few_hold(&all);
        else
            fine = fine && fitted.inside >= (0.86 - slack) * fitted.all &&
                   fitted.inside <= (0.94 + slack) * fitted.all && all.inside >= (0.86 - slack) * all.all &&
                   all.inside <= (0.97 + slack) * all.all;
    }
    assert_true(fine);
}

/* A row with all that is below it, which comes after it. */
static void check_row(const jm_report *report, size_t i)
{
    const jm_row *row = jm_report_row(report, i);
    double sum_j = row->energy_self_j, half_j = row->energy_high_j - row->energy_j;
    for (size_t c = i + 1; c < jm_report_row_count(report) && jm_report_row(report, c)->depth > row->depth;
         c++) {
        const jm_row *child = jm_report_row(report, c);
        sum_j += child->energy_self_j;
        if (!(child->energy_j <= row->energy_j * (1 + 1e-9)))
            fail_msg("%s has %.9g J of %s's %.9g J", child->path, child->energy_j, row->path, row->energy_j);
    }
    assert_true(fabs(sum_j - row->energy_j) <= 1e-9 * row->energy_j);
    if (!(row->energy_self_j >= -half_j)) fail_msg("%s itself: %g J", row->path, row->energy_self_j);
}

static void test_no_part_of_a_phase_takes_more_than_the_phase(void **state)
{
    (void)state;
    static const jm_by views[] = {JM_BY_PHASE, JM_BY_LAYER, JM_BY_KERNEL};
    for (int r = 0; r < proof_some(24, PROGRAMS); r++) {
        synthetic *s = prog_record(&programs[r % PROGRAMS], spreads[r % SPREADS], (uint64_t)(7000 + r), 6);
        for (size_t i = 0; i < s->dataset.reading_count; i++) /* the counter says less than the ring */
            if (s->readings[i].sensor_id == 2) s->readings[i].value *= 0.985;
        for (size_t v = 0; v < sizeof views / sizeof *views; v++) {
            const jm_report_options options = {.size = sizeof options, .by = views[v]};
            jm_report *report = NULL;
            int measured = 0;
            assert_int_equal(jm__report_from_dataset(&report, &s->dataset, &options, NULL), JM_OK);
            for (size_t i = 0; i + 1 < jm_report_row_count(report); i++) { /* the last is `(unresolved)` */
                check_row(report, i);
                measured += jm_report_row(report, i)->provenance == JM_PROVENANCE_MEASURED;
            }
            assert_int_equal(measured, views[v] == JM_BY_PHASE);
            jm_report_free(report);
        }
        syn_free(s);
    }
}

/* Three phases of 2 s, whose forward, backward, recompute and optimizer have four kinds of work in a mix of
 * their own; a kind's power varies by 5 % from phase to phase. The counter is 0.3 % off. */
enum { PHASES = 3, PHASE_PARTS = 4, PHASE_KINDS = 4 };

static const jm_span_kind part_kinds[PHASE_PARTS] = {JM_SPAN_FORWARD, JM_SPAN_BACKWARD, JM_SPAN_RECOMPUTE,
                                                     JM_SPAN_OPTIMIZER};

typedef struct in_phases {
    synthetic *s;
    int64_t parts[PHASES][PHASE_PARTS];
} in_phases;

static in_phases record_phases(uint64_t seed)
{
    in_phases r = {.s = syn_create(seed, 1, 100000)};
    synthetic *s = r.s;
    int64_t start = 10 * JM_NS_PER_S, now = start + JM_NS_PER_S / 2, length = 2 * JM_NS_PER_S;
    s->lag_ns += 1.2 * 0.5e6 * syn_normal(s);
    s->tau_ns += 1.2 * 1e6 * syn_normal(s);
    s->drift_w = 3 * syn_uniform(s);
    for (int k = 0; k < PHASE_KINDS; k++)
        syn_class(s, (const char *[]){"kind0", "kind1", "kind2", "kind3"}[k], 8,
                  550 * fmax(0.3, 1 + 0.3 * syn_normal(s)));
    for (int p = 0; p < PHASES; p++) {
        int64_t end = now + length, pause = now + length / 2;
        double factor[PHASE_KINDS], weight[PHASE_PARTS][PHASE_KINDS];
        char name[16];
        snprintf(name, sizeof name, "phase%d", p);
        int64_t phase = syn_span(s, JM_SPAN_PHASE, name, "", 0, now, end, 100);
        for (int l = 0; l < PHASE_PARTS; l++) {
            snprintf(name, sizeof name, "part%d", l);
            r.parts[p][l] = syn_span(s, part_kinds[l], name, "Part", phase, now, end, 100);
            for (int k = 0; k < PHASE_KINDS; k++)
                weight[l][k] = pow(syn_uniform(s), 3);
        }
        for (int k = 0; k < PHASE_KINDS; k++)
            factor[k] = 1 + 0.05 * syn_normal(s);
        while (now + 20000000 < end) {
            for (int l = 0; l < PHASE_PARTS; l++)
                for (int k = 0; k < PHASE_KINDS; k++) {
                    int64_t kernel_ns = (int64_t)(2e6 * weight[l][k] * (0.8 + 0.4 * syn_uniform(s)));
                    if (kernel_ns < 20000) continue;
                    syn_kernel(s, k + 1, 0, r.parts[p][l], now, now + kernel_ns);
                    s->kernel_w[s->kernels.count - 1] *= factor[k];
                    now += kernel_ns + 5000;
                }
            if (syn_uniform(s) < 0.02 && now > pause) now += 50000000, pause = end;
        }
        now = end;
    }
    syn_measure(s, 0, start, now + JM_NS_PER_S / 2);
    double gain = 1 + 0.003 * syn_normal(s);
    for (size_t i = 0; i < s->dataset.reading_count; i++)
        if (s->readings[i].sensor_id == 2) s->readings[i].value *= gain;
    syn_finish(s);
    return r;
}

static void test_parts_of_measured_phases_hold_as_often_as_they_say(void **state)
{
    (void)state;
    const int count = recordings() == 1 ? 12 : 4 * recordings(); /* the parts of one have errors in common */
    int inside = 0, all = 0, measured = 0;
    double half_sum = 0, error_square = 0;
    for (int i = 0; i < count; i++) {
        in_phases r = record_phases((uint64_t)(9000 + i + first_seed()));
        jm_report *report = syn_report(r.s, (jm_report_options){.by = JM_BY_PHASE});
        for (size_t n = 0; n < jm_report_row_count(report); n++) {
            const jm_row *row = jm_report_row(report, n);
            int phase, part = 0;
            measured += row->provenance == JM_PROVENANCE_MEASURED;
            while (part < PHASE_PARTS && strcmp(row->kind, jm_span_kind_text(part_kinds[part])) != 0)
                part++;
            if (part == PHASE_PARTS || sscanf(row->path, "phase%d/", &phase) != 1) continue;
            double truth_j = prog_truth_j(r.s, 0, r.parts[phase][part]);
            if (truth_j < 5) continue; /* nearly nothing was drawn for it */
            inside += row->energy_low_j <= truth_j && truth_j <= row->energy_high_j;
            assert_true(fabs(row->energy_j - truth_j) < 4 * (row->energy_high_j - row->energy_j));
            all++;
            half_sum += (row->energy_high_j - row->energy_j) / truth_j;
            error_square += pow(row->energy_j / truth_j - 1, 2);
        }
        jm_report_free(report);
        syn_free(r.s);
    }
    print_message("parts of phases: 95 %% intervals hold %.1f %% of %d, half width %.2f %%, error %.2f %%\n",
                  100.0 * inside / all, all, 100 * half_sum / all, 100 * sqrt(error_square / all));
    assert_int_equal(measured, count * PHASES);
    assert_true(recordings() == 1 ? inside >= proof_least(all, 0.95) : inside >= 0.91 * all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_part_of_a_phase_takes_more_than_the_phase),
        cmocka_unit_test(test_parts_of_measured_phases_hold_as_often_as_they_say),
        cmocka_unit_test(test_intervals_hold_as_often_as_they_say_in_each_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
