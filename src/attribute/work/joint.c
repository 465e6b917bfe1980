/* Finding which pairs matter. */
#include "attribute/work/joint.h"

#include <stdlib.h>

/* Ten readings of a ring and more: with less a power of its own would be no better known than the mean. */
static const double least_s = 0.2;
static const double least_share = 0.01;

void jm__pairs_begin(jm__pairs *pairs, jm__uses *uses, jm__duration_groups *groups)
{
    *pairs = (jm__pairs){.uses = uses, .groups = groups};
    pairs->numbers.key_size = 2 * sizeof(uint32_t);
}

void jm__pairs_free(jm__pairs *pairs)
{
    jm__vec_free(&pairs->items);
    jm__map_free(&pairs->numbers);
}

/* False if memory is out; NULL: there are too many. */
static bool pair_of(jm__pairs *pairs, const uint32_t key[2], const jm__pair **pair)
{
    const jm__map_value *known = jm__map_find(&pairs->numbers, key);
    *pair = NULL;
    if (known == NULL && pairs->items.count == JM_PAIRS_MAX) return true;
    if (known == NULL) {
        uint32_t next = (uint32_t)pairs->groups->next;
        const jm__pair fresh = {{key[0], key[1]}, {next, next + 1}};
        if (!jm__map_put(&pairs->numbers, key, (jm__map_value){.id = (int64_t)pairs->items.count}) ||
            !jm__vec_push(&pairs->items, fresh))
            return false;
        pairs->groups->next += 2;
        *pair = &pairs->items.items[pairs->items.count - 1];
        return true;
    }
    *pair = &pairs->items.items[known->id];
    return true;
}

bool jm__pairs_use(void *context, const jm__running *item, const jm__running *other, uint32_t *use)
{
    jm__pairs *pairs = context;
    bool first = item->class_index < other->class_index;
    const uint32_t key[2] = {first ? item->class_index : other->class_index,
                             first ? other->class_index : item->class_index};
    const jm__pair *pair;
    *use = item->as.use;
    if (!pair_of(pairs, key, &pair)) return false;
    if (pair == NULL) return true;
    uint32_t where = pairs->uses->items.items[item->as.use].context;
    return jm__use_number(pairs->uses, pair->provisional[!first], where, use);
}

/* How long each provisional class ran; [0]: all of them. */
static void add_up(double *ran_s, const jm__pairs *pairs, const jm__tally *const *tallies, size_t count)
{
    for (size_t t = 0; t < count; t++)
        for (size_t u = 0; tallies[t] != NULL && u < tallies[t]->uses.count; u++) {
            double use_s = tallies[t]->uses.items[u].ran_s;
            if (use_s <= 0) continue;
            ran_s[0] += use_s;
            ran_s[1 + pairs->uses->items.items[u].class_index] += use_s;
        }
}

typedef struct ranked {
    double seconds;
    size_t pair;
} ranked;

static int longest_first(const void *a, const void *b)
{
    const ranked *left = a, *right = b;
    if (left->seconds != right->seconds) return left->seconds > right->seconds ? -1 : 1;
    return (left->pair > right->pair) - (left->pair < right->pair);
}

static bool give_classes(const jm__pair *pair, jm__classes *classes, uint32_t *final_of)
{
    uint32_t first = (uint32_t)classes->count;
    for (size_t side = 0; side < 2; side++) {
        jm__class joint = classes->items[pair->class_index[side]];
        joint.joint = true;
        joint.alone = pair->class_index[side];
        joint.column_with = first;
        joint.typical_us = 0;
        final_of[pair->provisional[side]] = (uint32_t)classes->count;
        if (!jm__vec_push(classes, joint)) return false;
    }
    return true;
}

bool jm__pairs_choose(const jm__pairs *pairs, const jm__tally *const *tallies, size_t count,
                      jm__classes *classes, uint32_t *final_of)
{
    if (pairs->items.count == 0) return true;
    double *ran_s = calloc(pairs->groups->next + 1, sizeof *ran_s);
    ranked *rank = calloc(pairs->items.count, sizeof *rank);
    bool fine = ran_s != NULL && rank != NULL;
    if (fine) add_up(ran_s, pairs, tallies, count);
    for (size_t i = 0; fine && i < pairs->items.count; i++) {
        const jm__pair *pair = &pairs->items.items[i];
        rank[i] = (ranked){ran_s[1 + pair->provisional[0]], i};
        for (size_t side = 0; side < 2; side++)
            final_of[pair->provisional[side]] = pair->class_index[side];
    }
    if (fine) qsort(rank, pairs->items.count, sizeof *rank, longest_first);
    for (size_t i = 0; fine && i < pairs->items.count && i < JM_JOINT_MAX; i++)
        if (rank[i].seconds >= least_s && rank[i].seconds >= least_share * ran_s[0])
            fine = give_classes(&pairs->items.items[rank[i].pair], classes, final_of);
    free(ran_s);
    free(rank);
    return fine;
}
