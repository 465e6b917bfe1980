/* Hardware counters, from a fake libcupti through joulemap-counters to the sink of a run: what it samples is
 * what arrives, and whatever is wrong with it is said once and stands in nobody's way. */
#include "base/clock.h"
#include "record/counters/helper.h"
#include "record/counters/source.h"

#include <dirent.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define FAKE(name) JM_BUILD_DIR "/tests/libfake_cupti_" name ".so"
#define CUDA       JM_BUILD_DIR "/tests/fake_cuda/libcuda.so.1"

/* A run waits a second for samples and a fifth for its helpers; the rest is for a busy machine. */
#define LATE_NS (4 * JM_NS_PER_S)

enum { BOARD = 7, STREAM = 3, CLASS = 5, TICK_MS = 20, GH100_METRICS = 23 };

/* ---- a helper that is none: this program again */

static void send_samples(int64_t start_ns, int64_t count)
{
    static jm__counter_sample samples[1000];
    static unsigned char block[JM_COUNTER_BLOCK_BYTES_MAX];
    for (int64_t i = 0; i < count; i++)
        samples[i] = (jm__counter_sample){.start_ns = start_ns, .end_ns = start_ns + 1};
    const jm__frame_samples head = {start_ns, start_ns + 1, count};
    jm__counter_block_pack(block, start_ns, samples, count, 1);
    if (!jm__frame_send(1, JM_FRAME_SAMPLES, &head, sizeof head, block, jm__counter_block_size(count, 1)))
        _exit(0);
}

static void say_hello(const char *texts, size_t size, int64_t metrics)
{
    const jm__frame_hello hello = {.metric_count = metrics, .period_ns = 1};
    jm__frame_send(1, JM_FRAME_HELLO, &hello, sizeof hello, texts, size);
}

static int be_a_false_helper(const char *how)
{
    static const char texts[] = "CHIP\0metric\0count";
    char command;
    if (strcmp(how, "garbage") == 0) return write(1, "this is not a frame, is it? no.\n", 29) == 29 ? 0 : 1;
    if (strcmp(how, "silent") == 0)
        for (;;)
            pause();
    if (strcmp(how, "huge") == 0) say_hello(texts, sizeof texts, INT64_MAX);
    if (strcmp(how, "cut") == 0) say_hello(texts, sizeof texts - 1, 1);
    if (strcmp(how, "control") == 0) say_hello("CHIP\0me\033c\0count", 16, 1);
    if (strcmp(how, "early") == 0) send_samples(jm__now_ns(), 1);
    say_hello(texts, sizeof texts, 1);
    if (read(0, &command, 1) != 1) return 1;
    jm__frame_send(1, JM_FRAME_STARTED, NULL, 0, NULL, 0);
    if (strcmp(how, "old") == 0) send_samples(1, 1);
    if (strcmp(how, "unasked") == 0) jm__frame_send(1, JM_FRAME_STOPPED, NULL, 0, NULL, 0);
    while (strcmp(how, "flood") == 0)
        send_samples(jm__now_ns(), 1000);
    for (;;)
        pause();
}

/* ---- a sink */

static struct {
    pthread_mutex_t lock;
    jm__counter_set set; /* the last one */
    int64_t sets, events, facts, samples, blocks;
    int64_t on, off; /* samplers that came and went */
    json_t *metrics, *units;
    jm__event event; /* the last one */
    char fact[256];
    jm__counter_sample all[20000];
} got;

static int64_t take_set(void *context, const jm__counter_set *set)
{
    (void)context;
    pthread_mutex_lock(&got.lock);
    got.set = *set;
    got.sets++;
    json_decref(got.metrics);
    json_decref(got.units);
    got.metrics = json_loads(set->metrics, 0, NULL);
    got.units = json_loads(set->units, 0, NULL);
    pthread_mutex_unlock(&got.lock);
    return got.sets;
}

static void take_block(void *context, const jm__counter_block *block)
{
    (void)context;
    pthread_mutex_lock(&got.lock);
    assert_int_equal(block->set_id, got.sets);
    assert_true(jm__counter_block_is_sound(block, got.set.metric_count));
    for (int64_t i = 0; i < block->count; i++)
        jm__counter_block_sample(block, got.set.metric_count, i, &got.all[got.samples++ % 20000]);
    got.blocks++;
    pthread_mutex_unlock(&got.lock);
}

