/* Counter differences and the integral of the power sensors. */
#include "attribute/fit/total.h"

#include "base/clock.h"
#include "base/search.h"
#include "format/rows/rows.h"
#include "format/rows/sensor_role.h"

#include <math.h>

/* Readings may be dated so much wrong: a short step then looks too fast. A choice. */
static const double dated_s = 1;

/* The counter went from one reading to the next as energy does: not back, and not faster than any board
 * draws. */
static bool counts_step(const jm_reading *from, const jm_reading *to)
{
    double step_j = to->value - from->value, seconds = (double)(to->t_ns - from->t_ns) * 1e-9;
    return step_j >= 0 && step_j <= JM_BOARD_MOST_W * (seconds + dated_s);
}

size_t jm__counts_clean(jm_reading *readings, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        const jm_reading *now = &readings[i];
        if (!isfinite(now->value)) continue;
        if (kept > 0 && now->value == readings[kept - 1].value) continue;
        bool last = kept == 0 || i + 1 == count;
        bool ignored = !last && (now->value == 0 || !counts_step(now, now + 1)) &&
                       counts_step(&readings[kept - 1], now + 1);
        bool strays = ignored && !counts_step(&readings[kept - 1], now);
        if (!strays) readings[kept++] = *now;
    }
    return kept;
}

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

int64_t jm__power_period_ns(const jm_sensor *sensor)
{
    return sensor->period_ns > 0 ? sensor->period_ns : 100 * JM_NS_PER_MS;
}

/* The distance of two readings that the sensor's renewal explains: further apart, some are missing. */
static int64_t usual_ns(const jm_sensor *sensor)
{
    return jm__power_delay_ns(sensor) + 5 * jm__power_period_ns(sensor);
}

