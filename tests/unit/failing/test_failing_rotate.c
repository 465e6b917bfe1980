/* A disk, and memory, that fail while a run is recorded in parts: what was committed is in the part of its
 * time, once, whatever becomes of a cut. */
#include "failing.h"
#include "format/dataset.h"
#include "format/rows/marks.h"
#include "format/writer.h"

#include <inttypes.h>
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define START_NS (INT64_C(1000) * JM_NS_PER_S)

/* A run of so many seconds: in each a reading, a kernel and a span. */
enum { SECONDS = 150, PART_S = 40, COMMIT_S = 5, PARTS_MOST = 12 };

static char folder[] = "/dev/shm/joulemap-test-XXXXXX";
static char base[64];

static int set_up(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL) return -1;
    snprintf(base, sizeof base, "%s/r.joulemap", folder);
    failing_files_install();
    return 0;
}

static void empty_folder(void)
{
    char command[96];
    snprintf(command, sizeof command, "rm -f %s/*", folder);
    assert_int_equal(system(command), 0);
}

static int tear_down(void **state)
{
    (void)state;
    empty_folder();
    return rmdir(folder);
}

/* ---- writing */

static void note_ns(jm__writer *writer, const char *key, int64_t t_ns)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRId64, t_ns);
    jm__writer_meta(writer, key, text);
}

static jm__writer *begin(jm_error *err)
{
    jm__writer *writer;
    const jm__rotation_wanted wanted = {.every_s = PART_S};
    if (jm__writer_create_parts(&writer, base, false, &wanted, err) != JM_OK) return NULL;
    jm_board board = {.backend = "nvml", .name = "H200"};
    jm_sensor sensor = {.board_id = 1, .name = "power_ring", .quantity = JM_QUANTITY_POWER};
    jm__kernel_class kernel_class = {.name_id = jm__writer_name(writer, "gemm"), .work = JM_WORK_KERNEL};
    jm__stream stream = {.process_id = 1, .board_id = 1};
    jm__process process = {.id = 1, .pid = 4711, .rank = -1, .start_ns = START_NS, .end_ns = START_NS};
    assert_int_equal(jm__writer_board(writer, &board, NULL), JM_OK);
    assert_int_equal(jm__writer_sensor(writer, &sensor, NULL), JM_OK);
    assert_int_equal(jm__writer_kernel_class(writer, &kernel_class, NULL), JM_OK);
    assert_int_equal(jm__writer_stream(writer, &stream, NULL), JM_OK);
    jm__writer_process(writer, &process);
    note_ns(writer, "start_ns", START_NS);
    assert_int_equal(jm__writer_commit(writer, 0, err), JM_OK);
    return writer;
}

static void write_second(jm__writer *writer, int second)
{
    int64_t t_ns = START_NS + second * JM_NS_PER_S + 1;
    jm_reading reading = {1, t_ns, 300.0 + second};
    jm__kernel kernel = {t_ns, t_ns + 500000, 1, 1, second + 1, t_ns - 9000, 0, 1};
    jm__span span = {.id = second + 1,
                     .process_id = 1,
                     .thread_id = 1,
                     .start_ns = t_ns,
                     .end_ns = t_ns + 600000,
                     .name_id = 1,
                     .kind = JM_SPAN_FORWARD};
    jm__writer_readings(writer, &reading, 1);
    jm__writer_span_begin(writer, &span);
    jm__writer_kernels(writer, &kernel, 1);
}

/* What the writer said: all that happened before `complete_ns` is safe; how the end went. */
typedef struct outcome {
    int64_t complete_ns;
    jm_status end;
    jm_error err;
} outcome;

