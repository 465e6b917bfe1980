/* A recording: what is written comes back, from memory and from a file. */
#include "all_kernels.h"
#include "attribute/input/span_index.h"
#include "base/clock.h"
#include "format/batch.h"
#include "format/database.h"
#include "format/dataset.h"
#include "format/rows/marks.h"
#include "format/writer.h"

#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define START_NS (INT64_C(77) * JM_NS_PER_S)

static char folder[] = "/tmp/joulemap-test-record-XXXXXX";
static char path[64];

static int make_folder(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL) return -1;
    snprintf(path, sizeof path, "%s/r.joulemap", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

static void write_board(jm__writer *writer, int64_t *sensor_id)
{
    jm_board board = {.backend = "nvml",
                      .name = "NVIDIA H200",
                      .uuid = "GPU-1",
                      .index = 0,
                      .cuda_index = -1,
                      .power_limit_w = 700,
                      .power_limit_min_w = NAN,
                      .power_limit_max_w = 700,
                      .simulated = true};
    assert_int_equal(jm__writer_board(writer, &board, NULL), JM_OK);
    jm_sensor sensor = {.board_id = board.id,
                        .name = "power_ring",
                        .source = "nvmlDeviceGetSamples(TOTAL_POWER)",
                        .quantity = JM_QUANTITY_POWER,
                        .response = JM_RESPONSE_FIRST_ORDER,
                        .period_ns = 20 * JM_NS_PER_MS,
                        .lag_ns = 7,
                        .lag_u_ns = 8,
                        .tau_ns = 9,
                        .tau_u_ns = 10,
                        .noise = 1.5,
                        .gain_u = 0.029};
    assert_int_equal(jm__writer_sensor(writer, &sensor, NULL), JM_OK);
    jm_sensor missing = {.board_id = board.id,
                         .name = "energy_counter",
                         .missing = "nvmlDeviceGetTotalEnergyConsumption: not supported",
                         .quantity = JM_QUANTITY_ENERGY,
                         .response = JM_RESPONSE_COUNTER};
    assert_int_equal(jm__writer_sensor(writer, &missing, NULL), JM_OK);
    *sensor_id = sensor.id;
}

static void write_timeline(jm__writer *writer)
{
    int64_t layer = jm__writer_name(writer, "blocks.0.attn");
    int64_t type = jm__writer_name(writer, "Attention(768)");
    assert_int_equal(jm__writer_name(writer, "blocks.0.attn"), layer);
    assert_int_equal(jm__writer_name(writer, ""), 0);
    jm__process process = {.id = 1,
                           .pid = 42,
                           .parent_pid = 1,
                           .rank = 3,
                           .start_ns = START_NS,
                           .end_ns = START_NS + 4,
                           .host = "node7",
                           .command = "python x"};
    jm__writer_process(writer, &process);
    process.end_ns = START_NS + 9; /* it was seen again */
    jm__writer_process(writer, &process);
    jm__span span = {.id = 1,
                     .process_id = 1,
                     .thread_id = 43,
                     .start_ns = START_NS + 5,
                     .end_ns = -1,
                     .name_id = layer,
                     .type_id = type,
                     .samples = 32,
                     .kind = JM_SPAN_FORWARD};
    jm__writer_span_begin(writer, &span);
    jm__writer_span_end(writer, &(jm__span_end){.span_id = 1, .end_ns = START_NS + 25, .tokens = 512});
    span.id = 2;
    span.parent_id = 1;
    span.start_ns = START_NS + 7;
    span.type_id = 0;
    span.samples = 0;
    jm__writer_span_begin(writer, &span);
    jm__kernel_class kernel_class = {.name_id = jm__writer_name(writer, "gemm"),
                                     .work = JM_WORK_KERNEL,
                                     .grid = {132, 2, 1},
                                     .block = {256, 1, 1}};
    assert_int_equal(jm__writer_kernel_class(writer, &kernel_class, NULL), JM_OK);
    jm__stream stream = {.process_id = 1, .board_id = 1, .context = 1, .stream = 7};
    assert_int_equal(jm__writer_stream(writer, &stream, NULL), JM_OK);
    jm__kernel kernels[2] = {{.start_ns = START_NS + 30,
                              .end_ns = START_NS + 40,
                              .class_id = 1,
                              .stream_id = 1,
                              .span_id = 2,
                              .launch_ns = START_NS + 8,
                              .calls = 1},
                             {.start_ns = START_NS + 10,
                              .end_ns = START_NS + 20,
                              .class_id = 1,
                              .stream_id = 1,
                              .launch_ns = -1,
                              .bytes = 512,
                              .calls = 3}};
    jm__writer_kernels(writer, kernels, 2);
    jm__mark mark = {
        .process_id = 1, .thread_id = 43, .t_ns = START_NS + 3, .name_id = layer, .meta = "{\"a\":1}"};
    jm__writer_mark(writer, &mark);
    jm__loss loss = {.t_ns = START_NS + 4, .process_id = 1, .count = 17, .source = "ring", .reason = "full"};
    jm__writer_loss(writer, &loss);
    jm__event event = {
        .kind = JM_EVENT_GAP, .t_ns = START_NS + 6, .board_id = 1, .value = 1e9, .text = "1 s without"};
    jm__writer_event(writer, &event);
}

static void write_everything(jm__writer *writer)
{
    int64_t sensor_id;
    char start[24];
    snprintf(start, sizeof start, "%" PRId64, START_NS);
    jm__writer_meta(writer, "start_ns", start);
    jm__writer_meta(writer, "sampler_cpu_ns", "5000");
    jm__writer_meta(writer, "sampler_calls", "40");
    jm__anchor anchor = {START_NS, 1};
    jm__writer_anchor(writer, &anchor);
    write_board(writer, &sensor_id);
    jm_reading readings[3] = {
        {sensor_id, START_NS + 2, 101.5}, {sensor_id, START_NS + 1, 99}, {sensor_id, START_NS + 3, NAN}};
    jm__writer_readings(writer, readings, 3);
    write_timeline(writer);
}

static void check_boards(const jm__dataset *data)
{
    assert_int_equal(data->board_count, 1);
    assert_string_equal(data->boards[0].uuid, "GPU-1");
    assert_string_equal(data->boards[0].pci, "");
    assert_int_equal(data->boards[0].cuda_index, -1);
    assert_true(isnan(data->boards[0].power_limit_min_w));
    assert_true(data->boards[0].simulated);
    assert_int_equal(data->sensor_count, 2);
    assert_int_equal(data->sensors[0].response, JM_RESPONSE_FIRST_ORDER);
    assert_int_equal(data->sensors[0].tau_u_ns, 10);
    assert_true(fabs(data->sensors[0].gain_u - 0.029) < 1e-15);
    assert_string_equal(data->sensors[1].missing, "nvmlDeviceGetTotalEnergyConsumption: not supported");
}

static void check_kernels(const jm__dataset *data)
{
    jm_status status;
    all_kernels kernels = all_kernels_of(data, &status);
    assert_int_equal(status, JM_OK);
    assert_int_equal(kernels.count, 2);
    assert_int_equal(kernels.items[0].start_ns, START_NS + 10); /* sorted by time */
    assert_int_equal(kernels.items[0].calls, 3);
    assert_int_equal(kernels.items[1].end_ns, START_NS + 40);
    assert_int_equal(kernels.items[0].launch_ns, -1); /* not known */
    assert_int_equal(kernels.items[1].launch_ns, START_NS + 8);
    assert_int_equal(kernels.items[1].span_id, 2);
    free(kernels.items);
}

static int64_t integer_in_file(const char *sql)
{
    sqlite3 *db;
    int64_t value = 0;
    assert_int_equal(jm__database_open(&db, path, false, NULL), JM_OK);
    assert_int_equal(jm__database_integer(db, sql, &value, path, NULL), JM_OK);
    sqlite3_close(db);
    return value;
}

/* What no reader of ours takes: when a kernel was launched, and the bytes that a copy moved. */
static void check_launches(void)
{
    assert_int_equal(integer_in_file("SELECT queued_ns IS NULL AND bytes = 512 FROM kernels WHERE calls = 3"),
                     1);
    assert_int_equal(integer_in_file("SELECT queued_ns FROM kernels WHERE span_id = 2"), 22);
}

static void check_everything(const jm__dataset *data)
{
    check_boards(data);
    assert_int_equal(data->start_ns, START_NS);
    assert_int_equal(data->reading_count, 2); /* what is not a number is no reading */
    assert_true(data->readings[0].value == 99 && data->readings[1].value == 101.5);
    assert_int_equal(data->span_count, 2);
    assert_int_equal(data->spans[0].end_ns, START_NS + 25);
    assert_string_equal(data->names[data->spans[0].name_id], "blocks.0.attn");
    assert_string_equal(data->names[data->spans[0].type_id], "Attention(768)");
    assert_int_equal(data->spans[0].kind, JM_SPAN_FORWARD);
    assert_int_equal(data->spans[0].samples, 32);
    assert_int_equal(data->spans[0].tokens, 512);
    assert_int_equal(data->spans[1].end_ns, -1);
    assert_int_equal(data->spans[1].parent_id, 1);
    assert_int_equal(data->classes[0].grid[1], 2);
    assert_string_equal(data->names[data->classes[0].name_id], "gemm");
    assert_int_equal(data->streams[0].stream, 7);
    assert_int_equal(data->process_count, 1);
    const jm__process *process = jm__dataset_process(data, data->spans[0].process_id);
    assert_int_equal(process->pid, 42);
    assert_int_equal(process->parent_pid, 1);
    assert_int_equal(process->rank, 3);
    assert_int_equal(process->end_ns, START_NS + 9);
    assert_string_equal(process->host, "node7");
    assert_string_equal(process->command, "python x");
    assert_string_equal(data->marks[0].meta, "{\"a\":1}");
    assert_int_equal(data->losses[0].count, 17);
    assert_int_equal(data->events[0].kind, JM_EVENT_GAP);
    assert_true(data->events[0].value == 1e9);
}

static void test_what_is_written_comes_back_from_a_file(void **state)
{
    (void)state;
    jm_error err;
    jm__writer *writer;
    assert_int_equal(jm__writer_create(&writer, path, true, &err), JM_OK);
    write_everything(writer);
    assert_int_equal(jm__writer_close(writer, &err), JM_OK);
    jm_recording *recording;
    assert_int_equal(jm_recording_open(&recording, path, &err), JM_OK);
    assert_null(jm_recording_damage(recording));
    assert_string_equal(jm_recording_meta(recording, "joulemap_version"), jm_version());
    jm__dataset *data;
    assert_int_equal(jm__dataset_load(&data, recording, &err), JM_OK);
    check_kernels(data);
    check_launches();
    jm_recording_close(recording); /* all else of the dataset stands by itself */
    check_everything(data);
    assert_null(data->damage);
    assert_int_equal(data->cost.cpu_ns, 5000);
    assert_int_equal(data->cost.calls, 40);
    assert_int_equal(data->cost.call_ns, -1); /* not noted */
    jm__dataset_free(data);
}

static void test_a_recording_in_memory_is_read_while_it_is_written(void **state)
{
    (void)state;
    jm_error err;
    jm__writer *writer;
    jm_recording *recording;
    jm__dataset *data;
    assert_int_equal(jm__writer_create(&writer, NULL, false, &err), JM_OK);
    assert_int_equal(jm__writer_recording(writer, &recording, &err), JM_OK);
    write_everything(writer);
    assert_int_equal(jm__writer_commit(writer, START_NS + 50, &err), JM_OK);
    assert_int_equal(jm__dataset_load(&data, recording, &err), JM_OK);
    check_everything(data);
    check_kernels(data);
    assert_int_equal(data->end_ns, START_NS + 50);
    jm__dataset_free(data);
    jm__writer_span_end(writer, &(jm__span_end){.span_id = 2,
                                                .end_ns = START_NS + 60,
                                                .samples = 4,
                                                .tokens = 8}); /* of a span that is in the file already */
    assert_int_equal(jm__writer_commit(writer, START_NS + 70, &err), JM_OK);
    assert_int_equal(jm__dataset_load(&data, recording, &err), JM_OK);
    assert_int_equal(data->spans[1].end_ns, START_NS + 60);
    assert_int_equal(data->spans[1].samples, 4);
    assert_int_equal(data->spans[1].tokens, 8);
    jm__dataset_free(data);
    assert_int_equal(jm__writer_close(writer, &err), JM_OK);
}

/* Its command's end the recorder notes, that of other processes it marks as it finds out. */
static void test_what_never_ended_lasts_to_the_end_of_its_process(void **state)
{
    (void)state;
    enum { COMMAND = 1, WORKER, OTHER };
    jm_error err;
    jm__writer *writer;
    jm_recording *recording;
    jm__dataset *data;
    assert_int_equal(jm__writer_create(&writer, NULL, false, &err), JM_OK);
    assert_int_equal(jm__writer_recording(writer, &recording, &err), JM_OK);
    jm__writer_meta(writer, "start_ns", "77000000000");
    jm__writer_meta(writer, "child_pid", "41");
    jm__writer_meta(writer, "child_end_ns", "77000000040");
    for (int64_t id = COMMAND; id <= OTHER; id++) {
        const jm__process process = {
            .id = id, .pid = 40 + id, .rank = -1, .start_ns = START_NS, .end_ns = START_NS};
        const jm__span span = {.id = id,
                               .process_id = id,
                               .thread_id = 1,
                               .start_ns = START_NS,
                               .end_ns = -1,
                               .kind = JM_SPAN_PHASE};
        jm__writer_process(writer, &process);
        jm__writer_span_begin(writer, &span);
    }
    jm__mark gone = {.process_id = WORKER, .t_ns = START_NS + 30};
    gone.name_id = jm__writer_name(writer, JM_MARK_ENDED);
    jm__writer_mark(writer, &gone);
    assert_int_equal(jm__writer_commit(writer, START_NS + 50, &err), JM_OK);
    const jm__row_filter phases = {
        .from_ns = START_NS, .to_ns = START_NS + 50, .spans = true, .kind = JM_SPAN_PHASE};
    for (int i = 0; i < 2; i++) { /* the same where spans alone are asked for */
        jm_status status = i == 0 ? jm__dataset_load(&data, recording, &err)
                                  : jm__dataset_load_readings(&data, recording, &phases, &err);
        assert_int_equal(status, JM_OK);
        assert_int_equal(data->span_count, 3);
        assert_int_equal(jm__span_end_ns(data, &data->spans[0]), START_NS + 40);
        assert_int_equal(jm__span_end_ns(data, &data->spans[1]), START_NS + 30);
        assert_int_equal(jm__span_end_ns(data, &data->spans[2]), START_NS + 50);
        jm__dataset_free(data);
    }
    assert_int_equal(jm__writer_close(writer, &err), JM_OK);
}

static void test_one_single_file_is_left(void **state)
{
    (void)state;
    jm__writer *writer;
    char beside[80];
    assert_int_equal(jm__writer_create(&writer, path, true, NULL), JM_OK);
    snprintf(beside, sizeof beside, "%s-wal", path);
    assert_int_equal(access(beside, F_OK), 0); /* there while it is written */
    assert_int_equal(jm__writer_close(writer, NULL), JM_OK);
    assert_int_not_equal(access(beside, F_OK), 0);
    snprintf(beside, sizeof beside, "%s-shm", path);
    assert_int_not_equal(access(beside, F_OK), 0);
}

/* Kernels are read later than all else: they may not be those of another recording. */
static void test_a_file_that_is_replaced_while_it_is_read_gives_no_kernels_of_another(void **state)
{
    (void)state;
    jm__writer *writer;
    jm_recording *recording;
    jm__dataset *data;
    jm_status status;
    jm_error err;
    for (int file = 0; file < 2; file++) {
        assert_int_equal(jm__writer_create(&writer, path, true, &err), JM_OK);
        write_everything(writer);
        assert_int_equal(jm__writer_close(writer, &err), JM_OK);
        if (file > 0) break;
        assert_int_equal(jm_recording_open(&recording, path, &err), JM_OK);
        assert_int_equal(jm__dataset_load(&data, recording, &err), JM_OK);
    }
    all_kernels kernels = all_kernels_of(data, &status);
    assert_int_equal(status, JM_BUSY);
    assert_int_equal(kernels.count, 0);
    free(kernels.items);
    jm__dataset_free(data);
    jm_recording_close(recording);
}

static void test_more_readings_at_once_than_a_batch_holds_are_all_written(void **state)
{
    (void)state;
    jm__writer *writer;
    jm_error err;
    int64_t sensor_id;
    size_t count = JM_BATCH_BYTES_MAX / sizeof(jm_reading) + 1000;
    jm_reading *readings = calloc(count, sizeof *readings);
    assert_non_null(readings);
    assert_int_equal(jm__writer_create(&writer, path, true, &err), JM_OK);
    write_board(writer, &sensor_id);
    for (size_t i = 0; i < count; i++)
        readings[i] = (jm_reading){sensor_id, START_NS + (int64_t)i, 100};
    jm__writer_readings(writer, readings, count);
    free(readings);
    assert_int_equal(jm__writer_close(writer, &err), JM_OK);
    assert_int_equal(integer_in_file("SELECT count(*) FROM readings"), count);
    assert_int_equal(integer_in_file("SELECT count(*) FROM losses"), 0);
}

static void test_readings_find_room_in_memory_where_kernels_have_taken_theirs(void **state)
{
    (void)state;
    jm__batch batch = {0};
    enum { KERNELS = 100000, READINGS = 500000 };
    jm__kernel *kernels = calloc(KERNELS, sizeof *kernels);
    jm_reading *readings = calloc(READINGS, sizeof *readings);
    assert_non_null(kernels);
    assert_non_null(readings);
    while (batch.dropped[JM_BATCH_KERNELS] == 0)
        jm__batch_add(&batch, JM_TABLE_KERNELS, kernels, KERNELS);
    jm__batch_add(&batch, JM_TABLE_READINGS, readings, READINGS);
    assert_int_equal(batch.rows[JM_TABLE_READINGS].count, READINGS);
    assert_int_equal(batch.dropped[JM_BATCH_READINGS], 0);
    jm__batch_free(&batch);
    free(readings);
    free(kernels);
}

/* To the row: kernels up to the share that is kept for readings, readings up to the whole. */
static void test_a_batch_takes_what_fits_and_counts_the_rest(void **state)
{
    (void)state;
    jm__batch batch = {0};
    enum { MANY = 200000 };
    jm__kernel *kernels = calloc(MANY, sizeof *kernels);
    jm_reading *readings = calloc(MANY, sizeof *readings);
    assert_non_null(kernels);
    assert_non_null(readings);
    size_t kernel_room = (JM_BATCH_BYTES_MAX - JM_BATCH_READINGS_BYTES) / sizeof *kernels, pushed = 0;
    for (; pushed <= kernel_room + MANY; pushed += MANY)
        jm__batch_add(&batch, JM_TABLE_KERNELS, kernels, MANY);
    assert_int_equal(batch.rows[JM_TABLE_KERNELS].count, kernel_room);
    assert_int_equal(batch.dropped[JM_BATCH_KERNELS], pushed - kernel_room);
    size_t reading_room = (JM_BATCH_BYTES_MAX - batch.bytes) / sizeof *readings;
    for (pushed = 0; pushed <= reading_room + MANY; pushed += MANY)
        jm__batch_add(&batch, JM_TABLE_READINGS, readings, MANY);
    assert_int_equal(batch.rows[JM_TABLE_READINGS].count, reading_room);
    assert_int_equal(batch.dropped[JM_BATCH_READINGS], pushed - reading_room);
    assert_true(batch.bytes <= JM_BATCH_BYTES_MAX && batch.bytes > JM_BATCH_BYTES_MAX - sizeof *readings);
    jm__batch_add(&batch, JM_TABLE_SPANS, &(jm__span){.id = 1}, 1);
    assert_int_equal(batch.dropped[JM_BATCH_SPANS], 1);
    jm__batch_free(&batch);
    free(readings);
    free(kernels);
}

static void test_what_is_written_of_a_batch_goes_from_its_front(void **state)
{
    (void)state;
    jm__batch batch = {0}, part;
    for (int i = 0; i < 5; i++) {
        jm__mark mark = {.t_ns = i, .meta = "{}"};
        jm_reading reading = {1, i, 100.0 + i};
        jm__span span = {.id = i + 1, .start_ns = i, .end_ns = -1};
        jm__batch_add(&batch, JM_TABLE_MARKS, &mark, 1);
        jm__batch_add(&batch, JM_TABLE_READINGS, &reading, 1);
        jm__batch_add(&batch, JM_TABLE_SPANS, &span, 1);
    }
    assert_int_equal(jm__batch_first(&batch, JM_BATCH_READINGS, 3, &part), 3);
    jm__batch_forget(&batch, &part);
    assert_int_equal(jm__batch_first(&batch, JM_BATCH_MARKS, SIZE_MAX, &part), 5);
    jm__batch_forget(&batch, &part);
    assert_int_equal(jm__batch_first(&batch, JM_BATCH_SPANS, 2, &part), 2);
    jm__batch_forget(&batch, &part);
    jm__batch_end_span(&batch, &(jm__span_end){.span_id = 1, .end_ns = 50}); /* it is in the file by now */
    jm__batch_end_span(&batch, &(jm__span_end){.span_id = 3, .end_ns = 60});
    assert_int_equal(batch.rows[JM_TABLE_READINGS].count, 2);
    assert_int_equal(((jm_reading *)batch.rows[JM_TABLE_READINGS].rows)[0].t_ns, 3);
    assert_int_equal(batch.rows[JM_TABLE_MARKS].count, 0);
    assert_int_equal(batch.rows[JM_TABLE_SPANS].count, 3);
    assert_int_equal(((jm__span *)batch.rows[JM_TABLE_SPANS].rows)[0].end_ns, 60);
    assert_int_equal(batch.span_ends.count, 1);
    assert_int_equal(batch.bytes, 2 * sizeof(jm_reading) + 3 * sizeof(jm__span) + sizeof(jm__span_end));
    jm__batch_free(&batch);
}

static void test_an_existing_file_is_replaced_only_if_queried(void **state)
{
    (void)state;
    jm_error err;
    jm__writer *writer;
    assert_int_equal(jm__writer_create(&writer, path, true, &err), JM_OK);
    assert_int_equal(jm__writer_close(writer, &err), JM_OK);
    assert_int_equal(jm__writer_create(&writer, path, false, &err), JM_IO);
    assert_non_null(strstr(err.text, "exists already"));
    assert_non_null(strstr(err.hint, "--force"));
    assert_int_equal(access(path, F_OK), 0);
}

static void test_a_file_that_is_being_written_is_not_replaced_by_the_same_process_either(void **state)
{
    (void)state;
    jm_error err;
    jm__writer *first, *second;
    char link[80];
    snprintf(link, sizeof link, "%s.same", path);
    assert_int_equal(jm__writer_create(&first, path, true, &err), JM_OK);
    assert_int_equal(jm__writer_create(&second, path, true, &err), JM_BUSY);
    assert_non_null(strstr(err.text, "is being written"));
    assert_int_equal(symlink(path, link), 0); /* by another name it is the same file */
    assert_int_equal(jm__writer_create(&second, link, true, &err), JM_BUSY);
    assert_int_equal(unlink(link), 0);
    assert_int_equal(jm__writer_close(first, &err), JM_OK);
    assert_int_equal(jm__writer_create(&second, path, true, &err), JM_OK);
    jm__writer_discard(second);
    assert_int_equal(access(path, F_OK), 0); /* the first one's, put back */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_written_comes_back_from_a_file),
        cmocka_unit_test(test_a_recording_in_memory_is_read_while_it_is_written),
        cmocka_unit_test(test_what_never_ended_lasts_to_the_end_of_its_process),
        cmocka_unit_test(test_one_single_file_is_left),
        cmocka_unit_test(test_a_file_that_is_replaced_while_it_is_read_gives_no_kernels_of_another),
        cmocka_unit_test(test_more_readings_at_once_than_a_batch_holds_are_all_written),
        cmocka_unit_test(test_readings_find_room_in_memory_where_kernels_have_taken_theirs),
        cmocka_unit_test(test_a_batch_takes_what_fits_and_counts_the_rest),
        cmocka_unit_test(test_what_is_written_of_a_batch_goes_from_its_front),
        cmocka_unit_test(test_an_existing_file_is_replaced_only_if_queried),
        cmocka_unit_test(test_a_file_that_is_being_written_is_not_replaced_by_the_same_process_either),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
