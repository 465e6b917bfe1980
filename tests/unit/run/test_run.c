/* A run on the simulated board: what a program does is in its recording, whoever asks and however it ends. */
#include "base/clock.h"
#include "base/strbuf.h"
#include "format/dataset.h"
#include "format/rows/marks.h"
#include "record/run/inside.h"

#include <joulemap/joulemap.h>

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define FLUSH_TIMEOUT_MS 5000

static char folder[] = "/tmp/joulemap-test-run-XXXXXX";
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

static jm_run *start(const char *file)
{
    jm_error err = {0};
    jm_run *run;
    jm_run_options options = {.size = sizeof options, .path = file, .overwrite = true, .no_cpu = true};
    if (jm_run_start(&run, &options, &err) != JM_OK) fail_msg("%s (%s)", err.text, err.hint);
    return run;
}

static jm__dataset *load(jm_recording *recording)
{
    jm_error err = {0};
    jm__dataset *data;
    if (jm__dataset_load(&data, recording, &err) != JM_OK) fail_msg("%s", err.text);
    return data;
}

static jm__dataset *flush_and_load(jm_run *run)
{
    jm_error err = {0};
    jm_recording *recording;
    if (jm_run_flush(run, FLUSH_TIMEOUT_MS, &err) != JM_OK) fail_msg("%s", err.text);
    if (jm_run_recording(run, &recording, &err) != JM_OK) fail_msg("%s", err.text);
    return load(recording);
}

/* Newest reading of the power ring. */
static int64_t newest_power_ns(const jm__dataset *data)
{
    int64_t newest_ns = 0;
    for (size_t i = 0; i < data->reading_count; i++)
        if (strcmp(data->sensors[data->readings[i].sensor_id - 1].name, "power_ring") == 0)
            newest_ns = data->readings[i].t_ns;
    return newest_ns;
}

static size_t count_spans(const jm__dataset *data, const char *name)
{
    size_t count = 0;
    for (size_t i = 0; i < data->span_count; i++)
        count += strcmp(data->names[data->spans[i].name_id], name) == 0 && data->spans[i].end_ns > 0;
    return count;
}

static void do_span(const char *name)
{
    jm_span_id span = jm_span_begin(JM_SPAN_FORWARD, jm_name_intern(name), 0, 0);
    jm__sleep_ns(2 * JM_NS_PER_MS);
    jm_span_end(span);
}

static void check_flush(const char *file)
{
    jm_run *run = start(file);
    assert_false(jm_run_attached(run));
    jm__sleep_ns(300 * JM_NS_PER_MS);
    do_span("first");
    int64_t queried_ns = jm__now_ns();
    jm__dataset *data = flush_and_load(run);
    assert_int_equal(count_spans(data, "first"), 1);
    assert_true(data->board_count == 1 && data->boards[0].simulated);
    /* The sensor has a value every 20 ms, and tells of it within its lag: see the profile. */
    assert_true(newest_power_ns(data) > queried_ns - 60 * JM_NS_PER_MS);
    assert_true(data->end_ns >= queried_ns);
    jm__dataset_free(data);
    do_span("second");
    data = flush_and_load(run);
    assert_int_equal(count_spans(data, "second"), 1);
    jm__dataset_free(data);
    assert_int_equal(jm_run_stop(run, NULL), JM_OK);
    jm_recording *recording;
    assert_int_equal(jm_run_recording(run, &recording, NULL), JM_OK);
    data = load(recording); /* it outlives the stop */
    assert_int_equal(count_spans(data, "first") + count_spans(data, "second"), 2);
    jm__dataset_free(data);
    jm_run_free(run);
}

static void test_a_flush_brings_all_that_happened_before_it_into_the_file(void **state)
{
    (void)state;
    check_flush(path);
    jm_recording *recording;
    assert_int_equal(jm_recording_open(&recording, path, NULL), JM_OK);
    assert_null(jm_recording_damage(recording));
    assert_string_equal(jm_recording_meta(recording, "simulated"), "1");
    assert_non_null(jm_recording_meta(recording, "host"));
    assert_non_null(jm_recording_meta(recording, "command"));
    assert_non_null(jm_recording_meta(recording, "sampler_cpu_ns"));
    jm_recording_close(recording);
}

