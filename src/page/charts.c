/* Data of the page's charts: power over time, bands of phases, and the energy of each step. */
#include "attribute/input/span_index.h"
#include "attribute/report.h"
#include "attribute/rollup/power_over_time.h"
#include "attribute/work/kernel_name.h"
#include "base/status.h"
#include "base/vec.h"
#include "page/parts.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A zoom shows single readings, which come every 20 ms at best, in a run of a minute and more. Eight GPUs
 * stay below a megabyte. */
enum { BINS_MAX = 4000, TOTAL_BINS_MAX = 16000, BINS_MIN = 500 };
static const double shortest_bin_s = 0.01;

#define REAL_OF(name, type, field)                                                                           \
    static json_t *name##_of(const void *context, size_t i)                                                  \
    {                                                                                                        \
        return jm__json_real(((const type *)context)[i].field);                                              \
    }
REAL_OF(seen, jm_power_bin, seen_s)
REAL_OF(mean, jm_power_bin, mean_w)
REAL_OF(least, jm_power_bin, least_w)
REAL_OF(most, jm_power_bin, most_w)
REAL_OF(clock, jm_power_bin, clock_mhz)

static const jm__json_column power_columns[] = {{"seen_s", seen_of},
                                                {"mean_w", mean_of},
                                                {"least_w", least_of},
                                                {"most_w", most_of},
                                                {"clock_mhz", clock_of}};

static size_t bins_for(const jm_report *report)
{
    double seconds = jm_report_totals_get(report)->duration_s;
    size_t boards = jm_report_board_count(report);
    size_t most = TOTAL_BINS_MAX / (boards > 0 ? boards : 1);
    if (most > BINS_MAX) most = BINS_MAX;
    if (most < BINS_MIN) most = BINS_MIN;
    double count = seconds / shortest_bin_s;
    return count >= 1 && count < (double)most ? (size_t)count : most;
}

typedef struct power_query {
    const jm_report *report;
    jm__power_over_time *power;
    jm_power_bin *bins;
    size_t count;
    jm_error *err;
} power_query;

static json_t *board_power(const void *context, size_t board)
{
    const power_query *a = context;
    jm_report_board info;
    if (jm_report_board_get(a->report, board, &info, a->err) != JM_OK ||
        jm__power_over_time_bins(a->power, board, a->bins, a->count, a->err) != JM_OK)
        return NULL;
    json_t *object =
        jm__json_columns(power_columns, sizeof power_columns / sizeof *power_columns, a->count, a->bins);
    if (json_object_set_new(object, "index", json_integer(info.index)) == 0 &&
        json_object_set_new(object, "name", jm__json_text(info.board->name)) == 0)
        return object;
    json_decref(object);
    return NULL;
}

json_t *jm__page_power(const jm_report *report, jm_error *err)
{
    enum { BOARDS_MAX = 16 };
    size_t boards = jm_report_board_count(report), bins = bins_for(report);
    power_query a = {.report = report, .bins = calloc(bins, sizeof *a.bins), .count = bins, .err = err};
    json_t *board_list = NULL;
    if (a.bins != NULL && jm__power_over_time_begin(&a.power, report, err) == JM_OK)
        board_list = jm__json_array(boards < BOARDS_MAX ? boards : BOARDS_MAX, board_power, &a);
    jm__power_over_time_free(a.power);
    if (board_list == NULL) {
        free(a.bins);
        return NULL;
    }
    double start_ns = (double)jm__report_dataset(report)->start_ns;
    double from_s = boards > 0 ? ((double)a.bins[0].from_ns - start_ns) * 1e-9 : NAN;
    double to_s = boards > 0 ? ((double)a.bins[bins - 1].to_ns - start_ns) * 1e-9 : NAN;
    free(a.bins);
    return json_pack("{so so so}", "from_s", jm__json_real(from_s), "to_s", jm__json_real(to_s), "boards",
                     board_list);
}

/* ---- bands behind the power chart, and step boundaries */

enum { BANDS_MAX = 400, STEPS_MAX = 2000 };

typedef struct span_list {
    const jm__dataset *dataset;
    JM_VEC(const jm__span *) spans;
} span_list;

static bool is_requested(const jm__dataset *d, const jm__span *span, const jm_report_options *o)
{
    const jm__process *process = jm__dataset_process(d, span->process_id);
    if (o->process_id != 0 && (process == NULL || process->pid != o->process_id)) return false;
    bool no_bounds = o->from_ns == 0 && o->to_ns == 0;
    return no_bounds || (jm__span_end_ns(d, span) > o->from_ns && span->start_ns < o->to_ns);
}

