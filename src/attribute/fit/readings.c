/* Choosing readings by the time that they speak of. */
#include "attribute/fit/readings.h"

#include "attribute/fit/calibrate.h"
#include "base/status.h"

#include <math.h>

/* Neighbours of a sample stay together for their correlation: ten times as long as the longest that
 * noise.c looks for. */
enum { BLOCK_READINGS = 200 };

/* A window of 20 memories can do without the first of them: 5 % of its readings, for none that tells of
 * what was before. */
static const int64_t long_window = 20;

/* Of which a first-order sensor remembers the rest: of a window's first readings 5 %, of time that nobody
 * knows 1 %. */
enum { SHORT_MEMORY = 3, LONG_MEMORY = 5 };

static int64_t memory_ns_of(const jm__response *r, int time_constants)
{
    return (int64_t)(r->kind == JM_RESPONSE_FIRST_ORDER ? time_constants * r->width_ns : r->width_ns);
}

jm_status jm__readings_choose(jm__reading_list *out, const jm_sensor *sensor, const jm_reading *readings,
                              size_t count, const jm__windows *windows, const jm__windows *unknown,
                              jm_error *err)
{
    const jm__response r = jm__calibration_of(sensor).response;
    int64_t memory_ns = memory_ns_of(&r, SHORT_MEMORY), long_ns = memory_ns_of(&r, LONG_MEMORY);
    size_t window = 0;
    for (size_t i = 0; i < count; i++) {
        jm_reading reading = readings[i];
        int64_t t_ns = reading.t_ns - (int64_t)r.lag_ns;
        while (window < windows->count && windows->items[window].to_ns < t_ns)
            window++;
        if (window == windows->count) break;
        const jm__window *now = &windows->items[window];
        bool is_long = now->to_ns - now->from_ns > long_window * memory_ns;
        if (t_ns < now->from_ns + (is_long ? memory_ns : 0)) continue;
        if (!isfinite(reading.value) || reading.value < 0) continue;
        if (unknown != NULL && jm__windows_overlap_ns(unknown, t_ns - long_ns, t_ns) > 0) continue;
        if (out->count > 0 && out->items[out->count - 1].t_ns >= reading.t_ns) continue;
        if (!jm__vec_push(out, reading)) return jm__no_memory(err, "jm__readings_choose");
    }
    return JM_OK;
}

jm_status jm__readings_sample(jm__reading_list *out, const jm__reading_list *all, size_t most, jm_error *err)
{
    size_t count = all->count, blocks = most / BLOCK_READINGS + 1;
    if (!jm__vec_reserve(out, count < most ? count : most)) return jm__no_memory(err, "jm__readings_sample");
    for (size_t i = 0; i < count && out->count < most; i++) {
        size_t block = i * blocks / count, start = (block * count + blocks - 1) / blocks;
        if (count > most && i - start >= BLOCK_READINGS) continue;
        out->items[out->count++] = all->items[i];
    }
    return JM_OK;
}
