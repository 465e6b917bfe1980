/* `joulemap import`: a recording from CSV files of readings, segments and kernels. */
#include "base/clock.h"
#include "base/csv.h"
#include "base/status.h"
#include "base/vec.h"
#include "record/writer.h"
#include "sample/profile.h"
#include "sample/ring_correct.h"

#include <joulemap/recording.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    READINGS_MAX = 100000000, /* of one sensor */
    KERNELS_MAX = 100000000,
    TEXTS_MAX = 1000000,
    IMPORT_PROCESS = 1, /* the program has no number of its own in a CSV */
    WRITE_BATCH = 4096
};

/* Texts of parts and kernels as numbers from 1; 0 is "". */
typedef struct texts {
    JM_VEC(char *) items;
    size_t *slots; /* number, 0: empty */
    size_t slot_count;
} texts;

/* One stretch of a part: its rows stand together in the file. */
typedef struct occurrence {
    size_t part;
    int64_t start_ns, end_ns;
    int64_t span_id;
} occurrence;

typedef struct kernel_row {
    int64_t start_ns, end_ns, calls;
    size_t name, part, stream;
} kernel_row;

typedef struct stream_row {
    uint32_t number;
    int64_t id;
} stream_row;

typedef struct importer {
    jm__profile profile;
    JM_VEC(jm_reading) readings[JM_PROFILE_SENSORS_MAX];
    texts parts, kernels;
    JM_VEC(occurrence) occurrences;
    JM_VEC(kernel_row) rows;
    JM_VEC(stream_row) streams;
    jm__writer *writer;
    int64_t first_ns, last_ns;
} importer;

/* --- texts --- */

static uint64_t hash_of(const char *text)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (; *text != '\0'; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(1099511628211);
    return hash;
}

static size_t text_slot(const texts *t, const char *text)
{
    size_t slot = (size_t)hash_of(text) & (t->slot_count - 1);
    while (t->slots[slot] != 0 && strcmp(t->items.items[t->slots[slot] - 1], text) != 0)
        slot = (slot + 1) & (t->slot_count - 1);
    return slot;
}

static jm_status texts_grow(texts *t, jm_error *err)
{
    if (t->slot_count > 2 * (t->items.count + 1)) return JM_OK;
    size_t count = t->slot_count == 0 ? 64 : 2 * t->slot_count;
    size_t *slots = calloc(count, sizeof *slots);
    if (slots == NULL) return jm__no_memory(err, "jm_recording_import");
    free(t->slots);
    t->slots = slots;
    t->slot_count = count;
    for (size_t i = 0; i < t->items.count; i++)
        slots[text_slot(t, t->items.items[i])] = i + 1;
    return JM_OK;
}

static jm_status text_number(texts *t, const char *text, size_t *number, jm_error *err)
{
    *number = 0;
    if (text[0] == '\0') return JM_OK;
    JM_TRY(texts_grow(t, err));
    size_t slot = text_slot(t, text);
    if (t->slots[slot] == 0) {
        if (t->items.count >= TEXTS_MAX)
            return jm__fail(err, JM_LIMIT, 0, NULL, "more than %d different names of parts or kernels",
                            TEXTS_MAX);
        char *copy = strdup(text);
        if (copy == NULL || !jm__vec_push(&t->items, copy)) {
            free(copy);
            return jm__no_memory(err, "jm_recording_import");
        }
        t->slots[slot] = t->items.count;
    }
    *number = t->slots[slot];
    return JM_OK;
}

static const char *text_of(const texts *t, size_t number)
{
    return number == 0 ? "" : t->items.items[number - 1];
}

static void texts_free(texts *t)
{
    for (size_t i = 0; i < t->items.count; i++)
        free(t->items.items[i]);
    jm__vec_free(&t->items);
    free(t->slots);
}

/* --- reading the files --- */

static void seen(importer *im, int64_t start_ns, int64_t end_ns)
{
    if (start_ns < im->first_ns) im->first_ns = start_ns;
    if (end_ns > im->last_ns) im->last_ns = end_ns;
}

