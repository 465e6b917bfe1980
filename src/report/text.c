/* The report as a text table: which rows, in which order, with which columns. */
#include "report/text.h"

#include "attribute/report.h"
#include "attribute/work/kernel_name.h"
#include "base/map.h"
#include "base/options.h"
#include "base/order.h"
#include "base/plain.h"
#include "base/status.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "report/facts.h"
#include "report/fold.h"
#include "report/format.h"
#include "report/table.h"

#include <fnmatch.h>
#include <joulemap/report.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct shown_part {
    size_t part;   /* index in the fold */
    int32_t depth; /* depth in the table */
    bool selected; /* the user selected it, not only an ancestor */
} shown_part;

typedef JM_VEC(shown_part) shown_parts;

static bool ends_in(const char *path, const char *end)
{
    size_t length = strlen(path), end_length = strlen(end);
    return length > end_length && path[length - end_length - 1] == '.' &&
           strcmp(path + length - end_length, end) == 0;
}

static bool has_part(const char *name, const char *pattern)
{
    if (fnmatch(pattern, name, FNM_NOESCAPE) == 0) return true;
    return strpbrk(pattern, "*?[") == NULL && strcasestr(name, pattern) != NULL;
}

/* By its whole or by its short name. `failed`: set if memory is out. */
static bool matches_kernel(const jm_row *row, const char *pattern, bool *failed)
{
    if (has_part(row->name, pattern)) return true;
    jm__strbuf text = {0};
    bool found =
        jm__row_short_name_add(&text, row, JM_BY_KERNEL) && text.text != NULL && has_part(text.text, pattern);
    *failed = *failed || text.failed;
    jm__strbuf_free(&text);
    return found;
}

static bool matches(const jm_row *row, const char *pattern, jm_by by, bool *failed)
{
    bool by_kernel = jm__is_by_kernel(by) && strcmp(row->kind, "gap") != 0;
    if (fnmatch(pattern, row->path, FNM_NOESCAPE) == 0) return true;
    if (by_kernel && matches_kernel(row, pattern, failed)) return true;
    return strpbrk(pattern, "*?[") == NULL && ends_in(row->path, pattern);
}

static jm_status report_no_match(const jm_report *report, const char *pattern, const char *operation,
                                 jm_error *err)
{
    size_t count = jm_report_row_count(report), inner = 0; /* a deep row, as an example of a path */
    for (size_t i = 0; i < count; i++) {
        const jm_row *row = jm_report_row(report, i);
        if (row->path[0] != '(' && row->depth > jm_report_row(report, inner)->depth) inner = i;
    }
    return jm__fail(err, JM_USAGE, 0, operation, "no row's path matches \"%s\"; paths are such as \"%s\"",
                    pattern, count > 0 ? jm_report_row(report, inner)->path : "");
}

/* Find the rows that match the pattern; the caller frees them. USAGE: none does; the error shows an example
 * of a path. `operation`: for the error. */
static jm_status rows_match(size_t **rows, size_t *count, const jm_report *report, const char *pattern,
                            const char *operation, jm_error *err)
{
    size_t total = jm_report_row_count(report);
    jm_by by = jm_report_options_get(report)->by;
    *count = 0;
    *rows = malloc((total + 1) * sizeof **rows);
    if (*rows == NULL) return jm__no_memory(err, operation);
    bool failed = false;
    for (size_t i = 0; i < total; i++)
        if (matches(jm_report_row(report, i), pattern, by, &failed)) (*rows)[(*count)++] = i;
    if (*count > 0 && !failed) return JM_OK;
    free(*rows);
    *rows = NULL;
    if (failed) return jm__no_memory(err, operation);
    return report_no_match(report, pattern, operation, err);
}

/* ---- the sum over all rows that match a pattern */

jm_status jm_report_sum_paths(const jm_report *report, const char *pattern, jm_sum *out, size_t *rows,
                              jm_error *err)
{
    size_t *matching;
    *rows = 0;
    JM_TRY(rows_match(&matching, rows, report, pattern, "jm_report_sum_paths", err));
    jm_status status = jm_report_sum(report, matching, *rows, out, err);
    free(matching);
    return status;
}

jm_status jm_report_sum_paths_step(const jm_report *report, const char *pattern, jm_sum *out, jm_error *err)
{
    size_t *matching, rows = 0;
    JM_TRY(rows_match(&matching, &rows, report, pattern, "jm_report_sum_paths_step", err));
    jm_status status = jm__report_sum_step(report, matching, rows, out, err);
    free(matching);
    return status;
}

/* ---- selecting rows by pattern or number */

/* Find which rows the options select, with their descendants; the caller frees the array. NULL: all rows.
 * USAGE: no row is selected. */
