/* Energy and power of any intervals of time, from readings alone. */
#include "attribute/rollup/power_over_time.h"

#include "attribute/attribution.h"
#include "attribute/fit/student.h"
#include "attribute/fit/total.h"
#include "attribute/report.h"
#include "attribute/rollup/energy.h"
#include "attribute/work/clock_track.h"
#include "base/clock.h"
#include "base/search.h"
#include "base/status.h"
#include "format/dataset.h"

#include <math.h>
#include <stdlib.h>

/* Readings before and after an interval: for the response of sensors, and for a counter that is read every
 * five seconds (record/sample). */
static const int64_t margin_ns = 6 * JM_NS_PER_S;

/* Extend `seen` by the time that readings with stamps from `first_ns` to `last_ns` cover. */
static void add_seen(jm__interval *seen, const jm_sensor *sensor, int64_t first_ns, int64_t last_ns)
{
    int64_t delay_ns = jm__power_delay_ns(sensor), beyond_ns = jm__power_beyond_ns(sensor);
    if (first_ns - delay_ns - beyond_ns < seen->from_ns) seen->from_ns = first_ns - delay_ns - beyond_ns;
    if (last_ns - delay_ns + beyond_ns > seen->to_ns) seen->to_ns = last_ns - delay_ns + beyond_ns;
}

/* Clip the part's windows to the time that its readings cover: extrapolation would invent joules. False if
 * nothing of the requested time is left. */
static bool clip_to_readings(jm__board_part *part, int64_t from_ns, int64_t to_ns)
{
    jm__interval seen = {INT64_MAX, INT64_MIN};
    for (size_t k = 0; k < part->readings.power_count; k++) {
        const jm__power_series *s = &part->readings.powers[k];
        add_seen(&seen, s->sensor, s->readings[0].t_ns, s->readings[s->count - 1].t_ns);
    }
    if (part->readings.counter != NULL)
        add_seen(&seen, part->readings.counter, part->readings.counts[0].t_ns,
                 part->readings.counts[part->readings.count_count - 1].t_ns);
    jm__intervals_clip(&part->time.windows, seen.from_ns, seen.to_ns);
    return from_ns <= seen.to_ns && to_ns >= seen.from_ns;
}

/* The sum over boards, as in a report's totals. */
static jm_status add_up(jm__attribution *a, int64_t from_ns, int64_t to_ns, jm_sum *out, jm_error *err)
{
    double energy_j = 0, variance = 0;
    bool any_total = false;
    for (size_t b = 0; b < a->scope.dataset->board_count; b++) {
        jm__board_part *part = &a->boards[b];
        if (!part->counted) continue;
        JM_TRY(jm__attribution_readings(a, part, err));
        if (part->time.windows.count == 0 && part->time.lost.count > 0) continue;
        if (!clip_to_readings(part, from_ns, to_ns)) continue;
        jm__total total = jm__total_measure(&part->readings, &part->time.windows);
        any_total = any_total || total.source != NULL;
        energy_j += total.energy_j;
        variance += total.u_j * total.u_j;
    }
    double half_j = JM_NORMAL_95 * sqrt(variance);
    *out = (jm_sum){NAN, NAN, NAN};
    if (any_total) *out = (jm_sum){energy_j, jm__energy_low(energy_j, half_j), energy_j + half_j};
    return JM_OK;
}

static jm_status measure(const jm__dataset *dataset, int64_t board_id, int64_t from_ns, int64_t to_ns,
                         jm_sum *out, jm_error *err)
{
    jm__attribution a = {.scope.dataset = dataset};
    jm_status status = jm__attribution_boards(&a, board_id, err);
    if (status == JM_OK && !jm__intervals_add(&a.scope.windows, from_ns, to_ns))
        status = jm__no_memory(err, "jm_recording_energy");
    if (status == JM_OK) status = add_up(&a, from_ns, to_ns, out, err);
    jm__attribution_free(&a);
    return status;
}

