/* Events by board and time. */
#include "attribute/notes/conditions.h"

#include "base/clock.h"
#include "format/rows/sensor_role.h"

#include <math.h>
#include <stdlib.h>

/* A century: longer than that no recorder waits. */
#define JM_GAP_MAX_NS (INT64_C(3155760000) * JM_NS_PER_S)

static bool is_of_wanted_board(const jm__attribution *a, int64_t board_id)
{
    if (board_id == 0) return true; /* it concerns all of them */
    for (size_t b = 0; b < a->dataset->board_count; b++)
        if (a->boards[b].board->id == board_id) return a->boards[b].wanted;
    return false;
}

/* What was absent, and what a sensor that failed, CUPTI, the recorder or the sampler of counters had to say
 * holds from then on. */
static bool lasts(jm_event_kind kind)
{
    return kind == JM_EVENT_BOARD_ABSENT || kind == JM_EVENT_SENSOR_FAILED || kind == JM_EVENT_CUPTI ||
           kind == JM_EVENT_RECORDER || kind == JM_EVENT_COUNTERS;
}

int64_t jm__event_gap_ns(const jm__event *event)
{
    bool told = event->kind == JM_EVENT_GAP && event->value > 0 && event->value < (double)JM_GAP_MAX_NS;
    return told ? (int64_t)event->value : 0;
}

bool jm__event_concerns(const jm__attribution *a, const jm__event *event)
{
    const jm_report_options *o = &a->options;
    bool all_time = o->phase == NULL && o->from_ns == 0 && o->to_ns == 0;
    if (!is_of_wanted_board(a, event->board_id)) return false;
    if (all_time || lasts(event->kind) || jm__windows_hold(&a->windows, event->t_ns)) return true;
    return jm__windows_overlap_ns(&a->windows, event->t_ns, event->t_ns + jm__event_gap_ns(event)) > 0;
}

/* Throttling and the limit as shares of time: what is read now and then holds around its reading. */

/* nvml.h, nvmlClocksEventReason*. Idle and the clocks that somebody asked for hold nothing back. */
static const uint64_t held_by_nothing = 0x3;

static const char *const reasons[JM_REASONS] = {
    "idle",
    "clocks asked for",
    "power limit",
    "hardware slowdown",
    "sync boost",
    "temperature, by the driver",
    "temperature, by the hardware",
    "power brake",
    "display clock",
};

const char *jm__throttle_reason_text(int bit)
{
    return reasons[bit];
}

/* A reason is read ten times a second; half a second without it is not known. */
static const int64_t reasons_reach_ns = JM_NS_PER_S / 2;

/* A limit is read every five seconds, and is what somebody set. */
static const int64_t limit_reach_ns = INT64_MAX / 4;

/* A temperature is read once in some seconds, and changes as slowly. */
static const int64_t temperature_reach_ns = 10 * JM_NS_PER_S;

/* Told one reading after the other: each speaks of the time nearer to it than to its neighbours. */
typedef void (*taker)(void *sums, double value, double seconds);

static int64_t sensor_of(const jm__dataset *d, const jm__board_part *part, jm__sensor_role role)
{
    for (size_t i = 0; i < d->sensor_count; i++)
        if (d->sensors[i].board_id == part->board->id && jm__sensor_is(&d->sensors[i], role))
            return d->sensors[i].id;
    return 0;
}

