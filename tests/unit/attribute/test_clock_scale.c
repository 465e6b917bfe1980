/* A board whose clock changes under load: the power of all kinds scales with it, where the readings show it.
 */
#include "proof.h"
#include "synthetic_report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { KINDS = 5, LAYERS = 3, RUN_S = 20, CLOCK_ID = 31 };

static const int64_t start_ns = JM_NS_PER_S, end_ns = (1 + RUN_S) * JM_NS_PER_S;
static const double top_mhz = 1980, held_mhz = 1700;
static const char *const layers[LAYERS] = {"mostly fast", "mostly held", "both"};

/* Power above idle is proportional to the clock to the power of `exponent`. */
typedef struct scene {
    uint64_t seed;
    double exponent;
    bool moves, recorded;
} scene;

static double truth_j[LAYERS]; /* of the last recording */

/* Kind k at the top clock is class 1 + k, at the limited clock class 1 + KINDS + k, in the truth alone. */
static void add_kinds(synthetic *s, double exponent)
{
    for (int held = 0; held < 2; held++) {
        for (int k = 0; k < KINDS; k++) {
            char name[24];
            double power_w = 300 + 110 * k, factor = held ? pow(held_mhz / top_mhz, exponent) : 1;
            snprintf(name, sizeof name, "%skind%d", held ? "held " : "", k);
            syn_class(s, name, 8, s->idle_w + (power_w - s->idle_w) * factor);
        }
    }
}

static synthetic *make(const scene *of)
{
    synthetic *s = syn_create(of->seed, 1, 400000);
    int64_t spans[LAYERS], until_ns = start_ns, reading_ns = start_ns + 50 * JM_NS_PER_MS;
    bool held = false;
    s->drift_w = 3;
    add_kinds(s, of->exponent);
    for (int l = 0; l < LAYERS; l++)
        spans[l] = syn_span(s, JM_SPAN_FORWARD, layers[l], "", 0, start_ns, end_ns, 100);
    memset(truth_j, 0, sizeof truth_j);
    s->sensors[s->dataset.sensor_count++] =
        (jm_sensor){.id = CLOCK_ID, .board_id = 1, .name = "clock_sm", .quantity = JM_QUANTITY_CLOCK_SM};
    for (int64_t now = start_ns; now < end_ns - 20 * JM_NS_PER_MS;) {
        if (now >= until_ns) { /* changes fall between two readings of the clock, at a kernel's end */
            held = of->moves && !held;
            until_ns += (int64_t)(15 + 25 * syn_uniform(s)) * 100 * JM_NS_PER_MS;
        }
        double pick = syn_uniform(s);
        int layer = pick < 0.4 ? 2 : (pick < 0.9) == held ? 1 : 0, kind = (int)(KINDS * syn_uniform(s));
        int64_t length = (int64_t)(0.2e6 * pow(50, syn_uniform(s))), class = 1 + kind + (held ? KINDS : 0);
        syn_kernel(s, class, 0, spans[layer], now, now + length);
        truth_j[layer] += (double)length * 1e-9 * s->class_w[class - 1];
        for (; reading_ns < now + length; reading_ns += 100 * JM_NS_PER_MS)
            if (of->recorded)
                s->readings[s->dataset.reading_count++] =
                    (jm_reading){CLOCK_ID, reading_ns, held ? held_mhz : top_mhz};
        now += length + (int64_t)(2e6 * pow(syn_uniform(s), 4));
    }
    syn_measure(s, 0, start_ns, end_ns);
    for (size_t i = 0; i < s->kernels.count; i++)
        if (s->kernels.items[i].class_id > KINDS) s->kernels.items[i].class_id -= KINDS;
    syn_finish(s);
    return s;
}

static jm_report *report_of(const synthetic *s)
{
    return syn_report(s, (jm_report_options){.by = JM_BY_LAYER});
}

static const jm_row *row_of(const jm_report *report, const char *path)
{
    for (size_t i = 0; i < jm_report_row_count(report); i++)
        if (strcmp(jm_report_row(report, i)->path, path) == 0) return jm_report_row(report, i);
    fail_msg("no row %s", path);
    return NULL;
}

static bool tells_of_the_clock(const jm_report *report)
{
    for (size_t i = 0; i < jm_report_note_count(report); i++)
        if (strstr(jm_report_note(report, i), "its clock moved") != NULL) return true;
    return false;
}

/* Root mean square error of the layers, relative; counts intervals that contain the truth. */
static double error_of(const jm_report *report, int *held)
{
    double square = 0;
    for (int l = 0; l < LAYERS; l++) {
        const jm_row *row = row_of(report, layers[l]);
        square += pow(row->energy_j / truth_j[l] - 1, 2) / LAYERS;
        *held += row->energy_low_j <= truth_j[l] && truth_j[l] <= row->energy_high_j;
    }
    return sqrt(square);
}

static void test_power_goes_with_the_clock(void **state)
{
    (void)state;
    const int runs = proof_some(20, 2); /* one of each exponent */
    int held = 0, without = 0;
    double errors = 0, errors_without = 0;
    for (uint64_t seed = 1; seed <= (uint64_t)runs; seed++) {
        scene of = {.seed = seed, .exponent = seed % 2 == 0 ? 1 : 2, .moves = true, .recorded = true};
        synthetic *s = make(&of);
        jm_report *report = report_of(s);
        double chi2_n = jm_report_totals_get(report)->chi2_n;
        double error = error_of(report, &held);
        assert_true(error < 0.01);
        assert_true(tells_of_the_clock(report));
        jm_report_free(report);
        syn_free(s);
        of.recorded = false;
        s = make(&of);
        report = report_of(s);
        double unknown = error_of(report, &without);
        assert_true(unknown > error); /* less where each layer ran at a clock of its own */
        errors += error;
        errors_without += unknown;
        assert_string_not_equal(jm_report_quality_get(report)->verdict, "good");
        assert_true(chi2_n < jm_report_totals_get(report)->chi2_n / 3);
        jm_report_free(report);
        syn_free(s);
    }
    assert_true(errors_without > 5 * errors);
    /* 51 of 60; 231 of 240 in a longer trial, 218 where nothing moves */
    assert_true(held >= (runs == 20 ? 51 : proof_least(LAYERS * runs, .95)));
}

static void assert_same_without_the_clock(scene of)
{
    double energy_j[LAYERS];
    for (int recorded = 0; recorded < 2; recorded++) {
        of.recorded = recorded;
        synthetic *s = make(&of);
        jm_report *report = report_of(s);
        assert_false(tells_of_the_clock(report));
        for (int l = 0; l < LAYERS; l++) {
            double now_j = row_of(report, layers[l])->energy_j;
            /* readings of its jumps are left out, whatever they say */
            if (recorded) assert_true(fabs(now_j / energy_j[l] - 1) < (of.moves ? 0.01 : 1e-9));
            energy_j[l] = now_j;
        }
        jm_report_free(report);
        syn_free(s);
    }
}

static void test_a_clock_that_does_not_move_changes_nothing(void **state)
{
    (void)state;
    assert_same_without_the_clock((scene){.seed = 1, .exponent = 2});
}

/* As at a power limit, where the clock falls so that the power need not. */
static void test_power_that_does_not_go_with_the_clock_is_left_alone(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= (uint64_t)proof_seeds(5); seed++)
        assert_same_without_the_clock((scene){.seed = seed, .exponent = 0, .moves = true});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_power_goes_with_the_clock),
        cmocka_unit_test(test_a_clock_that_does_not_move_changes_nothing),
        cmocka_unit_test(test_power_that_does_not_go_with_the_clock_is_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
