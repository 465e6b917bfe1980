/* `joulemap import`: a recording from CSV files. */
#include "base/options.h"
#include "base/order.h"
#include "base/search.h"
#include "base/status.h"
#include "format/writer.h"
#include "import/gather.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading */

static void import_free(jm__import *im)
{
    for (size_t b = 0; b < im->boards.count; b++) {
        jm__import_board *board = &im->boards.items[b];
        for (size_t i = 0; i < board->sensors.count; i++)
            jm__vec_free(&board->sensors.items[i].readings);
        jm__vec_free(&board->sensors);
    }
    jm__vec_free(&im->boards);
    jm__text_ids_free(&im->parts);
    jm__text_ids_free(&im->kernels);
    jm__vec_free(&im->phases);
    jm__vec_free(&im->occurrences);
    jm__vec_free(&im->rows);
    jm__vec_free(&im->streams);
    jm__vec_free(&im->part_clocks);
    free(im);
}

typedef jm_status source_function(jm__import *im, jm__csv *csv, jm_error *err);

static source_function *const sources[JM_IMPORT_COUNT] = {
#define X(name, option, text) jm__import_##option,
    JM_IMPORT_MAP(X)
#undef X
};

/* The GPU of readings, segments and kernels, as its profile describes it. */
static jm_status begin_gpu(jm__import *im, jm_error *err)
{
    JM_TRY(jm__profile_load(&im->profile, im->options.board == NULL ? "generic" : im->options.board, err));
    jm_board board = jm__board_blank;
    board.index = 0;
    snprintf(board.backend, sizeof board.backend, "import");
    snprintf(board.name, sizeof board.name, "%s", im->profile.title);
    snprintf(board.profile, sizeof board.profile, "%s", im->profile.name);
    size_t number;
    JM_TRY(jm__import_add_board(im, &board, &number, err));
    for (size_t i = 0; i < im->profile.sensor_count; i++)
        JM_TRY(jm__import_add_sensor(im, number, &im->profile.sensors[i], err));
    return JM_OK;
}

/* Rejects a sensor with two values at one time. A few are accepted, since stamps may be rounded to
 * seconds. */
static jm_status check_sensor(const jm__import_sensor *sensor, bool meter, const char *path, jm_error *err)
{
    static const double same_most_share = 0.01;
    const jm_reading *r = sensor->readings.items;
    size_t same = 0, first = 0;
    for (size_t i = 1; i < sensor->readings.count; i++)
        if (r[i].t_ns == r[i - 1].t_ns && r[i].value != r[i - 1].value && same++ == 0) first = i;
    if ((double)same <= same_most_share * (double)sensor->readings.count) return JM_OK;
    jm__fail(err, JM_BAD_DATA, 0, NULL,
             "%s: %s is %g and %g at one time, %.9f s, and at %zu times all in all: two %s in one log?", path,
             sensor->row.name, r[first - 1].value, r[first].value, (double)r[first].t_ns * 1e-9, same,
             meter ? "meters" : "GPUs");
    return jm__hint(err, JM_BAD_DATA, "%s; if it is one, give stamps with more digits",
                    meter ? "a column named meter separates them"
                          : "give each a file of its own (nvidia-smi's column index separates them)");
}

/* Checks that need all readings of a file. */
static jm_status check_readings(const jm__import *im, const char *path, jm_error *err)
{
    for (size_t b = 0; b < im->boards.count; b++) {
        const jm__import_board *board = &im->boards.items[b];
        for (size_t i = 0; i < board->sensors.count; i++) {
            const jm__import_sensor *sensor = &board->sensors.items[i];
            JM_TRY(jm__import_clock_end(&sensor->clock, path, sensor->row.name, err));
            JM_TRY(check_sensor(sensor, board->row.upstream, path, err));
        }
    }
    return JM_OK;
}

static jm_status read_files(jm__import *im, jm_error *err)
{
    for (size_t i = 0; i < JM_IMPORT_COUNT; i++) {
        if (im->options.files[i] == NULL) continue;
        jm__csv *csv;
        JM_TRY(jm__csv_open(&csv, im->options.files[i], err));
        jm_status status = sources[i](im, csv, err);
        jm__csv_close(csv);
        JM_TRY(status);
        JM_TRY(check_readings(im, im->options.files[i], err));
    }
    return JM_OK;
}

static jm_status check_options(const jm_import_options *options, jm_error *err)
{
    if (options->path == NULL)
        return jm__fail(err, JM_USAGE, 0, "jm_recording_import", "there is no path to write to");
    for (size_t i = 0; i < JM_IMPORT_COUNT; i++)
        if (options->files[i] != NULL) return JM_OK;
    return jm__fail(err, JM_USAGE, 0, "jm_recording_import", "there is no file to import");
}

/* ---- intervals of each part of a program */

