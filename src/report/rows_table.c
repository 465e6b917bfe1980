/* Which rows of a report are shown, and what is said of each. */
#include "report/rows_table.h"

#include "base/search.h"
#include "base/status.h"
#include "base/utf8.h"
#include "report/fold.h"
#include "report/kernel_name.h"
#include "report/part_path.h"
#include "report/pick.h"
#include "report/row_cells.h"

#include <math.h>
#include <string.h>

/* What is shown, and how. */
typedef struct view {
    const jm_report *report;
    const jm_text_options *options;
    jm__fold fold;
    jm__picks picks;
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
    return jm__row_write_place(out + sizeof before - 1, size - sizeof before + 1, row, PATH);
}

/* What is shown without what it lies in needs its whole path. */
static void add_name(jm__strbuf *name, const view *v, const jm__part *part, const jm__pick *pick)
{
    jm__strbuf path = {0};
    if (!pick->asked || v->traits.by_kernel)
        jm__strbuf_add(&path, part->name);
    else
        jm__part_path_add(&path, v->report, &v->fold, part);
    if (path.text != NULL) jm__utf8_add(name, path.text, true);
    name->failed = name->failed || path.failed;
    jm__strbuf_free(&path);
}

static bool add_line(jm__table *table, const view *v, const jm__pick *pick, bool say_kind)
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
    line.name = jm__strbuf_take(&name);
    if (line.name == NULL) return false;
    fine = jm__row_cells(line.cells, &v->traits, part, &v->scale, false) && fine;
    if (fine && jm__vec_push(&table->lines, line)) return true;
    free(line.name);
    return false;
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
    line.name = jm__strbuf_take(&name);
    if (line.name == NULL) return false;
    if (!inside) {
        const jm__part rest = {.members = 1,
                               .sum = {.energy_j = energy_j,
                                       .share = energy_j / jm_report_totals_get(v->report)->total_energy_j}};
        fine = jm__row_cells(line.cells, &v->traits, &rest, &v->scale, true);
    }
    if (fine && jm__vec_push(&table->lines, line)) return true;
    free(line.name);
    return false;
}

static jm_status fill_chosen(jm__table *table, view *v, const bool *chosen, const char **sorted,
                             jm_error *err)
{
    size_t rows = jm_report_row_count(v->report);
    bool one_by_one = jm_report_options_get(v->report)->by == JM_BY_SPAN;
    for (size_t i = 0; i < v->picks.count; i++) {
        const jm__pick *pick = &v->picks.items[i];
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
    jm__row_columns(table, &v->traits, unit);
}

jm_status jm__rows_table(jm__table *table, const jm_report *report, const jm_text_options *options,
                         jm_error *err)
{
    view v = {.report = report, .options = options};
    v.traits.by_kernel = jm_report_options_get(report)->by == JM_BY_KERNEL;
    v.traits.by_request = jm_report_options_get(report)->by == JM_BY_REQUEST;
    *table = (jm__table){.title = jm_by_text(jm_report_options_get(report)->by), .colour = options->colour};
    bool *asked;
    JM_TRY(jm__asked_find(&asked, report, options, err));
    jm_status status = jm__fold_make(&v.fold, report, options->expand, asked, err);
    if (status == JM_OK) status = jm__picks_make(&v.picks, &v.fold, asked, options->sort, err);
    if (status == JM_OK) {
        set_up_columns(table, &v);
        status = fill_table(table, &v, err);
    }
    free(asked);
    jm__vec_free(&v.picks);
    jm__fold_free(&v.fold);
    return status;
}
