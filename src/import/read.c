/* From CSV files of readings, segments and kernels to rows in memory. */
#include "base/csv.h"
#include "base/status.h"
#include "import/import.h"

enum {
    READINGS_MAX = 100000000, /* of one sensor */
    KERNELS_MAX = 100000000,
    STREAMS_MAX = 65536
};

static void seen(jm__import *im, int64_t start_ns, int64_t end_ns)
{
    if (start_ns < im->first_ns) im->first_ns = start_ns;
    if (end_ns > im->last_ns) im->last_ns = end_ns;
}

static jm_status take_reading(jm__import *im, jm__csv *csv, const size_t column[3], jm_error *err)
{
    const jm_sensor *sensor = jm__profile_sensor(&im->profile, jm__csv_text(csv, column[0]));
    if (sensor == NULL)
        return jm__csv_bad(csv, column[0], err, "profile %s knows no sensor \"%.60s\"", im->profile.name,
                           jm__csv_text(csv, column[0]));
    jm_reading reading = {0};
    JM_TRY(jm__csv_scaled(csv, column[1], 9, &reading.t_ns, err));
    JM_TRY(jm__csv_number(csv, column[2], &reading.value, err));
    size_t index = (size_t)(sensor - im->profile.sensors);
    if (im->readings[index].count >= READINGS_MAX)
        return jm__fail(err, JM_LIMIT, 0, NULL, "more than %d readings of %s", READINGS_MAX, sensor->name);
    seen(im, reading.t_ns, reading.t_ns);
    return jm__vec_push(&im->readings[index], reading) ? JM_OK : jm__no_memory(err, "jm_recording_import");
}

static jm_status read_readings(jm__import *im, jm__csv *csv, jm_error *err)
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

/* Rows of one part that follow each other are one jm__occurrence of it. */
static jm_status add_to_part(jm__import *im, size_t *open, size_t part, int64_t start_ns, int64_t end_ns,
                             jm_error *err)
{
    if (*open != SIZE_MAX && im->occurrences.items[*open].part == part) {
        jm__occurrence *last = &im->occurrences.items[*open];
        if (start_ns < last->start_ns) last->start_ns = start_ns;
        if (end_ns > last->end_ns) last->end_ns = end_ns;
        return JM_OK;
    }
    *open = SIZE_MAX;
    if (part == 0) return JM_OK;
    jm__occurrence next = {part, start_ns, end_ns, 0};
    if (!jm__vec_push(&im->occurrences, next)) return jm__no_memory(err, "jm_recording_import");
    *open = im->occurrences.count - 1;
    return JM_OK;
}

static jm_status add_kernel(jm__import *im, jm__import_kernel row, jm_error *err)
{
    if (im->rows.count >= KERNELS_MAX)
        return jm__fail(err, JM_LIMIT, 0, NULL, "more than %d kernels", KERNELS_MAX);
    seen(im, row.start_ns, row.end_ns);
    return jm__vec_push(&im->rows, row) ? JM_OK : jm__no_memory(err, "jm_recording_import");
}

static jm_status check_order(const jm__csv *csv, size_t column, const jm__import_kernel *row, jm_error *err)
{
    if (row->end_ns >= row->start_ns) return JM_OK;
    return jm__csv_bad(csv, column, err, "the end lies before the start");
}

static jm_status read_segments(jm__import *im, jm__csv *csv, bool kernels, jm_error *err)
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
        jm__import_kernel row = {.calls = 1};
        JM_TRY(jm__csv_next(csv, &more, err));
        if (!more) return JM_OK;
        JM_TRY(jm__csv_scaled(csv, start, 9, &row.start_ns, err));
        JM_TRY(jm__csv_scaled(csv, end, 9, &row.end_ns, err));
        JM_TRY(check_order(csv, end, &row, err));
        if (has_calls && jm__csv_text(csv, calls)[0] != '\0')
            JM_TRY(jm__csv_integer(csv, calls, &row.calls, err));
        if (row.calls < 1) return jm__csv_bad(csv, calls, err, "a segment has at least one launch");
        JM_TRY(jm__texts_number(&im->parts, jm__csv_text(csv, part), &row.part, err));
        JM_TRY(jm__texts_number(&im->kernels, jm__csv_text(csv, kernel), &row.name, err));
        JM_TRY(add_to_part(im, &open, row.part, row.start_ns, row.end_ns, err));
        seen(im, row.start_ns, row.end_ns);
        if (kernels && row.name != 0) JM_TRY(add_kernel(im, row, err));
    }
}

jm_status jm__import_stream_find(jm__import *im, uint32_t number, size_t *index, jm_error *err)
{
    for (*index = 0; *index < im->streams.count; (*index)++)
        if (im->streams.items[*index].number == number) return JM_OK;
    jm__import_stream row = {number, 0};
    if (im->streams.count >= STREAMS_MAX)
        return jm__fail(err, JM_LIMIT, 0, NULL, "more than %d streams", STREAMS_MAX);
    return jm__vec_push(&im->streams, row) ? JM_OK : jm__no_memory(err, "jm_recording_import");
}

static jm_status read_kernels(jm__import *im, jm__csv *csv, jm_error *err)
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
        jm__import_kernel row = {.calls = 1};
        JM_TRY(jm__csv_next(csv, &more, err));
        if (!more) return JM_OK;
        JM_TRY(jm__csv_scaled(csv, start, 9, &row.start_ns, err));
        JM_TRY(jm__csv_scaled(csv, duration, 3, &duration_ns, err));
        if (duration_ns < 0 || row.start_ns > INT64_MAX - duration_ns)
            return jm__csv_bad(csv, duration, err, "a duration cannot be %lld ns", (long long)duration_ns);
        row.end_ns = row.start_ns + duration_ns;
        JM_TRY(jm__csv_integer(csv, stream, &number, err));
        if (number < 0 || number > UINT32_MAX) return jm__csv_bad(csv, stream, err, "no stream number");
        JM_TRY(jm__import_stream_find(im, (uint32_t)number, &row.stream, err));
        JM_TRY(jm__texts_number(&im->kernels, jm__csv_text(csv, kernel), &row.name, err));
        if (has_part) JM_TRY(jm__texts_number(&im->parts, jm__csv_text(csv, part), &row.part, err));
        JM_TRY(add_to_part(im, &open, row.part, row.start_ns, row.end_ns, err));
        JM_TRY(add_kernel(im, row, err));
    }
}

jm_status jm__import_read(jm__import *im, const char *path, jm__import_kind kind, jm_error *err)
{
    jm__csv *csv;
    if (path == NULL) return JM_OK;
    JM_TRY(jm__csv_open(&csv, path, err));
    jm_status status;
    if (kind == JM_IMPORT_READINGS)
        status = read_readings(im, csv, err);
    else if (kind == JM_IMPORT_KERNELS)
        status = read_kernels(im, csv, err);
    else
        status = read_segments(im, csv, kind == JM_IMPORT_SEGMENTS, err);
    jm__csv_close(csv);
    return status;
}