static void take_any_block(void *context, const jm__counter_block *block)
{
    (void)context;
    (void)block;
}

static void take_event(void *context, const jm__event *event)
{
    (void)context;
    pthread_mutex_lock(&got.lock);
    if (event->kind == JM_EVENT_SAMPLING) {
        got.on += event->value != 0;
        got.off += event->value == 0;
    } else {
        got.event = *event;
        got.events++;
    }
    pthread_mutex_unlock(&got.lock);
}

static void take_fact(void *context, const char *key, const char *value)
{
    (void)context;
    (void)key;
    snprintf(got.fact, sizeof got.fact, "%s", value);
    got.facts++;
}

/* ---- a run */

static char uuid[64];
static jm__counter_source *source;
static jm_board board;
static jm__counter_options options;

static int set_up(void **state)
{
    (void)state;
    got.sets = got.events = got.facts = got.samples = got.blocks = got.on = got.off = 0;
    got.event.text[0] = got.fact[0] = '\0';
    board = (jm_board){.id = BOARD, .backend = "nvml", .cuda_index = 0};
    snprintf(board.uuid, sizeof board.uuid, "%s", uuid);
    options = (jm__counter_options){.seconds_a_minute = 60, .traced = true};
    setenv("JOULEMAP_CUPTI", FAKE("13"), 1);
    setenv("JOULEMAP_CUDA", CUDA, 1);
    setenv("FAKE_CUDA_UUID", uuid, 1);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    static const char *const variables[] = {
        "FAKE_PM_ERROR",    "FAKE_PM_HANG",    "FAKE_PM_CRASH", "FAKE_PM_METRICS", "FAKE_PM_UNKNOWN",
        "FAKE_PM_OVERFLOW", "FAKE_PM_NO_TIME", "FAKE_PM_CHIP",  "FAKE_PM_TAKEN",   "FALSE_HELPER"};
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++)
        unsetenv(variables[i]);
    return 0;
}

static void begin(void)
{
    const jm__counter_sink sink = {
        .set = take_set, .block = take_block, .event = take_event, .fact = take_fact};
    jm_error err = {0};
    if (jm__counter_source_create(&source, &options, &board, 1, &sink, &err) != JM_OK)
        fail_msg("%s", err.text);
    jm__counter_source_stream(source, &(jm__stream){.id = STREAM, .process_id = 1, .board_id = BOARD});
}

/* The board is busy with one kernel after the other, for that long or until `enough`. */
static void work_until(int64_t most_ms, bool (*enough)(void))
{
    for (int64_t ms = 0; ms < most_ms && (enough == NULL || !enough()); ms += TICK_MS) {
        int64_t now_ns = jm__now_ns();
        const jm__kernel kernel = {.start_ns = now_ns - TICK_MS * JM_NS_PER_MS,
                                   .end_ns = now_ns,
                                   .class_id = CLASS,
                                   .stream_id = STREAM};
        jm__counter_source_kernels(source, &kernel, 1);
        jm__sleep_ns(TICK_MS * JM_NS_PER_MS);
    }
}

static int64_t end(void)
{
    int64_t begin_ns = jm__now_ns();
    jm__counter_source_stop(source);
    jm__counter_source_free(source);
    return jm__now_ns() - begin_ns;
}

/* Processes that were started for this test's board. */
static int count_helpers(void)
{
    char name[300], line[4096];
    int count = 0;
    DIR *folder = opendir("/proc");
    assert_non_null(folder);
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        if (entry->d_name[0] < '0' || entry->d_name[0] > '9') continue;
        snprintf(name, sizeof name, "/proc/%s/cmdline", entry->d_name);
        int fd = open(name, O_RDONLY | O_CLOEXEC);
        ssize_t length = fd < 0 ? 0 : read(fd, line, sizeof line - 1);
        if (fd >= 0) close(fd);
        if (length > 0 && memmem(line, (size_t)length, uuid, strlen(uuid)) != NULL) count++;
    }
    closedir(folder);
    return count;
}

static void assert_no_helper_is_left(void)
{
    for (int tries = 0; count_helpers() > 0; tries++) {
        if (tries == 200) fail_msg("%d helpers are left", count_helpers());
        jm__sleep_ns(10 * JM_NS_PER_MS);
    }
}

