/* Loads a recording into memory: all tables, sorted by time, or only the readings or spans of an interval.
 * Kernels and hardware counters are streamed. */
#include "format/dataset.h"

#include "base/clock.h"
#include "base/order.h"
#include "base/search.h"
#include "format/dataset_rows.h"
#include "format/recording.h"
#include "format/row.h"
#include "format/rows/marks.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct loading {
    jm__dataset view; /* what the caller gets: pointers into the members below */
    jm__loading rows;
    jm_recording *recording;
    int64_t last_kernel; /* kernels with higher rowids were written later and are ignored */
    dev_t device; /* of the file: kernels are read from it later, when another file may have its name */
    ino_t inode;
} loading;

/* False if memory is out. */
static bool copy_damage(loading *l)
{
    const char *damage = jm_recording_damage(l->recording), *current = l->view.damage;
    if (damage == NULL || (current != NULL && strcmp(current, damage) == 0)) return true;
    l->view.damage = jm__loading_keep(&l->rows, damage);
    return l->view.damage != NULL;
}

/* Notes rows that had to be skipped. */
static jm_status note_strays(loading *l, int64_t count, const char *what, jm_error *err)
{
    if (count == 0) return JM_OK;
    JM_TRY(jm__recording_note_damage(l->recording, err, "%" PRId64 " %s and are left out", count, what));
    return copy_damage(l) ? JM_OK : jm__no_memory(err, "jm__dataset_load");
}

/* ---- streaming kernels */

/* Without `bytes`: no user needs it, and ten million rows are faster without it. These columns exist in all
 * versions of the format. */
#define COLUMNS                                                                                              \
    "SELECT start_ns, duration_ns, class_id, stream_id, span_id, calls, queued_ns FROM kernels WHERE rowid " \
    "<= ?1 "

static int64_t launch_ns(sqlite3_stmt *row, int64_t start_ns)
{
    int64_t queued_ns = sqlite3_column_int64(row, 6);
    bool is_known =
        sqlite3_column_type(row, 6) != SQLITE_NULL && queued_ns >= -start_ns && queued_ns <= start_ns;
    return is_known ? start_ns - queued_ns : -1;
}

/* False: it refers to missing rows or has impossible times. */
static bool read_kernel(jm__kernel_run *kernel, const jm__loading *rows, sqlite3_stmt *row)
{
    int64_t duration_ns = sqlite3_column_int64(row, 1);
    *kernel = (jm__kernel_run){.start_ns = sqlite3_column_int64(row, 0),
                               .class_id = sqlite3_column_int64(row, 2),
                               .stream_id = sqlite3_column_int64(row, 3),
                               .span_id = sqlite3_column_int64(row, 4),
                               .calls = sqlite3_column_int64(row, 5)};
    bool fits = jm__time_is_plausible(kernel->start_ns) && duration_ns >= 0 &&
                jm__time_is_plausible(duration_ns) && jm__time_is_plausible(kernel->start_ns + duration_ns);
    if (!fits) return false;
    kernel->end_ns = kernel->start_ns + duration_ns;
    kernel->launch_ns = launch_ns(row, kernel->start_ns);
    return kernel->calls >= 1 && kernel->class_id >= 1 && kernel->stream_id >= 1 &&
           (uint64_t)kernel->class_id <= rows->classes.count &&
           (uint64_t)kernel->stream_id <= rows->streams.count;
}

/* Of the file that the path leads to now; 0 in memory. */
static void find_file(const jm_recording *recording, dev_t *device, ino_t *inode)
{
    struct stat info;
    const char *path = jm__recording_path(recording);
    bool there = path != NULL && stat(path, &info) == 0;
    *device = there ? info.st_dev : 0;
    *inode = there ? info.st_ino : 0;
}

static jm_status check_same_file(const loading *l, jm_error *err)
{
    dev_t device;
    ino_t inode;
    find_file(l->recording, &device, &inode);
    if (device == l->device && inode == l->inode) return JM_OK;
    return jm__fail(err, JM_BUSY, 0, "stat", "%s was replaced or removed while it was read",
                    jm__recording_path(l->recording));
}

