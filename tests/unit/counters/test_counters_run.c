/* Hardware counters in a recording: a run on the simulated board, with kernels of a fake libcupti, which is
 * also what its counters come from. */
#include "base/clock.h"
#include "format/dataset.h"
#include "format/rows/marks.h"
#include "told.h"

#include <joulemap/joulemap.h>

#include <dlfcn.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "fake_cupti/fake_cupti.h"

#define FAKE JM_BUILD_DIR "/tests/libfake_cupti_13.so"
#define CUDA JM_BUILD_DIR "/tests/fake_cuda/libcuda.so.1"

enum { TICK_MS = 10, METRICS = 23 };

static char folder[] = "/tmp/joulemap-test-counters-XXXXXX";
static char path[96];
static fake_call_function *fake_call;
static fake_run_function *fake_run;

static void *symbol(const char *library, int flags, const char *name)
{
    void *handle = dlopen(library, RTLD_NOW | flags);
    if (handle == NULL) fail_msg("%s", dlerror());
    return name == NULL ? handle : dlsym(handle, name);
}

/* The simulated board is the one that CUDA has. */
static void name_board(void)
{
    jm_inventory *inventory;
    assert_int_equal(jm_inventory_create(&inventory, "h200", NULL), JM_OK);
    setenv("FAKE_CUDA_UUID", jm_inventory_board(inventory, 0)->uuid, 1);
    jm_inventory_free(inventory);
}

static int set_up(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL) return -1;
    snprintf(path, sizeof path, "%s/r.joulemap", folder);
    setenv("JOULEMAP_NVML", JM_BUILD_DIR "/sim/libnvidia-ml.so.1", 1);
    setenv("JOULEMAP_SIM", "h200", 1);
    setenv("JOULEMAP_CUPTI", FAKE, 1);
    setenv("JOULEMAP_CUDA", CUDA, 1);
    unsetenv("JOULEMAP_RUN");
    name_board();
    symbol(CUDA, RTLD_GLOBAL, NULL);
    *(void **)&fake_call = symbol(FAKE, RTLD_LOCAL, "fake_call");
    *(void **)&fake_run = symbol(FAKE, RTLD_LOCAL, "fake_run");
    return fake_call == NULL || fake_run == NULL;
}

static int tear_down(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

static int64_t realtime_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * JM_NS_PER_S + now.tv_nsec;
}

static void work(int64_t length_ms)
{
    for (int64_t ms = 0; ms < length_ms; ms += TICK_MS) {
        fake_work kernel = {
            .name = "kernel", .context = 1, .stream = 7, .grid = {1, 1, 1}, .block = {32, 1, 1}};
        kernel.correlation = fake_call("cudaLaunchKernel_v7000");
        kernel.start_ns = realtime_ns();
        jm__sleep_ns(TICK_MS * JM_NS_PER_MS);
        kernel.end_ns = realtime_ns();
        fake_run(&kernel);
    }
}

static jm_run *start(double counters, bool kernels)
{
    jm_error err = {0};
    jm_run *run;
    const jm_run_options options = {.size = sizeof options,
                                    .path = path,
                                    .overwrite = true,
                                    .no_cpu = true,
                                    .kernels = kernels,
                                    .kernels_required = kernels,
                                    .counters = counters};
    if (jm_run_start(&run, &options, &err) != JM_OK) fail_msg("%s (%s)", err.text, err.hint);
    assert_null(jm_run_kernels_missing(run));
    return run;
}

static told_file end(jm_run *run)
{
    told_file t = {0};
    jm_error err = {0};
    assert_int_equal(jm_run_stop(run, NULL), JM_OK);
    jm_run_free(run);
    if (jm_recording_open(&t.recording, path, &err) != JM_OK ||
        jm__dataset_load(&t.dataset, t.recording, &err) != JM_OK ||
        told_read_blocks(&t.blocks, t.dataset, &err) != JM_OK)
        fail_msg("%s", err.text);
    return t;
}