static void test_a_flush_brings_all_that_happened_before_it_into_memory(void **state)
{
    (void)state;
    check_flush(NULL);
}

static void test_after_a_stop_all_is_complete(void **state)
{
    (void)state;
    jm_run *run = start(NULL);
    do_span("last");
    int64_t ended_ns = jm__now_ns(), complete_ns = 0;
    assert_int_equal(jm_run_stop(run, NULL), JM_OK);
    assert_int_equal(jm_run_complete_ns(run, &complete_ns, NULL), JM_OK);
    assert_true(complete_ns >= ended_ns);
    jm_run_free(run);
}

static void test_complete_ns_comes_up_by_itself_and_what_happened_before_it_is_there(void **state)
{
    (void)state;
    jm_run *run = start(NULL);
    do_span("complete");
    int64_t ended_ns = jm__now_ns(), complete_ns = 0;
    int64_t until_ns = ended_ns + FLUSH_TIMEOUT_MS * JM_NS_PER_MS;
    while (complete_ns < ended_ns && jm__now_ns() < until_ns) {
        assert_int_equal(jm_run_complete_ns(run, &complete_ns, NULL), JM_OK);
        assert_true(complete_ns <= jm__now_ns());
        jm__sleep_ns(10 * JM_NS_PER_MS);
    }
    assert_true(complete_ns >= ended_ns);
    jm_recording *recording;
    assert_int_equal(jm_run_recording(run, &recording, NULL), JM_OK);
    jm__dataset *data = load(recording);
    assert_int_equal(count_spans(data, "complete"), 1);
    assert_true(newest_power_ns(data) >= ended_ns);
    jm__dataset_free(data);
    jm_run_free(run);
}