static jm_status stream_kernels(const loading *l, sqlite3 *db, bool by_time, jm__kernel_taker take,
                                void *taker, int64_t *strays, jm_error *err)
{
    const char *path = jm__recording_path(l->recording);
    sqlite3_stmt *statement = NULL;
    int rc = sqlite3_prepare_v2(
        db, by_time ? COLUMNS "ORDER BY start_ns, duration_ns, rowid" : COLUMNS "ORDER BY rowid", -1,
        &statement, NULL);
    if (rc == SQLITE_ERROR) rc = SQLITE_CORRUPT; /* a column is missing */
    if (rc != SQLITE_OK) return jm__database_fail(err, db, rc, "sqlite3_prepare_v2", path);
    sqlite3_bind_int64(statement, 1, l->last_kernel);
    jm_status status = JM_OK;
    rc = SQLITE_DONE;
    while (status == JM_OK && (rc = sqlite3_step(statement)) == SQLITE_ROW) {
        jm__kernel_run kernel;
        if (read_kernel(&kernel, &l->rows, statement))
            status = take(taker, &kernel, err);
        else
            ++*strays;
    }
    if (status == JM_OK && rc != SQLITE_DONE) status = jm__database_fail(err, db, rc, "sqlite3_step", path);
    sqlite3_finalize(statement);
    return status;
}

static jm_status each_kernel(void *context, bool by_time, jm__kernel_taker take, void *taker, jm_error *err)
{
    loading *l = context;
    sqlite3 *db;
    int64_t strays = 0;
    JM_TRY(jm__recording_begin(l->recording, &db, err));
    jm_status status = check_same_file(l, err);
    if (status == JM_OK) status = stream_kernels(l, db, by_time, take, taker, &strays, err);
    jm__recording_end(l->recording, db);
    return status == JM_OK ? note_strays(l, strays, "kernels refer to what is not there", err) : status;
}

typedef struct bounds {
    int64_t earliest_ns, latest_ns;
} bounds;

static jm_status widen(void *taker, const jm__kernel_run *kernel, jm_error *err)
{
    (void)err;
    bounds *seen = taker;
    if (kernel->start_ns < seen->earliest_ns) seen->earliest_ns = kernel->start_ns;
    if (kernel->end_ns > seen->latest_ns) seen->latest_ns = kernel->end_ns;
    return JM_OK;
}

jm_status jm__kernels_bounds(const jm__kernel_source *source, int64_t *earliest_ns, int64_t *latest_ns,
                             jm_error *err)
{
    bounds seen = {INT64_MAX, INT64_MIN};
    if (source->each != NULL) JM_TRY(source->each(source->context, false, widen, &seen, err));
    *earliest_ns = seen.earliest_ns;
    *latest_ns = seen.latest_ns;
    return JM_OK;
}

/* ---- streaming counter blocks */

typedef struct counter_pass {
    const loading *l;
    jm__counter_taker take;
    void *taker;
    jm_status status; /* returned by `take` */
    jm_error *err;
    int64_t strays;
} counter_pass;

static bool take_block(void *context, const void *row)
{
    counter_pass *p = context;
    const jm__counter_block *block = row;
    const jm__loading *rows = &p->l->rows;
    bool is_known = block->set_id >= 1 && (size_t)block->set_id <= rows->counter_sets.count;
    bool timed = jm__time_is_plausible(block->start_ns) && jm__time_is_plausible(block->end_ns);
    if (!is_known || !timed ||
        !jm__counter_block_is_sound(block, rows->counter_sets.items[block->set_id - 1].metric_count)) {
        p->strays++;
        return true;
    }
    p->status = p->take(p->taker, block, p->err);
    return p->status == JM_OK;
}

