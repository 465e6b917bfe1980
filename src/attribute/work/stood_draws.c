/* Where a kind has several turns, what one differs from the next by is all that its steps may be off by: what
 * single steps differ by, what one turn differs from the next by, and, a little too much, what drifts. Turn g
 * of mean x_g that stands for M_g steps has the error M_g (x_g' - x_g) / sqrt(2), g' being its partner: the
 * next one, of the last one that before. Turns are independent of each other.
 *
 * Where it has one turn, of n steps that stand for M, single steps tell: M^2 (1/n + 1/M) s^2, and what
 * drifts, nobody knows: as much as the steps' own times do (jm__lone_kind), of all that they stand for. */
#include "attribute/work/stood_draws.h"

#include <math.h>
#include <stdlib.h>

/* Draws are one a pair of neighbours as long as these are few. */
typedef struct drawing {
    jm__stood *out;
    size_t pairs; /* of all kinds; steps of lone turns too */
    size_t next;
} drawing;

/* The pair's part in a draw: of variance 1 over all draws. */
static double part_of(const drawing *d, size_t pair, size_t draw)
{
    if (d->pairs > JM_DRAWS) return jm__draw_sign(pair, draw);
    return pair == draw ? sqrt(JM_DRAWS) : 0;
}

static double stood_for(const jm__stood *s, size_t turn)
{
    return s->of_turn[turn] * (double)s->stands->turns.items[turn].laps;
}

/* Turns [first, end) are those of a kind. The last pair is that of two turns. */
static void draw_pairs(drawing *d, size_t first, size_t end)
{
    jm__stood *out = d->out;
    const jm__turn *turns = out->stands->turns.items;
    for (size_t t = first; t < end; t++) {
        bool last = t + 1 == end;
        size_t partner = last ? t - 1 : t + 1, pair = d->next + (last ? t - 1 : t) - first;
        out->partner[t] = (uint32_t)partner;
        for (size_t r = 0; r < JM_DRAWS; r++) {
            double part = part_of(d, pair, r) * (last ? -1 : 1) / sqrt(2);
            double steps = part * stood_for(out, t);
            out->parts[t * JM_DRAWS + r] = part;
            out->draws[out->unit[t] * JM_DRAWS + r] -= steps / (double)turns[t].laps;
            out->draws[out->unit[partner] * JM_DRAWS + r] += steps / (double)turns[partner].laps;
        }
    }
    d->next += end - first - 1;
}

static void draw_steps(drawing *d, size_t turn)
{
    double count = (double)d->out->stands->turns.items[turn].laps, steps = stood_for(d->out, turn);
    double *draws = d->out->draws + d->out->unit[turn] * JM_DRAWS;
    double size = steps > 0 && count > 1 ? steps * sqrt((1 / count + 1 / steps) / (count - 1)) : 0;
    for (size_t r = 0; r < JM_DRAWS; r++) {
        double mean = 0;
        for (size_t i = 0; i < (size_t)count; i++)
            mean += part_of(d, d->next + i, r) / count;
        for (size_t i = 0; i < (size_t)count; i++)
            draws[i * JM_DRAWS + r] = size * (part_of(d, d->next + i, r) - mean);
    }
    d->next += (size_t)count;
}

static size_t end_of_kind(const jm__stands *stands, size_t first)
{
    size_t end = first + 1;
    while (end < stands->turns.count && stands->turns.items[end].kind == stands->turns.items[first].kind)
        end++;
    return end;
}

/* What is known of how sure the draws of several kinds are together: of each the variance is taken to go with
 * the square of its time, over its turns (Satterthwaite). */
typedef struct sureness {
    double variance, square;
} sureness;

static void add_kind(sureness *all, double seconds, size_t turns, size_t laps)
{
    bool alone = turns == 1;
    double count = (double)(alone ? laps : turns), variance = seconds * seconds / count;
    double freedom = alone ? fmax(1, count - 1) : 2 * pow(count - 1, 2) / fmax(1, 3 * count - 4);
    all->variance += variance;
    all->square += variance * variance / freedom;
}

/* Units and pairs of all kinds. */
static size_t count(drawing *d, double *freedom)
{
    jm__stood *out = d->out;
    const jm__stands *stands = out->stands;
    size_t units = 0;
    sureness all = {0};
    for (size_t first = 0, end; first < stands->turns.count; first = end) {
        double seconds = 0;
        end = end_of_kind(stands, first);
        bool alone = end == first + 1;
        size_t laps = stands->turns.items[first].laps;
        for (size_t t = first; t < end; t++) {
            out->unit[t] = units;
            out->alone[t] = alone;
            units += alone ? laps : 1;
            seconds += out->seconds[t];
        }
        d->pairs += alone ? laps : end - first - 1;
        add_kind(&all, seconds, end - first, laps);
    }
    if (all.square > 0) *freedom = all.variance * all.variance / all.square;
    return units;
}

static double lone_u(const jm__stood *s)
{
    double sum = 0, all_s = 0;
    for (size_t i = 0; i < s->stands->items.count; i++)
        all_s += s->seconds[i];
    for (size_t i = 0; i < s->stands->lone.count; i++)
        sum += s->stands->lone.items[i].relative_u * s->seconds[s->stands->lone.items[i].turn];
    return all_s > 0 ? sum / all_s : 0;
}

/* Not only to its partner's rows. */
static bool lends_itself(const jm__stood *s, size_t turn)
{
    return s->lends[turn] && s->of_turn[turn] > s->in_row[turn];
}

bool jm__stood_draws_find(jm__stood *out)
{
    size_t turns = out->stands->turns.count;
    drawing d = {.out = out};
    double freedom = 1;
    out->unit = calloc(turns + 1, sizeof *out->unit);
    out->alone = calloc(turns + 1, sizeof *out->alone);
    out->partner = calloc(turns + 1, sizeof *out->partner);
    out->parts = calloc(turns * JM_DRAWS + 1, sizeof *out->parts);
    if (out->unit == NULL || out->alone == NULL || out->partner == NULL || out->parts == NULL) return false;
    size_t units = count(&d, &freedom);
    out->draws = calloc(units * JM_DRAWS + 1, sizeof *out->draws);
    if (out->draws == NULL) return false;
    for (size_t t = 0; t < turns; t++)
        out->partner[t] = (uint32_t)t;
    for (size_t first = 0, end; first < turns; first = end) {
        end = end_of_kind(out->stands, first);
        if (out->alone[first])
            draw_steps(&d, first);
        else
            draw_pairs(&d, first, end);
    }
    out->freedom = d.pairs > JM_DRAWS ? 1 / (1 / freedom + 1.0 / JM_DRAWS) : freedom;
    out->lone_u = lone_u(out);
    for (size_t t = 0; t < turns; t++) /* differences take both */
        if (lends_itself(out, t)) out->lends[out->partner[t]] = true;
    return true;
}