static outcome write_all(jm__writer *writer)
{
    outcome o = {.complete_ns = START_NS};
    for (int second = 0; second < SECONDS; second++) {
        write_second(writer, second);
        int64_t now_ns = START_NS + (second + 1) * JM_NS_PER_S;
        if ((second + 1) % COMMIT_S == 0 && jm__writer_commit(writer, now_ns, NULL) == JM_OK)
            o.complete_ns = now_ns;
    }
    jm__writer_settle(writer, START_NS + SECONDS * JM_NS_PER_S); /* as a run ends */
    note_ns(writer, "end_ns", START_NS + SECONDS * JM_NS_PER_S);
    o.end = jm__writer_close(writer, &o.err);
    return o;
}

/* ---- reading */

static jm_status note_kernel(void *seconds, const jm__kernel_run *kernel, jm_error *err)
{
    (void)err;
    ((int *)seconds)[(kernel->start_ns - START_NS) / JM_NS_PER_S]++;
    return JM_OK;
}

/* How often each second is told of, by the parts whose time it is. */
typedef struct told {
    int readings[SECONDS], kernels[SECONDS], spans[SECONDS];
    int64_t lost; /* rows, as they say; one may be told by two parts */
} told;

static int64_t lost_in(const char *path)
{
    sqlite3 *db;
    sqlite3_stmt *sum;
    int64_t lost = 0;
    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK &&
        sqlite3_prepare_v2(db, "SELECT sum(count) FROM losses", -1, &sum, NULL) == SQLITE_OK) {
        if (sqlite3_step(sum) == SQLITE_ROW) lost = sqlite3_column_int64(sum, 0);
        sqlite3_finalize(sum);
    }
    sqlite3_close(db);
    return lost;
}

static void read_part(told *t, const char *path, const char *which)
{
    jm_error err = {0};
    jm_recording *recording;
    jm__dataset *d;
    int kernels[SECONDS] = {0};
    if (jm_recording_open(&recording, path, &err) != JM_OK) return; /* what was in it is missed below */
    if (jm__dataset_load(&d, recording, &err) != JM_OK) fail_msg("%s: %s: %s", which, path, err.text);
    assert_int_equal(d->kernels.each(d->kernels.context, false, note_kernel, kernels, &err), JM_OK);
    for (int second = 0; second < SECONDS; second++) {
        int64_t t_ns = START_NS + second * JM_NS_PER_S + 1;
        if (t_ns >= d->start_ns && t_ns < d->end_ns) t->kernels[second] += kernels[second];
    }
    for (size_t i = 0; i < d->reading_count; i++)
        if (d->readings[i].t_ns >= d->start_ns && d->readings[i].t_ns < d->end_ns)
            t->readings[(d->readings[i].t_ns - START_NS) / JM_NS_PER_S]++;
    for (size_t i = 0; i < d->span_count; i++)
        if (d->spans[i].start_ns >= d->start_ns && d->spans[i].start_ns < d->end_ns)
            t->spans[(d->spans[i].start_ns - START_NS) / JM_NS_PER_S]++;
    jm__dataset_free(d);
    jm_recording_close(recording);
    t->lost += lost_in(path);
}

/* Rows of a second that are missing; twice is never right. */
static int missing_of(int count, bool safe, const char *which, int second)
{
    if (count > 1) fail_msg("%s: second %d is told of %d times", which, second, count);
    return safe && count == 0;
}

static void check(const outcome *o, const char *which)
{
    char path[80];
    told t = {0};
    for (int part = 1; part <= PARTS_MOST; part++) {
        snprintf(path, sizeof path, "%s/r.%04d.joulemap", folder, part);
        if (access(path, F_OK) == 0) read_part(&t, path, which);
    }
    int64_t missing = 0;
    for (int second = 0; second < SECONDS; second++) {
        bool safe = START_NS + (second + 1) * JM_NS_PER_S <= o->complete_ns || o->end == JM_OK;
        missing += missing_of(t.readings[second], safe, which, second) +
                   missing_of(t.kernels[second], safe, which, second) +
                   missing_of(t.spans[second], safe, which, second);
    }
    if (missing > t.lost)
        fail_msg("%s: %" PRId64 " rows of the first %.0f s are missing, %" PRId64
                 " are told of; the end: %s %s",
                 which, missing, (double)(o->complete_ns - START_NS) / 1e9, t.lost, jm_status_name(o->end),
                 o->err.text);
}

