/* Readings of the clock, and the mean of those around some work. */
#include "attribute/work/clock_track.h"

#include "base/clock.h"
#include "format/rows/sensor_role.h"

#include <math.h>
#include <stdlib.h>

/* Of the logarithm. A choice: power goes with the clock to the power of 1 to 3, so within a step of 2 % it
 * differs by 1 to 3 % from the middle at most, and by both signs. */
static const double step_size = 0.002;

/* A power limit moves the clock within a few kernels, faster than it is read: what a kind does to the clock
 * is part of the kind's own power. What lasts half a second is the board's: its warmth, what is asked of it.
 */
static const int64_t around_ns = 250 * JM_NS_PER_MS;

/* Of the logarithm, from one reading to the next. A choice: a limit moves the clock by a few percent at a
 * time, whoever sets it by more. */
static const double jump_size = 0.08;

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
    double least = INFINITY, most = 0;
    if (!jm__clock_readings_begin(track, dataset, board)) return false;
    for (size_t i = 0; i < track->count; i++) {
        least = fmin(least, track->readings[i].value);
        most = fmax(most, track->readings[i].value);
    }
    if (most < least * exp(step_size)) track->count = 0;
    return true;
}

double jm__clock_between_at(jm__clock_track *clock, int64_t t_ns)
{
    if (clock->count == 0) return NAN;
    while (clock->at + 1 < clock->count && clock->readings[clock->at + 1].t_ns <= t_ns)
        clock->at++;
    const jm_reading *before = &clock->readings[clock->at], *after = before + 1;
    if (clock->at + 1 == clock->count || t_ns <= before->t_ns) return before->value;
    double part = (double)(t_ns - before->t_ns) / (double)(after->t_ns - before->t_ns);
    return before->value + part * (after->value - before->value);
}

void jm__clock_track_free(jm__clock_track *track)
{
    free(track->readings);
    *track = (jm__clock_track){0};
}

/* From reading i to the next. */
static bool jumps(const jm__clock_track *track, size_t i)
{
    return fabs(log(track->readings[i + 1].value / track->readings[i].value)) > jump_size;
}

int64_t jm__clock_track_step(jm__clock_track *track, int64_t start_ns, int64_t end_ns)
{
    const jm_reading *readings = track->readings;
    int64_t middle_ns = start_ns + (end_ns - start_ns) / 2;
    if (track->count == 0) return 0;
    while (track->at + 1 < track->count && readings[track->at + 1].t_ns <= start_ns)
        track->at++;
    size_t nearest = track->at;
    while (nearest + 1 < track->count &&
           readings[nearest + 1].t_ns - middle_ns < middle_ns - readings[nearest].t_ns)
        nearest++;
    double sum = readings[nearest].value;
    size_t first = nearest, last = nearest;
    while (first > 0 && readings[first - 1].t_ns >= start_ns - around_ns && !jumps(track, first - 1))
        sum += readings[--first].value;
    while (last + 1 < track->count && readings[last + 1].t_ns <= end_ns + around_ns && !jumps(track, last))
        sum += readings[++last].value;
    return 1 + llround(log(sum / (double)(last + 1 - first)) / step_size);
}

bool jm__clock_jumps(const jm__clock_track *track, jm__intervals *out)
{
    for (size_t i = 0; i + 1 < track->count; i++)
        if (jumps(track, i) && !jm__intervals_add(out, track->readings[i].t_ns, track->readings[i + 1].t_ns))
            return false;
    return true;
}

double jm__clock_step_mhz(int64_t step)
{
    return exp((double)(step - 1) * step_size);
}