static void test_the_run_folder_is_gone_afterwards(void **state)
{
    (void)state;
    jm_run *run = start(NULL);
    const char *const *environment = jm_run_environment(run);
    char run_folder[128] = "";
    for (; *environment != NULL; environment++)
        if (strncmp(*environment, "JOULEMAP_RUN=", 13) == 0)
            snprintf(run_folder, sizeof run_folder, "%s", *environment + 13);
    struct stat info;
    assert_int_equal(stat(run_folder, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0700);
    jm_run_free(run);
    assert_int_equal(stat(run_folder, &info), -1);
}

static void test_a_second_run_in_the_process_is_refused(void **state)
{
    (void)state;
    jm_error err = {0};
    jm_run *run = start(NULL), *second;
    jm_run_options options = {.size = sizeof options, .no_cpu = true};
    assert_int_equal(jm_run_start(&second, &options, &err), JM_BUSY);
    assert_non_null(strstr(err.text, "at work in this process already"));
    options.sampling_only = true; /* boards alone: in nobody's way */
    assert_int_equal(jm_run_start(&second, &options, &err), JM_OK);
    jm_run_free(second);
    do_span("after");
    jm__dataset *data = flush_and_load(run);
    assert_int_equal(count_spans(data, "after"), 1);
    jm__dataset_free(data);
    jm_run_free(run);
    run = start(NULL); /* and one after the other is fine */
    jm_run_free(run);
}

static void test_a_forked_child_neither_hangs_nor_touches_the_recording(void **state)
{
    (void)state;
    jm_run *run = start(path);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        alarm(20);
        jm_recording *recording;
        int64_t complete_ns;
        bool right = jm_run_flush(run, FLUSH_TIMEOUT_MS, NULL) == JM_NOT_SUPPORTED &&
                     jm_run_complete_ns(run, &complete_ns, NULL) == JM_NOT_SUPPORTED &&
                     jm_run_recording(run, &recording, NULL) == JM_NOT_SUPPORTED &&
                     jm_run_stop(run, NULL) == JM_OK;
        do_span("of the child");
        jm_run_free(run);
        _exit(right ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    do_span("of the parent");
    jm__dataset *data = flush_and_load(run); /* still at work */
    assert_int_equal(count_spans(data, "of the parent"), 1);
    assert_int_equal(count_spans(data, "of the child"), 1); /* its spans are of the run all the same */
    jm__dataset_free(data);
    assert_int_equal(jm_run_stop(run, NULL), JM_OK);
    jm_run_free(run);
}

static void test_a_killed_program_leaves_all_its_spans(void **state)
{
    (void)state;
    jm_run *run = start(path);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        for (int i = 0; i < 100; i++) {
            jm_span_id span = jm_span_begin(JM_SPAN_FORWARD, jm_name_intern("whole"), 0, 0);
            jm_span_end(span);
        }
        jm_span_begin(JM_SPAN_FORWARD, jm_name_intern("cut off"), 0, 0);
        kill(getpid(), SIGKILL);
    }
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(jm_run_stop(run, NULL), JM_OK);
    jm_recording *recording;
    assert_int_equal(jm_run_recording(run, &recording, NULL), JM_OK);
    jm__dataset *data = load(recording);
    size_t open_ended = 0;
    for (size_t i = 0; i < data->span_count; i++)
        open_ended +=
            strcmp(data->names[data->spans[i].name_id], "cut off") == 0 && data->spans[i].end_ns == -1;
    assert_int_equal(count_spans(data, "whole"), 100);
    assert_int_equal(open_ended, 1);
    jm__dataset_free(data);
    jm_run_free(run);
}

/* ---- a process below a recorder: this program again, with the run's environment */

static int attached_main(const char *what)
{
    jm_error err = {0};
    jm_run *run;
    jm_run_options options = {.size = sizeof options, .path = "/nowhere/at/all", .no_cpu = true};
    if (jm_run_start(&run, &options, &err) != JM_OK) return 10;
    if (!jm_run_attached(run)) return 11;
    do_span(what);
    int64_t queried_ns = jm__now_ns();
    jm_recording *recording;
    jm__dataset *data;
    jm_status status = jm_run_flush(run, FLUSH_TIMEOUT_MS, &err);
    if (strcmp(what, "memory") == 0) { /* nobody else can look into the parent's memory: said, not hung */
        jm_run_free(run);
        return status == JM_NOT_SUPPORTED ? 0 : 12;
    }
    if (status != JM_OK) return 13;
    if (jm_run_recording(run, &recording, &err) != JM_OK || jm__dataset_load(&data, recording, &err) != JM_OK)
        return 14;
    bool right = count_spans(data, what) == 1 && newest_power_ns(data) > queried_ns - 60 * JM_NS_PER_MS;
    jm__dataset_free(data);
    jm_run_free(run);
    return right ? 0 : 15;
}

/* A run below that traces at times and ends, then one that says nothing, then one that does again. */
static int attached_again_main(void)
{
    jm_run *run;
    if (jm_run_start(&run, NULL, NULL) != JM_OK || !jm_run_attached(run)) return 10;
    jm_run_trace(run, JM_TRACING_ON);
    do_span("at times");
    jm_run_trace(run, JM_TRACING_OFF);
    do_span("never");
    jm_run_free(run);
    do_span("between");
    if (jm_run_start(&run, NULL, NULL) != JM_OK) return 11;
    do_span("all");
    jm_run_free(run);
    if (jm_run_start(&run, NULL, NULL) != JM_OK) return 12;
    do_span("more");
    jm_run_trace(run, JM_TRACING_OFF);
    do_span("no more");
    jm_run_free(run);
    return 0;
}

static int run_attached(const jm_run *run, const char *what)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        for (const char *const *variable = jm_run_environment(run); *variable != NULL; variable++)
            putenv(strdup(*variable));
        execl("/proc/self/exe", "test_run", "--attached", what, (char *)NULL);
        _exit(99);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void test_a_process_below_attaches_and_reads_the_parents_recording(void **state)
{
    (void)state;
    jm_run *run = start(path);
    assert_int_equal(run_attached(run, "file"), 0);
    jm__dataset *data = flush_and_load(run);
    assert_int_equal(count_spans(data, "file"), 1);
    assert_int_equal(data->board_count, 1); /* no board is read twice */
    jm__dataset_free(data);
    jm_run_free(run);
    run = start(NULL);
    assert_int_equal(run_attached(run, "memory"), 0);
    jm_run_free(run);
}

/* ---- what dead recorders left */

static size_t count_run_folders(void)
{
    char prefix[48];
    snprintf(prefix, sizeof prefix, "joulemap-%u-%d-", (unsigned)getuid(), (int)getpid());
    size_t count = 0;
    DIR *entries = opendir("/dev/shm");
    for (struct dirent *entry; entries != NULL && (entry = readdir(entries)) != NULL;)
        count += strncmp(entry->d_name, prefix, strlen(prefix)) == 0;
    if (entries != NULL) closedir(entries);
    return count;
}

static void test_the_folder_of_a_killed_recorder_is_removed_by_the_next(void **state)
{
    (void)state;
    int report[2];
    assert_int_equal(pipe(report), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        jm_run *run = start(NULL);
        const char *own = jm_run_environment(run)[0] + strlen("JOULEMAP_RUN=");
        if (access(own, F_OK) == 0) dprintf(report[1], "%s", own);
        kill(getpid(), SIGKILL);
    }
    close(report[1]);
    char left[128] = "";
    assert_true(read(report[0], left, sizeof left - 1) > 0);
    close(report[0]);
    waitpid(pid, NULL, 0); /* from here on any run may remove it, also one of a test beside this one */
    jm_run *living = start(NULL);
    assert_int_not_equal(access(left, F_OK), 0);
    assert_int_equal(count_run_folders(), 1); /* the living keep theirs */
    jm_run_free(living);
}

/* ---- nothing but words */

static void test_a_missing_folder_is_told_before_anything_starts(void **state)
{
    (void)state;
    jm_error err = {0};
    jm_run *run;
    jm_run_options options = {.size = sizeof options, .path = "/nowhere/at/all.joulemap", .no_cpu = true};
    assert_int_equal(jm_run_start(&run, &options, &err), JM_NOT_FOUND);
    assert_non_null(
        strstr(err.text, "/nowhere/at/all.joulemap cannot be created: its folder does not exist"));
    assert_int_equal(count_run_folders(), 0);
}

static void test_options_of_a_newer_joulemap_are_refused_only_where_they_ask_for_more(void **state)
{
    (void)state;
    jm_error err = {0};
    jm_run *run;
    struct {
        jm_run_options known;
        int64_t wish;
    } newer = {.known = {.size = sizeof newer, .path = "/nowhere/at/all.joulemap", .no_cpu = true}};
    assert_int_equal(jm_run_start(&run, &newer.known, &err), JM_NOT_FOUND); /* as without them */
    newer.wish = 1;
    assert_int_equal(jm_run_start(&run, &newer.known, &err), JM_USAGE);
    assert_non_null(strstr(err.text, "made for a newer joulemap"));
    assert_int_equal(count_run_folders(), 0);
}

/* ---- notes from another thread while everything is at work */

/* As nobody, or where that cannot be, kept out of the folder, whose path comes by the pipe. */
static void use_joulemap_as_another_user(int folders)
{
    jm_error err;
    char run_dir[256];
    jm_run *own;
    jm_run_options options = {.size = sizeof options, .no_cpu = true};
    if (read(folders, run_dir, sizeof run_dir) != sizeof run_dir) _exit(1);
    if (geteuid() == 0 && setuid(65534) != 0) _exit(2);
    setenv("JOULEMAP_RUN", run_dir, 1);
    if (jm_run_start(&own, &options, &err) != JM_OK) _exit(3);
    bool attached = jm_run_attached(own);
    jm_run_stop(own, NULL);
    _exit(attached ? 4 : 0);
}

static void test_a_process_of_another_user_is_told_of_as_not_recorded(void **state)
{
    (void)state;
    char run_dir[256] = "";
    int how = -1, folders[2];
    assert_int_equal(pipe(folders), 0);
    pid_t child =
        fork(); /* before there are threads, whose locks in the sanitizer's allocator it would have */
    if (child == 0) use_joulemap_as_another_user(folders[0]);
    jm_run *run = start(NULL);
    snprintf(run_dir, sizeof run_dir, "%s", jm_run_environment(run)[0] + strlen("JOULEMAP_RUN="));
    if (geteuid() != 0) assert_int_equal(chmod(run_dir, 0), 0);
    assert_int_equal(write(folders[1], run_dir, sizeof run_dir), sizeof run_dir);
    assert_int_equal(waitpid(child, &how, 0), child);
    close(folders[0]);
    close(folders[1]);
    if (geteuid() != 0) assert_int_equal(chmod(run_dir, 0700), 0);
    assert_true(WIFEXITED(how));
    assert_int_equal(WEXITSTATUS(how), 0);
    jm__dataset *data = flush_and_load(run);
    char of[64], user[64];
    size_t told = 0;
    snprintf(of, sizeof of, "process %d: ", (int)child);
    snprintf(user, sizeof user, "runs as user %u, who may not enter",
             geteuid() == 0 ? 65534 : (unsigned)geteuid());
    for (size_t i = 0; i < data->event_count; i++)
        if (strncmp(data->events[i].text, of, strlen(of)) == 0 && strstr(data->events[i].text, user) != NULL)
            told++;
    assert_int_equal(told, 1); /* once, however often it knocked */
    jm__dataset_free(data);
    jm_run_discard(run);
}

static void *write_notes(void *run)
{
    char value[24];
    for (int i = 0; i < 200; i++) {
        snprintf(value, sizeof value, "%d", i);
        jm_run_note(run, "counted", value, NULL);
        do_span("threaded");
    }
    return NULL;
}

static size_t count_files(void)
{
    size_t count = 0;
    DIR *entries = opendir(folder);
    assert_non_null(entries);
    while (readdir(entries) != NULL)
        count++;
    closedir(entries);
    return count;
}

/* A recording with one span, and how many files lie beside it. */
static size_t leave_recording(const char *file)
{
    jm_run *run = start(file);
    do_span("old");
    assert_int_equal(jm_run_stop(run, NULL), JM_OK);
    jm_run_free(run);
    return count_files();
}

static size_t spans_in_file(const char *file, const char *name)
{
    jm_recording *recording;
    assert_int_equal(jm_recording_open(&recording, file, NULL), JM_OK);
    assert_null(jm_recording_damage(recording));
    jm__dataset *data = load(recording);
    size_t count = count_spans(data, name);
    jm__dataset_free(data);
    jm_recording_close(recording);
    return count;
}

static void test_an_old_recording_survives_a_start_that_fails(void **state)
{
    (void)state;
    char file[128];
    snprintf(file, sizeof file, "%s/kept.joulemap", folder);
    size_t files = leave_recording(file);
    jm_run_options options = {.size = sizeof options, .path = file, .overwrite = true, .no_cpu = true};
    jm_run *run;
    jm_error err;
    setenv("JOULEMAP_NVML", "/nowhere/libnvidia-ml.so.1", 1);
    assert_int_equal(jm_run_start(&run, &options, &err), JM_NO_DEVICE);
    setenv("JOULEMAP_NVML", JM_BUILD_DIR "/sim/libnvidia-ml.so.1", 1);
    assert_int_equal(spans_in_file(file, "old"), 1);
    assert_int_equal(count_files(), files);
}

static void test_an_old_recording_is_back_after_a_discard_and_gone_after_a_keep(void **state)
{
    (void)state;
    char file[128];
    snprintf(file, sizeof file, "%s/discarded.joulemap", folder);
    size_t files = leave_recording(file);
    jm_run *run = start(file);
    do_span("new");
    assert_int_equal(jm_run_flush(run, FLUSH_TIMEOUT_MS, NULL), JM_OK);
    assert_int_equal(spans_in_file(file, "new"), 1);
    jm_run_discard(run);
    assert_int_equal(spans_in_file(file, "old"), 1);
    assert_int_equal(spans_in_file(file, "new"), 0);
    assert_int_equal(count_files(), files);
    run = start(file);
    jm_run_keep(run);
    do_span("new");
    assert_int_equal(jm_run_stop(run, NULL), JM_OK);
    jm_run_discard(run); /* too late: it stays */
    assert_int_equal(spans_in_file(file, "new"), 1);
    assert_int_equal(spans_in_file(file, "old"), 0);
    assert_int_equal(count_files(), files);
}

/* A stop that another thread has begun and that cannot go on: the writer's thread is held up. */
typedef struct held_stop {
    jm_run *run;
    pthread_t stopper;
    jm_status status;
} held_stop;

static void *stop_it(void *context)
{
    held_stop *stop = context;
    stop->status = jm_run_stop(stop->run, NULL);
    return NULL;
}

static void hold_stop(held_stop *stop, jm_run *run)
{
    stop->run = run;
    pthread_mutex_lock(&run->writer_lock);
    assert_int_equal(pthread_create(&stop->stopper, NULL, stop_it, stop), 0);
    for (bool begun = false; !begun; jm__sleep_ns(JM_NS_PER_MS)) {
        pthread_mutex_lock(&run->lock);
        begun = run->stop;
        pthread_mutex_unlock(&run->lock);
    }
}

static void release_stop(held_stop *stop)
{
    pthread_mutex_unlock(&stop->run->writer_lock);
    pthread_join(stop->stopper, NULL);
    assert_int_equal(stop->status, JM_OK);
}

/* What a thread found when its call came back. */
typedef struct waiter {
    jm_run *run;
    jm_status (*wait)(jm_run *run);
    jm_status status;
    bool closed; /* the file had its end mark */
} waiter;

static jm_status wait_by_flush(jm_run *run)
{
    return jm_run_flush(run, 600 * 1000, NULL);
}

static jm_status wait_by_stop(jm_run *run)
{
    return jm_run_stop(run, NULL);
}

static void *wait_and_look(void *context)
{
    waiter *all = context;
    jm_recording *recording = NULL;
    all->status = all->wait(all->run);
    if (jm_recording_open(&recording, path, NULL) != JM_OK) return NULL;
    all->closed = jm_recording_meta(recording, "closed") != NULL;
    jm_recording_close(recording);
    return NULL;
}

static void test_who_waits_while_another_thread_stops_the_run_waits_for_its_end(void **state)
{
    (void)state;
    jm_status (*const ways[])(jm_run *) = {wait_by_flush, wait_by_stop};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        held_stop stop;
        pthread_t thread;
        waiter waits = {.run = start(path), .wait = ways[i]};
        hold_stop(&stop, waits.run);
        assert_int_equal(pthread_create(&thread, NULL, wait_and_look, &waits), 0);
        jm__sleep_ns(20 * JM_NS_PER_MS);
        release_stop(&stop);
        pthread_join(thread, NULL);
        assert_int_equal(waits.status, JM_OK);
        assert_true(waits.closed);
        assert_int_equal(jm_run_flush(waits.run, 0, NULL), JM_OK);
        jm_run_free(waits.run);
    }
}

