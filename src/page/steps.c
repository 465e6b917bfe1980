/* What each step took, out of a report by span. */
#include "attribute/report.h"
#include "base/status.h"
#include "base/vec.h"
#include "page/column.h"
#include "page/parts.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* The most points of the chart; where there are more steps each is the mean of several. */
enum { MOST_POINTS = 2000, MOST_GROUPS = 400 };

static const int64_t most_spans = 100000; /* of each a report by span has 1.6 kB and takes 10 us */

bool jm_page_wants_spans(const jm_report *report)
{
    const jm_report_totals *totals = jm_report_totals_get(report);
    int64_t calls = 0;
    for (size_t i = 0; i < jm_report_row_count(report) && calls <= most_spans; i++)
        calls += jm_report_row(report, i)->calls;
    return totals->steps > 1 && calls <= most_spans && jm_report_options_get(report)->by != JM_BY_KERNEL;
}

/* Some steps one after the other, and what one of them took. */
typedef struct point {
    size_t steps;
    double start_s, seconds;
    double energy_j, low_j, high_j;
    int64_t samples; /* of one; -1: not told */
} point;

typedef struct series {
    const jm_report *report;
    JM_VEC(size_t) rows;
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

static jm_status add_point(series *s, size_t first, size_t count, jm_error *err)
{
    double start_ns = (double)jm__report_dataset(s->report)->start_ns, n = (double)count;
    const jm_row *row = jm_report_row(s->report, s->rows.items[first]);
    point p = {.steps = count, .start_s = ((double)row->start_ns - start_ns) * 1e-9};
    jm_sum sum = {row->energy_j, row->energy_low_j, row->energy_high_j};
    if (count > 1) JM_TRY(jm_report_sum(s->report, s->rows.items + first, count, &sum, err));
    for (size_t i = 0; i < count; i++) {
        row = jm_report_row(s->report, s->rows.items[first + i]);
        p.seconds += (double)(row->end_ns - row->start_ns) * 1e-9 / n;
        p.samples += row->samples < 0 ? 0 : row->samples;
    }
    p.samples = p.samples > 0 ? p.samples / (int64_t)count : -1;
    p.energy_j = sum.energy_j / n;
    p.low_j = sum.low_j / n;
    p.high_j = sum.high_j / n;
    return jm__vec_push(&s->points, p) ? JM_OK : jm__no_memory(err, "jm__page_steps");
}

static jm_status add_points(series *s, jm_error *err)
{
    size_t count = s->rows.count;
    size_t each = count <= MOST_POINTS ? 1 : (count + MOST_GROUPS - 1) / MOST_GROUPS;
    for (size_t i = 0; i < count; i += each)
        JM_TRY(add_point(s, i, count - i < each ? count - i : each, err));
    return JM_OK;
}

static const point *point_at(const void *context, size_t i)
{
    return &((const series *)context)->points.items[i];
}

static json_t *steps_of(const void *context, size_t i)
{
    return json_integer((json_int_t)point_at(context, i)->steps);
}

static json_t *samples_of(const void *context, size_t i)
{
    int64_t samples = point_at(context, i)->samples;
    return samples < 0 ? json_null() : json_integer(samples);
}

#define REAL_OF(field)                                                                                       \
    static json_t *field##_of(const void *context, size_t i)                                                 \
    {                                                                                                        \
        return jm__json_real(point_at(context, i)->field);                                                   \
    }
REAL_OF(start_s)
REAL_OF(seconds)
REAL_OF(energy_j)
REAL_OF(low_j)
REAL_OF(high_j)

static const jm__page_column columns[] = {
    {"steps", steps_of},       {"samples", samples_of}, {"start_s", start_s_of}, {"seconds", seconds_of},
    {"energy_j", energy_j_of}, {"low_j", low_j_of},     {"high_j", high_j_of}};

json_t *jm__page_steps(const jm_report *spans, jm_error *err)
{
    series s = {.report = spans};
    json_t *table = NULL;
    if (find_steps(&s, err) == JM_OK && add_points(&s, err) == JM_OK)
        table = s.points.count == 0
                    ? json_null()
                    : jm__page_columns(columns, sizeof columns / sizeof *columns, s.points.count, &s);
    jm__vec_free(&s.rows);
    jm__vec_free(&s.points);
    return table;
}
