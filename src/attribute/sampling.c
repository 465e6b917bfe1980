/* Steps in order and their kinds, the turns of traced ones, and who stands for whom. */
#include "attribute/sampling.h"

#include "base/alike.h"
#include "base/order.h"
#include "base/search.h"
#include "base/status.h"
#include "format/rows/span_kind.h"

#include <joulemap/repeats.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Kinds as narrow in their counts as there are traced steps for: what a step takes goes with its samples and
 * tokens, and nobody knows how. So a kind is halved by the counts of its traced steps, again and again, until
 * their counts are alike or there are too few of them; each part is a kind of its own.
 *
 * How long a step took is known of every one, and parts a kind too: where a few steps do something else under
 * the same name (a checkpoint each 50th), whatever share of them a turn has caught. What tracing adds to a
 * step is far less than what they have to differ by. */

/* A choice: what counts in one part are more than the least of them does not matter beside what equal steps
 * differ by; and of how many traced steps a part is told at least. Between the times of two parts lie none:
 * the longer takes so many times as long. There one traced step is enough: it is more like the others as long
 * than the short ones are. */
static const double transfer = 0.05, times_as_long = 3;

enum { LEAST_STEPS = 3 };

enum { SAMPLES, TOKENS, LENGTH_US, COUNTS };

typedef struct counted {
    uint32_t of[COUNTS];
} counted;

/* A kind, or a part of one: traced steps [first, end). */
typedef struct part {
    size_t first, end;
    size_t below;  /* the first of its two halves, by index; 0: it has none */
    int by;        /* which count they are halved by */
    uint32_t from; /* where the upper half begins */
} part;

typedef struct parts {
    counted *traced;    /* [traced steps], by part */
    JM_VEC(part) items; /* the kinds, by number - 1, then halves */
} parts;

static counted counted_of(const jm__step_interval *step_interval, const jm__strata_requested *w)
{
    const jm__span *step = &w->spans->dataset->spans[step_interval->span];
    int64_t length_us = (step_interval->step_end_ns - step_interval->start_ns) / 1000;
    uint32_t length = length_us < 0 ? 0 : length_us < UINT32_MAX ? (uint32_t)length_us : UINT32_MAX;
    return (counted){{step->samples, step->tokens, length}};
}

static bool collect_steps(parts *out, const jm__strata *strata, const jm__strata_requested *w)
{
    size_t kinds = strata->free_kind_of.count, count = 0;
    out->items.items = calloc(kinds + 1, sizeof *out->items.items);
    if (out->items.items == NULL) return false;
    out->items.count = kinds;
    out->items.capacity = kinds + 1;
    for (size_t i = 0; i < strata->step_intervals.count; i++)
        if (jm__step_interval_is_sampled(&strata->step_intervals.items[i]))
            out->items.items[strata->step_intervals.items[i].kind - 1].end++;
    for (size_t k = 0; k < kinds; k++) {
        size_t of_kind = out->items.items[k].end;
        out->items.items[k].first = out->items.items[k].end = count;
        count += of_kind;
    }
    out->traced = malloc((count + 1) * sizeof *out->traced);
    for (size_t i = 0; out->traced != NULL && i < strata->step_intervals.count; i++) {
        const jm__step_interval *step_interval = &strata->step_intervals.items[i];
        if (jm__step_interval_is_sampled(step_interval))
            out->traced[out->items.items[step_interval->kind - 1].end++] = counted_of(step_interval, w);
    }
    return out->traced != NULL;
}

static int compare(const void *a, const void *b, void *by)
{
    int of = *(const int *)by;
    uint32_t left = ((const counted *)a)->of[of], right = ((const counted *)b)->of[of];
    return (left > right) - (left < right);
}

/* How far a count of a part's steps is apart, relative. */
static double spread_of(const parts *all, const part *p, int by)
{
    uint32_t least = UINT32_MAX, most = 0;
    for (size_t i = p->first; i < p->end; i++) {
        uint32_t count = all->traced[i].of[by];
        if (count < least) least = count;
        if (count > most) most = count;
    }
    return least > 0 && most > least ? (double)most / (double)least - 1 : 0;
}

/* Where its steps, in order, are best parted: as near to the middle as their counts allow; 0: nowhere. */
static size_t place_of(const parts *all, const part *p, int by)
{
    size_t best = 0, middle = (p->first + p->end) / 2;
    for (size_t i = p->first + LEAST_STEPS; i + LEAST_STEPS <= p->end; i++) {
        if (all->traced[i].of[by] == all->traced[i - 1].of[by]) continue;
        size_t off = i > middle ? i - middle : middle - i;
        if (best == 0 || off < (best > middle ? best - middle : middle - best)) best = i;
    }
    return best;
}

/* Where the next longer step takes much longer, most of all; 0: nowhere. */
static size_t gap_of(const parts *all, const part *p)
{
    size_t best = 0;
    double most = times_as_long;
    for (size_t i = p->first + 1; i < p->end; i++) {
        double times = all->traced[i].of[LENGTH_US] / fmax(1, all->traced[i - 1].of[LENGTH_US]);
        if (times < most) continue;
        most = times;
        best = i;
    }
    return best;
}

