/* Steps in order and their kinds, bursts of traced steps, and the burst that represents each untraced step.
 */
#include "attribute/sampling.h"

#include "base/count_class.h"
#include "base/order.h"
#include "base/search.h"
#include "base/status.h"
#include "format/rows/span_kind.h"

#include <joulemap/repeats.h>
#include <math.h>
#include <stdlib.h>

/* ---- kinds are split by counts and lengths
 *
 * The energy of a step depends on its samples and tokens in an unknown way. So a kind is split in two by the
 * counts of its traced steps, repeatedly, until the counts of a part are alike or its steps are few.
 *
 * The length of a step splits a kind too, where a few steps do something else under the same name (a
 * checkpoint each 50th). Tracing changes lengths far less than this split requires. */

/* Choices: the spread of counts within a kind that matters less than the variation between equal steps; and
 * the ratio of lengths across a split by length. */
static const double spread_tolerance = 0.05, length_ratio_min = 3;

enum { STEPS_MIN = 3 }; /* traced steps of a part; a part split by length may have one */

enum { SAMPLES, TOKENS, LENGTH_US, COUNTS };

typedef struct step_counts {
    uint32_t of[COUNTS];
} step_counts;

/* A kind or a part of one: traced steps [first, end). */
typedef struct split_node {
    size_t first, end;
    size_t children; /* index of the first of its two parts; 0: none */
    int by;          /* the count by which it is split */
    uint32_t from;   /* the lowest count of the second part */
} split_node;

typedef struct split_tree {
    step_counts *traced;      /* [traced steps], by node */
    JM_VEC(split_node) items; /* the kinds, by number - 1, then parts */
} split_tree;

static step_counts counts_of(const jm__step_interval *step_interval, const jm__strata_requested *w)
{
    const jm__span *step = &w->spans->dataset->spans[step_interval->span];
    int64_t length_us = (step_interval->step_end_ns - step_interval->start_ns) / 1000;
    uint32_t length = length_us < 0 ? 0 : length_us < UINT32_MAX ? (uint32_t)length_us : UINT32_MAX;
    return (step_counts){{step->samples, step->tokens, length}};
}

static bool collect_steps(split_tree *out, const jm__strata *strata, const jm__strata_requested *w)
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
        const jm__step_interval *step = &strata->step_intervals.items[i];
        if (jm__step_interval_is_sampled(step))
            out->traced[out->items.items[step->kind - 1].end++] = counts_of(step, w);
    }
    return out->traced != NULL;
}

static int compare(const void *a, const void *b, void *by)
{
    int of = *(const int *)by;
    uint32_t left = ((const step_counts *)a)->of[of], right = ((const step_counts *)b)->of[of];
    return (left > right) - (left < right);
}

/* The spread of a count within a node, relative. */
static double spread_of(const split_tree *all, const split_node *p, int by)
{
    uint32_t lowest = UINT32_MAX, highest = 0;
    for (size_t i = p->first; i < p->end; i++) {
        uint32_t count = all->traced[i].of[by];
        if (count < lowest) lowest = count;
        if (count > highest) highest = count;
    }
    return lowest > 0 && highest > lowest ? (double)highest / (double)lowest - 1 : 0;
}

/* The split of the sorted steps that is nearest to the middle; 0: none. */
static size_t split_by_count(const split_tree *all, const split_node *p, int by)
{
    size_t best = 0, middle = (p->first + p->end) / 2;
    for (size_t i = p->first + STEPS_MIN; i + STEPS_MIN <= p->end; i++) {
        if (all->traced[i].of[by] == all->traced[i - 1].of[by]) continue;
        size_t off = i > middle ? i - middle : middle - i;
        if (best == 0 || off < (best > middle ? best - middle : middle - best)) best = i;
    }
    return best;
}

/* The split at the largest ratio of lengths of neighbours; 0: none. */
static size_t split_by_length(const split_tree *all, const split_node *p)
{
    size_t best = 0;
    double highest = length_ratio_min;
    for (size_t i = p->first + 1; i < p->end; i++) {
        double times = all->traced[i].of[LENGTH_US] / fmax(1, all->traced[i - 1].of[LENGTH_US]);
        if (times < highest) continue;
        highest = times;
        best = i;
    }
    return best;
}

/* Split a node by a count, if its spread is large enough. False if memory is out. */
static bool split_node_by(split_tree *all, size_t number, int by)
{
    split_node p = all->items.items[number];
    if (spread_of(all, &p, by) <= spread_tolerance) return true;
    qsort_r(all->traced + p.first, p.end - p.first, sizeof *all->traced, compare, &by);
    size_t at = by == LENGTH_US ? split_by_length(all, &p) : split_by_count(all, &p, by);
    if (at == 0) return true;
    uint32_t under = all->traced[at - 1].of[by], over = all->traced[at].of[by];
    p.by = by;
    p.from = under + (over - under + 1) / 2;
    p.children = all->items.count;
    all->items.items[number] = p;
    return jm__vec_push(&all->items, ((split_node){.first = p.first, .end = at})) &&
           jm__vec_push(&all->items, ((split_node){.first = at, .end = p.end}));
}

