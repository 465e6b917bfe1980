/* The recorded data row by row: readings, spans and marks. */
#include "attribute/input/span_index.h"
#include "base/status.h"
#include "format/rows/marks.h"

#include <joulemap/timeline.h>
#include <stdlib.h>
#include <string.h>

struct jm_timeline {
    jm__dataset *dataset;
    int64_t start_ns, end_ns, unix_offset_ns;
    jm_series *series; /* [dataset->sensor_count] */
    int64_t *stamps;   /* [dataset->reading_count], grouped by sensor, as `values` */
    double *values;
    jm_timeline_span *spans; /* [dataset->span_count] */
    jm_timeline_mark *marks;
    size_t mark_count;
};

/* Sensor numbers are 1, 2, ... without gaps, and each reading has one (format/dataset_rows.c). */
static bool sort_readings(jm_timeline *t)
{
    const jm__dataset *d = t->dataset;
    size_t *next = calloc(d->sensor_count + 2, sizeof *next);
    t->series = calloc(d->sensor_count + 1, sizeof *t->series);
    t->stamps = calloc(d->reading_count + 1, sizeof *t->stamps);
    t->values = calloc(d->reading_count + 1, sizeof *t->values);
    bool ok = next != NULL && t->series != NULL && t->stamps != NULL && t->values != NULL;
    for (size_t i = 0; ok && i < d->reading_count; i++)
        next[d->readings[i].sensor_id + 1]++;
    for (size_t s = 0; ok && s < d->sensor_count; s++) {
        size_t first = next[s + 1];
        next[s + 2] += first;
        t->series[s] = (jm_series){.board = &d->boards[d->sensors[s].board_id - 1],
                                   .sensor = &d->sensors[s],
                                   .count = next[s + 2] - first,
                                   .t_ns = t->stamps + first,
                                   .values = t->values + first};
    }
    for (size_t i = 0; ok && i < d->reading_count; i++) {
        size_t at = next[d->readings[i].sensor_id]++;
        t->stamps[at] = d->readings[i].t_ns;
        t->values[at] = d->readings[i].value;
    }
    free(next);
    return ok;
}

static int64_t pid_of(const jm__process *process)
{
    return process != NULL ? process->pid : 0;
}

static int64_t rank_of(const jm__process *process)
{
    return process != NULL ? process->rank : -1;
}

static jm_timeline_span span_of(const jm__span_index *index, size_t s)
{
    const jm__dataset *d = index->dataset;
    const jm__span *span = &d->spans[s];
    const jm__process *process = jm__dataset_process(d, span->process_id);
    return (jm_timeline_span){.kind = span->kind,
                              .name = jm__dataset_text(d, span->name_id),
                              .type = jm__dataset_text(d, span->type_id),
                              .pid = pid_of(process),
                              .rank = rank_of(process),
                              .thread_id = span->thread_id,
                              .start_ns = span->start_ns,
                              .end_ns = jm__span_end_ns(d, span),
                              .parent = jm__span_parent(index, s),
                              .samples = span->samples,
                              .tokens = span->tokens,
                              .ended = span->end_ns != -1,
                              .payload_kind = span->payload_kind,
                              .payload = span->payload};
}

static jm_status list_spans(jm_timeline *t, jm_error *err)
{
    jm__span_index index;
    t->spans = calloc(t->dataset->span_count + 1, sizeof *t->spans);
    if (t->spans == NULL) return jm__no_memory(err, "jm_timeline_create");
    jm_status status = jm__span_index_init(&index, t->dataset, err);
    for (size_t s = 0; status == JM_OK && s < t->dataset->span_count; s++)
        t->spans[s] = span_of(&index, s);
    jm__span_index_free(&index);
    return status;
}

/* All marks but the recorder's own notes on processes. */
static bool list_marks(jm_timeline *t)
{
    const jm__dataset *d = t->dataset;
    t->marks = calloc(d->mark_count + 1, sizeof *t->marks);
    for (size_t m = 0; t->marks != NULL && m < d->mark_count; m++) {
        const jm__mark *mark = &d->marks[m];
        const jm__process *process = jm__dataset_process(d, mark->process_id);
        const char *name = jm__dataset_text(d, mark->name_id);
        if (strcmp(name, JM_MARK_ENDED) == 0) continue;
        t->marks[t->mark_count++] = (jm_timeline_mark){.name = name,
                                                       .meta = mark->meta,
                                                       .pid = pid_of(process),
                                                       .rank = rank_of(process),
                                                       .thread_id = mark->thread_id,
                                                       .t_ns = mark->t_ns};
    }
    return t->marks != NULL;
}