static jm_status each_counter_block(void *context, jm__counter_taker take, void *taker, jm_error *err)
{
    sqlite3 *db;
    loading *l = context;
    counter_pass p = {.l = l, .take = take, .taker = taker, .err = err};
    jm_error rows_err = {0};
    JM_TRY(jm__recording_begin(l->recording, &db, err));
    jm_status status =
        jm__recording_rows(l->recording, db, JM_TABLE_COUNTER_BLOCKS, take_block, &p, &rows_err);
    jm__recording_end(l->recording, db);
    if (p.status != JM_OK) return p.status;
    if (status == JM_OK) return note_strays(l, p.strays, "blocks of counters are not what they say", err);
    if (err != NULL) *err = rows_err;
    return status;
}

/* ---- reading an interval without scanning a long run: rows are nearly in the order of their stamps, so a
 * binary search finds the first */

/* How much earlier a row's stamp may be than that of a row before it: rings deliver the last seconds. A
 * generous choice. */
static const int64_t disorder_ns = 3 * JM_NS_PER_S;

/* Imports are written sensor by sensor, not by time. */
static bool is_by_time(const jm_recording *recording)
{
    return jm_recording_meta(recording, "source") == NULL;
}

/* The stamp of a row or of the next existing one (condense.h leaves gaps); later than all others if there is
 * none. */
static int64_t stamp_of(sqlite3_stmt *statement, size_t row)
{
    sqlite3_reset(statement);
    sqlite3_bind_int64(statement, 1, (int64_t)row);
    return sqlite3_step(statement) == SQLITE_ROW ? jm__time_bounded(sqlite3_column_int64(statement, 0))
                                                 : INT64_MAX - disorder_ns;
}

/* A table and its column of times. */
typedef struct timed_table {
    jm__table_id table;
    const char *stamp_sql;
} timed_table;

static const timed_table timed_readings = {
    JM_TABLE_READINGS, "SELECT t_ns FROM readings WHERE rowid >= ? ORDER BY rowid LIMIT 1"};
static const timed_table timed_spans = {JM_TABLE_SPANS,
                                        "SELECT start_ns FROM spans WHERE rowid >= ? ORDER BY rowid LIMIT 1"};

static int64_t stamp_in(const timed_table *timed, const jm__any_row *row)
{
    return timed->table == JM_TABLE_SPANS ? row->spans.start_ns : row->readings.t_ns;
}

/* The rowid after which all rows with stamps of `t_ns` or later come. */
static jm_status find_first(jm_recording *recording, sqlite3 *db, const timed_table *timed, int64_t t_ns,
                            size_t *row, jm_error *err)
{
    int64_t last = 0;
    sqlite3_stmt *statement;
    *row = 0;
    if (!is_by_time(recording)) return JM_OK;
    JM_TRY(jm__recording_last_row(recording, db, timed->table, &last, err));
    JM_TRY(jm__database_prepare(db, &statement, timed->stamp_sql, NULL, err));
    jm__search(*row, (size_t)last, stamp_of(statement, *row + 1) + disorder_ns < t_ns);
    sqlite3_finalize(statement);
    return JM_OK;
}

static jm_status take_interval(const jm_recording *recording, sqlite3 *db, const timed_table *timed,
                               sqlite3_stmt *statement, const jm__row_filter *filter, jm__row_taker take,
                               void *context, jm_error *err)
{
    int rc;
    while ((rc = sqlite3_step(statement)) == SQLITE_ROW) {
        jm__any_row row;
        jm__row_read(statement, &jm__tables[timed->table], &row);
        int64_t t_ns = stamp_in(timed, &row);
        if (is_by_time(recording) && jm__time_bounded(t_ns) - disorder_ns > filter->to_ns)
            return JM_OK; /* to_ns may be INT64_MAX */
        if (t_ns >= filter->from_ns && t_ns <= filter->to_ns && !take(context, &row))
            return jm__no_memory(err, "jm__dataset_load_readings");
    }
    if (rc == SQLITE_DONE) return JM_OK;
    return jm__database_fail(err, db, rc, "sqlite3_step", jm__recording_path(recording));
}

