/* Readings of the clock, and their mean around some work. */
#include "attribute/work/clock_track.h"

#include "base/clock.h"
#include "format/rows/sensor_role.h"

#include <math.h>
#include <stdlib.h>

/* Of the logarithm. A choice: power grows with the clock to the power of 1 to 3, so within a step of 2 % it
 * is at most 1 to 3 % off the power at the middle. */
static const double step_size = 0.02;

/* A power limit moves the clock within a few kernels, faster than it is read: this effect of a class is part
 * of its own power. Changes over half a second are the board's: temperature, load. */
static const int64_t context_ns = 250 * JM_NS_PER_MS;

const jm_sensor *jm__clock_sensor(const jm__dataset *dataset, const jm_board *board)
{
    for (size_t i = 0; i < dataset->sensor_count; i++)
        if (dataset->sensors[i].board_id == board->id &&
            jm__sensor_is(&dataset->sensors[i], JM_SENSOR_CLOCK_SM))
            return &dataset->sensors[i];
    return NULL;
}

bool jm__clock_readings_begin(jm__clock_track *track, const jm__dataset *dataset, const jm_board *board)
{
    const jm_sensor *sensor = jm__clock_sensor(dataset, board);
    size_t count = 0;
    *track = (jm__clock_track){0};
    for (size_t i = 0; sensor != NULL && i < dataset->reading_count; i++)
        count += dataset->readings[i].sensor_id == sensor->id;
    if (count == 0) return true;
    track->readings = malloc(count * sizeof *track->readings);
    if (track->readings == NULL) return false;
    for (size_t i = 0; i < dataset->reading_count; i++) {
        const jm_reading *reading = &dataset->readings[i];
        if (reading->sensor_id == sensor->id && reading->value > 0)
            track->readings[track->count++] = *reading;
    }
    return true;
}

bool jm__clock_track_begin(jm__clock_track *track, const jm__dataset *dataset, const jm_board *board)
{
    double lowest = INFINITY, highest = 0;
    if (!jm__clock_readings_begin(track, dataset, board)) return false;
    for (size_t i = 0; i < track->count; i++) {
        lowest = fmin(lowest, track->readings[i].value);
        highest = fmax(highest, track->readings[i].value);
    }
    if (highest < lowest * exp(step_size)) track->count = 0;
    return true;
}

double jm__clock_between_at(jm__clock_track *clock, int64_t t_ns)
{
    if (clock->count == 0) return NAN;
    while (clock->at + 1 < clock->count && clock->readings[clock->at + 1].t_ns <= t_ns)
        clock->at++;
    const jm_reading *before = &clock->readings[clock->at], *after = before + 1;
    if (clock->at + 1 == clock->count || t_ns <= before->t_ns) return before->value;
    double fraction = (double)(t_ns - before->t_ns) / (double)(after->t_ns - before->t_ns);
    return before->value + fraction * (after->value - before->value);
}

void jm__clock_track_free(jm__clock_track *track)
{
    free(track->readings);
    *track = (jm__clock_track){0};
}

int64_t jm__clock_track_step(jm__clock_track *track, int64_t start_ns, int64_t end_ns)
{
    const jm_reading *readings = track->readings;
    size_t count = track->count;
    if (count == 0) return 0;
    while (track->at + 1 < count && readings[track->at].t_ns < start_ns - context_ns)
        track->at++;
    double sum = readings[track->at].value;
    size_t last = track->at;
    while (last + 1 < count && readings[last + 1].t_ns <= end_ns + context_ns)
        sum += readings[++last].value;
    return 1 + llround(log(sum / (double)(last + 1 - track->at)) / step_size);
}

double jm__clock_step_mhz(int64_t step)
{
    return exp((double)(step - 1) * step_size);
}
