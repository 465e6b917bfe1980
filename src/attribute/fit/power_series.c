/* Which sensor saw a moment, and what it says. */
#include "attribute/fit/power_series.h"

#include "base/clock.h"
#include "base/search.h"

#include <math.h>

/* Choices: what changes at an edge shows within a tenth of a second of it, and six readings tell it without.
 */
enum { FEW_READINGS = 6 };
static const int64_t near_ns = 100 * JM_NS_PER_MS;

/* The first reading stamped at or after t. */
static size_t find(const jm__power_series *s, int64_t t_ns)
{
    size_t at;
    jm__search(at, s->count, s->readings[at].t_ns < t_ns);
    return at;
}

int64_t jm__power_delay_ns(const jm_sensor *sensor)
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

static int64_t period_ns(const jm_sensor *sensor)
{
    return sensor->period_ns > 0 ? sensor->period_ns : 100 * JM_NS_PER_MS; /* not known */
}

/* The distance of two readings that the sensor's renewal explains: further apart, some are missing. */
static int64_t usual_ns(const jm_sensor *sensor)
{
    return jm__power_delay_ns(sensor) + 5 * period_ns(sensor);
}

int64_t jm__power_beyond_ns(const jm_sensor *sensor)
{
    int64_t delay = jm__power_delay_ns(sensor), most = 100 * JM_NS_PER_MS;
    return period_ns(sensor) * 3 / 2 + (delay < most ? delay : most);
}

/* Up to when the series saw the time from t on without a break; t: it did not see it. A reading tells of the
 * time before it, and stands for what follows until the next should have come. */
static int64_t seen_until_ns(const jm__power_series *s, int64_t t_ns, int64_t to_ns)
{
    int64_t delay = jm__power_delay_ns(s->sensor), usual = usual_ns(s->sensor), seen_ns = t_ns;
    size_t i = find(s, t_ns + delay + 1); /* one of t itself does not tell of the time after it */
    if (i < s->count && i == 0 && s->readings[0].t_ns - delay - t_ns > jm__power_beyond_ns(s->sensor))
        return t_ns;
    for (; i < s->count && seen_ns < to_ns; i++) {
        if (i > 0 && s->readings[i].t_ns - s->readings[i - 1].t_ns > usual) return seen_ns;
        seen_ns = s->readings[i].t_ns - delay;
    }
    if (i < s->count || s->count == 0 || seen_ns >= to_ns) return seen_ns;
    int64_t last_ns = s->readings[s->count - 1].t_ns - delay + jm__power_beyond_ns(s->sensor);
    return last_ns > seen_ns ? last_ns : seen_ns;
}

/* When the series begins to see again, of a moment t that it did not. */
static int64_t seen_from_ns(const jm__power_series *s, int64_t t_ns)
{
    int64_t delay = jm__power_delay_ns(s->sensor);
    size_t i = find(s, t_ns + delay);
    if (i == s->count) return INT64_MAX;
    int64_t from_ns = s->readings[i].t_ns - delay - (i == 0 ? jm__power_beyond_ns(s->sensor) : 0);
    return from_ns > t_ns ? from_ns : t_ns;
}

bool jm__power_next(jm__power_piece *piece, const jm__power_series *series, size_t count, int64_t to_ns)
{
    int64_t t_ns = piece->to_ns, until_ns = to_ns;
    if (t_ns >= to_ns) return false;
    *piece = (jm__power_piece){.from_ns = t_ns};
    for (size_t i = 0; i < count && piece->by == NULL; i++) {
        int64_t seen_ns = seen_until_ns(&series[i], t_ns, until_ns);
        if (seen_ns > t_ns) {
            piece->by = &series[i];
            until_ns = seen_ns < until_ns ? seen_ns : until_ns;
        } else { /* a better one than those to come: it takes over as soon as it sees again */
            int64_t from_ns = seen_from_ns(&series[i], t_ns + 1);
            if (from_ns < until_ns) until_ns = from_ns;
        }
    }
    piece->to_ns = until_ns;
    return true;
}