static jm_status read_interval(jm_recording *recording, sqlite3 *db, const timed_table *timed,
                               const char *condition, const jm__row_filter *filter, jm__row_taker take,
                               void *context, jm_error *err)
{
    char tail[200];
    size_t before;
    sqlite3_stmt *statement = NULL;
    JM_TRY(find_first(recording, db, timed, filter->from_ns, &before, err));
    snprintf(tail, sizeof tail, "WHERE rowid > %zu %s ORDER BY rowid", before, condition);
    JM_TRY(jm__recording_select(recording, db, timed->table, tail, &statement, err));
    jm_status status = take_interval(recording, db, timed, statement, filter, take, context, err);
    sqlite3_finalize(statement);
    return status;
}

/* ---- order in time */

#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

#define COMPARE_ROWS(name, row, first, second)                                                               \
    static int compare_##name(const void *left, const void *right)                                           \
    {                                                                                                        \
        const row *a = left, *b = right;                                                                     \
        int order = COMPARE(a->first, b->first);                                                             \
        return order != 0 ? order : COMPARE(a->second, b->second);                                           \
    }

COMPARE_ROWS(readings, jm_reading, t_ns, sensor_id)
COMPARE_ROWS(spans, jm__span, start_ns, id)
COMPARE_ROWS(processes, jm__process, id, id)
COMPARE_ROWS(marks, jm__mark, t_ns, t_ns)
COMPARE_ROWS(losses, jm__loss, t_ns, t_ns)
COMPARE_ROWS(events, jm__event, t_ns, t_ns)

#define SORT(vec, compare) jm__sort((vec).items, (vec).count, sizeof *(vec).items, compare)

static void sort_all(loading *l)
{
    SORT(l->rows.readings, compare_readings);
    SORT(l->rows.spans, compare_spans);
    SORT(l->rows.processes, compare_processes);
    SORT(l->rows.marks, compare_marks);
    SORT(l->rows.losses, compare_losses);
    SORT(l->rows.events, compare_events);
}

/* ---- the run's bounds */

static int64_t latest_ns(const loading *l)
{
    int64_t latest = 0;
    if (l->rows.readings.count > 0) latest = l->rows.readings.items[l->rows.readings.count - 1].t_ns;
    for (size_t i = 0; i < l->rows.spans.count; i++) {
        const jm__span *span = &l->rows.spans.items[i];
        if (span->start_ns > latest) latest = span->start_ns;
        if (span->end_ns > latest) latest = span->end_ns;
    }
    return latest;
}

static int64_t earliest_ns(const loading *l)
{
    int64_t earliest = INT64_MAX;
    if (l->rows.readings.count > 0) earliest = l->rows.readings.items[0].t_ns;
    if (l->rows.spans.count > 0 && l->rows.spans.items[0].start_ns < earliest)
        earliest = l->rows.spans.items[0].start_ns;
    return earliest;
}

/* `otherwise` if it is missing or impossible. */
static int64_t fact_ns(const jm_recording *recording, const char *key, int64_t otherwise)
{
    const char *value = jm_recording_meta(recording, key);
    int64_t t_ns = value == NULL ? otherwise : strtoll(value, NULL, 10);
    return jm__time_is_plausible(t_ns) ? t_ns : otherwise;
}

/* INT64_MIN: unknown. */
static int64_t noted_end_ns(const jm_recording *recording)
{
    int64_t complete_ns = fact_ns(recording, "complete_ns", INT64_MIN);
    int64_t readings_ns =
        fact_ns(recording, "readings_ns", INT64_MIN); /* later than complete_ns if the disk was full */
    return fact_ns(recording, "end_ns", complete_ns > readings_ns ? complete_ns : readings_ns);
}

/* As stored in `meta`, else as far as the rows go. */
static jm_status set_bounds(loading *l, const jm_recording *recording, jm_error *err)
{
    jm__dataset *view = &l->view;
    int64_t start_ns = fact_ns(recording, "start_ns", INT64_MIN), end_ns = noted_end_ns(recording);
    bool cut = jm__recording_is_cut(recording);
    if (start_ns == INT64_MIN || end_ns == INT64_MIN || cut) {
        int64_t earliest, latest;
        JM_TRY(jm__kernels_bounds(&view->kernels, &earliest, &latest, err));
        if (earliest_ns(l) < earliest) earliest = earliest_ns(l);
        if (latest_ns(l) > latest) latest = latest_ns(l);
        if (start_ns == INT64_MIN) start_ns = earliest == INT64_MAX ? 0 : earliest;
        if (end_ns == INT64_MIN || (cut && latest > 0 && latest < end_ns)) end_ns = latest;
    }
    view->start_ns = start_ns;
    view->end_ns = end_ns > start_ns ? end_ns : start_ns;
    return JM_OK;
}

