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

/* Before any split a use has the column of its class. */
static jm_status assign_uses(jm__columns *columns, const jm__uses *uses, jm_error *err)
{
    columns->of_use = calloc(uses->items.count + 1, sizeof *columns->of_use);
    columns->split_from = calloc(columns->count + 1, sizeof *columns->split_from);
    columns->differs_w = calloc(columns->count + 1, sizeof *columns->differs_w);
    if (columns->of_use == NULL || columns->split_from == NULL || columns->differs_w == NULL)
        return jm__no_memory(err, "jm__columns_choose");
    for (size_t u = 0; u < uses->items.count; u++)
        columns->of_use[u] = columns->of_class[uses->items.items[u].class_index];
    for (size_t k = 0; k < columns->count; k++)
        columns->split_from[k] = (uint32_t)k;
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

jm_status jm__columns_split(jm__columns *columns, const jm__column_split *split, size_t uses, jm_error *err)
{
    size_t old = columns->class_columns, count = columns->count + split->count;
    uint32_t *from = realloc(columns->split_from, (count + 1) * sizeof *from);
    if (from != NULL) columns->split_from = from;
    double *differs_w = realloc(columns->differs_w, (count + 1) * sizeof *differs_w);
    if (differs_w != NULL) columns->differs_w = differs_w;
    if (from == NULL || differs_w == NULL) return jm__no_memory(err, "jm__columns_split");
    columns->class_columns += split->count;
    columns->count = count;
    for (size_t k = old; k < count; k++) {
        bool is_new = k < columns->class_columns;
        from[k] = is_new ? split->from[k - old] : (uint32_t)k;
        differs_w[k] = 0;
    }
    memcpy(differs_w, split->differs_w, columns->class_columns * sizeof *differs_w);
    memcpy(columns->of_use, split->of_use, uses * sizeof *columns->of_use);
    return JM_OK;
}

void jm__columns_free(jm__columns *columns)
{
    free(columns->of_use);
    free(columns->split_from);
    free(columns->differs_w);
    free(columns->of_class);
    free(columns->merged);
    *columns = (jm__columns){0};
}
