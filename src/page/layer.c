/* Layers in detail, and what a report can be restricted to: data that a served page asks for. */
#include "attribute/report.h"
#include "base/order.h"
#include "base/status.h"
#include "base/vec.h"
#include "page/parts.h"
#include "report/format.h"

#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

bool jm__page_is_layer(const jm_row *row, const char *pattern)
{
    return strcmp(row->path, pattern) == 0 ||
           (strchr(pattern, '*') != NULL && fnmatch(pattern, row->path, FNM_NOESCAPE) == 0);
}

size_t jm__page_end_of(const jm_report *report, size_t row)
{
    size_t end = row + 1, count = jm_report_row_count(report);
    int32_t depth = jm_report_row(report, row)->depth;
    while (end < count && jm_report_row(report, end)->depth > depth)
        end++;
    return end;
}

/* ---- the kernels of layers, by name */

enum { KERNELS_MAX = 100 };

typedef struct kernel {
    const char *name;
    size_t first, count; /* its rows in `rows` */
    int64_t calls;
    double busy_s;
    jm_sum sum;
} kernel;

typedef struct layer {
    const jm_report *report;
    JM_VEC(size_t) layers; /* rows that match, none inside of another */
    JM_VEC(size_t) rows;   /* of kernels in them, by name */
    JM_VEC(kernel) kernels;
} layer;

static bool is_leaf(const jm_report *report, size_t row)
{
    return jm__page_end_of(report, row) == row + 1;
}

static bool find_rows(layer *l, const char *pattern)
{
    for (size_t i = 0, end; i < jm_report_row_count(l->report); i = end) {
        end = i + 1;
        if (!jm__page_is_layer(jm_report_row(l->report, i), pattern)) continue;
        end = jm__page_end_of(l->report, i);
        if (!jm__vec_push(&l->layers, i)) return false;
        for (size_t k = i + 1; k < end; k++)
            if (is_leaf(l->report, k) && !jm__vec_push(&l->rows, k)) return false;
    }
    return true;
}

static int by_name(const void *left, const void *right, void *report)
{
    const size_t *a = left, *b = right;
    int order = strcmp(jm_report_row(report, *a)->name, jm_report_row(report, *b)->name);
    return order != 0 ? order : (*a > *b) - (*a < *b);
}

static int by_energy(const void *left, const void *right)
{
    const kernel *a = left, *b = right;
    int order = jm__largest_first(a->sum.energy_j, b->sum.energy_j);
    return order != 0 ? order : jm__largest_first(a->busy_s, b->busy_s);
}

static jm_status add_kernels(layer *l, jm_error *err)
{
    size_t count = l->rows.count;
    const jm_report *report = l->report;
    if (count > 0) qsort_r(l->rows.items, count, sizeof *l->rows.items, by_name, (void *)(uintptr_t)report);
    for (size_t i = 0; i < count; i++) {
        const jm_row *row = jm_report_row(report, l->rows.items[i]);
        kernel *last = l->kernels.count > 0 ? &l->kernels.items[l->kernels.count - 1] : NULL;
        if (last == NULL || strcmp(last->name, row->name) != 0) {
            const kernel next = {.name = row->name, .first = i};
            if (!jm__vec_push(&l->kernels, next)) return jm__no_memory(err, "jm_page_layer");
            last = &l->kernels.items[l->kernels.count - 1];
        }
        last->count++;
        last->calls += row->calls;
        last->busy_s += row->busy_s;
        last->sum.energy_j += row->energy_j;
    }
    if (l->kernels.count > 0) qsort(l->kernels.items, l->kernels.count, sizeof *l->kernels.items, by_energy);
    if (l->kernels.count > KERNELS_MAX) l->kernels.count = KERNELS_MAX;
    for (size_t k = 0; k < l->kernels.count; k++) {
        kernel *one = &l->kernels.items[k];
        JM_TRY(jm_report_sum(report, l->rows.items + one->first, one->count, &one->sum, err));
    }
    return JM_OK;
}

static const kernel *kernel_at(const void *context, size_t i)
{
    return &((const layer *)context)->kernels.items[i];
}

static json_t *name_of(const void *context, size_t i)
{
    return jm__json_text(kernel_at(context, i)->name);
}

/* null: the name needs no shortening. */
static json_t *short_of(const void *context, size_t i)
{
    const char *name = kernel_at(context, i)->name;
    if (!jm__is_cpp_name(name)) return json_null();
    jm__strbuf text = {0};
    jm__kernel_name_add(&text, name, JM_BREVITY_INNER);
    json_t *value = text.failed ? NULL : jm__json_text(text.text != NULL ? text.text : name);
    jm__strbuf_free(&text);
    return value;
}

static json_t *calls_of(const void *context, size_t i)
{
    return json_integer(kernel_at(context, i)->calls);
}

#define REAL_OF(name, field)                                                                                 \
    static json_t *name##_of(const void *context, size_t i)                                                  \
    {                                                                                                        \
        return jm__json_real(kernel_at(context, i)->field);                                                  \
    }
