/* Exports for viewers and scrapers, of rows made by hand: folded stacks, metrics, trace
 * events. */
#include "attribute/input/span_index.h"
#include "attribute/report.h"
#include "fake_report.h"

#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A row with what these formats look at. */
#define ROW(name_, path_, kind_, depth_, self_j_, busy_s_)                                                   \
    {                                                                                                        \
        .name = name_, .path = path_, .kind = kind_, .depth = depth_, .energy_self_j = self_j_,              \
        .busy_s = busy_s_, .boards = "0"                                                                     \
    }

static jm_status export(const char *format, const jm_row *rows, size_t count, char **text, jm_error *err)
{
    size_t size;
    FILE *out = open_memstream(text, &size);
    assert_non_null(out);
    double total_j = fake_report.totals.total_energy_j;
    fake_report.rows = rows;
    fake_report.row_count = count;
    if (total_j == 0)
        for (size_t i = 0; i < count; i++)
            fake_report.totals.total_energy_j += rows[i].energy_self_j;
    jm_status status = jm_export(NULL, format, NULL, out, err);
    fclose(out);
    return status;
}

#define FOLDED(rows) folded(rows, sizeof(rows) / sizeof *(rows))

static char *folded(const jm_row *rows, size_t count)
{
    char *text;
    assert_int_equal(export("folded", rows, count, &text, NULL), JM_OK);
    return text;
}

static int reset(void **state)
{
    (void)state;
    fake_report = (jm_report){0};
    return 0;
}

static void test_a_line_has_the_joules_of_its_row_alone(void **state)
{
    (void)state;
    static const jm_row rows[] = {
        ROW("model", "model", "layer", 0, 0.5, 4),         ROW("attn", "model.attn", "layer", 1, 1.25, 1),
        ROW("core", "model.attn.core", "layer", 2, 2, .5), ROW("mlp", "model.mlp", "layer", 1, 3, 2),
        ROW("relu", "model.relu", "layer", 1, 0, 0),       ROW("(idle)", "(idle)", "idle", 0, 0.000001, 1),
    };
    char *text = FOLDED(rows);
    assert_string_equal(text, "model 500000\nmodel;attn 1250000\nmodel;attn;core 2000000\n"
                              "model;mlp 3000000\n(idle) 1\n");
    free(text);
}

/* The fit gave 10 J more than the sensors saw: it is taken off all rows alike. */
static void test_joules_that_are_too_many_are_taken_off_the_others(void **state)
{
    (void)state;
    static const jm_row rows[] = {
        ROW("a", "a", "layer", 0, 60, 2),
        ROW("b", "b", "layer", 0, 40, 1),
        ROW("(unresolved)", "(unresolved)", "unresolved", 0, -10, 0),
    };
    char *text = FOLDED(rows);
    assert_string_equal(text, "a 54000000\nb 36000000\n");
    free(text);
}

/* A phase was measured as less than its parts: its own frame is as wide as it was measured, others are not
 * touched. In `c` there is nothing to take it off, so those beside it pay. */
static void test_a_row_that_is_less_than_its_parts_is_as_wide_as_it_is(void **state)
{
    (void)state;
    static const jm_row rows[] = {
        ROW("a", "a", "phase", 0, -20, 2), ROW("x", "a/x", "step", 1, 60, 1),
        ROW("y", "a/y", "step", 1, 40, 1), ROW("b", "b", "phase", 0, 30, 1),
        ROW("c", "c", "phase", 0, 110, 1), ROW("z", "c/z", "step", 1, -11, 1),
    };
    char *text = FOLDED(rows);
    assert_string_equal(text, "a;x 48000000\na;y 32000000\nb 30000000\nc 99000000\n");
    free(text);
}