static jm_status take_reading(importer *im, jm__csv *csv, const size_t column[3], jm_error *err)
{
    const jm_sensor *sensor = jm__profile_sensor(&im->profile, jm__csv_text(csv, column[0]));
    if (sensor == NULL)
        return jm__csv_bad(csv, column[0], err, "board profile %s knows no sensor \"%.60s\"",
                           im->profile.name, jm__csv_text(csv, column[0]));
    jm_reading reading = {0};
    JM_TRY(jm__csv_scaled(csv, column[1], 9, &reading.t_ns, err));
    JM_TRY(jm__csv_number(csv, column[2], &reading.value, err));
    size_t index = (size_t)(sensor - im->profile.sensors);
    if (im->readings[index].count >= READINGS_MAX)
        return jm__fail(err, JM_LIMIT, 0, NULL, "more than %d readings of %s", READINGS_MAX, sensor->name);
    seen(im, reading.t_ns, reading.t_ns);
    return jm__vec_push(&im->readings[index], reading) ? JM_OK : jm__no_memory(err, "jm_recording_import");
}

static jm_status read_readings(importer *im, jm__csv *csv, jm_error *err)
{
    size_t column[3];
    JM_TRY(jm__csv_column(csv, "sensor", &column[0], err));
    JM_TRY(jm__csv_column(csv, "t_s", &column[1], err));
    JM_TRY(jm__csv_column(csv, "value", &column[2], err));
    for (;;) {
        bool more;
        JM_TRY(jm__csv_next(csv, &more, err));
        if (!more) return JM_OK;
        JM_TRY(take_reading(im, csv, column, err));
    }
}

/* Rows of one part that follow each other are one occurrence of it. */
static jm_status add_to_part(importer *im, size_t *open, size_t part, int64_t start_ns, int64_t end_ns,
                             jm_error *err)
{
    if (*open != SIZE_MAX && im->occurrences.items[*open].part == part) {
        occurrence *last = &im->occurrences.items[*open];
        if (start_ns < last->start_ns) last->start_ns = start_ns;
        if (end_ns > last->end_ns) last->end_ns = end_ns;
        return JM_OK;
    }
    *open = SIZE_MAX;
    if (part == 0) return JM_OK;
    occurrence next = {part, start_ns, end_ns, 0};
    if (!jm__vec_push(&im->occurrences, next)) return jm__no_memory(err, "jm_recording_import");
    *open = im->occurrences.count - 1;
    return JM_OK;
}

static jm_status add_kernel(importer *im, kernel_row row, jm_error *err)
{
    if (im->rows.count >= KERNELS_MAX)
        return jm__fail(err, JM_LIMIT, 0, NULL, "more than %d kernels", KERNELS_MAX);
    seen(im, row.start_ns, row.end_ns);
    return jm__vec_push(&im->rows, row) ? JM_OK : jm__no_memory(err, "jm_recording_import");
}

static jm_status check_order(const jm__csv *csv, size_t column, const kernel_row *row, jm_error *err)
{
    if (row->end_ns >= row->start_ns) return JM_OK;
    return jm__csv_bad(csv, column, err, "the end lies before the start");
}

static jm_status read_segments(importer *im, jm__csv *csv, bool kernels, jm_error *err)
{
    size_t part, kernel, start, end, calls = 0, open = SIZE_MAX;
    JM_TRY(jm__csv_column(csv, "part", &part, err));
    JM_TRY(jm__csv_column(csv, "kernel", &kernel, err));
    JM_TRY(jm__csv_column(csv, "t_start_s", &start, err));
    JM_TRY(jm__csv_column(csv, "t_end_s", &end, err));
    bool has_calls = jm__csv_has(csv, "kernel_launches");
    if (has_calls) JM_TRY(jm__csv_column(csv, "kernel_launches", &calls, err));
    for (;;) {
        bool more;
        kernel_row row = {.calls = 1};
        JM_TRY(jm__csv_next(csv, &more, err));
        if (!more) return JM_OK;
        JM_TRY(jm__csv_scaled(csv, start, 9, &row.start_ns, err));
        JM_TRY(jm__csv_scaled(csv, end, 9, &row.end_ns, err));
        JM_TRY(check_order(csv, end, &row, err));
        if (has_calls && jm__csv_text(csv, calls)[0] != '\0')
            JM_TRY(jm__csv_integer(csv, calls, &row.calls, err));
        if (row.calls < 1) return jm__csv_bad(csv, calls, err, "a segment has at least one launch");
        JM_TRY(text_number(&im->parts, jm__csv_text(csv, part), &row.part, err));
        JM_TRY(text_number(&im->kernels, jm__csv_text(csv, kernel), &row.name, err));
        JM_TRY(add_to_part(im, &open, row.part, row.start_ns, row.end_ns, err));
        seen(im, row.start_ns, row.end_ns);
        if (kernels && row.name != 0) JM_TRY(add_kernel(im, row, err));
    }
}

