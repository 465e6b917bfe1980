/* What gaps draw, out of a suite whose truth is known: rest, bursts and gaps, and work that nobody traced
 * around them. */
#include "base/status.h"
#include "calibrate/idle.h"
#include "calibrate/training_set.h"
#include "synthetic.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "figures.h"

static const double rest_w = 100, gap_w = 140, noise_w = 4;

/* Times, s: work of 500 W, rest, the suite, work, rest. */
static const int64_t begin_s = 10, first_rest_s = 12, suite_s = 15, work_s = 19, last_rest_s = 20, end_s = 23;

typedef struct scene {
    synthetic *s;
    jm__training_set training_set;
    double gaps_s; /* between bursts */
} scene;

/* Kernels of the first `kept` classes are traced; what the others draw, the board still drew. */
static void trace(synthetic *s, int64_t kept)
{
    size_t count = 0;
    for (size_t i = 0; i < s->kernels.count; i++)
        if (s->kernels.items[i].class_id <= kept) s->kernels.items[count++] = s->kernels.items[i];
    s->kernels.count = count;
}

/* Bursts of 3 to 15 ms of two kernels in turn, after gaps of 2 to 12 ms, and now and then of 0.3 ms, in which
 * the board draws gap_w. Windows of bursts begin `early_ns` before their kernels. */
static double play(synthetic *s, int64_t gap_class, int64_t early_ns, int64_t *ended_ns)
{
    int64_t now = suite_s * JM_NS_PER_S, gaps_ns = 0;
    for (size_t n = 0;; n++) {
        bool is_short = n % 10 == 9;
        int64_t gap_ns = is_short ? 300000 : (int64_t)(2e6 + 10e6 * syn_uniform(s));
        int64_t end_ns = now + gap_ns + (int64_t)(3e6 + 12e6 * syn_uniform(s));
        if (end_ns > work_s * JM_NS_PER_S) break;
        if (n > 0 && !is_short) gaps_ns += gap_ns;
        syn_kernel(s, gap_class, 0, 0, now, now + gap_ns);
        syn_kernel(s, 1 + (int64_t)(n % 2), 0, 0, now + gap_ns, end_ns);
        syn_span(s, JM_SPAN_WINDOW, n % 2 == 0 ? "mm/a" : "copy/b", "", 1,
                 now + gap_ns - (early_ns < gap_ns ? early_ns : 0), end_ns, 100);
        now = end_ns;
    }
    syn_kernel(s, 3, 0, 0, now, last_rest_s * JM_NS_PER_S);
    *ended_ns = now;
    return (double)gaps_ns * 1e-9;
}

/* `traced`: the suite's kernels and the work around it, so that bursts need not be exact; `rests`: phases of
 * it are told. */
static scene *make(uint64_t seed, bool traced, bool rests)
{
    scene *made = calloc(1, sizeof *made);
    synthetic *s = made->s = syn_create(seed, 2, 5000);
    s->idle_w = rest_w;
    s->noise_w = noise_w;
    syn_class(s, "mm", 1, 600);
    syn_class(s, "copy", 2, 350);
    syn_class(s, "setup", 3, 500);
    int64_t gap_class = syn_class(s, "gap", 4, gap_w);
    int64_t ended_ns;
    const int64_t from_s[] = {first_rest_s, last_rest_s}, to_s[] = {suite_s, end_s};
    for (size_t i = 0; i < 2; i++)
        syn_span(s, JM_SPAN_PHASE, rests ? "idle" : "lunch", "", 0, from_s[i] * JM_NS_PER_S,
                 to_s[i] * JM_NS_PER_S, 100);
    syn_kernel(s, 3, 0, 0, begin_s * JM_NS_PER_S, first_rest_s * JM_NS_PER_S);
    made->gaps_s = play(s, gap_class, traced ? JM_NS_PER_MS : 0, &ended_ns);
    syn_span(s, JM_SPAN_PHASE, "suite", "", 0, suite_s * JM_NS_PER_S, ended_ns, 100);
    syn_kernel(s, 1, 1, 0, first_rest_s * JM_NS_PER_S, suite_s * JM_NS_PER_S); /* on another board */
    syn_measure(s, 0, begin_s * JM_NS_PER_S, end_s * JM_NS_PER_S);
    syn_finish(s);
    trace(s, traced ? 3 : 0);

    jm__training_set *l = &made->training_set;
    jm_error err = {0};
    *l = (jm__training_set){.dataset = &s->dataset,
                            .board = &s->boards[0],
                            .sensor = &s->sensors[0],
                            .rates = {.file = -1},
                            .work = {.file = -1}};
    if (jm__suite_phase(l, "suite", &err) != JM_OK) fail_msg("%s", err.text);
    if (jm__suite_bursts(l, "suite", &err) != JM_OK) fail_msg("%s", err.text);
    l->recorded = calloc(s->dataset.reading_count + 1, sizeof *l->recorded);
    for (size_t i = 0; i < s->dataset.reading_count; i++)
        if (s->readings[i].sensor_id == l->sensor->id) l->recorded[l->recorded_count++] = s->readings[i];
    return made;
}

