/* Steps take longer while they are traced: by how much, tell those of their kind that were not, the ones that
 * they stand for. Medians, since single steps may wait for anything. */
#include "attribute/sampling/parts.h"
#include "base/order.h"
#include "format/rows/span_kind.h"

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

/* How much longer the traced steps of a kind took than others, of all counts. */
typedef struct kind_sum {
    double more_s, less_s, variance;
} kind_sum;

static size_t kind_of(const jm__stands *stands, size_t turn)
{
    return stands->whole_of.items[stands->turns.items[turn].kind - 1] - 1;
}

static void add_turn(kind_sum *sum, const jm__turn *turn, const middles *of)
{
    double steps = (double)turn->laps;
    if (isnan(of->told.median_s) || isnan(of->traced.median_s)) return;
    sum->more_s += steps * (of->traced.median_s - of->told.median_s);
    sum->less_s += steps * of->told.median_s;
    sum->variance += pow(steps * difference_u_s(&of->traced, &of->told), 2);
}

static void share_out(jm__turn *turn, const middles *of, const kind_sum *sum)
{
    if (!(sum->less_s > 0)) return;
    double share = (double)turn->laps * of->traced.median_s / (sum->more_s + sum->less_s);
    turn->slowed_s = share * fmax(0, sum->more_s);
    turn->slowed_u_s = share * sqrt(sum->variance);
}

/* `of`: [turns], `kinds`: [kinds], all 0. */
static void find_all(jm__stands *out, const middles *of, kind_sum *kinds)
{
    double more_s = 0, less_s = 0;
    for (size_t t = 0; t < out->turns.count; t++)
        add_turn(&kinds[kind_of(out, t)], &out->turns.items[t], &of[t]);
    for (size_t t = 0; t < out->turns.count; t++)
        share_out(&out->turns.items[t], &of[t], &kinds[kind_of(out, t)]);
    for (size_t k = 0; k < out->whole_of.count; k++) {
        more_s += kinds[k].more_s;
        less_s += kinds[k].less_s;
    }
    if (less_s > 0) out->slow_down = more_s / less_s;
}

bool jm__slowed_find(jm__stands *out, const jm__stands_wanted *w)
{
    lengths all = {0};
    size_t turns = out->turns.count;
    middles *of = calloc(turns + 1, sizeof *of);
    kind_sum *kinds = calloc(out->whole_of.count + 1, sizeof *kinds);
    mark_recorded(out, w->spans->dataset);
    bool fine = of != NULL && kinds != NULL && collect(&all, out, w);
    for (size_t t = 0; fine && t < turns; t++) {
        of[t].told = find_middle(&all, 2 * t);
        of[t].traced = find_middle(&all, 2 * t + 1);
    }
    if (fine) find_all(out, of, kinds);
    free(of);
    free(kinds);
    free(all.seconds);
    free(all.end);
    return fine;
}
