/* Hardware counters from CSV: start_ns,end_ns,METRIC... by time of day. */
#include "import/counters.h"

#include "base/clock.h"
#include "base/csv.h"
#include "base/status.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "format/dataset_rows.h"
#include "format/recording.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Zero-initialise. */
typedef struct clock_anchors {
    JM_VEC(jm__anchor) anchors; /* the first one after each time that the clock was set */
    size_t at;                  /* the last one that was used */
} clock_anchors;

enum { BLOCK_SAMPLES = 1000 /* usually a second */ };

static jm_status write_set(jm__sample_blocks *blocks, const char *const *names, const char *const *units,
                           jm_error *err)
{
    jm__strbuf metric_texts = {0}, unit_texts = {0};
    for (int64_t i = 0; i < blocks->set.metric_count; i++) {
        const char *before = i == 0 ? "[" : ", ";
        jm__strbuf_format(&metric_texts, "%s\"%s\"", before, names[i]);
        jm__strbuf_format(&unit_texts, "%s\"%s\"", before, units[i]);
    }
    jm__strbuf_add(&metric_texts, "]");
    jm__strbuf_add(&unit_texts, "]");
    blocks->set.metrics = metric_texts.text;
    blocks->set.units = unit_texts.text;
    jm_status status = metric_texts.failed || unit_texts.failed
                           ? jm__no_memory(err, "jm__sample_blocks_begin")
                           : jm__writer_counter_set(blocks->writer, &blocks->set, err);
    jm__strbuf_free(&metric_texts);
    jm__strbuf_free(&unit_texts);
    blocks->set.metrics = blocks->set.units = NULL;
    return status;
}

jm_status jm__sample_blocks_begin(jm__sample_blocks *blocks, jm__writer *writer, int64_t board_id,
                                  const char *const *names, const char *const *units, size_t count,
                                  jm_error *err)
{
    *blocks = (jm__sample_blocks){.writer = writer,
                                  .set = {.board_id = board_id, .metric_count = (int64_t)count},
                                  .samples = calloc(BLOCK_SAMPLES, sizeof *blocks->samples),
                                  .most = BLOCK_SAMPLES};
    if (blocks->samples == NULL) return jm__no_memory(err, "jm__sample_blocks_begin");
    while (jm__counter_block_size(blocks->most, blocks->set.metric_count) == 0)
        blocks->most /= 2;
    return write_set(blocks, names, units, err);
}

jm__counter_sample *jm__sample_blocks_next(const jm__sample_blocks *blocks)
{
    return &blocks->samples[blocks->count];
}

jm_status jm__sample_blocks_add(jm__sample_blocks *blocks, jm_error *err)
{
    return ++blocks->count == blocks->most ? jm__sample_blocks_end(blocks, err) : JM_OK;
}

jm_status jm__sample_blocks_end(jm__sample_blocks *blocks, jm_error *err)
{
    if (blocks->count == 0) return JM_OK;
    size_t size = jm__counter_block_size(blocks->count, blocks->set.metric_count);
    void *data = malloc(size);
    if (data == NULL) return jm__no_memory(err, "jm__sample_blocks_end");
    jm__counter_block block = {.set_id = blocks->set.id,
                               .start_ns = blocks->samples[0].start_ns,
                               .end_ns = blocks->samples[blocks->count - 1].end_ns,
                               .count = blocks->count,
                               .data = {data, size}};
    jm__counter_block_pack(data, block.start_ns, blocks->samples, blocks->count, blocks->set.metric_count);
    jm_status status = jm__writer_counter_block(blocks->writer, &block, err);
    free(data);
    blocks->count = 0;
    return status;
}

void jm__sample_blocks_free(jm__sample_blocks *blocks)
{
    free(blocks->samples);
}

/* ---- from CLOCK_REALTIME to the clock of a recording. Both clocks are slewed alike, so one anchor is valid
 * until the clock is set. Using the nearest anchor instead would add the noise of anchors to windows of a
 * millisecond. ---- */

static int64_t offset_of(const jm__anchor *anchor)
{
    return anchor->realtime_ns - anchor->monotonic_ns;
}

static bool take_anchor(void *context, const void *row)
{
    clock_anchors *realtime = context;
    jm__anchor anchor = *(const jm__anchor *)row;
    if (!jm__time_is_plausible(anchor.monotonic_ns) || !jm__time_is_plausible(anchor.realtime_ns))
        return true;
    if (realtime->anchors.count > 0) {
        const jm__anchor *last = &realtime->anchors.items[realtime->anchors.count - 1];
        if (llabs(offset_of(&anchor) - offset_of(last)) <= JM_CLOCK_STEP_NS) return true;
    }
    return jm__vec_push(&realtime->anchors, anchor);
}

static jm_status load(clock_anchors *realtime, jm_recording *recording, jm_error *err)
{
    sqlite3 *db;
    realtime->anchors.count = 0;
    JM_TRY(jm__recording_begin(recording, &db, err));
    jm_status status = jm__recording_rows(recording, db, JM_TABLE_ANCHORS, take_anchor, realtime, err);
    jm__recording_end(recording, db);
    return status;
}