static void *note_on_and_on(void *context)
{
    held_stop *stop = context;
    while (stop->status == JM_OK && !atomic_load(&stop->run->stopped)) {
        (void)jm_now_ns(); /* time passes by looks at it */
        stop->status = jm_run_note(stop->run, "noted", "again", NULL);
    }
    for (int i = 0; stop->status == JM_OK && i < 1000; i++)
        stop->status = jm_run_note(stop->run, "noted", "too late", NULL);
    return NULL;
}

static void test_a_note_may_come_while_another_thread_stops_the_run(void **state)
{
    (void)state;
    held_stop noting = {.run = start(path)};
    pthread_t thread;
    assert_int_equal(jm_run_note(noting.run, "noted", "again", NULL), JM_OK); /* the thread may be late */
    assert_int_equal(pthread_create(&thread, NULL, note_on_and_on, &noting), 0);
    jm__sleep_ns(20 * JM_NS_PER_MS);
    assert_int_equal(jm_run_stop(noting.run, NULL), JM_OK);
    pthread_join(thread, NULL);
    assert_int_equal(noting.status, JM_OK);
    jm_run_free(noting.run);
    jm_recording *recording;
    assert_int_equal(jm_recording_open(&recording, path, NULL), JM_OK);
    assert_null(jm_recording_damage(recording));
    assert_string_equal(jm_recording_meta(recording, "noted"), "again");
    jm_recording_close(recording);
}

