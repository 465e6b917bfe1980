/* Kinds as narrow in their counts as there are traced steps for: what a step takes goes with its samples and
 * tokens, and nobody knows how. So a kind is halved by the counts of its traced steps, again and again, until
 * their counts are alike or there are too few of them; each part is a kind of its own.
 *
 * How long a step took is known of every one, and parts a kind too: where a few steps do something else under
 * the same name (a checkpoint each 50th), whatever share of them a turn has caught. What tracing adds to a
 * step is far less than what they have to differ by. */
#include "attribute/sampling/parts.h"

#include <math.h>
#include <stdlib.h>

/* A choice: what counts in one part are more than the least of them does not matter beside what equal steps
 * differ by; and of how many traced steps a part is told at least. Between the times of two parts lie none:
 * the longer takes so many times as long. There one traced step is enough: it is more like the others as long
 * than the short ones are. */
static const double alike = 0.05, times_as_long = 3;
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

static counted counted_of(const jm__lap *lap, const jm__stands_wanted *w)
{
    const jm__span *step = &w->spans->dataset->spans[lap->span];
    int64_t length_us = (lap->step_end_ns - lap->start_ns) / 1000;
    uint32_t length = length_us < 0 ? 0 : length_us < UINT32_MAX ? (uint32_t)length_us : UINT32_MAX;
    return (counted){{step->samples, step->tokens, length}};
}

static bool collect(parts *out, const jm__stands *stands, const jm__stands_wanted *w)
{
    size_t kinds = stands->loose_of.count, count = 0;
    out->items.items = calloc(kinds + 1, sizeof *out->items.items);
    if (out->items.items == NULL) return false;
    out->items.count = kinds;
    out->items.capacity = kinds + 1;
    for (size_t i = 0; i < stands->laps.count; i++)
        if (jm__lap_stands(&stands->laps.items[i])) out->items.items[stands->laps.items[i].kind - 1].end++;
    for (size_t k = 0; k < kinds; k++) {
        size_t of_kind = out->items.items[k].end;
        out->items.items[k].first = out->items.items[k].end = count;
        count += of_kind;
    }
    out->traced = malloc((count + 1) * sizeof *out->traced);
    for (size_t i = 0; out->traced != NULL && i < stands->laps.count; i++) {
        const jm__lap *lap = &stands->laps.items[i];
        if (jm__lap_stands(lap)) out->traced[out->items.items[lap->kind - 1].end++] = counted_of(lap, w);
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
    if (spread_of(all, &p, by) <= alike) return true;
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
static bool halve_all(parts *all, jm__stands *stands)
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
            fine = jm__vec_push(&stands->loose_of, stands->loose_of.items[n]) &&
                   jm__vec_push(&stands->whole_of, stands->whole_of.items[n]);
    }
    return fine;
}

/* The number of the part that a step of a kind is of. */
static uint32_t part_of(const parts *all, const jm__lap *lap, const jm__stands_wanted *w)
{
    size_t at = lap->kind - 1;
    while (all->items.items[at].below > 0) {
        const part *p = &all->items.items[at];
        at = p->below + (counted_of(lap, w).of[p->by] >= p->from);
    }
    return (uint32_t)at + 1;
}

bool jm__counts_part(jm__stands *out, const jm__stands_wanted *w)
{
    parts all = {0};
    bool fine = true;
    for (size_t k = 0; fine && k < out->loose_of.count; k++)
        fine = jm__vec_push(&out->whole_of, (uint32_t)k + 1);
    fine = fine && collect(&all, out, w) && halve_all(&all, out);
    for (size_t i = 0; fine && i < out->laps.count; i++)
        out->laps.items[i].kind = part_of(&all, &out->laps.items[i], w);
    free(all.traced);
    jm__vec_free(&all.items);
    return fine;
}