static void each_reading(const jm__dataset *d, const jm__board_part *part, jm__sensor_role role,
                         int64_t reach_ns, taker take, void *sums)
{
    const jm_reading *now = NULL;
    int64_t from_ns = 0, sensor_id = sensor_of(d, part, role);
    for (size_t i = 0; sensor_id != 0 && i <= d->reading_count; i++) {
        const jm_reading *next = i < d->reading_count ? &d->readings[i] : NULL;
        if (next != NULL && next->sensor_id != sensor_id) continue;
        int64_t to_ns = now != NULL ? now->t_ns + reach_ns : 0;
        if (now != NULL && next != NULL && (next->t_ns - now->t_ns) / 2 < reach_ns)
            to_ns = now->t_ns + (next->t_ns - now->t_ns) / 2;
        if (now != NULL)
            take(sums, now->value, (double)jm__windows_overlap_ns(&part->windows, from_ns, to_ns) * 1e-9);
        if (next != NULL)
            from_ns = now != NULL && to_ns > next->t_ns - reach_ns ? to_ns : next->t_ns - reach_ns;
        now = next;
    }
}

static void take_reasons(void *sums, double value, double seconds)
{
    jm__conditions *c = sums;
    if (!(value >= 0 && value < 0x1p63)) return;
    uint64_t bits = (uint64_t)value & ~held_by_nothing;
    c->told_s += seconds;
    if (bits != 0) c->throttled_s += seconds;
    for (int bit = 0; bit < JM_REASONS; bit++)
        if (bits >> bit & 1) c->reason_s[bit] += seconds;
}

typedef struct mean {
    double weighted;
    double seconds;
} mean;

static void take_mean(void *sums, double value, double seconds)
{
    mean *of = sums;
    if (!isfinite(value)) return;
    of->weighted += seconds * value;
    of->seconds += seconds;
}

static double mean_of(const jm__dataset *dataset, const jm__board_part *part, jm__sensor_role role,
                      int64_t reach_ns)
{
    mean of = {0};
    each_reading(dataset, part, role, reach_ns, take_mean, &of);
    return of.seconds > 0 ? of.weighted / of.seconds : NAN;
}

jm__conditions jm__conditions_of(const jm__dataset *dataset, const jm__board_part *part)
{
    jm__conditions c = {
        .power_limit_w = mean_of(dataset, part, JM_SENSOR_POWER_LIMIT, limit_reach_ns),
        .temperature_c = mean_of(dataset, part, JM_SENSOR_TEMPERATURE, temperature_reach_ns),
    };
    each_reading(dataset, part, JM_SENSOR_THROTTLE, reasons_reach_ns, take_reasons, &c);
    return c;
}

/* Utilisation is the share of up to a second before it was read, in which any kernel ran. So readings count
 * that have nothing but rest for longer than that before them. */
static const int64_t utilisation_memory_ns = 1300 * JM_NS_PER_MS;

enum { LEAST_READINGS = 2 };

/* Mean of those; NAN: too few. */
static double busy_share(const jm__dataset *d, const jm__board_part *part, const jm__windows *rests)
{
    int64_t sensor_id = sensor_of(d, part, JM_SENSOR_UTIL_GPU);
    double sum = 0, count = 0;
    for (size_t i = 0; sensor_id != 0 && i < d->reading_count; i++) {
        const jm_reading *reading = &d->readings[i];
        int64_t from_ns = reading->t_ns - utilisation_memory_ns;
        if (reading->sensor_id != sensor_id || !(reading->value >= 0 && reading->value <= 100)) continue;
        if (jm__windows_overlap_ns(rests, from_ns, reading->t_ns) < utilisation_memory_ns) continue;
        sum += reading->value / 100;
        count++;
    }
    return count >= LEAST_READINGS ? sum / count : NAN;
}

double jm__unrecorded_s(const jm__dataset *dataset, const jm__board_part *part)
{
    jm__windows rests = {0};
    double busy_s = NAN;
    if (part->work == NULL || part->work->tally.rests.count == 0) return NAN;
    if (jm__windows_add_all(&rests, &part->work->tally.rests)) {
        jm__windows_normalise(&rests);
        if (jm__windows_intersect(&rests, &part->traced))
            busy_s = busy_share(dataset, part, &rests) * 1e-9 * (double)jm__windows_duration_ns(&rests);
    }
    jm__vec_free(&rests);
    return busy_s;
}
