/* A recording into memory: every table, sorted by time. */
#include "base/clock.h"
#include "base/order.h"
#include "base/search.h"
#include "format/dataset_part.h"
#include "format/reading_stretch.h"
#include "format/recording.h"
#include "format/rows/marks.h"

#include <inttypes.h>
#include <string.h>

/* ---- order in time */

#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

static int compare_readings(const void *left, const void *right)
{
    const jm_reading *a = left, *b = right;
    int order = COMPARE(a->t_ns, b->t_ns);
    return order != 0 ? order : COMPARE(a->sensor_id, b->sensor_id);
}

static int compare_spans(const void *left, const void *right)
{
    const jm__span *a = left, *b = right;
    int order = COMPARE(a->start_ns, b->start_ns);
    return order != 0 ? order : COMPARE(a->id, b->id);
}

static int compare_processes(const void *left, const void *right)
{
    const jm__process *a = left, *b = right;
    return COMPARE(a->id, b->id);
}

static int compare_marks(const void *left, const void *right)
{
    const jm__mark *a = left, *b = right;
    return COMPARE(a->t_ns, b->t_ns);
}

static int compare_losses(const void *left, const void *right)
{
    const jm__loss *a = left, *b = right;
    return COMPARE(a->t_ns, b->t_ns);
}

static int compare_events(const void *left, const void *right)
{
    const jm__event *a = left, *b = right;
    return COMPARE(a->t_ns, b->t_ns);
}

#define SORT(vec, compare) jm__sort((vec).items, (vec).count, sizeof *(vec).items, compare)

static void sort_all(jm__loading *loading)
{
    SORT(loading->readings, compare_readings);
    SORT(loading->spans, compare_spans);
    SORT(loading->processes, compare_processes);
    SORT(loading->marks, compare_marks);
    SORT(loading->losses, compare_losses);
    SORT(loading->events, compare_events);
}

/* ---- the run's bounds */

static int64_t latest_ns(const jm__loading *loading)
{
    int64_t latest = 0;
    if (loading->readings.count > 0) latest = loading->readings.items[loading->readings.count - 1].t_ns;
    for (size_t i = 0; i < loading->spans.count; i++) {
        const jm__span *span = &loading->spans.items[i];
        if (span->start_ns > latest) latest = span->start_ns;
        if (span->end_ns > latest) latest = span->end_ns;
    }
    return latest;
}

static int64_t earliest_ns(const jm__loading *loading)
{
    int64_t earliest = INT64_MAX;
    if (loading->readings.count > 0) earliest = loading->readings.items[0].t_ns;
    if (loading->spans.count > 0 && loading->spans.items[0].start_ns < earliest)
        earliest = loading->spans.items[0].start_ns;
    return earliest;
}

/* INT64_MIN: it is lost. */
static int64_t noted_end_ns(const jm_recording *recording)
{
    int64_t complete_ns = jm__meta_ns(recording, "complete_ns", INT64_MIN);
    int64_t readings_ns =
        jm__meta_ns(recording, "readings_ns", INT64_MIN); /* later where the disk was full */
    return jm__meta_ns(recording, "end_ns", complete_ns > readings_ns ? complete_ns : readings_ns);
}

/* As noted; where that is lost, as far as rows go. */
static jm_status set_bounds(jm__loading *loading, const jm_recording *recording, jm_error *err)
{
    jm__dataset *view = &loading->view;
    int64_t start_ns = jm__meta_ns(recording, "start_ns", INT64_MIN), end_ns = noted_end_ns(recording);
    JM_TRY(jm__part_facts(view, recording, &end_ns, err));
    bool cut = jm__recording_is_cut(recording);
    if (start_ns == INT64_MIN || end_ns == INT64_MIN || cut) {
        int64_t earliest, latest;
        JM_TRY(jm__kernels_bounds(&view->kernels, &earliest, &latest, err));
        if (earliest_ns(loading) < earliest) earliest = earliest_ns(loading);
        if (latest_ns(loading) > latest) latest = latest_ns(loading);
        if (start_ns == INT64_MIN) start_ns = earliest == INT64_MAX ? 0 : earliest;
        if (end_ns == INT64_MIN || (cut && latest > 0 && latest < end_ns)) end_ns = latest;
    }
    view->start_ns = start_ns;
    view->end_ns = end_ns > start_ns ? end_ns : start_ns;
    return JM_OK;
}

