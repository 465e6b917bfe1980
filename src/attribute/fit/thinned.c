/* Totals by fewer readings: what another sampling interval would have given. */
#include "base/search.h"
#include "base/status.h"

#include <joulemap/thinned.h>
#include <math.h>
#include <stdbool.h>

typedef struct readings {
    const int64_t *t_ns;
    const double *power_w;
    size_t count;
    int64_t from_ns, to_ns;
} readings;

/* The sum of a broken line, point by point. */
typedef struct line {
    double energy_j;
    int64_t last_ns;
    double last_w;
    bool begun;
} line;

static void line_to(line *l, int64_t t_ns, double power_w)
{
    double before_w = l->begun ? l->last_w : power_w;
    l->energy_j += (double)(t_ns - l->last_ns) * 1e-9 * (before_w + power_w) / 2;
    l->last_ns = t_ns;
    l->last_w = power_w;
    l->begun = true;
}

static double line_end(line *l, int64_t to_ns)
{
    line_to(l, to_ns, l->last_w);
    return l->energy_j;
}

/* The newest of time t; before the first one, that. */
static double newest(const readings *r, int64_t t_ns)
{
    size_t after = 0;
    jm__search(after, r->count, r->t_ns[after] <= t_ns);
    return r->power_w[after > 0 ? after - 1 : 0];
}

static double full(const readings *r)
{
    line l = {.last_ns = r->from_ns};
    for (size_t i = 0; i < r->count; i++)
        if (r->t_ns[i] >= r->from_ns && r->t_ns[i] <= r->to_ns) line_to(&l, r->t_ns[i], r->power_w[i]);
    if (!l.begun) line_to(&l, r->from_ns, newest(r, r->to_ns));
    return line_end(&l, r->to_ns);
}

static double polled(const readings *r, int64_t first_ns, int64_t interval_ns)
{
    line l = {.last_ns = r->from_ns};
    for (int64_t t_ns = first_ns;; t_ns += interval_ns) {
        line_to(&l, t_ns, newest(r, t_ns));
        if (r->to_ns - t_ns < interval_ns) return line_end(&l, r->to_ns);
    }
}

jm_status jm_thinned_energy(const int64_t *t_ns, const double *power_w, size_t count, int64_t from_ns,
                            int64_t to_ns, int64_t interval_ns, jm_thinned *out, jm_error *err)
{
    const readings r = {t_ns, power_w, count, from_ns, to_ns};
    if (count == 0) return jm__fail(err, JM_USAGE, 0, NULL, "there is no reading");
    if (to_ns < from_ns || interval_ns <= 0)
        return jm__fail(err, JM_USAGE, 0, NULL,
                        "the time asked for ends before it begins, or the interval is none");
    *out = (jm_thinned){.full_j = full(&r), .least_j = INFINITY, .most_j = -INFINITY};
    int64_t within_ns = interval_ns < to_ns - from_ns ? interval_ns : to_ns - from_ns;
    double squares = 0;
    for (int start = 0; start < JM_THINNED_STARTS; start++) {
        double first = (double)within_ns * (start + 0.5) / JM_THINNED_STARTS;
        double energy_j = polled(&r, from_ns + llround(first), interval_ns);
        out->mean_j += energy_j / JM_THINNED_STARTS;
        out->least_j = fmin(out->least_j, energy_j);
        out->most_j = fmax(out->most_j, energy_j);
        squares += (energy_j - out->full_j) * (energy_j - out->full_j);
    }
    out->error_j = sqrt(squares / JM_THINNED_STARTS);
    return JM_OK;
}