static void test_notes_and_spans_of_threads_arrive(void **state)
{
    (void)state;
    jm_run *run = start(path);
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, write_notes, run), 0);
    for (int i = 0; i < 3; i++)
        jm__dataset_free(flush_and_load(run));
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(jm_run_stop(run, NULL), JM_OK);
    jm_recording *recording;
    assert_int_equal(jm_run_recording(run, &recording, NULL), JM_OK);
    jm__dataset *data = load(recording);
    assert_int_equal(count_spans(data, "threaded"), 400);
    assert_string_equal(jm_recording_meta(recording, "counted"), "199");
    jm__dataset_free(data);
    jm_run_free(run);
}

/* ---- when it traces */

static jm__dataset *stop_and_load(jm_run *run, jm_recording **recording)
{
    jm_error err = {0};
    if (jm_run_stop(run, &err) != JM_OK) fail_msg("%s", err.text);
    jm_run_free(run);
    if (jm_recording_open(recording, path, &err) != JM_OK) fail_msg("%s", err.text);
    return load(*recording);
}

/* Names of spans and marks in the order of time, by spaces. */
static char *tell_timeline(const jm__dataset *data)
{
    jm__strbuf text = {0};
    size_t mark = 0;
    for (size_t i = 0; i <= data->span_count; i++) {
        int64_t until_ns = i < data->span_count ? data->spans[i].start_ns : INT64_MAX;
        for (; mark < data->mark_count && data->marks[mark].t_ns < until_ns; mark++)
            jm__strbuf_format(&text, "[%s] ", jm__dataset_text(data, data->marks[mark].name_id));
        if (i < data->span_count)
            jm__strbuf_format(&text, "%s ", jm__dataset_text(data, data->spans[i].name_id));
    }
    return jm__strbuf_take(&text);
}