static jm_status stream_of(importer *im, uint32_t number, size_t *index, jm_error *err)
{
    for (*index = 0; *index < im->streams.count; (*index)++)
        if (im->streams.items[*index].number == number) return JM_OK;
    stream_row row = {number, 0};
    if (im->streams.count >= 65536) return jm__fail(err, JM_LIMIT, 0, NULL, "more than 65536 streams");
    return jm__vec_push(&im->streams, row) ? JM_OK : jm__no_memory(err, "jm_recording_import");
}

static jm_status read_kernels(importer *im, jm__csv *csv, jm_error *err)
{
    size_t start, duration, kernel, stream, part = 0, open = SIZE_MAX;
    JM_TRY(jm__csv_column(csv, "t_start_s", &start, err));
    JM_TRY(jm__csv_column(csv, "duration_us", &duration, err));
    JM_TRY(jm__csv_column(csv, "kernel", &kernel, err));
    JM_TRY(jm__csv_column(csv, "stream", &stream, err));
    bool has_part = jm__csv_has(csv, "part");
    if (has_part) JM_TRY(jm__csv_column(csv, "part", &part, err));
    for (;;) {
        bool more;
        int64_t duration_ns, number;
        kernel_row row = {.calls = 1};
        JM_TRY(jm__csv_next(csv, &more, err));
        if (!more) return JM_OK;
        JM_TRY(jm__csv_scaled(csv, start, 9, &row.start_ns, err));
        JM_TRY(jm__csv_scaled(csv, duration, 3, &duration_ns, err));
        if (duration_ns < 0 || row.start_ns > INT64_MAX - duration_ns)
            return jm__csv_bad(csv, duration, err, "a duration cannot be %lld ns", (long long)duration_ns);
        row.end_ns = row.start_ns + duration_ns;
        JM_TRY(jm__csv_integer(csv, stream, &number, err));
        if (number < 0 || number > UINT32_MAX) return jm__csv_bad(csv, stream, err, "no stream number");
        JM_TRY(stream_of(im, (uint32_t)number, &row.stream, err));
        JM_TRY(text_number(&im->kernels, jm__csv_text(csv, kernel), &row.name, err));
        if (has_part) JM_TRY(text_number(&im->parts, jm__csv_text(csv, part), &row.part, err));
        JM_TRY(add_to_part(im, &open, row.part, row.start_ns, row.end_ns, err));
        JM_TRY(add_kernel(im, row, err));
    }
}

/* --- putting in order --- */

static int by_part_and_start(const void *a, const void *b)
{
    const occurrence *left = a, *right = b;
    if (left->part != right->part) return left->part < right->part ? -1 : 1;
    return (left->start_ns > right->start_ns) - (left->start_ns < right->start_ns);
}

static int by_start(const void *a, const void *b)
{
    const occurrence *left = a, *right = b;
    if (left->start_ns != right->start_ns) return left->start_ns < right->start_ns ? -1 : 1;
    return (left->end_ns < right->end_ns) - (left->end_ns > right->end_ns);
}

/* The same part out of two files, or with kernels of several streams, is one where it overlaps. */
static void unite_occurrences(importer *im)
{
    occurrence *o = im->occurrences.items;
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
    qsort(o, im->occurrences.count, sizeof *o, by_part_and_start);
}

/* The occurrence of its part that a kernel began in; occurrences are sorted by part and start. */
static int64_t span_of(const importer *im, const kernel_row *row)
{
    size_t low = 0, high = im->occurrences.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const occurrence *o = &im->occurrences.items[middle];
        bool before = o->part != row->part ? o->part < row->part : o->start_ns <= row->start_ns;
        if (before)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || im->occurrences.items[low - 1].part != row->part) return 0;
    return im->occurrences.items[low - 1].span_id;
}

static int reading_by_time(const void *a, const void *b)
{
    const jm_reading *left = a, *right = b;
    return (left->t_ns > right->t_ns) - (left->t_ns < right->t_ns);
}

static void sort_readings(jm_reading *readings, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        if (readings[i - 1].t_ns <= readings[i].t_ns) continue;
        qsort(readings, count, sizeof *readings, reading_by_time);
        return;
    }
}

/* --- writing --- */