/* Nobody measured the second board, so nobody knows what of the total is unresolved but for the first. */
static void test_rows_that_no_sensor_saw_leave_the_total_to_the_others(void **state)
{
    (void)state;
    static const jm_row rows[] = {
        ROW("a", "a", "layer", 0, 60, 2),
        ROW("b", "b", "layer", 0, NAN, 1),
        ROW("(unresolved)", "(unresolved)", "unresolved", 0, NAN, 0),
    };
    fake_report.totals.total_energy_j = 100;
    char *text = FOLDED(rows);
    assert_string_equal(text, "a 60000000\n(unresolved) 40000000\n");
    free(text);

    jm_error err;
    fake_report.totals.total_energy_j = NAN;
    assert_int_equal(export("folded", rows + 1, 2, &text, &err), JM_NOT_FOUND);
    assert_string_equal(err.text, "no sensor recorded any energy, so there are no stacks");
    assert_string_equal(text, "");
    free(text);
}

static void test_a_name_cannot_break_a_line_or_a_stack(void **state)
{
    (void)state;
    static const jm_row rows[] = {
        ROW("f(a; b)\n 12", "f", "nvtx", 0, 1, 1),
        ROW("\xff\033[2J", "g", "nvtx", 1, 2, 1),
        ROW("", "h", "nvtx", 1, 3, 1),
    };
    char *text = FOLDED(rows);
    assert_string_equal(text, "f(a, b)\xef\xbf\xbd 12 1000000\n"
                              "f(a, b)\xef\xbf\xbd 12;\xef\xbf\xbd\xef\xbf\xbd[2J 2000000\n"
                              "f(a, b)\xef\xbf\xbd 12;(unnamed) 3000000\n");
    free(text);
}

static void test_frames_that_are_not_one_have_names_of_their_own(void **state)
{
    (void)state;
    static const jm_row passes[] = {
        ROW("Linear", "Linear", "forward", 0, 1, 1),
        ROW("Linear", "Linear", "backward", 0, 2, 1),
        ROW("Relu", "Relu", "forward", 0, 3, 1),
    };
    char *text = FOLDED(passes);
    assert_string_equal(text, "Linear (forward) 1000000\nLinear (backward) 2000000\nRelu 3000000\n");
    free(text);

    jm_row boards[] = {ROW("H200", "GPU-1", "gpu", 0, 1, 1), ROW("H200", "GPU-2", "gpu", 0, 2, 1)};
    boards[1].boards = "1";
    reset(NULL);
    fake_report.options.by = JM_BY_BOARD;
    text = FOLDED(boards);
    assert_string_equal(text, "H200 [0] 1000000\nH200 [1] 2000000\n");
    free(text);
}

static void test_a_row_whose_outer_rows_are_missing_stands_as_far_out_as_it_can(void **state)
{
    (void)state;
    static const jm_row rows[] = {ROW("a", "a", "nvtx", 3, 1, 1), ROW("b", "b", "nvtx", 9, 2, 1),
                                  ROW("c", "c", "nvtx", 1, 3, 1), ROW("d", "d", "nvtx", -1, 4, 1)};
    char *text = FOLDED(rows);
    assert_string_equal(text, "a 1000000\na;b 2000000\na;c 3000000\nd 4000000\n");
    free(text);
}

/* Each of 1000 ranges inside another: their joules are all there, in stacks of a size that is bounded. */
static void test_stacks_that_are_too_deep_keep_their_joules(void **state)
{
    (void)state;
    enum { DEEP = 1000, MOST = 256 };
    static jm_row rows[DEEP];
    for (int i = 0; i < DEEP; i++)
        rows[i] = (jm_row)ROW("r", "r", "nvtx", i, 1, 1);
    char *text = FOLDED(rows);
    double sum_j = 0;
    size_t frames = 0;
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        sum_j += atof(strrchr(line, ' ')) * 1e-6;
        frames = 1;
        for (const char *at = line; (at = strchr(at, ';')) != NULL; at++)
            frames++;
    }
    assert_int_equal(frames, MOST);
    assert_true(fabs(sum_j - DEEP) < 1e-9);
    free(text);
}

