/* A snapshot of the boards and their sensors; board profiles from their embedded JSON. */
#include "record/sample/inventory.h"

#include "base/clock.h"
#include "base/json_value.h"
#include "base/status.h"
#include "format/rows/sensor_role.h"
#include "record/timeline/identity.h"

#include <fnmatch.h>
#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- board profiles */

static bool find_response(const char *text, jm_response *out)
{
    for (int response = 0; response < JM_RESPONSE_COUNT; response++) {
        if (strcmp(text, jm_response_text((jm_response)response)) != 0) continue;
        *out = (jm_response)response;
        return true;
    }
    return false;
}

/* Reads one key of a sensor; false if the key or its value is invalid. */
static bool sensor_key_read(const char *key, const json_t *value, jm_sensor *sensor, char (*aliases)[40])
{
    if (strcmp(key, "aliases") == 0) {
        if (!json_is_array(value) || json_array_size(value) > JM_PROFILE_ALIASES_MAX) return false;
        for (size_t i = 0; i < json_array_size(value); i++)
            if (!jm__json_copy_text(aliases[i], sizeof aliases[i], json_array_get(value, i))) return false;
        return true;
    }
    if (strcmp(key, "response") == 0)
        return json_is_string(value) && find_response(json_string_value(value), &sensor->response);
    if (!json_is_number(value) || json_number_value(value) < 0) return false;
    double number = json_number_value(value);
    const struct {
        const char *key;
        int64_t *slot;
    } times[] = {
        {"period_ms", &sensor->period_ns},  {"lag_ms", &sensor->lag_ns},
        {"lag_u_ms", &sensor->lag_u_ns},    {"window_ms", &sensor->window_ns},
        {"window_u_ms", &sensor->tau_u_ns}, {"tau_ms", &sensor->tau_ns},
        {"tau_u_ms", &sensor->tau_u_ns},
    };
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        if (strcmp(key, times[i].key) != 0) continue;
        *times[i].slot = llround(number * (double)JM_NS_PER_MS);
        return true;
    }
    if (strcmp(key, "noise") == 0)
        sensor->noise = number;
    else if (strcmp(key, "gain_u") == 0)
        sensor->gain_u = number;
    else
        return false;
    return true;
}

/* The index of a sensor with this name, or a new one; -1 if the profile is full. */
static int sensor_slot(jm__profile *profile, const char *name)
{
    for (size_t i = 0; i < profile->sensor_count; i++)
        if (strcmp(profile->sensors[i].name, name) == 0) return (int)i;
    if (profile->sensor_count == JM_PROFILE_SENSORS_MAX) return -1;
    return (int)profile->sensor_count++;
}

static jm_status sensors_read(jm__profile *profile, json_t *sensors, jm_error *err)
{
    const char *name, *key;
    json_t *entry, *value;
    json_object_foreach(sensors, name, entry)
    {
        jm__sensor_role role = jm__sensor_role_of(name);
        int slot = sensor_slot(profile, name);
        if (slot < 0 || role == JM_SENSOR_OTHER || !json_is_object(entry))
            return jm__fail(err, JM_BAD_DATA, 0, "", "board profile %s: bad sensor %s", profile->name, name);
        jm_sensor sensor = {.quantity = jm__sensor_quantity(role)};
        snprintf(sensor.name, sizeof sensor.name, "%s", name);
        json_object_foreach(entry, key, value)
        {
            if (!sensor_key_read(key, value, &sensor, profile->aliases[slot]))
                return jm__fail(err, JM_BAD_DATA, 0, "", "board profile %s: sensor %s: bad key or value: %s",
                                profile->name, name, key);
        }
        profile->sensors[slot] = sensor;
    }
    return JM_OK;
}