static size_t count_words(const told_file *t)
{
    size_t count = 0;
    for (size_t i = 0; i < t->dataset->event_count; i++)
        count += t->dataset->events[i].kind == JM_EVENT_COUNTERS;
    return count;
}

static int64_t check_blocks(const told_file *t)
{
    int64_t samples = 0;
    for (size_t i = 0; i < t->blocks.count; i++) {
        const jm__counter_block *block = &t->blocks.items[i];
        assert_true(block->data.size <= JM_COUNTER_BLOCK_BYTES_MAX);
        for (int64_t k = 0; k < block->count; k++, samples++) {
            jm__counter_sample s;
            jm__counter_block_sample(block, METRICS, k, &s);
            for (int m = 0; m < METRICS; m++)
                assert_true(s.values[m] == s.values[0] + m);
            assert_int_equal(s.end_ns - s.start_ns, JM_NS_PER_MS);
            assert_true(s.start_ns > t->dataset->start_ns && s.end_ns < t->dataset->end_ns + JM_NS_PER_S);
        }
    }
    return samples;
}

static void check_sampled(double seconds_a_minute)
{
    jm_run *run = start(seconds_a_minute, true);
    work(3500);
    told_file t = end(run);
    assert_int_equal(count_words(&t), 0);
    assert_int_equal(t.dataset->counters.set_count, 1);
    assert_int_equal(t.dataset->counters.sets[0].board_id, t.dataset->boards[0].id);
    assert_int_equal(t.dataset->counters.sets[0].metric_count, METRICS);
    assert_true(check_blocks(&t) > 100);
    assert_non_null(strstr(jm_recording_meta(t.recording, "counters_1"), "GH100: 23 metrics"));
    told_close(&t);
}

static void test_a_recording_with_kernels_holds_samples_of_counters(void **state)
{
    (void)state;
    check_sampled(0);
    check_sampled(60);
}

static int64_t samples_within(const told_file *t, int64_t from_ns, int64_t to_ns)
{
    int64_t samples = 0;
    for (size_t i = 0; i < t->blocks.count; i++) {
        const jm__counter_block *block = &t->blocks.items[i];
        for (int64_t k = 0; k < block->count; k++) {
            jm__counter_sample s;
            jm__counter_block_sample(block, METRICS, k, &s);
            samples += s.start_ns >= from_ns && s.end_ns <= to_ns;
        }
    }
    return samples;
}

/* Samples of work that nobody traces tell nothing; a turn that is told has them from its beginning. */
static void test_bursts_are_sampled_where_a_program_is_traced_in_bursts(void **state)
{
    (void)state;
    jm_run *run = start(0, true);
    work(300);
    jm_run_trace(run, JM_TRACING_STEPS);
    int64_t untraced_ns = jm_now_ns();
    work(2000);
    int64_t told_ns = jm_now_ns();
    jm_mark(JM_MARK_SOON, NULL);
    work(1000);
    int64_t burst_ns = jm_now_ns();
    jm_run_trace(run, JM_TRACING_ON);
    work(400);
    jm_run_trace(run, JM_TRACING_STEPS);
    int64_t over_ns = jm_now_ns();
    work(2000);
    told_file t = end(run);
    int64_t in_burst = samples_within(&t, burst_ns, over_ns), all = samples_within(&t, 0, INT64_MAX);
    print_message("%lld samples, %lld of them in the turn\n", (long long)all, (long long)in_burst);
    assert_int_equal(samples_within(&t, untraced_ns + JM_NS_PER_S, told_ns), 0);
    assert_true(in_burst > 300);
    assert_int_equal(samples_within(&t, over_ns + JM_NS_PER_S, INT64_MAX), 0);
    told_close(&t);
}

static void test_there_are_none_unless_kernels_are_traced_or_they_are_queried_for(void **state)
{
    (void)state;
    for (int traced = 0; traced < 2; traced++) {
        jm_run *run = start(traced ? -1 : 0, traced);
        work(1500);
        told_file t = end(run);
        assert_int_equal(count_words(&t), 0);
        assert_int_equal(t.dataset->counters.set_count, 0);
        assert_null(jm_recording_meta(t.recording, "counters_1"));
        told_close(&t);
    }
}

