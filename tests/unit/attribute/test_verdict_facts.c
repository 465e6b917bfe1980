/* What a recording needs for each check of the verdict to apply, and when it does not. */
#include "attribute/report.h"
#include "figures.h"
#include "synthetic.h"

#include <joulemap/report.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { RUN_S = 20, RING = 1, COUNTER = 2 };

static const int64_t start_ns = JM_NS_PER_S, end_ns = (1 + RUN_S) * JM_NS_PER_S;

static const char *const all_is_well = "no check found anything";

/* Two kinds of kernels at work in a phase, with gaps, on each board; `share`: of a large board's power. */
static synthetic *program_of(double share, size_t boards, double noise_w, double drift_w)
{
    synthetic *s = syn_create(5, boards, 100000);
    s->idle_w *= share;
    s->noise_w = share * noise_w;
    s->drift_w = share * drift_w;
    syn_class(s, "a", 8, share * 600);
    syn_class(s, "b", 16, share * 300);
    for (size_t b = 0; b < boards; b++) {
        int64_t span = syn_span(s, JM_SPAN_PHASE, "train", "", 0, start_ns, end_ns, 100 + (int64_t)b);
        syn_random_work(s, b, 1, 2, span, start_ns, end_ns);
    }
    for (size_t b = 0; b < boards; b++) {
        s->sensors[2 * b].noise *= share;
        syn_measure(s, b, start_ns, end_ns);
    }
    syn_finish(s);
    return s;
}

static synthetic *program(size_t boards, double noise_w, double drift_w)
{
    return program_of(1, boards, noise_w, drift_w);
}

static void drop_readings(synthetic *s, int64_t sensor_id, int64_t from_ns, int64_t to_ns)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->dataset.reading_count; i++) {
        const jm_reading *reading = &s->readings[i];
        bool drop = (sensor_id == 0 || reading->sensor_id == sensor_id) && reading->t_ns >= from_ns &&
                    reading->t_ns < to_ns;
        if (!drop) s->readings[kept++] = *reading;
    }
    s->dataset.reading_count = kept;
}

static bool says(const jm_report_quality *quality, const char *words)
{
    bool found = strstr(quality->verdict_reason, words) != NULL;
    for (size_t i = 0; quality->verdict_more[i] != NULL; i++)
        found = found || strstr(quality->verdict_more[i], words) != NULL;
    return found;
}

/* The verdict, and words of one of its sentences; frees the program. */
static void expect(synthetic *s, const char *verdict, const char *words)
{
    const jm_report_options options = {.size = sizeof options, .by = JM_BY_KERNEL};
    jm_error err = {0};
    jm_report *report = NULL;
    if (jm__report_from_dataset(&report, &s->dataset, &options, &err) != JM_OK) fail_msg("%s", err.text);
    figures_kept(__BASE_FILE__, report);
    const jm_report_quality *quality = jm_report_quality_get(report);
    if (strcmp(quality->verdict, verdict) != 0 || !says(quality, words))
        fail_msg("not %s for \"%s\", but %s: %s; %s", verdict, words, quality->verdict,
                 quality->verdict_reason, quality->verdict_more[0] == NULL ? "" : quality->verdict_more[0]);
    jm_report_free(report);
    syn_free(s);
}

static void test_a_run_of_which_all_is_known_is_good(void **state)
{
    (void)state;
    expect(program(1, 4, 0), "good", all_is_well);
    expect(program(2, 4, 0), "good", all_is_well);
    expect(program_of(0.01, 1, 4, 0), "good", all_is_well); /* also one of few joules */
}

static void test_energy_that_nobody_measured_is_poor(void **state)
{
    (void)state;
    synthetic *s = program(1, 4, 0);
    s->dataset.reading_count = 0;
    expect(s, "poor", "no energy is known");
    s = program(2, 4, 0);
    drop_readings(s, RING + 2, 0, INT64_MAX);
    drop_readings(s, COUNTER + 2, 0, INT64_MAX);
    expect(s, "poor", "the energy of 1 of the GPUs and CPUs is not known");
}

