/* Step intervals, weights of bursts, and draws of their sampling errors. */
#include "attribute/work/strata.h"

#include "base/search.h"

#include <stdlib.h>

typedef struct draw_state {
    jm__extrapolated *out;
    size_t pairs; /* of all kinds; steps of single bursts too */
    size_t next;
} draw_state;

/* Degrees of freedom of several kinds together (Satterthwaite). A kind's variance is taken as the square of
 * its time over its number of bursts. */
typedef struct freedom_sum {
    double variance, square;
} freedom_sum;

static size_t end_of_kind(const jm__strata *strata, size_t first)
{
    size_t end = first + 1;
    while (end < strata->bursts.count && strata->bursts.items[end].kind == strata->bursts.items[first].kind)
        end++;
    return end;
}

static void add_kind(freedom_sum *all, double seconds, size_t bursts, size_t step_intervals)
{
    bool alone = bursts == 1;
    double count = (double)(alone ? step_intervals : bursts), variance = seconds * seconds / count;
    double freedom = alone ? fmax(1, count - 1) : 2 * pow(count - 1, 2) / fmax(1, 3 * count - 4);
    all->variance += variance;
    all->square += variance * variance / freedom;
}

/* Units and pairs of all kinds. */
static size_t count_units(draw_state *d, double *freedom)
{
    jm__extrapolated *out = d->out;
    const jm__strata *strata = out->strata;
    size_t units = 0;
    freedom_sum all = {0};
    for (size_t first = 0, end; first < strata->bursts.count; first = end) {
        double seconds = 0;
        end = end_of_kind(strata, first);
        bool alone = end == first + 1;
        size_t step_intervals = strata->bursts.items[first].step_intervals;
        for (size_t t = first; t < end; t++) {
            out->of_burst[t].unit = units;
            out->of_burst[t].alone = alone;
            units += alone ? step_intervals : 1;
            seconds += out->of_stratum[t].seconds;
        }
        d->pairs += alone ? step_intervals : end - first - 1;
        add_kind(&all, seconds, end - first, step_intervals);
    }
    if (all.square > 0) *freedom = all.variance * all.variance / all.square;
    return units;
}

size_t jm__strata_step_interval_at(const jm__strata *strata, size_t process, int64_t t_ns)
{
    size_t first = strata->step_intervals_of[process], count = strata->step_intervals_of[process + 1] - first,
           at;
    const jm__step_interval *step_intervals = strata->step_intervals.items + first;
    jm__search(at, count, step_intervals[at].start_ns <= t_ns);
    return at > 0 && t_ns < step_intervals[at - 1].end_ns ? first + at - 1 : JM__NO_STEP_INTERVAL;
}

void jm__strata_free(jm__strata *strata)
{
    for (size_t p = 0; strata->extrapolated != NULL && p < strata->processes; p++)
        jm__vec_free(&strata->extrapolated[p]);
    jm__vec_free(&strata->step_intervals);
    jm__vec_free(&strata->free_kind_of);
    jm__vec_free(&strata->unsplit_kind_of);
    jm__vec_free(&strata->bursts);
    jm__vec_free(&strata->items);
    jm__vec_free(&strata->single_burst);
    free(strata->step_intervals_of);
    free(strata->step_interval_of_span);
    free(strata->extrapolated);
    *strata = (jm__strata){0};
}

/* The report's time within the extrapolated time of a process, or without it. False if memory is out. */
static bool find_view(jm__extrapolated_view *out, const jm__extrapolated_requested *w,
                      const jm__intervals *extrapolated,
                      bool (*narrow)(jm__intervals *intervals, const jm__intervals *other))
{
    *out = (jm__extrapolated_view){0};
    return jm__intervals_add_all(&out->report, w->report) && narrow(&out->report, extrapolated) &&
           jm__intervals_add_all(&out->steady, w->steady) && narrow(&out->steady, extrapolated);
}

static void view_free(jm__extrapolated_view *view)
{
    jm__vec_free(&view->report);
    jm__vec_free(&view->steady);
}