/* ---- all n */

static bool try_one(failing_what what, long n, bool for_good, size_t ends[2])
{
    char which[80];
    jm_error err = {0};
    snprintf(which, sizeof which, "%s %ld fails%s", failing_text(what), n,
             for_good ? ", and all after it" : "");
    jm__writer *writer = begin(&err);
    assert_non_null(writer);
    failing_begin(what, n, for_good);
    outcome o = write_all(writer);
    bool failed = failing_end();
    ends[o.end == JM_OK ? 0 : 1]++;
    if (o.end != JM_OK && (!failed || o.err.text[0] == '\0')) fail_msg("%s: an error without words", which);
    check(&o, which);
    empty_folder();
    return failed;
}

static void fail_each(failing_what what, long step)
{
    long n = 1;
    size_t ends[2] = {0};
    while (try_one(what, n, false, ends))
        n += step * failing_step();
    for (long m = 1; m < n; m += failing_for_good_step(failing_step(), n, 50))
        try_one(what, m, true, ends);
    if (n > 1)
        print_message("each %s of %ld failed: %zu times all is there, %zu times an error at the end\n",
                      failing_text(what), n - 1, ends[0], ends[1]);
}

static void test_a_cut_on_a_disk_that_fails_costs_no_row(void **state)
{
    (void)state;
    for (failing_what what = FAILING_READ; what < FAILING_COUNT; what++)
        fail_each(what, what == FAILING_WRITE || what == FAILING_WRITE_FULL || what == FAILING_LOCK ? 5 : 1);
}

static void test_a_cut_without_memory_costs_no_row_that_was_committed(void **state)
{
    (void)state;
    fail_each(FAILING_OWN_MEMORY, 1);
}

/* How many parts follow the first; each has the mark that held as they began. */
static int parts_after_first(int64_t marked_ns, long n)
{
    char path[80];
    int parts = 0;
    for (int part = 2; part <= PARTS_MOST; part++) {
        jm_recording *recording;
        jm__dataset *d;
        snprintf(path, sizeof path, "%s/r.%04d.joulemap", folder, part);
        if (access(path, F_OK) != 0) continue;
        parts++;
        assert_int_equal(jm_recording_open(&recording, path, NULL), JM_OK);
        assert_int_equal(jm__dataset_load(&d, recording, NULL), JM_OK);
        if (d->mark_count != 1 || d->marks[0].t_ns != marked_ns)
            fail_msg("allocation %ld fails: part %d has %zu marks", n, part, d->mark_count);
        jm__dataset_free(d);
        jm_recording_close(recording);
    }
    return parts;
}

/* Rather the run stays in one file. */
static void test_no_part_begins_without_a_mark_that_holds(void **state)
{
    (void)state;
    bool failed = true;
    int parts = 0;
    for (long n = 1; failed; n++) {
        jm_error err;
        jm__writer *writer = begin(&err);
        const jm__mark traced = {.process_id = 1,
                                 .thread_id = 1,
                                 .t_ns = START_NS,
                                 .name_id = jm__writer_name(writer, JM_MARK_TRACED),
                                 .meta = "{}"};
        failing_begin(FAILING_OWN_MEMORY, n, false);
        jm__writer_mark(writer, &traced);
        failed = failing_end();
        (void)write_all(writer);
        parts = parts_after_first(traced.t_ns, n);
        empty_folder();
    }
    assert_true(parts > 0); /* nothing failed that time */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_cut_on_a_disk_that_fails_costs_no_row),
        cmocka_unit_test(test_a_cut_without_memory_costs_no_row_that_was_committed),
        cmocka_unit_test(test_no_part_begins_without_a_mark_that_holds),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