jm_status jm_recording_energy(jm_recording *recording, int64_t board_id, int64_t from_ns, int64_t to_ns,
                              jm_sum *out, jm_error *err)
{
    jm__dataset *dataset = NULL;
    *out = (jm_sum){NAN, NAN, NAN};
    if (to_ns < from_ns)
        return jm__fail(err, JM_USAGE, 0, NULL, "the end of the time asked for lies before its start");
    from_ns = jm__time_bounded(from_ns);
    to_ns = jm__time_bounded(to_ns);
    const jm__row_filter requested = {.from_ns = from_ns - margin_ns, .to_ns = to_ns + margin_ns};
    JM_TRY(jm__dataset_load_readings(&dataset, recording, &requested, err));
    jm_status status = measure(dataset, board_id, from_ns, to_ns, out, err);
    jm__dataset_free(dataset);
    return status;
}

/* ---- power over time, in bins of equal length */

struct jm__power_over_time {
    const jm_report *report;
    jm__attribution attribution; /* its windows and readings alone */
};

/* Joules of an interval by the power sensors, and the time that they cover. */
static double seen_j(const jm__board_part *part, jm__interval interval, double *seen_s)
{
    double sum_j = 0;
    jm__power_piece piece = {.to_ns = interval.from_ns};
    while (jm__power_next(&piece, part->readings.powers, part->readings.power_count, interval.to_ns)) {
        if (piece.by == NULL) continue;
        sum_j += jm__power_energy_j(piece.by, piece.from_ns, piece.to_ns);
        *seen_s += (double)(piece.to_ns - piece.from_ns) * 1e-9;
    }
    return sum_j;
}

/* The same for a board that has only a counter. */
static double counted_j(const jm__board_part *part, jm__interval interval, double *seen_s)
{
    if (part->readings.counter == NULL) return 0;
    int64_t first_ns = part->readings.counts[0].t_ns - part->readings.counter->lag_ns;
    int64_t last_ns =
        part->readings.counts[part->readings.count_count - 1].t_ns - part->readings.counter->lag_ns;
    if (interval.from_ns < first_ns) interval.from_ns = first_ns;
    if (interval.to_ns > last_ns) interval.to_ns = last_ns;
    jm__intervals alone = {.items = &interval, .count = 1};
    jm__total total = {0};
    if (interval.to_ns > interval.from_ns) total = jm__total_measure(&part->readings, &alone);
    if (total.source == NULL) return 0;
    *seen_s += (double)(interval.to_ns - interval.from_ns) * 1e-9;
    return total.energy_j;
}

static void find_mean(jm_power_bin *bin, const jm__board_part *part)
{
    const jm__intervals *windows = &part->time.windows;
    double sum_j = 0;
    for (size_t i = jm__intervals_first_after(windows, bin->from_ns);
         i < windows->count && windows->items[i].from_ns < bin->to_ns; i++) {
        jm__interval interval = windows->items[i];
        if (interval.from_ns < bin->from_ns) interval.from_ns = bin->from_ns;
        if (interval.to_ns > bin->to_ns) interval.to_ns = bin->to_ns;
        sum_j += part->readings.power_count > 0 ? seen_j(part, interval, &bin->seen_s)
                                                : counted_j(part, interval, &bin->seen_s);
    }
    bin->mean_w = bin->seen_s > 0 ? sum_j / bin->seen_s : NAN;
}

/* The bin of a time; `count`: none. */
static size_t bin_at(const jm_power_bin *bins, size_t count, int64_t t_ns)
{
    size_t after;
    jm__search(after, count, bins[after].from_ns <= t_ns);
    return after > 0 && t_ns < bins[after - 1].to_ns ? after - 1 : count;
}