/* The overlap of a step interval with a set of time. Step intervals come in order. */
typedef struct overlap {
    double seconds; /* of the step interval */
    double step;    /* of the step alone, as a fraction of it */
} overlap;

static overlap overlap_of(const jm__step_interval *step_interval, const jm__intervals *time, size_t *at)
{
    int64_t length_ns = step_interval->step_end_ns - step_interval->start_ns;
    int64_t step_interval_ns =
        jm__intervals_next_overlap_ns(time, at, step_interval->start_ns, step_interval->end_ns);
    overlap in = {.seconds = 1e-9 * (double)step_interval_ns};
    if (length_ns <= 0)
        in.step = jm__intervals_contain(time, step_interval->start_ns);
    else
        in.step = (double)jm__intervals_next_overlap_ns(time, at, step_interval->start_ns,
                                                        step_interval->step_end_ns) /
                  (double)length_ns;
    return in;
}

/* An untraced step interval, or the time after a traced step. */
static void add_step_interval_weight(jm__extrapolated *out, size_t number, overlap report, overlap steady)
{
    const jm__step_interval *step = &out->strata->step_intervals.items[number];
    jm__stratum_sum *sum = &out->of_stratum[step->stratum];
    sum->seconds += report.seconds;
    sum->steady_s += steady.seconds;
    if (step->traced) return;
    uint32_t burst = out->strata->items.items[step->stratum].burst;
    double each = 1 / (double)out->strata->bursts.items[burst].step_intervals;
    sum->steps += each * report.step;
    sum->steady_steps += each * steady.step;
    sum->step_s += 1e-9 * report.step * (double)(step->step_end_ns - step->start_ns);
    if (step->recorded) sum->recorded += report.step;
    if (out->of_step_interval != NULL) out->of_step_interval[number] = (float)(each * report.step);
}

static void add_weights(jm__extrapolated *out, size_t process, const jm__extrapolated_view *of)
{
    size_t report_at = 0, steady_at = 0;
    for (size_t i = out->strata->step_intervals_of[process]; i < out->strata->step_intervals_of[process + 1];
         i++) {
        const jm__step_interval *step = &out->strata->step_intervals.items[i];
        if (step->stratum == JM__NO_STRATUM) continue;
        overlap report = overlap_of(step, &of->report, &report_at);
        add_step_interval_weight(out, i, report, overlap_of(step, &of->steady, &steady_at));
    }
}

static bool add_process(jm__extrapolated *out, size_t process, const jm__extrapolated_requested *w)
{
    const jm__strata *strata = out->strata;
    jm__extrapolated_view of;
    bool fine = find_view(&of, w, &strata->extrapolated[process], jm__intervals_intersect) &&
                jm__intervals_add_all(&out->time, &strata->extrapolated[process]);
    if (fine) add_weights(out, process, &of);
    view_free(&of);
    return fine;
}

static bool add_view(jm__extrapolated *out, const jm__intervals *extrapolated,
                     const jm__extrapolated_requested *w, uint32_t *number)
{
    jm__extrapolated_view view;
    if (!find_view(&view, w, extrapolated, jm__intervals_subtract) || !jm__vec_push(&out->views, view)) {
        view_free(&view);
        return false;
    }
    *number = (uint32_t)out->views.count;
    return true;
}

/* One view per process; idle time has the only process's view, or one of its own if there are several. */
static bool find_views(jm__extrapolated *out, const jm__extrapolated_requested *w)
{
    const jm__strata *strata = out->strata;
    out->view_of = calloc(strata->processes + 1, sizeof *out->view_of);
    out->idle_process = strata->processes;
    if (out->view_of == NULL) return false;
    for (size_t p = 0; p < strata->processes; p++) {
        if (!out->uses[p] || strata->extrapolated[p].count == 0) continue;
        if (!add_view(out, &strata->extrapolated[p], w, &out->view_of[p])) return false;
        if (out->idle_process == strata->processes) out->idle_process = p;
    }
    out->idle_view = (uint32_t)out->views.count;
    return out->views.count == 1 || add_view(out, &out->time, w, &out->idle_view);
}