static jm_status find_selected(bool **selected, const jm_report *report, const jm_text_options *options,
                               jm_error *err)
{
    size_t rows = jm_report_row_count(report), count = 1, number = (size_t)options->row - 1;
    size_t *matching = NULL;
    *selected = NULL;
    if (options->row > rows)
        return jm__fail(err, JM_USAGE, 0, "jm_report_text", "there is no row #%llu; the last one is #%zu",
                        (unsigned long long)options->row, rows);
    if (options->match != NULL && options->row > 0)
        return jm__fail(err, JM_USAGE, 0, "jm_report_text",
                        "a pattern and the number of a row exclude each other");
    if (options->match != NULL)
        JM_TRY(rows_match(&matching, &count, report, options->match, "jm_report_text", err));
    if (options->match == NULL && options->row == 0) return JM_OK;
    const size_t *numbers = matching != NULL ? matching : &number;
    bool *found = calloc(rows + 1, sizeof *found);
    for (size_t i = 0; found != NULL && i < count; i++) {
        int32_t depth = jm_report_row(report, numbers[i])->depth;
        size_t row = numbers[i];
        do
            found[row++] = true;
        while (row < rows && jm_report_row(report, row)->depth > depth);
    }
    free(matching);
    *selected = found;
    return found != NULL ? JM_OK : jm__no_memory(err, "jm_report_text");
}

/* Whether a table of a step has nothing to say of it. */
static bool is_in_no_step(const jm__part *part)
{
    return isnan(part->sum.energy_j) || (part->sum.energy_j == 0 && part->sum.busy_s == 0);
}

/* `in_no_step`: counts the rows that are left out; NULL: the table is of the run. */
static bool list_parts(shown_parts *picks, const jm__fold *fold, const bool *selected, size_t *in_no_step)
{
    int32_t outermost = -1; /* depth of the selected part that contains this one; -1: none */
    for (size_t i = 0; i < fold->parts.count; i++) {
        const jm__part *part = &fold->parts.items[i];
        int32_t depth = part->sum.depth;
        shown_part shown = {.part = i, .depth = depth};
        if (in_no_step != NULL && selected == NULL && is_in_no_step(part)) {
            *in_no_step += strcmp(part->sum.kind, "unresolved") != 0; /* that is in no step ever */
            continue;
        }
        if (selected != NULL && !selected[part->row]) {
            if (depth <= outermost) outermost = -1;
            continue;
        }
        if (selected != NULL) {
            bool outside = outermost < 0 || depth <= outermost;
            if (outside) outermost = depth;
            shown = (shown_part){i, depth - outermost, outside};
        }
        if (!jm__vec_push(picks, shown)) return false;
    }
    return true;
}

/* ---- sorting siblings */

typedef struct sorter {
    const jm__fold *fold;
    const shown_part *picks;
    const size_t *parent;
    jm_sort sort;
} sorter;

static double weight_of(const jm__part *part, jm_sort sort)
{
    const jm_row *row = &part->sum;
    switch (sort) {
    case JM_SORT_SELF:
        return row->energy_self_j;
    case JM_SORT_TIME:
        return row->busy_s;
    case JM_SORT_CALLS:
        return (double)row->calls / (double)part->members; /* as the table shows them: calls of one member */
    case JM_SORT_USUAL:
    case JM_SORT_ENERGY:
    case JM_SORT_SHARE:
    case JM_SORT_NAME:
    case JM_SORT_COUNT:
        break;
    }
    return row->energy_j;
}

static int compare_parts(const jm__part *a, const jm__part *b, jm_sort sort)
{
    if (sort == JM_SORT_NAME) return strverscmp(a->name, b->name);
    return jm__largest_first(weight_of(a, sort), weight_of(b, sort));
}

static int by_parent(const void *left, const void *right, void *context)
{
    const sorter *s = context;
    size_t a = *(const size_t *)left, b = *(const size_t *)right;
    if (s->parent[a] != s->parent[b]) /* the top level first */
        return s->parent[a] + 1 < s->parent[b] + 1 ? -1 : 1;
    int order = compare_parts(&s->fold->parts.items[s->picks[a].part],
                              &s->fold->parts.items[s->picks[b].part], s->sort);
    return order != 0 ? order : (a > b) - (a < b);
}

#define NO_PARENT SIZE_MAX

/* Find each part's parent among the shown parts; NO_PARENT: top level. False if memory is out. */
static bool find_parents(size_t *parent, const shown_parts *picks)
{
    JM_VEC(size_t) ancestors = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < picks->count; i++) {
        while (ancestors.count > 0 &&
               picks->items[ancestors.items[ancestors.count - 1]].depth >= picks->items[i].depth)
            ancestors.count--;
        parent[i] = ancestors.count > 0 ? ancestors.items[ancestors.count - 1] : NO_PARENT;
        ok = jm__vec_push(&ancestors, i);
    }
    jm__vec_free(&ancestors);
    return ok;
}

static bool sort(shown_parts *picks, const jm__fold *fold, jm_sort by)
{
    size_t *parent = calloc(picks->count + 1, sizeof *parent);
    size_t *family = calloc(picks->count + 1, sizeof *family);
    size_t *order = calloc(picks->count + 1, sizeof *order);
    shown_parts sorted = {0};
    bool ok = parent != NULL && family != NULL && order != NULL && find_parents(parent, picks);
    sorter s = {fold, picks->items, parent, by};
    for (size_t i = 0; ok && i < picks->count; i++)
        family[i] = i;
    if (ok && picks->count > 0) qsort_r(family, picks->count, sizeof *family, by_parent, &s);
    ok = ok && jm__preorder(order, family, parent, picks->count) && jm__vec_reserve(&sorted, picks->count);
    for (size_t i = 0; ok && i < picks->count; i++)
        sorted.items[sorted.count++] = picks->items[order[i]];
    free(parent);
    free(family);
    free(order);
    jm__vec_free(picks);
    *picks = sorted;
    return ok;
}