double jm__power_energy_j(const jm__power_series *s, int64_t from_ns, int64_t to_ns)
{
    const jm_reading *r = s->readings;
    if (s->count == 0 || to_ns <= from_ns) return 0;
    double sum = 0;
    from_ns += jm__power_delay_ns(s->sensor);
    to_ns += jm__power_delay_ns(s->sensor);
    if (from_ns < r[0].t_ns) {
        int64_t until = to_ns < r[0].t_ns ? to_ns : r[0].t_ns;
        sum += r[0].value * (double)(until - from_ns);
        from_ns = until;
    }
    for (size_t i = find(s, from_ns + 1); i > 0 && i < s->count && from_ns < to_ns; i++) {
        if (r[i].t_ns == r[i - 1].t_ns) continue; /* a jump takes no time */
        int64_t until = to_ns < r[i].t_ns ? to_ns : r[i].t_ns;
        double slope = (r[i].value - r[i - 1].value) / (double)(r[i].t_ns - r[i - 1].t_ns);
        double middle = (double)(from_ns - r[i - 1].t_ns) + (double)(until - from_ns) / 2;
        sum += (r[i - 1].value + slope * middle) * (double)(until - from_ns);
        from_ns = until;
    }
    if (to_ns > from_ns) sum += r[s->count - 1].value * (double)(to_ns - from_ns);
    return sum * 1e-9;
}

double jm__power_spread_w(const jm__power_series *s, int64_t from_ns, int64_t to_ns)
{
    size_t first = find(s, from_ns), end = find(s, to_ns + jm__power_delay_ns(s->sensor) + 1);
    double sum = 0, square = 0;
    /* Of so short a stretch the neighbours tell how much power changes there. */
    if (end < first + FEW_READINGS) {
        int64_t late_ns = to_ns + jm__power_delay_ns(s->sensor) + near_ns;
        while (first > 0 && s->readings[first - 1].t_ns >= from_ns - near_ns)
            first--;
        while (end < s->count && s->readings[end].t_ns <= late_ns)
            end++;
    }
    if (end <= first + 1) return 0;
    double count = (double)(end - first);
    for (size_t i = first; i < end; i++)
        sum += s->readings[i].value;
    for (size_t i = first; i < end; i++)
        square += pow(s->readings[i].value - sum / count, 2);
    return sqrt(square / count);
}

size_t jm__power_readings(const jm__power_series *s, int64_t from_ns, int64_t to_ns)
{
    return find(s, to_ns + jm__power_delay_ns(s->sensor) + 1) - find(s, from_ns);
}

double jm__power_missed_variance(const jm__power_series *s, int64_t from_ns, int64_t to_ns)
{
    const jm_sensor *sensor = s->sensor;
    if (sensor->response != JM_RESPONSE_BOX || sensor->period_ns <= sensor->window_ns) return 0;
    double missed = 1 - (double)sensor->window_ns / (double)sensor->period_ns;
    size_t first = find(s, from_ns), end = find(s, to_ns + jm__power_delay_ns(sensor) + 1);
    double square = 0, seconds = (double)(to_ns - from_ns) * 1e-9;
    if (first > 0) first--; /* what is interpolated from its neighbours too */
    if (end < s->count) end++;
    if (end <= first + 1) return 0;
    /* What neighbours differ by is what changes faster than the sensor looks. */
    for (size_t i = first + 1; i < end; i++)
        square += pow(s->readings[i].value - s->readings[i - 1].value, 2) / 2;
    double count = (double)(end - first);
    return missed * square / (count - 1) * seconds * seconds / count;
}

const jm__power_series *jm__power_nearest(const jm__power_series *series, size_t count, int64_t from_ns,
                                          int64_t to_ns)
{
    const jm__power_series *nearest = NULL;
    int64_t least_ns = INT64_MAX;
    for (size_t k = 0; k < count; k++) {
        const jm__power_series *s = &series[k];
        int64_t delay = jm__power_delay_ns(s->sensor);
        size_t after = find(s, to_ns + delay);
        int64_t behind_ns = after < s->count ? s->readings[after].t_ns - delay - to_ns : INT64_MAX;
        int64_t before_ns = after > 0 ? from_ns - s->readings[after - 1].t_ns + delay : INT64_MAX;
        int64_t apart_ns = behind_ns < before_ns ? behind_ns : before_ns;
        if (s->count == 0 || (nearest != NULL && apart_ns >= least_ns)) continue;
        nearest = s;
        least_ns = apart_ns;
    }
    return nearest;
}
