/* Groups in the histogram of a kernel's durations, and the choice of pairs. */
#include "attribute/work/joint.h"

#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Pairs that are counted in the pass, that get a column, and whose joules are shared one by one. */
enum { JM_PAIRS_MAX = 4096, JM_JOINT_MAX = 16, CROWDED_MAX = 512 };

enum {
    BINS_PER_OCTAVE = 4,
    BINS = 40 * BINS_PER_OCTAVE, /* up to 2^40 ns, 18 minutes */
    CALLS_MIN = 50,
    GROUPS_MAX = 8
};

static const double valley_share = 0.005; /* a bin with fewer of the calls lies between groups */
static const double group_share = 0.02;   /* of the calls: the smallest group */
static const double chance_max = 1e-3;    /* that evenly distributed calls leave such a valley */

/* Calls by duration: in time, and in clock cycles. */
enum { BY_TIME, BY_CYCLES, WAYS };

typedef struct histogram {
    uint32_t count[BINS];
    uint32_t calls;
} histogram;

/* The bins that have any, in the order in which they came: few, and there may be a million classes. Their
 * calls are a class of their own, `provisional`, while they are counted. */
typedef struct used_bin {
    uint32_t count, provisional, bin[WAYS];
} used_bin;

typedef struct jm__used_bins {
    JM_VEC(used_bin) bins;
} used_bins;

static histogram histogram_of(const used_bins *used, int way)
{
    histogram h = {0};
    for (size_t i = 0; i < used->bins.count; i++) {
        const used_bin *bin = &used->bins.items[i];
        h.count[bin->bin[way]] += bin->count;
        h.calls += bin->count;
    }
    return h;
}