static void drop(scene *made)
{
    jm__training_set_free(&made->training_set);
    syn_free(made->s);
    free(made);
}

static jm__board_model learn(const scene *made)
{
    jm__board_model model = {.noise_w = NAN};
    jm_error err = {0};
    if (jm__idle_learn(&model, &made->training_set, &err) != JM_OK) fail_msg("%s", err.text);
    for (size_t i = 0; i < JM_IDLE_STATES; i++) {
        const jm__model_idle *idle = &model.idle[i];
        figures_keep(__BASE_FILE__, NULL, (double[]){idle->power_w, idle->u_w, idle->seconds}, 3, 0);
    }
    figures_keep(__BASE_FILE__, NULL, &model.noise_w, 1, 0);
    return model;
}

static void assert_state(const jm__model_idle *idle, double power_w, double most_u_w, double seconds)
{
    print_message("%.1f +-%.2f W for %.2f s (%.0f W for %.2f s)\n", idle->power_w, idle->u_w, idle->seconds,
                  power_w, seconds);
    assert_true(idle->u_w > 0 && idle->u_w < most_u_w);
    assert_true(fabs(idle->power_w - power_w) < 3 * idle->u_w);
    assert_true(fabs(idle->seconds - seconds) < 0.03); /* the gap before the first burst ends with the rest */
}

/* 300 readings of 4 W tell a mean to 0.25 W, and no worse than four times that; the noise of so many is told
 * to 4 %, and to 13 % by three standard errors. Gaps of 2 to 12 ms beside work of 600 W are told to some
 * watts, and to no worse than 7.5 %, or they are not told. */
static void test_gaps_and_rest_of_a_suite_are_told(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed++)
        for (int traced = 0; traced < 2; traced++) {
            scene *made = make(seed, traced, true);
            jm__board_model model = learn(made);
            assert_state(&model.idle[JM_IDLE_LONG], rest_w, 0.01 * rest_w, 6);
            assert_state(&model.idle[JM_IDLE_20_MS], gap_w, 0.075 * gap_w, made->gaps_s);
            assert_true(fabs(model.noise_w / noise_w - 1) < 0.13);
            assert_true(model.idle[JM_IDLE_BEFORE].u_w == 0);
            drop(made);
        }
}

/* Neither gaps that there were none of or a few ms in all, nor rest outside of what is known. */
static void test_what_a_recording_does_not_show_stays_unknown(void **state)
{
    (void)state;
    for (int traced = 0; traced < 2; traced++) {
        scene *made = make(7, traced, false);
        jm__board_model model = learn(made);
        assert_true(model.idle[JM_IDLE_20_MS].u_w > 0);
        assert_true(model.idle[JM_IDLE_50_US].u_w == 0 && model.idle[JM_IDLE_1_MS].u_w == 0);
        assert_true(model.idle[JM_IDLE_LONG].u_w == 0 && isnan(model.noise_w));
        drop(made);
    }
}

/* A board that cooled by 10 W between one rest and the other has no more noise for it. */
static void test_a_board_that_cooled_has_no_more_noise(void **state)
{
    (void)state;
    scene *made = make(3, false, true);
    for (size_t i = 0; i < made->training_set.recorded_count; i++)
        if (made->training_set.recorded[i].t_ns > work_s * JM_NS_PER_S)
            made->training_set.recorded[i].value -= 10;
    jm__board_model model = learn(made);
    assert_true(fabs(model.noise_w / noise_w - 1) < 0.13);
    assert_true(fabs(model.idle[JM_IDLE_LONG].power_w - (rest_w - 5)) < 3);
    drop(made);
}

static void test_without_readings_nothing_is_told(void **state)
{
    (void)state;
    scene *made = make(3, true, true);
    made->training_set.recorded_count = 0;
    jm__board_model model = learn(made);
    assert_false(jm__model_has_idle(&model));
    assert_true(isnan(model.noise_w));
    drop(made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gaps_and_rest_of_a_suite_are_told),
        cmocka_unit_test(test_what_a_recording_does_not_show_stays_unknown),
        cmocka_unit_test(test_a_board_that_cooled_has_no_more_noise),
        cmocka_unit_test(test_without_readings_nothing_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
