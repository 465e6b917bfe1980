/* Recordings as a broken disk or another hand may leave them: opened, loaded, reported.
 *
 * An input that begins with "SQL" and a line end is a script that is run on a good recording, so that odd
 * values are reached; one that begins with "PATCH" and a line end says where its file is cut and which of its
 * bytes are wrong: { uint32 length } { uint32 offset, uint8 value }, little end first. Any other input is
 * the file itself. */
#include "fuzz.h"
#include "good_recording.h"

#include "base/clock.h"
#include "format/dataset.h"
#include <joulemap/report.h>
#include <joulemap/timeline.h>
#include <math.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SCRIPT_MAX 4096

/* A good recording, made once by the writer. */
static const uint8_t *good_bytes;
static size_t good_size;

static void make_good(void)
{
    const char *path = fuzz_path("good.joulemap");
    fuzz_good_recording_write(path);
    FILE *file = fopen(path, "rb");
    FUZZ_PROMISE(file != NULL);
    FUZZ_PROMISE(fseek(file, 0, SEEK_END) == 0);
    good_size = (size_t)ftell(file);
    rewind(file);
    uint8_t *bytes = malloc(good_size);
    FUZZ_PROMISE(bytes != NULL && fread(bytes, 1, good_size, file) == good_size);
    fclose(file);
    good_bytes = bytes;
}

/* The script may write this one file, and nothing else of the machine. */
static int allow(void *context, int action, const char *first, const char *second, const char *database,
                 const char *trigger)
{
    (void)context, (void)second, (void)database, (void)trigger;
    if (action == SQLITE_ATTACH || action == SQLITE_DETACH) return SQLITE_DENY;
    if (action == SQLITE_PRAGMA && strcmp(first, "user_version") != 0 &&
        strcmp(first, "application_id") != 0 && strcmp(first, "writable_schema") != 0) {
        return SQLITE_DENY;
    }
    return SQLITE_OK;
}

static int too_long(void *context)
{
    (void)context;
    return 1;
}

static void run_script(const char *path, const uint8_t *data, size_t size)
{
    char script[SCRIPT_MAX + 1];
    if (size > SCRIPT_MAX) size = SCRIPT_MAX;
    memcpy(script, data, size);
    script[size] = '\0';
    sqlite3 *db = NULL;
    FUZZ_PROMISE(sqlite3_open(path, &db) == SQLITE_OK);
    sqlite3_limit(db, SQLITE_LIMIT_LENGTH, 1 << 20);
    sqlite3_set_authorizer(db, allow, NULL);
    sqlite3_progress_handler(db, 200000, too_long, NULL);
    (void)sqlite3_exec(db, script, NULL, NULL, NULL); /* wrong SQL changes nothing: fine too */
    sqlite3_close(db);
}

typedef struct passing {
    const jm__dataset *set;
    int64_t last_ns;
} passing;

static jm_status check_kernel(void *taker, const jm__kernel_run *kernel, jm_error *err)
{
    (void)err;
    passing *now = taker;
    FUZZ_PROMISE(now->last_ns <= kernel->start_ns);
    FUZZ_PROMISE(kernel->end_ns >= kernel->start_ns && kernel->calls >= 1);
    FUZZ_PROMISE(kernel->class_id >= 1 && kernel->class_id <= (int64_t)now->set->class_count);
    FUZZ_PROMISE(kernel->stream_id >= 1 && kernel->stream_id <= (int64_t)now->set->stream_count);
    now->last_ns = kernel->start_ns;
    return JM_OK;
}

/* What attribution relies on, from format/dataset.h. */
static void check(const jm__dataset *set)
{
    for (size_t i = 0; i < set->name_count; i++)
        FUZZ_PROMISE(set->names[i] != NULL);
    for (size_t i = 0; i < set->sensor_count; i++) {
        FUZZ_PROMISE(set->sensors[i].id == (int64_t)i + 1);
        FUZZ_PROMISE(set->sensors[i].tau_ns >= 0 && set->sensors[i].window_ns >= 0);
        FUZZ_PROMISE(set->sensors[i].board_id >= 1 && set->sensors[i].board_id <= (int64_t)set->board_count);
    }
    for (size_t i = 0; i < set->reading_count; i++) {
        const jm_reading *reading = &set->readings[i];
        FUZZ_PROMISE(i == 0 || reading[-1].t_ns <= reading->t_ns);
        FUZZ_PROMISE(reading->sensor_id >= 1 && reading->sensor_id <= (int64_t)set->sensor_count);
        FUZZ_PROMISE(isfinite(reading->value));
        FUZZ_PROMISE(reading->t_ns == jm__time_bounded(reading->t_ns));
    }
    for (size_t i = 0; i < set->span_count; i++) {
        const jm__span *span = &set->spans[i];
        FUZZ_PROMISE(i == 0 || span[-1].start_ns <= span->start_ns);
        FUZZ_PROMISE(span->end_ns == -1 || span->end_ns >= span->start_ns);
        FUZZ_PROMISE(span->kind > JM_SPAN_NONE && span->kind < JM_SPAN_KIND_COUNT);
        FUZZ_PROMISE(span->name_id >= 0 && span->name_id < (int64_t)set->name_count);
        FUZZ_PROMISE(span->type_id >= 0 && span->type_id < (int64_t)set->name_count);
    }
    for (size_t i = 0; i < set->class_count; i++)
        FUZZ_PROMISE(set->classes[i].name_id >= 0 && set->classes[i].name_id < (int64_t)set->name_count);
    for (size_t i = 0; i < set->mark_count; i++)
        FUZZ_PROMISE(set->marks[i].name_id >= 0 && set->marks[i].name_id < (int64_t)set->name_count);
    FUZZ_PROMISE(set->end_ns >= set->start_ns);
    passing now = {set, INT64_MIN};
    jm_error err;
    if (set->kernels.each(set->kernels.context, true, check_kernel, &now, &err) != JM_OK)
        FUZZ_PROMISE(err.text[0] != '\0');
}

