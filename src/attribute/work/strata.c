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
            out->unit[t] = units;
            out->alone[t] = alone;
            units += alone ? step_intervals : 1;
            seconds += out->seconds[t];
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

/* The extrapolated time of one process within the report. */
typedef struct requested_time {
    jm__intervals report, steady;
} requested_time;

static bool find_requested_time(requested_time *out, const jm__intervals *extrapolated,
                                const jm__extrapolated_requested *w)
{
    *out = (requested_time){0};
    return jm__intervals_add_all(&out->report, extrapolated) &&
           jm__intervals_intersect(&out->report, w->report) &&
           jm__intervals_add_all(&out->steady, extrapolated) &&
           jm__intervals_intersect(&out->steady, w->steady);
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
    const jm__step_interval *step_interval = &out->strata->step_intervals.items[number];
    out->seconds[step_interval->stratum] += report.seconds;
    out->steady_s[step_interval->stratum] += steady.seconds;
    if (step_interval->traced) return;
    double each =
        1 / (double)out->strata->bursts.items[out->strata->items.items[step_interval->stratum].burst]
                .step_intervals;
    out->steps[step_interval->stratum] += each * report.step;
    out->steady_steps[step_interval->stratum] += each * steady.step;
    out->step_s[step_interval->stratum] +=
        1e-9 * report.step * (double)(step_interval->step_end_ns - step_interval->start_ns);
    if (step_interval->recorded) out->recorded[step_interval->stratum] += report.step;
    if (out->of_step_interval != NULL) out->of_step_interval[number] = (float)(each * report.step);
}

static void add_weights(jm__extrapolated *out, size_t process, const requested_time *of)
{
    size_t report_at = 0, steady_at = 0;
    for (size_t i = out->strata->step_intervals_of[process]; i < out->strata->step_intervals_of[process + 1];
         i++) {
        const jm__step_interval *step_interval = &out->strata->step_intervals.items[i];
        if (step_interval->stratum == JM__NO_STRATUM) continue;
        overlap report = overlap_of(step_interval, &of->report, &report_at);
        add_step_interval_weight(out, i, report, overlap_of(step_interval, &of->steady, &steady_at));
    }
}

static bool add_process(jm__extrapolated *out, size_t process, const jm__extrapolated_requested *w)
{
    const jm__strata *strata = out->strata;
    requested_time of;
    bool fine = find_requested_time(&of, &strata->extrapolated[process], w) &&
                jm__intervals_add_all(&out->time, &strata->extrapolated[process]);
    if (fine) add_weights(out, process, &of);
    jm__vec_free(&of.report);
    jm__vec_free(&of.steady);
    return fine;
}