REAL_OF(busy_s, busy_s)
REAL_OF(energy_j, sum.energy_j)
REAL_OF(low_j, sum.low_j)
REAL_OF(high_j, sum.high_j)

static const jm__json_column columns[] = {
    {"name", name_of},         {"short", short_of}, {"calls", calls_of},  {"busy_s", busy_s_of},
    {"energy_j", energy_j_of}, {"low_j", low_j_of}, {"high_j", high_j_of}};

static json_t *layer_object(const layer *l, const char *pattern, const jm_sum *sum)
{
    int64_t calls = 0;
    double busy_s = 0;
    for (size_t i = 0; i < l->layers.count; i++) {
        const jm_row *row = jm_report_row(l->report, l->layers.items[i]);
        calls += row->calls;
        busy_s += row->busy_s;
    }
    return json_pack("{so sI sI so so so so so}", "path", jm__json_text(pattern), "members",
                     (json_int_t)l->layers.count, "calls", (json_int_t)calls, "busy_s", jm__json_real(busy_s),
                     "energy_j", jm__json_real(sum->energy_j), "low_j", jm__json_real(sum->low_j), "high_j",
                     jm__json_real(sum->high_j), "kernels",
                     jm__json_columns(columns, sizeof columns / sizeof *columns, l->kernels.count, l));
}

json_t *jm__page_layer(const jm_report *layers, const char *pattern, jm_error *err)
{
    layer l = {.report = layers};
    jm_sum sum;
    json_t *object = NULL;
    if (!find_rows(&l, pattern))
        jm__no_memory(err, "jm_page_layer");
    else if (l.layers.count == 0)
        jm__fail(err, JM_NOT_FOUND, 0, "jm_page_layer", "no layer \"%s\" in this time", pattern);
    else if (add_kernels(&l, err) == JM_OK &&
             jm_report_sum(layers, l.layers.items, l.layers.count, &sum, err) == JM_OK)
        object = layer_object(&l, pattern, &sum);
    jm__vec_free(&l.layers);
    jm__vec_free(&l.rows);
    jm__vec_free(&l.kernels);
    return object;
}

/* ---- choices */

/* Rows by span are occurrences; they are on each page as steps. */
static json_t *key_at(const void *context, size_t i)
{
    (void)context;
    return json_string(jm_by_text((jm_by)(i < JM_BY_SPAN ? i : i + 1)));
}

static bool is_known(const json_t *names, const char *name)
{
    for (size_t i = 0; i < json_array_size(names); i++)
        if (strcmp(json_string_value(json_array_get(names, i)), name) == 0) return true;
    return false;
}

static json_t *phases(const jm__dataset *d)
{
    enum { PHASES_MAX = 100 };
    json_t *names = json_array();
    for (size_t i = 0; i < d->span_count && json_array_size(names) < PHASES_MAX; i++) {
        const char *name = jm__dataset_text(d, d->spans[i].name_id);
        if (d->spans[i].kind != JM_SPAN_PHASE || is_known(names, name)) continue;
        if (json_array_append_new(names, jm__json_text(name)) == 0) continue;
        json_decref(names);
        return NULL;
    }
    return names;
}

/* A launcher of others has no kernels; without any kernels nobody knows. */
static bool has_kernels(const jm__dataset *d, const jm__process *process)
{
    for (size_t i = 0; i < d->stream_count; i++)
        if (d->streams[i].process_id == process->id) return true;
    return d->stream_count == 0;
}

static json_t *process_object(const jm__process *process)
{
    return json_pack("{sI so so}", "pid", (json_int_t)process->pid, "rank",
                     process->rank < 0 ? json_null() : json_integer((json_int_t)process->rank), "command",
                     jm__json_text(process->command));
}

/* Those with kernels. A program without a rank has null. */
static json_t *processes(const jm__dataset *d)
{
    enum { PROCESSES_MAX = 256 };
    json_t *all = json_array();
    for (size_t i = 0; i < d->process_count && json_array_size(all) < PROCESSES_MAX; i++) {
        if (!has_kernels(d, &d->processes[i])) continue;
        if (json_array_append_new(all, process_object(&d->processes[i])) == 0) continue;
        json_decref(all);
        return NULL;
    }
    return all;
}

static json_t *board_at(const void *context, size_t i)
{
    const jm_board *board = &((const jm__dataset *)context)->boards[i];
    return json_pack("{si so}", "index", (int)board->index, "name", jm__json_text(board->name));
}

json_t *jm__page_choices(const jm_report *report)
{
    enum { BOARDS_MAX = 256 };
    const jm__dataset *d = jm__report_dataset(report);
    size_t boards = d->board_count < BOARDS_MAX ? d->board_count : BOARDS_MAX;
    return json_pack("{so so so so}", "keys", jm__json_array(JM_BY_COUNT - 1, key_at, NULL), "phases",
                     phases(d), "processes", processes(d), "boards", jm__json_array(boards, board_at, d));
}