/* ---- the cells of a row */

static void write_members(char out[JM_CELL], const jm__part *part)
{
    snprintf(out, JM_CELL, "%zu", part->members);
}

/* Calls of one member: equal layers have the same number of calls. */
static void write_calls(char out[JM_CELL], const jm__part *part)
{
    if (part->sum.calls == 0)
        snprintf(out, JM_CELL, "-"); /* idle time has no calls */
    else
        jm__format_count(out, llround((double)part->sum.calls / (double)part->members));
}

static void write_tokens(char out[JM_CELL], const jm__part *part)
{
    if (part->sum.tokens > 0)
        jm__format_count(out, part->sum.tokens);
    else
        snprintf(out, JM_CELL, "-");
}

/* In its own unit. */
static void write_own_energy(char out[JM_CELL], double energy_j)
{
    out[0] = '\0';
    if (!isfinite(energy_j)) return;
    const jm__energy_scale own = jm__energy_scale_for(energy_j);
    char value[JM_CELL];
    jm__format_scaled(value, energy_j, &own);
    snprintf(out, JM_CELL, "%.20s %s", value, own.unit);
}

static void write_per_token(char out[JM_CELL], const jm__part *part)
{
    write_own_energy(out, part->sum.tokens > 0 ? part->sum.energy_j / (double)part->sum.tokens : NAN);
}

static void write_per_call(char out[JM_CELL], const jm__part *part)
{
    write_own_energy(out, part->call_j);
}

static void write_time(char out[JM_CELL], const jm__part *part)
{
    jm__format_time(out, part->sum.busy_s > 0 ? part->sum.busy_s : NAN);
}

static void write_half(char out[JM_CELL], const jm__part *part)
{
    jm__format_half(out, part->sum.energy_j, part->sum.energy_low_j, part->sum.energy_high_j);
}

static void write_power(char out[JM_CELL], const jm__part *part)
{
    jm__format_power(out, part->sum.power_w);
}

static void write_share(char out[JM_CELL], const jm__part *part)
{
    jm__format_share(out, part->sum.share);
}

static void write_provenance(char out[JM_CELL], const jm__part *part)
{
    snprintf(out, JM_CELL, "%s", jm_provenance_text(part->sum.provenance));
}

static void write_each(char out[JM_CELL], const jm__part *part)
{
    jm__format_time(out, part->call_s);
}

static void write_percent(char out[JM_CELL], double share)
{
    if (isfinite(share))
        jm__print(out, JM_CELL, "%.0f %%", 100 * share);
    else
        out[0] = '\0'; /* an optimizer has no passes */
}

static void write_forward(char out[JM_CELL], const jm__part *part)
{
    write_percent(out, part->sum.forward_share);
}

static void write_backward(char out[JM_CELL], const jm__part *part)
{
    write_percent(out, part->sum.backward_share);
}

bool jm__row_is_pause(const jm_row *row)
{
    return strcmp(row->kind, "idle") == 0 || strcmp(row->kind, "gap") == 0;
}

const char *jm__row_place(const jm_row *row)
{
    static const double most = 0.5;
    return row->mostly_at != NULL && row->mostly_share >= most ? row->mostly_at : NULL;
}

bool jm__row_has_layer(const jm_row *row)
{
    const char *place = jm__row_place(row);
    return place != NULL && place[0] != '(';
}

static void add_place(jm__strbuf *out, const char *place, size_t columns)
{
    static const char back[] = " (backward)";
    jm__strbuf plain = {0};
    jm__utf8_add(&plain, place, true);
    bool is_back =
        plain.length >= sizeof back && strcmp(plain.text + plain.length - sizeof back + 1, back) == 0;
    if (is_back) plain.text[plain.length - sizeof back + 1] = '\0';
    const char *path = plain.text != NULL ? plain.text : "";
    while (jm__utf8_columns(path) > columns && strchr(path, '.') != NULL)
        path = strchr(path, '.') + 1;
    jm__utf8_add_head(out, path, columns);
    if (is_back) jm__strbuf_add(out, " bwd");
    out->failed = out->failed || plain.failed;
    jm__strbuf_free(&plain);
}

/* Write the row's place, "layer.*.ffn bwd", in at most `columns` columns without "bwd", and in at most `size`
 * bytes without splitting a character. The end of a path is kept, as it is more specific. False if memory is
 * out. */
static bool write_place(char *out, size_t size, const jm_row *row, size_t columns)
{
    bool fits = false, failed = false;
    out[0] = '\0';
    for (; !fits && !failed && columns > 0; columns--) { /* a character has up to four bytes */
        jm__strbuf text = {0};
        add_place(&text, jm__row_place(row), columns);
        failed = text.failed;
        fits = !failed && text.length < size;
        if (fits) memcpy(out, text.text, text.length + 1);
        jm__strbuf_free(&text);
    }
    return !failed;
}