static bool has_event(void)
{
    pthread_mutex_lock(&got.lock);
    bool has = got.events > 0;
    pthread_mutex_unlock(&got.lock);
    return has;
}

static bool has_samples(void)
{
    pthread_mutex_lock(&got.lock);
    bool has = got.samples > 0;
    pthread_mutex_unlock(&got.lock);
    return has;
}

static bool has_many_samples(void)
{
    pthread_mutex_lock(&got.lock);
    bool has = got.samples > 500;
    pthread_mutex_unlock(&got.lock);
    return has;
}

/* ---- what is sampled arrives */

static void check_samples(int64_t from_ns, int64_t to_ns, int64_t metrics)
{
    for (int64_t i = 0; i < got.samples; i++) {
        const jm__counter_sample *s = &got.all[i], *first = &got.all[0];
        double number = s->values[0] / 1000;
        assert_true(number == (double)i); /* none is missing, none comes twice */
        for (int64_t k = 0; k < metrics; k++)
            assert_true(s->values[k] == 1000 * number + (double)k);
        assert_int_equal(s->end_ns - s->start_ns, JM_NS_PER_MS);
        assert_true(s->start_ns >= from_ns - 2 * JM_NS_PER_MS && s->end_ns <= to_ns + 2 * JM_NS_PER_MS);
        assert_true(fabs((double)(s->start_ns - first->start_ns) - number * 1e6) < 2e6);
    }
}

static void test_each_sample_arrives_with_its_time_and_values(void **state)
{
    (void)state;
    int64_t from_ns = jm__now_ns();
    begin();
    work_until(20000, has_many_samples);
    int64_t to_ns = jm__now_ns();
    end();
    assert_int_equal(got.events, 0);
    assert_int_equal(got.on, 1);
    assert_int_equal(got.off, 1); /* once all was sent: the board draws more until then */
    assert_int_equal(got.sets, 1);
    assert_int_equal(got.set.board_id, BOARD);
    assert_int_equal(got.set.metric_count, GH100_METRICS);
    assert_int_equal(got.set.period_ns, JM_NS_PER_MS);
    assert_int_equal(json_array_size(got.metrics), GH100_METRICS);
    assert_int_equal(json_array_size(got.units), GH100_METRICS);
    assert_string_equal(json_string_value(json_array_get(got.metrics, 0)),
                        "TPC.TriageCompute.sm__inst_executed_realtime.sum");
    assert_string_equal(json_string_value(json_array_get(got.units, 0)), "count");
    assert_true(got.samples > 500);
    check_samples(from_ns, to_ns + JM_NS_PER_S, GH100_METRICS);
    assert_non_null(strstr(got.fact, "GH100: 23 metrics"));
    assert_no_helper_is_left();
}

static void test_what_was_sampled_before_the_end_arrives(void **state)
{
    (void)state;
    begin();
    work_until(20000, has_samples);
    int64_t stop_ns = jm__now_ns();
    assert_true(end() < LATE_NS);
    const jm__counter_sample *last = &got.all[got.samples - 1];
    assert_true(last->end_ns > stop_ns - 5 * JM_NS_PER_MS);
    check_samples(0, INT64_MAX / 2, GH100_METRICS);
    assert_no_helper_is_left();
}

static void test_the_helper_is_no_child_that_the_program_would_wait_for(void **state)
{
    (void)state;
    begin();
    work_until(20000, has_samples);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(count_helpers(), 1);
    end();
    assert_no_helper_is_left();
}

static void test_where_orphans_come_to_the_program_none_is_left_to_it(void **state)
{
    (void)state;
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    begin();
    work_until(20000, has_samples);
    end();
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    setenv("FAKE_PM_HANG", "cuptiPmSamplingStop", 1);
    begin();
    work_until(20000, has_samples);
    end();
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
}

static void test_the_helper_goes_with_a_recorder_that_is_killed(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t recorder = fork();
    assert_true(recorder >= 0);
    if (recorder == 0) {
        begin();
        work_until(20000, has_samples);
        if (fork() == 0) { /* of the link to the helper it has a copy */
            char byte;
            close(ends[1]);
            _exit(read(ends[0], &byte, 1) == 0 ? 0 : 1);
        }
        kill(getpid(), SIGKILL);
    }
    assert_int_equal(waitpid(recorder, NULL, 0), recorder);
    assert_no_helper_is_left();
    close(ends[0]);
    close(ends[1]);
}

