/* Which rows of a report are shown, and what is said of each. */
#include "report/rows_table.h"

#include "base/search.h"
#include "base/status.h"
#include "base/utf8.h"
#include "report/fold.h"
#include "report/kernel_name.h"

#include <math.h>
#include <string.h>

static void write_members(char out[JM_CELL], const jm__part *part, const jm__energy_scale *scale)
{
    (void)scale;
    snprintf(out, JM_CELL, "%zu", part->members);
}

/* Of one member: equal layers are called equally often. */
static void write_calls(char out[JM_CELL], const jm__part *part, const jm__energy_scale *scale)
{
    (void)scale;
    if (part->sum.calls == 0)
        snprintf(out, JM_CELL, "-"); /* idle time is not called */
    else
        jm__format_count(out, llround((double)part->sum.calls / (double)part->members));
}

static void write_time(char out[JM_CELL], const jm__part *part, const jm__energy_scale *scale)
{
    (void)scale;
    jm__format_time(out, part->sum.busy_s > 0 ? part->sum.busy_s : NAN);
}

static void write_energy(char out[JM_CELL], const jm__part *part, const jm__energy_scale *scale)
{
    jm__format_scaled(out, part->sum.energy_j, scale);
}

static void write_half(char out[JM_CELL], const jm__part *part, const jm__energy_scale *scale)
{
    (void)scale;
    jm__format_half(out, part->sum.energy_j, part->sum.energy_low_j, part->sum.energy_high_j);
}

static void write_power(char out[JM_CELL], const jm__part *part, const jm__energy_scale *scale)
{
    (void)scale;
    jm__format_power(out, part->sum.power_w);
}

static void write_share(char out[JM_CELL], const jm__part *part, const jm__energy_scale *scale)
{
    (void)scale;
    jm__format_share(out, part->sum.share);
}

static void write_known(char out[JM_CELL], const jm__part *part, const jm__energy_scale *scale)
{
    (void)scale;
    snprintf(out, JM_CELL, "%s", jm_provenance_text(part->sum.provenance));
}

static void write_each(char out[JM_CELL], const jm__part *part, const jm__energy_scale *scale)
{
    (void)scale;
    jm__format_time(out, part->sum.calls > 0 ? part->sum.busy_s / (double)part->sum.calls : NAN);
}

typedef enum when { ALWAYS, SOME_ARE_SEVERAL, BY_KERNEL } when;

/* The columns after the name, in order: a new one is a line here and its function. */
static const struct {
    jm__table_column shape;
    void (*write)(char out[JM_CELL], const jm__part *part, const jm__energy_scale *scale);
    when when;
    bool adds_up;   /* can be said of several rows together */
    bool is_energy; /* its title is the unit */
} columns[] = {
    {.shape = {"x", false, 0}, write_members, SOME_ARE_SEVERAL},
    {.shape = {"calls", false, 4}, write_calls, ALWAYS},
    {.shape = {"each", false, 0}, write_each, BY_KERNEL},
    {.shape = {"time", false, 5}, write_time, ALWAYS},
    {.shape = {"energy", false, 0}, write_energy, ALWAYS, .adds_up = true, .is_energy = true},
    {.shape = {"\302\261", false, 0}, write_half, ALWAYS},
    {.shape = {"power", false, 6}, write_power, ALWAYS},
    {.shape = {"share", false, 1}, write_share, ALWAYS, .adds_up = true},
    {.shape = {"known", true, 2}, write_known, ALWAYS},
};
enum { COLUMNS = sizeof columns / sizeof *columns };
_Static_assert((int)COLUMNS <= (int)JM_TABLE_COLUMNS, "a table has room for its columns");

/* What is shown, and how. */
typedef struct view {
    const jm_report *report;
    const jm_text_options *options;
    jm__fold fold;
    jm__energy_scale scale;
    bool members; /* some row has several */
} view;

/* A row at the top with less than this of the total stands back behind the inner rows that take more. */
static const double top_share = 1e-3;
static const double equal_within = 1.02;

typedef struct ranked {
    bool top;
    double energy_j;
    size_t part;
} ranked;

