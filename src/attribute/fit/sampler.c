/* Means of residuals before and after each edge, and at times between edges, which tell how sure they are. */
#include "attribute/fit/sampler.h"

#include "attribute/fit/nnls.h"
#include "base/clock.h"
#include "base/search.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>

/* So long before an edge and after it, with some readings on each side. Choices: of less, noise decides; of
 * more, the program. */
static const double side_s = 0.4;
enum { SIDE_READINGS = 5 };

/* A sampler's process draws as well while it starts, which is not recorded: for up to 0.3 s before the edge
 * (bench/results/sampler_draw.txt). */
static const double around_s = 0.3;

/* Of the step of a first-order sensor, exp(-5) is left. */
static const double settled = 5;

/* If work and idle states have other shares after an edge than before, it tells nothing. */
static const double same_shares = 0.1;

/* Fewer times without an edge do not tell how much power changes. */
enum { PLACES_LEAST = 8 };

/* A sampler that was there for less of one side than of the other by this tells nothing. */
static const double least_share = 0.5;

/* Of each reading: the shares of idle states, the residual, and how much of it was sampled. */
enum { RESIDUAL = JM_IDLE_STATES, SAMPLED, SUMS };

typedef struct steps {
    const jm__sampler_edges *in;
    double *sums; /* [SUMS * (count + 1)]: over all readings before */
    int64_t side_ns, around_ns, settle_ns;
    double places[JM_SAMPLER_STATES], square[JM_SAMPLER_STATES]; /* times without edges, and their steps */
} steps;

static size_t first_at(const steps *s, int64_t t_ns)
{
    size_t at;
    jm__search(at, s->in->pass->count, s->in->pass->readings[at].t_ns < t_ns);
    return at;
}

/* Means over the readings of [from, to); false: there are too few. */
static bool find_means(double means[SUMS], const steps *s, int64_t from_ns, int64_t to_ns)
{
    size_t from = first_at(s, from_ns), to = first_at(s, to_ns);
    for (size_t i = 0; i < SUMS && to > from; i++)
        means[i] = (s->sums[SUMS * to + i] - s->sums[SUMS * from + i]) / (double)(to - from);
    return to >= from + SIDE_READINGS;
}

typedef struct step {
    double rise_w;  /* by so much power is higher after a time than before it, */
    double sampled; /* and by this the share of time that was sampled */
    size_t state;   /* beside work or beside none */
} step;

/* False: it tells nothing. */
static bool find_step(step *out, const steps *s, int64_t t_ns)
{
    double before[SUMS], after[SUMS], idle = 0, idle_change = 0, change = 0;
    int64_t before_ns = t_ns + (int64_t)s->in->response.lag_ns - s->around_ns, after_ns = t_ns + s->settle_ns;
    if (!find_means(before, s, before_ns - s->side_ns, before_ns)) return false;
    if (!find_means(after, s, after_ns, after_ns + s->side_ns)) return false;
    for (size_t i = 0; i < JM_IDLE_STATES; i++) {
        idle += (before[i] + after[i]) / 2;
        idle_change += after[i] - before[i];
        change += fabs(after[i] - before[i]) / 2;
    }
    out->rise_w = after[RESIDUAL] - before[RESIDUAL];
    out->sampled = after[SAMPLED] - before[SAMPLED];
    out->state = idle < 0.5 ? JM_SAMPLER_BUSY : JM_SAMPLER_IDLE;
    return change + fabs(idle_change) / 2 < same_shares;
}

/* Steps so far from each other share no reading. */
static int64_t reach_ns(const steps *s)
{
    return s->settle_ns + s->around_ns + s->side_ns;
}

/* The step of a window's edge, as a figure of what its sampler draws. */
static bool find_edge(step *out, const steps *s, int64_t t_ns)
{
    step before;
    if (t_ns == INT64_MAX || !find_step(out, s, t_ns) || fabs(out->sampled) < least_share) return false;
    /* Of work that has just begun, power rises with the temperature for a second. */
    return find_step(&before, s, t_ns - reach_ns(s)) && before.state == out->state;
}

/* Put to what is known, an independent figure of the same power, of two edges in one if they share readings.
 */