static int by_part_and_start(const void *a, const void *b)
{
    const jm__occurrence *left = a, *right = b;
    if (left->part != right->part) return left->part < right->part ? -1 : 1;
    return (left->start_ns > right->start_ns) - (left->start_ns < right->start_ns);
}

static int by_start(const void *a, const void *b)
{
    const jm__occurrence *left = a, *right = b;
    if (left->start_ns != right->start_ns) return left->start_ns < right->start_ns ? -1 : 1;
    return (left->end_ns < right->end_ns) - (left->end_ns > right->end_ns);
}

/* Merges overlapping occurrences of a part, which come from two files or from kernels of several streams.
 * Assigns span ids; call it before span_of. */
static void merge_occurrences(jm__import *im)
{
    jm__occurrence *o = im->occurrences.items;
    size_t count = im->occurrences.count, last = 0;
    if (count == 0) return;
    qsort(o, count, sizeof *o, by_part_and_start);
    for (size_t i = 1; i < count; i++) {
        if (o[i].part == o[last].part && o[i].start_ns <= o[last].end_ns) {
            if (o[i].end_ns > o[last].end_ns) o[last].end_ns = o[i].end_ns;
        } else {
            o[++last] = o[i];
        }
    }
    im->occurrences.count = last + 1;
    qsort(o, im->occurrences.count, sizeof *o, by_start);
    for (size_t i = 0; i < im->occurrences.count; i++)
        o[i].span_id = (int64_t)i + 1;
    qsort(o, im->occurrences.count, sizeof *o, by_part_and_start); /* for span_of */
}

/* The span of the last occurrence of a part that began by `start_ns`; 0: none. */
static int64_t span_of(const jm__import *im, size_t part, int64_t start_ns)
{
    const jm__occurrence *o = im->occurrences.items;
    size_t at;
    jm__search(at, im->occurrences.count,
               o[at].part != part ? o[at].part < part : o[at].start_ns <= start_ns);
    return at == 0 || o[at - 1].part != part ? 0 : o[at - 1].span_id;
}

/* ---- writing the recording */

enum {
    IMPORT_PROCESS = 1, /* a CSV file has no pid */
    WRITE_BATCH = 4096
};

static int reading_by_time(const void *a, const void *b)
{
    const jm_reading *left = a, *right = b;
    return (left->t_ns > right->t_ns) - (left->t_ns < right->t_ns);
}

static void write_meta(jm__writer *writer, const jm__import *im)
{
    char number[32];
    jm__writer_meta(writer, "source", "import");
    snprintf(number, sizeof number, "%lld", (long long)im->first_ns);
    jm__writer_meta(writer, "start_ns", number);
    snprintf(number, sizeof number, "%lld", (long long)im->last_ns);
    jm__writer_meta(writer, "end_ns", number);
}

static jm_status write_board(jm__writer *writer, jm__import_board *board, jm_error *err)
{
    JM_TRY(jm__writer_board(writer, &board->row, err));
    for (size_t i = 0; i < board->sensors.count; i++) {
        jm__import_sensor *sensor = &board->sensors.items[i];
        jm_reading *readings = sensor->readings.items;
        size_t count = sensor->readings.count;
        if (count == 0) continue;
        sensor->row.board_id = board->row.id;
        snprintf(sensor->row.source, sizeof sensor->row.source, "imported");
        JM_TRY(jm__writer_sensor(writer, &sensor->row, err));
        jm__sort(readings, count, sizeof *readings, reading_by_time);
        for (size_t r = 0; r < count; r++)
            readings[r].sensor_id = sensor->row.id;
        jm__writer_readings(writer, readings, count);
    }
    return JM_OK;
}

static jm_status write_spans(jm__writer *writer, jm__import *im, jm_error *err)
{
    for (size_t i = 0; i < im->occurrences.count; i++) {
        const jm__occurrence *o = &im->occurrences.items[i];
        size_t phase = jm__import_phase_of(im, o->part);
        jm__span span = {
            .id = o->span_id,
            .process_id = IMPORT_PROCESS,
            .thread_id = IMPORT_PROCESS,
            .start_ns = o->start_ns,
            .end_ns = -1,
            .parent_id = phase == 0 ? 0 : span_of(im, phase, o->start_ns),
            .kind = phase == 0 ? JM_SPAN_PHASE : JM_SPAN_WINDOW,
        };
        span.name_id = jm__writer_name(writer, jm__import_text(&im->parts, o->part));
        if (span.name_id < 0) return jm__no_memory(err, "jm_recording_import");
        jm__writer_span_begin(writer, &span);
        jm__writer_span_end(writer, &(jm__span_end){.span_id = span.id, .end_ns = o->end_ns});
    }
    return JM_OK;
}