static void test_a_report_says_why_there_are_none(void **state)
{
    (void)state;
    setenv("FAKE_PM_ERROR", "cuptiPmSamplingGetCounterAvailability=35", 1);
    jm_run *run = start(0, true);
    work(1500);
    told_file t = end(run);
    assert_int_equal(count_words(&t), 1);
    jm_report *report;
    assert_int_equal(jm_report_create(&report, t.recording, NULL, NULL), JM_OK);
    const char *note = NULL;
    for (size_t i = 0; i < jm_report_note_count(report); i++)
        if (strstr(jm_report_note(report, i), "hardware counters") != NULL) {
            assert_null(note);
            assert_false(jm_report_note_is_essential(report, i));
            note = jm_report_note(report, i);
        }
    assert_non_null(note);
    assert_non_null(strstr(note, "NVreg_RestrictProfilingToAdminUsers=0"));
    jm_report_free(report);
    told_close(&t);
    unsetenv("FAKE_PM_ERROR");
}

static void test_a_fork_of_the_program_leaves_them_alone(void **state)
{
    (void)state;
    jm_run *run = start(60, true);
    work(3500);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(20);
        jm_run_stop(run, NULL);
        jm_run_free(run);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    int64_t after_ns = jm__now_ns();
    work(500);
    told_file t = end(run);
    assert_int_equal(count_words(&t), 0);
    assert_true(check_blocks(&t) > 100);
    assert_true(t.blocks.items[t.blocks.count - 1].end_ns > after_ns);
    told_close(&t);
}

static void test_a_helper_that_dies_in_the_middle_leaves_what_it_gave(void **state)
{
    (void)state;
    setenv("FAKE_PM_OVERFLOW", "5", 1); /* at the fifth decode it stops and starts again */
    setenv("FAKE_PM_CRASH", "cuptiPmSamplingStop", 1);
    jm_run *run = start(60, true);
    work(3500);
    told_file t = end(run);
    assert_int_equal(count_words(&t), 1);
    assert_true(check_blocks(&t) > 100);
    assert_true(t.dataset->reading_count > 0);
    told_close(&t);
    unsetenv("FAKE_PM_OVERFLOW");
    unsetenv("FAKE_PM_CRASH");
}

static void test_kernels_of_a_run_that_traces_at_times_are_those_of_the_traced_time(void **state)
{
    (void)state;
    enum { TRACED = 5 };
    jm__kernel_run kernels[4 * TRACED];
    jm_run *run = start(-1, true);
    jm_run_trace(run, JM_TRACING_OFF);
    work(20 * TICK_MS);
    jm_run_trace(run, JM_TRACING_ON);
    work(TRACED * TICK_MS);
    jm_run_trace(run, JM_TRACING_OFF);
    work(20 * TICK_MS);
    told_file t = end(run);
    t.kernels = kernels;
    t.kernels_max = sizeof kernels / sizeof *kernels;
    assert_int_equal(told_read_kernels(&t, NULL), JM_OK);
    assert_int_equal(t.kernel_count, TRACED);
    assert_int_equal(t.dataset->loss_count, 0);
    told_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_recording_with_kernels_holds_samples_of_counters),
        cmocka_unit_test(test_bursts_are_sampled_where_a_program_is_traced_in_bursts),
        cmocka_unit_test(test_there_are_none_unless_kernels_are_traced_or_they_are_queried_for),
        cmocka_unit_test(test_a_report_says_why_there_are_none),
        cmocka_unit_test(test_a_fork_of_the_program_leaves_them_alone),
        cmocka_unit_test(test_a_helper_that_dies_in_the_middle_leaves_what_it_gave),
        cmocka_unit_test(test_kernels_of_a_run_that_traces_at_times_are_those_of_the_traced_time),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
