/* Uses by class and context; columns: frequent classes have their own, the tail is merged by name. */
#include "attribute/work/columns.h"

#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Beyond that, uses have context 0: a program whose range names never repeat takes bounded memory. */
enum { JM_USES_MAX = 32768 };

void jm__uses_free(jm__uses *uses)
{
    jm__vec_free(&uses->items);
    jm__vec_free(&uses->last);
    jm__map_free(&uses->numbers);
    *uses = (jm__uses){0};
}

bool jm__use_number(jm__uses *uses, uint32_t class_index, uint32_t context, uint32_t *number)
{
    while (uses->last.count <= class_index)
        if (!jm__vec_push(&uses->last, 0)) return false;
    *number = uses->last.items[class_index] - 1;
    bool again = *number != UINT32_MAX && uses->items.items[*number].context == context;
    if (again) return true; /* the usual case, without a look-up */
    jm__use use = {class_index, context};
    uses->numbers.key_size = sizeof use;
    bool full = uses->items.count >= JM_USES_MAX && context != 0;
    if (full && jm__map_find(&uses->numbers, &use) == NULL) use.context = 0;
    size_t at = jm__map_item(&uses->numbers, &use, &uses->items, &use);
    if (at == SIZE_MAX) return false;
    *number = (uint32_t)at;
    uses->last.items[class_index] = *number + 1;
    return true;
}

bool jm__uses_renumber(jm__uses *uses, const uint32_t *final_of, uint32_t **number_of)
{
    jm__uses new_item = {0};
    uint32_t *numbers = malloc((uses->items.count + 1) * sizeof *numbers);
    bool fine = numbers != NULL;
    for (size_t i = 0; fine && i < uses->items.count; i++) {
        const jm__use *use = &uses->items.items[i];
        fine = jm__use_number(&new_item, final_of[use->class_index], use->context, &numbers[i]);
    }
    jm__uses_free(uses);
    *uses = new_item;
    *number_of = numbers;
    return fine;
}

static const double tail_share = 1e-3;

typedef struct ranked {
    double seconds;
    uint32_t class_index;
} ranked;

static int longest_first(const void *a, const void *b)
{
    const ranked *left = a, *right = b;
    if (left->seconds != right->seconds) return left->seconds > right->seconds ? -1 : 1;
    return (left->class_index > right->class_index) - (left->class_index < right->class_index);
}

static int by_name(const void *a, const void *b, void *context)
{
    const jm__classes *classes = *(const jm__classes *const *)context;
    const ranked *left = a, *right = b;
    int order = strcmp(classes->items[left->class_index].name, classes->items[right->class_index].name);
    return order != 0 ? order : longest_first(a, b);
}

/* How many of the ranked classes keep a column of their own. */
static size_t count_kept(const ranked *rank, size_t count, double total_s)
{
    size_t kept = count;
    double tail_s = 0;
    while (kept > 1 && tail_s + rank[kept - 1].seconds < tail_share * total_s)
        tail_s += rank[--kept].seconds;
    /* The tail needs a tenth of the columns for merged names and one for the rest. */
    size_t own_max = JM_COLUMNS_MAX - JM_COLUMNS_MAX / 10 - 1;
    if (kept < count || kept > JM_COLUMNS_MAX) kept = kept < own_max ? kept : own_max;
    return kept == count - 1 ? count : kept; /* one alone needs no merging */
}

/* One column per name within the limit, then one for the rest. */
static void merge_tail(jm__columns *columns, ranked *tail, size_t count, const jm__classes *classes)
{
    qsort_r(tail, count, sizeof *tail, by_name, &classes);
    size_t named_end = columns->class_columns + JM_COLUMNS_MAX / 10;
    uint32_t other = JM_NO_COLUMN;
    for (size_t i = 0, j; i < count; i = j) {
        const char *name = classes->items[tail[i].class_index].name;
        for (j = i; j < count && strcmp(classes->items[tail[j].class_index].name, name) == 0; j++)
            ;
        bool own = j - i > 1 && columns->class_columns < named_end;
        if (!own && other == JM_NO_COLUMN) {
            other = (uint32_t)columns->class_columns++;
            named_end++;
        }
        uint32_t column = own ? (uint32_t)columns->class_columns++ : other;
        for (size_t m = i; m < j; m++) {
            columns->of_class[tail[m].class_index] = column;
            columns->merged[tail[m].class_index] = true;
        }
    }
    columns->merged_count = count;
}

