/* Choosing by pattern or number, and sorting siblings. */
#include "report/pick.h"

#include "base/order.h"
#include "base/status.h"
#include "report/match.h"

#include <string.h>

#define NO_PICK SIZE_MAX

/* ---- what was asked for ---- */

jm_status jm__asked_find(bool **asked, const jm_report *report, const jm_text_options *options, jm_error *err)
{
    size_t rows = jm_report_row_count(report), count = 1, number = (size_t)options->row - 1;
    size_t *matching = NULL;
    *asked = NULL;
    if (options->row > rows)
        return jm__fail(err, JM_USAGE, 0, "jm_report_text", "there is no row #%llu; the last one is #%zu",
                        (unsigned long long)options->row, rows);
    if (options->match != NULL && options->row > 0)
        return jm__fail(err, JM_USAGE, 0, "jm_report_text",
                        "a pattern and the number of a row exclude each other");
    if (options->match != NULL)
        JM_TRY(jm__rows_match(&matching, &count, report, options->match, "jm_report_text", err));
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
    *asked = found;
    return found != NULL ? JM_OK : jm__no_memory(err, "jm_report_text");
}

static bool take(jm__picks *picks, const jm__fold *fold, const bool *asked)
{
    int32_t outermost = -1; /* depth of the part asked for that this one is in; -1: none */
    for (size_t i = 0; i < fold->parts.count; i++) {
        const jm__part *part = &fold->parts.items[i];
        int32_t depth = part->sum.depth;
        jm__pick pick = {.part = i, .depth = depth};
        if (asked != NULL && !asked[part->row]) {
            if (depth <= outermost) outermost = -1;
            continue;
        }
        if (asked != NULL) {
            bool outside = outermost < 0 || depth <= outermost;
            if (outside) outermost = depth;
            pick = (jm__pick){i, depth - outermost, outside};
        }
        if (!jm__vec_push(picks, pick)) return false;
    }
    return true;
}

/* ---- their order ---- */

typedef struct sorter {
    const jm__fold *fold;
    const jm__pick *picks;
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
static bool find_parents(size_t *parent, const jm__picks *picks)
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
static bool list(jm__picks *sorted, const jm__picks *picks, const size_t *family, const size_t *parent)
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

static bool sort(jm__picks *picks, const jm__fold *fold, jm_sort by)
{
    size_t *parent = calloc(picks->count + 1, sizeof *parent);
    size_t *family = calloc(picks->count + 1, sizeof *family);
    jm__picks sorted = {0};
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

jm_status jm__picks_make(jm__picks *picks, const jm__fold *fold, const bool *asked, jm_sort order,
                         jm_error *err)
{
    bool fine = take(picks, fold, asked);
    if (fine && order != JM_SORT_USUAL) fine = sort(picks, fold, order);
    return fine ? JM_OK : jm__no_memory(err, "jm_report_text");
}