/* No row is lost or counted twice, whatever the file holds. */
static void report(jm_recording *recording, jm_by by)
{
    jm_report_options options = {.size = sizeof options, .by = by};
    jm_report *made = NULL;
    jm_error err;
    if (jm_report_create(&made, recording, &options, &err) != JM_OK) {
        FUZZ_PROMISE(err.text[0] != '\0');
        return;
    }
    double self_j = 0;
    for (size_t i = 0; i < jm_report_row_count(made); i++) {
        const jm_row *row = jm_report_row(made, i);
        FUZZ_PROMISE(row->name != NULL && row->path != NULL && row->kind != NULL && row->boards != NULL);
        /* Not known is NAN, and said. */
        FUZZ_PROMISE(isfinite(row->energy_self_j) || row->provenance == JM_PROVENANCE_UNRESOLVED);
        self_j += row->energy_self_j;
    }
    double total_j = jm_report_totals_get(made)->total_energy_j;
    FUZZ_PROMISE(isnan(self_j) || fabs(self_j - total_j) <= 1e-6 * (1 + fabs(total_j)));
    char *json = NULL;
    if (jm_report_json(made, &json, &err) == JM_OK) FUZZ_PROMISE(json != NULL);
    free(json);
    jm_report_free(made);
}

/* In one of the formats: which, the input's size says. */
static void export(jm_recording *recording, size_t which)
{
    static const char *const formats[] = {
#define X(name) #name,
        JM_EXPORT_FORMAT_MAP(X)
#undef X
    };
    jm_report_options options = {.size = sizeof options, .kernels = true};
    FILE *nowhere = fopen("/dev/null", "we");
    jm_error err;
    FUZZ_PROMISE(nowhere != NULL);
    if (jm_export(recording, formats[which % (sizeof formats / sizeof *formats)], &options, nowhere, &err) !=
        JM_OK)
        FUZZ_PROMISE(err.text[0] != '\0');
    fclose(nowhere);
}

/* What is told of each span and mark leads somewhere. */
static void read_timeline(jm_recording *recording)
{
    jm_timeline *timeline;
    jm_error err;
    if (jm_timeline_create(&timeline, recording, &err) != JM_OK) {
        FUZZ_PROMISE(err.text[0] != '\0');
        return;
    }
    for (size_t i = 0; i < jm_timeline_span_count(timeline); i++) {
        const jm_timeline_span *span = jm_timeline_span_get(timeline, i);
        FUZZ_PROMISE(span->name != NULL && span->type != NULL && span->end_ns >= span->start_ns);
        FUZZ_PROMISE(span->parent == SIZE_MAX || span->parent < i);
    }
    for (size_t i = 0; i < jm_timeline_series_count(timeline); i++) {
        const jm_series *series = jm_timeline_series(timeline, i);
        for (size_t r = 1; r < series->count; r++)
            FUZZ_PROMISE(series->t_ns[r] >= series->t_ns[r - 1]);
    }
    for (size_t i = 0; i < jm_timeline_mark_count(timeline); i++)
        FUZZ_PROMISE(jm_timeline_mark_get(timeline, i)->name != NULL);
    jm_timeline_free(timeline);
}

static uint32_t number_at(const uint8_t *data)
{
    return (uint32_t)data[0] | (uint32_t)data[1] << 8 | (uint32_t)data[2] << 16 | (uint32_t)data[3] << 24;
}

static const char *patched_file(const uint8_t *data, size_t size)
{
    uint8_t *bytes = malloc(good_size);
    FUZZ_PROMISE(bytes != NULL);
    memcpy(bytes, good_bytes, good_size);
    size_t kept = size >= 4 ? number_at(data) % (good_size + 1) : good_size;
    for (size_t at = 4; at + 5 <= size; at += 5)
        bytes[number_at(data + at) % good_size] = data[at + 4];
    const char *path = fuzz_file("in.joulemap", bytes, kept);
    free(bytes);
    return path;
}

static bool begins_with(const uint8_t **data, size_t *size, const char *mark)
{
    size_t length = strlen(mark);
    if (*size < length || memcmp(*data, mark, length) != 0) return false;
    *data += length;
    *size -= length;
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!good_bytes) make_good();
    fuzz_clear();
    const char *path;
    if (begins_with(&data, &size, "SQL\n")) {
        path = fuzz_file("in.joulemap", good_bytes, good_size);
        run_script(path, data, size);
    } else if (begins_with(&data, &size, "PATCH\n")) {
        path = patched_file(data, size);
    } else {
        path = fuzz_file("in.joulemap", data, size);
    }
    jm_recording *recording = NULL;
    jm_error err;
    if (jm_recording_open(&recording, path, &err) != JM_OK) {
        FUZZ_PROMISE(err.text[0] != '\0');
        return 0;
    }
    (void)jm_recording_damage(recording);
    jm__dataset *set = NULL;
    if (jm__dataset_load(&set, recording, &err) == JM_OK) {
        check(set);
        jm__dataset_free(set);
        report(recording, JM_BY_LAYER);
        report(recording, JM_BY_KERNEL);
        report(recording, JM_BY_CLASS);
        report(recording, JM_BY_PHASE);
        report(recording, JM_BY_REQUEST);
        export(recording, size);
        read_timeline(recording);
    } else {
        FUZZ_PROMISE(err.text[0] != '\0');
    }
    jm_recording_close(recording);
    return 0;
}