/* "layer.*.ffn bwd 62 %" */
static bool write_dominant(char out[JM_CELL], const jm__part *part)
{
    enum { PATH = 22 };
    static const char widest[] = " 100 %";
    out[0] = '\0';
    if (jm__row_place(&part->sum) == NULL || jm__row_is_pause(&part->sum)) return true;
    if (!write_place(out, JM_CELL - sizeof widest + 1, &part->sum, PATH)) return false;
    size_t used = strlen(out);
    jm__print(out + used, JM_CELL - used, " %.0f %%", 100 * part->sum.mostly_share);
    return true;
}

typedef enum column_condition {
    ALWAYS,
    IF_SEVERAL,
    IF_BOTH_PASSES,
    IF_LAYER,
    IF_BY_KERNEL,
    IF_BY_REQUEST
} column_condition;

/* The columns after the name, in order. A new column is a line here and its function. */
static const struct {
    jm__table_column shape;
    void (*write)(char out[JM_CELL], const jm__part *part);
    column_condition condition;
    bool adds_up;   /* also shown for the sum of the rows left out */
    bool is_energy; /* its title is the table's energy unit */
    bool (*write_text)(char out[JM_CELL], const jm__part *part); /* instead of `write`; false: no memory */
} columns[] = {
    {.shape = {"x", false, 0}, write_members, IF_SEVERAL},
    {.shape = {"calls", false, 3}, write_calls, ALWAYS},
    {.shape = {"each", false, 0}, write_each, IF_BY_KERNEL},
    {.shape = {"time", false, 5}, write_time, ALWAYS},
    {.shape = {"energy", false, 0}, .adds_up = true, .is_energy = true},
    {.shape = {"\302\261", false, 0}, write_half, ALWAYS},
    {.shape = {"a call", false, 7}, write_per_call, IF_BY_KERNEL},
    {.shape = {"tokens", false, 0}, write_tokens, IF_BY_REQUEST},
    {.shape = {"a token", false, 0}, write_per_token, IF_BY_REQUEST},
    {.shape = {"power", false, 6}, write_power, ALWAYS},
    {.shape = {"share", false, 1}, write_share, ALWAYS, .adds_up = true},
    {.shape = {"fwd", false, 4}, write_forward, IF_BOTH_PASSES},
    {.shape = {"bwd", false, 4}, write_backward, IF_BOTH_PASSES},
    {.shape = {"mostly in", true, 4}, .write_text = write_dominant, .condition = IF_LAYER},
    {.shape = {"known", true, 2}, write_provenance, ALWAYS},
};
enum { COLUMNS = sizeof columns / sizeof *columns };
_Static_assert((int)COLUMNS <= (int)JM_TABLE_COLUMNS, "a table has room for its columns");

/* Rows of a single pass, as with `--by type`, are named so: shares of 0 and 100 % add nothing. */
static const double least_share = 0.005;

void jm__row_traits_add(jm__row_traits *traits, const jm__part *part)
{
    const jm_row *row = &part->sum;
    traits->several = traits->several || part->members > 1;
    bool in_both = row->backward_share > least_share && row->backward_share < 1 - least_share;
    traits->both_passes = traits->both_passes || in_both;
    traits->has_layer = traits->has_layer || (jm__row_has_layer(row) && !jm__row_is_pause(row));
}

static bool is_shown(const jm__row_traits *traits, size_t column)
{
    switch (columns[column].condition) {
    case IF_SEVERAL:
        return traits->several;
    case IF_BOTH_PASSES:
        return traits->both_passes && !traits->by_kernel;
    case IF_LAYER:
        return traits->has_layer;
    case IF_BY_KERNEL:
        return traits->by_kernel;
    case IF_BY_REQUEST:
        return traits->by_request;
    case ALWAYS:
        break;
    }
    return true;
}

/* Set up the table's columns. `unit`: title of the energy column. */
static void set_up_shown_columns(jm__table *table, const jm__row_traits *traits, const char *unit)
{
    for (size_t c = 0; c < COLUMNS; c++) {
        if (!is_shown(traits, c)) continue;
        jm__table_column *column = &table->columns[table->column_count++];
        *column = columns[c].shape;
        if (columns[c].is_energy) snprintf(column->title, sizeof column->title, "%s", unit);
    }
}

bool jm__row_cells(char cells[][JM_CELL], const jm__row_traits *traits, const jm__part *part,
                   const jm__energy_scale *scale, bool sums_only)
{
    size_t written = 0;
    for (size_t c = 0; c < COLUMNS; c++) {
        if (!is_shown(traits, c)) continue;
        char *cell = cells[written++];
        if (sums_only && !columns[c].adds_up) continue;
        if (columns[c].is_energy)
            jm__format_scaled(cell, part->sum.energy_j, scale);
        else if (columns[c].write_text == NULL)
            columns[c].write(cell, part);
        else if (!columns[c].write_text(cell, part))
            return false;
    }
    return true;
}