static void test_no_cell_is_a_formula_and_numbers_stay_numbers(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        const char *cell;
    } cells[] = {{"=1+1", "'=1+1"},
                 {"+1", "'+1"},
                 {"-1", "'-1"},
                 {"@SUM(A1)", "'@SUM(A1)"},
                 {"\t=1", "'\t=1"},
                 {"\r=1", "\"'\r=1\""},
                 {"'=1", "''=1"},
                 {"''@a", "'''@a"},
                 {"a=1,b", "\"a=1,b\""},
                 {"'tis", "'tis"},
                 {"=a\"b", "\"'=a\"\"b\""},
                 {" a", "\" a\""},
                 {"a\t", "\"a\t\""}};
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) {
        const jm_row row = {.name = cells[i].name,
                            .path = "p",
                            .kind = "k",
                            .type = "-t",
                            .boards = "0",
                            .energy_self_j = -0.5,
                            .energy_j = -0.5,
                            .energy_low_j = NAN};
        char *text, line[64];
        assert_int_equal(export("csv", &row, 1, &text, NULL), JM_OK);
        snprintf(line, sizeof line, "\n%s,p,k,'-t,", cells[i].cell);
        assert_non_null(strstr(text, line));
        assert_non_null(strstr(text, ",-0.5,"));
        assert_null(strstr(text, "'-0.5"));
        free(text);
    }
}

/* ---- OpenMetrics */

static void test_metrics_have_a_sample_a_frame_and_add_up(void **state)
{
    (void)state;
    static const jm_row rows[] = {
        ROW("step", "step", "step", 0, 1, 3),
        ROW("a\"b\\c\nd\xff", "s.a", "forward", 1, 2, 2),
        ROW("step", "step", "step", 0, 4, 2),
        ROW("(unresolved)", "(unresolved)", "unresolved", 0, -0.7, 0),
    };
    fake_report.options.by = JM_BY_SPAN;
    fake_report.totals.duration_s = NAN; /* not known: no metric */
    char *text;
    assert_int_equal(export("openmetrics", rows, 4, &text, NULL), JM_OK);
    const char *rest = strstr(text, "# TYPE joulemap_recording_energy_joules");
    assert_non_null(rest);
    assert_string_equal(
        rest,
        "# TYPE joulemap_recording_energy_joules gauge\n"
        "# UNIT joulemap_recording_energy_joules joules\n"
        "# HELP joulemap_recording_energy_joules Joules of all boards.\n"
        "joulemap_recording_energy_joules 6.3\n"
        "# TYPE joulemap_energy_joules counter\n"
        "# UNIT joulemap_energy_joules joules\n"
        "# HELP joulemap_energy_joules Joules of a row without its child rows; all rows sum up to the "
        "recording.\n"
        "joulemap_energy_joules_total{name=\"step\",path=\"step\",kind=\"step\",boards=\"0\"} 4.5\n"
        "joulemap_energy_joules_total{name=\"a\\\"b\\\\c\\nd\xef\xbf\xbd\",path=\"s.a\",kind=\"forward\","
        "boards=\"0\"} 1.8\n"
        "# TYPE joulemap_busy_seconds counter\n"
        "# UNIT joulemap_busy_seconds seconds\n"
        "# HELP joulemap_busy_seconds Seconds of a row's work without its child rows.\n"
        "joulemap_busy_seconds_total{name=\"step\",path=\"step\",kind=\"step\",boards=\"0\"} 3\n"
        "joulemap_busy_seconds_total{name=\"a\\\"b\\\\c\\nd\xef\xbf\xbd\",path=\"s.a\",kind=\"forward\","
        "boards=\"0\"} 2\n"
        "# EOF\n");
    free(text);
}

/* ---- trace events */

#define SPAN(id_, process_, thread_, kind_, start_us_, end_us_)                                              \
    {                                                                                                        \
        .id = id_, .process_id = process_, .thread_id = thread_, .kind = JM_SPAN_##kind_,                    \
        .start_ns = (start_us_)*1000, .end_ns = (end_us_)*1000                                               \
    }

static jm_board traced_boards[2];
static jm_sensor traced_sensors[5];

/* Two kernels of a graph that overlap, one of another program on the other board, one that stands for many.
 */