static void take_window(jm__sampler_draws *draws, const steps *s, const jm__interval *window)
{
    step edges[2];
    size_t count = 0;
    count += find_edge(&edges[count], s, window->from_ns);
    count += find_edge(&edges[count], s, window->to_ns);
    bool together =
        count == 2 && edges[0].state == edges[1].state && window->to_ns - window->from_ns < 2 * reach_ns(s);
    for (size_t i = 0; i < count; i += together ? 2 : 1) {
        const step *edge = &edges[i];
        size_t state = edge->state;
        if (s->places[state] < PLACES_LEAST) continue;
        double power_w = edge->rise_w / edge->sampled, square = edge->sampled * edge->sampled;
        if (together) power_w = (power_w + edges[1].rise_w / edges[1].sampled) / 2;
        double variance = s->square[state] / s->places[state] / square;
        double known = draws->u_w[state] * draws->u_w[state], gain = known / (known + variance);
        double apart_w = power_w - draws->power_w[state];
        if (!(fabs(apart_w) <= JM_APART_Z * sqrt(known + variance))) continue;
        draws->power_w[state] = fmax(0, draws->power_w[state] + gain * apart_w);
        draws->u_w[state] = sqrt(known * (1 - gain));
    }
}

/* Does a step at t see an edge of this window? */
static bool is_near(const steps *s, int64_t t_ns, const jm__interval *window)
{
    bool from = llabs(t_ns - window->from_ns) < reach_ns(s);
    return from || (window->to_ns != INT64_MAX && llabs(t_ns - window->to_ns) < reach_ns(s));
}

static void look_between(steps *s)
{
    const jm__pass *pass = s->in->pass;
    const jm__intervals *sampled = s->in->sampled;
    int64_t t_ns = pass->readings[0].t_ns;
    for (size_t window = 0; t_ns < pass->readings[pass->count - 1].t_ns; t_ns += s->side_ns / 2) {
        step at;
        size_t next = first_at(s, t_ns);
        if (next < pass->count && pass->readings[next].t_ns > t_ns + 2 * reach_ns(s))
            t_ns = pass->readings[next].t_ns; /* nothing was read for long */
        while (window < sampled->count && sampled->items[window].to_ns < t_ns &&
               !is_near(s, t_ns, &sampled->items[window]))
            window++;
        bool near = window < sampled->count && is_near(s, t_ns, &sampled->items[window]);
        if (near || !find_step(&at, s, t_ns)) continue;
        s->places[at.state]++;
        s->square[at.state] += at.rise_w * at.rise_w;
    }
}

static jm_status add_up(steps *s, jm_error *err)
{
    const jm__pass *pass = s->in->pass;
    size_t first_idle = s->in->class_columns, known = first_idle + JM_IDLE_STATES;
    double *row = calloc(pass->columns + 1, sizeof *row);
    s->sums = calloc(SUMS * (pass->count + 1), sizeof *s->sums);
    jm_status status = row == NULL || s->sums == NULL ? jm__no_memory(err, "jm__sampler_steps") : JM_OK;
    if (status == JM_OK) jm__design_start(pass->design, s->in->response);
    for (size_t i = 0; status == JM_OK && i < pass->count; i++) {
        double *before = &s->sums[SUMS * i], *after = before + SUMS;
        jm__pass_row(pass, i, row);
        for (size_t k = 0; k < JM_IDLE_STATES; k++)
            after[k] = before[k] + row[first_idle + k];
        after[RESIDUAL] =
            before[RESIDUAL] + pass->readings[i].value - jm__matrix_dot(row, s->in->power_w, known);
        after[SAMPLED] = before[SAMPLED] + row[known + JM_SAMPLER_BUSY] + row[known + JM_SAMPLER_IDLE];
    }
    free(row);
    return status;
}

jm_status jm__sampler_steps(jm__sampler_draws *draws, const jm__sampler_edges *edges, jm_error *err)
{
    const jm__pass *pass = edges->pass;
    const jm__response *response = &edges->response;
    double widths = response->kind == JM_RESPONSE_FIRST_ORDER ? settled : 1;
    double least_ns = (SIDE_READINGS + 1) * (double)pass->period_ns;
    if (pass->count == 0) return JM_OK;
    steps s = {
        .in = edges,
        .around_ns = (int64_t)(around_s * 1e9),
        .settle_ns = (int64_t)fmax(around_s * 1e9, response->lag_ns + widths * response->width_ns),
        .side_ns = (int64_t)fmax(side_s * 1e9, least_ns),
    };
    jm_status status = add_up(&s, err);
    if (status == JM_OK) look_between(&s);
    for (size_t i = 0; status == JM_OK && i < edges->sampled->count; i++)
        take_window(draws, &s, &edges->sampled->items[i]);
    free(s.sums);
    return status;
}
