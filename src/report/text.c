/* The report as a table that a stranger can read: which rows, in what order, what of each. */
#include "report/text.h"

#include "base/options.h"
#include "base/order.h"
#include "base/plain.h"
#include "base/search.h"
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

typedef struct picked {
    size_t part;   /* of the fold's */
    int32_t depth; /* in the table */
    bool queried;  /* it was asked for itself, and not because of what it is in */
} picked;

typedef JM_VEC(picked) picked_parts;

static bool ends_in(const char *path, const char *end)
{
    size_t length = strlen(path), requested = strlen(end);
    return length > requested && path[length - requested - 1] == '.' &&
           strcmp(path + length - requested, end) == 0;
}

static bool matches(const jm_row *row, const char *pattern, jm_by by)
{
    bool of_kernels = by == JM_BY_KERNEL && strcmp(row->kind, "gap") != 0;
    if (fnmatch(pattern, row->path, FNM_NOESCAPE) == 0) return true;
    if (of_kernels && fnmatch(pattern, row->name, FNM_NOESCAPE) == 0) return true;
    if (strpbrk(pattern, "*?[") != NULL) return false;
    return ends_in(row->path, pattern) || (of_kernels && strcasestr(row->name, pattern) != NULL);
}

static jm_status nothing_matches(const jm_report *report, const char *pattern, const char *operation,
                                 jm_error *err)
{
    size_t count = jm_report_row_count(report), inner = 0; /* which shows how paths are written */
    for (size_t i = 0; i < count; i++) {
        const jm_row *row = jm_report_row(report, i);
        if (row->path[0] != '(' && row->depth > jm_report_row(report, inner)->depth) inner = i;
    }
    return jm__fail(err, JM_USAGE, 0, operation, "no row's path matches \"%s\"; paths are such as \"%s\"",
                    pattern, count > 0 ? jm_report_row(report, inner)->path : "");
}

/* The rows that the pattern matches, which the caller frees. USAGE: none does; the words show what a path is
 * like. `operation`: who asks. */
static jm_status rows_match(size_t **rows, size_t *count, const jm_report *report, const char *pattern,
                            const char *operation, jm_error *err)
{
    size_t total = jm_report_row_count(report);
    jm_by by = jm_report_options_get(report)->by;
    *count = 0;
    *rows = malloc((total + 1) * sizeof **rows);
    if (*rows == NULL) return jm__no_memory(err, operation);
    for (size_t i = 0; i < total; i++)
        if (matches(jm_report_row(report, i), pattern, by)) (*rows)[(*count)++] = i;
    if (*count > 0) return JM_OK;
    free(*rows);
    *rows = NULL;
    return nothing_matches(report, pattern, operation, err);
}

/* ---- one figure for all rows that a pattern matches ---- */

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

/* ---- choosing by pattern or number, and sorting siblings ---- */

#define NO_PICK SIZE_MAX

/* ---- what was asked for ---- */

/* Of each row whether it, or what it is in, was asked for, which the caller frees; NULL if all are. USAGE:
 * nothing is what was asked for. */
static jm_status queried_find(bool **queried, const jm_report *report, const jm_text_options *options,
                              jm_error *err)
{
    size_t rows = jm_report_row_count(report), count = 1, number = (size_t)options->row - 1;
    size_t *matching = NULL;
    *queried = NULL;
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
    *queried = found;
    return found != NULL ? JM_OK : jm__no_memory(err, "jm_report_text");
}

static bool take(picked_parts *picks, const jm__fold *fold, const bool *queried)
{
    int32_t outermost = -1; /* depth of the part asked for that this one is in; -1: none */
    for (size_t i = 0; i < fold->parts.count; i++) {
        const jm__part *part = &fold->parts.items[i];
        int32_t depth = part->sum.depth;
        picked pick = {.part = i, .depth = depth};
        if (queried != NULL && !queried[part->row]) {
            if (depth <= outermost) outermost = -1;
            continue;
        }
        if (queried != NULL) {
            bool outside = outermost < 0 || depth <= outermost;
            if (outside) outermost = depth;
            pick = (picked){i, depth - outermost, outside};
        }
        if (!jm__vec_push(picks, pick)) return false;
    }
    return true;
}

/* ---- their order ---- */