/* By length, else by the count of larger spread, else by the other count. Parts are appended, so the loop
 * visits them too. */
static bool split_all(split_tree *all, jm__strata *strata)
{
    bool fine = true;
    for (size_t n = 0; fine && n < all->items.count; n++) {
        const split_node *p = &all->items.items[n];
        int first = spread_of(all, p, TOKENS) >= spread_of(all, p, SAMPLES) ? TOKENS : SAMPLES;
        const int order[] = {LENGTH_US, first, first == TOKENS ? SAMPLES : TOKENS};
        size_t count = all->items.count;
        for (int i = 0; fine && i < COUNTS && all->items.count == count; i++)
            fine = split_node_by(all, n, order[i]);
        for (; fine && count < all->items.count; count++)
            fine = jm__vec_push(&strata->free_kind_of, strata->free_kind_of.items[n]) &&
                   jm__vec_push(&strata->unsplit_kind_of, strata->unsplit_kind_of.items[n]);
    }
    return fine;
}

/* The final kind of a step. */
static uint32_t leaf_of(const split_tree *all, const jm__step_interval *step, const jm__strata_requested *w)
{
    size_t at = step->kind - 1;
    while (all->items.items[at].children > 0) {
        const split_node *p = &all->items.items[at];
        at = p->children + (counts_of(step, w).of[p->by] >= p->from);
    }
    return (uint32_t)at + 1;
}

static bool split_kinds(jm__strata *out, const jm__strata_requested *w)
{
    split_tree all = {0};
    bool fine = true;
    for (size_t k = 0; fine && k < out->free_kind_of.count; k++)
        fine = jm__vec_push(&out->unsplit_kind_of, (uint32_t)k + 1);
    fine = fine && collect_steps(&all, out, w) && split_all(&all, out);
    for (size_t i = 0; fine && i < out->step_intervals.count; i++)
        out->step_intervals.items[i].kind = leaf_of(&all, &out->step_intervals.items[i], w);
    free(all.traced);
    jm__vec_free(&all.items);
    return fine;
}

/* ---- bursts, and the nearest one of each untraced step */

#define NO_BURST SIZE_MAX

typedef struct burst_key {
    uint64_t process, interval, kind;
} burst_key;

typedef struct stratum_key {
    uint32_t burst, kind;
} stratum_key;

/* Numbers of bursts, sorted by kind (or free_kind) and time. */
typedef struct burst_order {
    uint32_t *bursts;
    size_t count;
    bool by_free_kind;
    const jm__strata *of;
} burst_order;

static bool add_to_burst(jm__strata *out, jm__map *numbers, size_t step_interval,
                         const jm__strata_requested *w)
{
    jm__step_interval *step = &out->step_intervals.items[step_interval];
    int64_t end_ns = step->step_end_ns;
    const jm__intervals *on = &w->traced[step->process].on;
    size_t interval = jm__intervals_first_after(on, step->start_ns + (end_ns - step->start_ns) / 2);
    const burst_key key = {step->process, interval, step->kind};
    const jm__traced_burst first = {.process = step->process,
                                    .kind = step->kind,
                                    .free_kind = out->free_kind_of.items[step->kind - 1],
                                    .interval = (uint32_t)interval,
                                    .span = step->span,
                                    .from_ns = step->start_ns,
                                    .slowed_s = NAN};
    size_t number = jm__map_item(numbers, &key, &out->bursts, &first);
    if (number == SIZE_MAX) return false;
    jm__traced_burst *burst = &out->bursts.items[number];
    step->stratum = (uint32_t)number;
    step->burst_index = burst->step_intervals++;
    burst->step_s += 1e-9 * (double)(end_ns - step->start_ns);
    if (end_ns > burst->to_ns) burst->to_ns = end_ns;
    return true;
}

static int by_kind_and_time(const void *a, const void *b, void *context)
{
    const burst_order *index = context;
    const jm__traced_burst *left = &index->of->bursts.items[*(const uint32_t *)a],
                           *right = &index->of->bursts.items[*(const uint32_t *)b];
    uint32_t left_kind = index->by_free_kind ? left->free_kind : left->kind,
             right_kind = index->by_free_kind ? right->free_kind : right->kind;
    if (left_kind != right_kind) return left_kind < right_kind ? -1 : 1;
    return (left->from_ns > right->from_ns) - (left->from_ns < right->from_ns);
}

