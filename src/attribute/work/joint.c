/* Groups in the histogram of a kernel's durations, and the choice of pairs. */
#include "attribute/work/joint.h"

#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Pairs that are counted in the pass, and pairs that get a column. */
enum { JM_PAIRS_MAX = 4096, JM_JOINT_MAX = 16 };

enum {
    BINS_PER_OCTAVE = 4,
    BINS = 40 * BINS_PER_OCTAVE, /* up to 2^40 ns, 18 minutes */
    CALLS_MIN = 50,
    GROUPS_MAX = 8
};

static const double valley_share = 0.005; /* a bin with fewer of the calls lies between groups */
static const double group_share = 0.02;   /* of the calls: the smallest group */
static const double chance_max = 1e-3;    /* that evenly distributed calls leave such a valley */

/* The calls of one class by duration. */
typedef struct histogram {
    uint32_t count[BINS];
    uint32_t provisional[BINS]; /* 0: none yet */
    uint32_t calls;
} histogram;

/* A bin with calls. Only such bins are kept: they are few, and there may be a million classes. */
typedef struct used_bin {
    uint32_t count, provisional, bin;
} used_bin;

typedef struct jm__used_bins {
    JM_VEC(used_bin) bins;
} used_bins;

static histogram histogram_of(const used_bins *used)
{
    histogram h = {0};
    for (size_t i = 0; i < used->bins.count; i++) {
        const used_bin *bin = &used->bins.items[i];
        h.count[bin->bin] = bin->count;
        h.provisional[bin->bin] = bin->provisional;
        h.calls += bin->count;
    }
    return h;
}

static size_t bin_of(int64_t duration_ns)
{
    if (duration_ns < 1) return 0;
    double bin = log2((double)duration_ns) * BINS_PER_OCTAVE;
    return bin >= BINS ? BINS - 1 : (size_t)bin;
}

static size_t bin_range(const histogram *h)
{
    size_t first = BINS, last = 0;
    for (size_t bin = 0; bin < BINS; bin++) {
        if (h->count[bin] == 0) continue;
        if (first == BINS) first = bin;
        last = bin;
    }
    return first == BINS ? 0 : last - first + 1;
}

/* The expected number of valleys of that width among calls evenly distributed over the range. */
static double chance_of(size_t width, size_t range, double calls)
{
    return (double)range * pow(1 - (double)width / (double)range, calls);
}

/* Bounds of groups: [first[g], first[g + 1]). Returns how many. */
static size_t find_groups(const histogram *h, size_t first[GROUPS_MAX + 1])
{
    size_t groups = 0, start = 0, valley = 0; /* valley: where the last group ended, 0: within a group */
    size_t range = bin_range(h);
    double calls = 0, all = h->calls;
    for (size_t bin = 0; bin < BINS; bin++) {
        bool low = h->count[bin] < valley_share * all || h->count[bin] == 0;
        if (low && calls >= group_share * all && valley == 0) valley = bin;
        if (!low && valley != 0 && groups + 1 < GROUPS_MAX &&
            chance_of(bin - valley, range, all) < chance_max) {
            first[groups++] = start;
            start = (valley + bin) / 2; /* stray calls go to the nearer group */
            calls = 0;
        }
        if (!low) valley = 0;
        calls += h->count[bin];
    }
    if (calls < group_share * all && groups > 0)
        groups--; /* a few late ones belong to the last group */
    else
        first[groups] = start;
    first[groups + 1 <= GROUPS_MAX ? groups + 1 : GROUPS_MAX] = BINS;
    return groups + 1;
}