static void test_a_run_that_traces_at_times_says_when(void **state)
{
    (void)state;
    jm_recording *recording;
    jm_run *run = start(path);
    static const struct {
        jm_tracing tracing;
        const char *span;
    } moments[] = {
        {JM_TRACING_OFF, "none"}, {JM_TRACING_WARM, "warm"}, {JM_TRACING_ON, "one"},
        {JM_TRACING_ON, "two"},   {JM_TRACING_WARM, "cool"}, {JM_TRACING_ON, "three"},
        {JM_TRACING_OFF, "no"},   {JM_TRACING_OFF, "more"},
    };
    for (size_t i = 0; i < sizeof moments / sizeof *moments; i++) {
        jm_run_trace(run, moments[i].tracing);
        do_span(moments[i].span);
    }
    jm__dataset *data = stop_and_load(run, &recording);
    char *timeline = tell_timeline(data);
    assert_string_equal(timeline,
                        "[joulemap: not traced from here] warm [joulemap: traced from here] one two "
                        "[joulemap: not traced from here] cool [joulemap: traced from here] three "
                        "[joulemap: not traced from here] ");
    free(timeline);
    jm__dataset_free(data);
    jm_recording_close(recording);
}

/* What lies in steps that are recorded alone is told by those that were traced; in time that is not, by
 * nobody. */