static bool index_bursts(burst_order *out, const jm__strata *of, bool by_free_kind)
{
    *out = (burst_order){.count = of->bursts.count, .by_free_kind = by_free_kind, .of = of};
    out->bursts = malloc((out->count + 1) * sizeof *out->bursts);
    for (size_t i = 0; out->bursts != NULL && i < out->count; i++)
        out->bursts[i] = (uint32_t)i;
    if (out->bursts != NULL && out->count > 1)
        qsort_r(out->bursts, out->count, sizeof *out->bursts, by_kind_and_time, out);
    return out->bursts != NULL;
}

static int bursts_by_kind_and_time(const void *a, const void *b)
{
    const jm__traced_burst *left = a, *right = b;
    if (left->kind != right->kind) return left->kind < right->kind ? -1 : 1;
    return (left->from_ns > right->from_ns) - (left->from_ns < right->from_ns);
}

/* Sort by kind and time; meanwhile steps name their burst by its span. False if memory is out. */
static bool sort_bursts(jm__strata *out, size_t spans)
{
    jm__traced_burst *bursts = out->bursts.items;
    uint32_t *number = malloc((spans + 1) * sizeof *number);
    if (number == NULL) return false;
    for (size_t i = 0; i < out->step_intervals.count; i++) {
        jm__step_interval *step = &out->step_intervals.items[i];
        if (jm__step_interval_is_sampled(step)) step->stratum = bursts[step->stratum].span;
    }
    jm__sort(bursts, out->bursts.count, sizeof *bursts, bursts_by_kind_and_time);
    for (size_t t = 0; t < out->bursts.count; t++)
        number[bursts[t].span] = (uint32_t)t;
    for (size_t i = 0; i < out->step_intervals.count; i++) {
        jm__step_interval *step = &out->step_intervals.items[i];
        if (jm__step_interval_is_sampled(step)) step->stratum = number[step->stratum];
    }
    free(number);
    return true;
}

static const jm__traced_burst *burst_at(const burst_order *index, size_t at)
{
    return &index->of->bursts.items[index->bursts[at]];
}

static uint32_t kind_at(const burst_order *index, size_t at)
{
    return index->by_free_kind ? burst_at(index, at)->free_kind : burst_at(index, at)->kind;
}

static int64_t distance_ns(const jm__traced_burst *burst, int64_t t_ns)
{
    if (t_ns < burst->from_ns) return burst->from_ns - t_ns;
    return t_ns > burst->to_ns ? t_ns - burst->to_ns : 0;
}

static bool is_before(const burst_order *index, size_t at, uint32_t kind, int64_t t_ns)
{
    uint32_t mine = kind_at(index, at);
    return mine < kind || (mine == kind && burst_at(index, at)->from_ns <= t_ns);
}

/* An index into the order; NO_BURST: none is of this kind. */
static size_t nearest(const burst_order *index, uint32_t kind, int64_t t_ns)
{
    size_t best = NO_BURST, at;
    int64_t best_ns = INT64_MAX;
    jm__search(at, index->count, is_before(index, at, kind, t_ns));
    for (size_t i = at > 0 ? at - 1 : 0; i < index->count && i <= at; i++) {
        const jm__traced_burst *burst = burst_at(index, i);
        if (kind_at(index, i) != kind || distance_ns(burst, t_ns) >= best_ns) continue;
        best = i;
        best_ns = distance_ns(burst, t_ns);
    }
    return best;
}

static double count_distance(const jm__span *a, const jm__span *b)
{
    return fabs(log((a->samples + 1.0) / (b->samples + 1.0))) +
           fabs(log((a->tokens + 1.0) / (b->tokens + 1.0)));
}

/* Of the bursts of one kind and interval, which may be parts of a split kind, the one with the counts nearest
 * to the step's. */
static uint32_t nearest_counts(const burst_order *index, size_t at_burst, const jm__span *step,
                               const jm__span *spans)
{
    const jm__traced_burst *there = burst_at(index, at_burst);
    uint32_t kind = kind_at(index, at_burst), best = index->bursts[at_burst];
    double lowest = INFINITY;
    while (at_burst > 0 && kind_at(index, at_burst - 1) == kind &&
           burst_at(index, at_burst - 1)->interval == there->interval)
        at_burst--;
    for (; at_burst < index->count && kind_at(index, at_burst) == kind &&
           burst_at(index, at_burst)->interval == there->interval;
         at_burst++) {
        double distance = count_distance(step, &spans[burst_at(index, at_burst)->span]);
        if (distance < lowest) best = index->bursts[at_burst];
        lowest = fmin(lowest, distance);
    }
    return best;
}

