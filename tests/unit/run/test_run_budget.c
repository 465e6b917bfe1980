/* Runs with a budget: what a program says of its steps decides what is traced of them, in this process and
 * below. */
#include "base/clock.h"
#include "format/dataset.h"
#include "format/rows/marks.h"

#include <joulemap/joulemap.h>

#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/joulemap-test-budget-XXXXXX";
static char path[96];

static int make_folder(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL) return -1;
    snprintf(path, sizeof path, "%s/r.joulemap", folder);
    setenv("JOULEMAP_NVML", JM_BUILD_DIR "/sim/libnvidia-ml.so.1", 1);
    setenv("JOULEMAP_SIM", "h200", 1);
    unsetenv("JOULEMAP_RUN");
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

static void do_span(const char *name)
{
    jm_span_end(jm_span_begin(JM_SPAN_NVTX, jm_name_intern(name), 0, 0));
}

static size_t count_spans(const jm__dataset *data, const char *name)
{
    size_t count = 0;
    for (size_t i = 0; i < data->span_count; i++)
        count += strcmp(jm__dataset_text(data, data->spans[i].name_id), name) == 0;
    return count;
}

static jm__dataset *stop_and_load(jm_run *run, jm_recording **recording)
{
    jm__dataset *data;
    jm_error err = {0};
    assert_int_equal(jm_run_stop(run, &err), JM_OK);
    jm_run_free(run);
    assert_int_equal(jm_recording_open(recording, path, &err), JM_OK);
    assert_int_equal(jm__dataset_load(&data, *recording, &err), JM_OK);
    return data;
}

/* Other threads' looks at the clock take 200 ns each in virtual time. So that they decide nothing, no sum of
 * steps is near a time at which the budget decides (10 ms, 20 ms, 1 s), and tracing has a cost of its own. */
#define STEP_NS    (53 * JM_NS_PER_MS / 10)
#define TRACING_NS (15 * JM_NS_PER_MS / 100)

static void do_steps(int count, const char *name)
{
    for (int i = 0; i < count; i++) {
        jm_span_id step = jm_span_begin(JM_SPAN_STEP, jm_name_intern(name), 0, 8);
        jm_span_id part = jm_span_begin(JM_SPAN_STEP, jm_name_intern("part"), 0, 0);
        do_span(jm_tracing_now() == JM_TRACING_STEPS ? "untraced" : "traced");
        jm__sleep_ns(jm_tracing_now() == JM_TRACING_STEPS ? STEP_NS : STEP_NS + TRACING_NS);
        jm_span_end(part);
        jm_span_end_counted(step, 0, 100);
    }
}

/* A run below that keeps the recorder's budget, or none since it says for itself what is traced. */
static int attached_main(bool says)
{
    jm_run *run;
    if (jm_run_start(&run, NULL, NULL) != JM_OK || !jm_run_attached(run)) return 10;
    if (says) jm_run_trace(run, JM_TRACING_ON);
    do_steps(250, "step");
    jm_run_free(run);
    return jm_tracing_now() == JM_TRACING_ON ? 0 : 11;
}

enum { RANKS = 4, RANK_STEPS = 800 };

/* In a file that all ranks have mapped: how many steps they have begun, all together. */
static _Atomic uint64_t *map_begun(bool create)
{
    char name[128];
    const uint64_t none = 0;
    snprintf(name, sizeof name, "%s/begun", create ? folder : getenv("BEGUN_DIR"));
    int fd = open(name, O_RDWR | (create ? O_CREAT | O_TRUNC : 0), 0600);
    assert_true(fd >= 0 && (!create || write(fd, &none, sizeof none) == (ssize_t)sizeof none));
    _Atomic uint64_t *begun = mmap(NULL, sizeof *begun, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    return begun;
}

/* A rank: each step that is traced has a span with its rank and number, and takes half as long again. */
static int rank_main(const char *rank)
{
    jm_run *run;
    setenv("WORLD_SIZE", "4", 1);
    setenv("LOCAL_RANK", rank, 1);
    setenv("MASTER_PORT", "29500", 1);
    if (jm_run_start(&run, NULL, NULL) != JM_OK || !jm_run_attached(run)) return 10;
    _Atomic uint64_t *begun = map_begun(false);
    for (uint32_t i = 1; i <= RANK_STEPS; i++) {
        atomic_fetch_add(begun, 1);
        while (atomic_load(begun) < (uint64_t)RANKS * i) /* as they do in a collective */
            jm__sleep_ns(JM_NS_PER_MS / 5);
        jm_span_id step = jm_span_begin(JM_SPAN_STEP, jm_name_intern("step"), 0, 8);
        jm_span_end(jm_span_begin(JM_SPAN_NVTX, jm_name_intern(rank), 0, i));
        jm__sleep_ns(jm_tracing_now() == JM_TRACING_STEPS ? 4 * JM_NS_PER_MS : 6 * JM_NS_PER_MS);
        jm_span_end(step);
    }
    jm_run_free(run);
    return 0;
}

static pid_t start_attached(const jm_run *run, const char *what)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        for (const char *const *variable = jm_run_environment(run); *variable != NULL; variable++)
            putenv(strdup(*variable));
        execl("/proc/self/exe", "test_run_budget", "--attached", what, (char *)NULL);
        _exit(99);
    }
    return pid;
}