/* By this count, if it is not alike in all of the part. */
static bool halve(parts *all, size_t number, int by)
{
    part p = all->items.items[number];
    if (spread_of(all, &p, by) <= transfer) return true;
    qsort_r(all->traced + p.first, p.end - p.first, sizeof *all->traced, compare, &by);
    size_t at = by == LENGTH_US ? gap_of(all, &p) : place_of(all, &p, by);
    if (at == 0) return true;
    uint32_t under = all->traced[at - 1].of[by], over = all->traced[at].of[by];
    p.by = by;
    p.from = under + (over - under + 1) / 2;
    p.below = all->items.count;
    all->items.items[number] = p;
    return jm__vec_push(&all->items, ((part){.first = p.first, .end = at})) &&
           jm__vec_push(&all->items, ((part){.first = at, .end = p.end}));
}

/* By length, then by what differs most, by the other count where that has no place. Halves come behind all
 * others. */
static bool halve_all(parts *all, jm__strata *strata)
{
    bool fine = true;
    for (size_t n = 0; fine && n < all->items.count; n++) {
        const part *p = &all->items.items[n];
        int first = spread_of(all, p, TOKENS) >= spread_of(all, p, SAMPLES) ? TOKENS : SAMPLES;
        const int order[] = {LENGTH_US, first, first == TOKENS ? SAMPLES : TOKENS};
        size_t count = all->items.count;
        for (int i = 0; fine && i < COUNTS && all->items.count == count; i++)
            fine = halve(all, n, order[i]);
        for (; fine && count < all->items.count; count++)
            fine = jm__vec_push(&strata->free_kind_of, strata->free_kind_of.items[n]) &&
                   jm__vec_push(&strata->unsplit_kind_of, strata->unsplit_kind_of.items[n]);
    }
    return fine;
}

/* The number of the part that a step of a kind is of. */
static uint32_t part_of(const parts *all, const jm__step_interval *step_interval,
                        const jm__strata_requested *w)
{
    size_t at = step_interval->kind - 1;
    while (all->items.items[at].below > 0) {
        const part *p = &all->items.items[at];
        at = p->below + (counted_of(step_interval, w).of[p->by] >= p->from);
    }
    return (uint32_t)at + 1;
}

/* Kinds whose counts differ become several, as far as traced steps go round. */
static bool counts_part(jm__strata *out, const jm__strata_requested *w)
{
    parts all = {0};
    bool fine = true;
    for (size_t k = 0; fine && k < out->free_kind_of.count; k++)
        fine = jm__vec_push(&out->unsplit_kind_of, (uint32_t)k + 1);
    fine = fine && collect_steps(&all, out, w) && halve_all(&all, out);
    for (size_t i = 0; fine && i < out->step_intervals.count; i++)
        out->step_intervals.items[i].kind = part_of(&all, &out->step_intervals.items[i], w);
    free(all.traced);
    jm__vec_free(&all.items);
    return fine;
}

/* Traced steps of a kind that lie together, and the nearest of them for each other step. */

/* On a shelf. */
#define NOWHERE SIZE_MAX

typedef struct burst_key {
    uint64_t process, interval, kind;
} burst_key;

typedef struct stratum_key {
    uint32_t burst, kind;
} stratum_key;

/* Turns by the kind that they are looked for by, and time. */
typedef struct shelf {
    uint32_t *bursts; /* numbers */
    size_t count;
    bool loose;
    const jm__strata *of;
} shelf;

static bool add_to_burst(jm__strata *out, jm__map *numbers, size_t step_interval,
                         const jm__strata_requested *w)
{
    jm__step_interval *now = &out->step_intervals.items[step_interval];
    int64_t end_ns = now->step_end_ns;
    const jm__intervals *on = &w->traced[now->process].on;
    size_t interval = jm__intervals_first_after(on, now->start_ns + (end_ns - now->start_ns) / 2);
    const burst_key key = {now->process, interval, now->kind};
    const jm__map_value *known = jm__map_find(numbers, &key);
    size_t number = known != NULL ? (size_t)known->id : out->bursts.count;
    const jm__traced_burst fresh = {.process = now->process,
                                    .kind = now->kind,
                                    .free_kind = out->free_kind_of.items[now->kind - 1],
                                    .interval = (uint32_t)interval,
                                    .span = now->span,
                                    .from_ns = now->start_ns,
                                    .slowed_s = NAN};
    if (known == NULL && (!jm__map_put(numbers, &key, (jm__map_value){.id = (int64_t)number}) ||
                          !jm__vec_push(&out->bursts, fresh)))
        return false;
    jm__traced_burst *burst = &out->bursts.items[number];
    now->stratum = (uint32_t)number;
    now->burst_index = burst->step_intervals++;
    burst->step_s += 1e-9 * (double)(end_ns - now->start_ns);
    if (end_ns > burst->to_ns) burst->to_ns = end_ns;
    return true;
}

static int by_kind_and_time(const void *a, const void *b, void *context)
{
    const shelf *on = context;
    const jm__traced_burst *left = &on->of->bursts.items[*(const uint32_t *)a],
                           *right = &on->of->bursts.items[*(const uint32_t *)b];
    uint32_t left_kind = on->loose ? left->free_kind : left->kind,
             right_kind = on->loose ? right->free_kind : right->kind;
    if (left_kind != right_kind) return left_kind < right_kind ? -1 : 1;
    return (left->from_ns > right->from_ns) - (left->from_ns < right->from_ns);
}

