/* Gaps in the histogram of a kernel's durations. */
#include "attribute/work/duration_groups.h"

#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    BINS_PER_OCTAVE = 4,
    BINS = 40 * BINS_PER_OCTAVE, /* up to 2^40 ns, 18 minutes */
    LEAST_CALLS = 50,
    GROUPS_MAX = 8
};

static const double valley_share = 0.005; /* a bin with fewer of the calls lies between groups */
static const double group_share = 0.02;   /* a group has at least this many */

typedef struct histogram {
    uint32_t count[BINS];
    uint32_t group[BINS]; /* class of the calls in this bin, once split */
    uint32_t calls;
} histogram;

static size_t bin_of(int64_t duration_ns)
{
    if (duration_ns < 1) return 0;
    double bin = log2((double)duration_ns) * BINS_PER_OCTAVE;
    return bin >= BINS ? BINS - 1 : (size_t)bin;
}

/* Bounds of groups: [first[g], first[g + 1]). Returns how many. */
static size_t find_groups(const histogram *h, size_t first[GROUPS_MAX + 1])
{
    size_t groups = 0, start = 0, valley = 0; /* valley: where the last group ended, 0: inside one */
    double calls = 0, all = h->calls;
    for (size_t bin = 0; bin < BINS; bin++) {
        bool low = h->count[bin] < valley_share * all || h->count[bin] == 0;
        if (low && calls >= group_share * all && valley == 0) valley = bin;
        if (!low && valley != 0 && groups + 1 < GROUPS_MAX) {
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

static jm_status split_class(histogram *h, uint32_t class_index, jm__classes *classes, jm_error *err)
{
    size_t first[GROUPS_MAX + 1];
    size_t groups = h->calls >= LEAST_CALLS ? find_groups(h, first) : 1;
    for (size_t bin = 0; bin < BINS; bin++)
        h->group[bin] = class_index;
    for (size_t g = 0; g < groups && groups > 1; g++) {
        size_t longest = first[g];
        for (size_t bin = first[g]; bin < first[g + 1]; bin++)
            if (h->count[bin] > h->count[longest]) longest = bin;
        jm__class copy = classes->items[class_index];
        copy.typical_us = exp2((double)longest / BINS_PER_OCTAVE + 0.5 / BINS_PER_OCTAVE) * 1e-3;
        if (g > 0 && !jm__vec_push(classes, copy)) return jm__no_memory(err, "jm__work_build");
        uint32_t own = g > 0 ? (uint32_t)classes->count - 1 : class_index;
        classes->items[own].typical_us = copy.typical_us;
        for (size_t bin = first[g]; bin < first[g + 1]; bin++)
            h->group[bin] = own;
    }
    return JM_OK;
}

static bool may_split(const jm__class *row)
{
    return row->grid[0] == 0 && strcmp(row->kind, "kernel") == 0;
}

typedef struct splitter {
    JM_VEC(histogram) histograms;
    uint32_t *of_class; /* number of its histogram, from 1; 0: none */
    size_t count;       /* classes before the split */
} splitter;

static const histogram *histogram_of(const splitter *s, const jm__item *item)
{
    if (item->calls != 1 || item->class_index >= s->count || s->of_class[item->class_index] == 0) return NULL;
    return &s->histograms.items[s->of_class[item->class_index] - 1];
}

static jm_status count_durations(splitter *s, const jm__work_set *work, size_t b, jm_error *err)
{
    for (size_t i = 0; i < work->boards[b].count; i++) {
        const jm__item *item = &work->boards[b].items[i];
        if (item->calls != 1 || !may_split(&work->classes.items[item->class_index])) continue;
        uint32_t *number = &s->of_class[item->class_index];
        if (*number == 0) {
            if (!jm__vec_push(&s->histograms, (histogram){0})) return jm__no_memory(err, "jm__work_build");
            *number = (uint32_t)s->histograms.count;
        }
        histogram *h = &s->histograms.items[*number - 1];
        h->count[bin_of(item->end_ns - item->start_ns)]++;
        h->calls++;
    }
    return JM_OK;
}

static jm_status split(splitter *s, jm__work_set *work, jm_error *err)
{
    for (size_t b = 0; b < work->board_count; b++)
        JM_TRY(count_durations(s, work, b, err));
    for (size_t c = 0; c < s->count; c++)
        if (s->of_class[c] != 0)
            JM_TRY(split_class(&s->histograms.items[s->of_class[c] - 1], (uint32_t)c, &work->classes, err));
    for (size_t b = 0; b < work->board_count; b++) {
        for (size_t i = 0; i < work->boards[b].count; i++) {
            jm__item *item = &work->boards[b].items[i];
            const histogram *h = histogram_of(s, item);
            if (h != NULL) item->class_index = h->group[bin_of(item->end_ns - item->start_ns)];
        }
    }
    return JM_OK;
}

jm_status jm__duration_groups_split(jm__work_set *work, jm_error *err)
{
    splitter s = {.count = work->classes.count};
    s.of_class = calloc(s.count + 1, sizeof *s.of_class);
    if (s.of_class == NULL) return jm__no_memory(err, "jm__work_build");
    jm_status status = split(&s, work, err);
    jm__vec_free(&s.histograms);
    free(s.of_class);
    return status;
}