/* A recording imported from CSV has no anchors: its clock is that of the file. BAD_DATA: another recording
 * without anchors. */
static jm_status realtime_load(clock_anchors *realtime, jm_recording *recording, jm_error *err)
{
    static const jm__anchor own_clock = {0, 0};
    const char *source = jm_recording_meta(recording, "source");
    if (source != NULL && strcmp(source, "import") == 0)
        return jm__vec_push(&realtime->anchors, own_clock) ? JM_OK : jm__no_memory(err, "realtime_load");
    jm_status status = load(realtime, recording, err);
    if (status != JM_OK) {
        JM_TRY(jm__recording_recover(recording, status, err));
        JM_TRY(load(realtime, recording, err));
    }
    if (realtime->anchors.count > 0) return JM_OK;
    return jm__fail(err, JM_BAD_DATA, 0, NULL,
                    "%s has no anchors: its times cannot be converted to times of day",
                    jm__recording_path(recording));
}

/* Was the clock set before that time? Then it would precede earlier rows, or lie after the next anchor. */
static bool is_after_next_step(const clock_anchors *realtime, int64_t monotonic_ns, int64_t after_ns)
{
    if (realtime->at + 1 == realtime->anchors.count) return false;
    return monotonic_ns < after_ns || monotonic_ns >= realtime->anchors.items[realtime->at + 1].monotonic_ns;
}

/* Converts times that must come in order: none is before `after_ns`. The order decides between two times with
 * one time of day after the clock was set back. False: not a time of the recording. */
static bool realtime_convert(clock_anchors *realtime, int64_t realtime_ns, int64_t after_ns,
                             int64_t *monotonic_ns)
{
    if (!jm__time_is_plausible(realtime_ns)) return false;
    *monotonic_ns = realtime_ns - offset_of(&realtime->anchors.items[realtime->at]);
    while (is_after_next_step(realtime, *monotonic_ns, after_ns)) {
        realtime->at++;
        *monotonic_ns = realtime_ns - offset_of(&realtime->anchors.items[realtime->at]);
    }
    return jm__time_is_plausible(*monotonic_ns);
}

/* ---- hardware counters: start_ns,end_ns,METRIC ---- */

enum {
    OVERLAP_NS = 1000, /* by how much stamps may be off: 28 ns once a minute on an H200 */
    METRIC_BYTES = 512 /* of a name: the JSON of all names stays below the reader's limit of 1 MiB */
};

typedef struct importing {
    jm__csv *csv;
    clock_anchors realtime;
    size_t start, end;                      /* columns */
    size_t columns[JM_COUNTER_METRICS_MAX]; /* columns of the metrics */
    size_t metric_count;
    jm__sample_blocks blocks;
    int64_t first_ns, last_ns;
} importing;

/* The unit by the lists of chips. For other metrics, a count grows with the window's length and a ratio does
 * not. */
static const char *unit_of(const char *metric, const char *const *names, size_t count)
{
    const char *unit = jm__metric_unit(metric, names, count);
    if (unit != NULL) return unit;
    static const char ratio[] = ".ratio";
    size_t length = strlen(metric);
    bool is_ratio = strstr(metric, "pct") != NULL ||
                    (length >= sizeof ratio - 1 && strcmp(metric + length - (sizeof ratio - 1), ratio) == 0);
    return is_ratio ? JM_COUNTER_PERCENT : JM_COUNTER_EVENTS;
}

/* Names are written into JSON without escaping. */
static bool is_plain(const char *name)
{
    for (const char *c = name; *c != '\0'; c++)
        if (*c <= ' ' || *c > '~' || *c == '"' || *c == '\\') return false;
    return name[0] != '\0' && strlen(name) <= METRIC_BYTES;
}

static jm_status add_metric(importing *all, size_t column, jm_error *err)
{
    const char *name = jm__csv_column_name(all->csv, column);
    if (all->metric_count == JM_COUNTER_METRICS_MAX)
        return jm__csv_bad(all->csv, column, err, "more than %d metrics", JM_COUNTER_METRICS_MAX);
    if (!is_plain(name))
        return jm__csv_bad(all->csv, column, err,
                           "column %zu: a metric's name is 1 to %d letters of ASCII, no space or quote in it",
                           column + 1, METRIC_BYTES);
    for (size_t i = 0; i < all->metric_count; i++)
        if (strcmp(name, jm__csv_column_name(all->csv, all->columns[i])) == 0)
            return jm__csv_bad(all->csv, column, err, "this metric is there twice");
    all->columns[all->metric_count++] = column;
    return JM_OK;
}

static jm_status find_metrics(importing *all, jm_error *err)
{
    JM_TRY(jm__csv_column(all->csv, "start_ns", &all->start, err));
    JM_TRY(jm__csv_column(all->csv, "end_ns", &all->end, err));
    for (size_t column = 0; column < jm__csv_column_count(all->csv); column++)
        if (column != all->start && column != all->end && !jm__csv_unnamed(all->csv, column))
            JM_TRY(add_metric(all, column, err));
    if (all->metric_count == 0)
        return jm__csv_bad(all->csv, all->end, err, "there is no metric beside start_ns and end_ns");
    return JM_OK;
}