/* Assign a step to the stratum of a burst for steps of another kind than its own. */
static bool assign_stratum(jm__strata *out, jm__map *other_kinds, uint32_t burst, jm__step_interval *step)
{
    const stratum_key key = {burst, step->kind};
    const jm__stratum first = {burst, step->span};
    size_t stratum = jm__map_item(other_kinds, &key, &out->items, &first);
    step->stratum = (uint32_t)stratum;
    return stratum != SIZE_MAX;
}

/* The nearest burst of its kind; if there is none, of its free_kind. */
static bool find_stratum(jm__strata *out, jm__map *other_kinds, const burst_order indexes[2],
                         size_t step_interval, const jm__span *spans)
{
    jm__step_interval *step = &out->step_intervals.items[step_interval];
    size_t at_burst = nearest(&indexes[0], step->kind, step->start_ns);
    out->marked++;
    if (at_burst != NO_BURST) {
        step->stratum = indexes[0].bursts[at_burst];
        return true;
    }
    at_burst = nearest(&indexes[1], out->free_kind_of.items[step->kind - 1], step->start_ns);
    out->missing += at_burst == NO_BURST;
    return at_burst == NO_BURST ||
           assign_stratum(out, other_kinds, nearest_counts(&indexes[1], at_burst, &spans[step->span], spans),
                          step);
}

/* The time of represented steps, without pauses. */
static bool find_extrapolated(jm__strata *out, const jm__strata_requested *w)
{
    bool fine = true;
    for (size_t p = 0; fine && p < out->processes; p++) {
        for (size_t i = out->step_intervals_of[p]; fine && i < out->step_intervals_of[p + 1]; i++) {
            const jm__step_interval *step = &out->step_intervals.items[i];
            if (step->stratum != JM__NO_STRATUM)
                fine = jm__intervals_add(&out->extrapolated[p], step->start_ns, step->end_ns);
        }
        jm__intervals_normalise(&out->extrapolated[p]);
        fine = fine && jm__intervals_intersect(&out->extrapolated[p], &w->traced[p].steps);
    }
    return fine;
}

static bool find_of_process(jm__strata *out, jm__map *other_kinds, const burst_order indexes[2],
                            size_t process, const jm__strata_requested *w)
{
    const jm__intervals *steps = &w->traced[process].steps;
    bool fine = true;
    size_t at = 0;
    for (size_t i = out->step_intervals_of[process]; fine && i < out->step_intervals_of[process + 1]; i++) {
        const jm__step_interval *step = &out->step_intervals.items[i];
        if (jm__step_interval_is_sampled(step))
            out->items.items[step->stratum].span = step->span;
        else if (!step->traced && jm__intervals_next_overlap_ns(steps, &at, step->start_ns, step->end_ns) > 0)
            fine = find_stratum(out, other_kinds, indexes, i, w->spans->dataset->spans);
    }
    return fine;
}

static bool find_strata(jm__strata *out, burst_order indexes[2], const jm__strata_requested *w)
{
    jm__map other_kinds = {.key_size = sizeof(stratum_key)};
    bool fine = sort_bursts(out, w->spans->dataset->span_count) && index_bursts(&indexes[0], out, false) &&
                index_bursts(&indexes[1], out, true);
    for (size_t t = 0; fine && t < out->bursts.count; t++)
        fine = jm__vec_push(&out->items, ((jm__stratum){(uint32_t)t, 0}));
    for (size_t p = 0; fine && p < out->processes; p++)
        fine = find_of_process(out, &other_kinds, indexes, p, w);
    jm__map_free(&other_kinds);
    return fine;
}

static bool find_bursts(jm__strata *out, const jm__strata_requested *w)
{
    jm__map numbers = {.key_size = sizeof(burst_key)};
    burst_order indexes[2] = {{0}};
    bool fine = true;
    for (size_t i = 0; fine && i < out->step_intervals.count; i++)
        if (jm__step_interval_is_sampled(&out->step_intervals.items[i]))
            fine = add_to_burst(out, &numbers, i, w);
    out->extrapolated = calloc(out->processes + 1, sizeof *out->extrapolated);
    fine = fine && out->extrapolated != NULL && find_strata(out, indexes, w) && find_extrapolated(out, w);
    jm__map_free(&numbers);
    free(indexes[0].bursts);
    free(indexes[1].bursts);
    return fine;
}

/* A step is traced if this much of it is, since tracing starts and stops in code at the step's edges. */
static const double traced_share = 0.95;

/* A row of the phase view, as rollup/views.c makes them: phases and windows by name, all steps and all epochs
 * in one row each. */
typedef struct row_key {
    int64_t kind, name;
    uint64_t outer;
} row_key;

typedef struct kind_key {
    uint64_t process, row;
    int64_t kind, name, samples, tokens;
} kind_key;