/* ---- which rows are shown */

typedef struct view {
    const jm_report *report;
    const jm_text_options *options;
    jm__fold fold;
    shown_parts picks;
    jm__energy_scale scale;
    jm__row_traits traits;
    bool per_step;     /* figures of a steady step, not of the run */
    size_t in_no_step; /* rows left out, as they have no time in such a step */
    double most_w;     /* of the rows that are shown */
} view;

/* A top-level row with less than this share of the total is ranked with the inner rows. */
static const double top_share = 1e-3;
static const double equal_within = 1.02;

typedef struct ranked {
    bool top;
    double energy_j;
    size_t shown;
} ranked;

static int by_weight(const void *left, const void *right)
{
    const ranked *a = left, *b = right;
    if (a->top != b->top) return a->top ? -1 : 1;
    if (a->energy_j != b->energy_j) return a->energy_j > b->energy_j ? -1 : 1;
    return a->shown < b->shown ? -1 : 1; /* a parent before its only child with the same energy */
}

/* If a limit showed eight of twelve equal layers, they would look different. So rows equal to the first one
 * left out are left out too, unless they are many. */
static size_t keep_equals_together(const ranked *order, size_t count, size_t limit)
{
    size_t end = limit;
    while (end > 0 && end < count && !order[end - 1].top &&
           order[end - 1].energy_j < equal_within * order[limit].energy_j)
        end--;
    return limit - end <= limit / 4 ? end : limit;
}

static const jm__part *part_of(const view *v, size_t shown)
{
    return &v->fold.parts.items[v->picks.items[shown].part];
}

/* Choose `limit` rows: important top-level rows, then those with the most energy. A parent has at least the
 * energy of each child, so it is shown if they are. */
static bool *choose_rows(const view *v)
{
    size_t count = v->picks.count, limit = v->options->limit, deep = 0;
    bool *chosen = calloc(count + 1, sizeof *chosen);
    ranked *order = calloc(count + 1, sizeof *order);
    bool ok = chosen != NULL && order != NULL;
    for (size_t i = 0; ok && i < count; i++) {
        const jm_row *row = &part_of(v, i)->sum;
        int32_t depth = v->picks.items[i].depth;
        if (v->options->depth > 0 && (uint64_t)depth >= v->options->depth) continue;
        bool small = row->share < top_share; /* false for unknown shares */
        double energy_j = isfinite(row->energy_j) ? row->energy_j : -INFINITY;
        order[deep++] = (ranked){depth == 0 && !small, energy_j, i};
    }
    jm__sort(order, deep, sizeof *order, by_weight);
    size_t end = limit == 0 || limit > deep ? deep : keep_equals_together(order, deep, limit);
    for (size_t i = 0; i < end; i++)
        chosen[order[i].shown] = true;
    free(order);
    if (ok) return chosen;
    free(chosen);
    return NULL;
}

/* Whether each path of the report has several rows, as the id of a map of texts. */
static bool find_shared_paths(jm__map *shared, const jm_report *report)
{
    for (size_t i = 0; i < jm_report_row_count(report); i++) {
        const char *path = jm_report_row(report, i)->path;
        int64_t again = jm__map_find(shared, &path) != NULL;
        if (!jm__map_put(shared, &path, (jm__map_value){.id = again})) return false;
    }
    return true;
}

/* Whether the row's kind must be shown, because another row has the same path and a different kind. Not for
 * self-explaining names such as "(idle)". */
static bool needs_kind(const jm__map *shared, const jm_row *row, bool by_span)
{
    return row->name[0] != '(' && (by_span || jm__map_find(shared, &row->path)->id != 0);
}

/* The layer after a gap: "host late, < 1 ms, before layer.*". */
static bool write_next_layer(char *out, size_t size, const jm_row *row)
{
    enum { PATH = 12 };
    static const char before[] = ", before ";
    out[0] = '\0';
    if (!jm__row_has_layer(row)) return true;
    snprintf(out, size, "%s", before);
    return write_place(out + sizeof before - 1, size - sizeof before + 1, row, PATH);
}

/* A part that is shown without its ancestors needs its whole path. */
static void add_name(jm__strbuf *name, const view *v, const jm__part *part, const shown_part *shown,
                     jm__table_line *line)
{
    jm__strbuf path = {0};
    if (shown->selected && !v->traits.by_kernel)
        jm__part_path_add(&path, v->report, &v->fold, part);
    else if (v->options->width > 0 &&
             jm__row_short_name_add(&path, &part->sum, jm_report_options_get(v->report)->by))
        line->is_short = true;
    else
        jm__strbuf_add(&path, part->name);
    line->is_cpp = !line->is_short && jm__is_cpp_name(part->name);
    if (path.text != NULL) jm__utf8_add(name, path.text, true);
    name->failed = name->failed || path.failed;
    jm__strbuf_free(&path);
}