/* Work beside others has its class's column. */
static uint32_t column_class(const jm__classes *classes, uint32_t class_index)
{
    const jm__class *class = &classes->items[class_index];
    return class->joint ? class->alone : class_index;
}

/* How long each class ran in all uses; -1: never. */
static void rank_classes(ranked *rank, const jm__tally *tally, const jm__uses *uses,
                         const jm__classes *classes)
{
    for (size_t c = 0; c < classes->count; c++)
        rank[c] = (ranked){.seconds = -1, .class_index = (uint32_t)c};
    for (size_t u = 0; u < tally->uses.count; u++) {
        ranked *of = &rank[column_class(classes, uses->items.items[u].class_index)];
        double ran_s = tally->uses.items[u].ran_s;
        if (ran_s >= 0) of->seconds = fmax(0, of->seconds) + ran_s;
    }
}

/* Before places are told apart a use has the column of its class. */
static jm_status assign_uses(jm__columns *columns, const jm__uses *uses, jm_error *err)
{
    columns->of_use = calloc(uses->items.count + 1, sizeof *columns->of_use);
    columns->first_of = calloc(columns->count + 1, sizeof *columns->first_of);
    if (columns->of_use == NULL || columns->first_of == NULL) return jm__no_memory(err, "jm__columns_choose");
    for (size_t u = 0; u < uses->items.count; u++)
        columns->of_use[u] = columns->of_class[uses->items.items[u].class_index];
    for (size_t k = 0; k < columns->count; k++)
        columns->first_of[k] = (uint32_t)k;
    return JM_OK;
}

jm_status jm__columns_choose(jm__columns *columns, const jm__tally *tally, const jm__uses *uses,
                             const jm__classes *classes, bool sampled, jm_error *err)
{
    *columns = (jm__columns){.sampler_columns = sampled ? JM_SAMPLER_STATES : 0};
    columns->of_class = calloc(classes->count + 1, sizeof *columns->of_class);
    columns->merged = calloc(classes->count + 1, sizeof *columns->merged);
    ranked *rank = calloc(classes->count + 1, sizeof *rank);
    jm_status status = JM_OK;
    if (columns->of_class == NULL || columns->merged == NULL || rank == NULL) {
        status = jm__no_memory(err, "jm__columns_choose");
        goto out;
    }
    double total_s = 0;
    rank_classes(rank, tally, uses, classes);
    for (size_t c = 0; c < classes->count; c++) {
        columns->of_class[c] = JM_NO_COLUMN;
        if (rank[c].seconds > 0) total_s += rank[c].seconds;
    }
    qsort(rank, classes->count, sizeof *rank, longest_first);
    size_t ran = 0;
    while (ran < classes->count && rank[ran].seconds >= 0)
        ran++;
    size_t kept = ran > 0 ? count_kept(rank, ran, total_s) : 0;
    for (size_t i = 0; i < kept; i++)
        columns->of_class[rank[i].class_index] = (uint32_t)i;
    columns->class_columns = kept;
    if (kept < ran) merge_tail(columns, rank + kept, ran - kept, classes);
    for (uint32_t c = 0; c < classes->count; c++) {
        if (!classes->items[c].joint) continue;
        columns->of_class[c] = columns->of_class[classes->items[c].alone];
        columns->merged[c] = columns->merged[classes->items[c].alone];
    }
    columns->count = columns->class_columns + JM_IDLE_STATES + columns->sampler_columns;
    status = assign_uses(columns, uses, err);
out:
    free(rank);
    return status;
}

/* ---- one power for each place of a class: what runs in one layer or phase has other data and neighbours
 * than what runs in another. They are assumed to be alike (fit/levels.c), as far as readings do not tell. */

/* Choices: a class, or a part of one, of less of the busy time is not worth a column; and more columns than
 * these would cost more than the rest of a fit. */
static const double least_class = 0.01, least_part = 0.002;
enum { PLACES = 200, PLACES_OF_CLASS = 40 };

/* Places from fine to coarse. */
enum { BY_LAYER, BY_TYPE, BY_TYPE_IN_ANY_PHASE, FINENESSES };

typedef struct place {
    jm__context context;
    double seconds;
    uint32_t column;
} place;

typedef struct places {
    place items[PLACES_OF_CLASS];
    size_t count;
    int fineness;
} places;

static jm__context coarse(jm__context context, int fineness)
{
    if (fineness >= BY_TYPE && context.type != 0) context.layer = 0;
    if (fineness >= BY_TYPE_IN_ANY_PHASE) context.phase = 0;
    return context;
}

