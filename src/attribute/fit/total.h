/* A board's energy without any fit: its counter's readings, what its power sensors saw, and the total of
 * both. */
#ifndef JM_ATTRIBUTE_FIT_TOTAL_H
#define JM_ATTRIBUTE_FIT_TOTAL_H

#include "attribute/input/window.h"
#include <joulemap/board.h>

/* Takes out, in place, what is no step of the counter: a value that repeats the one before (the counter had
 * not moved yet, or stood still), and a value that no energy leads to and the next one ignores. Returns how
 * many are left. `readings`: sorted by time. */
size_t jm__counts_clean(jm_reading *readings, size_t count);

/* What the power sensors of a board saw: of each moment, the best sensor that has readings around it. */

enum { JM_POWER_SERIES_MAX = 4 }; /* ring, instant, average and one of another maker */

/* Readings of one power sensor, sorted by time. */
typedef struct jm__power_series {
    const jm_sensor *sensor;
    const jm_reading *readings;
    size_t count;
} jm__power_series;

/* Time that one sensor saw, or none. */
typedef struct jm__power_piece {
    int64_t from_ns, to_ns;
    const jm__power_series *by; /* NULL: no sensor saw it */
} jm__power_piece;

/* The next piece of the time up to `to_ns`, after that which ends at piece->to_ns; false: there is none.
 * `series`: the best first. */
bool jm__power_next(jm__power_piece *piece, const jm__power_series *series, size_t count, int64_t to_ns);

/* Where a sensor tells none, the longest that boards were seen with. */
int64_t jm__power_period_ns(const jm_sensor *sensor);

/* Mean delay of a sensor: what it says at t was true this much earlier. */
int64_t jm__power_delay_ns(const jm_sensor *sensor);

/* For so long the first and the last reading stand beyond themselves: until the next should have come, and
 * what is still on its way. */
int64_t jm__power_beyond_ns(const jm_sensor *sensor);

/* Joules of [from, to]: linear between readings, constant before the first and after the last. */
double jm__power_energy_j(const jm__power_series *series, int64_t from_ns, int64_t to_ns);

/* Standard deviation of what it says of [from, to]; 0: fewer than two readings. */
double jm__power_spread_w(const jm__power_series *series, int64_t from_ns, int64_t to_ns);

/* J^2: a sensor that looks for only a part of its period may have missed what lies between. */
double jm__power_missed_variance(const jm__power_series *series, int64_t from_ns, int64_t to_ns);

/* How many readings speak of [from, to]. */
size_t jm__power_readings(const jm__power_series *series, int64_t from_ns, int64_t to_ns);

/* The one with a reading nearest to [from, to]; NULL: no sensor has any. */
const jm__power_series *jm__power_nearest(const jm__power_series *series, size_t count, int64_t from_ns,
                                          int64_t to_ns);

/* The energy of a board over the windows, measured without any fit: what the parts are held against. */

typedef struct jm__total {
    const char *source; /* "energy_counter", "power_ring", ...; NULL: nothing is known */
    double energy_j;
    double u_j;      /* standard uncertainty, relative to the board's own sensors */
    double unseen_j; /* part of energy_j from intervals that no sensor saw: interpolated */
    double apart_j;  /* the counter says so much more than the power sensors; 0: they agree */
} jm__total;

/* What the integral of a power sensor alone is worth, relative: docs/accuracy.md. */
#define JM_POWER_RELATIVE_U 0.005

/* How far a kind of work is from the mean power, relative: kinds of kernels spread around the mean busy power
 * by 25 to 30 % (shared/attribution.md; on an H200, from 417 to 940 W around 690). */
#define JM_KINDS_RELATIVE_U 0.3

/* The readings of a board, as totals and fits take them. Not to be moved: a series may be of `learnt`. */
typedef struct jm__board_readings {
    const jm_sensor *sensor;  /* of the fit; NULL: none */
    const jm_sensor *counter; /* NULL: none */
    jm_reading *counts;       /* sorted by time, cleaned */
    size_t count_count;
    jm__power_series powers[JM_POWER_SERIES_MAX]; /* of its power sensors, the best first */
    size_t power_count;
    jm_reading *room;                                     /* of all its series and of the counter */
    size_t refused;                                       /* readings that no board can draw, left out */
    const jm_sensor *refused_of[JM_POWER_SERIES_MAX + 1]; /* whose; ends with NULL */
    jm_sensor learnt;                                     /* that one of `powers` whose response was learnt */
} jm__board_readings;

/* The counter between its readings inside each window, the power sensors for the rest; what they did not see
 * is shared out of the counter's step over it. */
jm__total jm__total_measure(const jm__board_readings *readings, const jm__intervals *windows);

#endif
