/* The table of sensor roles, asked by name and by role. */
#include "format/rows/sensor_role.h"

#include <string.h>

static const struct {
    const char *name;
    jm_quantity quantity;
    int rank;
    bool stamps_late;
} roles[JM_SENSOR_ROLE_COUNT] = {[JM_SENSOR_OTHER] = {"", JM_QUANTITY_COUNT, JM_RANK_OTHER, JM_STAMPS_EXACT},
#define X(role, name, quantity, rank, stamps)                                                                \
    [JM_SENSOR_##role] = {name, JM_QUANTITY_##quantity, JM_RANK_##rank, JM_STAMPS_##stamps},
                                 JM_SENSOR_MAP(X)
#undef X
};

jm__sensor_role jm__sensor_role_of(const char *name)
{
    for (int role = JM_SENSOR_OTHER + 1; role < JM_SENSOR_ROLE_COUNT; role++)
        if (strcmp(roles[role].name, name) == 0) return (jm__sensor_role)role;
    return JM_SENSOR_OTHER;
}

const char *jm__sensor_name(jm__sensor_role role)
{
    return roles[role].name;
}

jm_quantity jm__sensor_quantity(jm__sensor_role role)
{
    return roles[role].quantity;
}

bool jm__sensor_is(const jm_sensor *sensor, jm__sensor_role role)
{
    return jm__sensor_role_of(sensor->name) == role;
}

bool jm__sensor_stamps_late(const jm_sensor *sensor)
{
    return roles[jm__sensor_role_of(sensor->name)].stamps_late;
}

int jm__sensor_rank(const jm_sensor *sensor)
{
    if (sensor->quantity != JM_QUANTITY_POWER || sensor->response == JM_RESPONSE_COUNTER) return JM_RANK_NONE;
    return roles[jm__sensor_role_of(sensor->name)].rank;
}

bool jm__sensor_is_counter(const jm_sensor *sensor)
{
    return sensor->response == JM_RESPONSE_COUNTER && sensor->quantity == JM_QUANTITY_ENERGY;
}