/* A number of `meta`; -1 if a killed recorder could not store it. */
static int64_t noted(const jm_recording *recording, const char *key)
{
    const char *text = jm_recording_meta(recording, key);
    char *end = NULL;
    int64_t value = text == NULL ? -1 : strtoll(text, &end, 10);
    return end != text && end != NULL && *end == '\0' ? value : -1;
}

/* Copies what `meta` says about the recording. */
static jm_status copy_facts(loading *l, const jm_recording *recording, jm_error *err)
{
    JM_TRY(set_bounds(l, recording, err));
    l->view.cost = (jm__sampler_cost){.cpu_ns = noted(recording, "sampler_cpu_ns"),
                                      .calls = noted(recording, "sampler_calls"),
                                      .call_ns = noted(recording, "sampler_call_ns")};
    l->view.budget_ppm = noted(recording, "budget_ppm");
    const char *ncu = jm_recording_meta(recording, "ncu");
    l->view.ncu = ncu != NULL ? jm__loading_keep(&l->rows, ncu) : NULL;
    bool has_memory = (ncu == NULL || l->view.ncu != NULL) && copy_damage(l);
    return has_memory ? JM_OK : jm__no_memory(err, "jm__dataset_load");
}

/* ---- loading */

#define VIEW(field, vec) (view->vec = l->rows.vec.items, view->field##_count = l->rows.vec.count)

static void set_view(loading *l)
{
    jm__dataset *view = &l->view;
    VIEW(board, boards);
    VIEW(sensor, sensors);
    VIEW(reading, readings);
    VIEW(span, spans);
    VIEW(stream, streams);
    VIEW(mark, marks);
    VIEW(event, events);
    VIEW(name, names);
    VIEW(process, processes);
    VIEW(class, classes);
    VIEW(loss, losses);
    view->kernels = (jm__kernel_source){each_kernel, l};
    view->counters = (jm__counter_source){
        .sets = l->rows.counter_sets.items,
        .set_count = l->rows.counter_sets.count,
        .each = l->rows.counter_sets.count > 0 ? each_counter_block : NULL,
        .context = l,
    };
}

/* Of a loaded row: dataset_rows.c has checked the id. */
static const char *name_of(const loading *l, int64_t name_id)
{
    return l->rows.names.items[name_id];
}

typedef struct span_filter {
    loading *loading;
    const jm__row_filter *filter;
    jm__row_taker take;
} span_filter;

/* The name and the kind are checked on the loaded row. */
static bool take_span(void *context, const void *row)
{
    const span_filter *f = context;
    loading *l = f->loading;
    const jm__row_filter *filter = f->filter;
    size_t before = l->rows.spans.count;
    if (!f->take(&l->rows, row)) return false;
    if (l->rows.spans.count == before) return true;
    const jm__span *span = &l->rows.spans.items[before];
    bool matches = (filter->kind == JM_SPAN_NONE || span->kind == filter->kind) &&
                   (filter->name == NULL || strcmp(name_of(l, span->name_id), filter->name) == 0);
    if (!matches) l->rows.spans.count--;
    return true;
}

