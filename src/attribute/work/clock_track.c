/* Readings of the clock, and their mean around some work. */
#include "attribute/work/clock_track.h"

#include "base/clock.h"
#include "format/rows/sensor_role.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

/* Of the logarithm: steps so small that what power differs by within one, a percent of its exponent, is less
 * than any reading tells. */
static const double step_size = 0.002;

/* Of the logarithm, a choice: power goes with the clock to the power of 1 to 3, and so by 2 to 6 %. */
static const double least_move = 0.02;

/* A power limit moves the clock within a few kernels, faster than it is read: this effect of a class is part
 * of its own power. Changes over half a second are the board's: temperature, load. */
static const int64_t context_ns = 250 * JM_NS_PER_MS;

/* Of the logarithm, from one reading to the next. A choice: a limit moves the clock by a few percent at a
 * time, whoever sets it by more. */
static const double jump_size = 0.08;

const jm_sensor *jm__clock_sensor(const jm__dataset *dataset, const jm_board *board)
{
    return jm__dataset_sensor(dataset, board->id, JM_SENSOR_CLOCK_SM);
}

bool jm__clock_readings_begin(jm__clock_track *track, const jm__dataset *dataset, const jm_board *board)
{
    *track = (jm__clock_track){0};
    return jm__dataset_readings(&track->readings, &track->count, dataset, jm__clock_sensor(dataset, board),
                                DBL_MIN, INFINITY);
}

/* From reading i to the next. */
static bool jumps(const jm__clock_track *track, size_t i)
{
    return fabs(log(track->readings[i + 1].value / track->readings[i].value)) > jump_size;
}

/* The mean of the readings around reading i, as far as none of them jumps. */
static double smoothed(const jm__clock_track *track, size_t i)
{
    const jm_reading *r = track->readings;
    double sum = r[i].value;
    size_t first = i, last = i;
    while (first > 0 && r[i].t_ns - r[first - 1].t_ns <= context_ns && !jumps(track, first - 1))
        sum += r[--first].value;
    while (last + 1 < track->count && r[last + 1].t_ns - r[i].t_ns <= context_ns && !jumps(track, last))
        sum += r[++last].value;
    return sum / (double)(last + 1 - first);
}

bool jm__clock_track_begin(jm__clock_track *track, const jm__dataset *dataset, const jm_board *board)
{
    double lowest = INFINITY, highest = 0;
    if (!jm__clock_readings_begin(track, dataset, board)) return false;
    for (size_t i = 0; i < track->count; i++) {
        lowest = fmin(lowest, track->readings[i].value);
        highest = fmax(highest, track->readings[i].value);
    }
    if (track->count == 0 || highest < lowest * exp(least_move)) return true;
    track->steps = malloc(track->count * sizeof *track->steps);
    for (size_t i = 0; track->steps != NULL && i < track->count; i++)
        track->steps[i] = 1 + llround(log(smoothed(track, i)) / step_size);
    return track->steps != NULL;
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
    free(track->steps);
    *track = (jm__clock_track){0};
}

int64_t jm__clock_track_step(jm__clock_track *track, int64_t start_ns, int64_t end_ns)
{
    int64_t middle_ns = start_ns + (end_ns - start_ns) / 2;
    const jm_reading *r = track->readings;
    if (track->steps == NULL) return 0;
    while (track->at + 1 < track->count && r[track->at + 1].t_ns <= start_ns)
        track->at++;
    size_t nearest = track->at;
    while (nearest + 1 < track->count && r[nearest + 1].t_ns - middle_ns < middle_ns - r[nearest].t_ns)
        nearest++;
    return track->steps[nearest];
}

bool jm__clock_jumps(const jm__clock_track *track, jm__intervals *out)
{
    for (size_t i = 0; track->steps != NULL && i + 1 < track->count; i++)
        if (jumps(track, i) && !jm__intervals_add(out, track->readings[i].t_ns, track->readings[i + 1].t_ns))
            return false;
    return true;
}

double jm__clock_step_mhz(int64_t step)
{
    return exp((double)(step - 1) * step_size);
}