static void test_a_full_buffer_is_counted_and_sampling_goes_on(void **state)
{
    (void)state;
    setenv("FAKE_PM_OVERFLOW", "3", 1);
    begin();
    work_until(20000, has_many_samples);
    end();
    assert_int_equal(got.events, 0);
    assert_true(got.samples > 500);
    assert_non_null(strstr(got.fact, " 1 times too late"));
    assert_int_equal(got.on, 2); /* one sampler after the other */
    assert_int_equal(got.off, 2);
}

/* Hear a helper until it is in this state. */
static void hear_until(jm__counter_helper *helper, jm__counter_state requested)
{
    for (int tries = 0; helper->state != requested && helper->state != JM_COUNTERS_OVER && tries < 2000;
         tries++) {
        jm__counter_helper_receive(helper, take_any_block, NULL);
        jm__sleep_ns(10 * JM_NS_PER_MS);
    }
    if (helper->state != requested) fail_msg("state %d: %s", (int)helper->state, helper->error);
}

static void test_a_board_that_another_tool_took_between_intervals_is_queried_for_again(void **state)
{
    (void)state;
    jm__counter_launch way;
    jm__counter_helper helper;
    setenv("FAKE_PM_TAKEN", "2", 1);
    jm__counter_launch_find(&way, options.command, NULL, NULL);
    jm__counter_helper_start(&helper, &way, "serve", &board);
    hear_until(&helper, JM_COUNTERS_IDLE);
    for (int interval = 0; interval < 4; interval++) {
        bool taken = interval == 1 || interval == 2;
        jm__counter_helper_command(&helper, JM_COUNTERS_START);
        hear_until(&helper, taken ? JM_COUNTERS_IDLE : JM_COUNTERS_SAMPLING);
        if (taken) {
            assert_true(helper.refused_ns > 0);
            continue;
        }
        jm__counter_helper_command(&helper, JM_COUNTERS_STOP);
        hear_until(&helper, JM_COUNTERS_IDLE);
        assert_int_equal(helper.refused_ns, 0);
    }
    jm__counter_helper_end(&helper, jm__now_ns() + JM_NS_PER_S);
    jm__counter_launch_free(&way);
    assert_no_helper_is_left();
}

static void test_a_chip_that_counts_no_time_counts_cycles(void **state)
{
    (void)state;
    setenv("FAKE_PM_NO_TIME", "1", 1);
    begin();
    work_until(20000, has_samples);
    end();
    assert_int_equal(got.events, 0);
    assert_true(got.samples > 0);
}

static void test_of_an_unknown_chip_those_counters_are_sampled_that_fit_one_pass(void **state)
{
    (void)state;
    setenv("FAKE_PM_CHIP", "GX999", 1);
    setenv("FAKE_PM_METRICS", "3", 1);
    setenv("FAKE_PM_UNKNOWN", "dram__", 1);
    begin();
    work_until(20000, has_samples);
    end();
    assert_int_equal(got.events, 0);
    assert_int_equal(got.set.metric_count, 3);
    for (size_t i = 0; i < 3; i++)
        assert_null(strstr(json_string_value(json_array_get(got.metrics, i)), "dram__"));
    check_samples(0, INT64_MAX / 2, 3);
}

static void test_a_chip_whose_own_list_is_not_known_gets_the_one_for_all(void **state)
{
    (void)state;
    setenv("FAKE_PM_UNKNOWN", "TriageCompute", 1);
    begin();
    work_until(20000, has_samples);
    end();
    assert_int_equal(got.events, 0);
    assert_true(got.samples > 0);
    assert_string_equal(json_string_value(json_array_get(got.metrics, 0)), "sm__cycles_active.sum");
    assert_non_null(strstr(got.fact, "GH100: "));
}

static void test_where_no_kernels_are_told_the_board_is_sampled_all_the_same(void **state)
{
    (void)state;
    options.traced = false;
    begin();
    for (int i = 0; i < 400 && !has_samples(); i++)
        jm__sleep_ns(50 * JM_NS_PER_MS);
    end();
    assert_int_equal(got.events, 0);
    assert_true(got.samples > 0);
}

