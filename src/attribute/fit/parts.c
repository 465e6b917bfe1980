/* Choosing parts, and what some of them have in common. */
#include "attribute/fit/parts.h"

#include "base/status.h"

#include <stdlib.h>

/* Choices: what a class of less could draw otherwise, or a part of less, is not worth a column. */
static const double least_class = 0.01, least_part = 0.002; /* of the busy time */

/* Places from fine to coarse. */
enum { BY_LAYER, BY_TYPE, BY_TYPE_IN_ANY_PHASE, FINENESSES };

static jm__context coarse(jm__context place, int fineness)
{
    if (fineness >= BY_TYPE && place.type != 0) place.layer = 0;
    if (fineness >= BY_TYPE_IN_ANY_PHASE) place.phase = 0;
    return place;
}

static bool is_same(const jm__context *a, const jm__context *b)
{
    return a->phase == b->phase && a->layer == b->layer && a->type == b->type && a->kind == b->kind;
}

/* The part of this place among those from `first` on, made if there is room; JM_NO_PART: there is none. */
static uint32_t part_of(jm__parts *parts, size_t first, uint32_t column, const jm__context *place)
{
    for (size_t p = first; p < parts->count; p++)
        if (is_same(&parts->items[p].place, place)) return (uint32_t)p;
    if (parts->count == JM_PARTS_MAX || parts->count - first == JM_PARTS_OF_CLASS) return JM_NO_PART;
    parts->items[parts->count] = (jm__part){.column = column, .place = *place};
    return (uint32_t)parts->count++;
}

static double learnt_s(const jm__board_work *work, size_t use)
{
    return use < work->tally.uses.count ? work->tally.uses.items[use].inside.learn_s : 0;
}

/* False if there are more places than parts. */
static bool add_column(jm__parts *parts, const jm__work_set *set, const jm__board_work *work, uint32_t column,
                       int fineness)
{
    size_t first = parts->count;
    bool all = true;
    for (size_t u = 0; u < set->uses.items.count; u++) {
        double seconds = learnt_s(work, u);
        if (work->columns.of_use[u] != column || seconds <= 0) continue;
        const jm__context place = coarse(*jm__use_context(set, u), fineness);
        uint32_t part = part_of(parts, first, column, &place);
        parts->of_use[u] = part;
        if (part != JM_NO_PART) parts->items[part].seconds += seconds;
        all = all && part != JM_NO_PART;
    }
    return all;
}

static void take_back(jm__parts *parts, const jm__board_work *work, size_t uses, uint32_t column,
                      size_t first)
{
    for (size_t u = 0; u < uses; u++)
        if (work->columns.of_use[u] == column) parts->of_use[u] = JM_NO_PART;
    parts->count = first;
}

jm_status jm__parts_choose(jm__parts *parts, const jm__work_set *set, const jm__board_work *work,
                           jm_error *err)
{
    size_t uses = set->uses.items.count, classes = set->classes.count;
    *parts = (jm__parts){.of_use = malloc((uses + 1) * sizeof *parts->of_use)};
    bool *own = calloc(work->columns.count + 1, sizeof *own);
    jm_status status = parts->of_use == NULL || own == NULL ? jm__no_memory(err, "jm__parts_choose") : JM_OK;
    for (size_t u = 0; status == JM_OK && u < uses; u++)
        parts->of_use[u] = JM_NO_PART;
    for (size_t c = 0; status == JM_OK && c < classes; c++)
        if (work->columns.of_class[c] != JM_NO_COLUMN && !work->columns.merged[c])
            own[work->columns.of_class[c]] = true;
    for (size_t k = 0; k < work->columns.class_columns; k++)
        parts->busy_s += work->learn_seconds[k];
    for (uint32_t k = 0; status == JM_OK && k < work->columns.class_columns; k++) {
        size_t first = parts->count;
        if (!own[k] || work->learn_seconds[k] < least_class * parts->busy_s) continue;
        for (int fineness = 0; fineness < FINENESSES; fineness++) {
            take_back(parts, work, uses, k, first);
            if (add_column(parts, set, work, k, fineness)) break;
        }
        if (parts->count - first < 2)
            take_back(parts, work, uses, k, first); /* one place: nothing to split */
    }
    free(own);
    return status;
}

void jm__parts_free(jm__parts *parts)
{
    free(parts->of_use);
    parts->of_use = NULL;
}

/* What the parts of a set have in common. */
enum { ALL_OF_IT, TYPE_IN_PHASE, TYPE, LAYER, PHASE, KIND, WAYS };

static bool are_alike(const jm__context *a, const jm__context *b, int way)
{
    bool type = a->kind == b->kind && a->type == b->type && (a->type != 0 || a->layer == b->layer);
    switch (way) {
    case TYPE_IN_PHASE:
        return type && a->phase == b->phase;
    case TYPE:
        return type;
    case LAYER:
        return a->kind == b->kind && a->layer == b->layer;
    case PHASE:
        return a->phase == b->phase;
    case KIND:
        return a->kind == b->kind;
    default:
        return is_same(a, b);
    }
}

static bool is_known(const jm__part_sets *sets, size_t from, uint64_t bits)
{
    for (size_t i = from; i < sets->count; i++)
        if (sets->items[i].bits == bits) return true;
    return false;
}

/* The sets of the class whose parts are [first, end). */
static bool list_class(jm__part_sets *sets, const jm__parts *parts, size_t first, size_t end, double rest_s)
{
    const jm__part *items = parts->items;
    size_t known = sets->count;
    uint64_t whole = (UINT64_C(1) << (end - first)) - 1;
    if (rest_s >= least_part * parts->busy_s) whole = 0;
    for (int way = TYPE_IN_PHASE; way < WAYS + TYPE_IN_PHASE; way++) {
        for (size_t p = first; p < end; p++) {
            jm__part_set set = {.first = first, .whole = whole, .is_type = way == TYPE_IN_PHASE};
            double seconds = 0;
            for (size_t q = first; q < end; q++) {
                if (!are_alike(&items[p].place, &items[q].place, way % WAYS)) continue;
                set.bits |= UINT64_C(1) << (q - first);
                seconds += items[q].seconds;
            }
            if (set.bits == whole || seconds < least_part * parts->busy_s || is_known(sets, known, set.bits))
                continue;
            if (!jm__vec_push(sets, set)) return false;
        }
    }
    return true;
}

bool jm__parts_list_sets(jm__part_sets *sets, const jm__parts *parts, const jm__board_work *work)
{
    for (size_t first = 0, end; first < parts->count; first = end) {
        double rest_s = work->learn_seconds[parts->items[first].column];
        for (end = first; end < parts->count && parts->items[end].column == parts->items[first].column; end++)
            rest_s -= parts->items[end].seconds;
        if (!list_class(sets, parts, first, end, rest_s)) return false;
    }
    return true;
}
