/* Runs in parts, in a folder of their own, and what is asked of all parts together. After cmocka.h. */
#ifndef JM_TESTS_ROTATED_H
#define JM_TESTS_ROTATED_H

#include "day.h"
#include "figures.h"

#include <joulemap/joulemap.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/joulemap-test-rotate-XXXXXX";
static char whole_path[96], base_path[96];

static inline int rotated_set_up(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL) return -1;
    snprintf(whole_path, sizeof whole_path, "%s/whole.joulemap", folder);
    snprintf(base_path, sizeof base_path, "%s/r.joulemap", folder);
    return setenv("XDG_DATA_HOME", folder, 1);
}

static inline int rotated_tear_down(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

/* The name of a part. */
static inline const char *rotated_path(int part)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/r.%04d.joulemap", folder, part);
    return path;
}

static inline bool rotated_is_there(int part)
{
    return access(rotated_path(part), F_OK) == 0;
}

/* Without a hole, from the first on. */
static inline int rotated_count(void)
{
    int count = 0;
    while (rotated_is_there(count + 1))
        count++;
    return count;
}

static inline jm__writer *rotated_begin(double every_s, int64_t bytes, int64_t keep)
{
    jm_error err = {0};
    jm__writer *writer;
    const jm__rotation_wanted wanted = {every_s, bytes, keep};
    if (jm__writer_create_parts(&writer, base_path, false, &wanted, &err) != JM_OK) fail_msg("%s", err.text);
    return writer;
}

/* A span that stays open; its number. */
static inline int64_t rotated_open(day *d, jm_span_kind kind, int64_t name_id, int64_t parent_id)
{
    jm__span span = {.id = ++d->last_span,
                     .process_id = 1,
                     .thread_id = 4711,
                     .parent_id = parent_id,
                     .start_ns = d->t_ns,
                     .end_ns = -1,
                     .name_id = name_id,
                     .kind = kind};
    jm__writer_span_begin(d->writer, &span);
    return span.id;
}

static inline void rotated_close(day *d, int64_t id)
{
    const jm__span_end end = {.span_id = id, .end_ns = d->t_ns};
    jm__writer_span_end(d->writer, &end);
}

static inline int64_t ask_of(const char *file, const char *sql)
{
    sqlite3 *db;
    sqlite3_stmt *statement;
    assert_int_equal(sqlite3_open_v2(file, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    int64_t value = sqlite3_step(statement) == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : -1;
    sqlite3_finalize(statement);
    sqlite3_close(db);
    return value;
}

static inline int64_t rotated_ask(int part, const char *sql)
{
    return ask_of(rotated_path(part), sql);
}

static inline int64_t rotated_fact(int part, const char *key)
{
    char sql[100];
    snprintf(sql, sizeof sql, "SELECT value FROM meta WHERE key = '%s'", key);
    return rotated_ask(part, sql);
}

static inline bool rotated_has_journal(int part)
{
    char name[160];
    snprintf(name, sizeof name, "%s-wal", rotated_path(part));
    return access(name, F_OK) == 0;
}

/* All parts go. */
static inline void rotated_empty(void)
{
    char command[160];
    snprintf(command, sizeof command, "rm -f %s/r.*", folder);
    assert_int_equal(system(command), 0);
}

static inline jm_report *rotated_report(const char *file, jm_by by, const char *phase)
{
    jm_error err = {0};
    jm_recording *recording;
    jm_report *report = NULL;
    const jm_report_options options = {.size = sizeof options, .by = by, .phase = phase};
    if (jm_recording_open(&recording, file, &err) != JM_OK ||
        jm_report_create(&report, recording, &options, &err) != JM_OK)
        fail_msg("%s: %s", file, err.text);
    figures_kept(__BASE_FILE__, report);
    jm_recording_close(recording); /* its rows are read */
    return report;
}

/* The first note of a report with those words in it. */
static inline bool rotated_note_in(const jm_report *report, const char *words, char note[400])
{
    note[0] = '\0';
    for (size_t i = 0; i < jm_report_note_count(report) && note[0] == '\0'; i++)
        if (strstr(jm_report_note(report, i), words) != NULL)
            snprintf(note, 400, "%s", jm_report_note(report, i));
    return note[0] != '\0';
}

static inline bool rotated_note(int part, const char *words, char note[400])
{
    jm_report *report = rotated_report(rotated_path(part), JM_BY_BOARD, NULL);
    bool found = rotated_note_in(report, words, note);
    jm_report_free(report);
    return found;
}

/* What a report says of all its time. */
typedef struct sums {
    double energy_j, rows_j, seconds;
    int64_t steps, samples, calls; /* of all rows, parents and children */
} sums;

static inline sums sums_in(const jm_report *report)
{
    const jm_report_totals *totals = jm_report_totals_get(report);
    sums s = {.energy_j = totals->total_energy_j,
              .seconds = totals->duration_s,
              .steps = totals->steps,
              .samples = totals->samples};
    for (size_t i = 0; i < jm_report_row_count(report); i++) {
        const jm_row *row = jm_report_row(report, i);
        s.calls += row->calls;
        s.rows_j += row->energy_self_j;
    }
    return s;
}

static inline sums sums_of(const char *file, jm_by by)
{
    jm_report *report = rotated_report(file, by, NULL);
    sums s = sums_in(report);
    jm_report_free(report);
    return s;
}

static inline void sums_add(sums *to, const sums *one)
{
    to->energy_j += one->energy_j;
    to->rows_j += one->rows_j;
    to->seconds += one->seconds;
    to->steps += one->steps;
    to->samples += one->samples;
    to->calls += one->calls;
}

static inline double energy_of(const char *file, int64_t from_ns, int64_t to_ns)
{
    jm_error err = {0};
    jm_recording *recording;
    jm_sum energy;
    if (jm_recording_open(&recording, file, &err) != JM_OK ||
        jm_recording_energy(recording, 0, from_ns, to_ns, &energy, &err) != JM_OK)
        fail_msg("%s: %s", file, err.text);
    jm_recording_close(recording);
    return energy.energy_j;
}

static inline sums rotated_sums(jm_by by)
{
    sums all = {0};
    for (int part = 1; rotated_is_there(part); part++) {
        sums one = sums_of(rotated_path(part), by);
        sums_add(&all, &one);
    }
    return all;
}

#endif