int64_t jm__power_beyond_ns(const jm_sensor *sensor)
{
    int64_t delay = jm__power_delay_ns(sensor), most = 100 * JM_NS_PER_MS;
    return jm__power_period_ns(sensor) * 3 / 2 + (delay < most ? delay : most);
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
    /* Of so short an interval the neighbours tell how much power changes there. */
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

/* How far the counter and the ring of one board have been seen apart (0.1 % steady, up to 0.8 % throttled):
 * docs/accuracy.md. */
static const double counter_relative_u = 0.003;

/* Where nothing was read, power may be that of the rest, or idle, or a limit. A choice. */
static const double unseen_relative_u = JM_KINDS_RELATIVE_U;

/* Counter and power sensors of one board that are further apart over a second and more are not both right:
 * four times what they were ever seen to be. A choice. */
static const double apart_relative = 0.03;

static const int64_t apart_least_ns = JM_NS_PER_S;

/* With a ring, over more steps than one wrong reading spoils, it is their gains: the fit's closure tells. */
enum { APART_STEPS = 2 };

/* A sensor that smears over more than this tells less of an edge than a step of the counter can. A choice:
 * between the ring and the instant sensor on one side, the mean of a second on the other. */
static const int64_t sharp_ns = 200 * JM_NS_PER_MS;

/* Readings whose errors are as one. A choice: half of a reading's variance is a drift with a memory of ten
 * readings, which is (1 + exp(-1/10)) / (1 - exp(-1/10)) = 20 of them as one, half is its own. */
static const double one_error = 10;

typedef struct parts {
    double counter_j;
    double power_j;               /* added to the counter's, or taken off it */
    double power_used_j;          /* as a magnitude: what the power sensors' errors weigh */
    const jm__power_series *most; /* the power sensor behind the largest part of it */
    double most_j;
    size_t readings; /* of power sensors */
    double variance; /* of edges, seams and shares of steps */
    double unseen_j; /* of intervals without readings, interpolated from the readings around them */
    double apart_j;
} parts;

/* The time that a reading of the counter speaks of. */
static int64_t count_ns(const jm__board_readings *s, size_t i)
{
    return s->counts[i].t_ns - s->counter->lag_ns;
}

/* The first reading of the counter that speaks of t or later. */
static size_t count_find(const jm__board_readings *s, int64_t t_ns)
{
    size_t at;
    jm__search(at, s->count_count, count_ns(s, at) < t_ns);
    return at;
}

static void use(parts *p, const jm__power_series *by, double energy_j)
{
    p->power_j += energy_j;
    p->power_used_j += energy_j;
    if (energy_j <= p->most_j) return;
    p->most = by;
    p->most_j = energy_j;
}

/* ---- what the power sensors say ---- */

/* Of the energy at one edge of what a sensor saw, J: it still tells of the time before, or was read late. The
 * ring's delay is short and its stamps are its own. */
static double seam_j(const jm__power_piece *piece)
{
    const jm_sensor *sensor = piece->by->sensor;
    int64_t late_ns = jm__sensor_is(sensor, JM_SENSOR_POWER_RING) ? 0 : sensor->period_ns;
    double length_s = (double)(jm__power_delay_ns(sensor) + late_ns) * 1e-9;
    return length_s * jm__power_spread_w(piece->by, piece->from_ns, piece->to_ns);
}

/* What noise and drift of the readings do to their integral, J. */
static double noise_j(const jm__power_piece *piece)
{
    double seconds = (double)(piece->to_ns - piece->from_ns) * 1e-9;
    double readings = (double)jm__power_readings(piece->by, piece->from_ns, piece->to_ns);
    return piece->by->sensor->noise * seconds / sqrt(fmax(1, readings / one_error));
}

static void add_seen(parts *p, const jm__power_piece *piece)
{
    double energy_j = jm__power_energy_j(piece->by, piece->from_ns, piece->to_ns);
    use(p, piece->by, energy_j);
    p->variance += 2 * pow(seam_j(piece), 2) + pow(noise_j(piece), 2) +
                   jm__power_missed_variance(piece->by, piece->from_ns, piece->to_ns);
    p->readings += jm__power_readings(piece->by, piece->from_ns, piece->to_ns);
}

/* Over all that the counter counted; 0: nothing. */
static double mean_of_steps_w(const jm__board_readings *s)
{
    double sum_j = 0, sum_s = 0;
    for (size_t i = 1; i < s->count_count; i++) {
        if (!counts_step(&s->counts[i - 1], &s->counts[i])) continue;
        sum_j += s->counts[i].value - s->counts[i - 1].value;
        sum_s += (double)(s->counts[i].t_ns - s->counts[i - 1].t_ns) * 1e-9;
    }
    return sum_s > 0 ? sum_j / sum_s : 0;
}

/* No sensor saw it: as the readings around it have it. */
static void add_unseen(parts *p, const jm__board_readings *s, int64_t from_ns, int64_t to_ns)
{
    const jm__power_series *nearest = jm__power_nearest(s->powers, s->power_count, from_ns, to_ns);
    double energy_j = 0;
    if (nearest != NULL) {
        energy_j = jm__power_energy_j(nearest, from_ns, to_ns);
        use(p, nearest, energy_j);
    } else if (s->counter != NULL) {
        energy_j = mean_of_steps_w(s) * (double)(to_ns - from_ns) * 1e-9;
        p->counter_j += energy_j;
    }
    p->unseen_j += energy_j;
}

/* Sensors that smear no more than a step of the counter is long; they come first. */
static size_t sharp_count(const jm__board_readings *s)
{
    size_t count = 0;
    while (count < s->power_count && jm__power_delay_ns(s->powers[count].sensor) <= sharp_ns)
        count++;
    return count;
}

/* All of [from, to] was seen by power sensors: then their joules of it, else NAN. */
static double seen_j(const jm__board_readings *s, int64_t from_ns, int64_t to_ns, double *variance)
{
    parts p = {0};
    jm__power_piece piece = {.to_ns = from_ns};
    while (jm__power_next(&piece, s->powers, s->power_count, to_ns)) {
        if (piece.by == NULL) return NAN;
        add_seen(&p, &piece);
    }
    *variance += p.variance;
    return p.power_j;
}

/* A share of the counter's step that ends with reading i: of what the sharp sensors did not see of it. */
static void add_share(parts *p, const jm__board_readings *s, size_t i, int64_t length_ns)
{
    jm__power_piece piece = {.to_ns = count_ns(s, i - 1)};
    double seen_j = 0;
    int64_t left_ns = 0;
    while (jm__power_next(&piece, s->powers, sharp_count(s), count_ns(s, i))) {
        if (piece.by == NULL)
            left_ns += piece.to_ns - piece.from_ns;
        else
            seen_j += jm__power_energy_j(piece.by, piece.from_ns, piece.to_ns);
    }
    double left_j = fmax(0, s->counts[i].value - s->counts[i - 1].value - seen_j);
    double share = left_ns > 0 ? fmin(1, (double)length_ns / (double)left_ns) : 0;
    p->counter_j += share * left_j;
    p->variance += pow(unseen_relative_u * fmin(share, 1 - share) * left_j, 2);
}

/* Sharp sensors missed it, and it lies between two readings of the counter, of which i is the later one (0:
 * beyond all). */
static void add_between(parts *p, const jm__board_readings *s, int64_t from_ns, int64_t to_ns, size_t i)
{
    size_t sharp = sharp_count(s);
    bool stepped = i > 0 && counts_step(&s->counts[i - 1], &s->counts[i]);
    bool is_short = stepped && sharp < s->power_count &&
                    count_ns(s, i) - count_ns(s, i - 1) < 2 * jm__power_delay_ns(s->powers[sharp].sensor);
    jm__power_piece piece = {.to_ns = from_ns};
    if (is_short) {
        add_share(p, s, i, to_ns - from_ns);
        return;
    }
    while (jm__power_next(&piece, s->powers + sharp, s->power_count - sharp, to_ns)) {
        if (piece.by != NULL)
            add_seen(p, &piece);
        else if (stepped)
            add_share(p, s, i, piece.to_ns - piece.from_ns);
        else
            add_unseen(p, s, piece.from_ns, piece.to_ns);
    }
}

/* Sharp sensors missed it: step of the counter by step. */
static void add_missed(parts *p, const jm__board_readings *s, int64_t from_ns, int64_t to_ns)
{
    size_t count = s->counter == NULL ? 0 : s->count_count;
    for (size_t i = count == 0 ? 0 : count_find(s, from_ns + 1); from_ns < to_ns; i++) {
        int64_t until_ns = i < count && count_ns(s, i) < to_ns ? count_ns(s, i) : to_ns;
        add_between(p, s, from_ns, until_ns, i < count ? i : 0);
        from_ns = until_ns;
    }
}

/* `sign`: -1 takes it off, though its errors come to the others. */
static void add_parts(parts *to, const parts *from, double sign)
{
    to->counter_j += sign * from->counter_j;
    to->power_j += sign * from->power_j;
    to->power_used_j += from->power_used_j;
    to->variance += from->variance;
    to->unseen_j += sign * from->unseen_j;
    if (sign < 0 || from->most_j <= to->most_j) return;
    to->most = from->most;
    to->most_j = from->most_j;
}

/* Joules of [from, to], taken off if `to` lies before `from`. */
static void add_interval(parts *p, const jm__board_readings *s, int64_t from_ns, int64_t to_ns)
{
    if (to_ns < from_ns) {
        parts off = {0};
        add_interval(&off, s, to_ns, from_ns);
        add_parts(p, &off, -1);
        return;
    }
    jm__power_piece piece = {.to_ns = from_ns};
    while (jm__power_next(&piece, s->powers, sharp_count(s), to_ns)) {
        if (piece.by != NULL)
            add_seen(p, &piece);
        else
            add_missed(p, s, piece.from_ns, piece.to_ns);
    }
}

/* ---- what the counter says ---- */

/* Counter readings [first, end) that a window goes by. */
typedef struct span {
    size_t first, end;
} span;

/* The counter is read at the edges of a run: a little outside of its window, but nearer than what is inside.
 */
static span find_counts(const jm__board_readings *s, int64_t from_ns, int64_t to_ns)
{
    span c = {count_find(s, from_ns), count_find(s, to_ns + 1)};
    bool none_inside = c.end <= c.first;
    if (c.first > 0 && (none_inside || from_ns - count_ns(s, c.first - 1) < count_ns(s, c.first) - from_ns))
        c.first--;
    if (c.end < s->count_count &&
        (none_inside || count_ns(s, c.end) - to_ns < to_ns - count_ns(s, c.end - 1)))
        c.end++;
    return c;
}

/* The power sensors would have to make up for more time than the window has: then they can do without the
 * counter. */
static bool is_worth_it(const jm__board_readings *s, span c, int64_t from_ns, int64_t to_ns)
{
    if (c.end < c.first + 2) return false;
    int64_t before_ns = from_ns - count_ns(s, c.first), after_ns = count_ns(s, c.end - 1) - to_ns;
    return (before_ns > 0 ? before_ns : 0) + (after_ns > 0 ? after_ns : 0) < to_ns - from_ns;
}

/* The ring sees all of the time, so it is trusted; others do not. The interval holds both. */
static bool ring_is_assumed(const jm__board_readings *s)
{
    return s->power_count > 0 && jm__sensor_is(s->powers[0].sensor, JM_SENSOR_POWER_RING);
}

/* Whether counter and power sensors contradict each other over the counter's steps. */
static bool is_apart(parts *p, const jm__board_readings *s, span c)
{
    double steps_j = 0, powers_j = 0, variance = 0;
    int64_t length_ns = 0;
    if (ring_is_assumed(s) && c.end > c.first + 1 + APART_STEPS) return false;
    for (size_t i = c.first + 1; i < c.end; i++) {
        if (!counts_step(&s->counts[i - 1], &s->counts[i])) continue;
        steps_j += s->counts[i].value - s->counts[i - 1].value;
        powers_j += seen_j(s, count_ns(s, i - 1), count_ns(s, i), &variance);
        length_ns += count_ns(s, i) - count_ns(s, i - 1);
    }
    double apart_j = steps_j - powers_j; /* NAN: there is nothing to compare with */
    if (!(fabs(apart_j) > apart_relative * powers_j + 4 * sqrt(variance)) || length_ns < apart_least_ns)
        return false;
    p->apart_j += apart_j;
    return true;
}

/* The counter over [from, to]; false if it cannot tell. */
static bool add_counter(parts *p, const jm__board_readings *s, int64_t from_ns, int64_t to_ns, double mean_w)
{
    if (s->counter == NULL) return false;
    span c = find_counts(s, from_ns, to_ns);
    if (!is_worth_it(s, c, from_ns, to_ns) || (is_apart(p, s, c) && ring_is_assumed(s))) return false;
    add_interval(p, s, from_ns, count_ns(s, c.first));
    for (size_t i = c.first + 1; i < c.end; i++) {
        if (counts_step(&s->counts[i - 1], &s->counts[i]))
            p->counter_j += s->counts[i].value - s->counts[i - 1].value;
        else /* it was reset, or said what cannot be */
            add_interval(p, s, count_ns(s, i - 1), count_ns(s, i));
    }
    add_interval(p, s, count_ns(s, c.end - 1), to_ns);
    double edge_j = mean_w * (double)(s->counter->lag_u_ns + s->counter->read_cost_ns / 2) * 1e-9;
    p->variance += 2 * edge_j * edge_j;
    return true;
}

/* ---- windows ---- */

static void add_window(parts *p, const jm__board_readings *s, jm__interval window)
{
    double seconds = (double)(window.to_ns - window.from_ns) * 1e-9;
    parts alone = {0};
    add_interval(&alone, s, window.from_ns, window.to_ns);
    double mean_w = (alone.counter_j + alone.power_j) / seconds;
    if (alone.readings < 2) alone.variance += pow(unseen_relative_u * alone.power_j, 2); /* none of its own */
    if (!add_counter(p, s, window.from_ns, window.to_ns, mean_w)) add_parts(p, &alone, 1);
}

jm__total jm__total_measure(const jm__board_readings *readings, const jm__intervals *windows)
{
    jm__total total = {0};
    jm__board_readings s = *readings;
    if (s.count_count < 2) s.counter = NULL;
    if (s.power_count == 0 && s.counter == NULL) return total;
    parts p = {0};
    for (size_t i = 0; i < windows->count; i++)
        add_window(&p, &s, windows->items[i]);
    if (p.counter_j == 0 && s.power_count == 0) return total;
    const jm__power_series *most = p.most != NULL || s.power_count == 0 ? p.most : &s.powers[0];
    total.source = most == NULL || p.counter_j > p.power_used_j ? s.counter->name : most->sensor->name;
    total.energy_j = p.counter_j + p.power_j;
    total.u_j = sqrt(pow(counter_relative_u * p.counter_j, 2) + pow(JM_POWER_RELATIVE_U * p.power_used_j, 2) +
                     p.variance + pow(unseen_relative_u * p.unseen_j, 2) + pow(p.apart_j / 2, 2));
    total.unseen_j = p.unseen_j;
    total.apart_j = p.apart_j;
    return total;
}
