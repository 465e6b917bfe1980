/* Hardware counters: start_ns,end_ns,METRIC... */
#include "import/counters.h"

#include "base/status.h"
#include "import/sample_blocks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    OVERLAP_NS = 1000, /* that stamps may be off by: 28 ns, once in a minute of an H200 */
    METRIC_BYTES = 512 /* of a name: all together stay below what a reader takes of a text, 1 MiB */
};

typedef struct importing {
    jm__csv *csv;
    jm__realtime *realtime;
    size_t start, end;                      /* columns */
    size_t columns[JM_COUNTER_METRICS_MAX]; /* of the metrics */
    size_t metric_count;
    jm__sample_blocks blocks;
    int64_t first_ns, last_ns;
} importing;

/* As the lists of chips have it; of others, a count grows with the window's length and a share does not. */
static const char *unit_of(const char *metric, const char *const *names, size_t count)
{
    const char *known = jm__metric_unit(metric, names, count);
    if (known != NULL) return known;
    static const char ratio[] = ".ratio";
    size_t length = strlen(metric);
    bool share = strstr(metric, "pct") != NULL ||
                 (length >= sizeof ratio - 1 && strcmp(metric + length - (sizeof ratio - 1), ratio) == 0);
    return share ? JM_COUNTER_PERCENT : JM_COUNTER_EVENTS;
}

/* They become texts of JSON as they are. */
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
    if (!jm__realtime_convert(all->realtime, start_ns, after_ns, &sample->start_ns))
        return jm__csv_bad(all->csv, all->start, err, "%lld ns is no time of this recording",
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

jm_status jm__import_counters(jm__writer *writer, int64_t board_id, jm__csv *csv, jm__realtime *realtime,
                              int64_t *first_ns, int64_t *last_ns, jm_error *err)
{
    importing *all = calloc(1, sizeof *all);
    if (all == NULL) return jm__no_memory(err, "jm__import_counters");
    *all = (importing){.csv = csv, .realtime = realtime, .first_ns = INT64_MAX, .last_ns = INT64_MIN};
    jm_status status = find_metrics(all, err);
    if (status == JM_OK) status = begin_set(all, writer, board_id, err);
    if (status == JM_OK) status = read_all(all, err);
    *first_ns = all->first_ns;
    *last_ns = all->last_ns;
    jm__sample_blocks_free(&all->blocks);
    free(all);
    return status;
}