/* False if memory is out. */
static bool find_spans(span_list *f, const jm_report *report, bool steps)
{
    bool steps_were_found = jm_report_totals_get(report)->steps_found != NULL;
    f->dataset = jm__report_dataset(report);
    for (size_t i = 0; i < f->dataset->span_count; i++) {
        const jm__span *span = &f->dataset->spans[i];
        bool step = span->kind == JM_SPAN_STEP || (steps_were_found && span->kind == JM_SPAN_BATCH);
        bool band =
            span->kind == JM_SPAN_PHASE || span->kind == JM_SPAN_EPOCH || span->kind == JM_SPAN_WINDOW;
        if (!(steps ? step : band) || !is_requested(f->dataset, span, jm_report_options_get(report)))
            continue;
        if (!jm__vec_push(&f->spans, span)) return false;
    }
    return true;
}

static json_t *seconds(const jm__dataset *d, int64_t t_ns)
{
    return jm__json_real((double)(t_ns - d->start_ns) * 1e-9);
}

static json_t *band_at(const void *context, size_t i)
{
    const span_list *f = context;
    const jm__span *span = f->spans.items[i];
    int64_t from_ns = span->start_ns, to_ns = jm__span_end_ns(f->dataset, span);
    return json_pack("{so ss so so}", "name", jm__json_text(jm__dataset_text(f->dataset, span->name_id)),
                     "kind", jm_span_kind_text(span->kind), "from_s", seconds(f->dataset, from_ns), "to_s",
                     seconds(f->dataset, to_ns));
}

static json_t *step_at(const void *context, size_t i)
{
    const span_list *f = context;
    return seconds(f->dataset, f->spans.items[i]->start_ns);
}

/* If there are more than `most`, only their number is given: a chart cannot show them. */
static json_t *list_spans(const jm_report *report, bool steps, size_t most,
                          json_t *(*item)(const void *context, size_t i))
{
    span_list f = {0};
    json_t *array = NULL;
    if (find_spans(&f, report, steps))
        array = jm__json_array(f.spans.count <= most ? f.spans.count : 0, item, &f);
    json_t *object = json_pack("{sI so}", "count", (json_int_t)f.spans.count, "items", array);
    jm__vec_free(&f.spans);
    return object;
}

json_t *jm__page_spans(const jm_report *report)
{
    return json_pack("{so so}", "bands", list_spans(report, false, BANDS_MAX, band_at), "steps",
                     list_spans(report, true, STEPS_MAX, step_at));
}

/* ---- energy of each step, from a report by span */

/* Points of the chart. With more steps each point is the mean of several. */
enum { POINTS_MAX = 2000, GROUPS_MAX = 400 };

static const int64_t most_spans = 100000; /* a report by span needs 1.6 kB and 10 us for each */

bool jm_page_wants_spans(const jm_report *report)
{
    const jm_report_totals *totals = jm_report_totals_get(report);
    int64_t calls = 0;
    for (size_t i = 0; i < jm_report_row_count(report) && calls <= most_spans; i++)
        calls += jm_report_row(report, i)->calls;
    return totals->steps > 1 && calls <= most_spans && !jm__is_by_kernel(jm_report_options_get(report)->by);
}

/* Consecutive steps, and the mean of one of them. */
typedef struct point {
    size_t steps;
    double start_s, seconds;
    double energy_j, low_j, high_j;
    int64_t samples; /* of one step; -1: unknown */
} point;

typedef struct series {
    const jm_report *report;
    const char *layer; /* NULL: all of a step */
    JM_VEC(size_t) rows;
    JM_VEC(size_t) parts; /* the rows of a point */
    JM_VEC(point) points;
} series;

static jm_status find_steps(series *s, jm_error *err)
{
    bool found = jm_report_totals_get(s->report)->steps_found != NULL;
    for (size_t i = 0; i < jm_report_row_count(s->report); i++) {
        const char *kind = jm_report_row(s->report, i)->kind;
        bool step = strcmp(kind, "step") == 0 || (found && strcmp(kind, "batch") == 0);
        if (!step) continue;
        if (!jm__vec_push(&s->rows, i)) return jm__no_memory(err, "jm__page_steps");
    }
    return JM_OK;
}

/* Add the rows of a step that the point sums: itself, or the outermost calls of the layer in it. False if
 * memory is out. */
