/* Internals of jm_inventory: open back ends and board profiles. */
#ifndef JM_RECORD_SAMPLE_INVENTORY_H
#define JM_RECORD_SAMPLE_INVENTORY_H

#include "base/embedded.h"
#include "record/device/device.h"

#include <joulemap/board.h>

/* Opens the back ends, reads each sensor once to measure its cost, and joins it with the board's profile. */
jm_status jm__inventory_open(jm_inventory **out, const jm__device_options *options, jm_error *err);

/* Borrowed; for one thread that reads. */
jm__devices *jm__inventory_devices(const jm_inventory *inventory);

/* The processes on one board: "4711 (python3), 4712"; "" if there are none or they are unknown. They draw
 * power even if they are not recorded. Pids are the machine's, so inside a pid namespace the text is "",
 * except for simulated boards. */
void jm__board_users(char *text, size_t size, jm__devices *devices, size_t board);

/* ---- Board profiles: the response of each sensor of a known board to the true power.
 *
 * One data file per board (src/record/sample/profiles/NAME.json). A profile starts from generic.json and
 * replaces whole sensors. Which sensors exist is found by reading the board. */

#define JM_PROFILE_SENSORS_MAX 24
#define JM_PROFILE_ALIASES_MAX 3
#define JM_PROFILE_MATCHES_MAX 8

typedef struct jm__profile {
    char name[32];             /* "h200" */
    char title[JM_BOARD_TEXT]; /* "NVIDIA H200" */
    char matches[JM_PROFILE_MATCHES_MAX][48];
    size_t match_count;
    jm_sensor sensors[JM_PROFILE_SENSORS_MAX]; /* without ids, source and cost */
    char aliases[JM_PROFILE_SENSORS_MAX][JM_PROFILE_ALIASES_MAX][40];
    size_t sensor_count;
} jm__profile;

extern const jm__embedded jm__profile_table[]; /* src/record/sample/profiles */

/* The profile of this name. The error NOT_FOUND lists the profiles. */
jm_status jm__profile_load(jm__profile *out, const char *name, jm_error *err);

/* The profile with a pattern that matches a board's name, else "generic". */
jm_status jm__profile_match(jm__profile *out, const char *board_name, jm_error *err);

/* A sensor by its name ("power_ring") or its alias in a CSV file ("power_ring_w"); NULL if unknown. */
const jm_sensor *jm__profile_sensor(const jm__profile *profile, const char *name);

#endif
