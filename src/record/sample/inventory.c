/* Boards and their sensors as one snapshot. */
#include "record/sample/inventory.h"

#include "base/clock.h"
#include "base/status.h"
#include "record/sample/profile.h"
#include "record/timeline/identity.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct inventory_board {
    jm_board row;
    jm_sensor sensors[JM_DEVICE_SENSORS_MAX];
    size_t sensor_count;
} inventory_board;

struct jm_inventory {
    jm__devices *devices;
    inventory_board *boards;
    size_t board_count;
};

/* What the profile knows, under what the device said. */
static void profile_join(const jm__profile *profile, jm_sensor *row)
{
    const jm_sensor *known = jm__profile_sensor(profile, row->name);
    if (known == NULL) return;
    jm_sensor joined = *known;
    memcpy(joined.source, row->source, sizeof joined.source);
    memcpy(joined.missing, row->missing, sizeof joined.missing);
    *row = joined;
}

static void cost_measure(jm__devices *devices, size_t board, size_t sensor, jm_sensor *row,
                         jm__samples *scratch)
{
    int64_t before_ns = jm__now_ns();
    jm_error err;
    if (jm__devices_read(devices, board, sensor, scratch, &err) == JM_OK)
        row->read_cost_ns = jm__now_ns() - before_ns;
    else
        snprintf(row->missing, sizeof row->missing, "%.159s", err.text);
}

static jm_status board_fill(jm_inventory *inventory, size_t number, jm__profile *profile,
                            jm__samples *scratch, jm_error *err)
{
    inventory_board *board = &inventory->boards[number];
    board->row = *jm__devices_board(inventory->devices, number);
    JM_TRY(jm__profile_match(profile, board->row.name, err));
    snprintf(board->row.profile, sizeof board->row.profile, "%s", profile->name);
    board->sensor_count = jm__devices_sensor_count(inventory->devices, number);
    for (size_t i = 0; i < board->sensor_count; i++) {
        board->sensors[i] = jm__devices_sensor(inventory->devices, number, i)->row;
        profile_join(profile, &board->sensors[i]);
        if (board->sensors[i].missing[0] == '\0')
            cost_measure(inventory->devices, number, i, &board->sensors[i], scratch);
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
    if (inventory == NULL || profile == NULL || scratch == NULL) {
        status = jm__no_memory(err, "calloc");
        goto out;
    }
    status = jm__devices_open(&inventory->devices, options, err);
    if (status != JM_OK) goto out;
    inventory->board_count = jm__devices_board_count(inventory->devices);
    inventory->boards = calloc(inventory->board_count + 1, sizeof *inventory->boards);
    if (inventory->boards == NULL) {
        status = jm__no_memory(err, "calloc");
        goto out;
    }
    for (size_t i = 0; i < inventory->board_count && status == JM_OK; i++)
        status = board_fill(inventory, i, profile, scratch, err);
out:
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
    free(inventory->boards);
    free(inventory);
}

jm__devices *jm__inventory_devices(const jm_inventory *inventory)
{
    return inventory->devices;
}

size_t jm_inventory_board_count(const jm_inventory *inventory)
{
    return inventory->board_count;
}

const jm_board *jm_inventory_board(const jm_inventory *inventory, size_t board)
{
    return board < inventory->board_count ? &inventory->boards[board].row : NULL;
}

jm_status jm_inventory_memory(jm_inventory *inventory, size_t board, jm_board_memory *out, jm_error *err)
{
    if (board >= inventory->board_count)
        return jm__fail(err, JM_USAGE, 0, "jm_inventory_memory", "there is no board %zu", board);
    return jm__devices_memory(inventory->devices, board, out, err);
}

size_t jm_inventory_sensor_count(const jm_inventory *inventory, size_t board)
{
    return board < inventory->board_count ? inventory->boards[board].sensor_count : 0;
}

const jm_sensor *jm_inventory_sensor(const jm_inventory *inventory, size_t board, size_t sensor)
{
    if (sensor >= jm_inventory_sensor_count(inventory, board)) return NULL;
    return &inventory->boards[board].sensors[sensor];
}

/* ---- NVML's list of processes as a text */

enum { PIDS_MOST = 64, PIDS_TOLD = 10 };

/* "" if it is gone, or not ours to see. */
static void read_name(char *name, size_t size, int32_t pid)
{
    char path[48];
    snprintf(path, sizeof path, "/proc/%d/comm", pid);
    name[0] = '\0';
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    ssize_t length = read(file, name, size - 1);
    name[length > 0 ? length : 0] = '\0';
    name[strcspn(name, "\n")] = '\0';
    close(file);
}

void jm__who_else(char *text, size_t size, jm__devices *devices, size_t board)
{
    int32_t pids[PIDS_MOST];
    size_t count = 0, used = 0;
    text[0] = '\0';
    if (!jm__devices_board(devices, board)->simulated &&
        !jm__namespace_is_first(jm__namespace_of(JM_SELF, "pid")))
        return;
    if (jm__devices_processes(devices, board, pids, PIDS_MOST, &count, NULL) != JM_OK) return;
    for (size_t i = 0; i < count && i < PIDS_TOLD && used < size; i++) {
        char name[24];
        read_name(name, sizeof name, pids[i]);
        const char *open = name[0] != '\0' ? " (" : "", *close = name[0] != '\0' ? ")" : "";
        int length =
            snprintf(text + used, size - used, "%s%d%s%s%s", i > 0 ? ", " : "", pids[i], open, name, close);
        used += length > 0 ? (size_t)length : 0;
    }
}