static jm_status write_meta(importer *im, jm_error *err)
{
    char number[32];
    JM_TRY(jm__writer_meta(im->writer, "source", "import", err));
    snprintf(number, sizeof number, "%lld", (long long)im->first_ns);
    JM_TRY(jm__writer_meta(im->writer, "start_ns", number, err));
    snprintf(number, sizeof number, "%lld", (long long)im->last_ns);
    return jm__writer_meta(im->writer, "end_ns", number, err);
}

static jm_status write_readings(importer *im, jm_board *board, jm_error *err)
{
    for (size_t i = 0; i < im->profile.sensor_count; i++) {
        size_t count = im->readings[i].count;
        if (count == 0) continue;
        jm_sensor sensor = im->profile.sensors[i];
        sensor.board_id = board->id;
        snprintf(sensor.source, sizeof sensor.source, "imported");
        JM_TRY(jm__writer_sensor(im->writer, &sensor, err));
        sort_readings(im->readings[i].items, count);
        if (strcmp(sensor.name, "power_ring") == 0)
            jm__ring_correct_rows(im->readings[i].items, count, sensor.period_ns);
        for (size_t r = 0; r < count; r++)
            im->readings[i].items[r].sensor_id = sensor.id;
        JM_TRY(jm__writer_readings(im->writer, im->readings[i].items, count, err));
    }
    return JM_OK;
}

static jm_status write_spans(importer *im, jm_error *err)
{
    for (size_t i = 0; i < im->occurrences.count; i++) {
        const occurrence *o = &im->occurrences.items[i];
        jm__span span = {
            .id = o->span_id,
            .process_id = IMPORT_PROCESS,
            .thread_id = IMPORT_PROCESS,
            .start_ns = o->start_ns,
            .end_ns = -1,
            .kind = JM_SPAN_PHASE,
        };
        span.name_id = jm__writer_name(im->writer, text_of(&im->parts, o->part));
        if (span.name_id < 0) return jm__no_memory(err, "jm_recording_import");
        JM_TRY(jm__writer_span_begin(im->writer, &span, err));
        JM_TRY(jm__writer_span_end(im->writer, span.id, o->end_ns, err));
    }
    return JM_OK;
}

static jm_status write_classes(importer *im, int64_t *class_ids, jm_error *err)
{
    for (size_t i = 0; i < im->kernels.items.count; i++) {
        const char *name = im->kernels.items.items[i];
        jm__kernel_class row = {.work = JM_WORK_KERNEL};
        if (strncmp(name, "Memcpy", 6) == 0) row.work = JM_WORK_MEMCPY;
        if (strncmp(name, "Memset", 6) == 0) row.work = JM_WORK_MEMSET;
        row.name_id = jm__writer_name(im->writer, name);
        if (row.name_id < 0) return jm__no_memory(err, "jm_recording_import");
        JM_TRY(jm__writer_kernel_class(im->writer, &row, err));
        class_ids[i + 1] = row.id;
    }
    return JM_OK;
}

static jm_status write_kernels(importer *im, const int64_t *class_ids, jm_error *err)
{
    jm__kernel *batch = calloc(WRITE_BATCH, sizeof *batch);
    if (batch == NULL) return jm__no_memory(err, "jm_recording_import");
    jm_status status = JM_OK;
    for (size_t i = 0; status == JM_OK && i < im->rows.count; i += WRITE_BATCH) {
        size_t count = im->rows.count - i < WRITE_BATCH ? im->rows.count - i : WRITE_BATCH;
        for (size_t k = 0; k < count; k++) {
            const kernel_row *row = &im->rows.items[i + k];
            batch[k] = (jm__kernel){
                .start_ns = row->start_ns,
                .end_ns = row->end_ns,
                .class_id = class_ids[row->name],
                .stream_id = im->streams.items[row->stream].id,
                .span_id = span_of(im, row),
                .launch_ns = -1,
                .calls = row->calls,
            };
        }
        status = jm__writer_kernels(im->writer, batch, count, err);
    }
    free(batch);
    return status;
}

static jm_status write_streams(importer *im, const jm_board *board, jm_error *err)
{
    for (size_t i = 0; i < im->streams.count; i++) {
        jm__stream row = {
            .process_id = IMPORT_PROCESS, .board_id = board->id, .stream = im->streams.items[i].number};
        JM_TRY(jm__writer_stream(im->writer, &row, err));
        im->streams.items[i].id = row.id;
    }
    return JM_OK;
}

