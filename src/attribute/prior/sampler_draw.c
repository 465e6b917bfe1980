/* The sampler's draw, as power sensors and the energy counter see it. */
#include "attribute/prior/sampler_draw.h"

#include "attribute/fit/calibrate.h"
#include "base/status.h"
#include "format/rows/sensor_role.h"

#include <math.h>
#include <string.h>

/* By the board's profile: the step at a sampler's end, at rest, twice on an H100 (34.3 and 34.8 W); what
 * leaves the least residuals of runs that a sampler came to, at work: 36 ±3 W (H100), 34 ±1 W (H200).
 * bench/results/counters.txt, 5. */
static const struct {
    const char *profile;
    double power_w, u_w;
} known[] = {{"h100", 35, 4}, {"h200", 35, 4}};

/* Measured at rest, it may be as much more or less at work. */
static const double working_u_w = 3;

static const double forgotten = 40; /* time constants after which nothing is left (4e-18) */

static jm__sampler_draw draw_of(const jm_board *board)
{
    jm__sampler_draw draw = {0};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(board->profile, known[i].profile) == 0)
            draw = (jm__sampler_draw){.power_w = known[i].power_w, .u_w = known[i].u_w};
    return draw;
}

jm_status jm__sampler_draw_find(jm__sampler_draw *sampler, const jm__dataset *dataset, const jm_board *board,
                                double power_w, double u_w, jm_error *err)
{
    int64_t from_ns = INT64_MAX, end_ns = INT64_MAX;
    bool fine = true;
    *sampler = isnan(power_w) ? draw_of(board)
                              : (jm__sampler_draw){.power_w = power_w, .u_w = hypot(u_w, working_u_w)};
    for (size_t i = 0; fine && sampler->power_w > 0 && i < dataset->event_count; i++) {
        const jm__event *event = &dataset->events[i];
        if (event->kind != JM_EVENT_SAMPLING || event->board_id != board->id) continue;
        if (event->value != 0 && from_ns == INT64_MAX) from_ns = event->t_ns;
        if (event->value != 0 || from_ns == INT64_MAX) continue;
        fine = jm__windows_add(&sampler->windows, from_ns, event->t_ns);
        from_ns = INT64_MAX;
    }
    if (fine && from_ns != INT64_MAX) fine = jm__windows_add(&sampler->windows, from_ns, end_ns);
    jm__windows_normalise(&sampler->windows);
    return fine ? JM_OK : jm__no_memory(err, "jm__sampler_draw_find");
}

void jm__sampler_draw_free(jm__sampler_draw *sampler)
{
    jm__vec_free(&sampler->windows);
}

/* What is left, at t, of a step that was at `since`. */
static double left(const jm__response *response, double t_ns, double since_ns)
{
    double past = (t_ns - since_ns) / response->width_ns;
    if (past <= 0) return 1;
    if (response->kind == JM_RESPONSE_FIRST_ORDER) return exp(-past);
    return fmax(0, 1 - past);
}

/* The share of a power reading's weight that lies in the windows, from *first on: those before are forgotten.
 */
static double share(const jm__sampler_draw *sampler, const jm__response *response, int64_t t_ns,
                    size_t *first)
{
    const jm__window *windows = sampler->windows.items;
    double at_ns = (double)t_ns - response->lag_ns, sum = 0;
    while (*first < sampler->windows.count &&
           at_ns - (double)windows[*first].to_ns > forgotten * response->width_ns)
        ++*first;
    for (size_t i = *first; i < sampler->windows.count && (double)windows[i].from_ns < at_ns; i++)
        sum += left(response, at_ns, (double)windows[i].to_ns) -
               left(response, at_ns, (double)windows[i].from_ns);
    return sum;
}

static void take_off_power(const jm__sampler_draw *sampler, const jm_sensor *sensor, jm_reading *readings,
                           size_t count)
{
    const jm__response response = jm__calibration_of(sensor).response;
    size_t first = 0;
    for (size_t i = 0; i < count; i++)
        readings[i].value -= sampler->power_w * share(sampler, &response, readings[i].t_ns, &first);
}

static void take_off_energy(const jm__sampler_draw *sampler, jm_reading *readings, size_t count)
{
    double drawn_j = 0;
    for (size_t i = 0; i < count; i++) {
        int64_t since_ns = i > 0 ? readings[i - 1].t_ns : INT64_MIN;
        int64_t sampled_ns = jm__windows_overlap_ns(&sampler->windows, since_ns, readings[i].t_ns);
        drawn_j += sampler->power_w * 1e-9 * (double)sampled_ns;
        readings[i].value -= drawn_j;
    }
}

void jm__sampler_draw_take_off(const jm__sampler_draw *sampler, const jm_sensor *sensor, jm_reading *readings,
                               size_t count)
{
    if (sampler->windows.count == 0) return;
    if (jm__sensor_is_counter(sensor))
        take_off_energy(sampler, readings, count);
    else
        take_off_power(sampler, sensor, readings, count);
}

static double seconds_in(const jm__sampler_draw *sampler, const jm__windows *windows)
{
    int64_t sum_ns = 0;
    for (size_t i = 0; i < windows->count; i++)
        sum_ns +=
            jm__windows_overlap_ns(&sampler->windows, windows->items[i].from_ns, windows->items[i].to_ns);
    return (double)sum_ns * 1e-9;
}

double jm__sampler_draw_energy_j(const jm__sampler_draw *sampler, const jm__windows *windows)
{
    return sampler->power_w * seconds_in(sampler, windows);
}

double jm__sampler_draw_u_j(const jm__sampler_draw *sampler, const jm__windows *windows)
{
    return sampler->u_w * seconds_in(sampler, windows);
}
