/* Counter differences and the integral of a power sensor. */
#include "attribute/fit/total.h"
#include "base/clock.h"
#include "base/search.h"

#include <math.h>

/* How far the counter and the ring of one board have been seen apart (0.1 % steady, up to 0.8 % throttled):
 * docs/accuracy.md. */
static const double counter_relative_u = 0.003;

/* Where nothing was read, power may be that of the rest, or idle, or a limit. A choice, as wide as kinds of
 * work differ (levels.c). */
static const double unseen_relative_u = 0.3;

/* The first reading stamped at or after t. */
static size_t find(const jm_reading *readings, size_t count, int64_t t_ns)
{
    size_t at;
    jm__search(at, count, readings[at].t_ns < t_ns);
    return at;
}

/* Mean delay of a sensor: what it says at t was true this much earlier. */
static int64_t delay_ns(const jm_sensor *sensor)
{
    switch (sensor->response) {
    case JM_RESPONSE_FIRST_ORDER:
        return sensor->lag_ns + sensor->tau_ns;
    case JM_RESPONSE_BOX:
        return sensor->lag_ns + sensor->window_ns / 2;
    case JM_RESPONSE_INSTANT:
    case JM_RESPONSE_COUNTER:
    case JM_RESPONSE_COUNT:
        break;
    }
    return sensor->lag_ns;
}

/* Linear between readings, constant before the first and after the last. */
static double integrate_j(const jm_reading *r, size_t count, int64_t from_ns, int64_t to_ns)
{
    if (count == 0 || to_ns <= from_ns) return 0;
    double sum = 0;
    if (from_ns < r[0].t_ns) {
        int64_t until = to_ns < r[0].t_ns ? to_ns : r[0].t_ns;
        sum += r[0].value * (double)(until - from_ns);
        from_ns = until;
    }
    for (size_t i = find(r, count, from_ns + 1); i > 0 && i < count && from_ns < to_ns; i++) {
        if (r[i].t_ns == r[i - 1].t_ns) continue; /* a jump takes no time */
        int64_t until = to_ns < r[i].t_ns ? to_ns : r[i].t_ns;
        double slope = (r[i].value - r[i - 1].value) / (double)(r[i].t_ns - r[i - 1].t_ns);
        double middle = (double)(from_ns - r[i - 1].t_ns) + (double)(until - from_ns) / 2;
        sum += (r[i - 1].value + slope * middle) * (double)(until - from_ns);
        from_ns = until;
    }
    if (to_ns > from_ns) sum += r[count - 1].value * (double)(to_ns - from_ns);
    return sum * 1e-9;
}

typedef struct parts {
    double counter_j;
    double power_j;      /* added to the counter's, or taken off it */
    double power_used_j; /* both as magnitudes: what the power sensor's errors weigh */
    double edge_variance;
    double unseen_j; /* of stretches without readings, interpolated from the readings around them */
} parts;

/* How much of [from, to] lies further from every reading than the sensor's renewal explains. */
static int64_t unseen_ns(const jm__total_sensors *s, int64_t from_ns, int64_t to_ns)
{
    int64_t period_ns = s->power->period_ns > 0 ? s->power->period_ns : 100 * JM_NS_PER_MS; /* not known */
    int64_t delay = delay_ns(s->power), usual_ns = delay + 5 * period_ns, sum_ns = 0;
    int64_t before_ns = from_ns; /* where what is known ends; a reading tells of the time before it */
    size_t first = find(s->powers, s->power_count, from_ns + delay);
    if (first > 0 && s->powers[first - 1].t_ns - delay < from_ns)
        before_ns = s->powers[first - 1].t_ns - delay;
    for (size_t i = first; i <= s->power_count && before_ns < to_ns; i++) {
        int64_t next_ns = i < s->power_count ? s->powers[i].t_ns - delay : to_ns;
        if (next_ns > to_ns) next_ns = to_ns;
        int64_t from = before_ns > from_ns ? before_ns : from_ns;
        if (next_ns - before_ns > usual_ns && next_ns > from) sum_ns += next_ns - from;
        before_ns = next_ns;
    }
    return sum_ns;
}

/* What the power sensor says of [from, to], taken off if `to` lies before `from`. */
static void add_power(parts *p, const jm__total_sensors *s, int64_t from_ns, int64_t to_ns)
{
    if (s->power == NULL || to_ns == from_ns) return;
    int64_t delay = delay_ns(s->power);
    bool off = to_ns < from_ns;
    int64_t low_ns = off ? to_ns : from_ns, high_ns = off ? from_ns : to_ns;
    double part_j = integrate_j(s->powers, s->power_count, low_ns + delay, high_ns + delay);
    p->power_j += off ? -part_j : part_j;
    p->power_used_j += part_j;
    p->unseen_j += part_j * (double)unseen_ns(s, low_ns, high_ns) / (double)(high_ns - low_ns);
}

/* The power sensor has readings around t: it can fill the time between t and a window's edge. */
static bool power_knows(const jm__total_sensors *s, int64_t t_ns)
{
    if (s->power == NULL) return false;
    int64_t slack = delay_ns(s->power) + 5 * s->power->period_ns;
    return t_ns >= s->powers[0].t_ns - slack && t_ns <= s->powers[s->power_count - 1].t_ns + slack;
}

/* The counter is read at the edges of a run: a little outside of its window, but nearer than what is inside.
 */
