/* Steps take longer while they are traced: by how much, tell those of their kind that were not, the ones that
 * they stand for. Medians, since single steps may wait for anything. */
#include "attribute/stand/find.h"
#include "rows/span_kind.h"

#include <math.h>
#include <stdlib.h>

/* How long a step took, for the turn that it is of or that stands for it. */
typedef struct length {
    uint32_t turn;
    bool traced;
    double seconds;
} length;

typedef JM_VEC(length) lengths;

static int by_turn_and_length(const void *a, const void *b)
{
    const length *left = a, *right = b;
    if (left->turn != right->turn) return left->turn < right->turn ? -1 : 1;
    if (left->traced != right->traced) return left->traced ? 1 : -1;
    return (left->seconds > right->seconds) - (left->seconds < right->seconds);
}

/* While steps alone count, all else is recorded only to get ready, and costs as much. */
static void mark_recorded(jm__stands *out, const jm__dataset *d)
{
    for (size_t i = 0; i < d->span_count; i++) {
        jm_span_kind kind = d->spans[i].kind;
        if (out->lap_of_span[i] == 0 || jm__span_kind_is_container(kind) || kind == JM_SPAN_DATA) continue;
        out->laps.items[out->lap_of_span[i] - 1].recorded = true;
    }
}

static bool collect(lengths *all, const jm__stands *out, const jm__stands_wanted *w)
{
    for (size_t i = 0; i < out->laps.count; i++) {
        const jm__lap *lap = &out->laps.items[i];
        int64_t end_ns = lap->step_end_ns, length_ns = end_ns - lap->start_ns;
        const jm__windows *steps = &w->traced[lap->process].steps;
        if (lap->stand >= out->turns.count || (!lap->traced && lap->recorded)) continue;
        if (!lap->traced && jm__windows_overlap_ns(steps, lap->start_ns, end_ns) < length_ns) continue;
        const length one = {lap->stand, lap->traced, (double)length_ns * 1e-9};
        if (!jm__vec_push(all, one)) return false;
    }
    if (all->count > 1) qsort(all->items, all->count, sizeof *all->items, by_turn_and_length);
    return true;
}

/* Of those from `at` on of this turn and kind; NAN: there are none. */
static double median(const lengths *all, size_t *at, uint32_t turn, bool traced)
{
    size_t first = *at;
    while (*at < all->count && all->items[*at].turn == turn && all->items[*at].traced == traced)
        ++*at;
    size_t count = *at - first;
    const length *of = all->items + first;
    return count == 0 ? NAN : (of[(count - 1) / 2].seconds + of[count / 2].seconds) / 2;
}

/* One kind's turns, [first, end): how much longer all its traced steps took than the others'. */
static void find_kind(jm__stands *out, size_t first, size_t end, const double *traced_s, const double *told_s,
                      double sums[2])
{
    double more_s = 0, less_s = 0;
    for (size_t t = first; t < end; t++) {
        double steps = (double)out->turns.items[t].laps;
        if (isnan(told_s[t]) || isnan(traced_s[t])) continue;
        more_s += steps * (traced_s[t] - told_s[t]);
        less_s += steps * told_s[t];
        out->slowed += out->turns.items[t].laps;
    }
    if (!(less_s > 0)) return;
    double share = fmax(0, more_s / (more_s + less_s));
    for (size_t t = first; t < end; t++)
        out->turns.items[t].slowed_s = share * (double)out->turns.items[t].laps * traced_s[t];
    sums[0] += more_s;
    sums[1] += less_s;
}

bool jm__slowed_find(jm__stands *out, const jm__stands_wanted *w)
{
    lengths all = {0};
    size_t turns = out->turns.count, at = 0;
    double *medians = malloc((2 * turns + 1) * sizeof *medians), sums[2] = {0};
    mark_recorded(out, w->spans->dataset);
    bool fine = medians != NULL && collect(&all, out, w);
    for (size_t t = 0; fine && t < turns; t++) {
        medians[turns + t] = median(&all, &at, (uint32_t)t, false);
        medians[t] = median(&all, &at, (uint32_t)t, true);
    }
    for (size_t first = 0, end; fine && first < turns; first = end) {
        for (end = first + 1; end < turns && out->turns.items[end].kind == out->turns.items[first].kind;)
            end++;
        find_kind(out, first, end, medians, medians + turns, sums);
    }
    if (fine && sums[1] > 0) out->slow_down = sums[0] / sums[1];
    free(medians);
    jm__vec_free(&all);
    return fine;
}
