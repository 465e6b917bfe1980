/* What each sensor that joulemap knows is for: one line a sensor.
 *
 * A sensor is told by its name, in a recording as in a profile. A new one is a line here, a reading function
 * in src/record/device and its response in src/record/sample/profiles. A name that is not here (a recording
 * of another maker) is OTHER, and is read by its quantity and response alone. */
#ifndef JM_FORMAT_ROWS_SENSOR_ROLE_H
#define JM_FORMAT_ROWS_SENSOR_ROLE_H

#include <joulemap/board.h>

/* Rank: which power sensor of a board the power is learnt from, the highest first; 0: none. The ring sees all
 * of the time, the instant channel some of it, the average smears a second. */
enum { JM_RANK_NONE = 0, JM_RANK_AVERAGE = 1, JM_RANK_OTHER = 2, JM_RANK_INSTANT = 3, JM_RANK_RING = 4 };

/* Stamps: a ring of power puts a late stamp on some of its samples; its grid tells which
 * (attribute/input/ring_grid.h). */
#define JM_STAMPS_LATE  true
#define JM_STAMPS_EXACT false

/* Role, name, quantity, rank, stamps */
#define JM_SENSOR_MAP(X)                                                                                     \
    X(POWER_RING, "power_ring", POWER, RING, LATE)                                                           \
    X(POWER_INSTANT, "power_instant", POWER, INSTANT, EXACT)                                                 \
    X(POWER_AVERAGE, "power_average", POWER, AVERAGE, EXACT)                                                 \
    X(POWER_MEAN, "power_mean", POWER, OTHER, EXACT) /* of what was condensed (format/condense.h) */         \
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

/* Of the known roles: "" and JM_QUANTITY_COUNT for OTHER. */
const char *jm__sensor_name(jm__sensor_role role);
jm_quantity jm__sensor_quantity(jm__sensor_role role);

bool jm__sensor_is(const jm_sensor *sensor, jm__sensor_role role);
bool jm__sensor_stamps_late(const jm_sensor *sensor);

/* How good a source of power it is, 0: none. What is called by another name counts by its quantity. */
int jm__sensor_rank(const jm_sensor *sensor);

/* It counts the energy of its board. */
bool jm__sensor_is_counter(const jm_sensor *sensor);

#endif