static void widen(const jm__total_sensors *s, int64_t from_ns, int64_t to_ns, size_t *first, size_t *end)
{
    const jm_reading *counts = s->counts;
    int64_t lag = s->counter->lag_ns;
    bool none_inside = *end <= *first;
    if (*first > 0 && power_knows(s, counts[*first - 1].t_ns)) {
        int64_t outside_ns = from_ns + lag - counts[*first - 1].t_ns;
        if (none_inside || outside_ns < counts[*first].t_ns - from_ns - lag) --*first;
    }
    if (*end < s->count_count && power_knows(s, counts[*end].t_ns)) {
        int64_t outside_ns = counts[*end].t_ns - to_ns - lag;
        if (none_inside || outside_ns < to_ns + lag - counts[*end - 1].t_ns) ++*end;
    }
}

/* The power sensor would have to make up for more time than the window has: then it can do without the
 * counter. */
static bool is_worth_it(const jm__total_sensors *s, size_t first, size_t end, int64_t from_ns, int64_t to_ns)
{
    int64_t lag = s->counter->lag_ns;
    int64_t before_ns = from_ns - (s->counts[first].t_ns - lag),
            after_ns = s->counts[end - 1].t_ns - lag - to_ns;
    return (before_ns > 0 ? before_ns : 0) + (after_ns > 0 ? after_ns : 0) < to_ns - from_ns;
}

/* The counter where it covers [from, to]; false if it has fewer than two readings in or around it. */
static bool add_counter(parts *p, const jm__total_sensors *s, int64_t from_ns, int64_t to_ns, double mean_w)
{
    if (s->counter == NULL) return false;
    int64_t lag = s->counter->lag_ns;
    size_t first = find(s->counts, s->count_count, from_ns + lag);
    size_t end = find(s->counts, s->count_count, to_ns + lag + 1);
    widen(s, from_ns, to_ns, &first, &end);
    if (end < first + 2 || !is_worth_it(s, first, end, from_ns, to_ns)) return false;
    add_power(p, s, from_ns, s->counts[first].t_ns - lag);
    for (size_t i = first + 1; i < end; i++) {
        double step_j = s->counts[i].value - s->counts[i - 1].value;
        if (step_j >= 0)
            p->counter_j += step_j;
        else /* the counter was reset */
            add_power(p, s, s->counts[i - 1].t_ns - lag, s->counts[i].t_ns - lag);
    }
    add_power(p, s, s->counts[end - 1].t_ns - lag, to_ns);
    double edge_j = mean_w * (double)s->counter->lag_u_ns * 1e-9;
    p->edge_variance += 2 * edge_j * edge_j;
    return true;
}

static double spread(const jm_reading *r, size_t first, size_t end)
{
    double sum = 0, square = 0, count = (double)(end - first);
    for (size_t i = first; i < end; i++)
        sum += r[i].value;
    for (size_t i = first; i < end; i++)
        square += (r[i].value - sum / count) * (r[i].value - sum / count);
    return end > first + 1 ? sqrt(square / count) : 0;
}

static void add_window(parts *p, const jm__total_sensors *s, jm__window window)
{
    double seconds = (double)(window.to_ns - window.from_ns) * 1e-9;
    parts power = {0};
    add_power(&power, s, window.from_ns, window.to_ns);
    double mean_w = power.power_j / seconds;
    /* Without a power sensor the counter stands for the whole window. */
    if (s->power == NULL && s->counter != NULL && s->count_count >= 2) {
        double all_s = (double)(s->counts[s->count_count - 1].t_ns - s->counts[0].t_ns) * 1e-9;
        mean_w = (s->counts[s->count_count - 1].value - s->counts[0].value) / (all_s > 0 ? all_s : 1);
    }
    if (add_counter(p, s, window.from_ns, window.to_ns, mean_w)) return;
    p->power_j += power.power_j;
    p->power_used_j += power.power_used_j;
    if (s->power == NULL) return;
    /* At its ends the sensor still tells of the time before. */
    size_t first = find(s->powers, s->power_count, window.from_ns);
    size_t end = find(s->powers, s->power_count, window.to_ns + delay_ns(s->power) + 1);
    double edge_j = spread(s->powers, first, end) * (double)delay_ns(s->power) * 1e-9;
    p->edge_variance += 2 * edge_j * edge_j;
    if (end <= first + 1)
        p->edge_variance += pow(unseen_relative_u * power.power_j, 2); /* none of its own */
    else
        p->unseen_j += power.unseen_j;
}

jm__total jm__total_measure(const jm__total_sensors *sensors, const jm__windows *windows)
{
    jm__total total = {0};
    jm__total_sensors s = *sensors;
    if (s.power_count == 0) s.power = NULL;
    if (s.count_count < 2) s.counter = NULL;
    if (s.power == NULL && s.counter == NULL) return total;
    parts p = {0};
    for (size_t i = 0; i < windows->count; i++)
        add_window(&p, &s, windows->items[i]);
    if (p.counter_j == 0 && s.power == NULL) return total;
    total.source = p.counter_j > p.power_used_j ? s.counter->name
                   : s.power != NULL            ? s.power->name
                                                : s.counter->name;
    total.energy_j = p.counter_j + p.power_j;
    total.u_j = sqrt(pow(counter_relative_u * p.counter_j, 2) + pow(JM_POWER_RELATIVE_U * p.power_used_j, 2) +
                     p.edge_variance + pow(unseen_relative_u * p.unseen_j, 2));
    total.unseen_j = p.unseen_j;
    return total;
}
