/* Pairs of classes that run together. */
#include "attribute/work/joint.h"

#include <stdlib.h>

/* Pairs that are counted in the pass, and whose joules are shared one by one. */
enum { COUNTED_MAX = 4096, SHARED_MAX = 512 };

void jm__pairs_begin(jm__pairs *pairs, jm__uses *uses, size_t classes, uint32_t multiprocessors)
{
    *pairs = (jm__pairs){.uses = uses, .classes = classes, .multiprocessors = multiprocessors};
    pairs->numbers.key_size = 2 * sizeof(uint32_t);
}

void jm__pairs_free(jm__pairs *pairs)
{
    jm__vec_free(&pairs->items);
    jm__map_free(&pairs->numbers);
}

/* The provisional class of one of a pair, 0 or 1. */
static uint32_t provisional_of(const jm__pairs *pairs, size_t pair, size_t side)
{
    return (uint32_t)(pairs->classes + 2 * pair + side);
}

bool jm__pairs_use(void *context, const jm__running *item, const jm__running *other, uint32_t *use)
{
    jm__pairs *pairs = context;
    bool second = item->class_index > other->class_index;
    const jm__pair pair = {
        {second ? other->class_index : item->class_index, second ? item->class_index : other->class_index}};
    *use = item->as.use;
    if (pairs->items.count == COUNTED_MAX && jm__map_find(&pairs->numbers, &pair) == NULL) return true;
    size_t number = jm__map_item(&pairs->numbers, &pair, &pairs->items, &pair);
    return number != SIZE_MAX && jm__use_number(pairs->uses, provisional_of(pairs, number, second),
                                                pairs->uses->items.items[item->as.use].context, use);
}

/* How long each class ran, those of pairs too. */
static void add_up(double *ran_s, const jm__pairs *pairs, const jm__tally *const *tallies, size_t count)
{
    for (size_t t = 0; t < count; t++)
        for (size_t u = 0; tallies[t] != NULL && u < tallies[t]->uses.count; u++) {
            double use_s = tallies[t]->uses.items[u].ran_s;
            if (use_s > 0) ran_s[pairs->uses->items.items[u].class_index] += use_s;
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

/* Each pair has two classes of its own; rare pairs of a kind share one. */
static bool add_classes(const jm__pairs *pairs, size_t number, bool seldom, uint32_t *seldom_of,
                        jm__classes *classes, uint32_t *final_of)
{
    const jm__pair *pair = &pairs->items.items[number];
    float weights[2];
    for (size_t side = 0; side < 2; side++)
        weights[side] =
            jm__multiprocessors_of(&classes->items[pair->class_index[side]], pairs->multiprocessors);
    for (size_t side = 0; side < 2; side++) {
        uint32_t alone = pair->class_index[side], *final = &final_of[provisional_of(pairs, number, side)];
        *final = seldom_of[alone];
        if (seldom && *final != 0) continue;
        *final = (uint32_t)classes->count;
        if (seldom) seldom_of[alone] = *final;
        jm__class joint = classes->items[alone];
        joint.joint = true;
        joint.alone = alone;
        joint.beside = pair->class_index[!side];
        joint.beside_part = seldom ? 0 : (double)(weights[!side] / (weights[0] + weights[1]));
        if (!jm__vec_push(classes, joint)) return false;
    }
    return true;
}

bool jm__pairs_choose(const jm__pairs *pairs, const jm__tally *const *tallies, size_t count,
                      jm__classes *classes, uint32_t **final_of)
{
    /* Host work has appended classes; then there are no pairs. */
    size_t counted = provisional_of(pairs, pairs->items.count, 0);
    size_t all = counted > classes->count ? counted : classes->count;
    double *ran_s = calloc(all + 1, sizeof *ran_s);
    ranked *rank = calloc(pairs->items.count + 1, sizeof *rank);
    uint32_t *seldom_of = calloc(all + 1, sizeof *seldom_of);
    *final_of = malloc((all + 1) * sizeof **final_of);
    bool fine = ran_s != NULL && rank != NULL && seldom_of != NULL && *final_of != NULL;
    for (size_t c = 0; fine && c < all; c++)
        (*final_of)[c] = (uint32_t)c;
    if (fine) add_up(ran_s, pairs, tallies, count);
    for (size_t i = 0; fine && i < pairs->items.count; i++)
        rank[i] = (ranked){ran_s[provisional_of(pairs, i, 0)], i};
    if (fine) qsort(rank, pairs->items.count, sizeof *rank, longest_first);
    for (size_t i = 0; fine && i < pairs->items.count; i++)
        fine = add_classes(pairs, rank[i].pair, i >= SHARED_MAX, seldom_of, classes, *final_of);
    free(seldom_of);
    free(ran_s);
    free(rank);
    return fine;
}