/* Kernels run until some second of the run, and utilisation is 100 % until another. */
static synthetic *program_until(double worked_s, double busy_s)
{
    synthetic *s = syn_create(6, 1, 100000);
    int64_t span = syn_span(s, JM_SPAN_PHASE, "train", "", 0, start_ns, end_ns, 100);
    syn_class(s, "a", 8, 600);
    syn_class(s, "b", 16, 300);
    syn_random_work(s, 0, 1, 2, span, start_ns, start_ns + (int64_t)(worked_s * JM_NS_PER_S));
    syn_measure(s, 0, start_ns, end_ns);
    s->sensors[s->dataset.sensor_count++] = (jm_sensor){.id = 3,
                                                        .board_id = 1,
                                                        .name = "gpu_utilisation",
                                                        .quantity = JM_QUANTITY_UTIL_GPU,
                                                        .response = JM_RESPONSE_BOX,
                                                        .period_ns = 200 * JM_NS_PER_MS};
    for (int64_t t = start_ns; t < end_ns; t += 200 * JM_NS_PER_MS)
        s->readings[s->dataset.reading_count++] =
            (jm_reading){3, t, t < start_ns + (int64_t)(busy_s * JM_NS_PER_S) ? 100 : 0};
    syn_finish(s);
    return s;
}

/* For example another user's, or in a container: its power counts as idle. */
static void test_work_that_nobody_recorded_is_marked(void **state)
{
    (void)state;
    expect(program_until(1, RUN_S), "poor", "for 95 % of the time a GPU was busy");
    expect(program_until(17, RUN_S), "fair", "of the time a GPU was busy with work that was not recorded");
    expect(program_until(10, 11), "good", all_is_well); /* utilisation is averaged over a second */
    expect(program_until(RUN_S, RUN_S), "good", all_is_well);
    expect(program_until(RUN_S - 1, RUN_S), "good", all_is_well); /* too short for utilisation */
}

static void test_damage_is_poor(void **state)
{
    (void)state;
    synthetic *s = program(1, 4, 0);
    s->dataset.damage = "parts are gone";
    expect(s, "poor", "the recording is damaged");
}

static void lose(synthetic *s, int64_t lost_ns, const char *verdict, const char *words)
{
    int64_t from_ns = start_ns + 8 * JM_NS_PER_S;
    const jm__event events[] = {
        {.kind = JM_EVENT_BOARD_LOST, .t_ns = from_ns, .board_id = 1},
        {.kind = JM_EVENT_BOARD_BACK, .t_ns = from_ns + lost_ns, .board_id = 1},
    };
    drop_readings(s, 0, from_ns + 1, from_ns + lost_ns);
    s->dataset.events = events;
    s->dataset.event_count = 2;
    expect(s, verdict, words);
}

static void test_time_without_a_board_counts_by_its_share(void **state)
{
    (void)state;
    lose(program(1, 4, 0), 500 * JM_NS_PER_MS, "fair", " of the time a GPU did not answer");
    lose(program(1, 4, 0), 4 * JM_NS_PER_S, "poor", "20 % of the time a GPU did not answer");
}

static void test_energy_between_readings_counts_by_its_share(void **state)
{
    (void)state;
    static const struct {
        int64_t gap_ns;
        const char *verdict, *words;
    } gaps[] = {{JM_NS_PER_S, "fair", " of the energy is interpolated"},
                {6 * JM_NS_PER_S, "poor", " of the energy is interpolated"},
                {JM_NS_PER_MS, "good", "no check found anything"}};
    for (size_t i = 0; i < sizeof gaps / sizeof *gaps; i++) {
        synthetic *s = program(1, 4, 0);
        drop_readings(s, COUNTER, 0, INT64_MAX);
        drop_readings(s, RING, start_ns + 5 * JM_NS_PER_S, start_ns + 5 * JM_NS_PER_S + gaps[i].gap_ns);
        expect(s, gaps[i].verdict, gaps[i].words);
    }
}