static void add_bursts(jm__extrapolated *out, jm__extrapolated_rows rows)
{
    size_t bursts = out->strata->bursts.count;
    for (size_t s = 0; s < out->strata->items.count; s++) {
        const jm__stratum_sum *sum = &out->of_stratum[s];
        jm__represented *burst = &out->of_burst[out->strata->items.items[s].burst];
        bool own = rows == JM_EXTRAPOLATED_ALL || (rows == JM_EXTRAPOLATED_IN_ROWS && s < bursts);
        burst->steps += sum->steps;
        burst->steady_steps += sum->steady_steps;
        if (own) burst->in_row += sum->steps;
        if (own) burst->in_row_steady += sum->steady_steps;
        if (!own && sum->steps > 0) burst->lends = true;
    }
}

/* A kind with several bursts: the difference of neighbouring bursts covers the variation between steps and
 * between bursts and, slightly overestimated, drift. Burst g of mean x_g that represents M_g steps has the
 * error M_g (x_g' - x_g) / sqrt(2), where g' is its partner: the next burst, for the last one the previous.
 * Errors of bursts are independent.
 *
 * A kind with one burst, of n steps that represent M: the variation between steps gives M^2 (1/n + 1/M) s^2.
 * Drift is unknown; it is taken to be that of the steps' own times (jm__single_burst_kind). */

/* A pair's factor in a draw: of variance 1 over all draws. */
static double pair_factor(const draw_state *d, size_t pair, size_t draw)
{
    if (d->pairs > JM_DRAWS) return jm__draw_sign(pair, draw);
    return pair == draw ? sqrt(JM_DRAWS) : 0;
}

static double extrapolated_for(const jm__extrapolated *s, size_t burst)
{
    return s->of_burst[burst].steps * (double)s->strata->bursts.items[burst].step_intervals;
}

/* Bursts [first, end) are those of a kind. The last two bursts share a pair. */
static void draw_pairs(draw_state *d, size_t first, size_t end)
{
    jm__extrapolated *out = d->out;
    const jm__traced_burst *bursts = out->strata->bursts.items;
    for (size_t t = first; t < end; t++) {
        bool last = t + 1 == end;
        size_t partner = last ? t - 1 : t + 1, pair = d->next + (last ? t - 1 : t) - first;
        out->of_burst[t].partner = (uint32_t)partner;
        for (size_t r = 0; r < JM_DRAWS; r++) {
            double part = pair_factor(d, pair, r) * (last ? -1 : 1) / sqrt(2);
            double steps = part * extrapolated_for(out, t);
            out->parts[t * JM_DRAWS + r] = part;
            out->draws[out->of_burst[t].unit * JM_DRAWS + r] -= steps / (double)bursts[t].step_intervals;
            out->draws[out->of_burst[partner].unit * JM_DRAWS + r] +=
                steps / (double)bursts[partner].step_intervals;
        }
    }
    d->next += end - first - 1;
}

static void draw_steps(draw_state *d, size_t burst)
{
    double count = (double)d->out->strata->bursts.items[burst].step_intervals,
           steps = extrapolated_for(d->out, burst);
    double *draws = d->out->draws + d->out->of_burst[burst].unit * JM_DRAWS;
    double size = steps > 0 && count > 1 ? steps * sqrt((1 / count + 1 / steps) / (count - 1)) : 0;
    for (size_t r = 0; r < JM_DRAWS; r++) {
        double mean = 0;
        for (size_t i = 0; i < (size_t)count; i++)
            mean += pair_factor(d, d->next + i, r) / count;
        for (size_t i = 0; i < (size_t)count; i++)
            draws[i * JM_DRAWS + r] = size * (pair_factor(d, d->next + i, r) - mean);
    }
    d->next += (size_t)count;
}