typedef struct collector {
    jm__strata *out;
    const jm__strata_requested *w;
    jm__map rows, kinds, free_kinds; /* numbers of keys, from 1 */
    bool *encloses_step;             /* [spans]: it encloses a step or a phase */
    uint32_t *row_of;                /* [spans]: row number of the innermost container, or itself; 0: none */
} collector;

/* The number of a key; 0 if memory is out. */
static uint32_t number_of(jm__map *numbers, const void *key)
{
    const jm__map_value *found = jm__map_find(numbers, key);
    uint32_t number = found != NULL ? (uint32_t)found->id : (uint32_t)numbers->count + 1;
    bool fine = found != NULL || jm__map_put(numbers, key, (jm__map_value){.id = number});
    return fine ? number : 0;
}

static bool find_row(collector *c, size_t span, size_t outer)
{
    const jm__span *row = &c->w->spans->dataset->spans[span];
    uint32_t outer_number = outer == JM__NO_SPAN ? 0 : c->row_of[outer];
    c->row_of[span] = outer_number;
    if (!jm__span_kind_is_container(row->kind)) return true;
    bool named = row->kind == JM_SPAN_PHASE || row->kind == JM_SPAN_WINDOW;
    const row_key key = {(int64_t)row->kind, named ? row->name_id : 0, outer_number};
    c->row_of[span] = number_of(&c->rows, &key);
    return c->row_of[span] != 0;
}

static bool push_step_interval(collector *c, size_t span, size_t process)
{
    const jm__span *step = &c->w->spans->dataset->spans[span];
    kind_key key = {process,
                    c->row_of[span],
                    (int64_t)step->kind,
                    step->name_id,
                    jm__count_class(step->samples),
                    jm__count_class(step->tokens)};
    uint32_t kind = number_of(&c->kinds, &key);
    if (kind == 0) return false;
    if (kind > c->out->free_kind_of.count) { /* a new one: kinds have numbers from 1 */
        key.row = 0;
        uint32_t free_kind = number_of(&c->free_kinds, &key);
        if (free_kind == 0 || !jm__vec_push(&c->out->free_kind_of, free_kind)) return false;
    }
    const jm__step_interval step_interval = {.start_ns = step->start_ns,
                                             .step_end_ns = jm__span_end_ns(c->w->spans->dataset, step),
                                             .span = (uint32_t)span,
                                             .process = (uint32_t)process,
                                             .kind = kind,
                                             .stratum = JM__NO_STRATUM};
    return jm__vec_push(&c->out->step_intervals, step_interval);
}

/* Whether a step (by number + 1; 0: none) is still running at a time. */
static bool is_running(const collector *c, uint32_t step_interval, int64_t t_ns)
{
    return step_interval != 0 && c->out->step_intervals.items[step_interval - 1].step_end_ns > t_ns;
}

/* Sets encloses_step of all ancestors of steps and phases. */
static void find_enclosing(collector *c)
{
    const jm__dataset *d = c->w->spans->dataset;
    for (size_t i = 0; i < d->span_count; i++) {
        if (d->spans[i].kind != JM_SPAN_PHASE && !jm__marked_is_step(c->w->marked, &d->spans[i])) continue;
        for (size_t s = jm__span_parent(c->w->spans, i); s != JM__NO_SPAN && !c->encloses_step[s];
             s = jm__span_parent(c->w->spans, s))
            c->encloses_step[s] = true;
    }
}

/* A phase without steps counts as one step. */
static bool is_step_interval(const collector *c, size_t span)
{
    const jm__span *row = &c->w->spans->dataset->spans[span];
    return jm__marked_is_step(c->w->marked, row) || (row->kind == JM_SPAN_PHASE && !c->encloses_step[span]);
}

static bool collect_step_intervals(collector *c)
{
    const jm__dataset *d = c->w->spans->dataset;
    find_enclosing(c);
    for (size_t i = 0; i < d->span_count; i++) {
        const jm__span *span = &d->spans[i];
        const jm__process *process = jm__dataset_process(d, span->process_id);
        if (process == NULL || c->w->traced[process - d->processes].steps.count == 0) continue;
        size_t outer = jm__span_parent(c->w->spans, i);
        if (outer != JM__NO_SPAN && outer >= i) outer = JM__NO_SPAN;
        if (!find_row(c, i, outer)) return false;
        uint32_t outer_number = outer == JM__NO_SPAN ? 0 : c->out->step_interval_of_span[outer];
        c->out->step_interval_of_span[i] = outer_number;
        if (!is_step_interval(c, i) || is_running(c, outer_number, span->start_ns)) continue;
        if (!push_step_interval(c, i, (size_t)(process - d->processes))) return false;
        c->out->step_interval_of_span[i] = (uint32_t)c->out->step_intervals.count;
    }
    return true;
}

