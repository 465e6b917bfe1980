/* The role of each sensor that joulemap records: one line per sensor.
 *
 * A sensor is identified by its name, in a recording as in a profile. A new one is a line here, a reading
 * function in src/record/device and its response in src/record/sample/profiles. Other names (in recordings of
 * other programs) are OTHER, and only their quantity and response are used. */
#ifndef JM_FORMAT_ROWS_SENSOR_ROLE_H
#define JM_FORMAT_ROWS_SENSOR_ROLE_H

#include <joulemap/board.h>

/* Rank: power is fitted to the sensor of a board with the highest rank; 0: to none. The ring covers all of
 * the time, the instant channel a part of it; the average smears over a second. */
enum { JM_RANK_NONE = 0, JM_RANK_AVERAGE = 1, JM_RANK_OTHER = 2, JM_RANK_INSTANT = 3, JM_RANK_RING = 4 };

/* Stamps: the power ring stamps some of its samples late; attribute/input/ring_grid.h finds out which. */
#define JM_STAMPS_LATE  true
#define JM_STAMPS_EXACT false

/* Role, name, quantity, rank, stamps */
#define JM_SENSOR_MAP(X)                                                                                     \
    X(POWER_RING, "power_ring", POWER, RING, LATE)                                                           \
    X(POWER_INSTANT, "power_instant", POWER, INSTANT, EXACT)                                                 \
    X(POWER_AVERAGE, "power_average", POWER, AVERAGE, EXACT)                                                 \
    X(POWER_MEAN, "power_mean", POWER, OTHER, EXACT) /* of condensed parts (format/condense.h) */            \
    X(MEMORY_POWER, "memory_power", MEMORY_POWER, NONE, EXACT)                                               \
    X(ENERGY_COUNTER, "energy_counter", ENERGY, NONE, EXACT)                                                 \
    X(UTIL_GPU, "gpu_utilisation", UTIL_GPU, NONE, EXACT)                                                    \
    X(UTIL_MEMORY, "memory_utilisation", UTIL_MEMORY, NONE, EXACT)                                           \
    X(TEMPERATURE, "temperature", TEMPERATURE, NONE, EXACT)                                                  \
    X(CLOCK_SM, "clock_sm", CLOCK_SM, NONE, EXACT)                                                           \
    X(CLOCK_MEMORY, "clock_memory", CLOCK_MEMORY, NONE, EXACT)                                               \
    X(THROTTLE, "throttle_reasons", THROTTLE, NONE, EXACT)                                                   \
    X(POWER_LIMIT, "power_limit", POWER_LIMIT, NONE, EXACT)

typedef enum jm__sensor_role {
    JM_SENSOR_OTHER,
#define X(role, name, quantity, rank, stamps) JM_SENSOR_##role,
    JM_SENSOR_MAP(X)
#undef X
        JM_SENSOR_ROLE_COUNT
} jm__sensor_role;

jm__sensor_role jm__sensor_role_of(const char *name);

/* "" and JM_QUANTITY_COUNT for OTHER. */
const char *jm__sensor_name(jm__sensor_role role);
jm_quantity jm__sensor_quantity(jm__sensor_role role);

bool jm__sensor_is(const jm_sensor *sensor, jm__sensor_role role);
bool jm__sensor_stamps_late(const jm_sensor *sensor);

/* The rank as a source of power, 0: none. Sensors with other names are ranked by their quantity. */
int jm__sensor_rank(const jm_sensor *sensor);

/* Is it an energy counter? */
bool jm__sensor_is_counter(const jm_sensor *sensor);

#endif