static bool fill(shelf *out, const jm__strata *of, bool loose)
{
    *out = (shelf){.count = of->bursts.count, .loose = loose, .of = of};
    out->bursts = malloc((out->count + 1) * sizeof *out->bursts);
    for (size_t i = 0; out->bursts != NULL && i < out->count; i++)
        out->bursts[i] = (uint32_t)i;
    if (out->bursts != NULL && out->count > 1)
        qsort_r(out->bursts, out->count, sizeof *out->bursts, by_kind_and_time, out);
    return out->bursts != NULL;
}

/* Turns in the order of their shelf: those of a kind stand together. */
static bool sort_bursts(jm__strata *out, shelf *strict)
{
    jm__traced_burst *sorted = malloc((out->bursts.count + 1) * sizeof *sorted);
    uint32_t *number = malloc((out->bursts.count + 1) * sizeof *number);
    bool fine = sorted != NULL && number != NULL;
    for (size_t i = 0; fine && i < strict->count; i++) {
        sorted[i] = out->bursts.items[strict->bursts[i]];
        number[strict->bursts[i]] = (uint32_t)i;
    }
    for (size_t i = 0; fine && i < strict->count; i++) {
        out->bursts.items[i] = sorted[i];
        strict->bursts[i] = (uint32_t)i;
    }
    for (size_t i = 0; fine && i < out->step_intervals.count; i++)
        if (jm__step_interval_is_sampled(&out->step_intervals.items[i]))
            out->step_intervals.items[i].stratum = number[out->step_intervals.items[i].stratum];
    free(sorted);
    free(number);
    return fine;
}

static const jm__traced_burst *burst_at(const shelf *on, size_t at)
{
    return &on->of->bursts.items[on->bursts[at]];
}

/* That it is looked for by. */
static uint32_t kind_at(const shelf *on, size_t at)
{
    return on->loose ? burst_at(on, at)->free_kind : burst_at(on, at)->kind;
}

static int64_t distance_ns(const jm__traced_burst *burst, int64_t t_ns)
{
    if (t_ns < burst->from_ns) return burst->from_ns - t_ns;
    return t_ns > burst->to_ns ? t_ns - burst->to_ns : 0;
}

static bool is_before(const shelf *on, size_t at, uint32_t kind, int64_t t_ns)
{
    uint32_t mine = kind_at(on, at);
    return mine < kind || (mine == kind && burst_at(on, at)->from_ns <= t_ns);
}

/* By place on the shelf; NOWHERE: none is of this kind. */
static size_t nearest(const shelf *on, uint32_t kind, int64_t t_ns)
{
    size_t best = NOWHERE, at;
    int64_t best_ns = INT64_MAX;
    jm__search(at, on->count, is_before(on, at, kind, t_ns));
    for (size_t i = at > 0 ? at - 1 : 0; i < on->count && i <= at; i++) {
        const jm__traced_burst *burst = burst_at(on, i);
        if (kind_at(on, i) != kind || distance_ns(burst, t_ns) >= best_ns) continue;
        best = i;
        best_ns = distance_ns(burst, t_ns);
    }
    return best;
}

static double apart(const jm__span *a, const jm__span *b)
{
    return fabs(log((a->samples + 1.0) / (b->samples + 1.0))) +
           fabs(log((a->tokens + 1.0) / (b->tokens + 1.0)));
}

/* Of the turns of one interval that stand together on the shelf, that whose counts are nearest to the step's:
 * they may be parts of a kind. */
static uint32_t most_like(const shelf *on, size_t place, const jm__span *step, const jm__span *spans)
{
    const jm__traced_burst *there = burst_at(on, place);
    uint32_t kind = kind_at(on, place), best = on->bursts[place];
    double least = INFINITY;
    while (place > 0 && kind_at(on, place - 1) == kind &&
           burst_at(on, place - 1)->interval == there->interval)
        place--;
    for (;
         place < on->count && kind_at(on, place) == kind && burst_at(on, place)->interval == there->interval;
         place++) {
        double distance = apart(step, &spans[burst_at(on, place)->span]);
        if (distance < least) best = on->bursts[place];
        least = fmin(least, distance);
    }
    return best;
}

/* The stand of a turn for steps of another kind than its own. */
static bool stand_in(jm__strata *out, jm__map *others, uint32_t burst, jm__step_interval *step_interval)
{
    const stratum_key key = {burst, step_interval->kind};
    const jm__map_value *known = jm__map_find(others, &key);
    const jm__stratum fresh = {burst, step_interval->span};
    step_interval->stratum = known != NULL ? (uint32_t)known->id : (uint32_t)out->items.count;
    return known != NULL || (jm__map_put(others, &key, (jm__map_value){.id = step_interval->stratum}) &&
                             jm__vec_push(&out->items, fresh));
}

/* In the same row if any was traced there, else wherever the like was. */
static bool find_stratum(jm__strata *out, jm__map *others, const shelf shelves[2], size_t step_interval,
                         const jm__span *spans)
{
    jm__step_interval *now = &out->step_intervals.items[step_interval];
    size_t place = nearest(&shelves[0], now->kind, now->start_ns);
    out->marked++;
    if (place != NOWHERE) {
        now->stratum = shelves[0].bursts[place];
        return true;
    }
    place = nearest(&shelves[1], out->free_kind_of.items[now->kind - 1], now->start_ns);
    out->missing += place == NOWHERE;
    return place == NOWHERE ||
           stand_in(out, others, most_like(&shelves[1], place, &spans[now->span], spans), now);
}