/* A killed recorder could not note it. */
static int64_t noted(const jm_recording *recording, const char *key)
{
    const char *text = jm_recording_meta(recording, key);
    char *end = NULL;
    int64_t value = text == NULL ? -1 : strtoll(text, &end, 10);
    return end != text && end != NULL && *end == '\0' ? value : -1;
}

/* False if memory is out. */
static bool copy_damage(jm__loading *loading, const jm_recording *recording)
{
    const char *damage = jm_recording_damage(recording);
    const char *told = loading->view.damage;
    if (damage == NULL || (told != NULL && strcmp(told, damage) == 0)) return true;
    loading->view.damage = jm__loading_keep(loading, damage);
    return loading->view.damage != NULL;
}

/* What the recording knows of itself. */
static jm_status copy_facts(jm__loading *loading, const jm_recording *recording, jm_error *err)
{
    JM_TRY(set_bounds(loading, recording, err));
    loading->view.cost = (jm__sampler_cost){.cpu_ns = noted(recording, "sampler_cpu_ns"),
                                            .calls = noted(recording, "sampler_calls"),
                                            .call_ns = noted(recording, "sampler_call_ns")};
    loading->view.launch_cost = (jm__launch_cost){.ns = noted(recording, "launch_cost_ns"),
                                                  .low_ns = noted(recording, "launch_cost_low_ns"),
                                                  .high_ns = noted(recording, "launch_cost_high_ns")};
    loading->view.budget_ppm = noted(recording, "budget_ppm");
    const char *ncu = jm_recording_meta(recording, "ncu");
    loading->view.ncu = ncu != NULL ? jm__loading_keep(loading, ncu) : NULL;
    bool fine = (ncu == NULL || loading->view.ncu != NULL) && copy_damage(loading, recording);
    return fine ? JM_OK : jm__no_memory(err, "jm__dataset_load");
}

/* Around the time of a part some processes have kernels that others have not yet, or no longer. */
typedef struct whole_time {
    const jm__dataset *view;
    jm__kernel_taker take;
    void *taker;
} whole_time;

static jm_status take_if_whole(void *context, const jm__kernel_run *kernel, jm_error *err)
{
    const whole_time *w = context;
    if (kernel->end_ns <= w->view->whole_from_ns || kernel->end_ns > w->view->whole_to_ns) return JM_OK;
    return w->take(w->taker, kernel, err);
}

/* Whether kernels refer to what is not there is known once they have passed. */
static jm_status each_kernel(void *context, bool by_time, jm__kernel_taker take, void *taker, jm_error *err)
{
    jm__loading *loading = context;
    whole_time whole = {&loading->view, take, taker};
    if (loading->view.follows || loading->view.goes_on)
        JM_TRY(jm__kernel_table_each(&loading->kernels, by_time, take_if_whole, &whole, err));
    else
        JM_TRY(jm__kernel_table_each(&loading->kernels, by_time, take, taker, err));
    bool fine = loading->kernels.strays == 0 || copy_damage(loading, loading->kernels.recording);
    return fine ? JM_OK : jm__no_memory(err, "jm__dataset_load");
}

static jm_status each_counter_block(void *context, jm__counter_taker take, void *taker, jm_error *err)
{
    jm__loading *loading = context;
    jm_recording *recording = loading->kernels.recording;
    JM_TRY(jm__counter_blocks_each(recording, loading->counter_sets.items, loading->counter_sets.count, take,
                                   taker, err));
    return copy_damage(loading, recording) ? JM_OK : jm__no_memory(err, "jm__dataset_load");
}

/* ---- loading */

#define SHOW(field, vec) (view->field##s = loading->vec.items, view->field##_count = loading->vec.count)

static void show(jm__loading *loading)
{
    jm__dataset *view = &loading->view;
    SHOW(board, boards);
    SHOW(sensor, sensors);
    SHOW(reading, readings);
    SHOW(span, spans);
    SHOW(stream, streams);
    SHOW(mark, marks);
    SHOW(event, events);
    SHOW(name, names);
    view->processes = loading->processes.items;
    view->process_count = loading->processes.count;
    view->kernels = (jm__kernel_source){each_kernel, loading};
    view->counters = (jm__counter_source){
        .sets = loading->counter_sets.items,
        .set_count = loading->counter_sets.count,
        .each = loading->counter_sets.count > 0 ? each_counter_block : NULL,
        .context = loading,
    };
    view->classes = loading->classes.items;
    view->class_count = loading->classes.count;
    view->losses = loading->losses.items;
    view->loss_count = loading->losses.count;
}