static jm_status each_kernel(void *context, bool by_time, jm__kernel_taker take, void *taker, jm_error *err)
{
    (void)context;
    static const jm__kernel_run kernels[] = {
        {.start_ns = 1100000, .end_ns = 1300000, .class_id = 1, .stream_id = 1, .calls = 1},
        {.start_ns = 1200000, .end_ns = 1400000, .class_id = 1, .stream_id = 1, .calls = 1},
        {.start_ns = 1600000, .end_ns = 1700000, .class_id = 2, .stream_id = 2, .calls = 1},
        {.start_ns = 2400000, .end_ns = 2900000, .class_id = 2, .stream_id = 1, .calls = 40},
    };
    assert_true(by_time);
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        jm_status status = take(taker, &kernels[i], err);
        if (status != JM_OK) return status;
    }
    return JM_OK;
}

/* Of a set that was sampled twice, a sample each: cycles in a millisecond, and a share. */
static jm_status each_block(void *context, jm__counter_taker take, void *taker, jm_error *err)
{
    (void)context;
    for (int64_t set = 1; set <= 2; set++) {
        const jm__counter_sample sample = {
            .start_ns = set * 1000000, .end_ns = (set + 1) * 1000000, .values = {2000.0 * (double)set, 50}};
        char data[8 * 4];
        jm__counter_block_pack(data, sample.start_ns, &sample, 1, 2);
        const jm__counter_block block = {.set_id = set,
                                         .start_ns = sample.start_ns,
                                         .end_ns = sample.end_ns,
                                         .count = 1,
                                         .data = {data, sizeof data}};
        jm_status status = take(taker, &block, err);
        if (status != JM_OK) return status;
    }
    return JM_OK;
}

/* Two programs of one pid on two machines, two boards, time 0 at 1 ms. */
static jm__dataset traced(void)
{
    static const jm__process processes[] = {
        {.id = 1, .pid = 50, .rank = -1, .end_ns = 9000000, .command = "python train.py"},
        {.id = 2, .pid = 50, .rank = 3, .end_ns = 9000000, .command = NULL},
    };
    static const jm__span spans[] = {
        SPAN(1, 1, 70, PHASE, 1000, 5000),   SPAN(2, 1, 70, STEP, 1000, 3000),
        SPAN(3, 2, 70, STEP, 1500, 2500),    SPAN(4, 1, 70, STEP, 2000, 4000), /* crosses 2 */
        SPAN(5, 1, 70, FORWARD, 2500, 2750), SPAN(6, 1, 70, STEP, 4000, 5000),
    };
    static const jm_reading readings[] = {
        {1, 1000000, 400.5}, {2, 1000000, 1980}, {3, 1000000, 55},
        {4, 1000000, 12},    {1, 2000000, 410},  {5, 2000000, 90},
    };
    static const struct {
        const char *name;
        int64_t board_id;
        jm_quantity quantity;
    } sensors[] = {
        {"power_ring", 1, JM_QUANTITY_POWER},        {"clock_sm", 1, JM_QUANTITY_CLOCK_SM},
        {"temperature", 1, JM_QUANTITY_TEMPERATURE}, {"energy_counter", 1, JM_QUANTITY_ENERGY},
        {"power_instant", 2, JM_QUANTITY_POWER},
    };
    for (size_t i = 0; i < 5; i++) {
        jm_sensor *sensor = &traced_sensors[i];
        *sensor = (jm_sensor){.board_id = sensors[i].board_id, .quantity = sensors[i].quantity};
        snprintf(sensor->name, sizeof sensor->name, "%s", sensors[i].name);
    }
    for (int i = 0; i < 2; i++)
        traced_boards[i] = (jm_board){.id = i + 1, .backend = "nvml", .name = "H200", .index = i};
    static const char *const names[] = {"", "gemm", "_ZN4copyEv"};
    static const jm__kernel_class classes[] = {{.id = 1, .name_id = 1, .work = JM_WORK_KERNEL},
                                               {.id = 2, .name_id = 2, .work = JM_WORK_MEMCPY}};
    static const jm__stream streams[] = {{.id = 1, .process_id = 1, .board_id = 1, .stream = 7},
                                         {.id = 2, .process_id = 2, .board_id = 2, .stream = 7}};
    static const jm__counter_set sets[] = {
        {1, 1, 2, "[\"cycles\",\"busy\"]", "[\"count\",\"%\"]", 0},
        {2, 1, 2, "[\"cycles\",\"busy\"]", "[\"count\",\"%\"]", 0},
    };
    return (jm__dataset){.names = names,
                         .name_count = 3,
                         .classes = classes,
                         .class_count = 2,
                         .streams = streams,
                         .stream_count = 2,
                         .kernels = {.each = each_kernel},
                         .counters = {.sets = sets, .set_count = 2, .each = each_block},
                         .boards = traced_boards,
                         .board_count = 2,
                         .sensors = traced_sensors,
                         .sensor_count = 5,
                         .readings = readings,
                         .reading_count = 6,
                         .processes = processes,
                         .process_count = 2,
                         .spans = spans,
                         .span_count = 6,
                         .start_ns = 1000000,
                         .end_ns = 9000000};
}

