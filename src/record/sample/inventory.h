/* The inside of jm_inventory: open back ends, and the profile of each board. */
#ifndef JM_RECORD_SAMPLE_INVENTORY_H
#define JM_RECORD_SAMPLE_INVENTORY_H

#include "base/embedded.h"
#include "record/device/device.h"

#include <joulemap/board.h>

/* Opens the back ends, asks each sensor once for its cost, and joins it with the board's profile. */
jm_status jm__inventory_open(jm_inventory **out, const jm__device_options *options, jm_error *err);

/* Borrowed; for the one thread that reads. */
jm__devices *jm__inventory_devices(const jm_inventory *inventory);

/* The pids of one board, and what they are called: "4711 (python3), 4712". "" if there are none, or if they
 * cannot be told: those that nobody records draw power there too. Pids are the machine's, so in a namespace
 * of its own nobody can say which are the run's: nothing is said there, but of a simulated board. */
void jm__who_else(char *text, size_t size, jm__devices *devices, size_t board);

/* ---- Board profiles: how each sensor of a known board answers to the true power.
 *
 * One data file a board (src/record/sample/profiles/NAME.json). A profile starts from
 * generic.json and replaces whole sensors. Which sensors a board has is not
 * told here but found by asking the board. */

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

/* The profile of this name. NOT_FOUND lists those there are. */
jm_status jm__profile_load(jm__profile *out, const char *name, jm_error *err);

/* The profile whose pattern fits a board's name, "generic" if none does. */
jm_status jm__profile_match(jm__profile *out, const char *board_name, jm_error *err);

/* A sensor by its name ("power_ring") or by its name in a CSV ("power_ring_w"); NULL if unknown. */
const jm_sensor *jm__profile_sensor(const jm__profile *profile, const char *name);

#endif