static double single_burst_u(const jm__extrapolated *s)
{
    double sum = 0, all_s = 0;
    for (size_t i = 0; i < s->strata->items.count; i++)
        all_s += s->of_stratum[i].seconds;
    for (size_t i = 0; i < s->strata->single_burst.count; i++) {
        const jm__single_burst_kind *kind = &s->strata->single_burst.items[i];
        sum += kind->relative_u * s->of_stratum[kind->burst].seconds;
    }
    return all_s > 0 ? sum / all_s : 0;
}

/* Needs the weights. False if memory is out. */
static bool find_draws(jm__extrapolated *out)
{
    size_t bursts = out->strata->bursts.count;
    draw_state d = {.out = out};
    double freedom = 1;
    size_t units = count_units(&d, &freedom);
    out->parts = calloc(bursts * JM_DRAWS + 1, sizeof *out->parts);
    out->draws = calloc(units * JM_DRAWS + 1, sizeof *out->draws);
    if (out->parts == NULL || out->draws == NULL) return false;
    for (size_t t = 0; t < bursts; t++)
        out->of_burst[t].partner = (uint32_t)t;
    for (size_t first = 0, end; first < bursts; first = end) {
        end = end_of_kind(out->strata, first);
        if (out->of_burst[first].alone)
            draw_steps(&d, first);
        else
            draw_pairs(&d, first, end);
    }
    out->freedom = d.pairs > JM_DRAWS ? 1 / (1 / freedom + 1.0 / JM_DRAWS) : freedom;
    out->single_burst_u = single_burst_u(out);
    for (size_t t = 0; t < bursts; t++) { /* a difference needs the rows of both partners */
        const jm__represented *burst = &out->of_burst[t];
        if (burst->lends && burst->steps > burst->in_row) out->of_burst[burst->partner].lends = true;
    }
    return true;
}

bool jm__extrapolated_find(jm__extrapolated *out, const jm__extrapolated_requested *w)
{
    *out = (jm__extrapolated){0};
    if (!jm__strata_any(w->strata)) return true;
    size_t step_intervals = w->strata->step_intervals.count, processes = w->strata->processes;
    bool by_step = w->rows == JM_EXTRAPOLATED_BY_STEP;
    out->strata = w->strata;
    out->rows = w->rows;
    out->of_stratum = calloc(w->strata->items.count + 1, sizeof *out->of_stratum);
    out->of_burst = calloc(w->strata->bursts.count + 1, sizeof *out->of_burst);
    out->uses = calloc(processes + 1, sizeof *out->uses);
    if (by_step) out->of_step_interval = calloc(step_intervals + 1, sizeof *out->of_step_interval);
    bool fine = out->of_stratum != NULL && out->of_burst != NULL && out->uses != NULL &&
                (!by_step || out->of_step_interval != NULL);
    for (size_t p = 0; fine && p < processes; p++) {
        out->uses[p] = w->uses == NULL || w->uses[p];
        if (out->uses[p]) fine = add_process(out, p, w);
    }
    if (!fine) return false;
    jm__intervals_normalise(&out->time);
    for (size_t i = 0; i < out->time.count; i++)
        out->time_s += 1e-9 * (double)jm__intervals_overlap_ns(w->report, out->time.items[i].from_ns,
                                                               out->time.items[i].to_ns);
    add_bursts(out, w->rows);
    return find_views(out, w) && find_draws(out);
}

void jm__extrapolated_free(jm__extrapolated *extrapolated)
{
    free(extrapolated->of_stratum);
    free(extrapolated->of_burst);
    free(extrapolated->of_step_interval);
    free(extrapolated->draws);
    free(extrapolated->parts);
    free(extrapolated->uses);
    free(extrapolated->view_of);
    for (size_t v = 0; v < extrapolated->views.count; v++)
        view_free(&extrapolated->views.items[v]);
    jm__vec_free(&extrapolated->views);
    jm__vec_free(&extrapolated->time);
    *extrapolated = (jm__extrapolated){0};
}