static void test_a_run_that_is_over_too_soon_says_so(void **state)
{
    (void)state;
    setenv("FAKE_PM_HANG", "cuptiPmSamplingGetCounterAvailability", 1);
    begin();
    work_until(300, NULL);
    end();
    assert_int_equal(got.events, 1);
    assert_non_null(strstr(got.event.text, "the run was over before"));
    options.requested = true;
    begin();
    jm__sleep_ns(300 * JM_NS_PER_MS);
    end();
    assert_int_equal(got.events, 2);
    assert_non_null(strstr(got.event.text, "no kernel was seen"));
    assert_no_helper_is_left();
}

static void test_a_board_that_does_nothing_is_not_sampled(void **state)
{
    (void)state;
    begin();
    jm__sleep_ns(700 * JM_NS_PER_MS);
    end();
    assert_int_equal(got.sets, 0);
    assert_int_equal(got.samples, 0);
    assert_int_equal(got.events, 0);
}

/* ---- what is wrong is said once */

static void assert_told_once(const char *words)
{
    begin();
    work_until(20000, has_event);
    work_until(200, NULL);
    assert_true(end() < LATE_NS);
    assert_int_equal(got.events, 1);
    assert_int_equal(got.event.kind, JM_EVENT_COUNTERS);
    assert_int_equal(got.event.board_id, BOARD);
    if (strstr(got.event.text, words) == NULL) fail_msg("\"%s\" does not say \"%s\"", got.event.text, words);
    assert_no_helper_is_left();
}

static const struct {
    const char *variable, *value, *words;
} faults[] = {
    {"FAKE_PM_ERROR", "cuptiPmSamplingGetCounterAvailability=35",
     "this user may not read hardware counters (run as root, or have the administrator set "
     "NVreg_RestrictProfilingToAdminUsers=0)"},
    {"FAKE_PM_ERROR", "cuptiPmSamplingEnable=35", "may not read"},
    {"FAKE_PM_ERROR", "cuptiPmSamplingEnable=26", "another tool"},
    {"FAKE_PM_ERROR", "cuptiPmSamplingEnable=43", "MIG"},
    {"FAKE_PM_ERROR", "cuptiProfilerHostInitialize=46", "cuptiProfilerHostInitialize: "},
    {"FAKE_PM_ERROR", "cuptiPmSamplingDecodeData=999", "cuptiPmSamplingDecodeData: "},
    {"FAKE_PM_METRICS", "0", "none of the counters of this chip fit one pass"},
    {"FAKE_PM_CRASH", "cuptiProfilerInitialize", "ended without a word"},
    {"FAKE_PM_CRASH", "cuptiPmSamplingDecodeData", "ended without a word"},
    {"JOULEMAP_CUPTI", FAKE("12"), "lacks cupti"},
    {"JOULEMAP_CUPTI", "/nowhere/libcupti.so", "/nowhere/libcupti.so"},
    {"JOULEMAP_CUDA", "/nowhere/libcuda.so.1", "/nowhere/libcuda.so.1"},
    {"FAKE_CUDA_UUID", "GPU-00000000-0000-0000-0000-000000000000", "CUDA does not know the board"},
};

static void test_what_stands_in_the_way_is_told_once(void **state)
{
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        tear_down(state);
        set_up(state);
        setenv(faults[i].variable, faults[i].value, 1);
        assert_told_once(faults[i].words);
    }
}

static void test_a_board_in_mig_mode_is_left_alone(void **state)
{
    (void)state;
    board.mig = true;
    assert_told_once("MIG mode");
}

static void test_without_its_command_it_says_so(void **state)
{
    (void)state;
    options.command = "/nowhere/joulemap-counters";
    assert_told_once("/nowhere/joulemap-counters cannot be started");
}

static void test_a_simulated_board_without_counters_says_so(void **state)
{
    (void)state;
    unsetenv("JOULEMAP_CUDA");
    board.simulated = true;
    options.sim = "no such profile";
    if (access(JM_BUILD_DIR "/sim/libcupti.so", F_OK) != 0)
        assert_told_once("this build has none of the simulated board");
}