/* Sets the final classes of a histogram's provisional ones. */
static bool split_class(const histogram *h, uint32_t class_index, jm__classes *classes, uint32_t *final_of)
{
    size_t first[GROUPS_MAX + 1];
    size_t groups = h->calls >= CALLS_MIN ? find_groups(h, first) : 1;
    if (groups == 1) {
        first[0] = 0;
        first[1] = BINS;
    }
    for (size_t g = 0; g < groups; g++) {
        size_t longest = first[g];
        for (size_t bin = first[g]; bin < first[g + 1]; bin++)
            if (h->count[bin] > h->count[longest]) longest = bin;
        jm__class copy = classes->items[class_index];
        if (groups > 1)
            copy.typical_us = exp2((double)longest / BINS_PER_OCTAVE + 0.5 / BINS_PER_OCTAVE) * 1e-3;
        if (g > 0 && !jm__vec_push(classes, copy)) return false;
        uint32_t own = g > 0 ? (uint32_t)classes->count - 1 : class_index;
        classes->items[own].typical_us = copy.typical_us;
        for (size_t bin = first[g]; bin < first[g + 1]; bin++)
            if (h->provisional[bin] != 0) final_of[h->provisional[bin]] = own;
    }
    return true;
}

bool jm__duration_groups_begin(jm__duration_groups *groups, const jm__classes *classes)
{
    *groups = (jm__duration_groups){.classes = classes, .count = classes->count, .next = classes->count};
    groups->of_class = calloc(classes->count + 1, sizeof *groups->of_class);
    return groups->of_class != NULL;
}

void jm__duration_groups_free(jm__duration_groups *groups)
{
    for (size_t c = 0; groups->of_class != NULL && c < groups->count; c++)
        jm__vec_free(&groups->of_class[c].bins);
    free(groups->of_class);
    *groups = (jm__duration_groups){0};
}

bool jm__duration_groups_count(jm__duration_groups *groups, jm__item *item)
{
    const jm__class *row = &groups->classes->items[item->class_index];
    if (item->calls != 1 || strcmp(row->kind, "kernel") != 0) return true;
    used_bins *used = &groups->of_class[item->class_index];
    uint32_t bin = (uint32_t)bin_of(item->end_ns - item->start_ns);
    size_t at = 0;
    while (at < used->bins.count && used->bins.items[at].bin != bin)
        at++;
    if (at == used->bins.count) {
        const used_bin new_item = {.provisional = (uint32_t)groups->next, .bin = bin};
        if (!jm__vec_push(&used->bins, new_item)) return false;
        groups->next++;
    }
    used->bins.items[at].count++;
    item->class_index = used->bins.items[at].provisional;
    return true;
}

bool jm__duration_groups_split(const jm__duration_groups *groups, jm__classes *classes, uint32_t **final_of,
                               size_t *count)
{
    *count = groups->next > classes->count ? groups->next : classes->count;
    uint32_t *final = malloc((*count + 1) * sizeof *final);
    bool fine = final != NULL;
    for (size_t c = 0; fine && c < *count; c++)
        final[c] = (uint32_t)c;
    for (size_t c = 0; fine && c < groups->count; c++) {
        if (groups->of_class[c].bins.count == 0) continue;
        const histogram h = histogram_of(&groups->of_class[c]);
        fine = split_class(&h, (uint32_t)c, classes, final);
    }
    *final_of = final;
    return fine;
}

/* Ten readings of a sample ring: with fewer, a fitted power is no better than the mean of the two. */
static const double joint_min_s = 0.2;
static const double joint_min_share = 0.01;

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

/* False if memory is out; *pair is NULL if there are too many. */
static bool pair_of(jm__pairs *pairs, const uint32_t key[2], const jm__pair **pair)
{
    const jm__map_value *found = jm__map_find(&pairs->numbers, key);
    *pair = NULL;
    if (found == NULL && pairs->items.count == JM_PAIRS_MAX) return true;
    if (found == NULL) {
        uint32_t next = (uint32_t)pairs->groups->next;
        const jm__pair new_item = {{key[0], key[1]}, {next, next + 1}};
        if (!jm__map_put(&pairs->numbers, key, (jm__map_value){.id = (int64_t)pairs->items.count}) ||
            !jm__vec_push(&pairs->items, new_item))
            return false;
        pairs->groups->next += 2;
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

static bool add_joint_classes(const jm__pair *pair, jm__classes *classes, uint32_t *final_of)
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
        if (rank[i].seconds >= joint_min_s && rank[i].seconds >= joint_min_share * ran_s[0])
            fine = add_joint_classes(&pairs->items.items[rank[i].pair], classes, final_of);
    free(ran_s);
    free(rank);
    return fine;
}