static int wait_for(pid_t pid)
{
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int run_attached(const jm_run *run, const char *what)
{
    return wait_for(start_attached(run, what));
}

static size_t count_marks(const jm__dataset *data, const char *name)
{
    size_t count = 0;
    for (size_t i = 0; i < data->mark_count; i++)
        count += strcmp(jm__dataset_text(data, data->marks[i].name_id), name) == 0;
    return count;
}

/* Until the first time of steps alone: a second or more, of which every step is traced. */
static void assert_opening(const jm__dataset *data)
{
    int64_t first_ns = INT64_MAX, until_ns = INT64_MAX;
    size_t steps = 0;
    for (size_t i = 0; i < data->mark_count; i++)
        if (strcmp(jm__dataset_text(data, data->marks[i].name_id), JM_MARK_STEPS) == 0 &&
            data->marks[i].t_ns < until_ns)
            until_ns = data->marks[i].t_ns;
    for (size_t i = 0; i < data->span_count; i++) {
        const jm__span *span = &data->spans[i];
        if (strcmp(jm__dataset_text(data, span->name_id), "step") != 0 || span->start_ns >= until_ns)
            continue;
        steps++;
        if (span->start_ns < first_ns) first_ns = span->start_ns;
    }
    assert_true(until_ns != INT64_MAX && until_ns - first_ns > 950 * JM_NS_PER_MS);
    assert_true(steps >= 5 && count_spans(data, "traced") >= steps);
}

static void assert_within_a_budget(const jm__dataset *data, size_t steps)
{
    assert_int_equal(count_spans(data, "step"), steps);
    assert_int_equal(count_spans(data, "part"), steps);
    assert_opening(data);
    assert_true(count_spans(data, "traced") < steps);
    assert_int_equal(count_spans(data, "untraced"), 0);
    assert_true(count_marks(data, JM_MARK_STEPS) > 0);
    assert_true(count_marks(data, JM_MARK_TRACED) > 0);
    assert_int_equal(count_marks(data, JM_MARK_UNTRACED), 0);
    assert_int_equal(count_marks(data, JM_MARK_BUDGET), 1);
}

static void test_steps_of_a_run_are_traced_within_its_budget(void **state)
{
    (void)state;
    jm_recording *recording;
    jm_run *run;
    jm_run_options options = {
        .size = sizeof options, .path = path, .overwrite = true, .no_cpu = true, .budget = 0.01};
    assert_int_equal(jm_run_start(&run, &options, NULL), JM_OK);
    do_steps(250, "step");
    jm__dataset *data = stop_and_load(run, &recording);
    assert_string_equal(jm_recording_meta(recording, "budget_ppm"), "10000");
    assert_within_a_budget(data, 250);
    jm__dataset_free(data);
    jm_recording_close(recording);
    do_span("later"); /* nobody is asked any more */
}

/* In virtual time little is left to chance: a step more or less at each end of a burst. */
static void assert_near(size_t count, size_t expected, size_t off)
{
#ifdef __SANITIZE_THREAD__ /* in real time */
    off = expected;
#endif
    if (count + off < expected || count > expected + off) fail_msg("%zu, not %zu", count, expected);
}

/* Phases of a few steps each, one in another, and some of none, which stand for a step: each kind is told
 * from the others, also of phases that are over. */
static void do_phases(void)
{
    for (int i = 0; i < 60; i++) {
        jm_span_id outer = jm_span_begin(JM_SPAN_PHASE, jm_name_intern(i % 3 == 0 ? "warm" : "train"), 0, 0);
        jm_span_id inner = jm_span_begin(JM_SPAN_PHASE, jm_name_intern("epoch"), 0, 0);
        do_steps(5, "step");
        jm_span_end(i % 4 == 0 ? outer : inner); /* threads have theirs: they may end in any order */
        do_steps(2, "after");
        jm_span_end(i % 4 == 0 ? inner : outer);
        jm_span_id alone = jm_span_begin(JM_SPAN_PHASE, jm_name_intern("alone"), 0, 0);
        do_span(jm_tracing_now() == JM_TRACING_STEPS ? "untraced" : "traced alone");
        jm__sleep_ns(20 * JM_NS_PER_MS);
        jm_span_end(alone);
    }
}

static void test_phases_of_a_run_are_traced_within_its_budget(void **state)
{
    (void)state;
    jm_recording *recording;
    jm_run *run;
    jm_tracing_cost cost;
    jm_run_options options = {
        .size = sizeof options, .path = path, .overwrite = true, .no_cpu = true, .budget = 0.02};
    assert_int_equal(jm_run_start(&run, &options, NULL), JM_OK);
    do_phases();
    assert_true(jm_run_tracing_cost(run, &cost));
    jm__dataset *data = stop_and_load(run, &recording);
    assert_int_equal(count_spans(data, "step"), 300);
    assert_int_equal(count_spans(data, "after"), 120);
    assert_int_equal(cost.steps, 420);
    assert_near(count_spans(data, "traced"), 153, 4);
    assert_near(count_spans(data, "traced alone"), 22, 4);
    assert_near((size_t)cost.traced_steps, 150, 4);
    assert_near(count_marks(data, JM_MARK_STEPS), 2, 1);
    assert_near(count_marks(data, JM_MARK_TRACED), 2, 1);
    assert_true(cost.share < 0.02);
    jm__dataset_free(data);
    jm_recording_close(recording);
}

/* The recorder itself has no steps; a process that says for itself what is traced has no budget. */
static void test_processes_that_attach_keep_the_recorders_budget(void **state)
{
    (void)state;
    jm_recording *recording;
    jm_run *run;
    jm_run_options options = {
        .size = sizeof options, .path = path, .overwrite = true, .no_cpu = true, .child_budget = 0.01};
    assert_int_equal(jm_run_start(&run, &options, NULL), JM_OK);
    assert_int_equal(run_attached(run, "budget"), 0);
    jm__dataset *data = stop_and_load(run, &recording);
    assert_within_a_budget(data, 250);
    jm__dataset_free(data);
    jm_recording_close(recording);
    assert_int_equal(jm_run_start(&run, &options, NULL), JM_OK);
    assert_int_equal(run_attached(run, "own"), 0);
    data = stop_and_load(run, &recording);
    assert_int_equal(count_spans(data, "traced"), 250);
    assert_int_equal(count_marks(data, JM_MARK_STEPS) + count_marks(data, JM_MARK_BUDGET), 0);
    jm__dataset_free(data);
    jm_recording_close(recording);
}

static void find_traced(bool traced[RANKS][RANK_STEPS + 1], const jm__dataset *data)
{
    for (size_t i = 0; i < data->span_count; i++) {
        const char *name = jm__dataset_text(data, data->spans[i].name_id);
        if (strlen(name) == 1 && data->spans[i].samples <= RANK_STEPS)
            traced[name[0] - '0'][data->spans[i].samples] = true;
    }
}

/* They wait for each other: turns of each one's own would slow all of them down four times. */
static void test_ranks_of_a_job_take_their_bursts_together(void **state)
{
    (void)state;
    static const char *const ranks[RANKS] = {"0", "1", "2", "3"};
    static bool traced[RANKS][RANK_STEPS + 1];
    jm_recording *recording;
    jm_run *run;
    jm_run_options options = {
        .size = sizeof options, .path = path, .overwrite = true, .no_cpu = true, .child_budget = 0.2};
    pid_t pids[RANKS];
    int bursts = 0, untraced = 0, apart[RANKS] = {0};
    assert_int_equal(jm_run_start(&run, &options, NULL), JM_OK);
    _Atomic uint64_t *begun = map_begun(true);
    setenv("BEGUN_DIR", folder, 1);
    for (size_t i = 0; i < RANKS; i++)
        pids[i] = start_attached(run, ranks[i]);
    for (size_t i = 0; i < RANKS; i++)
        assert_int_equal(wait_for(pids[i]), 0);
    munmap(begun, sizeof *begun);
    jm__dataset *data = stop_and_load(run, &recording);
    find_traced(traced, data);
    jm__dataset_free(data);
    jm_recording_close(recording);
    for (size_t step = 1; step <= RANK_STEPS; step++) {
        bursts += traced[0][step] && !traced[0][step - 1];
        untraced += !traced[0][step];
        for (size_t i = 1; i < RANKS; i++)
            apart[i] += traced[i][step] != traced[0][step];
    }
    print_message("%d turns, %d steps untraced, other ranks differ in %d, %d, %d\n", bursts, untraced,
                  apart[1], apart[2], apart[3]);
    assert_true(bursts >= 2 && untraced > 100);
    for (size_t i = 1; i < RANKS; i++)
        assert_true(apart[i] <= 10); /* until the first is told, each ends its first turn by itself */
}

static void test_a_budget_is_a_share(void **state)
{
    (void)state;
    const double wrong[] = {-0.01, 1.01, 5, NAN};
    for (size_t i = 0; i < 8; i++) {
        jm_run *run;
        jm_error err = {0};
        jm_run_options options = {.size = sizeof options, .no_cpu = true};
        *(i < 4 ? &options.budget : &options.child_budget) = wrong[i % 4];
        assert_int_equal(jm_run_start(&run, &options, &err), JM_USAGE);
        assert_non_null(strstr(err.text, "a budget is a share of the program's time"));
        assert_non_null(strstr(err.hint, "0.01"));
        assert_int_equal(err.code, 0);
    }
}

static void *do_steps_of_a_thread(void *context)
{
    do_steps(40, context);
    return NULL;
}

/* Steps of threads overlap, and a child of fork goes on in the middle of one: nothing is waited for, and all
 * is recorded. */
static void test_steps_of_threads_and_of_a_forked_child_go_on_under_a_budget(void **state)
{
    (void)state;
    jm_recording *recording;
    jm_run *run;
    jm_run_options options = {
        .size = sizeof options, .path = path, .overwrite = true, .no_cpu = true, .budget = 0.01};
    assert_int_equal(jm_run_start(&run, &options, NULL), JM_OK);
    pthread_t threads[4];
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, do_steps_of_a_thread, (void *)(i % 2 ? "a" : "b")),
                         0);
    do_steps(250, "step");
    jm_span_id phase = jm_span_begin(JM_SPAN_PHASE, jm_name_intern("phase"), 0, 0);
    jm_span_id step = jm_span_begin(JM_SPAN_STEP, jm_name_intern("step"), 0, 8);
    pid_t child = fork();
    if (child == 0) {
        if (jm_tracing_now() != JM_TRACING_ON) _exit(1);
        jm_span_end(step);
        jm_span_end(phase);
        do_steps(10, "child");
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    jm_span_end(step);
    jm_span_end(phase);
    for (size_t i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    jm__dataset *data = stop_and_load(run, &recording);
    assert_int_equal(count_spans(data, "step"), 251);
    assert_int_equal(count_spans(data, "a") + count_spans(data, "b"), 160);
    assert_int_equal(count_spans(data, "child"), 10);
    jm__dataset_free(data);
    jm_recording_close(recording);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps_of_a_run_are_traced_within_its_budget),
        cmocka_unit_test(test_phases_of_a_run_are_traced_within_its_budget),
        cmocka_unit_test(test_processes_that_attach_keep_the_recorders_budget),
        cmocka_unit_test(test_ranks_of_a_job_take_their_bursts_together),
        cmocka_unit_test(test_a_budget_is_a_share),
        cmocka_unit_test(test_steps_of_threads_and_of_a_forked_child_go_on_under_a_budget),
    };
    if (argc == 3 && strcmp(argv[1], "--attached") == 0)
        return strlen(argv[2]) == 1 ? rank_main(argv[2]) : attached_main(strcmp(argv[2], "own") == 0);
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