static void test_by_default_a_fault_is_told_only_if_kernels_ran(void **state)
{
    (void)state;
    setenv("FAKE_PM_ERROR", "cuptiPmSamplingGetCounterAvailability=35", 1);
    begin();
    jm__sleep_ns(700 * JM_NS_PER_MS);
    end();
    assert_int_equal(got.events, 0);
    options.requested = true;
    begin();
    for (int i = 0; i < 400 && !has_event(); i++)
        jm__sleep_ns(50 * JM_NS_PER_MS);
    end();
    assert_int_equal(got.events, 1);
}

static void test_a_helper_that_says_what_cannot_be_is_ended(void **state)
{
    static const char *const ways[] = {"garbage", "huge", "cut",     "control",
                                       "early",   "old",  "unasked", "flood"};
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        tear_down(state);
        set_up(state);
        options.command = JM_BUILD_DIR "/tests/test_counters";
        setenv("FALSE_HELPER", ways[i], 1);
        assert_told_once("says what cannot be");
    }
}

static void test_a_helper_that_hangs_holds_up_nobody(void **state)
{
    static const char *const calls[] = {"cuptiProfilerInitialize", "cuptiPmSamplingEnable",
                                        "cuptiPmSamplingDecodeData", "cuptiPmSamplingStop"};
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        tear_down(state);
        set_up(state);
        setenv("FAKE_PM_HANG", calls[i], 1);
        begin();
        work_until(700, NULL);
        assert_true(end() < LATE_NS);
        assert_no_helper_is_left();
    }
    tear_down(state);
    set_up(state);
    options.command = JM_BUILD_DIR "/tests/test_counters";
    setenv("FALSE_HELPER", "silent", 1);
    begin();
    work_until(200, NULL);
    assert_true(end() < LATE_NS);
    assert_no_helper_is_left();
}

static void test_a_program_that_closes_our_descriptor_keeps_its_own(void **state)
{
    (void)state;
    begin();
    work_until(20000, has_samples);
    int taken[64];
    for (int fd = 3; fd < 67; fd++) { /* all are the program's from now on */
        int own = open("/dev/null", O_RDONLY | O_CLOEXEC);
        if (own != fd) dup2(own, fd);
        if (own > 66) close(own);
        taken[fd - 3] = fd;
    }
    work_until(20000, has_event);
    end();
    assert_int_equal(got.events, 1);
    assert_non_null(strstr(got.event.text, "closed the descriptor"));
    for (int i = 0; i < 64; i++)
        assert_int_equal(close(taken[i]), 0);
    assert_no_helper_is_left();
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "serve") == 0) return be_a_false_helper(getenv("FALSE_HELPER"));
    pthread_mutex_init(&got.lock, NULL);
    snprintf(uuid, sizeof uuid, "GPU-%08x-0123-4567-89ab-cdef01234567", (unsigned)getpid());
#define T(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(test_each_sample_arrives_with_its_time_and_values),
        T(test_what_was_sampled_before_the_end_arrives),
        T(test_the_helper_is_no_child_that_the_program_would_wait_for),
        T(test_where_orphans_come_to_the_program_none_is_left_to_it),
        T(test_the_helper_goes_with_a_recorder_that_is_killed),
        T(test_a_full_buffer_is_counted_and_sampling_goes_on),
        T(test_a_board_that_another_tool_took_between_intervals_is_queried_for_again),
        T(test_a_chip_that_counts_no_time_counts_cycles),
        T(test_of_an_unknown_chip_those_counters_are_sampled_that_fit_one_pass),
        T(test_a_chip_whose_own_list_is_not_known_gets_the_one_for_all),
        T(test_where_no_kernels_are_told_the_board_is_sampled_all_the_same),
        T(test_a_run_that_is_over_too_soon_says_so),
        T(test_a_board_that_does_nothing_is_not_sampled),
        T(test_what_stands_in_the_way_is_told_once),
        T(test_a_board_in_mig_mode_is_left_alone),
        T(test_without_its_command_it_says_so),
        T(test_a_simulated_board_without_counters_says_so),
        T(test_by_default_a_fault_is_told_only_if_kernels_ran),
        T(test_a_helper_that_says_what_cannot_be_is_ended),
        T(test_a_helper_that_hangs_holds_up_nobody),
        T(test_a_program_that_closes_our_descriptor_keeps_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