static int by_process(const void *a, const void *b)
{
    const jm__step_interval *left = a, *right = b;
    if (left->process != right->process) return left->process < right->process ? -1 : 1;
    return (left->span > right->span) - (left->span < right->span); /* in order of time */
}

/* Sort by process and time; meanwhile spans name the step that they lie in by its span. False if memory is
 * out. */
static bool sort_by_process(jm__strata *out, size_t spans)
{
    jm__step_interval *steps = out->step_intervals.items;
    size_t count = out->step_intervals.count;
    uint32_t *number = calloc(spans + 1, sizeof *number), *of_span = out->step_interval_of_span;
    if (number == NULL) return false;
    for (size_t s = 0; s < spans; s++)
        if (of_span[s] != 0) of_span[s] = steps[of_span[s] - 1].span + 1;
    jm__sort(steps, count, sizeof *steps, by_process);
    for (size_t i = 0; i < count; i++) {
        number[steps[i].span] = (uint32_t)i + 1;
        out->step_intervals_of[steps[i].process + 1]++;
    }
    for (size_t s = 0; s < spans; s++)
        if (of_span[s] != 0) of_span[s] = number[of_span[s] - 1];
    for (size_t p = 0; p < out->processes; p++)
        out->step_intervals_of[p + 1] += out->step_intervals_of[p];
    free(number);
    return true;
}

static bool is_traced(const jm__step_interval *step, const jm__intervals *on, size_t *at)
{
    int64_t length_ns = step->step_end_ns - step->start_ns;
    if (length_ns <= 0) return jm__intervals_contain(on, step->start_ns);
    return (double)jm__intervals_next_overlap_ns(on, at, step->start_ns, step->step_end_ns) >=
           traced_share * (double)length_ns;
}

/* The time between two steps belongs to the first, unless it is a pause: longer than the step and than all
 * gaps between traced steps. What ran in a pause is unknown. */
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

static void find_traced(jm__strata *out, const jm__strata_requested *w)
{
    for (size_t p = 0; p < out->processes; p++) {
        size_t first = out->step_intervals_of[p], end = out->step_intervals_of[p + 1], at = 0;
        for (size_t i = first; i < end; i++)
            out->step_intervals.items[i].traced =
                is_traced(&out->step_intervals.items[i], &w->traced[p].on, &at);
        end_step_intervals(out->step_intervals.items + first, end - first);
    }
}

static bool find_step_intervals(jm__strata *out, const jm__strata_requested *w)
{
    const jm__dataset *d = w->spans->dataset;
    collector c = {.out = out,
                   .w = w,
                   .rows = {.key_size = sizeof(row_key)},
                   .kinds = {.key_size = sizeof(kind_key)},
                   .free_kinds = {.key_size = sizeof(kind_key)}};
    c.row_of = calloc(d->span_count + 1, sizeof *c.row_of);
    c.encloses_step = calloc(d->span_count + 1, sizeof *c.encloses_step);
    out->step_interval_of_span = calloc(d->span_count + 1, sizeof *out->step_interval_of_span);
    out->step_intervals_of = calloc(out->processes + 1, sizeof *out->step_intervals_of);
    bool fine = c.encloses_step != NULL && c.row_of != NULL && out->step_interval_of_span != NULL &&
                out->step_intervals_of != NULL && collect_step_intervals(&c) &&
                sort_by_process(out, d->span_count);
    if (fine) find_traced(out, w);
    free(c.row_of);
    free(c.encloses_step);
    jm__map_free(&c.rows);
    jm__map_free(&c.kinds);
    jm__map_free(&c.free_kinds);
    return fine;
}

/* ---- warm-up: the first steps of a program differ from all others, since kernels are compiled and tuned and
 * buffers are allocated. If they are traced, they represent only themselves. */

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

static bool collect_first_steps(first_steps *all, const jm__strata *out, const jm__strata_requested *w)
{
    jm__map interval_of = {.key_size = sizeof(uint32_t)}; /* kinds are of one process each */
    bool fine = true;
    for (size_t i = 0; fine && i < out->step_intervals.count; i++) {
        const jm__step_interval *step = &out->step_intervals.items[i];
        if (!step->traced) continue;
        int64_t interval = (int64_t)jm__intervals_first_after(&w->traced[step->process].on, step->start_ns);
        const jm__map_value *found = jm__map_find(&interval_of, &step->kind);
        if (found != NULL && found->id != interval) continue;
        fine = (found != NULL || jm__map_put(&interval_of, &step->kind, (jm__map_value){.id = interval})) &&
               jm__vec_push(all, ((first_step){step->kind, i}));
    }
    jm__map_free(&interval_of);
    jm__sort(all->items, all->count, sizeof *all->items, by_kind_then_time);
    return fine;
}