static json_t *trace(const jm__dataset *dataset)
{
    static const jm_row rows[] = {
        ROW("ph\xff", "ph\xff", "phase", 0, 1, 1), ROW("step", "step", "step", 1, 2, 1),
        ROW("step", "step", "step", 1, NAN, 1),    ROW("attn", "b.attn", "forward", 2, 4, 1),
        ROW("step", "step", "step", 1, 5, 1),      ROW("step", "step", "step", 0, 3, 1),
        ROW("(idle)", "(idle)", "idle", 0, 6, 1),
    };
    static const size_t spans[] = {0, 1, 3, 4, 5, 2, JM__NO_SPAN};
    char *text;
    fake_report.dataset = dataset;
    fake_report.spans = spans;
    assert_int_equal(export("chrome", rows, 7, &text, NULL), JM_OK);
    json_error_t error;
    json_t *root = json_loads(text, 0, &error);
    if (root == NULL) fail_msg("%s in %s", error.text, text);
    free(text);
    return root;
}

/* The events of a phase ("X"), each as "name pid tid ts dur energy_self_j", "name pid value" of counters. */
static char *told(const json_t *root, const char *ph)
{
    char *text;
    size_t size, i;
    json_t *event;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    json_array_foreach(json_object_get(root, "traceEvents"), i, event)
    {
        json_t *args = json_object_get(event, "args");
        if (strcmp(json_string_value(json_object_get(event, "ph")), ph) != 0) continue;
        fprintf(out, "%s %lld", json_string_value(json_object_get(event, "name")),
                (long long)json_integer_value(json_object_get(event, "pid")));
        if (ph[0] != 'C') fprintf(out, " %lld", (long long)json_integer_value(json_object_get(event, "tid")));
        if (ph[0] != 'M') fprintf(out, " %g", json_real_value(json_object_get(event, "ts")));
        if (ph[0] == 'M') fprintf(out, " %s", json_string_value(json_object_get(args, "name")));
        if (ph[0] == 'X')
            fprintf(out, " %g %g", json_real_value(json_object_get(event, "dur")),
                    json_number_value(json_object_get(args, "energy_self_j")));
        if (ph[0] == 'C') {
            const char *unit = json_object_iter_key(json_object_iter(args));
            fprintf(out, " %g %s", json_number_value(json_object_get(args, unit)), unit);
        }
        fputc('\n', out);
    }
    fclose(out);
    return text;
}

static void test_a_trace_has_a_line_a_thread_and_another_for_what_crosses(void **state)
{
    (void)state;
    jm__dataset dataset = traced();
    json_t *root = trace(&dataset);
    char *text = told(root, "X");
    assert_string_equal(text, "ph\xef\xbf\xbd 1 1 0 4000 1\n"
                              "step 1 1 0 2000 2\n"
                              "step 2 2 500 1000 3\n"
                              "step 1 3 1000 2000 0\n" /* no sensor tells: null, not 0 */
                              "b.attn 1 1 1500 250 4\n"
                              "step 1 1 3000 1000 5\n"
                              "gemm 3 4 100 200 0\n"
                              "gemm 3 5 200 200 0\n"
                              "copy() 4 6 600 100 0\n"
                              "copy() 3 4 1400 500 0\n");
    free(text);
    text = told(root, "M");
    assert_string_equal(text, "process_name 1 0 python train.py, pid 50\n"
                              "process_name 2 0 pid 50, rank 3\n"
                              "process_name 3 0 GPU 0, H200\n"
                              "process_name 4 0 GPU 1, H200\n"
                              "thread_name 1 1 thread 70\n"
                              "thread_name 2 2 thread 70\n"
                              "thread_name 1 3 thread 70 (2)\n"
                              "thread_name 3 4 stream 7, pid 50\n"
                              "thread_name 3 5 stream 7, pid 50 (2)\n"
                              "thread_name 4 6 stream 7, pid 50\n");
    free(text);
    json_t *events = json_object_get(root, "traceEvents"), *unknown = json_array_get(events, 10);
    assert_int_equal(json_real_value(json_object_get(unknown, "ts")), 1000);
    assert_true(json_is_null(json_object_get(json_object_get(unknown, "args"), "energy_self_j")));
    json_decref(root);
}