static bool add_parts(series *s, size_t step)
{
    if (s->layer == NULL) return jm__vec_push(&s->parts, step);
    int32_t depth = jm_report_row(s->report, step)->depth;
    size_t end = jm__page_end_of(s->report, step);
    for (size_t i = step + 1; i < end;) {
        const jm_row *row = jm_report_row(s->report, i);
        bool found = row->depth > depth && jm__page_is_layer(row, s->layer);
        if (found && !jm__vec_push(&s->parts, i)) return false;
        i = found ? jm__page_end_of(s->report, i) : i + 1;
    }
    return true;
}

/* From begin to end of a step; of a layer the time of its kernels. */
static double seconds_of_point(const series *s, size_t first, size_t count)
{
    double sum_s = 0;
    for (size_t i = 0; s->layer == NULL && i < count; i++) {
        const jm_row *row = jm_report_row(s->report, s->rows.items[first + i]);
        sum_s += (double)(row->end_ns - row->start_ns) * 1e-9;
    }
    for (size_t i = 0; s->layer != NULL && i < s->parts.count; i++)
        sum_s += jm_report_row(s->report, s->parts.items[i])->busy_s;
    return sum_s;
}

static jm_status add_point(series *s, size_t first, size_t count, jm_error *err)
{
    double start_ns = (double)jm__report_dataset(s->report)->start_ns, n = (double)count;
    const jm_row *row = jm_report_row(s->report, s->rows.items[first]);
    point p = {.steps = count, .start_s = ((double)row->start_ns - start_ns) * 1e-9};
    jm_sum sum = {0};
    s->parts.count = 0;
    for (size_t i = 0; i < count; i++) {
        row = jm_report_row(s->report, s->rows.items[first + i]);
        if (!add_parts(s, s->rows.items[first + i])) return jm__no_memory(err, "jm__page_steps");
        p.samples += row->samples < 0 ? 0 : row->samples;
    }
    if (s->parts.count == 1) {
        row = jm_report_row(s->report, s->parts.items[0]);
        sum = (jm_sum){row->energy_j, row->energy_low_j, row->energy_high_j};
    } else if (s->parts.count > 1) {
        JM_TRY(jm_report_sum(s->report, s->parts.items, s->parts.count, &sum, err));
    }
    p.seconds = seconds_of_point(s, first, count) / n;
    p.samples = p.samples > 0 ? p.samples / (int64_t)count : -1;
    p.energy_j = sum.energy_j / n;
    p.low_j = sum.low_j / n;
    p.high_j = sum.high_j / n;
    return jm__vec_push(&s->points, p) ? JM_OK : jm__no_memory(err, "jm__page_steps");
}

static jm_status add_points(series *s, jm_error *err)
{
    size_t count = s->rows.count;
    size_t each = count <= POINTS_MAX ? 1 : (count + GROUPS_MAX - 1) / GROUPS_MAX;
    for (size_t i = 0; i < count; i += each)
        JM_TRY(add_point(s, i, count - i < each ? count - i : each, err));
    return JM_OK;
}

static json_t *steps_of(const void *context, size_t i)
{
    return json_integer((json_int_t)((const point *)context)[i].steps);
}

static json_t *samples_of(const void *context, size_t i)
{
    int64_t samples = ((const point *)context)[i].samples;
    return samples < 0 ? json_null() : json_integer(samples);
}

REAL_OF(start_s, point, start_s)
REAL_OF(seconds, point, seconds)
REAL_OF(energy_j, point, energy_j)
REAL_OF(low_j, point, low_j)
REAL_OF(high_j, point, high_j)

static const jm__json_column step_columns[] = {
    {"steps", steps_of},       {"samples", samples_of}, {"start_s", start_s_of}, {"seconds", seconds_of},
    {"energy_j", energy_j_of}, {"low_j", low_j_of},     {"high_j", high_j_of}};

json_t *jm__page_steps(const jm_report *spans, const char *layer, jm_error *err)
{
    series s = {.report = spans, .layer = layer};
    json_t *table = NULL;
    if (find_steps(&s, err) == JM_OK && add_points(&s, err) == JM_OK)
        table = s.points.count == 0
                    ? json_null()
                    : jm__json_columns(step_columns, sizeof step_columns / sizeof *step_columns,
                                       s.points.count, s.points.items);
    jm__vec_free(&s.rows);
    jm__vec_free(&s.parts);
    jm__vec_free(&s.points);
    return table;
}