static jm_status load_readings(jm__loading *loading, jm_recording *recording, sqlite3 *db,
                               const jm__stretch_wanted *wanted, jm_error *err)
{
    for (size_t i = 0; i < jm__taken_table_count; i++) {
        const jm__taken_table *taken = &jm__taken_tables[i];
        if (taken->for_readings)
            JM_TRY(jm__recording_rows(recording, db, taken->table, taken->take, loading, err));
        else if (taken->table == JM_TABLE_READINGS)
            JM_TRY(jm__reading_stretch(recording, db, wanted, taken->take, loading, err));
    }
    return JM_OK;
}

/* What a span refers to. */
static bool is_of_spans(jm__table_id table)
{
    return table == JM_TABLE_NAMES || table == JM_TABLE_SPAN_KINDS || table == JM_TABLE_PROCESSES;
}

typedef struct span_filter {
    jm__loading *loading;
    const jm__stretch_wanted *wanted;
    jm__row_taker take;
} span_filter;

/* Its kind is known once it is taken. */
static bool take_wanted_span(void *context, const void *row)
{
    const span_filter *f = context;
    jm__loading *loading = f->loading;
    const jm__stretch_wanted *w = f->wanted;
    size_t before = loading->spans.count;
    if (!f->take(loading, row)) return false;
    if (loading->spans.count == before) return true;
    const jm__span *span = &loading->spans.items[before];
    const char *name = span->name_id > 0 ? loading->names.items[span->name_id] : "";
    bool wanted =
        (w->kind == JM_SPAN_NONE || span->kind == w->kind) && (w->name == NULL || strcmp(name, w->name) == 0);
    if (!wanted) loading->spans.count--;
    return true;
}

/* The recorder marks it as it finds out, and notes it of its own command. */
static jm_status find_gone(jm__loading *loading, const jm_recording *recording, jm_error *err)
{
    jm__dataset *view = &loading->view;
    int64_t pid = noted(recording, "child_pid"), ended_ns = jm__meta_ns(recording, "child_end_ns", INT64_MAX);
    view->gone_ns = malloc((loading->processes.count + 1) * sizeof *view->gone_ns);
    if (view->gone_ns == NULL) return jm__no_memory(err, "jm__dataset_load");
    for (size_t i = 0; i < loading->processes.count; i++)
        view->gone_ns[i] = loading->processes.items[i].pid == pid ? ended_ns : INT64_MAX;
    for (size_t i = 0; i < loading->marks.count; i++) {
        const jm__mark *mark = &loading->marks.items[i];
        const jm__process *process = jm__dataset_process(view, mark->process_id);
        const char *name = mark->name_id > 0 ? loading->names.items[mark->name_id] : "";
        if (process == NULL || strcmp(name, JM_MARK_ENDED) != 0) continue;
        int64_t *gone_ns = &view->gone_ns[process - view->processes];
        if (mark->t_ns < *gone_ns) *gone_ns = mark->t_ns;
    }
    return JM_OK;
}

/* Marks are few. */
static void keep_wanted_marks(jm__loading *loading, const jm__stretch_wanted *wanted)
{
    size_t kept = 0;
    for (size_t i = 0; wanted->kind == JM_SPAN_NONE && i < loading->marks.count; i++) {
        jm__mark mark = loading->marks.items[i];
        const char *name = mark.name_id > 0 ? loading->names.items[mark.name_id] : "";
        if (mark.t_ns < wanted->from_ns || mark.t_ns > wanted->to_ns) continue;
        if (wanted->name == NULL || strcmp(name, wanted->name) == 0) loading->marks.items[kept++] = mark;
    }
    loading->marks.count = kept;
}

static bool any_is_open(const jm__loading *loading)
{
    for (size_t i = 0; i < loading->spans.count; i++)
        if (loading->spans.items[i].end_ns == -1) return true;
    return false;
}