static bool add_line(jm__table *table, const view *v, const shown_part *shown, bool show_kind)
{
    const jm__part *part = &v->fold.parts.items[shown->part];
    const jm_row *row = &part->sum;
    jm__table_line line = {.depth = shown->depth, .number = part->row + 1};
    jm__strbuf name = {0};
    add_name(&name, v, part, shown, &line);
    bool ok = strcmp(row->kind, "gap") != 0 || write_next_layer(line.hint, sizeof line.hint, row);
    line.faint = row->provenance >= JM_PROVENANCE_WEAK;
    if (show_kind) snprintf(line.suffix, sizeof line.suffix, " (%s)", row->kind);
    ok = jm__row_cells(line.cells, &v->traits, part, &v->scale, false) && ok;
    return jm__table_push(table, line, &name) && ok;
}

/* Of a step, or of the run. */
static double total_j(const view *v)
{
    const jm_report_totals *totals = jm_report_totals_get(v->report);
    return v->per_step ? totals->steady_step_j : totals->total_energy_j;
}

/* Rows of other steps, or of none. */
static bool add_in_no_step(jm__table *table, const view *v)
{
    jm__table_line line = {0};
    jm__strbuf name = {0};
    if (v->in_no_step == 0) return true;
    jm__strbuf_format(&name, "%zu row%s in no such step", v->in_no_step, v->in_no_step == 1 ? "" : "s");
    return jm__table_push(table, line, &name);
}

/* Add a line with the sum of the rows left out. Rows inside a shown row, or inside another one left out, are
 * not counted again. */
static bool add_rest(jm__table *table, const view *v, const bool *chosen)
{
    size_t hidden = 0;
    double energy_j = 0;
    for (size_t i = 0; i < v->picks.count; i++) {
        const jm_row *row = &part_of(v, i)->sum;
        if (chosen[i]) continue;
        hidden++;
        if (v->picks.items[i].depth == 0 && isfinite(row->energy_j)) energy_j += row->energy_j;
    }
    if (hidden == 0) return true;
    jm__table_line line = {0};
    jm__strbuf name = {0};
    bool inside = energy_j == 0, ok = true;
    jm__strbuf_format(&name, "%zu more row%s", hidden, hidden == 1 ? "" : "s");
    snprintf(line.hint, sizeof line.hint, inside ? ", in these" : ", beyond these");
    if (!inside) {
        const jm__part rest = {.members = 1, .sum = {.energy_j = energy_j, .share = energy_j / total_j(v)}};
        ok = jm__row_cells(line.cells, &v->traits, &rest, &v->scale, true);
    }
    return jm__table_push(table, line, &name) && ok;
}

static jm_status fill_chosen(jm__table *table, view *v, const bool *chosen, const jm__map *shared,
                             jm_error *err)
{
    bool by_span = jm_report_options_get(v->report)->by == JM_BY_SPAN;
    for (size_t i = 0; i < v->picks.count; i++) {
        const shown_part *shown = &v->picks.items[i];
        jm__part *part = &v->fold.parts.items[shown->part];
        if (!chosen[i]) continue;
        JM_TRY(jm__fold_interval(&v->fold, v->report, part, err));
        if (v->per_step) {
            part->sum.energy_low_j = part->sum.step_low_j;
            part->sum.energy_high_j = part->sum.step_high_j;
        }
        if (part->sum.power_w > v->most_w) v->most_w = part->sum.power_w;
        if (!add_line(table, v, shown, needs_kind(shared, &part->sum, by_span)))
            return jm__no_memory(err, "jm_report_text");
    }
    return add_rest(table, v, chosen) && add_in_no_step(table, v) ? JM_OK
                                                                  : jm__no_memory(err, "jm_report_text");
}

static jm_status fill_table(jm__table *table, view *v, jm_error *err)
{
    bool *chosen = choose_rows(v);
    jm__map shared = JM_MAP_OF_TEXTS;
    bool fine = chosen != NULL && find_shared_paths(&shared, v->report);
    jm_status status =
        fine ? fill_chosen(table, v, chosen, &shared, err) : jm__no_memory(err, "jm_report_text");
    free(chosen);
    jm__map_free(&shared);
    return status;
}

/* Each span or request is one: it has its own joules. A step is of one phase, so phases are those of the run,
 * unless one is asked for. */
static bool is_per_step(const view *v)
{
    const jm_report_options *options = jm_report_options_get(v->report);
    jm_by by = options->by;
    return jm__has_steps(jm_report_totals_get(v->report)) && !v->options->total && by != JM_BY_SPAN &&
           by != JM_BY_REQUEST && (by != JM_BY_PHASE || options->phase != NULL);
}

/* Replaces the figures of the run by those of a steady step. */
static void use_step(jm__part *part, double step_j)
{
    jm_row *sum = &part->sum;
    sum->energy_j = sum->step_j;
    sum->energy_low_j = sum->step_low_j;
    sum->energy_high_j = sum->step_high_j;
    sum->busy_s = sum->step_s;
    sum->power_w = sum->step_s > 0 ? sum->step_j / sum->step_s : NAN;
    sum->share = sum->step_j / step_j;
}