static jm_status matches_read(jm__profile *profile, const json_t *matches, jm_error *err)
{
    profile->match_count = 0;
    if (!json_is_array(matches) || json_array_size(matches) > JM_PROFILE_MATCHES_MAX)
        return jm__fail(err, JM_BAD_DATA, 0, "", "board profile %s: bad \"match\"", profile->name);
    for (size_t i = 0; i < json_array_size(matches); i++) {
        if (!jm__json_copy_text(profile->matches[i], sizeof profile->matches[i], json_array_get(matches, i)))
            return jm__fail(err, JM_BAD_DATA, 0, "", "board profile %s: bad \"match\"", profile->name);
        profile->match_count++;
    }
    return JM_OK;
}

/* Overrides the profile with the content of one file. */
static jm_status profile_overlay(jm__profile *profile, const jm__embedded *data, jm_error *err)
{
    json_error_t json_err;
    json_t *root = json_loadb(data->text, data->length, JSON_REJECT_DUPLICATES, &json_err);
    if (root == NULL)
        return jm__fail(err, JM_BAD_DATA, 0, "json_loadb", "board profile %s: line %d: %s", data->name,
                        json_err.line, json_err.text);
    snprintf(profile->name, sizeof profile->name, "%s", data->name);
    jm_status status = JM_OK;
    if (!jm__json_copy_text(profile->title, sizeof profile->title, json_object_get(root, "title")))
        status = jm__fail(err, JM_BAD_DATA, 0, "", "board profile %s: no title", data->name);
    if (status == JM_OK) status = matches_read(profile, json_object_get(root, "match"), err);
    if (status == JM_OK) status = sensors_read(profile, json_object_get(root, "sensors"), err);
    json_decref(root);
    return status;
}

static const jm__embedded *find_data(const char *name)
{
    for (const jm__embedded *data = jm__profile_table; data->name != NULL; data++)
        if (strcmp(data->name, name) == 0) return data;
    return NULL;
}

/* Lists the profiles: "h200, h100, ...". */
static void write_names(char *text, size_t size)
{
    size_t length = 0;
    if (size > 0) text[0] = '\0';
    for (const jm__embedded *data = jm__profile_table; data->name != NULL && length < size; data++)
        length += (size_t)snprintf(text + length, size - length, "%s%s", length == 0 ? "" : ", ", data->name);
}

jm_status jm__profile_load(jm__profile *out, const char *name, jm_error *err)
{
    *out = (jm__profile){0};
    const jm__embedded *data = find_data(name);
    const jm__embedded *generic = find_data("generic");
    if (data == NULL) {
        char names[256];
        write_names(names, sizeof names);
        return jm__fail(err, JM_NOT_FOUND, 0, "", "no board profile is called \"%s\"; there are: %s", name,
                        names);
    }
    if (data != generic) JM_TRY(profile_overlay(out, generic, err));
    return profile_overlay(out, data, err);
}

jm_status jm__profile_match(jm__profile *out, const char *board_name, jm_error *err)
{
    for (const jm__embedded *data = jm__profile_table; data->name != NULL; data++) {
        JM_TRY(jm__profile_load(out, data->name, err));
        for (size_t i = 0; i < out->match_count; i++)
            if (fnmatch(out->matches[i], board_name, FNM_CASEFOLD) == 0) return JM_OK;
    }
    return jm__profile_load(out, "generic", err);
}

const jm_sensor *jm__profile_sensor(const jm__profile *profile, const char *name)
{
    for (size_t i = 0; i < profile->sensor_count; i++) {
        if (strcmp(profile->sensors[i].name, name) == 0) return &profile->sensors[i];
        for (size_t alias = 0; alias < JM_PROFILE_ALIASES_MAX; alias++)
            if (profile->aliases[i][alias][0] != '\0' && strcmp(profile->aliases[i][alias], name) == 0)
                return &profile->sensors[i];
    }
    return NULL;
}

/* ---- the snapshot */

struct jm_inventory {
    jm__devices *devices;
};

