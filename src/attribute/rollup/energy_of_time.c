/* The energy of a stretch of time, from the readings around it alone. */
#include "attribute/attribution.h"
#include "attribute/board_readings.h"
#include "attribute/fit/power_series.h"
#include "attribute/fit/student.h"
#include "attribute/lost.h"
#include "attribute/rollup/energy.h"
#include "base/clock.h"
#include "base/status.h"
#include "format/dataset.h"

#include <math.h>

/* What sensors remember, and two readings of a counter that is read every five seconds
 * (record/sample/channel.c). */
static const int64_t around_ns = 6 * JM_NS_PER_S;

/* The time that readings with stamps from `first_ns` to `last_ns` tell of. */
static void add_seen(jm__window *seen, const jm_sensor *sensor, int64_t first_ns, int64_t last_ns)
{
    int64_t delay_ns = jm__power_delay_ns(sensor), beyond_ns = jm__power_beyond_ns(sensor);
    if (first_ns - delay_ns - beyond_ns < seen->from_ns) seen->from_ns = first_ns - delay_ns - beyond_ns;
    if (last_ns - delay_ns + beyond_ns > seen->to_ns) seen->to_ns = last_ns - delay_ns + beyond_ns;
}

/* Cut the part's windows to the time that its readings tell of: to go on with the first or the last would be
 * to invent joules. False if nothing of the time asked for is left. */
static bool keep_seen(jm__board_part *part, int64_t from_ns, int64_t to_ns)
{
    jm__window seen = {INT64_MAX, INT64_MIN};
    for (size_t k = 0; k < part->power_count; k++) {
        const jm__power_series *s = &part->powers[k];
        add_seen(&seen, s->sensor, s->readings[0].t_ns, s->readings[s->count - 1].t_ns);
    }
    if (part->counter != NULL)
        add_seen(&seen, part->counter, part->counts[0].t_ns, part->counts[part->count_count - 1].t_ns);
    jm__windows_clip(&part->windows, seen.from_ns, seen.to_ns);
    return from_ns <= seen.to_ns && to_ns >= seen.from_ns;
}

/* As a report's totals have it. */
static jm_status add_up(jm__attribution *a, int64_t from_ns, int64_t to_ns, jm_sum *out, jm_error *err)
{
    double energy_j = 0, variance = 0;
    bool known = false;
    JM_TRY(jm__board_readings_take(a->boards, a->dataset, err));
    for (size_t b = 0; b < a->dataset->board_count; b++) {
        jm__board_part *part = &a->boards[b];
        if (!part->counted) continue;
        JM_TRY(jm__lost_find(part, a->dataset, &a->windows, &a->learn, err));
        if (part->windows.count == 0 && part->lost.count > 0) continue;
        if (!keep_seen(part, from_ns, to_ns)) continue;
        jm__total total = jm__board_total(part, &part->windows);
        known = known || total.source != NULL;
        energy_j += total.energy_j;
        variance += total.u_j * total.u_j;
    }
    double half_j = JM_NORMAL_95 * sqrt(variance);
    *out = (jm_sum){NAN, NAN, NAN};
    if (known) *out = (jm_sum){energy_j, jm__energy_low(energy_j, half_j), energy_j + half_j};
    return JM_OK;
}

static jm_status measure(const jm__dataset *dataset, int64_t board_id, int64_t from_ns, int64_t to_ns,
                         jm_sum *out, jm_error *err)
{
    jm__attribution a = {.dataset = dataset};
    jm_status status = jm__attribution_boards(&a, board_id, err);
    if (status == JM_OK && !jm__windows_add(&a.windows, from_ns, to_ns))
        status = jm__no_memory(err, "jm_recording_energy");
    if (status == JM_OK) status = add_up(&a, from_ns, to_ns, out, err);
    jm__attribution_free(&a);
    return status;
}

static jm_status energy(jm_recording *recording, int64_t board_id, int64_t from_ns, int64_t to_ns,
                        jm_sum *out, jm_error *err)
{
    jm__dataset *dataset = NULL;
    const jm__stretch_wanted wanted = {.from_ns = from_ns - around_ns, .to_ns = to_ns + around_ns};
    JM_TRY(jm__dataset_load_readings(&dataset, recording, &wanted, err));
    jm_status status = measure(dataset, board_id, from_ns, to_ns, out, err);
    jm__dataset_free(dataset);
    return status;
}

jm_status jm_recording_energy(jm_recording *recording, int64_t board_id, int64_t from_ns, int64_t to_ns,
                              jm_sum *out, jm_error *err)
{
    *out = (jm_sum){NAN, NAN, NAN};
    if (to_ns < from_ns)
        return jm__fail(err, JM_USAGE, 0, NULL, "the end of the time asked for lies before its start");
    return energy(recording, board_id, jm__time_bounded(from_ns), jm__time_bounded(to_ns), out, err);
}