/* What is told by steps, but for those that nothing stands for, and pauses. */
static bool find_extrapolated(jm__strata *out, const jm__strata_requested *w)
{
    bool fine = true;
    for (size_t p = 0; fine && p < out->processes; p++) {
        for (size_t i = out->step_intervals_of[p]; fine && i < out->step_intervals_of[p + 1]; i++) {
            const jm__step_interval *step_interval = &out->step_intervals.items[i];
            if (step_interval->stratum != JM__NO_STRATUM)
                fine =
                    jm__intervals_add(&out->extrapolated[p], step_interval->start_ns, step_interval->end_ns);
        }
        jm__intervals_normalise(&out->extrapolated[p]);
        fine = fine && jm__intervals_intersect(&out->extrapolated[p], &w->traced[p].steps);
    }
    return fine;
}

/* Those of a process that are not traced find who stands for them. */
static bool find_of_process(jm__strata *out, jm__map *others, const shelf shelves[2], size_t process,
                            const jm__strata_requested *w)
{
    const jm__intervals *steps = &w->traced[process].steps;
    bool fine = true;
    size_t at = 0;
    for (size_t i = out->step_intervals_of[process]; fine && i < out->step_intervals_of[process + 1]; i++) {
        const jm__step_interval *step_interval = &out->step_intervals.items[i];
        if (jm__step_interval_is_sampled(step_interval))
            out->items.items[step_interval->stratum].span = step_interval->span;
        else if (!step_interval->traced && jm__intervals_next_overlap_ns(steps, &at, step_interval->start_ns,
                                                                         step_interval->end_ns) > 0)
            fine = find_stratum(out, others, shelves, i, w->spans->dataset->spans);
    }
    return fine;
}

static bool find_strata(jm__strata *out, shelf shelves[2], const jm__strata_requested *w)
{
    jm__map others = {.key_size = sizeof(stratum_key)};
    bool fine = sort_bursts(out, &shelves[0]) && fill(&shelves[1], out, true);
    for (size_t t = 0; fine && t < out->bursts.count; t++)
        fine = jm__vec_push(&out->items, ((jm__stratum){(uint32_t)t, 0}));
    for (size_t p = 0; fine && p < out->processes; p++)
        fine = find_of_process(out, &others, shelves, p, w);
    jm__map_free(&others);
    return fine;
}

/* Turns, and which of them stands for which other step intervals. */
static bool bursts_find(jm__strata *out, const jm__strata_requested *w)
{
    jm__map numbers = {.key_size = sizeof(burst_key)};
    shelf shelves[2] = {{0}};
    bool fine = true;
    for (size_t i = 0; fine && i < out->step_intervals.count; i++)
        if (jm__step_interval_is_sampled(&out->step_intervals.items[i])) fine = add_to_burst(out, &numbers, i, w);
    out->extrapolated = calloc(out->processes + 1, sizeof *out->extrapolated);
    fine = fine && out->extrapolated != NULL && fill(&shelves[0], out, false) &&
           find_strata(out, shelves, w) && find_extrapolated(out, w);
    jm__map_free(&numbers);
    free(shelves[0].bursts);
    free(shelves[1].bursts);
    return fine;
}

/* A step is traced if so much of it is: marks are made by code of the step's own edges. */
static const double traced_share = 0.95;

/* A row of the phase view, as rollup/views.c makes them: phases and windows by name, steps and epochs all
 * one. */
typedef struct row_key {
    int64_t kind, name;
    uint64_t outer;
} row_key;

typedef struct kind_key {
    uint64_t process, row;
    int64_t kind, name, samples, tokens;
} kind_key;

/* Numbers of keys, and of the last one asked for. */
typedef struct kind_numbers {
    jm__map map;
    unsigned char last[sizeof(kind_key)];
    uint32_t number; /* 0: none was */
} kind_numbers;

typedef struct collecting {
    jm__strata *out;
    const jm__strata_requested *w;
    kind_numbers rows, kinds, loose_kinds;
    bool *holds;      /* [spans]: a step or a phase lies in it */
    uint32_t *row_of; /* [spans]: number of the row of the innermost container at or around it, 0: none */
} collecting;

/* The number of a key, from 1; 0 if memory is out. Most steps are of the kind of the one before. */
static uint32_t number_of(kind_numbers *n, const void *key)
{
    if (n->number != 0 && memcmp(n->last, key, n->map.key_size) == 0) return n->number;
    const jm__map_value *known = jm__map_find(&n->map, key);
    uint32_t number = known != NULL ? (uint32_t)known->id : (uint32_t)n->map.count + 1;
    if (known == NULL && !jm__map_put(&n->map, key, (jm__map_value){.id = number})) return 0;
    memcpy(n->last, key, n->map.key_size);
    n->number = number;
    return number;
}