static void test_steps_alone_have_a_mark_of_their_own(void **state)
{
    (void)state;
    jm_recording *recording;
    jm_run *run = start(path);
    static const struct {
        jm_tracing tracing;
        const char *span;
    } moments[] = {
        {JM_TRACING_STEPS, "none"}, {JM_TRACING_WARM, "warm"},  {JM_TRACING_ON, "one"},
        {JM_TRACING_STEPS, "no"},   {JM_TRACING_STEPS, "more"}, {JM_TRACING_OFF, "off"},
        {JM_TRACING_STEPS, "and"},  {JM_TRACING_OFF, "off"},    {JM_TRACING_WARM, "cool"},
        {JM_TRACING_STEPS, "no"},   {JM_TRACING_WARM, "again"}, {JM_TRACING_STEPS, "no"},
        {JM_TRACING_ON, "two"},
    };
    assert_int_equal(jm_tracing_now(), JM_TRACING_ON);
    for (size_t i = 0; i < sizeof moments / sizeof *moments; i++) {
        jm_run_trace(run, moments[i].tracing);
        assert_int_equal(jm_tracing_now(), moments[i].tracing);
        do_span(moments[i].span);
    }
    jm_run_trace(run, JM_TRACING_STEPS);
    jm__dataset *data = stop_and_load(run, &recording);
    assert_int_equal(jm_tracing_now(), JM_TRACING_ON);
    char *timeline = tell_timeline(data);
    assert_string_equal(timeline, "[joulemap: steps alone from here] warm [joulemap: traced from here] one "
                                  "[joulemap: steps alone from here] [joulemap: not traced from here] "
                                  "[joulemap: steps alone from here] [joulemap: not traced from here] cool "
                                  "[joulemap: steps alone from here] again [joulemap: traced from here] two "
                                  "[joulemap: steps alone from here] ");
    free(timeline);
    jm__dataset_free(data);
    jm_recording_close(recording);
}

/* The recorder has found that the process below has ended. */
static void await_ended(jm_run *run)
{
    bool has_ended = false;
    for (int i = 0; i < 100 && !has_ended; i++) {
        jm__dataset *data = flush_and_load(run);
        for (size_t k = 0; k < data->mark_count; k++)
            has_ended |= strcmp(jm__dataset_text(data, data->marks[k].name_id), JM_MARK_ENDED) == 0;
        jm__dataset_free(data);
        if (!has_ended) jm__sleep_ns(200 * JM_NS_PER_MS);
    }
    assert_true(has_ended);
}

