/* Pairs of classes that run together. */
#include "attribute/work/joint.h"

#include <stdlib.h>

/* Pairs that are counted in the pass, and whose joules are shared one by one. */
enum { COUNTED_MAX = 4096, SHARED_MAX = 512 };

void jm__pairs_begin(jm__pairs *pairs, jm__uses *uses, size_t classes, uint32_t multiprocessors)
{
    *pairs = (jm__pairs){.uses = uses, .next = classes, .multiprocessors = multiprocessors};
    pairs->numbers.key_size = 2 * sizeof(uint32_t);
}

void jm__pairs_free(jm__pairs *pairs)
{
    jm__vec_free(&pairs->items);
    jm__map_free(&pairs->numbers);
}

/* False if memory is out; *pair is NULL if there are too many. */
static bool pair_of(jm__pairs *pairs, const uint32_t key[2], const jm__pair **pair)
{
    const jm__map_value *found = jm__map_find(&pairs->numbers, key);
    *pair = NULL;
    if (found == NULL && pairs->items.count == COUNTED_MAX) return true;
    if (found == NULL) {
        uint32_t next = (uint32_t)pairs->next;
        const jm__pair new_item = {{key[0], key[1]}, {next, next + 1}};
        if (!jm__map_put(&pairs->numbers, key, (jm__map_value){.id = (int64_t)pairs->items.count}) ||
            !jm__vec_push(&pairs->items, new_item))
            return false;
        pairs->next += 2;
        *pair = &pairs->items.items[pairs->items.count - 1];
        return true;
    }
    *pair = &pairs->items.items[found->id];
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
static bool add_classes(const jm__pair *pair, const jm__pairs *pairs, bool seldom, uint32_t *seldom_of,
                        jm__classes *classes, uint32_t *final_of)
{
    float weights[2];
    for (size_t side = 0; side < 2; side++)
        weights[side] =
            jm__multiprocessors_of(&classes->items[pair->class_index[side]], pairs->multiprocessors);
    for (size_t side = 0; side < 2; side++) {
        uint32_t alone = pair->class_index[side];
        if (!seldom || seldom_of[alone] == 0) {
            jm__class joint = classes->items[alone];
            joint.joint = true;
            joint.alone = alone;
            joint.beside = pair->class_index[!side];
            joint.beside_part = seldom ? 0 : (double)(weights[!side] / (weights[0] + weights[1]));
            final_of[pair->provisional[side]] = (uint32_t)classes->count;
            if (seldom) seldom_of[alone] = (uint32_t)classes->count;
            if (!jm__vec_push(classes, joint)) return false;
        } else
            final_of[pair->provisional[side]] = seldom_of[alone];
    }
    return true;
}

bool jm__pairs_choose(const jm__pairs *pairs, const jm__tally *const *tallies, size_t count,
                      jm__classes *classes, uint32_t **final_of)
{
    /* Host work has appended classes; then there are no pairs. */
    size_t all = pairs->next > classes->count ? pairs->next : classes->count;
    double *ran_s = calloc(all + 1, sizeof *ran_s);
    ranked *rank = calloc(pairs->items.count + 1, sizeof *rank);
    uint32_t *seldom_of = calloc(all + 1, sizeof *seldom_of);
    *final_of = malloc((all + 1) * sizeof **final_of);
    bool fine = ran_s != NULL && rank != NULL && seldom_of != NULL && *final_of != NULL;
    for (size_t c = 0; fine && c < all; c++)
        (*final_of)[c] = (uint32_t)c;
    if (fine) add_up(ran_s, pairs, tallies, count);
    for (size_t i = 0; fine && i < pairs->items.count; i++)
        rank[i] = (ranked){ran_s[pairs->items.items[i].provisional[0]], i};
    if (fine) qsort(rank, pairs->items.count, sizeof *rank, longest_first);
    for (size_t i = 0; fine && i < pairs->items.count; i++)
        fine = add_classes(&pairs->items.items[rank[i].pair], pairs, i >= SHARED_MAX, seldom_of, classes,
                           *final_of);
    free(seldom_of);
    free(ran_s);
    free(rank);
    return fine;
}