/* The recorder marks the end of a process, and stores that of its own command in `meta`. */
static jm_status find_process_ends(loading *l, const jm_recording *recording, jm_error *err)
{
    jm__dataset *view = &l->view;
    int64_t pid = noted(recording, "child_pid"), ended_ns = fact_ns(recording, "child_end_ns", INT64_MAX);
    view->gone_ns = malloc((l->rows.processes.count + 1) * sizeof *view->gone_ns);
    if (view->gone_ns == NULL) return jm__no_memory(err, "jm__dataset_load");
    for (size_t i = 0; i < l->rows.processes.count; i++)
        view->gone_ns[i] = l->rows.processes.items[i].pid == pid ? ended_ns : INT64_MAX;
    for (size_t i = 0; i < l->rows.marks.count; i++) {
        const jm__mark *mark = &l->rows.marks.items[i];
        const jm__process *process = jm__dataset_process(view, mark->process_id);
        if (process == NULL || strcmp(name_of(l, mark->name_id), JM_MARK_ENDED) != 0) continue;
        int64_t *gone_ns = &view->gone_ns[process - view->processes];
        if (mark->t_ns < *gone_ns) *gone_ns = mark->t_ns;
    }
    return JM_OK;
}

/* There are few marks, so all were loaded. */
static void filter_marks(loading *l, const jm__row_filter *filter)
{
    size_t kept = 0;
    for (size_t i = 0; filter->kind == JM_SPAN_NONE && i < l->rows.marks.count; i++) {
        jm__mark mark = l->rows.marks.items[i];
        if (mark.t_ns < filter->from_ns || mark.t_ns > filter->to_ns) continue;
        if (filter->name == NULL || strcmp(name_of(l, mark.name_id), filter->name) == 0)
            l->rows.marks.items[kept++] = mark;
    }
    l->rows.marks.count = kept;
}

static bool any_is_open(const loading *l)
{
    for (size_t i = 0; i < l->rows.spans.count; i++)
        if (l->rows.spans.items[i].end_ns == -1) return true;
    return false;
}

static jm_status load_table(loading *l, jm_recording *recording, sqlite3 *db, const jm__dataset_table *table,
                            const jm__row_filter *filter, jm_error *err)
{
    bool readings = filter != NULL && !filter->spans, spans = filter != NULL && filter->spans;
    span_filter taker = {l, filter, table->take};
    char sensors[128] = "";
    if ((readings && !table->for_readings) || (spans && !table->for_spans)) return JM_OK;
    if (readings && !filter->all_sensors)
        snprintf(sensors, sizeof sensors,
                 "AND sensor_id IN (SELECT id FROM sensors WHERE quantity IN ('%s', '%s'))",
                 jm_quantity_text(JM_QUANTITY_POWER), jm_quantity_text(JM_QUANTITY_ENERGY));
    if (readings && table->table == JM_TABLE_READINGS)
        return read_interval(recording, db, &timed_readings, sensors, filter, table->take, &l->rows, err);
    if (spans && table->table == JM_TABLE_SPANS)
        return read_interval(recording, db, &timed_spans, "", filter, take_span, &taker, err);
    if (spans && table->table == JM_TABLE_MARKS && filter->kind != JM_SPAN_NONE && !any_is_open(l))
        return JM_OK; /* only open spans need them: they mark the end of a process */
    return jm__recording_rows(recording, db, table->table, table->take, &l->rows, err);
}

static jm_status load_tables(loading *l, jm_recording *recording, sqlite3 *db, const jm__row_filter *filter,
                             jm_error *err)
{
    for (size_t i = 0; i < jm__dataset_table_count; i++)
        JM_TRY(load_table(l, recording, db, &jm__dataset_tables[i], filter, err));
    if (filter != NULL) return JM_OK;
    find_file(recording, &l->device, &l->inode);
    JM_TRY(jm__recording_last_row(recording, db, JM_TABLE_KERNELS, &l->last_kernel, err));
    return note_strays(l, l->rows.strays, "rows refer to what is not there", err);
}