/* The recorder noted both clocks at its start. */
static int64_t unix_offset(const jm_recording *recording)
{
    const char *unix_ns = jm_recording_meta(recording, "start_unix_ns");
    const char *start_ns = jm_recording_meta(recording, "start_ns");
    if (unix_ns == NULL || start_ns == NULL) return 0;
    int64_t offset, wall = strtoll(unix_ns, NULL, 10), monotonic = strtoll(start_ns, NULL, 10);
    return __builtin_sub_overflow(wall, monotonic, &offset) ? 0 : offset;
}

/* `requested`: only readings of this time; NULL: everything. */
static jm_status fill(jm_timeline *t, jm_recording *recording, const jm__row_filter *requested, jm_error *err)
{
    if (requested != NULL) JM_TRY(jm__dataset_load_readings(&t->dataset, recording, requested, err));
    if (requested == NULL) JM_TRY(jm__dataset_load(&t->dataset, recording, err));
    t->start_ns = requested != NULL ? requested->from_ns : t->dataset->start_ns;
    t->end_ns = requested != NULL ? requested->to_ns : t->dataset->end_ns;
    t->unix_offset_ns = unix_offset(recording);
    if (!sort_readings(t) || !list_marks(t)) return jm__no_memory(err, "jm_timeline_create");
    return list_spans(t, err);
}

static jm_status create(jm_timeline **out, jm_recording *recording, const jm__row_filter *requested,
                        jm_error *err)
{
    *out = NULL;
    jm_timeline *t = calloc(1, sizeof *t);
    if (t == NULL) return jm__no_memory(err, "jm_timeline_create");
    jm_status status = fill(t, recording, requested, err);
    if (status == JM_OK)
        *out = t;
    else
        jm_timeline_free(t);
    return status;
}

jm_status jm_timeline_create(jm_timeline **out, jm_recording *recording, jm_error *err)
{
    return create(out, recording, NULL, err);
}

static jm_status create_interval(jm_timeline **out, jm_recording *recording, const jm__row_filter *requested,
                                 jm_error *err)
{
    *out = NULL;
    if (requested->to_ns < requested->from_ns)
        return jm__fail(err, JM_USAGE, 0, NULL, "the end of the requested time is before its start");
    return create(out, recording, requested, err);
}

jm_status jm_timeline_create_spans(jm_timeline **out, jm_recording *recording, jm_span_kind kind,
                                   const char *name, int64_t from_ns, int64_t to_ns, jm_error *err)
{
    const jm__row_filter requested = {
        .from_ns = from_ns, .to_ns = to_ns, .spans = true, .kind = kind, .name = name};
    return create_interval(out, recording, &requested, err);
}

jm_status jm_timeline_create_readings(jm_timeline **out, jm_recording *recording, int64_t from_ns,
                                      int64_t to_ns, jm_error *err)
{
    const jm__row_filter requested = {.from_ns = from_ns, .to_ns = to_ns, .all_sensors = true};
    return create_interval(out, recording, &requested, err);
}

void jm_timeline_free(jm_timeline *timeline)
{
    if (timeline == NULL) return;
    free(timeline->series);
    free(timeline->stamps);
    free(timeline->values);
    free(timeline->spans);
    free(timeline->marks);
    jm__dataset_free(timeline->dataset);
    free(timeline);
}

int64_t jm_timeline_start_ns(const jm_timeline *timeline)
{
    return timeline->start_ns;
}

int64_t jm_timeline_end_ns(const jm_timeline *timeline)
{
    return timeline->end_ns;
}

int64_t jm_timeline_unix_offset_ns(const jm_timeline *timeline)
{
    return timeline->unix_offset_ns;
}

size_t jm_timeline_series_count(const jm_timeline *timeline)
{
    return timeline->dataset->sensor_count;
}

const jm_series *jm_timeline_series(const jm_timeline *timeline, size_t series)
{
    return series < timeline->dataset->sensor_count ? &timeline->series[series] : NULL;
}

size_t jm_timeline_span_count(const jm_timeline *timeline)
{
    return timeline->dataset->span_count;
}

const jm_timeline_span *jm_timeline_span_get(const jm_timeline *timeline, size_t span)
{
    return span < timeline->dataset->span_count ? &timeline->spans[span] : NULL;
}

size_t jm_timeline_mark_count(const jm_timeline *timeline)
{
    return timeline->mark_count;
}

const jm_timeline_mark *jm_timeline_mark_get(const jm_timeline *timeline, size_t mark)
{
    return mark < timeline->mark_count ? &timeline->marks[mark] : NULL;
}
