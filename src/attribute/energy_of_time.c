/* The energy of a stretch of time, from the readings around it alone. */
#include "attribute/attribution.h"
#include "attribute/board_readings.h"
#include "attribute/fit/student.h"
#include "attribute/lost.h"
#include "attribute/rollup/energy.h"
#include "base/clock.h"
#include "base/status.h"

#include <math.h>

/* Beside a ring the counter is read every five seconds, on its tick (sample/channel.c). */
static const int64_t around_ns = 6 * JM_NS_PER_S;

/* As a report's totals have it. */
static jm_status add_up(jm__attribution *a, jm_sum *out, jm_error *err)
{
    double energy_j = 0, variance = 0;
    bool known = false;
    JM_TRY(jm__board_readings_take(a, err));
    for (size_t b = 0; b < a->dataset->board_count; b++) {
        jm__board_part *part = &a->boards[b];
        if (!part->counted) continue;
        JM_TRY(jm__lost_find(part, a, err));
        if (part->windows.count == 0 && part->lost.count > 0) continue;
        jm__total total = jm__board_total(part, &part->windows);
        known = known || total.source != NULL;
        energy_j += total.energy_j;
        variance += total.u_j * total.u_j;
    }
    double half_j = JM_NORMAL_95 * sqrt(variance);
    *out = (jm_sum){NAN, NAN, NAN};
    if (known) *out = (jm_sum){energy_j, jm__energy_floor(energy_j - half_j), energy_j + half_j};
    return JM_OK;
}

static jm_status measure(const jm__dataset *dataset, int64_t board_id, int64_t from_ns, int64_t to_ns,
                         jm_sum *out, jm_error *err)
{
    jm__attribution a = {.dataset = dataset};
    jm_status status = jm__attribution_boards(&a, board_id, err);
    if (status == JM_OK && !jm__windows_add(&a.windows, from_ns, to_ns))
        status = jm__no_memory(err, "jm_recording_energy");
    if (status == JM_OK) status = add_up(&a, out, err);
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
    const jm__stretch_wanted wanted = {.from_ns = from_ns - around_ns, .to_ns = to_ns + around_ns};
    JM_TRY(jm__dataset_load_readings(&dataset, recording, &wanted, err));
    jm_status status = measure(dataset, board_id, from_ns, to_ns, out, err);
    jm__dataset_free(dataset);
    return status;
}