/* Fills a row with the profile's values; the device's own values stay. */
static void join_profile(const jm__profile *profile, jm_sensor *row)
{
    const jm_sensor *profile_sensor = jm__profile_sensor(profile, row->name);
    if (profile_sensor == NULL) return;
    jm_sensor joined = *profile_sensor;
    memcpy(joined.source, row->source, sizeof joined.source);
    memcpy(joined.missing, row->missing, sizeof joined.missing);
    *row = joined;
}

static void measure_cost(jm__devices *devices, size_t board, size_t sensor, jm_sensor *row,
                         jm__samples *scratch)
{
    int64_t before_ns = jm__now_ns();
    jm_error err;
    if (jm__devices_read(devices, board, sensor, scratch, &err) == JM_OK)
        row->read_cost_ns = jm__now_ns() - before_ns;
    else
        snprintf(row->missing, sizeof row->missing, "%.159s", err.text);
}

static jm_status fill_board(jm__devices *devices, size_t number, jm__profile *profile, jm__samples *scratch,
                            jm_error *err)
{
    jm_board *board = jm__devices_board(devices, number);
    JM_TRY(jm__profile_match(profile, board->name, err));
    snprintf(board->profile, sizeof board->profile, "%s", profile->name);
    for (size_t i = 0; i < jm__devices_sensor_count(devices, number); i++) {
        jm_sensor *sensor = &jm__devices_sensor(devices, number, i)->row;
        join_profile(profile, sensor);
        if (sensor->missing[0] == '\0') measure_cost(devices, number, i, sensor, scratch);
    }
    return JM_OK;
}

jm_status jm__inventory_open(jm_inventory **out, const jm__device_options *options, jm_error *err)
{
    *out = NULL;
    jm_status status = JM_OK;
    jm_inventory *inventory = calloc(1, sizeof *inventory);
    jm__profile *profile = calloc(1, sizeof *profile);
    jm__samples *scratch = calloc(1, sizeof *scratch);
    if (inventory == NULL || profile == NULL || scratch == NULL)
        status = jm__no_memory(err, "calloc");
    else
        status = jm__devices_open(&inventory->devices, options, err);
    for (size_t i = 0; status == JM_OK && i < jm_inventory_board_count(inventory); i++)
        status = fill_board(inventory->devices, i, profile, scratch, err);
    free(profile);
    free(scratch);
    if (status == JM_OK)
        *out = inventory;
    else
        jm_inventory_free(inventory);
    return status;
}

jm_status jm_inventory_create(jm_inventory **out, const char *sim, jm_error *err)
{
    jm__device_options options = {.sim = sim};
    return jm__inventory_open(out, &options, err);
}

void jm_inventory_free(jm_inventory *inventory)
{
    if (inventory == NULL) return;
    jm__devices_close(inventory->devices);
    free(inventory);
}

jm__devices *jm__inventory_devices(const jm_inventory *inventory)
{
    return inventory->devices;
}

size_t jm_inventory_board_count(const jm_inventory *inventory)
{
    return jm__devices_board_count(inventory->devices);
}

const jm_board *jm_inventory_board(const jm_inventory *inventory, size_t board)
{
    return jm__devices_board(inventory->devices, board);
}

jm_status jm_inventory_memory(jm_inventory *inventory, size_t board, jm_board_memory *out, jm_error *err)
{
    if (board >= jm_inventory_board_count(inventory))
        return jm__fail(err, JM_USAGE, 0, "jm_inventory_memory", "there is no board %zu", board);
    return jm__devices_memory(inventory->devices, board, out, err);
}

/* The slot of a sensor's value; NULL: the state has none. */
static double *state_slot(jm_board_state *state, const jm__device_sensor *sensor)
{
    switch (sensor->row.quantity) {
    case JM_QUANTITY_POWER:
        return &state->power_w;
    case JM_QUANTITY_ENERGY:
        return &state->energy_j;
    case JM_QUANTITY_UTIL_GPU:
        return &state->utilisation_percent;
    case JM_QUANTITY_TEMPERATURE:
        return &state->temperature_c;
    case JM_QUANTITY_CLOCK_SM:
        return &state->clock_mhz;
    case JM_QUANTITY_POWER_LIMIT:
        return &state->power_limit_w;
    default:
        return NULL;
    }
}

