/* Which lines a table on the page has. */
#include "page/lines.h"

#include "base/order.h"
#include "base/status.h"
#include "report/text.h"

#include <math.h>
#include <string.h>

static void add_areas(jm__page_line *line, const jm__page_lines *lines, const jm__part *part)
{
    for (size_t i = 0; i < part->members; i++) {
        size_t row = lines->fold.rows[part->first + i];
        line->area_j += lines->stacks.energy_j[row];
        line->area_s += lines->stacks.busy_s[row];
    }
}

/* Without children; NAN if of one of them nothing is known. */
static double own_energy_j(const jm__page_lines *lines, const jm__part *part)
{
    double sum_j = 0;
    for (size_t i = 0; i < part->members; i++)
        sum_j += jm_report_row(lines->stacks.report, lines->fold.rows[part->first + i])->energy_self_j;
    return sum_j;
}

static bool add_line(jm__page_lines *lines, jm__part *part)
{
    jm__page_line line = {.name = part->name,
                          .row = &part->sum,
                          .members = part->members,
                          .own_j = own_energy_j(lines, part),
                          .says_kind = lines->stacks.says_kind[part->row]};
    add_areas(&line, lines, part);
    if (jm__row_has_layer(&part->sum))
        *(jm__row_is_pause(&part->sum) ? &lines->before_layers : &lines->in_layers) = true;
    return jm__vec_push(&lines->items, line);
}

typedef struct ranked {
    double energy_j; /* as a magnitude; NAN: not known */
    double busy_s;
    size_t part;
} ranked;

static int by_energy(const void *left, const void *right)
{
    const ranked *a = left, *b = right;
    int order = jm__largest_first(a->energy_j, b->energy_j);
    if (order == 0) order = jm__largest_first(a->busy_s, b->busy_s);
    if (order != 0) return order;
    return (a->part > b->part) - (a->part < b->part);
}

/* Those that took most; behind them, by time, those of which no energy is known. */
static bool mark_largest(bool *chosen, const jm__fold *fold, size_t most)
{
    size_t count = fold->parts.count;
    ranked *order = calloc(count + 1, sizeof *order);
    if (order == NULL) return false;
    for (size_t i = 0; i < count; i++) {
        const jm_row *row = &fold->parts.items[i].sum;
        order[i] = (ranked){isfinite(row->energy_j) ? fabs(row->energy_j) : NAN, row->busy_s, i};
    }
    qsort(order, count, sizeof *order, by_energy);
    for (size_t i = 0; i < count && i < most; i++)
        chosen[order[i].part] = true;
    free(order);
    return true;
}

/* What is around a chosen part is chosen too: seen from the end, the next part that is less deep. */
static void mark_parents(bool *chosen, const jm__fold *fold)
{
    int32_t wanted = 0; /* parts less deep than this that come next are around a chosen one */
    for (size_t i = fold->parts.count; i-- > 0;) {
        int32_t depth = fold->parts.items[i].sum.depth;
        if (chosen[i] || depth < wanted) {
            chosen[i] = true;
            wanted = depth;
        }
    }
}

static void leave_out(jm__page_lines *lines, const jm__part *part)
{
    jm__page_line areas = {0};
    add_areas(&areas, lines, part);
    lines->left_out++;
    lines->left_out_area_j += areas.area_j;
    lines->left_out_area_s += areas.area_s;
    lines->left_out_j += own_energy_j(lines, part);
}

static jm_status take_lines(jm__page_lines *lines, const bool *chosen, jm_error *err)
{
    jm__fold *fold = &lines->fold;
    JM_TRY(jm__fold_intervals(fold, lines->stacks.report, chosen, err));
    for (size_t i = 0; i < fold->parts.count; i++) {
        jm__part *part = &fold->parts.items[i];
        if (!chosen[i]) {
            leave_out(lines, part);
            continue;
        }
        if (!add_line(lines, part)) return jm__no_memory(err, "jm__page_lines_make");
    }
    return JM_OK;
}

jm_status jm__page_lines_make(jm__page_lines *lines, const jm_report *report, bool expand, size_t most,
                              jm_error *err)
{
    *lines = (jm__page_lines){0};
    JM_TRY(jm__stacks_of(&lines->stacks, report, err));
    JM_TRY(jm__fold_make(&lines->fold, report, expand, NULL, err));
    bool *chosen = calloc(lines->fold.parts.count + 1, sizeof *chosen);
    jm_status status = JM_OK;
    if (chosen != NULL && mark_largest(chosen, &lines->fold, most)) {
        mark_parents(chosen, &lines->fold);
        status = take_lines(lines, chosen, err);
    } else {
        status = jm__no_memory(err, "jm__page_lines_make");
    }
    free(chosen);
    return status;
}

void jm__page_lines_free(jm__page_lines *lines)
{
    jm__vec_free(&lines->items);
    jm__fold_free(&lines->fold);
    jm__stacks_free(&lines->stacks);
}
