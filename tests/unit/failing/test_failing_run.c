/* Memory that runs out during a run: it is refused, or its recording is right, or says what it lacks. */
#include "base/status.h"
#include "failing_each.h"
#include "format/dataset.h"

#include <dirent.h>
#include <joulemap/joulemap.h>
#include <unistd.h>

#define FLUSH_TIMEOUT_MS 300 /* of a run that cannot: it is told at the stop */

static char folder[] = "/dev/shm/joulemap-test-XXXXXX";
static char path[64];

static int set_up(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL) return -1;
    snprintf(path, sizeof path, "%s/r.joulemap", folder);
    setenv("JOULEMAP_NVML", JM_BUILD_DIR "/sim/libnvidia-ml.so.1", 1);
    setenv("JOULEMAP_SIM", "h200", 1);
    unsetenv("JOULEMAP_RUN");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

static size_t count_run_folders(void)
{
    char prefix[48];
    snprintf(prefix, sizeof prefix, "joulemap-%u-%d-", (unsigned)getuid(), (int)getpid());
    size_t count = 0;
    DIR *entries = opendir("/dev/shm");
    assert_non_null(entries);
    for (struct dirent *entry; (entry = readdir(entries)) != NULL;)
        count += strncmp(entry->d_name, prefix, strlen(prefix)) == 0;
    closedir(entries);
    return count;
}

static void remove_run_folders(void)
{
    char command[96];
    snprintf(command, sizeof command, "rm -rf /dev/shm/joulemap-%u-%d-*", (unsigned)getuid(), (int)getpid());
    if (count_run_folders() > 0) assert_int_equal(system(command), 0);
}

/* ---- a run */

static const char *const names[] = {"outer", "inner", "last"};
enum { SPANS = 3 };

static void do_spans(void)
{
    jm_span_id outer = jm_span_begin(JM_SPAN_PHASE, jm_name_intern(names[0]), 0, 0);
    jm_span_end(jm_span_begin(JM_SPAN_FORWARD, jm_name_intern(names[1]), 0, 0));
    jm_span_end(outer);
    jm_span_end(jm_span_begin(JM_SPAN_FORWARD, jm_name_intern(names[2]), 0, 0));
}

/* The status of the start, or of what came after it. */
static jm_status do_run(bool *started, jm_error *err)
{
    const jm_run_options options = {.size = sizeof options, .path = path, .overwrite = true, .no_cpu = true};
    jm_run *run;
    *started = false;
    JM_TRY(jm_run_start(&run, &options, err));
    *started = true;
    do_spans();
    jm_run_flush(run, FLUSH_TIMEOUT_MS, NULL);
    jm_status status = jm_run_stop(run, err);
    jm_run_free(run);
    return status;
}

/* ---- what is in its recording */

static size_t count_readings(const jm__dataset *data, const char *name)
{
    size_t count = 0;
    for (size_t i = 0; i < data->reading_count; i++)
        count += strcmp(data->sensors[data->readings[i].sensor_id - 1].name, name) == 0;
    return count;
}

static bool has_spans(const jm__dataset *data)
{
    if (data->span_count != SPANS) return false;
    for (int i = 0; i < SPANS; i++) {
        const jm__span *span = &data->spans[i];
        if (strcmp(jm__dataset_text(data, span->name_id), names[i]) != 0 || span->end_ns < span->start_ns)
            return false;
        if (span->parent_id != (i == 1 ? data->spans[0].id : 0)) return false;
    }
    return true;
}

/* Of the recorder, or of something that it reads. */
static bool has_words(const jm__dataset *data)
{
    bool words = data->loss_count > 0 || data->damage != NULL;
    for (size_t i = 0; i < data->event_count; i++)
        words = words || data->events[i].kind == JM_EVENT_RECORDER ||
                data->events[i].kind == JM_EVENT_SENSOR_FAILED;
    return words;
}

static size_t sensors_of_a_whole_run;

static bool is_whole(const jm__dataset *data, jm_recording *recording)
{
    const char *simulated = jm_recording_meta(recording, "simulated");
    return data->board_count == 1 && data->sensor_count == sensors_of_a_whole_run && has_spans(data) &&
           count_readings(data, "power_ring") > 0 && count_readings(data, "energy_counter") >= 2 &&
           simulated != NULL && jm_recording_meta(recording, "start_ns") != NULL;
}

static jm__dataset *load(jm_recording **recording)
{
    jm_error err = {0};
    jm__dataset *data = NULL;
    if (jm_recording_open(recording, path, &err) != JM_OK ||
        jm__dataset_load(&data, *recording, &err) != JM_OK)
        fail_msg("%s", err.text);
    return data;
}

static void check_recording(const char *which, jm_status end, const jm_error *err)
{
    jm_recording *recording;
    jm__dataset *data = load(&recording);
    if (!is_whole(data, recording) && !has_words(data) && end == JM_OK)
        fail_msg("%s: %zu boards, %zu sensors, %zu spans (%s), %zu of the ring, %zu of the counter; and no "
                 "word of "
                 "what is missing",
                 which, data->board_count, data->sensor_count, data->span_count,
                 has_spans(data) ? "right" : "not right", count_readings(data, "power_ring"),
                 count_readings(data, "energy_counter"));
    if (end != JM_OK && err->text[0] == '\0') fail_msg("%s: an error without words", which);
    jm__dataset_free(data);
    jm_recording_close(recording);
}

/* ---- all n; a run has threads, so the n-th is not the same each time */

static bool try_one(failing_what what, long n, bool for_good, size_t *refused)
{
    jm_error err = {0};
    bool started;
    char which[80];
    snprintf(which, sizeof which, "%s %ld fails%s", failing_text(what), n,
             for_good ? ", and all after it" : "");
    failing_begin(what, n, for_good);
    jm_status status = do_run(&started, &err);
    bool failed = failing_end();
    if (started)
        check_recording(which, status, &err);
    else if (!failed || err.status != status || err.text[0] == '\0')
        fail_msg("%s: %s: %s", which, jm_status_name(status), err.text);
    *refused += !started;
    if (what == FAILING_OWN_MEMORY) assert_int_equal(count_run_folders(), 0);
    remove_run_folders(); /* opendir, too, needs memory */
    return failed;
}

static void fail_each(failing_what what, long step)
{
    size_t refused = 0;
    long n = 1;
    while (try_one(what, n, false, &refused))
        n += step;
    for (long m = 1; m < n; m += failing_for_good_step(step, n, 15))
        try_one(what, m, true, &refused);
    print_message("each %s of %ld, in steps of %ld, failed: refused %zu times\n", failing_text(what), n - 1,
                  step, refused);
}

static void test_a_run_without_memory_is_refused_or_right_or_tells_what_it_lacks(void **state)
{
    (void)state;
    jm_error err = {0};
    bool started;
    jm_recording *recording;
    assert_int_equal(do_run(&started, &err), JM_OK);
    jm__dataset *data = load(&recording);
    sensors_of_a_whole_run = data->sensor_count;
    assert_true(is_whole(data, recording));
    jm__dataset_free(data);
    jm_recording_close(recording);
    fail_each(FAILING_OWN_MEMORY, failing_step());
    fail_each(FAILING_MEMORY, 197 * failing_step());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_run_without_memory_is_refused_or_right_or_tells_what_it_lacks),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