static bool find_row(collecting *c, size_t span, size_t outer)
{
    const jm__span *row = &c->w->spans->dataset->spans[span];
    uint32_t around = outer == JM__NO_SPAN ? 0 : c->row_of[outer];
    c->row_of[span] = around;
    if (!jm__span_kind_is_container(row->kind)) return true;
    bool named = row->kind == JM_SPAN_PHASE || row->kind == JM_SPAN_WINDOW;
    const row_key key = {(int64_t)row->kind, named ? row->name_id : 0, around};
    c->row_of[span] = number_of(&c->rows, &key);
    return c->row_of[span] != 0;
}

static bool push_step_interval(collecting *c, size_t span, size_t process)
{
    const jm__span *step = &c->w->spans->dataset->spans[span];
    kind_key key = {process,
                    c->row_of[span],
                    (int64_t)step->kind,
                    step->name_id,
                    jm__alike_count(step->samples),
                    jm__alike_count(step->tokens)};
    uint32_t kind = number_of(&c->kinds, &key);
    if (kind == 0) return false;
    if (kind > c->out->free_kind_of.count) { /* a new one: kinds have numbers from 1 */
        key.row = 0;
        uint32_t loose = number_of(&c->loose_kinds, &key);
        if (loose == 0 || !jm__vec_push(&c->out->free_kind_of, loose)) return false;
    }
    const jm__step_interval step_interval = {.start_ns = step->start_ns,
                                             .step_end_ns = jm__span_end_ns(c->w->spans->dataset, step),
                                             .span = (uint32_t)span,
                                             .process = (uint32_t)process,
                                             .kind = kind,
                                             .stratum = JM__NO_STRATUM};
    return jm__vec_push(&c->out->step_intervals, step_interval);
}

/* Does a step interval's step, by number + 1, still go on when the span begins? */
static bool goes_on(const collecting *c, uint32_t step_interval, int64_t t_ns)
{
    return step_interval != 0 && c->out->step_intervals.items[step_interval - 1].step_end_ns > t_ns;
}

/* What holds a step or a phase, however deep. */
static void find_holders(collecting *c)
{
    const jm__dataset *d = c->w->spans->dataset;
    for (size_t i = 0; i < d->span_count; i++) {
        if (d->spans[i].kind != JM_SPAN_PHASE && !jm__marked_is_step(c->w->marked, &d->spans[i])) continue;
        for (size_t s = jm__span_parent(c->w->spans, i); s != JM__NO_SPAN && !c->holds[s];
             s = jm__span_parent(c->w->spans, s))
            c->holds[s] = true;
    }
}

/* A phase without steps is told like one. */
static bool is_step_interval(const collecting *c, size_t span)
{
    const jm__span *row = &c->w->spans->dataset->spans[span];
    return jm__marked_is_step(c->w->marked, row) || (row->kind == JM_SPAN_PHASE && !c->holds[span]);
}

static bool collect_step_intervals(collecting *c)
{
    const jm__dataset *d = c->w->spans->dataset;
    find_holders(c);
    for (size_t i = 0; i < d->span_count; i++) {
        const jm__span *span = &d->spans[i];
        const jm__process *process = jm__dataset_process(d, span->process_id);
        if (process == NULL || c->w->traced[process - d->processes].steps.count == 0) continue;
        size_t outer = jm__span_parent(c->w->spans, i);
        if (outer != JM__NO_SPAN && outer >= i) outer = JM__NO_SPAN;
        if (!find_row(c, i, outer)) return false;
        uint32_t around = outer == JM__NO_SPAN ? 0 : c->out->step_interval_of_span[outer];
        c->out->step_interval_of_span[i] = around;
        if (!is_step_interval(c, i) || goes_on(c, around, span->start_ns)) continue;
        if (!push_step_interval(c, i, (size_t)(process - d->processes))) return false;
        c->out->step_interval_of_span[i] = (uint32_t)c->out->step_intervals.count;
    }
    return true;
}

/* By process; of each they come in order of time. */
static bool sort(jm__strata *out, size_t spans)
{
    size_t count = out->step_intervals.count;
    for (size_t i = 0; i < count; i++)
        out->step_intervals_of[out->step_intervals.items[i].process + 1]++;
    for (size_t p = 0; p < out->processes; p++)
        out->step_intervals_of[p + 1] += out->step_intervals_of[p];
    if (out->processes == 1) return true;
    jm__step_interval *sorted = malloc((count + 1) * sizeof *sorted);
    uint32_t *number = malloc((count + 1) * sizeof *number);
    size_t *next = malloc((out->processes + 1) * sizeof *next);
    bool fine = sorted != NULL && number != NULL && next != NULL;
    if (fine) memcpy(next, out->step_intervals_of, out->processes * sizeof *next);
    for (size_t i = 0; fine && i < count; i++) {
        number[i] = (uint32_t)next[out->step_intervals.items[i].process]++;
        sorted[number[i]] = out->step_intervals.items[i];
    }
    for (size_t s = 0; fine && s < spans; s++)
        if (out->step_interval_of_span[s] != 0)
            out->step_interval_of_span[s] = number[out->step_interval_of_span[s] - 1] + 1;
    if (fine) memcpy(out->step_intervals.items, sorted, count * sizeof *sorted);
    free(sorted);
    free(number);
    free(next);
    return fine;
}