/* One unit for all energies of the table. */
static void set_up_columns(jm__table *table, view *v)
{
    double largest_j = 0;
    for (size_t i = 0; i < v->picks.count; i++) {
        const jm__part *part = part_of(v, i);
        if (isfinite(part->sum.energy_j)) largest_j = fmax(largest_j, fabs(part->sum.energy_j));
        jm__row_traits_add(&v->traits, part);
    }
    v->scale = jm__energy_scale_for(largest_j);
    char unit[24];
    snprintf(unit, sizeof unit, "%s%s", v->scale.unit, v->per_step ? "/step" : "");
    set_up_shown_columns(table, &v->traits, unit);
}

/* Fill an empty table, which the caller frees, also after an error. `most_w`: the largest power in it. */
static jm_status rows_table(jm__table *table, double *most_w, const jm_report *report,
                            const jm_text_options *options, jm_error *err)
{
    view v = {.report = report, .options = options};
    v.traits.by_kernel = jm__is_by_kernel(jm_report_options_get(report)->by);
    v.traits.by_request = jm_report_options_get(report)->by == JM_BY_REQUEST;
    *table = (jm__table){.title = jm_by_text(jm_report_options_get(report)->by), .colour = options->colour};
    bool *selected;
    JM_TRY(find_selected(&selected, report, options, err));
    jm_status status = jm__fold_make(&v.fold, report, options->expand, selected, err);
    v.per_step = is_per_step(&v);
    for (size_t i = 0; v.per_step && i < v.fold.parts.count; i++)
        use_step(&v.fold.parts.items[i], total_j(&v));
    bool listed = status == JM_OK &&
                  list_parts(&v.picks, &v.fold, selected, v.per_step ? &v.in_no_step : NULL) &&
                  (options->sort == JM_SORT_USUAL || sort(&v.picks, &v.fold, options->sort));
    if (status == JM_OK && !listed) status = jm__no_memory(err, "jm_report_text");
    if (listed) {
        set_up_columns(table, &v);
        status = fill_table(table, &v, err);
    }
    *most_w = v.most_w;
    free(selected);
    jm__vec_free(&v.picks);
    jm__fold_free(&v.fold);
    return status;
}

/* ---- the parts of the run */

static bool add_stage(jm__table *table, const jm_stage *stage, const jm__energy_scale *scale, double total_j)
{
    jm__table_line line = {0};
    jm__strbuf name = {0};
    jm__strbuf_add(&name, stage->name);
    if (stage->steps > 0) jm__strbuf_format(&name, " (%lld)", (long long)stage->steps);
    if (isfinite(stage->seconds)) jm__format_time(line.cells[0], stage->seconds);
    jm__format_scaled(line.cells[1], stage->energy_j, scale);
    jm__format_share(line.cells[2], stage->energy_j / total_j);
    return jm__table_push(table, line, &name);
}

/* What the steady steps and the rest of the run took: all adds up to the total. */
static jm_status add_stages(jm__strbuf *out, const jm_report *report, size_t width, jm_error *err)
{
    const jm_report_totals *totals = jm_report_totals_get(report);
    jm__table table = {.title = "of the run",
                       .columns = {{.title = "time"}, {.title = ""}, {.title = "share"}}};
    const jm__energy_scale scale = jm__energy_scale_for(totals->total_energy_j);
    bool fine = true;
    table.column_count = 3;
    snprintf(table.columns[1].title, sizeof table.columns[1].title, "%s", scale.unit);
    for (size_t i = 0; fine && i < jm_report_stage_count(report); i++)
        fine = add_stage(&table, jm_report_stage(report, i), &scale, totals->total_energy_j);
    if (fine) jm__table_print(out, &table, width);
    jm__table_free(&table);
    jm__strbuf_add(out, "\n");
    return fine ? JM_OK : jm__no_memory(err, "jm_report_text");
}

/* ---- the whole text */

/* Format a part of the total; a negligible one is shown as 0. */
static void format_part(char out[JM_CELL], double energy_j, const jm_report_totals *totals)
{
    bool tiny = fabs(energy_j) < 1e-4 * totals->total_energy_j;
    jm__format_energy(out, tiny ? 0 : energy_j, NAN, NAN);
}

static void add_fit(jm__strbuf *out, const jm_report_totals *totals, size_t width)
{
    char text[320], idle[JM_CELL], outside[JM_CELL], unresolved[JM_CELL];
    format_part(idle, totals->idle_energy_j, totals);
    format_part(outside, totals->outside_energy_j, totals);
    format_part(unresolved, totals->unresolved_energy_j, totals);
    snprintf(text, sizeof text, "idle %s, outside %s, unresolved %s", idle, outside, unresolved);
    jm__head_add_fact(out, "of it", text, width);

    if (isfinite(totals->residual_w)) {
        int used = jm__print(text, sizeof text, "root mean square residual %.1f W over %lld readings",
                             totals->residual_w, (long long)totals->readings);
        if (isfinite(totals->chi2_n))
            jm__print(text + used, sizeof text - (size_t)used, ", chi2/n %.2f", totals->chi2_n);
    } else {
        snprintf(text, sizeof text, "none; %lld readings", (long long)totals->readings);
    }
    jm__head_add_fact(out, "fit", text, width);

    if (isfinite(totals->closure)) {
        int used = jm__print(text, sizeof text, "the fit by itself comes to %.2f %% %s than the total",
                             fabs(totals->closure) * 100, totals->closure < 0 ? "less" : "more");
        if (isfinite(totals->closure_z))
            jm__print(text + used, sizeof text - (size_t)used, " (%.1f standard uncertainties)",
                      fabs(totals->closure_z));
    } else {
        snprintf(text, sizeof text, "-, there is no second total to compare with");
    }
    jm__head_add_fact(out, "closure", text, width);
}

