/* The energy of a board over the windows, measured without any fit: what the parts are held against. */
#ifndef JM_ATTRIBUTE_FIT_TOTAL_H
#define JM_ATTRIBUTE_FIT_TOTAL_H

#include "attribute/fit/power_series.h"
#include "attribute/input/window.h"

typedef struct jm__total {
    const char *source; /* "energy_counter", "power_ring", ...; NULL: nothing is known */
    double energy_j;
    double u_j;      /* standard uncertainty, relative to the board's own sensors */
    double unseen_j; /* part of energy_j from stretches that no sensor saw: interpolated */
    double apart_j;  /* the counter says so much more than the power sensors; 0: they agree */
} jm__total;

/* What the integral of a power sensor alone is worth, relative: docs/accuracy.md. */
#define JM_POWER_RELATIVE_U 0.005

/* The sensors a total comes from. */
typedef struct jm__total_sensors {
    const jm_sensor *counter; /* NULL: none */
    const jm_reading *counts; /* sorted by time, cleaned (counts.h) */
    size_t count_count;
    const jm__power_series *powers; /* the best first */
    size_t power_count;
} jm__total_sensors;

/* The counter between its readings inside each window, the power sensors for the rest; what they did not see
 * is shared out of the counter's step over it. */
jm__total jm__total_measure(const jm__total_sensors *sensors, const jm__windows *windows);

#endif
