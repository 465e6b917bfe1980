/* Of a kind that was traced in one turn alone, nobody has seen what drifts. The times of the steps are known,
 * though, and a layer is taken to change as much as they do, from one stretch as long as a turn to the next.
 */
#include "attribute/sampling/parts.h"

#include <math.h>
#include <stdlib.h>

/* Steps of a stretch at least: fewer differ by chance. */
enum { LEAST_STEPS = 4, LEAST_STRETCHES = 3 };

/* Layers may differ where the steps do not. A choice: what most programs' layers vary by from minute to
 * minute; of a single traced step, what one step may differ from the next by. */
static const double least_u = 0.01, single_u = 0.1;

/* Means of stretches while steps pass by (Welford's sums). */
typedef struct stretches {
    double sum_s;
    size_t steps;
    double count, mean, square;
} stretches;

static void add(stretches *s, double seconds, size_t steps)
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

static double relative_u(const stretches *s, const jm__turn *turn)
{
    double least = turn->laps > 1 ? least_u : single_u;
    if (s->count < LEAST_STRETCHES || !(s->mean > 0)) return fmax(least, single_u);
    return fmax(least, sqrt(s->square / (s->count - 1)) / s->mean);
}

static bool is_alone(const jm__stands *out, size_t turn)
{
    const jm__turn *turns = out->turns.items;
    bool before = turn > 0 && turns[turn - 1].kind == turns[turn].kind;
    bool after = turn + 1 < out->turns.count && turns[turn + 1].kind == turns[turn].kind;
    return !before && !after;
}

bool jm__lone_find(jm__stands *out)
{
    stretches *of = calloc(out->turns.count + 1, sizeof *of);
    bool fine = of != NULL;
    for (size_t i = 0; fine && i < out->laps.count; i++) {
        const jm__lap *lap = &out->laps.items[i];
        if (lap->traced || lap->recorded || lap->stand >= out->turns.count) continue;
        size_t laps = out->turns.items[lap->stand].laps;
        add(&of[lap->stand], (double)(lap->step_end_ns - lap->start_ns) * 1e-9,
            laps > LEAST_STEPS ? laps : LEAST_STEPS);
    }
    for (size_t t = 0; fine && t < out->turns.count; t++)
        if (is_alone(out, t))
            fine = jm__vec_push(&out->lone,
                                ((jm__lone_kind){(uint32_t)t, relative_u(&of[t], &out->turns.items[t])}));
    free(of);
    return fine;
}