static bool find_warm_up(jm__strata *out, const jm__strata_requested *w)
{
    first_steps all = {0};
    bool fine = collect_first_steps(&all, out, w);
    double *lengths = malloc((all.count + 1) * sizeof *lengths);
    fine = fine && lengths != NULL;
    for (size_t first = 0, end; fine && first < all.count; first = end) {
        for (end = first; end < all.count && all.items[end].kind == all.items[first].kind; end++) {
            const jm__step_interval *step = &out->step_intervals.items[all.items[end].step_interval];
            lengths[end - first] = (double)(step->step_end_ns - step->start_ns);
        }
        size_t warm_up = jm_repeats_warm_up(lengths, end - first);
        for (size_t i = first; i < first + warm_up; i++)
            out->step_intervals.items[all.items[i].step_interval].warm_up = true;
    }
    free(lengths);
    jm__vec_free(&all);
    return fine;
}

/* ---- slowdown by tracing: the lengths of traced steps against those of the steps that they represent.
 * Medians, since single steps may wait for anything. */

/* The length of a step. For each burst there are two groups: the steps that it represents, and its own. */
typedef struct step_length {
    size_t group;
    double seconds;
} step_length;

typedef JM_VEC(step_length) step_lengths;

typedef struct length_stats {
    double count, median_s, width_s; /* between the quartiles */
} length_stats;

/* Untraced steps with records of a recorder that was warming up: these slow them down as tracing does. */
static void mark_recorded(jm__strata *out, const jm__dataset *d)
{
    for (size_t i = 0; i < d->span_count; i++) {
        jm_span_kind kind = d->spans[i].kind;
        if (out->step_interval_of_span[i] == 0 || jm__span_kind_is_container(kind) || kind == JM_SPAN_DATA)
            continue;
        out->step_intervals.items[out->step_interval_of_span[i] - 1].recorded = true;
    }
}

/* Whether a step's length counts, for the traced or the untraced ones. */
static bool is_comparable(const jm__strata *out, const jm__step_interval *step, const jm__intervals *steps,
                          size_t *at)
{
    int64_t end_ns = step->step_end_ns;
    if (step->stratum >= out->bursts.count || step->warm_up) return false;
    if (step->traced) return true;
    return !step->recorded &&
           jm__intervals_next_overlap_ns(steps, at, step->start_ns, end_ns) >= end_ns - step->start_ns;
}

static bool collect_lengths(step_lengths *all, const jm__strata *out, const jm__strata_requested *w)
{
    for (size_t p = 0; p < out->processes; p++) {
        size_t at = 0;
        for (size_t i = out->step_intervals_of[p]; i < out->step_intervals_of[p + 1]; i++) {
            const jm__step_interval *step = &out->step_intervals.items[i];
            if (!is_comparable(out, step, &w->traced[p].steps, &at)) continue;
            const step_length length = {2 * (size_t)step->stratum + step->traced,
                                        (double)(step->step_end_ns - step->start_ns) * 1e-9};
            if (!jm__vec_push(all, length)) return false;
        }
    }
    return true;
}

static int by_group_and_length(const void *a, const void *b)
{
    const step_length *left = a, *right = b;
    if (left->group != right->group) return left->group < right->group ? -1 : 1;
    return (left->seconds > right->seconds) - (left->seconds < right->seconds);
}

/* Fills in stats[2 * bursts], which are 0. */
static void find_stats(length_stats *stats, const step_lengths *all)
{
    jm__sort(all->items, all->count, sizeof *all->items, by_group_and_length);
    for (size_t first = 0, end; first < all->count; first = end) {
        const step_length *of = &all->items[first];
        for (end = first + 1; end < all->count && all->items[end].group == of->group; end++) {
        }
        size_t count = end - first;
        stats[of->group] = (length_stats){
            .count = (double)count,
            .median_s = (of[(count - 1) / 2].seconds + of[count / 2].seconds) / 2,
            .width_s = of[count - 1 - count / 4].seconds - of[count / 4].seconds,
        };
    }
}

/* Standard deviation of the difference of two medians. Quartiles of a normal distribution are 1.35 standard
 * deviations apart, and a median has 1.25 times the standard error of a mean. */
static double difference_u_s(const length_stats *traced, const length_stats *untraced)
{
    double width_s = (traced->count * traced->width_s + untraced->count * untraced->width_s) /
                     (traced->count + untraced->count);
    return 1.25 * width_s / 1.35 * sqrt(1 / traced->count + 1 / untraced->count);
}

/* How much longer the traced steps of a kind, before it was split, took than others. */
typedef struct kind_sum {
    double more_s, less_s, variance;
} kind_sum;

static size_t kind_of(const jm__strata *strata, size_t burst)
{
    return strata->unsplit_kind_of.items[strata->bursts.items[burst].kind - 1] - 1;
}