static int by_weight(const void *left, const void *right)
{
    const ranked *a = left, *b = right;
    if (a->top != b->top) return a->top ? -1 : 1;
    if (a->energy_j != b->energy_j) return a->energy_j > b->energy_j ? -1 : 1;
    return a->part < b->part ? -1 : 1; /* a parent before the only child that has all of its energy */
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

/* Which rows are shown: what stands at the top and matters, then those that took most, `limit` in all. A
 * parent has at least the energy of each of its children, so it is there if they are. */
static bool *choose_rows(const view *v)
{
    size_t count = v->fold.parts.count, limit = v->options->limit, deep = 0;
    bool *chosen = calloc(count + 1, sizeof *chosen);
    ranked *order = calloc(count + 1, sizeof *order);
    if (chosen != NULL && order != NULL) {
        for (size_t i = 0; i < count; i++) {
            const jm_row *row = &v->fold.parts.items[i].sum;
            if (v->options->depth > 0 && (uint64_t)row->depth >= v->options->depth) continue;
            double energy_j = isfinite(row->energy_j) ? row->energy_j : -1;
            order[deep++] = (ranked){row->depth == 0 && row->share >= top_share, energy_j, i};
        }
        if (deep > 0) qsort(order, deep, sizeof *order, by_weight);
        size_t end = limit == 0 || limit > deep ? deep : keep_equals_together(order, deep, limit);
        for (size_t i = 0; i < end; i++)
            chosen[order[i].part] = true;
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

static bool is_shown(const view *v, size_t column)
{
    switch (columns[column].when) {
    case SOME_ARE_SEVERAL:
        return v->members;
    case BY_KERNEL:
        return jm_report_options_get(v->report)->by == JM_BY_KERNEL;
    case ALWAYS:
        break;
    }
    return true;
}

static void write_cells(char cells[][JM_CELL], const view *v, const jm__part *part, bool sums_alone)
{
    size_t written = 0;
    for (size_t c = 0; c < COLUMNS; c++) {
        if (!is_shown(v, c)) continue;
        if (columns[c].adds_up || !sums_alone) columns[c].write(cells[written], part, &v->scale);
        written++;
    }
}

static bool add_line(jm__table *table, const view *v, const jm__part *part, bool say_kind)
{
    const jm_row *row = &part->sum;
    jm__table_line line = {
        .depth = row->depth, .is_cpp = jm__is_cpp_name(part->name), .number = part->row + 1};
    jm__strbuf name = {0};
    jm__utf8_add(&name, part->name, true);
    if (say_kind) snprintf(line.suffix, sizeof line.suffix, " (%s)", row->kind);
    line.name = jm__strbuf_take(&name);
    if (line.name == NULL) return false;
    write_cells(line.cells, v, part, false);
    if (jm__vec_push(&table->lines, line)) return true;
    free(line.name);
    return false;
}

/* What the rows left out add up to, beyond the rows above: those inside a row that is shown are part of it,
 * and those inside a row left out are part of that. */
static bool add_rest(jm__table *table, const view *v, const bool *chosen)
{
    size_t hidden = 0;
    double energy_j = 0;
    for (size_t i = 0; i < v->fold.parts.count; i++) {
        const jm_row *row = &v->fold.parts.items[i].sum;
        if (chosen[i]) continue;
        hidden++;
        if (row->depth == 0 && isfinite(row->energy_j)) energy_j += row->energy_j;
    }
    if (hidden == 0) return true;
    jm__table_line line = {0};
    jm__strbuf name = {0};
    bool inside = energy_j == 0;
    jm__strbuf_format(&name, "%zu more row%s%s", hidden, hidden == 1 ? "" : "s",
                      inside ? ", in these" : ", beyond these");
    line.name = jm__strbuf_take(&name);
    if (line.name == NULL) return false;
    if (!inside) {
        const jm__part rest = {.members = 1,
                               .sum = {.energy_j = energy_j,
                                       .share = energy_j / jm_report_totals_get(v->report)->total_energy_j}};
        write_cells(line.cells, v, &rest, true);
    }
    if (jm__vec_push(&table->lines, line)) return true;
    free(line.name);
    return false;
}

static jm_status fill_chosen(jm__table *table, view *v, const bool *chosen, const char **sorted,
                             jm_error *err)
{
    size_t rows = jm_report_row_count(v->report);
    bool one_by_one = jm_report_options_get(v->report)->by == JM_BY_SPAN;
    for (size_t i = 0; i < v->fold.parts.count; i++) {
        jm__part *part = &v->fold.parts.items[i];
        if (!chosen[i]) continue;
        JM_TRY(jm__fold_interval(&v->fold, v->report, part, err));
        if (!add_line(table, v, part, kind_matters(sorted, rows, &part->sum, one_by_one)))
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

/* Energies are of a step, if there are several, unless those of the run are asked for. */
static double steps_of(const view *v)
{
    int64_t steps = jm_report_totals_get(v->report)->steps;
    return steps > 1 && !v->options->total ? (double)steps : 1;
}

/* One unit for all energies of the table. */
static void set_up_columns(jm__table *table, view *v)
{
    double largest_j = 0, steps = steps_of(v);
    for (size_t i = 0; i < v->fold.parts.count; i++) {
        const jm__part *part = &v->fold.parts.items[i];
        if (isfinite(part->sum.energy_j)) largest_j = fmax(largest_j, fabs(part->sum.energy_j));
        v->members = v->members || part->members > 1;
    }
    v->scale = jm__energy_scale_for(largest_j / steps);
    v->scale.size_j *= steps;
    for (size_t c = 0; c < COLUMNS; c++) {
        if (!is_shown(v, c)) continue;
        jm__table_column *column = &table->columns[table->column_count++];
        *column = columns[c].shape;
        if (columns[c].is_energy)
            snprintf(column->title, sizeof column->title, "%s%s", v->scale.unit, steps > 1 ? "/step" : "");
    }
}

jm_status jm__rows_table(jm__table *table, const jm_report *report, const jm_text_options *options,
                         jm_error *err)
{
    view v = {.report = report, .options = options};
    *table = (jm__table){.title = jm_by_text(jm_report_options_get(report)->by)};
    jm_status status = jm__fold_make(&v.fold, report, options->expand, err);
    if (status == JM_OK) {
        set_up_columns(table, &v);
        status = fill_table(table, &v, err);
    }
    jm__fold_free(&v.fold);
    return status;
}
