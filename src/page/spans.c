/* What the program said of its time: bands behind the page's chart of power. */
#include "attribute/input/span_index.h"
#include "attribute/report.h"
#include "base/status.h"
#include "base/vec.h"
#include "page/column.h"
#include "page/parts.h"

#include <string.h>

enum { MOST_BANDS = 400, MOST_STEPS = 2000 };

typedef struct found {
    const jm__dataset *dataset;
    JM_VEC(const jm__span *) spans;
} found;

static bool is_wanted(const jm__dataset *d, const jm__span *span, const jm_report_options *o)
{
    const jm__process *process = jm__dataset_process(d, span->process_id);
    if (o->process_id != 0 && (process == NULL || process->pid != o->process_id)) return false;
    bool whole = o->from_ns == 0 && o->to_ns == 0;
    return whole || (jm__span_end_ns(d, span) > o->from_ns && span->start_ns < o->to_ns);
}

/* All of them; false if memory is out. */
static bool find(found *f, const jm_report *report, bool steps)
{
    bool found_ones = jm_report_totals_get(report)->steps_found != NULL;
    f->dataset = jm__report_dataset(report);
    for (size_t i = 0; i < f->dataset->span_count; i++) {
        const jm__span *span = &f->dataset->spans[i];
        bool step = span->kind == JM_SPAN_STEP || (found_ones && span->kind == JM_SPAN_BATCH);
        bool band =
            span->kind == JM_SPAN_PHASE || span->kind == JM_SPAN_EPOCH || span->kind == JM_SPAN_WINDOW;
        if (!(steps ? step : band) || !is_wanted(f->dataset, span, jm_report_options_get(report))) continue;
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
    const found *f = context;
    const jm__span *span = f->spans.items[i];
    int64_t from_ns = span->start_ns, to_ns = jm__span_end_ns(f->dataset, span);
    return json_pack("{so ss so so}", "name", jm__json_text(jm__dataset_text(f->dataset, span->name_id)),
                     "kind", jm_span_kind_text(span->kind), "from_s", seconds(f->dataset, from_ns), "to_s",
                     seconds(f->dataset, to_ns));
}

static json_t *step_at(const void *context, size_t i)
{
    const found *f = context;
    return seconds(f->dataset, f->spans.items[i]->start_ns);
}

/* More than a picture has room for are told by their number alone. */
static json_t *list(const jm_report *report, bool steps, size_t most,
                    json_t *(*item)(const void *context, size_t i))
{
    found f = {0};
    json_t *array = NULL;
    if (find(&f, report, steps)) array = jm__page_array(f.spans.count <= most ? f.spans.count : 0, item, &f);
    json_t *object = json_pack("{sI so}", "count", (json_int_t)f.spans.count, "items", array);
    jm__vec_free(&f.spans);
    return object;
}

json_t *jm__page_spans(const jm_report *report)
{
    return json_pack("{so so}", "bands", list(report, false, MOST_BANDS, band_at), "steps",
                     list(report, true, MOST_STEPS, step_at));
}