/* Marks also tell of an open span when its process ended. */
static jm_status load_spans(jm__loading *loading, jm_recording *recording, sqlite3 *db,
                            const jm__stretch_wanted *wanted, jm_error *err)
{
    for (size_t i = 0; i < jm__taken_table_count; i++) {
        const jm__taken_table *taken = &jm__taken_tables[i];
        span_filter filter = {loading, wanted, taken->take};
        if (is_of_spans(taken->table))
            JM_TRY(jm__recording_rows(recording, db, taken->table, taken->take, loading, err));
        else if (taken->table == JM_TABLE_SPANS)
            JM_TRY(jm__span_stretch(recording, db, wanted, take_wanted_span, &filter, err));
        else if (taken->table == JM_TABLE_MARKS && (wanted->kind == JM_SPAN_NONE || any_is_open(loading)))
            JM_TRY(jm__recording_rows(recording, db, taken->table, taken->take, loading, err));
    }
    return JM_OK;
}

static jm_status load_tables(jm__loading *loading, jm_recording *recording, sqlite3 *db, jm_error *err)
{
    for (size_t i = 0; i < jm__taken_table_count; i++) {
        const jm__taken_table *taken = &jm__taken_tables[i];
        JM_TRY(jm__recording_rows(recording, db, taken->table, taken->take, loading, err));
    }
    JM_TRY(jm__kernel_table_begin(&loading->kernels, db, err));
    loading->kernels.class_count = loading->classes.count;
    loading->kernels.stream_count = loading->streams.count;
    if (loading->strays == 0) return JM_OK;
    return jm__recording_note_damage(
        recording, err, "%" PRId64 " rows refer to what is not there and are left out", loading->strays);
}

/* `wanted`: readings of this time; NULL: everything. */
static jm_status load(jm__dataset **out, jm_recording *recording, const jm__stretch_wanted *wanted,
                      jm_error *err)
{
    jm__loading *loading = calloc(1, sizeof *loading);
    if (loading == NULL || !jm__vec_push(&loading->names, "")) {
        free(loading);
        return jm__no_memory(err, "jm__dataset_load");
    }
    loading->kernels.recording = recording;
    sqlite3 *db;
    jm_status status = jm__recording_begin(recording, &db, err);
    if (status == JM_OK) {
        status = wanted == NULL  ? load_tables(loading, recording, db, err)
                 : wanted->spans ? load_spans(loading, recording, db, wanted, err)
                                 : load_readings(loading, recording, db, wanted, err);
        jm__recording_end(recording, db);
    }
    if (status == JM_OK) {
        sort_all(loading);
        show(loading);
        if (wanted == NULL) status = copy_facts(loading, recording, err);
    }
    if (status == JM_OK) status = find_gone(loading, recording, err);
    if (status == JM_OK && wanted != NULL && wanted->spans) {
        int64_t end_ns = noted_end_ns(recording);
        loading->view.end_ns = end_ns > 0 ? end_ns : 0;
        keep_wanted_marks(loading, wanted);
        show(loading);
    }
    if (status == JM_OK && wanted == NULL) {
        jm__part_keep_own(loading);
        show(loading);
    }
    if (status != JM_OK) {
        jm__dataset_free(&loading->view);
        return status;
    }
    *out = &loading->view;
    return JM_OK;
}

jm_status jm__dataset_load(jm__dataset **out, jm_recording *recording, jm_error *err)
{
    jm_status status = load(out, recording, NULL, err);
    if (status == JM_OK) return JM_OK;
    JM_TRY(jm__recording_recover(recording, status, err));
    return load(out, recording, NULL, err);
}

jm_status jm__dataset_load_readings(jm__dataset **out, jm_recording *recording,
                                    const jm__stretch_wanted *wanted, jm_error *err)
{
    return load(out, recording, wanted, err);
}

void jm__dataset_free(jm__dataset *dataset)
{
    if (dataset == NULL) return;
    jm__loading *loading = (jm__loading *)dataset; /* `view` is its first member */
    jm__text_store_free(&loading->texts);
    jm__vec_free(&loading->boards);
    jm__vec_free(&loading->sensors);
    jm__vec_free(&loading->readings);
    jm__vec_free(&loading->processes);
    jm__vec_free(&loading->spans);
    jm__vec_free(&loading->classes);
    jm__vec_free(&loading->streams);
    jm__vec_free(&loading->marks);
    jm__vec_free(&loading->losses);
    jm__vec_free(&loading->events);
    jm__vec_free(&loading->names);
    jm__vec_free(&loading->counter_sets);
    free(dataset->gone_ns);
    free(loading);
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
