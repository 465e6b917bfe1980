/* A run in parts, in virtual time: sampler, collector and simulated board at work, and the same rows go into
 * one file beside. What the parts say together is what that says; what is asked while it runs is right, too.
 */
#define FIGURES_NOT_KEPT /* threads of a run: it ends a moment sooner or later */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "record/run/inside.h"
#include "rotated.h"
#include "virtual_time.h"

#include <joulemap/span.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum { SECONDS = 200, PART_S = 60, HANG_CODE = 77, HANG_REAL_S = 300, STEP_MS = 250 };

/* What the run saw of itself, for the test. */
typedef struct seen {
    int paths;
    double window_j; /* of a window over the second cut, asked for right after it */
    int64_t window_from_ns, window_to_ns;
    double live_end_s; /* where a report made then ended, before its time */
} seen;

static seen *all;

static void check(bool so, const char *what)
{
    if (so) return;
    fprintf(stderr, "not so: %s\n", what);
    _exit(1);
}

static void work(int64_t until_ns)
{
    while (jm_now_ns() < until_ns) {
        jm_span_id step = jm_span_begin(JM_SPAN_STEP, jm_name_intern("step"), 0, 4);
        jm_span_id layer = jm_span_begin(JM_SPAN_FORWARD, jm_name_intern("layer"), 0, 0);
        jm__sleep_ns((STEP_MS - 50) * JM_NS_PER_MS);
        jm_span_end(layer);
        jm__sleep_ns(50 * JM_NS_PER_MS);
        jm_span_end(step);
    }
}

static void look(jm_run *run, int64_t start_ns)
{
    jm_error err;
    jm_recording *recording;
    jm_report *report;
    jm_sum sum;
    all->window_from_ns = start_ns + (2 * PART_S - 10) * JM_NS_PER_S;
    all->window_to_ns = start_ns + (2 * PART_S + 20) * JM_NS_PER_S;
    check(jm_run_flush(run, 5000, &err) == JM_OK, "the recorder catches up");
    check(jm_run_recording(run, &recording, &err) == JM_OK, "there is a recording");
    check(jm_recording_energy(recording, 0, all->window_from_ns, all->window_to_ns, &sum, &err) == JM_OK,
          "a window over a cut has joules");
    all->window_j = sum.energy_j;
    check(jm_report_create(&report, recording, NULL, &err) == JM_OK, "there is a report");
    all->live_end_s = jm_report_totals_get(report)->duration_s;
    jm_report_free(report);
}

/* The run's rows go there too: a recording in one part. */
static jm__writer *open_whole(void)
{
    jm_error err;
    jm__writer *writer;
    const jm__rotation_wanted never = {1e6, 0, 0};
    check(jm__writer_create_parts(&writer, whole_path, false, &never, &err) == JM_OK, "the other file");
    return writer;
}

static void run_inside(void)
{
    jm_run *run;
    jm_error err = {0};
    char last[200] = "";
    alarm(HANG_REAL_S);
    virtual_time_start(1000 * JM_NS_PER_S, HANG_CODE);
    jm__writer *whole = open_whole();
    const jm__row_sink sink = jm__row_sink_of_writer(whole);
    const jm_run_options options = {.size = sizeof options,
                                    .path = base_path,
                                    .sim = "h200",
                                    .no_cpu = true,
                                    .counters = -1,
                                    .rotate_s = PART_S};
    if (jm__run_start_with(&run, &options, &sink, 1, &err) != JM_OK) check(false, err.text);
    int64_t start_ns = jm_now_ns();
    jm_span_id phase = jm_span_begin(JM_SPAN_PHASE, jm_name_intern("train"), 0, 0);
    for (int second = 1; second <= SECONDS; second++) {
        work(start_ns + second * JM_NS_PER_S);
        if (second == 2 * PART_S + 22) look(run, start_ns);
        if (strcmp(last, jm_run_path(run)) != 0) all->paths++;
        snprintf(last, sizeof last, "%s", jm_run_path(run));
    }
    jm_span_end(phase);
    if (jm_run_stop(run, &err) != JM_OK) check(false, err.text);
    jm_run_free(run);
    check(jm__writer_close(whole, &err) == JM_OK, "the other file is closed");
    _exit(0);
}

static int set_up(void **state)
{
    if (rotated_set_up(state) != 0) return -1;
    setenv("JOULEMAP_NVML", JM_BUILD_DIR "/sim/libnvidia-ml.so.1", 1);
    unsetenv("JOULEMAP_RUN");
    all = mmap(NULL, sizeof *all, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) run_inside();
    int how = -1;
    if (waitpid(child, &how, 0) != child) return -1;
    snprintf(whole_path, sizeof whole_path, "%s/whole.0001.joulemap", folder);
    return WIFEXITED(how) && WEXITSTATUS(how) == 0 ? 0 : -1;
}

static void test_parts_have_the_time_that_was_asked_for(void **state)
{
    (void)state;
    assert_int_equal(rotated_count(), (SECONDS + PART_S - 1) / PART_S);
    assert_int_equal(all->paths, rotated_count());
    for (int part = 1; part < rotated_count(); part++)
        assert_int_equal(rotated_ask(part,
                                     "SELECT e.value - s.value FROM meta e, meta s WHERE e.key = 'end_ns' "
                                     "AND s.key = 'start_ns'"),
                         PART_S * JM_NS_PER_S);
}

/* Late stamps of the ring go back to its grid ten by ten, counted from a file's first reading
 * (attribute/input/ring_grid.c): at a cut, by some microseconds of 400 W else than in the whole. */
static const double grid_j = 1e-3;

static void test_sums_over_parts_are_those_of_the_run(void **state)
{
    (void)state;
    static const jm_by keys[] = {JM_BY_BOARD, JM_BY_LAYER, JM_BY_PHASE};
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
        sums whole = sums_of(whole_path, keys[k]), parts = rotated_sums(keys[k]);
        print_message("%s: %.6f J in %.6f s, %lld steps, %lld calls; in parts %.6f J in %.6f s, %lld, %lld\n",
                      jm_by_text(keys[k]), whole.energy_j, whole.seconds, (long long)whole.steps,
                      (long long)whole.calls, parts.energy_j, parts.seconds, (long long)parts.steps,
                      (long long)parts.calls);
        assert_true(fabs(parts.energy_j - whole.energy_j) < grid_j);
        assert_true(fabs(parts.seconds - whole.seconds) < 1e-6);
        assert_int_equal(parts.steps, whole.steps);
        assert_int_equal(parts.samples, whole.samples);
        assert_int_equal(parts.calls, whole.calls);
    }
}

static void test_windows_over_a_cut_have_all_of_their_joules(void **state)
{
    (void)state;
    double window_j = energy_of(whole_path, all->window_from_ns, all->window_to_ns);
    print_message("%.6f J while it ran, %.6f J of the whole\n", all->window_j, window_j);
    assert_true(fabs(all->window_j - window_j) < 1e-6);
    assert_true(fabs(energy_of(rotated_path(rotated_count()), all->window_from_ns, all->window_to_ns) -
                     window_j) < 1e-6);
    assert_true(all->live_end_s > 21 && all->live_end_s < 23); /* the cut was made, seven seconds before */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts_have_the_time_that_was_asked_for),
        cmocka_unit_test(test_sums_over_parts_are_those_of_the_run),
        cmocka_unit_test(test_windows_over_a_cut_have_all_of_their_joules),
    };
    return cmocka_run_group_tests(tests, set_up, rotated_tear_down);
}