/* The smallest and the largest reading of the report's main sensor; sensors spread differently. */
static void find_spread(jm_power_bin *bins, size_t count, const jm__board_part *part)
{
    const jm__power_series *series = part->readings.power_count > 0 ? &part->readings.powers[0] : NULL;
    for (size_t k = 0; k < part->readings.power_count; k++)
        if (part->readings.powers[k].sensor == part->readings.sensor) series = &part->readings.powers[k];
    for (size_t i = 0; i < count; i++)
        bins[i].least_w = bins[i].most_w = bins[i].mean_w;
    for (size_t i = 0; series != NULL && i < series->count; i++) {
        const jm_reading *reading = &series->readings[i];
        int64_t t_ns = reading->t_ns - jm__power_delay_ns(series->sensor);
        size_t at = bin_at(bins, count, t_ns);
        if (at == count || isnan(bins[at].mean_w) || !jm__intervals_contain(&part->time.windows, t_ns))
            continue;
        bins[at].least_w = fmin(bins[at].least_w, reading->value);
        bins[at].most_w = fmax(bins[at].most_w, reading->value);
    }
}

/* The mean clock of each bin. */
static void find_clock(jm_power_bin *bins, size_t count, const jm__dataset *d, const jm__board_part *part)
{
    const jm_sensor *sensor = jm__clock_sensor(d, part->board);
    size_t last_bin = 0, readings = 0;
    for (size_t i = 0; sensor != NULL && i < d->reading_count; i++) {
        const jm_reading *reading = &d->readings[i];
        if (reading->sensor_id != sensor->id) continue;
        size_t at = bin_at(bins, count, reading->t_ns);
        if (at == count || !isfinite(reading->value) ||
            !jm__intervals_contain(&part->time.windows, reading->t_ns))
            continue;
        readings = at == last_bin ? readings + 1 : 1;
        last_bin = at;
        double before = isnan(bins[at].clock_mhz) ? 0 : bins[at].clock_mhz;
        bins[at].clock_mhz = before + (reading->value - before) / (double)readings;
    }
}

static void fill(jm_power_bin *bins, size_t count, const jm__dataset *d, const jm__board_part *part,
                 jm__interval range)
{
    double width_ns = (double)(range.to_ns - range.from_ns) / (double)count;
    for (size_t i = 0; i < count; i++) {
        bins[i] = (jm_power_bin){.from_ns = range.from_ns + (int64_t)((double)i * width_ns),
                                 .to_ns = range.from_ns + (int64_t)((double)(i + 1) * width_ns),
                                 .clock_mhz = NAN};
        find_mean(&bins[i], part);
    }
    find_spread(bins, count, part);
    find_clock(bins, count, d, part);
}

jm_status jm__power_over_time_begin(jm__power_over_time **out, const jm_report *report, jm_error *err)
{
    jm__power_over_time *power = calloc(1, sizeof *power);
    *out = NULL;
    if (power == NULL) return jm__no_memory(err, "jm_report_power");
    power->report = report;
    jm_status status = jm__attribution_begin(&power->attribution, jm__report_dataset(report),
                                             jm_report_options_get(report), err);
    if (status == JM_OK)
        *out = power;
    else
        jm__power_over_time_free(power);
    return status;
}

jm_status jm__power_over_time_bins(const jm__power_over_time *power, size_t board, jm_power_bin *bins,
                                   size_t count, jm_error *err)
{
    const jm__attribution *a = &power->attribution;
    jm_report_board requested;
    jm__interval range = {0};
    JM_TRY(jm_report_board_get(power->report, board, &requested, err));
    if (count == 0)
        return jm__fail(err, JM_USAGE, 0, "jm_report_power", "power over time takes at least one bin");
    if (a->scope.windows.count > 0)
        range = (jm__interval){a->scope.windows.items[0].from_ns,
                               a->scope.windows.items[a->scope.windows.count - 1].to_ns};
    fill(bins, count, a->scope.dataset, &a->boards[requested.board->id - 1], range);
    return JM_OK;
}

void jm__power_over_time_free(jm__power_over_time *power)
{
    if (power == NULL) return;
    jm__attribution_free(&power->attribution);
    free(power);
}

jm_status jm_report_power(const jm_report *report, size_t board, jm_power_bin *bins, size_t count,
                          jm_error *err)
{
    jm__power_over_time *power;
    JM_TRY(jm__power_over_time_begin(&power, report, err));
    jm_status status = jm__power_over_time_bins(power, board, bins, count, err);
    jm__power_over_time_free(power);
    return status;
}
