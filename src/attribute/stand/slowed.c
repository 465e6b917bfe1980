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

typedef struct middle {
    double count, median_s, width_s; /* between the quartiles */
} middle;

/* Of a turn. */
typedef struct middles {
    middle traced, told;
} middles;

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
        if (lap->stand >= out->turns.count || lap->warm_up || (!lap->traced && lap->recorded)) continue;
        if (!lap->traced && jm__windows_overlap_ns(steps, lap->start_ns, end_ns) < length_ns) continue;
        const length one = {lap->stand, lap->traced, (double)length_ns * 1e-9};
        if (!jm__vec_push(all, one)) return false;
    }
    if (all->count > 1) qsort(all->items, all->count, sizeof *all->items, by_turn_and_length);
    return true;
}

/* Of those from `at` on of this turn: no count, there are none. */
static middle find_middle(const lengths *all, size_t *at, uint32_t turn, bool traced)
{
    size_t first = *at;
    middle out = {.median_s = NAN};
    while (*at < all->count && all->items[*at].turn == turn && all->items[*at].traced == traced)
        ++*at;
    const length *of = all->items + first;
    size_t count = *at - first;
    if (count == 0) return out;
    out.count = (double)count;
    out.median_s = (of[(count - 1) / 2].seconds + of[count / 2].seconds) / 2;
    out.width_s = of[count - 1 - count / 4].seconds - of[count / 4].seconds;
    return out;
}

/* Standard deviation of the difference of two medians; quartiles of a normal distribution are 1.35 standard
 * deviations apart, and a median is 1.25 times as unsure as a mean. */
static double difference_u_s(const middle *traced, const middle *told)
{
    double width_s =
        (traced->count * traced->width_s + told->count * told->width_s) / (traced->count + told->count);
    return 1.25 * width_s / 1.35 * sqrt(1 / traced->count + 1 / told->count);
}

/* One kind's turns, [first, end): how much longer all its traced steps took than the others'. */
static void find_kind(jm__stands *out, size_t first, size_t end, const middles *of, double sums[2])
{
    double more_s = 0, less_s = 0, variance = 0;
    for (size_t t = first; t < end; t++) {
        double steps = (double)out->turns.items[t].laps;
        if (isnan(of[t].told.median_s) || isnan(of[t].traced.median_s)) continue;
        more_s += steps * (of[t].traced.median_s - of[t].told.median_s);
        less_s += steps * of[t].told.median_s;
        variance += pow(steps * difference_u_s(&of[t].traced, &of[t].told), 2);
    }
    if (!(less_s > 0)) return;
    for (size_t t = first; t < end; t++) {
        jm__turn *turn = &out->turns.items[t];
        double share = (double)turn->laps * of[t].traced.median_s / (more_s + less_s);
        turn->slowed_s = share * fmax(0, more_s);
        turn->slowed_u_s = share * sqrt(variance);
    }
    sums[0] += more_s;
    sums[1] += less_s;
}

bool jm__slowed_find(jm__stands *out, const jm__stands_wanted *w)
{
    lengths all = {0};
    size_t turns = out->turns.count, at = 0;
    middles *of = calloc(turns + 1, sizeof *of);
    double sums[2] = {0};
    mark_recorded(out, w->spans->dataset);
    bool fine = of != NULL && collect(&all, out, w);
    for (size_t t = 0; fine && t < turns; t++) {
        of[t].told = find_middle(&all, &at, (uint32_t)t, false);
        of[t].traced = find_middle(&all, &at, (uint32_t)t, true);
    }
    for (size_t first = 0, end; fine && first < turns; first = end) {
        for (end = first + 1; end < turns && out->turns.items[end].kind == out->turns.items[first].kind;)
            end++;
        find_kind(out, first, end, of, sums);
    }
    if (fine && sums[1] > 0) out->slow_down = sums[0] / sums[1];
    free(of);
    jm__vec_free(&all);
    return fine;
}