static jm_status write_classes(jm__writer *writer, jm__import *im, int64_t *class_ids, jm_error *err)
{
    for (size_t i = 0; i < im->kernels.items.count; i++) {
        const char *name = im->kernels.items.items[i];
        jm__kernel_class row = {.work = JM_WORK_KERNEL};
        const char *op =
            name + (name[0] == '['); /* "[memcpy HtoD]", PyTorch's "Memcpy HtoD (Pinned -> Device)" */
        if (strncasecmp(op, "memcpy", 6) == 0) row.work = JM_WORK_MEMCPY;
        if (strncasecmp(op, "memset", 6) == 0) row.work = JM_WORK_MEMSET;
        row.name_id = jm__writer_name(writer, name);
        if (row.name_id < 0) return jm__no_memory(err, "jm_recording_import");
        JM_TRY(jm__writer_kernel_class(writer, &row, err));
        class_ids[i + 1] = row.id;
    }
    return JM_OK;
}

static jm_status write_kernels(jm__writer *writer, jm__import *im, const int64_t *class_ids, jm_error *err)
{
    jm__kernel *batch = calloc(WRITE_BATCH, sizeof *batch);
    if (batch == NULL) return jm__no_memory(err, "jm_recording_import");
    for (size_t i = 0; i < im->rows.count; i += WRITE_BATCH) {
        size_t count = im->rows.count - i < WRITE_BATCH ? im->rows.count - i : WRITE_BATCH;
        for (size_t k = 0; k < count; k++) {
            const jm__import_kernel *row = &im->rows.items[i + k];
            batch[k] = (jm__kernel){
                .start_ns = row->start_ns,
                .end_ns = row->end_ns,
                .class_id = class_ids[row->name],
                .stream_id = im->streams.items[row->stream].id,
                .span_id = span_of(im, row->part, row->start_ns),
                .launch_ns = -1,
                .calls = row->calls,
            };
        }
        jm__writer_kernels(writer, batch, count);
    }
    free(batch);
    return JM_OK;
}

static jm_status write_streams(jm__writer *writer, jm__import *im, const jm_board *board, jm_error *err)
{
    for (size_t i = 0; i < im->streams.count; i++) {
        jm__stream row = {
            .process_id = IMPORT_PROCESS, .board_id = board->id, .stream = im->streams.items[i].number};
        JM_TRY(jm__writer_stream(writer, &row, err));
        im->streams.items[i].id = row.id;
    }
    return JM_OK;
}

static jm_status write_all(jm__writer *writer, jm__import *im, int64_t *class_ids, jm_error *err)
{
    jm__process process = {.id = IMPORT_PROCESS,
                           .pid = IMPORT_PROCESS,
                           .rank = -1,
                           .start_ns = im->first_ns,
                           .end_ns = im->last_ns,
                           .command = "joulemap import"};
    write_meta(writer, im);
    jm__writer_process(writer, &process);
    for (size_t i = 0; i < im->boards.count; i++)
        JM_TRY(write_board(writer, &im->boards.items[i], err));
    JM_TRY(write_spans(writer, im, err));
    JM_TRY(write_classes(writer, im, class_ids, err));
    JM_TRY(write_streams(writer, im, &im->boards.items[0].row, err));
    JM_TRY(write_kernels(writer, im, class_ids, err));
    return jm__writer_commit(writer, im->last_ns, err);
}

static jm_status write_recording(jm__import *im, jm_error *err)
{
    int64_t *class_ids = calloc(im->kernels.items.count + 1, sizeof *class_ids);
    if (class_ids == NULL) return jm__no_memory(err, "jm_recording_import");
    jm__writer *writer;
    jm_status status = jm__writer_create(&writer, im->options.path, im->options.overwrite, err);
    if (status == JM_OK) {
        status = write_all(writer, im, class_ids, err);
        if (status == JM_OK)
            status = jm__writer_close(writer, err);
        else
            jm__writer_discard(writer);
    }
    free(class_ids);
    return status;
}

jm_status jm_recording_import(const jm_import_options *options, jm_error *err)
{
    jm__import *im = calloc(1, sizeof *im);
    if (im == NULL) return jm__no_memory(err, "jm_recording_import");
    im->first_ns = INT64_MAX;
    im->last_ns = INT64_MIN;
    jm_status status =
        jm__options_copy(&im->options, sizeof im->options, options, "jm_recording_import", err);
    if (status == JM_OK) status = check_options(&im->options, err);
    if (status == JM_OK) status = begin_gpu(im, err);
    if (status == JM_OK) status = read_files(im, err);
    if (status == JM_OK && im->last_ns < im->first_ns)
        status = jm__fail(err, JM_BAD_DATA, 0, NULL, "the files have header lines, but no rows with a value");
    if (status == JM_OK && im->streams.count == 0) { /* segments have no streams */
        size_t index;
        status = jm__import_stream_find(im, 0, &index, err);
    }
    if (status == JM_OK) {
        merge_occurrences(im);
        status = write_recording(im, err);
    }
    import_free(im);
    return status;
}