/* Read each sensor of one value; of several of a quantity the first that works. */
static void read_state(jm__devices *devices, size_t board, jm_board_state *out, jm__samples *scratch)
{
    jm_error err;
    for (size_t i = 0; i < jm__devices_sensor_count(devices, board); i++) {
        const jm__device_sensor *sensor = jm__devices_sensor(devices, board, i);
        double *slot = state_slot(out, sensor);
        bool ring = sensor->buffered && slot == &out->power_w; /* the instant channel is cheaper */
        if (slot == NULL || !isnan(*slot) || sensor->row.missing[0] != '\0' || ring) continue;
        jm_status status = jm__devices_read(devices, board, i, scratch, &err);
        if (status == JM_OK && scratch->count > 0) *slot = scratch->items[scratch->count - 1].value;
        out->lost = out->lost || status == JM_DEVICE_LOST;
        if (status != JM_OK && slot == &out->power_w)
            snprintf(out->problem, sizeof out->problem, "%.159s", err.text);
    }
    if (!isnan(out->power_w)) out->problem[0] = '\0';
}

jm_status jm_inventory_state(jm_inventory *inventory, size_t board, jm_board_state *out, jm_error *err)
{
    if (board >= jm_inventory_board_count(inventory))
        return jm__fail(err, JM_USAGE, 0, "jm_inventory_state", "there is no board %zu", board);
    jm__samples *scratch = calloc(1, sizeof *scratch);
    if (scratch == NULL) return jm__no_memory(err, "jm_inventory_state");
    *out = (jm_board_state){NAN, NAN, NAN, NAN, NAN, NAN, false, "", {0}, 0};
    read_state(inventory->devices, board, out, scratch);
    if (!out->lost && jm__devices_processes(inventory->devices, board, out->pids, JM_BOARD_PROCESSES,
                                            &out->process_count, NULL) != JM_OK)
        out->process_count = 0;
    free(scratch);
    return JM_OK;
}

size_t jm_inventory_sensor_count(const jm_inventory *inventory, size_t board)
{
    return jm__devices_sensor_count(inventory->devices, board);
}

const jm_sensor *jm_inventory_sensor(const jm_inventory *inventory, size_t board, size_t sensor)
{
    const jm__device_sensor *found = jm__devices_sensor(inventory->devices, board, sensor);
    return found == NULL ? NULL : &found->row;
}

/* ---- NVML's list of processes as text */

enum { PIDS_MAX = 64, PIDS_SHOWN = 10 };

void jm__board_users(char *text, size_t size, jm__devices *devices, size_t board)
{
    int32_t pids[PIDS_MAX];
    size_t count = 0, used = 0;
    text[0] = '\0';
    if (!jm__devices_board(devices, board)->simulated &&
        !jm__namespace_is_first(jm__namespace_of(JM_SELF, "pid")))
        return;
    if (jm__devices_processes(devices, board, pids, PIDS_MAX, &count, NULL) != JM_OK) return;
    for (size_t i = 0; i < count && i < PIDS_SHOWN && used < size; i++) {
        char name[24] = ""; /* the process may be gone or not visible */
        (void)jm__device_read_line(name, sizeof name, "/proc/%d/comm", pids[i]);
        const char *open = name[0] != '\0' ? " (" : "", *close = name[0] != '\0' ? ")" : "";
        int length =
            snprintf(text + used, size - used, "%s%d%s%s%s", i > 0 ? ", " : "", pids[i], open, name, close);
        used += length > 0 ? (size_t)length : 0;
    }
}
