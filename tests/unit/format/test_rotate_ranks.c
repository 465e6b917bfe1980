/* Two ranks in parts: who waited for whom is known at a cut as elsewhere, though records of one rank come in
 * later than those of the other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "day.h"
#include "rotated.h"

#include <inttypes.h>

#define ALL_REDUCE "ncclDevKernel_AllReduce_Sum_f32"
#define START_NS   (1000 * JM_NS_PER_S)

/* Ten all-reduces a second, from 0 and from 20 ms on, to 60 ms: the first rank waits a third of it. What the
 * second does is told seconds later. */
enum { SECONDS = 130, PART_S = 40, RANKS = 2, LATE_S = 2, WRITERS = 2 };

static jm__writer *writers[WRITERS];

static void begin(void)
{
    jm_error err;
    const jm__rotation_wanted never = {.every_s = 1e6};
    writers[1] = rotated_begin(PART_S, 0, 0);
    assert_int_equal(jm__writer_create_parts(&writers[0], whole_path, false, &never, &err), JM_OK);
    snprintf(whole_path, sizeof whole_path, "%s/whole.0001.joulemap", folder);
    for (int w = 0; w < WRITERS; w++) {
        char text[24];
        jm__kernel_class class = {
            .name_id = jm__writer_name(writers[w], ALL_REDUCE), .work = JM_WORK_KERNEL, .grid = {24, 1, 1}};
        assert_int_equal(jm__writer_kernel_class(writers[w], &class, NULL), JM_OK);
        for (int rank = 0; rank < RANKS; rank++) {
            jm_board board = jm__board_blank;
            jm_sensor power = day_sensor("power_instant", JM_QUANTITY_POWER, JM_RESPONSE_INSTANT, 100000000);
            jm__stream stream = {.process_id = rank + 1, .context = 1, .stream = 7};
            const jm__process process = {
                .id = rank + 1, .pid = 100 + rank, .rank = rank, .start_ns = START_NS, .end_ns = START_NS};
            snprintf(board.name, sizeof board.name, "H200");
            board.index = rank;
            assert_int_equal(jm__writer_board(writers[w], &board, NULL), JM_OK);
            power.board_id = stream.board_id = board.id;
            assert_int_equal(jm__writer_sensor(writers[w], &power, NULL), JM_OK);
            assert_int_equal(jm__writer_stream(writers[w], &stream, NULL), JM_OK);
            jm__writer_process(writers[w], &process);
        }
        snprintf(text, sizeof text, "%" PRId64, START_NS);
        jm__writer_meta(writers[w], "start_ns", text);
    }
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
        for (int w = 0; w < WRITERS; w++)
            jm__writer_kernels(writers[w], &kernel, 1);
    }
}

static void make(void)
{
    begin();
    for (int second = 0; second < SECONDS + LATE_S; second++) {
        tell_rank(0, second);
        tell_rank(1, second - LATE_S);
        for (int i = 0; i < 10 && second < SECONDS; i++)
            for (int rank = 0; rank < RANKS; rank++) {
                const jm_reading r = {rank + 1, START_NS + second * JM_NS_PER_S + i * 100 * JM_NS_PER_MS,
                                      300};
                for (int w = 0; w < WRITERS; w++)
                    jm__writer_readings(writers[w], &r, 1);
            }
        int64_t complete_ns = START_NS + (second + 1 - LATE_S) * JM_NS_PER_S;
        for (int w = 0; w < WRITERS && second >= LATE_S; w++)
            assert_int_equal(jm__writer_commit(writers[w], complete_ns, NULL), JM_OK);
    }
    for (int w = 0; w < WRITERS; w++) {
        char text[24];
        snprintf(text, sizeof text, "%" PRId64, START_NS + SECONDS * JM_NS_PER_S);
        jm__writer_settle(writers[w], START_NS + SECONDS * JM_NS_PER_S);
        jm__writer_meta(writers[w], "end_ns", text);
        assert_int_equal(jm__writer_close(writers[w], NULL), JM_OK);
    }
}

/* Seconds of a row, and of how many calls. */
static void add(const char *file, const char *path, double *busy_s, int64_t *calls)
{
    jm_report *report = rotated_report(file, JM_BY_LAYER, NULL);
    for (size_t i = 0; i < jm_report_row_count(report); i++) {
        const jm_row *row = jm_report_row(report, i);
        if (strcmp(row->path, path) != 0) continue;
        *busy_s += row->busy_s;
        *calls += row->calls;
    }
    jm_report_free(report);
}

static void test_collectives_at_a_cut_are_compared_as_elsewhere(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        double busy_s;
    } rows[] = {{ALL_REDUCE, SECONDS * 10 * (0.060 + 0.040)}, {ALL_REDUCE "/waiting", SECONDS * 10 * 0.020}};
    make();
    assert_true(rotated_count() >= 3);
    for (size_t r = 0; r < 2; r++) {
        double whole_s = 0, parts_s = 0;
        int64_t whole = 0, parts = 0;
        add(whole_path, rows[r].path, &whole_s, &whole);
        for (int part = 1; part <= rotated_count(); part++)
            add(rotated_path(part), rows[r].path, &parts_s, &parts);
        assert_true(fabs(whole_s - rows[r].busy_s) < 1e-3);
        assert_true(fabs(parts_s - whole_s) < 1e-6);
        assert_int_equal(parts, whole);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_collectives_at_a_cut_are_compared_as_elsewhere),
    };
    return cmocka_run_group_tests(tests, rotated_set_up, rotated_tear_down);
}
