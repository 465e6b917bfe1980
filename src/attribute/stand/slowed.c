/* Steps take longer while they are traced: by how much, tell those of their kind that were not, the ones that
 * they stand for. Medians, since single steps may wait for anything. */
#include "attribute/stand/find.h"
#include "base/order.h"
#include "rows/span_kind.h"

#include <math.h>
#include <stdlib.h>

/* How long steps took: for each turn those that it stands for, then its own. */
typedef struct lengths {
    double *seconds;
    size_t *end; /* [2 * turns] */
} lengths;

typedef struct middle {
    double count, median_s, width_s; /* between the quartiles */
} middle;

/* Of a turn. */
typedef struct middles {
    middle traced, told;
} middles;

/* While steps alone count, all else is recorded only to get ready, and costs as much. */
static void mark_recorded(jm__stands *out, const jm__dataset *d)
{
    for (size_t i = 0; i < d->span_count; i++) {
        jm_span_kind kind = d->spans[i].kind;
        if (out->lap_of_span[i] == 0 || jm__span_kind_is_container(kind) || kind == JM_SPAN_DATA) continue;
        out->laps.items[out->lap_of_span[i] - 1].recorded = true;
    }
}

/* Does its time tell of its kind, traced or not? */
static bool counts(const jm__stands *out, const jm__lap *lap, const jm__windows *steps, size_t *at)
{
    int64_t end_ns = lap->step_end_ns;
    if (lap->stand >= out->turns.count || lap->warm_up) return false;
    if (lap->traced) return true;
    return !lap->recorded &&
           jm__windows_next_overlap_ns(steps, at, lap->start_ns, end_ns) >= end_ns - lap->start_ns;
}

static size_t group_of(const jm__lap *lap)
{
    return 2 * (size_t)lap->stand + lap->traced;
}

/* Each lap that counts to its group; without room for seconds, their number alone. */
static void walk(lengths *all, const jm__stands *out, const jm__stands_wanted *w)
{
    for (size_t p = 0; p < out->processes; p++) {
        size_t at = 0;
        for (size_t i = out->laps_of[p]; i < out->laps_of[p + 1]; i++) {
            const jm__lap *lap = &out->laps.items[i];
            if (!counts(out, lap, &w->traced[p].steps, &at)) continue;
            size_t to = all->end[group_of(lap)]++;
            if (all->seconds != NULL) all->seconds[to] = (double)(lap->step_end_ns - lap->start_ns) * 1e-9;
        }
    }
}

static bool collect(lengths *all, const jm__stands *out, const jm__stands_wanted *w)
{
    size_t groups = 2 * out->turns.count, before = 0;
    all->end = calloc(groups + 1, sizeof *all->end);
    if (all->end == NULL) return false;
    walk(all, out, w);
    for (size_t g = 0; g < groups; g++) {
        size_t count = all->end[g];
        all->end[g] = before;
        before += count;
    }
    all->seconds = malloc((before + 1) * sizeof *all->seconds);
    if (all->seconds != NULL) walk(all, out, w);
    return all->seconds != NULL;
}

/* Of a group; no count: there are none. */
static middle find_middle(const lengths *all, size_t group)
{
    size_t first = group == 0 ? 0 : all->end[group - 1], count = all->end[group] - first;
    double *of = all->seconds + first;
    middle out = {.count = (double)count, .median_s = NAN};
    if (count == 0) return out;
    jm__sort(of, count, sizeof *of, jm__compare_doubles);
    out.median_s = (of[(count - 1) / 2] + of[count / 2]) / 2;
    out.width_s = of[count - 1 - count / 4] - of[count / 4];
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
    size_t turns = out->turns.count;
    middles *of = calloc(turns + 1, sizeof *of);
    double sums[2] = {0};
    mark_recorded(out, w->spans->dataset);
    bool fine = of != NULL && collect(&all, out, w);
    for (size_t t = 0; fine && t < turns; t++) {
        of[t].told = find_middle(&all, 2 * t);
        of[t].traced = find_middle(&all, 2 * t + 1);
    }
    for (size_t first = 0, end; fine && first < turns; first = end) {
        for (end = first + 1; end < turns && out->turns.items[end].kind == out->turns.items[first].kind;)
            end++;
        find_kind(out, first, end, of, sums);
    }
    if (fine && sums[1] > 0) out->slow_down = sums[0] / sums[1];
    free(of);
    free(all.seconds);
    free(all.end);
    return fine;
}