/* Add all notes, or only the essential ones and the number of the others. */
static void add_notes(jm__strbuf *out, const jm_report *report, const jm_text_options *options, size_t width)
{
    size_t left_out = 0;
    for (size_t i = 0; i < jm_report_note_count(report); i++) {
        if (options->notes || jm_report_note_is_essential(report, i))
            jm__head_add_fact(out, "note", jm_report_note(report, i), width);
        else
            left_out++;
    }
    if (left_out == 0) return;
    jm__strbuf more = {0};
    jm__strbuf_format(&more, "%zu more note%s, and how the fit went%s%s", left_out, left_out == 1 ? "" : "s",
                      options->ask_for_notes != NULL ? ": " : " are left out",
                      options->ask_for_notes != NULL ? options->ask_for_notes : "");
    jm__wrap_take(out, "", 0, &more, width);
}

/* A row selected by its number is shown with its full name. */
static void add_whole_name(jm__strbuf *out, const jm_report *report, uint64_t number, size_t width)
{
    const jm_row *row = number > 0 ? jm_report_row(report, (size_t)number - 1) : NULL;
    if (row == NULL) return;
    jm__strbuf_add(out, "\n");
    jm__wrap(out, "", 0, row->name, width);
}

static jm_status add_head(jm__strbuf *out, const jm_report *report, const jm_text_options *options,
                          jm_error *err)
{
    char title[40];
    snprintf(title, sizeof title, "Energy by %s", jm_by_text(jm_report_options_get(report)->by));
    return jm__head_add(out, title, report, options->colour,
                        (size_t)(options->width > 0 ? options->width : 0), err);
}

/* Add sentences on waiting time that is part of the rows above. */
static jm_status add_waits(jm__strbuf *out, const jm_report *report, size_t width, jm_error *err)
{
    jm__facts waits = {0};
    jm_status status = jm__waits_add(&waits, report, err);
    for (size_t i = 0; status == JM_OK && i < waits.count; i++)
        jm__head_add_fact(out, waits.items[i].name, waits.items[i].text, width);
    jm__facts_free(&waits);
    return status;
}

/* Powers above the GPU's limit stand there with their reason. `head`: of the table that was printed. */
static void add_over_limit(jm__strbuf *out, const jm_report *report, double most_w, const char *head,
                           size_t width)
{
    double limit_w = jm_report_quality_get(report)->power_limit_w;
    const char *title = head != NULL ? strstr(head, " power ") : NULL,
               *end = strchr(head != NULL ? head : "", '\n');
    char limit[JM_CELL];
    if (!(limit_w > 0 && most_w > 1.02 * limit_w) || title == NULL || title > end)
        return; /* or the column is left out */
    jm__format_power(limit, limit_w);
    jm__strbuf text = {0};
    jm__strbuf_format(&text, "More watts than the limit, %s: a GPU holds it in the mean, not in each kernel.",
                      limit);
    jm__wrap_take(out, "", 0, &text, width);
}

static jm_status write_text(jm__strbuf *out, const jm_report *report, const jm_text_options *options,
                            const jm__table *table, double most_w, jm_error *err)
{
    size_t width = options->width > 0 ? (size_t)options->width : 0, head = out->length;
    jm__table_print(out, table, width);
    if (!out->failed) add_over_limit(out, report, most_w, out->text + head, width);
    add_whole_name(out, report, options->row, width);
    jm__strbuf_add(out, "\n");
    if (jm_report_stage_count(report) > 0 && !options->total && options->match == NULL && options->row == 0)
        JM_TRY(add_stages(out, report, width, err));
    JM_TRY(add_waits(out, report, width, err));
    if (options->notes) add_fit(out, jm_report_totals_get(report), width);
    add_notes(out, report, options, width);
    jm__wrap(out, "", 0, "\302\261 is half of the 95 % interval, relative to the GPU's own sensor.", width);
    return JM_OK;
}

jm_status jm_report_text(const jm_report *report, const jm_text_options *options, char **out, jm_error *err)
{
    jm_text_options selected;
    *out = NULL;
    JM_TRY(jm__options_copy(&selected, sizeof selected, options, "jm_report_text", err));
    jm__table table;
    jm__strbuf text = {0};
    double most_w = 0;
    jm_status status = rows_table(&table, &most_w, report, &selected, err);
    if (status == JM_OK) status = add_head(&text, report, &selected, err);
    if (status == JM_OK) status = write_text(&text, report, &selected, &table, most_w, err);
    jm__table_free(&table);
    return jm__hand_over(out, &text, status, "jm_report_text", err);
}