/* The place of a context, made if there is room; NULL: there is none. */
static place *place_of(places *all, const jm__context *context)
{
    const jm__context of = coarse(*context, all->fineness);
    for (place *p = all->items; p < all->items + all->count; p++)
        if (p->context.phase == of.phase && p->context.layer == of.layer && p->context.type == of.type &&
            p->context.kind == of.kind)
            return p;
    if (all->count == PLACES_OF_CLASS) return NULL;
    all->items[all->count] = (place){.context = of};
    return &all->items[all->count++];
}

/* What powers are learnt from. */
static double learnt_s(const jm__tally *tally, size_t use)
{
    return use < tally->uses.count ? tally->uses.items[use].inside.learn_s : 0;
}

typedef struct divider {
    jm__columns *columns;
    const jm__tally *tally;
    const jm__uses *uses;
    const jm__contexts *contexts;
    double busy_s;
    size_t room; /* for more columns */
} divider;

static bool runs_in(const divider *d, size_t use, uint32_t column)
{
    return d->columns->of_use[use] == column && learnt_s(d->tally, use) > 0;
}

static const jm__context *context_of(const divider *d, size_t use)
{
    return &d->contexts->items.items[d->uses->items.items[use].context];
}

/* False if there are more places than there is room for. */
static bool find_places(places *all, const divider *d, uint32_t column)
{
    for (size_t u = 0; u < d->uses->items.count; u++) {
        if (!runs_in(d, u, column)) continue;
        place *of = place_of(all, context_of(d, u));
        if (of == NULL) return false;
        of->seconds += learnt_s(d->tally, u);
    }
    return true;
}

/* The largest place keeps the column of the class. */
static void divide(divider *d, uint32_t column)
{
    places all = {0};
    while (all.fineness < FINENESSES && !find_places(&all, d, column))
        all = (places){.fineness = all.fineness + 1};
    if (all.fineness == FINENESSES) return;
    const place *largest = all.items;
    for (size_t i = 1; i < all.count; i++)
        if (all.items[i].seconds > largest->seconds) largest = &all.items[i];
    for (place *p = all.items; p < all.items + all.count; p++) {
        p->column = column;
        if (p == largest || p->seconds < least_part * d->busy_s || d->room == 0) continue;
        d->room--;
        p->column = (uint32_t)d->columns->class_columns++;
        d->columns->first_of[p->column] = column;
    }
    for (size_t u = 0; u < d->uses->items.count; u++)
        if (runs_in(d, u, column)) d->columns->of_use[u] = place_of(&all, context_of(d, u))->column;
}

jm_status jm__columns_by_place(jm__columns *columns, const jm__tally *tally, const jm__uses *uses,
                               const jm__contexts *contexts, jm_error *err)
{
    size_t before = columns->class_columns, others = columns->count - before;
    uint32_t *first_of = realloc(columns->first_of, (columns->count + PLACES + 1) * sizeof *first_of);
    bool *own = calloc(before + 1, sizeof *own);
    double *seconds = calloc(before + 1, sizeof *seconds);
    if (first_of != NULL) columns->first_of = first_of;
    bool fine = first_of != NULL && own != NULL && seconds != NULL;
    divider d = {.columns = columns, .tally = tally, .uses = uses, .contexts = contexts};
    d.room = before < JM_COLUMNS_MAX ? JM_COLUMNS_MAX - before : 0;
    if (d.room > PLACES) d.room = PLACES;
    for (size_t u = 0; fine && u < uses->items.count; u++) {
        uint32_t column = columns->of_use[u];
        if (column == JM_NO_COLUMN) continue;
        own[column] = !columns->merged[uses->items.items[u].class_index];
        seconds[column] += learnt_s(tally, u);
        d.busy_s += learnt_s(tally, u);
    }
    for (uint32_t k = 0; fine && k < before; k++)
        if (own[k] && seconds[k] >= least_class * d.busy_s) divide(&d, k);
    columns->count = columns->class_columns + others;
    for (size_t k = columns->class_columns; fine && k < columns->count; k++)
        first_of[k] = (uint32_t)k;
    free(own);
    free(seconds);
    return fine ? JM_OK : jm__no_memory(err, "jm__columns_by_place");
}

void jm__columns_free(jm__columns *columns)
{
    free(columns->of_use);
    free(columns->first_of);
    free(columns->of_class);
    free(columns->merged);
    *columns = (jm__columns){0};
}