static bool is_traced(const jm__step_interval *step_interval, const jm__intervals *on, size_t *at)
{
    int64_t length_ns = step_interval->step_end_ns - step_interval->start_ns;
    if (length_ns <= 0) return jm__intervals_contain(on, step_interval->start_ns);
    return (double)jm__intervals_next_overlap_ns(on, at, step_interval->start_ns,
                                                 step_interval->step_end_ns) >=
           traced_share * (double)length_ns;
}

/* What lies between two steps belongs to the first, unless it is longer than that, and than what lies between
 * traced ones: of a pause nobody knows what ran in it. */
static void end_step_intervals(jm__step_interval *step_intervals, size_t count)
{
    int64_t longest_ns = 0;
    for (size_t i = 0; i + 1 < count; i++) {
        int64_t gap_ns = step_intervals[i + 1].start_ns - step_intervals[i].step_end_ns;
        if (step_intervals[i].traced && step_intervals[i + 1].traced && gap_ns > longest_ns)
            longest_ns = gap_ns;
    }
    for (size_t i = 0; i < count; i++) {
        int64_t end_ns = step_intervals[i].step_end_ns, length_ns = end_ns - step_intervals[i].start_ns;
        step_intervals[i].end_ns = end_ns;
        if (i + 1 == count) break;
        int64_t most_ns = length_ns > longest_ns ? length_ns : longest_ns;
        if (step_intervals[i + 1].start_ns - end_ns <= most_ns)
            step_intervals[i].end_ns = step_intervals[i + 1].start_ns;
    }
}

static void finish(jm__strata *out, const jm__strata_requested *w)
{
    for (size_t p = 0; p < out->processes; p++) {
        size_t first = out->step_intervals_of[p], end = out->step_intervals_of[p + 1], at = 0;
        for (size_t i = first; i < end; i++)
            out->step_intervals.items[i].traced =
                is_traced(&out->step_intervals.items[i], &w->traced[p].on, &at);
        end_step_intervals(out->step_intervals.items + first, end - first);
    }
}

/* Step intervals, whether each was traced, and their kinds. */
static bool step_intervals_find(jm__strata *out, const jm__strata_requested *w)
{
    const jm__dataset *d = w->spans->dataset;
    collecting c = {.out = out,
                    .w = w,
                    .rows = {.map = {.key_size = sizeof(row_key)}},
                    .kinds = {.map = {.key_size = sizeof(kind_key)}},
                    .loose_kinds = {.map = {.key_size = sizeof(kind_key)}}};
    c.row_of = calloc(d->span_count + 1, sizeof *c.row_of);
    c.holds = calloc(d->span_count + 1, sizeof *c.holds);
    out->step_interval_of_span = calloc(d->span_count + 1, sizeof *out->step_interval_of_span);
    out->step_intervals_of = calloc(out->processes + 1, sizeof *out->step_intervals_of);
    bool fine = c.holds != NULL && c.row_of != NULL && out->step_interval_of_span != NULL &&
                out->step_intervals_of != NULL && collect_step_intervals(&c) && sort(out, d->span_count);
    if (fine) finish(out, w);
    free(c.row_of);
    free(c.holds);
    jm__map_free(&c.rows.map);
    jm__map_free(&c.kinds.map);
    jm__map_free(&c.loose_kinds.map);
    return fine;
}

/* The first steps of a program are like no later one: kernels are compiled and tried out, buffers are made.
 * Where they were traced they stand for themselves. */

/* A traced step of the first interval in which its kind was traced. */
typedef struct first_step {
    uint32_t kind;
    size_t step_interval;
} first_step;

typedef JM_VEC(first_step) first_steps;

static int by_kind_then_time(const void *a, const void *b)
{
    const first_step *left = a, *right = b;
    if (left->kind != right->kind) return left->kind < right->kind ? -1 : 1;
    return (left->step_interval > right->step_interval) - (left->step_interval < right->step_interval);
}

static bool collect_warm(first_steps *all, const jm__strata *out, const jm__strata_requested *w)
{
    jm__map interval_of = {.key_size = sizeof(uint32_t)}; /* kinds are of one process each */
    bool fine = true;
    for (size_t i = 0; fine && i < out->step_intervals.count; i++) {
        const jm__step_interval *step_interval = &out->step_intervals.items[i];
        if (!step_interval->traced) continue;
        int64_t interval = (int64_t)jm__intervals_first_after(&w->traced[step_interval->process].on,
                                                              step_interval->start_ns);
        const jm__map_value *known = jm__map_find(&interval_of, &step_interval->kind);
        if (known != NULL && known->id != interval) continue;
        fine = (known != NULL ||
                jm__map_put(&interval_of, &step_interval->kind, (jm__map_value){.id = interval})) &&
               jm__vec_push(all, ((first_step){step_interval->kind, i}));
    }
    jm__map_free(&interval_of);
    if (all->count > 1) qsort(all->items, all->count, sizeof *all->items, by_kind_then_time);
    return fine;
}

