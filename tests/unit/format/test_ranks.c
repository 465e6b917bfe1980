/* Two ranks in one recording: who waited for whom is known, though records of one rank come in later than
 * those of the other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "day.h"

#include <inttypes.h>
#include <joulemap/joulemap.h>
#include <unistd.h>

#define ALL_REDUCE "ncclDevKernel_AllReduce_Sum_f32"
#define START_NS   (1000 * JM_NS_PER_S)

/* Ten all-reduces a second, from 0 and from 20 ms on, to 60 ms: the first rank waits a third of it. What the
 * second does is told seconds later. */
enum { SECONDS = 30, RANKS = 2, LATE_S = 2 };

static const char path[] = "/tmp/joulemap-test-ranks.joulemap";
static jm__writer *writer;

static void begin(void)
{
    char text[24];
    assert_int_equal(jm__writer_create(&writer, path, true, NULL), JM_OK);
    jm__kernel_class class = {
        .name_id = jm__writer_name(writer, ALL_REDUCE), .work = JM_WORK_KERNEL, .grid = {24, 1, 1}};
    assert_int_equal(jm__writer_kernel_class(writer, &class, NULL), JM_OK);
    for (int rank = 0; rank < RANKS; rank++) {
        jm_board board = jm__board_blank;
        jm_sensor power = day_sensor("power_instant", JM_QUANTITY_POWER, JM_RESPONSE_INSTANT, 100000000);
        jm__stream stream = {.process_id = rank + 1, .context = 1, .stream = 7};
        const jm__process process = {
            .id = rank + 1, .pid = 100 + rank, .rank = rank, .start_ns = START_NS, .end_ns = START_NS};
        snprintf(board.name, sizeof board.name, "H200");
        board.index = rank;
        assert_int_equal(jm__writer_board(writer, &board, NULL), JM_OK);
        power.board_id = stream.board_id = board.id;
        assert_int_equal(jm__writer_sensor(writer, &power, NULL), JM_OK);
        assert_int_equal(jm__writer_stream(writer, &stream, NULL), JM_OK);
        jm__writer_process(writer, &process);
    }
    snprintf(text, sizeof text, "%" PRId64, START_NS);
    jm__writer_meta(writer, "start_ns", text);
}

static void tell_rank(int rank, int second)
{
    for (int i = 0; i < 10 && second >= 0 && second < SECONDS; i++) {
        int64_t t_ns = START_NS + second * JM_NS_PER_S + i * 100 * JM_NS_PER_MS;
        const jm__kernel kernel = {.start_ns = t_ns + rank * 20 * JM_NS_PER_MS,
                                   .end_ns = t_ns + 60 * JM_NS_PER_MS,
                                   .class_id = 1,
                                   .stream_id = rank + 1,
                                   .launch_ns = -1,
                                   .calls = 1};
        jm__writer_kernels(writer, &kernel, 1);
    }
}

static void make(void)
{
    char text[24];
    begin();
    for (int second = 0; second < SECONDS + LATE_S; second++) {
        tell_rank(0, second);
        tell_rank(1, second - LATE_S);
        for (int i = 0; i < 10 && second < SECONDS; i++)
            for (int rank = 0; rank < RANKS; rank++) {
                const jm_reading r = {rank + 1, START_NS + second * JM_NS_PER_S + i * 100 * JM_NS_PER_MS,
                                      300};
                jm__writer_readings(writer, &r, 1);
            }
        int64_t complete_ns = START_NS + (second + 1 - LATE_S) * JM_NS_PER_S;
        if (second >= LATE_S) assert_int_equal(jm__writer_commit(writer, complete_ns, NULL), JM_OK);
    }
    snprintf(text, sizeof text, "%" PRId64, START_NS + SECONDS * JM_NS_PER_S);
    jm__writer_meta(writer, "end_ns", text);
    assert_int_equal(jm__writer_close(writer, NULL), JM_OK);
}

static const jm_row *row_of(const jm_report *report, const char *row_path)
{
    for (size_t i = 0; i < jm_report_row_count(report); i++)
        if (strcmp(jm_report_row(report, i)->path, row_path) == 0) return jm_report_row(report, i);
    fail_msg("no row %s", row_path);
    return NULL;
}

static void test_collectives_are_compared_though_one_rank_tells_late(void **state)
{
    (void)state;
    jm_recording *recording;
    jm_report *report;
    const jm_report_options options = {.size = sizeof options, .by = JM_BY_LAYER};
    make();
    assert_int_equal(jm_recording_open(&recording, path, NULL), JM_OK);
    assert_int_equal(jm_report_create(&report, recording, &options, NULL), JM_OK);
    assert_true(fabs(row_of(report, ALL_REDUCE)->busy_s - SECONDS * 10 * (0.060 + 0.040)) < 1e-3);
    assert_true(fabs(row_of(report, ALL_REDUCE "/waiting")->busy_s - SECONDS * 10 * 0.020) < 1e-3);
    assert_int_equal(row_of(report, ALL_REDUCE)->calls, SECONDS * 10 * RANKS);
    jm_report_free(report);
    jm_recording_close(recording);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_collectives_are_compared_though_one_rank_tells_late),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