static jm_status write_all(importer *im, int64_t *class_ids, jm_error *err)
{
    jm_board board = {
        .cuda_index = -1, .power_limit_w = NAN, .power_limit_min_w = NAN, .power_limit_max_w = NAN};
    snprintf(board.backend, sizeof board.backend, "import");
    snprintf(board.name, sizeof board.name, "%s", im->profile.title);
    snprintf(board.profile, sizeof board.profile, "%s", im->profile.name);
    jm__process process = {IMPORT_PROCESS, 0, im->first_ns, im->last_ns, "joulemap import"};
    JM_TRY(write_meta(im, err));
    JM_TRY(jm__writer_board(im->writer, &board, err));
    JM_TRY(jm__writer_process(im->writer, &process, err));
    JM_TRY(write_readings(im, &board, err));
    JM_TRY(write_spans(im, err));
    JM_TRY(write_classes(im, class_ids, err));
    JM_TRY(write_streams(im, &board, err));
    JM_TRY(write_kernels(im, class_ids, err));
    return jm__writer_commit(im->writer, im->last_ns, err);
}

/* --- the whole --- */

typedef enum file_kind { READINGS, SEGMENTS, SEGMENTS_AS_PARTS, KERNELS } file_kind;

static jm_status read_file(importer *im, const char *path, file_kind kind, jm_error *err)
{
    jm__csv *csv;
    if (path == NULL) return JM_OK;
    JM_TRY(jm__csv_open(&csv, path, err));
    jm_status status;
    if (kind == READINGS)
        status = read_readings(im, csv, err);
    else if (kind == KERNELS)
        status = read_kernels(im, csv, err);
    else
        status = read_segments(im, csv, kind == SEGMENTS, err);
    jm__csv_close(csv);
    return status;
}

static void importer_free(importer *im)
{
    for (size_t i = 0; i < JM_PROFILE_SENSORS_MAX; i++)
        jm__vec_free(&im->readings[i]);
    texts_free(&im->parts);
    texts_free(&im->kernels);
    jm__vec_free(&im->occurrences);
    jm__vec_free(&im->rows);
    jm__vec_free(&im->streams);
    free(im);
}

static jm_status write_file(importer *im, const char *path, bool overwrite, jm_error *err)
{
    int64_t *class_ids = calloc(im->kernels.items.count + 1, sizeof *class_ids);
    if (class_ids == NULL) return jm__no_memory(err, "jm_recording_import");
    jm_status status = jm__writer_create(&im->writer, path, overwrite, err);
    if (status == JM_OK) {
        status = write_all(im, class_ids, err);
        jm_status closed = jm__writer_close(im->writer, status == JM_OK ? err : NULL);
        if (status == JM_OK) status = closed;
    }
    free(class_ids);
    return status;
}

jm_status jm_recording_import(const char *out_path, bool overwrite, const char *board,
                              const char *readings_path, const char *segments_path, const char *kernels_path,
                              jm_error *err)
{
    if (readings_path == NULL && segments_path == NULL && kernels_path == NULL)
        return jm__fail(err, JM_USAGE, 0, "jm_recording_import", "there is no file to import");
    importer *im = calloc(1, sizeof *im);
    if (im == NULL) return jm__no_memory(err, "jm_recording_import");
    im->first_ns = INT64_MAX;
    im->last_ns = INT64_MIN;
    /* Host-timed segments and true kernel times of the same work must not count twice. */
    file_kind segments = kernels_path == NULL ? SEGMENTS : SEGMENTS_AS_PARTS;
    jm_status status = jm__profile_load(&im->profile, board == NULL ? "generic" : board, err);
    if (status == JM_OK) status = read_file(im, readings_path, READINGS, err);
    if (status == JM_OK) status = read_file(im, segments_path, segments, err);
    if (status == JM_OK) status = read_file(im, kernels_path, KERNELS, err);
    if (status == JM_OK && im->last_ns < im->first_ns)
        status = jm__fail(err, JM_BAD_DATA, 0, NULL, "the files have header lines, but no rows");
    if (status == JM_OK && im->streams.count == 0) { /* segments do not tell */
        size_t index;
        status = stream_of(im, 0, &index, err);
    }
    if (status == JM_OK) {
        unite_occurrences(im);
        status = write_file(im, out_path, overwrite, err);
    }
    importer_free(im);
    return status;
}