typedef struct sorter {
    const jm__fold *fold;
    const picked *picks;
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
        return (double)row->calls / (double)part->members; /* as a table tells them */
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

static int by_family(const void *left, const void *right, void *context)
{
    const sorter *s = context;
    size_t a = *(const size_t *)left, b = *(const size_t *)right;
    if (s->parent[a] != s->parent[b]) /* the top first */
        return s->parent[a] + 1 < s->parent[b] + 1 ? -1 : 1;
    int order = compare_parts(&s->fold->parts.items[s->picks[a].part],
                              &s->fold->parts.items[s->picks[b].part], s->sort);
    return order != 0 ? order : (a > b) - (a < b);
}

/* The pick that each lies in. False if memory is out. */
static bool find_parents(size_t *parent, const picked_parts *picks)
{
    JM_VEC(size_t) around = {0};
    bool fine = true;
    for (size_t i = 0; fine && i < picks->count; i++) {
        while (around.count > 0 &&
               picks->items[around.items[around.count - 1]].depth >= picks->items[i].depth)
            around.count--;
        parent[i] = around.count > 0 ? around.items[around.count - 1] : NO_PICK;
        fine = jm__vec_push(&around, i);
    }
    jm__vec_free(&around);
    return fine;
}

/* Pre-order from families that lie together, each from the first of its parent on. */
static bool list(picked_parts *sorted, const picked_parts *picks, const size_t *family, const size_t *parent)
{
    size_t count = picks->count;
    size_t *first = malloc((count + 1) * sizeof *first); /* [0]: of the top, [p + 1]: in p */
    JM_VEC(size_t) next = {0};                           /* places in `family`, the next one last */
    bool fine = first != NULL && jm__vec_reserve(sorted, count);
    for (size_t i = 0; fine && i <= count; i++)
        first[i] = count;
    for (size_t i = count; fine && i-- > 0;)
        first[parent[family[i]] + 1] = i;
    fine = fine && (count == 0 || jm__vec_push(&next, 0));
    while (fine && next.count > 0) {
        size_t at = next.items[--next.count], mine = family[at];
        sorted->items[sorted->count++] = picks->items[mine];
        if (at + 1 < count && parent[family[at + 1]] == parent[mine]) fine = jm__vec_push(&next, at + 1);
        if (fine && first[mine + 1] < count) fine = jm__vec_push(&next, first[mine + 1]);
    }
    free(first);
    jm__vec_free(&next);
    return fine;
}

static bool sort(picked_parts *picks, const jm__fold *fold, jm_sort by)
{
    size_t *parent = calloc(picks->count + 1, sizeof *parent);
    size_t *family = calloc(picks->count + 1, sizeof *family);
    picked_parts sorted = {0};
    bool fine = parent != NULL && family != NULL && find_parents(parent, picks);
    sorter s = {fold, picks->items, parent, by};
    for (size_t i = 0; fine && i < picks->count; i++)
        family[i] = i;
    if (fine && picks->count > 0) qsort_r(family, picks->count, sizeof *family, by_family, &s);
    fine = fine && list(&sorted, picks, family, parent);
    free(parent);
    free(family);
    if (!fine) {
        jm__vec_free(&sorted);
        return false;
    }
    jm__vec_free(picks);
    *picks = sorted;
    return true;
}

/* The parts asked for, of a fold that was made with `queried`: parents before their children, siblings as
 * they are to be sorted. */
static jm_status picks_make(picked_parts *picks, const jm__fold *fold, const bool *queried, jm_sort order,
                            jm_error *err)
{
    bool fine = take(picks, fold, queried);
    if (fine && order != JM_SORT_USUAL) fine = sort(picks, fold, order);
    return fine ? JM_OK : jm__no_memory(err, "jm_report_text");
}

/* ---- the cells of a table of rows ---- */

static void write_members(char out[JM_CELL], const jm__part *part)
{
    snprintf(out, JM_CELL, "%zu", part->members);
}

/* Of one member: equal layers are called equally often. */
static void write_calls(char out[JM_CELL], const jm__part *part)
{
    if (part->sum.calls == 0)
        snprintf(out, JM_CELL, "-"); /* idle time is not called */
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

/* Of so many, in a unit of its own. */
static void write_energy_of_one(char out[JM_CELL], const jm__part *part, int64_t count)
{
    out[0] = '\0';
    if (count <= 0 || !isfinite(part->sum.energy_j)) return;
    double energy_j = part->sum.energy_j / (double)count;
    const jm__energy_scale own = jm__energy_scale_for(energy_j);
    char value[JM_CELL];
    jm__format_scaled(value, energy_j, &own);
    snprintf(out, JM_CELL, "%.20s %s", value, own.unit);
}

static void write_per_token(char out[JM_CELL], const jm__part *part)
{
    write_energy_of_one(out, part, part->sum.tokens);
}

static void write_per_call(char out[JM_CELL], const jm__part *part)
{
    write_energy_of_one(out, part, part->sum.calls);
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

static void write_known(char out[JM_CELL], const jm__part *part)
{
    snprintf(out, JM_CELL, "%s", jm_provenance_text(part->sum.provenance));
}

static void write_each(char out[JM_CELL], const jm__part *part)
{
    jm__format_time(out, part->sum.calls > 0 ? part->sum.busy_s / (double)part->sum.calls : NAN);
}

static void write_percent(char out[JM_CELL], double share)
{
    if (isfinite(share))
        jm__print(out, JM_CELL, "%.0f %%", 100 * share);
    else
        out[0] = '\0'; /* nothing to say: an optimizer has no passes */
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

/* Write the row's place in at most so many columns beside "bwd", and as many whole characters as have room:
 * "layer.*.ffn bwd". The end of a path says more than its beginning. False if memory is out. */
static bool write_place(char *out, size_t size, const jm_row *row, size_t columns)
{
    bool fits = false, failed = false;
    out[0] = '\0';
    for (; !fits && !failed && columns > 0; columns--) { /* a character takes up to four bytes */
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

typedef enum when {
    ALWAYS,
    SOME_ARE_SEVERAL,
    SOME_GO_BOTH_WAYS,
    SOME_ARE_SOMEWHERE,
    BY_KERNEL,
    BY_REQUEST
} when;

/* The columns after the name, in order: a new one is a line here and its function. */
static const struct {
    jm__table_column shape;
    void (*write)(char out[JM_CELL], const jm__part *part);
    when when;
    bool adds_up;   /* can be said of several rows together */
    bool is_energy; /* its title is the unit: of the table, as its figures */
    bool (*write_text)(char out[JM_CELL], const jm__part *part); /* in place of `write`; false: no memory */
} columns[] = {
    {.shape = {"x", false, 0}, write_members, SOME_ARE_SEVERAL},
    {.shape = {"calls", false, 3}, write_calls, ALWAYS},
    {.shape = {"each", false, 0}, write_each, BY_KERNEL},
    {.shape = {"time", false, 5}, write_time, ALWAYS},
    {.shape = {"energy", false, 0}, .adds_up = true, .is_energy = true},
    {.shape = {"\302\261", false, 0}, write_half, ALWAYS},
    {.shape = {"a call", false, 7}, write_per_call, BY_KERNEL},
    {.shape = {"tokens", false, 0}, write_tokens, BY_REQUEST},
    {.shape = {"a token", false, 0}, write_per_token, BY_REQUEST},
    {.shape = {"power", false, 6}, write_power, ALWAYS},
    {.shape = {"share", false, 1}, write_share, ALWAYS, .adds_up = true},
    {.shape = {"fwd", false, 4}, write_forward, SOME_GO_BOTH_WAYS},
    {.shape = {"bwd", false, 4}, write_backward, SOME_GO_BOTH_WAYS},
    {.shape = {"mostly in", true, 4}, .write_text = write_dominant, .when = SOME_ARE_SOMEWHERE},
    {.shape = {"known", true, 2}, write_known, ALWAYS},
};
enum { COLUMNS = sizeof columns / sizeof *columns };
_Static_assert((int)COLUMNS <= (int)JM_TABLE_COLUMNS, "a table has room for its columns");

/* Rows of one pass alone, as of `--by type`, have its name: shares of 0 and 100 % say nothing beside it. */
static const double least_share = 0.005;

void jm__row_traits_see(jm__row_traits *traits, const jm__part *part)
{
    const jm_row *row = &part->sum;
    traits->several = traits->several || part->members > 1;
    bool both = row->backward_share > least_share && row->backward_share < 1 - least_share;
    traits->goes_both_ways = traits->goes_both_ways || both;
    traits->somewhere = traits->somewhere || (jm__row_has_layer(row) && !jm__row_is_pause(row));
}

static bool is_shown(const jm__row_traits *traits, size_t column)
{
    switch (columns[column].when) {
    case SOME_ARE_SEVERAL:
        return traits->several;
    case SOME_GO_BOTH_WAYS:
        return traits->goes_both_ways && !traits->by_kernel;
    case SOME_ARE_SOMEWHERE:
        return traits->somewhere;
    case BY_KERNEL:
        return traits->by_kernel;
    case BY_REQUEST:
        return traits->by_request;
    case ALWAYS:
        break;
    }
    return true;
}

/* Set up the table's columns; `unit`: the title of that of energies. */
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
                   const jm__energy_scale *scale, bool sums_alone)
{
    size_t written = 0;
    for (size_t c = 0; c < COLUMNS; c++) {
        if (!is_shown(traits, c)) continue;
        char *cell = cells[written++];
        if (sums_alone && !columns[c].adds_up) continue;
        if (columns[c].is_energy)
            jm__format_scaled(cell, part->sum.energy_j, scale);
        else if (columns[c].write_text == NULL)
            columns[c].write(cell, part);
        else if (!columns[c].write_text(cell, part))
            return false;
    }
    return true;
}

/* ---- which rows of a report are shown, and what is said of each ---- */

/* What is shown, and how. */
typedef struct view {
    const jm_report *report;
    const jm_text_options *options;
    jm__fold fold;
    picked_parts picks;
    jm__energy_scale scale;
    jm__row_traits traits;
} view;

/* A row at the top with less than this of the total stands back behind the inner rows that take more. */
static const double top_share = 1e-3;
static const double equal_within = 1.02;

typedef struct ranked {
    bool top;
    double energy_j;
    size_t pick;
} ranked;

static int by_weight(const void *left, const void *right)
{
    const ranked *a = left, *b = right;
    if (a->top != b->top) return a->top ? -1 : 1;
    if (a->energy_j != b->energy_j) return a->energy_j > b->energy_j ? -1 : 1;
    return a->pick < b->pick ? -1 : 1; /* a parent before the only child that has all of its energy */
}

/* Twelve equal layers of which the limit takes eight look like a difference: rows equal to the first one left
 * out are left out too, unless they are many. */
static size_t keep_equals_together(const ranked *order, size_t count, size_t limit)
{
    size_t end = limit;
    while (end > 0 && end < count && !order[end - 1].top &&
           order[end - 1].energy_j < equal_within * order[limit].energy_j)
        end--;
    return limit - end <= limit / 4 ? end : limit;
}

static const jm__part *part_of(const view *v, size_t pick)
{
    return &v->fold.parts.items[v->picks.items[pick].part];
}

/* Which picks are shown: what stands at the top and matters, then those that took most, `limit` in all. A
 * parent has at least the energy of each of its children, so it is there if they are. */
static bool *choose_rows(const view *v)
{
    size_t count = v->picks.count, limit = v->options->limit, deep = 0;
    bool *chosen = calloc(count + 1, sizeof *chosen);
    ranked *order = calloc(count + 1, sizeof *order);
    if (chosen != NULL && order != NULL) {
        for (size_t i = 0; i < count; i++) {
            const jm_row *row = &part_of(v, i)->sum;
            int32_t depth = v->picks.items[i].depth;
            if (v->options->depth > 0 && (uint64_t)depth >= v->options->depth) continue;
            bool small = row->share < top_share; /* what is not known is not small */
            double energy_j = isfinite(row->energy_j) ? row->energy_j : -INFINITY;
            order[deep++] = (ranked){depth == 0 && !small, energy_j, i};
        }
        if (deep > 0) qsort(order, deep, sizeof *order, by_weight);
        size_t end = limit == 0 || limit > deep ? deep : keep_equals_together(order, deep, limit);
        for (size_t i = 0; i < end; i++)
            chosen[order[i].pick] = true;
    } else {
        free(chosen);
        chosen = NULL;
    }
    free(order);
    return chosen;
}

static int by_text(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* The paths of all rows, sorted; NULL if memory is out. */
static const char **sort_paths(const jm_report *report)
{
    size_t count = jm_report_row_count(report);
    const char **paths = calloc(count + 1, sizeof *paths);
    if (paths == NULL) return NULL;
    for (size_t i = 0; i < count; i++)
        paths[i] = jm_report_row(report, i)->path;
    qsort(paths, count, sizeof *paths, by_text);
    return paths;
}

/* Is there another row of this path? It is of another kind (two rows never share both), so
 * the kind must be said, but for names that say what they are: "(idle)". */
static bool kind_matters(const char **paths, size_t count, const jm_row *row, bool one_by_one)
{
    if (row->name[0] == '(') return false;
    if (one_by_one) return true;
    size_t at;
    jm__search(at, count, strcmp(paths[at], row->path) < 0);
    return at + 1 < count && strcmp(paths[at + 1], row->path) == 0;
}

/* "host late, < 1 ms, before layer.*": where somebody has to look. */
static bool write_what_came(char *out, size_t size, const jm_row *row)
{
    enum { PATH = 12 };
    static const char before[] = ", before ";
    out[0] = '\0';
    if (!jm__row_has_layer(row)) return true;
    snprintf(out, size, "%s", before);
    return write_place(out + sizeof before - 1, size - sizeof before + 1, row, PATH);
}

/* What is shown without what it lies in needs its whole path. */
static void add_name(jm__strbuf *name, const view *v, const jm__part *part, const picked *pick)
{
    jm__strbuf path = {0};
    if (!pick->queried || v->traits.by_kernel)
        jm__strbuf_add(&path, part->name);
    else
        jm__part_path_add(&path, v->report, &v->fold, part);
    if (path.text != NULL) jm__utf8_add(name, path.text, true);
    name->failed = name->failed || path.failed;
    jm__strbuf_free(&path);
}

static bool add_line(jm__table *table, const view *v, const picked *pick, bool say_kind)
{
    const jm__part *part = &v->fold.parts.items[pick->part];
    const jm_row *row = &part->sum;
    jm__table_line line = {
        .depth = pick->depth, .is_cpp = jm__is_cpp_name(part->name), .number = part->row + 1};
    jm__strbuf name = {0};
    add_name(&name, v, part, pick);
    bool fine = strcmp(row->kind, "gap") != 0 || write_what_came(line.hint, sizeof line.hint, row);
    line.faint = row->provenance >= JM_PROVENANCE_WEAK;
    if (say_kind) snprintf(line.suffix, sizeof line.suffix, " (%s)", row->kind);
    fine = jm__row_cells(line.cells, &v->traits, part, &v->scale, false) && fine;
    return jm__table_push(table, line, &name) && fine;
}

/* What the rows left out add up to, beyond the rows above: those inside a row that is shown are part of it,
 * and those inside a row left out are part of that. */
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
    bool inside = energy_j == 0, fine = true;
    jm__strbuf_format(&name, "%zu more row%s", hidden, hidden == 1 ? "" : "s");
    snprintf(line.hint, sizeof line.hint, inside ? ", in these" : ", beyond these");
    if (!inside) {
        const jm__part rest = {.members = 1,
                               .sum = {.energy_j = energy_j,
                                       .share = energy_j / jm_report_totals_get(v->report)->total_energy_j}};
        fine = jm__row_cells(line.cells, &v->traits, &rest, &v->scale, true);
    }
    return jm__table_push(table, line, &name) && fine;
}

static jm_status fill_chosen(jm__table *table, view *v, const bool *chosen, const char **sorted,
                             jm_error *err)
{
    size_t rows = jm_report_row_count(v->report);
    bool one_by_one = jm_report_options_get(v->report)->by == JM_BY_SPAN;
    for (size_t i = 0; i < v->picks.count; i++) {
        const picked *pick = &v->picks.items[i];
        jm__part *part = &v->fold.parts.items[pick->part];
        if (!chosen[i]) continue;
        JM_TRY(jm__fold_interval(&v->fold, v->report, part, err));
        if (!add_line(table, v, pick, kind_matters(sorted, rows, &part->sum, one_by_one)))
            return jm__no_memory(err, "jm_report_text");
    }
    return add_rest(table, v, chosen) ? JM_OK : jm__no_memory(err, "jm_report_text");
}

static jm_status fill_table(jm__table *table, view *v, jm_error *err)
{
    bool *chosen = choose_rows(v);
    const char **sorted = sort_paths(v->report);
    jm_status status = chosen != NULL && sorted != NULL ? fill_chosen(table, v, chosen, sorted, err)
                                                        : jm__no_memory(err, "jm_report_text");
    free(chosen);
    free(sorted);
    return status;
}

/* Energies are of a step, if there are several, unless those of the run are asked for. A request has steps of
 * its own. */
static double steps_of(const view *v)
{
    if (v->traits.by_request) return 1;
    int64_t steps = jm_report_totals_get(v->report)->steps;
    return steps > 1 && !v->options->total ? (double)steps : 1;
}

/* One unit for all energies of the table. */
static void set_up_columns(jm__table *table, view *v)
{
    double largest_j = 0, steps = steps_of(v);
    for (size_t i = 0; i < v->picks.count; i++) {
        const jm__part *part = part_of(v, i);
        if (isfinite(part->sum.energy_j)) largest_j = fmax(largest_j, fabs(part->sum.energy_j));
        jm__row_traits_see(&v->traits, part);
    }
    v->scale = jm__energy_scale_for(largest_j / steps);
    v->scale.size_j *= steps;
    char unit[24];
    snprintf(unit, sizeof unit, "%s%s", v->scale.unit, steps > 1 ? "/step" : "");
    set_up_shown_columns(table, &v->traits, unit);
}

/* Fill an empty table, which the caller frees also after an error. */
static jm_status rows_table(jm__table *table, const jm_report *report, const jm_text_options *options,
                            jm_error *err)
{
    view v = {.report = report, .options = options};
    v.traits.by_kernel = jm_report_options_get(report)->by == JM_BY_KERNEL;
    v.traits.by_request = jm_report_options_get(report)->by == JM_BY_REQUEST;
    *table = (jm__table){.title = jm_by_text(jm_report_options_get(report)->by), .colour = options->colour};
    bool *queried;
    JM_TRY(queried_find(&queried, report, options, err));
    jm_status status = jm__fold_make(&v.fold, report, options->expand, queried, err);
    if (status == JM_OK) status = picks_make(&v.picks, &v.fold, queried, options->sort, err);
    if (status == JM_OK) {
        set_up_columns(table, &v);
        status = fill_table(table, &v, err);
    }
    free(queried);
    jm__vec_free(&v.picks);
    jm__fold_free(&v.fold);
    return status;
}

/* ---- the report as a table that a stranger can read ---- */

/* A part of the total; what is nothing beside it is 0. */
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

/* Every note, or those that nobody may overlook and how many there are besides. */
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

/* A row that was asked for by its number has room for all of its name. */
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

/* What of the rows above was waiting, though it is no idle time. */
static jm_status add_waits(jm__strbuf *out, const jm_report *report, size_t width, jm_error *err)
{
    jm__facts waits = {0};
    jm_status status = jm__waits_add(&waits, report, err);
    for (size_t i = 0; status == JM_OK && i < waits.count; i++)
        jm__head_add_fact(out, waits.items[i].name, waits.items[i].text, width);
    jm__facts_free(&waits);
    return status;
}

static jm_status write_text(jm__strbuf *out, const jm_report *report, const jm_text_options *options,
                            const jm__table *table, jm_error *err)
{
    size_t width = options->width > 0 ? (size_t)options->width : 0;
    jm__table_print(out, table, width);
    add_whole_name(out, report, options->row, width);
    jm__strbuf_add(out, "\n");
    JM_TRY(add_waits(out, report, width, err));
    if (options->notes) add_fit(out, jm_report_totals_get(report), width);
    add_notes(out, report, options, width);
    jm__wrap(out, "", 0, "\302\261 is half of the 95 % interval, relative to the GPU's own sensor.", width);
    return JM_OK;
}

jm_status jm_report_text(const jm_report *report, const jm_text_options *options, char **out, jm_error *err)
{
    jm_text_options queried;
    *out = NULL;
    JM_TRY(jm__options_copy(&queried, sizeof queried, options, "jm_report_text", err));
    jm__table table;
    jm__strbuf text = {0};
    jm_status status = rows_table(&table, report, &queried, err);
    if (status == JM_OK) status = add_head(&text, report, &queried, err);
    if (status == JM_OK) status = write_text(&text, report, &queried, &table, err);
    jm__table_free(&table);
    return jm__hand_over(out, &text, status, "jm_report_text", err);
}