static void test_a_run_that_attaches_after_one_at_times_records_everything(void **state)
{
    (void)state;
    jm_recording *recording;
    jm_run *run = start(path);
    assert_int_equal(run_attached(run, "again"), 0);
    await_ended(run);
    do_span("later");
    jm__dataset *data = stop_and_load(run, &recording);
    char *timeline = tell_timeline(data);
    assert_string_equal(timeline, "[joulemap: traced from here] at times [joulemap: not traced from here] "
                                  "[joulemap: traced from here] all more [joulemap: not traced from here] "
                                  "[joulemap: ended] later ");
    free(timeline);
    jm__dataset_free(data);
    jm_recording_close(recording);
}

static void test_kernels_that_are_required_are_there_or_the_run_fails(void **state)
{
    (void)state;
    jm_error err = {0};
    jm_run *run;
    jm_run_options options = {
        .size = sizeof options, .no_cpu = true, .kernels = true, .kernels_required = true};
    setenv("JOULEMAP_CUPTI", "/nonexistent/libcupti.so", 1);
    assert_non_null(
        dlopen(JM_BUILD_DIR "/tests/fake_cuda/libcuda.so.1", RTLD_NOW | RTLD_LOCAL)); /* the driver */
    assert_int_equal(jm_run_start(&run, &options, &err), JM_NOT_SUPPORTED);
    assert_non_null(strstr(err.text, "/nonexistent/libcupti.so"));
    assert_non_null(strstr(err.hint, "joulemap doctor"));
    options.kernels_required = false;
    assert_int_equal(jm_run_start(&run, &options, &err), JM_OK);
    assert_non_null(strstr(jm_run_kernels_missing(run), "/nonexistent/libcupti.so"));
    jm_run_free(run);
    run = start(NULL); /* nobody asks */
    assert_null(jm_run_kernels_missing(run));
    jm_run_free(run);
    unsetenv("JOULEMAP_CUPTI");
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--attached") == 0)
        return strcmp(argv[2], "again") == 0 ? attached_again_main() : attached_main(argv[2]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_flush_brings_all_that_happened_before_it_into_the_file),
        cmocka_unit_test(test_a_flush_brings_all_that_happened_before_it_into_memory),
        cmocka_unit_test(test_after_a_stop_all_is_complete),
        cmocka_unit_test(test_complete_ns_comes_up_by_itself_and_what_happened_before_it_is_there),
        cmocka_unit_test(test_the_run_folder_is_gone_afterwards),
        cmocka_unit_test(test_a_second_run_in_the_process_is_refused),
        cmocka_unit_test(test_a_forked_child_neither_hangs_nor_touches_the_recording),
        cmocka_unit_test(test_a_killed_program_leaves_all_its_spans),
        cmocka_unit_test(test_a_process_below_attaches_and_reads_the_parents_recording),
        cmocka_unit_test(test_the_folder_of_a_killed_recorder_is_removed_by_the_next),
        cmocka_unit_test(test_a_process_of_another_user_is_told_of_as_not_recorded),
        cmocka_unit_test(test_a_missing_folder_is_told_before_anything_starts),
        cmocka_unit_test(test_options_of_a_newer_joulemap_are_refused_only_where_they_ask_for_more),
        cmocka_unit_test(test_an_old_recording_survives_a_start_that_fails),
        cmocka_unit_test(test_an_old_recording_is_back_after_a_discard_and_gone_after_a_keep),
        cmocka_unit_test(test_who_waits_while_another_thread_stops_the_run_waits_for_its_end),
        cmocka_unit_test(test_a_note_may_come_while_another_thread_stops_the_run),
        cmocka_unit_test(test_notes_and_spans_of_threads_arrive),
        cmocka_unit_test(test_a_run_that_traces_at_times_says_when),
        cmocka_unit_test(test_steps_alone_have_a_mark_of_their_own),
        cmocka_unit_test(test_a_run_that_attaches_after_one_at_times_records_everything),
        cmocka_unit_test(test_kernels_that_are_required_are_there_or_the_run_fails),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