/* Traced steps that are like no other: they are in no turn. */
static bool warm_up_find(jm__strata *out, const jm__strata_requested *w)
{
    first_steps all = {0};
    bool fine = collect_warm(&all, out, w);
    double *lengths = malloc((all.count + 1) * sizeof *lengths);
    fine = fine && lengths != NULL;
    for (size_t first = 0, end; fine && first < all.count; first = end) {
        for (end = first; end < all.count && all.items[end].kind == all.items[first].kind; end++) {
            const jm__step_interval *step_interval = &out->step_intervals.items[all.items[end].step_interval];
            lengths[end - first] = (double)(step_interval->step_end_ns - step_interval->start_ns);
        }
        size_t warm_up = jm_repeats_warm_up(lengths, end - first);
        for (size_t i = first; i < first + warm_up; i++)
            out->step_intervals.items[all.items[i].step_interval].warm_up = true;
    }
    free(lengths);
    jm__vec_free(&all);
    return fine;
}

/* Steps take longer while they are traced: by how much, tell those of their kind that were not, the ones that
 * they stand for. Medians, since single steps may wait for anything. */

/* How long steps took: for each turn those that it stands for, then its own. */
typedef struct step_interval_lengths {
    double *seconds;
    size_t *end; /* [2 * turns] */
} step_interval_lengths;

typedef struct middle_length {
    double count, median_s, width_s; /* between the quartiles */
} middle_length;

/* Of a turn. */
typedef struct middles {
    middle_length traced, marked;
} middles;

/* While steps alone count, all else is recorded only to get ready, and costs as much. */
static void mark_recorded(jm__strata *out, const jm__dataset *d)
{
    for (size_t i = 0; i < d->span_count; i++) {
        jm_span_kind kind = d->spans[i].kind;
        if (out->step_interval_of_span[i] == 0 || jm__span_kind_is_container(kind) || kind == JM_SPAN_DATA)
            continue;
        out->step_intervals.items[out->step_interval_of_span[i] - 1].recorded = true;
    }
}

/* Does its time tell of its kind, traced or not? */
static bool counts(const jm__strata *out, const jm__step_interval *step_interval, const jm__intervals *steps,
                   size_t *at)
{
    int64_t end_ns = step_interval->step_end_ns;
    if (step_interval->stratum >= out->bursts.count || step_interval->warm_up) return false;
    if (step_interval->traced) return true;
    return !step_interval->recorded &&
           jm__intervals_next_overlap_ns(steps, at, step_interval->start_ns, end_ns) >=
               end_ns - step_interval->start_ns;
}

static size_t group_of(const jm__step_interval *step_interval)
{
    return 2 * (size_t)step_interval->stratum + step_interval->traced;
}

/* Each step interval that counts to its group; without room for seconds, their number alone. */
static void walk(step_interval_lengths *all, const jm__strata *out, const jm__strata_requested *w)
{
    for (size_t p = 0; p < out->processes; p++) {
        size_t at = 0;
        for (size_t i = out->step_intervals_of[p]; i < out->step_intervals_of[p + 1]; i++) {
            const jm__step_interval *step_interval = &out->step_intervals.items[i];
            if (!counts(out, step_interval, &w->traced[p].steps, &at)) continue;
            size_t to = all->end[group_of(step_interval)]++;
            if (all->seconds != NULL)
                all->seconds[to] = (double)(step_interval->step_end_ns - step_interval->start_ns) * 1e-9;
        }
    }
}