static size_t bin_of(double duration)
{
    if (duration < 1) return 0;
    double bin = log2(duration) * BINS_PER_OCTAVE;
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

/* The length of most calls of a group, us. */
static double typical_us(const used_bins *used, int way, size_t first, size_t end)
{
    const used_bin *most = NULL;
    for (size_t i = 0; i < used->bins.count; i++) {
        const used_bin *bin = &used->bins.items[i];
        bool in = bin->bin[way] >= first && bin->bin[way] < end;
        if (in && (most == NULL || bin->count > most->count)) most = bin;
    }
    return most != NULL ? exp2(((double)most->bin[BY_TIME] + 0.5) / BINS_PER_OCTAVE) * 1e-3 : 0;
}

/* Sets what the provisional classes of a class are in the end. A clock that moves makes one kernel take two
 * times, if it waits for cores, and two numbers of cycles, if it waits for memory: the way that needs fewer
 * groups is the simpler one. */
static bool split_class(const used_bins *used, uint32_t class_index, jm__classes *classes, uint32_t *final_of)
{
    size_t first[WAYS][GROUPS_MAX + 1], groups[WAYS];
    for (int way = 0; way < WAYS; way++) {
        const histogram h = histogram_of(used, way);
        groups[way] = h.calls >= CALLS_MIN ? find_groups(&h, first[way]) : 1;
        if (groups[way] > 1) continue;
        first[way][0] = 0;
        first[way][1] = BINS;
    }
    int way = groups[BY_CYCLES] < groups[BY_TIME] ? BY_CYCLES : BY_TIME;
    for (size_t g = 0; g < groups[way]; g++) {
        size_t from = first[way][g], end = first[way][g + 1];
        jm__class copy = classes->items[class_index];
        if (groups[way] > 1) copy.typical_us = typical_us(used, way, from, end);
        if (g > 0 && !jm__vec_push(classes, copy)) return false;
        uint32_t own = g > 0 ? (uint32_t)classes->count - 1 : class_index;
        classes->items[own].typical_us = copy.typical_us;
        for (size_t i = 0; i < used->bins.count; i++)
            if (used->bins.items[i].bin[way] >= from && used->bins.items[i].bin[way] < end)
                final_of[used->bins.items[i].provisional] = own;
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

bool jm__duration_groups_count(jm__duration_groups *groups, jm__item *item, double clock_mhz)
{
    const jm__class *row = &groups->classes->items[item->class_index];
    if (item->calls != 1 || strcmp(row->kind, "kernel") != 0) return true;
    used_bins *used = &groups->of_class[item->class_index];
    double length_ns = (double)(item->end_ns - item->start_ns);
    uint32_t time = (uint32_t)bin_of(length_ns), cycles = (uint32_t)bin_of(length_ns * clock_mhz * 1e-3);
    size_t at = 0;
    while (at < used->bins.count &&
           (used->bins.items[at].bin[BY_TIME] != time || used->bins.items[at].bin[BY_CYCLES] != cycles))
        at++;
    if (at == used->bins.count) {
        const used_bin new_item = {.provisional = (uint32_t)groups->next, .bin = {time, cycles}};
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
        fine = split_class(&groups->of_class[c], (uint32_t)c, classes, final);
    }
    *final_of = final;
    return fine;
}

/* Ten readings of a sample ring: with fewer, a fitted power is no better than the mean of the two. */
static const double joint_min_s = 0.2;
static const double joint_min_share = 0.01;

void jm__pairs_begin(jm__pairs *pairs, jm__uses *uses, jm__duration_groups *groups, uint32_t multiprocessors)
{
    *pairs = (jm__pairs){.uses = uses, .groups = groups, .multiprocessors = multiprocessors};
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

/* What runs beside others without a column for both: each pair, of seldom ones all of a kind. */
static bool crowd(const jm__pair *pair, const jm__pairs *pairs, bool seldom, uint32_t *crowded_of,
                  jm__classes *classes, uint32_t *final_of)
{
    float weights[2];
    for (size_t side = 0; side < 2; side++)
        weights[side] =
            jm__multiprocessors_of(&classes->items[pair->class_index[side]], pairs->multiprocessors);
    for (size_t side = 0; side < 2; side++) {
        uint32_t alone = pair->class_index[side];
        if (!seldom || crowded_of[alone] == 0) {
            jm__class crowded = classes->items[alone];
            crowded.joint = crowded.crowded = true;
            crowded.alone = crowded.column_with = alone;
            crowded.beside = pair->class_index[!side];
            crowded.beside_part = seldom ? 0 : (double)(weights[!side] / (weights[0] + weights[1]));
            final_of[pair->provisional[side]] = (uint32_t)classes->count;
            if (seldom) crowded_of[alone] = (uint32_t)classes->count;
            if (!jm__vec_push(classes, crowded)) return false;
        } else
            final_of[pair->provisional[side]] = crowded_of[alone];
    }
    return true;
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
    uint32_t *crowded_of = calloc(pairs->groups->next + 1, sizeof *crowded_of);
    bool fine = ran_s != NULL && rank != NULL && crowded_of != NULL;
    if (fine) add_up(ran_s, pairs, tallies, count);
    for (size_t i = 0; fine && i < pairs->items.count; i++) {
        const jm__pair *pair = &pairs->items.items[i];
        rank[i] = (ranked){ran_s[1 + pair->provisional[0]], i};
    }
    if (fine) qsort(rank, pairs->items.count, sizeof *rank, longest_first);
    for (size_t i = 0; fine && i < pairs->items.count; i++) {
        bool own = i < JM_JOINT_MAX && rank[i].seconds >= joint_min_s &&
                   rank[i].seconds >= joint_min_share * ran_s[0];
        const jm__pair *pair = &pairs->items.items[rank[i].pair];
        fine = own ? add_joint_classes(pair, classes, final_of)
                   : crowd(pair, pairs, i >= CROWDED_MAX, crowded_of, classes, final_of);
    }
    free(crowded_of);
    free(ran_s);
    free(rank);
    return fine;
}