static jm_status begin_set(importing *all, jm__writer *writer, int64_t board_id, jm_error *err)
{
    const char *names[JM_COUNTER_METRICS_MAX], *units[JM_COUNTER_METRICS_MAX];
    size_t count = all->metric_count;
    for (size_t i = 0; i < count; i++)
        names[i] = jm__csv_column_name(all->csv, all->columns[i]);
    for (size_t i = 0; i < count; i++)
        units[i] = unit_of(names[i], names, count);
    return jm__sample_blocks_begin(&all->blocks, writer, board_id, names, units, count, err);
}

static jm_status read_window(importing *all, jm__counter_sample *sample, jm_error *err)
{
    int64_t start_ns, end_ns, length_ns;
    JM_TRY(jm__csv_integer(all->csv, all->start, &start_ns, err));
    JM_TRY(jm__csv_integer(all->csv, all->end, &end_ns, err));
    int64_t after_ns = all->last_ns == INT64_MIN ? INT64_MIN : all->last_ns - OVERLAP_NS;
    if (!realtime_convert(&all->realtime, start_ns, after_ns, &sample->start_ns))
        return jm__csv_bad(all->csv, all->start, err, "%lld ns is not a time of this recording",
                           (long long)start_ns);
    if (sample->start_ns < after_ns)
        return jm__csv_bad(all->csv, all->start, err, "the window begins before the one before it has ended");
    if (__builtin_sub_overflow(end_ns, start_ns, &length_ns) || length_ns <= 0 ||
        length_ns > 3600 * JM_NS_PER_S)
        return jm__csv_bad(all->csv, all->end, err, "a window ends after its start, within an hour");
    sample->end_ns = sample->start_ns + length_ns;
    if (sample->start_ns < all->last_ns) sample->start_ns = all->last_ns;
    if (sample->end_ns <= sample->start_ns)
        return jm__csv_bad(all->csv, all->end, err, "the window lies in the one before it");
    return JM_OK;
}

static jm_status read_sample(importing *all, jm__counter_sample *sample, jm_error *err)
{
    JM_TRY(read_window(all, sample, err));
    for (size_t i = 0; i < all->metric_count; i++) {
        sample->values[i] = NAN;
        if (!jm__csv_missing(all->csv, all->columns[i]))
            JM_TRY(jm__csv_number(all->csv, all->columns[i], &sample->values[i], err));
    }
    if (all->first_ns > sample->start_ns) all->first_ns = sample->start_ns;
    all->last_ns = sample->end_ns;
    return JM_OK;
}

static jm_status read_all(importing *all, jm_error *err)
{
    for (;;) {
        bool more;
        JM_TRY(jm__csv_next(all->csv, &more, err));
        if (!more) return jm__sample_blocks_end(&all->blocks, err);
        JM_TRY(read_sample(all, jm__sample_blocks_next(&all->blocks), err));
        JM_TRY(jm__sample_blocks_add(&all->blocks, err));
    }
}

static jm_status check_overlap(const importing *all, const char *path, const char *onto,
                               const jm__dataset *data, jm_error *err)
{
    if (all->last_ns < all->first_ns)
        return jm__fail(err, JM_BAD_DATA, 0, NULL, "%s has a header line, but no rows", path);
    if (all->first_ns < data->end_ns && all->last_ns > data->start_ns) return JM_OK;
    return jm__fail(err, JM_BAD_DATA, 0, NULL,
                    "%s is of another time: its windows lie %.3f to %.3f s after the start of %s, which "
                    "took %.3f s",
                    path, (double)(all->first_ns - data->start_ns) / 1e9,
                    (double)(all->last_ns - data->start_ns) / 1e9, onto,
                    (double)(data->end_ns - data->start_ns) / 1e9);
}

static jm_status import(importing *all, jm__writer *writer, const jm__dataset *data, int64_t board_id,
                        const char *path, jm_recording *run, jm_error *err)
{
    JM_TRY(jm__csv_open(&all->csv, path, err));
    JM_TRY(realtime_load(&all->realtime, run, err));
    JM_TRY(find_metrics(all, err));
    JM_TRY(begin_set(all, writer, board_id, err));
    JM_TRY(read_all(all, err));
    return check_overlap(all, path, jm__recording_path(run), data, err);
}

jm_status jm__import_counters(jm__writer *writer, const jm__dataset *data, int64_t board_id, const char *path,
                              jm_recording *run, jm_error *err)
{
    importing *all = calloc(1, sizeof *all);
    if (all == NULL) return jm__no_memory(err, "jm__import_counters");
    *all = (importing){.first_ns = INT64_MAX, .last_ns = INT64_MIN};
    jm_status status = import(all, writer, data, board_id, path, run, err);
    jm__vec_free(&all->realtime.anchors);
    jm__csv_close(all->csv);
    jm__sample_blocks_free(&all->blocks);
    free(all);
    return status;
}