/* `filter`: load these rows only; NULL: everything. */
static jm_status load(jm__dataset **out, jm_recording *recording, const jm__row_filter *filter, jm_error *err)
{
    loading *l = calloc(1, sizeof *l);
    if (l == NULL || !jm__vec_push(&l->rows.names, "")) {
        free(l);
        return jm__no_memory(err, "jm__dataset_load");
    }
    l->recording = recording;
    sqlite3 *db;
    jm_status status = jm__recording_begin(recording, &db, err);
    if (status == JM_OK) {
        status = load_tables(l, recording, db, filter, err);
        jm__recording_end(recording, db);
    }
    if (status == JM_OK) {
        sort_all(l);
        set_view(l);
        if (filter == NULL) status = copy_facts(l, recording, err);
    }
    if (status == JM_OK) status = find_process_ends(l, recording, err);
    if (status == JM_OK && filter != NULL && filter->spans) {
        int64_t end_ns = noted_end_ns(recording);
        l->view.end_ns = end_ns > 0 ? end_ns : 0;
        filter_marks(l, filter);
        set_view(l);
    }
    if (status != JM_OK) {
        jm__dataset_free(&l->view);
        return status;
    }
    *out = &l->view;
    return JM_OK;
}

jm_status jm__dataset_load(jm__dataset **out, jm_recording *recording, jm_error *err)
{
    jm_status status = load(out, recording, NULL, err);
    if (status == JM_OK) return JM_OK;
    JM_TRY(jm__recording_recover(recording, status, err));
    return load(out, recording, NULL, err);
}

jm_status jm__dataset_load_readings(jm__dataset **out, jm_recording *recording, const jm__row_filter *filter,
                                    jm_error *err)
{
    return load(out, recording, filter, err);
}

void jm__dataset_free(jm__dataset *dataset)
{
    if (dataset == NULL) return;
    loading *l = (loading *)dataset; /* `view` is the first member */
    jm__text_store_free(&l->rows.texts);
    jm__vec_free(&l->rows.boards);
    jm__vec_free(&l->rows.sensors);
    jm__vec_free(&l->rows.readings);
    jm__vec_free(&l->rows.processes);
    jm__vec_free(&l->rows.spans);
    jm__vec_free(&l->rows.classes);
    jm__vec_free(&l->rows.streams);
    jm__vec_free(&l->rows.marks);
    jm__vec_free(&l->rows.losses);
    jm__vec_free(&l->rows.events);
    jm__vec_free(&l->rows.names);
    jm__vec_free(&l->rows.counter_sets);
    free(dataset->gone_ns);
    free(l);
}

const jm_sensor *jm__dataset_sensor(const jm__dataset *dataset, int64_t board_id, jm__sensor_role role)
{
    for (size_t i = 0; i < dataset->sensor_count; i++)
        if (dataset->sensors[i].board_id == board_id && jm__sensor_is(&dataset->sensors[i], role))
            return &dataset->sensors[i];
    return NULL;
}

bool jm__dataset_readings(jm_reading **readings, size_t *count, const jm__dataset *dataset,
                          const jm_sensor *sensor, double least, double most)
{
    size_t all = 0;
    *readings = NULL;
    *count = 0;
    for (size_t i = 0; sensor != NULL && i < dataset->reading_count; i++)
        all += dataset->readings[i].sensor_id == sensor->id;
    if (all == 0) return true;
    *readings = malloc(all * sizeof **readings);
    if (*readings == NULL) return false;
    for (size_t i = 0; i < dataset->reading_count; i++) {
        const jm_reading *reading = &dataset->readings[i];
        if (reading->sensor_id == sensor->id && reading->value >= least && reading->value <= most)
            (*readings)[(*count)++] = *reading;
    }
    return true;
}

const jm__process *jm__dataset_process(const jm__dataset *dataset, int64_t id)
{
    const jm__process *processes = dataset->processes;
    size_t at;
    jm__search(at, dataset->process_count, processes[at].id < id);
    return at < dataset->process_count && processes[at].id == id ? &processes[at] : NULL;
}

bool jm__dataset_process_has_pid(const jm__dataset *dataset, int64_t id, int64_t pid)
{
    if (pid == 0) return true;
    const jm__process *process = jm__dataset_process(dataset, id);
    return process != NULL && process->pid == pid;
}

const char *jm__dataset_text(const jm__dataset *dataset, int64_t name_id)
{
    return name_id > 0 && (size_t)name_id < dataset->name_count ? dataset->names[name_id] : "";
}