static bool add_view(jm__extrapolated *out, const jm__intervals *extrapolated,
                     const jm__extrapolated_requested *w, uint32_t *number)
{
    jm__extrapolated_view view = {0};
    bool fine = jm__intervals_add_all(&view.report, w->report) &&
                jm__intervals_subtract(&view.report, extrapolated) &&
                jm__intervals_add_all(&view.steady, w->steady) &&
                jm__intervals_subtract(&view.steady, extrapolated) && jm__vec_push(&out->views, view);
    if (!fine) {
        jm__vec_free(&view.report);
        jm__vec_free(&view.steady);
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
        uint32_t burst = out->strata->items.items[s].burst;
        bool own = rows == JM_EXTRAPOLATED_ALL || (rows == JM_EXTRAPOLATED_IN_ROWS && s < bursts);
        out->burst_steps[burst] += out->steps[s];
        out->steady_burst_steps[burst] += out->steady_steps[s];
        if (own) out->in_row[burst] += out->steps[s];
        if (!own && out->steps[s] > 0) out->lends[burst] = true;
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
    return s->burst_steps[burst] * (double)s->strata->bursts.items[burst].step_intervals;
}

/* Bursts [first, end) are those of a kind. The last two bursts share a pair. */
static void draw_pairs(draw_state *d, size_t first, size_t end)
{
    jm__extrapolated *out = d->out;
    const jm__traced_burst *bursts = out->strata->bursts.items;
    for (size_t t = first; t < end; t++) {
        bool last = t + 1 == end;
        size_t partner = last ? t - 1 : t + 1, pair = d->next + (last ? t - 1 : t) - first;
        out->partner[t] = (uint32_t)partner;
        for (size_t r = 0; r < JM_DRAWS; r++) {
            double part = pair_factor(d, pair, r) * (last ? -1 : 1) / sqrt(2);
            double steps = part * extrapolated_for(out, t);
            out->parts[t * JM_DRAWS + r] = part;
            out->draws[out->unit[t] * JM_DRAWS + r] -= steps / (double)bursts[t].step_intervals;
            out->draws[out->unit[partner] * JM_DRAWS + r] += steps / (double)bursts[partner].step_intervals;
        }
    }
    d->next += end - first - 1;
}

static void draw_steps(draw_state *d, size_t burst)
{
    double count = (double)d->out->strata->bursts.items[burst].step_intervals,
           steps = extrapolated_for(d->out, burst);
    double *draws = d->out->draws + d->out->unit[burst] * JM_DRAWS;
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
        all_s += s->seconds[i];
    for (size_t i = 0; i < s->strata->single_burst.count; i++)
        sum +=
            s->strata->single_burst.items[i].relative_u * s->seconds[s->strata->single_burst.items[i].burst];
    return all_s > 0 ? sum / all_s : 0;
}

static bool lends_itself(const jm__extrapolated *s, size_t burst)
{
    return s->lends[burst] && s->burst_steps[burst] > s->in_row[burst];
}

/* Needs the weights. False if memory is out. */
static bool find_draws(jm__extrapolated *out)
{
    size_t bursts = out->strata->bursts.count;
    draw_state d = {.out = out};
    double freedom = 1;
    out->unit = calloc(bursts + 1, sizeof *out->unit);
    out->alone = calloc(bursts + 1, sizeof *out->alone);
    out->partner = calloc(bursts + 1, sizeof *out->partner);
    out->parts = calloc(bursts * JM_DRAWS + 1, sizeof *out->parts);
    if (out->unit == NULL || out->alone == NULL || out->partner == NULL || out->parts == NULL) return false;
    size_t units = count_units(&d, &freedom);
    out->draws = calloc(units * JM_DRAWS + 1, sizeof *out->draws);
    if (out->draws == NULL) return false;
    for (size_t t = 0; t < bursts; t++)
        out->partner[t] = (uint32_t)t;
    for (size_t first = 0, end; first < bursts; first = end) {
        end = end_of_kind(out->strata, first);
        if (out->alone[first])
            draw_steps(&d, first);
        else
            draw_pairs(&d, first, end);
    }
    out->freedom = d.pairs > JM_DRAWS ? 1 / (1 / freedom + 1.0 / JM_DRAWS) : freedom;
    out->single_burst_u = single_burst_u(out);
    for (size_t t = 0; t < bursts; t++) /* a difference needs the rows of both partners */
        if (lends_itself(out, t)) out->lends[out->partner[t]] = true;
    return true;
}

bool jm__extrapolated_find(jm__extrapolated *out, const jm__extrapolated_requested *w)
{
    *out = (jm__extrapolated){0};
    if (!jm__strata_any(w->strata)) return true;
    size_t strata = w->strata->items.count, bursts = w->strata->bursts.count,
           processes = w->strata->processes;
    double **const of_stratum[] = {&out->steps,    &out->steady_steps, &out->seconds,
                                   &out->steady_s, &out->step_s,       &out->recorded};
    double **const burst_steps[] = {&out->burst_steps, &out->steady_burst_steps, &out->in_row};
    bool fine = true;
    out->strata = w->strata;
    out->rows = w->rows;
    for (size_t i = 0; i < sizeof of_stratum / sizeof *of_stratum; i++)
        fine = (*of_stratum[i] = calloc(strata + 1, sizeof(double))) != NULL && fine;
    for (size_t i = 0; i < sizeof burst_steps / sizeof *burst_steps; i++)
        fine = (*burst_steps[i] = calloc(bursts + 1, sizeof(double))) != NULL && fine;
    out->lends = calloc(bursts + 1, sizeof *out->lends);
    out->uses = calloc(processes + 1, sizeof *out->uses);
    fine = fine && out->lends != NULL && out->uses != NULL;
    if (w->rows == JM_EXTRAPOLATED_BY_STEP)
        fine = (out->of_step_interval =
                    calloc(w->strata->step_intervals.count + 1, sizeof *out->of_step_interval)) != NULL &&
               fine;
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
    double *const numbers[] = {extrapolated->step_s,       extrapolated->steps,
                               extrapolated->steady_steps, extrapolated->seconds,
                               extrapolated->steady_s,     extrapolated->recorded,
                               extrapolated->burst_steps,  extrapolated->steady_burst_steps,
                               extrapolated->in_row,       extrapolated->draws};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        free(numbers[i]);
    free(extrapolated->lends);
    free(extrapolated->of_step_interval);
    free(extrapolated->unit);
    free(extrapolated->alone);
    free(extrapolated->partner);
    free(extrapolated->parts);
    free(extrapolated->uses);
    free(extrapolated->view_of);
    for (size_t v = 0; v < extrapolated->views.count; v++) {
        jm__vec_free(&extrapolated->views.items[v].report);
        jm__vec_free(&extrapolated->views.items[v].steady);
    }
    jm__vec_free(&extrapolated->views);
    jm__vec_free(&extrapolated->time);
    *extrapolated = (jm__extrapolated){0};
}