static void test_gaps_that_the_counter_covers_leave_the_parts_with_powers_of_other_times(void **state)
{
    (void)state;
    for (int64_t gap_s = 1; gap_s <= 11; gap_s += 5) {
        synthetic *s = program(1, 4, 0);
        const jm__event gap = {
            .kind = JM_EVENT_GAP, .t_ns = 3 * start_ns, .board_id = 1, .value = (double)gap_s * 1e9};
        s->dataset.events = &gap;
        s->dataset.event_count = 1;
        if (gap_s == 1)
            expect(s, "fair", "5.0 % of the time is without readings of power");
        else
            expect(s, gap_s == 6 ? "fair" : "poor", "of the time is without readings of power");
    }
}

static void test_lost_records_count_beside_those_that_are_there(void **state)
{
    (void)state;
    static const struct {
        double share;
        const char *verdict, *words;
    } losses[] = {{0.0005, "good", "no check found anything"},
                  {0.01, "fair", "1.0 % of the spans and kernels were lost"},
                  {0.05, "poor", "5.0 % of the spans and kernels were lost"}};
    for (size_t i = 0; i < sizeof losses / sizeof *losses; i++) {
        synthetic *s = program(1, 4, 0);
        double there = (double)(s->kernels.count + s->dataset.span_count), share = losses[i].share;
        const jm__loss loss = {.t_ns = 2 * start_ns,
                               .count = (int64_t)(there * share / (1 - share)),
                               .source = "ring",
                               .reason = "full"};
        s->dataset.losses = &loss;
        s->dataset.loss_count = 1;
        expect(s, losses[i].verdict, losses[i].words);
    }
}

static void test_a_fit_is_marked_by_its_residual_whatever_the_noise_of_the_sensor_should_be(void **state)
{
    (void)state;
    static const struct {
        double noise_w;
        const char *verdict, *words;
    } fits[] = {{10, "good", "no check found anything"},
                {60, "fair", "% of the mean power: single parts are indicative, the total is sound"},
                {160, "poor", "% of the mean power: single parts are indicative, the total is sound"}};
    for (size_t i = 0; i < sizeof fits / sizeof *fits; i++) {
        for (int known = 0; known < 2; known++) {
            synthetic *s = program(1, fits[i].noise_w, 0);
            if (!known) s->sensors[0].noise = 0;
            expect(s, fits[i].verdict, fits[i].words);
        }
    }
    synthetic *s = program(1, 4, 0);
    s->sensors[0].noise = 0.5; /* a quiet sensor: a residual of 1 %, eight times its noise */
    expect(s, "good", all_is_well);
}

/* Kernels draw `more_w` more, with time as a board does that warms up, or from the middle of the run on. */
static synthetic *program_that_changes(double more_w, bool warms_up)
{
    synthetic *s = program(1, 4, 0);
    for (size_t k = 0; k < s->kernels.count; k++) {
        double time_s = 1e-9 * (double)(s->kernels.items[k].start_ns - start_ns);
        s->kernel_w[k] += more_w * (warms_up ? 1 - exp(-time_s / 8) : time_s > RUN_S / 2);
    }
    s->dataset.reading_count = 0;
    syn_measure(s, 0, start_ns, end_ns);
    syn_finish(s);
    return s;
}

static void test_what_the_fit_of_the_rest_misses_of_a_part_of_the_run_is_marked(void **state)
{
    (void)state;
    static const char *const words = "the fit of the rest misses the mean power of an eighth of the run by ";
    for (int warms_up = 0; warms_up < 2; warms_up++) {
        expect(program_that_changes(2, warms_up), "good", all_is_well);
        expect(program_that_changes(40, warms_up), "fair", words);
        expect(program_that_changes(400, warms_up), "poor", words);
    }
    expect(program(1, 4, 4), "good", all_is_well); /* noise of 0.2 s: it averages out */
}