static bool collect_slowed(step_interval_lengths *all, const jm__strata *out, const jm__strata_requested *w)
{
    size_t groups = 2 * out->bursts.count, before = 0;
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
static middle_length find_middle(const step_interval_lengths *all, size_t group)
{
    size_t first = group == 0 ? 0 : all->end[group - 1], count = all->end[group] - first;
    double *of = all->seconds + first;
    middle_length out = {.count = (double)count, .median_s = NAN};
    if (count == 0) return out;
    jm__sort(of, count, sizeof *of, jm__compare_doubles);
    out.median_s = (of[(count - 1) / 2] + of[count / 2]) / 2;
    out.width_s = of[count - 1 - count / 4] - of[count / 4];
    return out;
}

/* Standard deviation of the difference of two medians; quartiles of a normal distribution are 1.35 standard
 * deviations apart, and a median is 1.25 times as unsure as a mean. */
static double difference_u_s(const middle_length *traced, const middle_length *marked)
{
    double width_s =
        (traced->count * traced->width_s + marked->count * marked->width_s) / (traced->count + marked->count);
    return 1.25 * width_s / 1.35 * sqrt(1 / traced->count + 1 / marked->count);
}

/* How much longer the traced steps of a kind took than others, of all counts. */
typedef struct kind_sum {
    double more_s, less_s, variance;
} kind_sum;

static size_t kind_of(const jm__strata *strata, size_t burst)
{
    return strata->unsplit_kind_of.items[strata->bursts.items[burst].kind - 1] - 1;
}

static void add_burst(kind_sum *sum, const jm__traced_burst *burst, const middles *of)
{
    double steps = (double)burst->step_intervals;
    if (isnan(of->marked.median_s) || isnan(of->traced.median_s)) return;
    sum->more_s += steps * (of->traced.median_s - of->marked.median_s);
    sum->less_s += steps * of->marked.median_s;
    sum->variance += pow(steps * difference_u_s(&of->traced, &of->marked), 2);
}

static void share_out(jm__traced_burst *burst, const middles *of, const kind_sum *sum)
{
    if (!(sum->less_s > 0)) return;
    double share = (double)burst->step_intervals * of->traced.median_s / (sum->more_s + sum->less_s);
    burst->slowed_s = share * fmax(0, sum->more_s);
    burst->slowed_u_s = share * sqrt(sum->variance);
}

/* `of`: [turns], `kinds`: [kinds], all 0. */
static void find_all(jm__strata *out, const middles *of, kind_sum *kinds)
{
    double more_s = 0, less_s = 0;
    for (size_t t = 0; t < out->bursts.count; t++)
        add_burst(&kinds[kind_of(out, t)], &out->bursts.items[t], &of[t]);
    for (size_t t = 0; t < out->bursts.count; t++)
        share_out(&out->bursts.items[t], &of[t], &kinds[kind_of(out, t)]);
    for (size_t k = 0; k < out->unsplit_kind_of.count; k++) {
        more_s += kinds[k].more_s;
        less_s += kinds[k].less_s;
    }
    if (less_s > 0) out->slow_down = more_s / less_s;
}

/* How much longer traced steps took. */
static bool slowed_find(jm__strata *out, const jm__strata_requested *w)
{
    step_interval_lengths all = {0};
    size_t bursts = out->bursts.count;
    middles *of = calloc(bursts + 1, sizeof *of);
    kind_sum *kinds = calloc(out->unsplit_kind_of.count + 1, sizeof *kinds);
    mark_recorded(out, w->spans->dataset);
    bool fine = of != NULL && kinds != NULL && collect_slowed(&all, out, w);
    for (size_t t = 0; fine && t < bursts; t++) {
        of[t].marked = find_middle(&all, 2 * t);
        of[t].traced = find_middle(&all, 2 * t + 1);
    }
    if (fine) find_all(out, of, kinds);
    free(of);
    free(kinds);
    free(all.seconds);
    free(all.end);
    return fine;
}

/* Of a kind that was traced in one turn alone, nobody has seen what drifts. The times of the steps are known,
 * though, and a layer is taken to change as much as they do, from one interval as long as a turn to the next.
 */

/* Steps of an interval at least: fewer differ by chance. */
enum { LEAST_SINGLE_BURST = 4, LEAST_INTERVALS = 3 };

/* Layers may differ where the steps do not. A choice: what most programs' layers vary by from minute to
 * minute; of a single traced step, what one step may differ from the next by. */
static const double least_u = 0.01, single_u = 0.1;

/* Means of intervals while steps pass by (Welford's sums). */
typedef struct intervals {
    double sum_s;
    size_t steps;
    double count, mean, square;
} intervals;

static void add(intervals *s, double seconds, size_t steps)
{
    s->sum_s += seconds;
    if (++s->steps < steps) return;
    double mean = s->sum_s / (double)s->steps, off = mean - s->mean;
    s->count++;
    s->mean += off / s->count;
    s->square += off * (mean - s->mean);
    s->sum_s = 0;
    s->steps = 0;
}

static double relative_u(const intervals *s, const jm__traced_burst *burst)
{
    double least = burst->step_intervals > 1 ? least_u : single_u;
    if (s->count < LEAST_INTERVALS || !(s->mean > 0)) return fmax(least, single_u);
    return fmax(least, sqrt(s->square / (s->count - 1)) / s->mean);
}

static bool is_alone(const jm__strata *out, size_t burst)
{
    const jm__traced_burst *bursts = out->bursts.items;
    bool before = burst > 0 && bursts[burst - 1].kind == bursts[burst].kind;
    bool after = burst + 1 < out->bursts.count && bursts[burst + 1].kind == bursts[burst].kind;
    return !before && !after;
}

bool jm__single_burst_find(jm__strata *out)
{
    intervals *of = calloc(out->bursts.count + 1, sizeof *of);
    bool fine = of != NULL;
    for (size_t i = 0; fine && i < out->step_intervals.count; i++) {
        const jm__step_interval *step_interval = &out->step_intervals.items[i];
        if (step_interval->traced || step_interval->recorded || step_interval->stratum >= out->bursts.count)
            continue;
        size_t step_intervals = out->bursts.items[step_interval->stratum].step_intervals;
        add(&of[step_interval->stratum],
            (double)(step_interval->step_end_ns - step_interval->start_ns) * 1e-9,
            step_intervals > LEAST_SINGLE_BURST ? step_intervals : LEAST_SINGLE_BURST);
    }
    for (size_t t = 0; fine && t < out->bursts.count; t++)
        if (is_alone(out, t))
            fine = jm__vec_push(
                &out->single_burst,
                ((jm__single_burst_kind){(uint32_t)t, relative_u(&of[t], &out->bursts.items[t])}));
    free(of);
    return fine;
}

static bool any_steps(const jm__traced *traced, size_t processes)
{
    for (size_t p = 0; p < processes; p++)
        if (traced[p].steps.count > 0) return true;
    return false;
}

jm_status jm__strata_find(jm__strata *out, const jm__strata_requested *requested, jm_error *err)
{
    size_t processes = requested->spans->dataset->process_count;
    *out = (jm__strata){.slow_down = NAN};
    if (!any_steps(requested->traced, processes)) return JM_OK;
    out->processes = processes;
    bool fine = step_intervals_find(out, requested) && warm_up_find(out, requested) &&
                counts_part(out, requested) && bursts_find(out, requested) && slowed_find(out, requested) &&
                jm__single_burst_find(out);
    return fine ? JM_OK : jm__no_memory(err, "jm__strata_find");
}