static void test_a_trace_has_power_and_clock_of_the_boards_queried_for(void **state)
{
    (void)state;
    jm__dataset dataset = traced();
    json_t *root = trace(&dataset);
    char *text = told(root, "C");
    assert_string_equal(text, "power_ring 3 0 400.5 W\nclock_sm 3 0 1980 MHz\n"
                              "power_ring 3 1000 410 W\npower_instant 4 1000 90 W\n"
                              "cycles 3 0 2e+06 1/s\nbusy 3 0 50 %\n"
                              "cycles 3 1000 4e+06 1/s\nbusy 3 1000 50 %\n");
    free(text);
    json_decref(root);

    jm__interval queried = {1500000, 2500000};
    fake_report.options =
        (jm_report_options){.board_id = 1, .from_ns = queried.from_ns, .to_ns = queried.to_ns};
    fake_report.windows = (jm__intervals){&queried, 1, 1};
    root = trace(&dataset);
    text = told(root, "C");
    assert_string_equal(text, "power_ring 3 1000 410 W\ncycles 3 0 2e+06 1/s\nbusy 3 0 50 %\n"
                              "cycles 3 1000 4e+06 1/s\nbusy 3 1000 50 %\n");
    free(text);
    text = told(root, "X");
    assert_null(strstr(text, "gemm"));
    assert_null(strstr(text, "copy() 4"));
    assert_non_null(strstr(text, "copy() 3"));
    free(text);
    text = told(root, "M");
    assert_null(strstr(text, "GPU 1"));
    free(text);
    json_decref(root);
}

static void test_a_trace_of_nothing_is_a_trace(void **state)
{
    (void)state;
    const jm__dataset nothing = {0};
    char *text;
    fake_report.dataset = &nothing;
    assert_int_equal(export("chrome", NULL, 0, &text, NULL), JM_OK);
    json_t *root = json_loads(text, 0, NULL);
    assert_int_equal(json_array_size(json_object_get(root, "traceEvents")), 0);
    assert_true(json_is_array(json_object_get(root, "traceEvents")));
    json_decref(root);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_a_line_has_the_joules_of_its_row_alone, reset),
        cmocka_unit_test_setup(test_joules_that_are_too_many_are_taken_off_the_others, reset),
        cmocka_unit_test_setup(test_a_row_that_is_less_than_its_parts_is_as_wide_as_it_is, reset),
        cmocka_unit_test_setup(test_rows_that_no_sensor_saw_leave_the_total_to_the_others, reset),
        cmocka_unit_test_setup(test_a_name_cannot_break_a_line_or_a_stack, reset),
        cmocka_unit_test_setup(test_frames_that_are_not_one_have_names_of_their_own, reset),
        cmocka_unit_test_setup(test_a_row_whose_outer_rows_are_missing_stands_as_far_out_as_it_can, reset),
        cmocka_unit_test_setup(test_stacks_that_are_too_deep_keep_their_joules, reset),
        cmocka_unit_test_setup(test_no_cell_is_a_formula_and_numbers_stay_numbers, reset),
        cmocka_unit_test_setup(test_metrics_have_a_sample_a_frame_and_add_up, reset),
        cmocka_unit_test_setup(test_a_trace_has_a_line_a_thread_and_another_for_what_crosses, reset),
        cmocka_unit_test_setup(test_a_trace_has_power_and_clock_of_the_boards_queried_for, reset),
        cmocka_unit_test_setup(test_a_trace_of_nothing_is_a_trace, reset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