/* The counter says so much more, in per cent, than it did. */
static void raise_counter(synthetic *s, double percent)
{
    double first = NAN;
    for (size_t i = 0; i < s->dataset.reading_count; i++) {
        jm_reading *reading = &s->readings[i];
        if (reading->sensor_id != COUNTER) continue;
        if (isnan(first)) first = reading->value;
        reading->value = first + (reading->value - first) * (1 + percent / 100);
    }
}

static void test_a_total_that_the_fit_contradicts_is_marked_from_one_per_cent_on(void **state)
{
    (void)state;
    static const struct {
        double percent;
        const char *verdict, *words;
    } raised[] = {{3, "fair", " apart, more than 3 standard uncertainties"},
                  {10, "poor", " apart, more than 3 standard uncertainties"}};
    for (size_t i = 0; i < sizeof raised / sizeof *raised; i++) {
        synthetic *s = program(1, 4, 0);
        raise_counter(s, raised[i].percent);
        expect(s, raised[i].verdict, raised[i].words);
    }
    synthetic *s = program(
        1, 100, 0); /* a noisy sensor: the fit is within its uncertainty, and is conditioned on the total */
    s->sensors[0].noise = 100;
    raise_counter(s, 1.2);
    expect(s, "good", all_is_well);
}

static void test_figures_that_no_reading_decides_are_poor_if_they_are_all(void **state)
{
    (void)state;
    synthetic *s = program(1, 4, 0);
    drop_readings(s, RING, 0, INT64_MAX);
    expect(s, "poor", "of the energy stands at rows that the readings do not decide (weak)");
}

static void test_throttling_is_fair_from_a_tenth_of_the_time_on(void **state)
{
    (void)state;
    for (int tenth = 0; tenth <= 9; tenth += 9) {
        synthetic *s = program(1, 4, 0);
        jm_sensor *sensor = &s->sensors[s->dataset.sensor_count++];
        *sensor = (jm_sensor){
            .id = 11, .board_id = 1, .name = "throttle_reasons", .quantity = JM_QUANTITY_THROTTLE};
        for (int64_t t = start_ns, i = 0; t < end_ns; t += 100 * JM_NS_PER_MS, i++)
            s->readings[s->dataset.reading_count++] = (jm_reading){11, t, i % 10 < tenth ? 0x4 : 0};
        syn_finish(s);
        expect(s, tenth == 0 ? "good" : "fair",
               tenth == 0 ? all_is_well : "90 % of the time the GPU throttled");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_run_of_which_all_is_known_is_good),
        cmocka_unit_test(test_energy_that_nobody_measured_is_poor),
        cmocka_unit_test(test_work_that_nobody_recorded_is_marked),
        cmocka_unit_test(test_damage_is_poor),
        cmocka_unit_test(test_time_without_a_board_counts_by_its_share),
        cmocka_unit_test(test_energy_between_readings_counts_by_its_share),
        cmocka_unit_test(test_gaps_that_the_counter_covers_leave_the_parts_with_powers_of_other_times),
        cmocka_unit_test(test_lost_records_count_beside_those_that_are_there),
        cmocka_unit_test(test_a_fit_is_marked_by_its_residual_whatever_the_noise_of_the_sensor_should_be),
        cmocka_unit_test(test_what_the_fit_of_the_rest_misses_of_a_part_of_the_run_is_marked),
        cmocka_unit_test(test_a_total_that_the_fit_contradicts_is_marked_from_one_per_cent_on),
        cmocka_unit_test(test_figures_that_no_reading_decides_are_poor_if_they_are_all),
        cmocka_unit_test(test_throttling_is_fair_from_a_tenth_of_the_time_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