static void add_burst(kind_sum *sum, const jm__traced_burst *burst, const length_stats *untraced,
                      const length_stats *traced)
{
    double steps = (double)burst->step_intervals;
    if (untraced->count == 0 || traced->count == 0) return;
    sum->more_s += steps * (traced->median_s - untraced->median_s);
    sum->less_s += steps * untraced->median_s;
    sum->variance += pow(steps * difference_u_s(traced, untraced), 2);
}

/* `of`: [2 * bursts], `kinds`: [kinds], all 0. */
static void find_slowdowns(jm__strata *out, const length_stats *of, kind_sum *kinds)
{
    double more_s = 0, less_s = 0;
    for (size_t t = 0; t < out->bursts.count; t++)
        add_burst(&kinds[kind_of(out, t)], &out->bursts.items[t], &of[2 * t], &of[2 * t + 1]);
    for (size_t t = 0; t < out->bursts.count; t++) {
        jm__traced_burst *burst = &out->bursts.items[t];
        const kind_sum *sum = &kinds[kind_of(out, t)];
        if (!(sum->less_s > 0)) continue;
        double share = (double)burst->step_intervals * of[2 * t + 1].median_s / (sum->more_s + sum->less_s);
        burst->slowed_s = share * fmax(0, sum->more_s);
        burst->slowed_u_s = share * sqrt(sum->variance);
    }
    for (size_t k = 0; k < out->unsplit_kind_of.count; k++) {
        more_s += kinds[k].more_s;
        less_s += kinds[k].less_s;
    }
    if (less_s > 0) out->slow_down = more_s / less_s;
}

static bool find_slowed(jm__strata *out, const jm__strata_requested *w)
{
    step_lengths all = {0};
    length_stats *of = calloc(2 * out->bursts.count + 1, sizeof *of);
    kind_sum *kinds = calloc(out->unsplit_kind_of.count + 1, sizeof *kinds);
    mark_recorded(out, w->spans->dataset);
    bool fine = of != NULL && kinds != NULL && collect_lengths(&all, out, w);
    if (fine) find_stats(of, &all);
    if (fine) find_slowdowns(out, of, kinds);
    free(of);
    free(kinds);
    jm__vec_free(&all);
    return fine;
}

/* ---- kinds with a single burst: their drift was not observed. It is taken to be that of the steps' lengths,
 * between intervals of as many steps as the burst has. */

enum { INTERVAL_STEPS_MIN = 4 /* with fewer, chance dominates */, INTERVALS_MIN = 3 };

/* Layers may drift although the steps do not. Choices: the usual variation of layers from minute to minute;
 * and, for a burst of one step, the variation from step to step. */
static const double u_min = 0.01, single_u = 0.1;

/* Mean and variance of means over intervals (Welford). */
typedef struct interval_means {
    double sum_s;
    size_t steps;
    double count, mean, square;
} interval_means;

static void add_step_time(interval_means *s, double seconds, size_t steps)
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

static double relative_u(const interval_means *s, const jm__traced_burst *burst)
{
    double lowest = burst->step_intervals > 1 ? u_min : single_u;
    if (s->count < INTERVALS_MIN || !(s->mean > 0)) return fmax(lowest, single_u);
    return fmax(lowest, sqrt(s->square / (s->count - 1)) / s->mean);
}

static bool is_only_of_kind(const jm__strata *out, size_t burst)
{
    const jm__traced_burst *bursts = out->bursts.items;
    bool before = burst > 0 && bursts[burst - 1].kind == bursts[burst].kind;
    bool after = burst + 1 < out->bursts.count && bursts[burst + 1].kind == bursts[burst].kind;
    return !before && !after;
}

bool jm__single_burst_find(jm__strata *out)
{
    interval_means *of = calloc(out->bursts.count + 1, sizeof *of);
    bool fine = of != NULL;
    for (size_t i = 0; fine && i < out->step_intervals.count; i++) {
        const jm__step_interval *step = &out->step_intervals.items[i];
        if (step->traced || step->recorded || step->stratum >= out->bursts.count) continue;
        size_t step_intervals = out->bursts.items[step->stratum].step_intervals;
        add_step_time(&of[step->stratum], (double)(step->step_end_ns - step->start_ns) * 1e-9,
                      step_intervals > INTERVAL_STEPS_MIN ? step_intervals : INTERVAL_STEPS_MIN);
    }
    for (size_t t = 0; fine && t < out->bursts.count; t++)
        if (is_only_of_kind(out, t))
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
    bool fine = find_step_intervals(out, requested) && find_warm_up(out, requested) &&
                split_kinds(out, requested) && find_bursts(out, requested) && find_slowed(out, requested) &&
                jm__single_burst_find(out);
    return fine ? JM_OK : jm__no_memory(err, "jm__strata_find");
}
