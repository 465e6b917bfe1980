/* The list of back ends, and a single list of their boards. */
#include "record/device/device.h"

#include "base/status.h"
#include "base/vec.h"

#include <stdio.h>
#include <string.h>

static const jm__backend *const backends[] = {
#define X(name, kind) &jm__backend_##name,
    JM_BACKEND_MAP(X)
#undef X
};

static const jm_board_kind kinds[] = {
#define X(name, kind) JM_BOARD_##kind,
    JM_BACKEND_MAP(X)
#undef X
};

#define BACKEND_COUNT (sizeof backends / sizeof backends[0])

typedef struct board_entry {
    jm_board row;
    size_t backend;
    size_t number; /* within its back end */
    jm__device_sensor sensors[JM_DEVICE_SENSORS_MAX];
    size_t sensor_count;
} board_entry;

struct jm__devices {
    void *states[BACKEND_COUNT];
    board_entry *boards;
    size_t board_count;
    jm__findings findings;
};

/* Adds a finding for each missing sensor of a board. */
static void note_missing_sensors(jm__devices *devices, const board_entry *board)
{
    for (size_t i = 0; i < board->sensor_count; i++) {
        const jm_sensor *sensor = &board->sensors[i].row;
        if (sensor->missing[0] == '\0') continue;
        char subject[64];
        snprintf(subject, sizeof subject, "%.4s %d: %.40s",
                 kinds[board->backend] == JM_BOARD_GPU ? "GPU" : "CPU", board->row.index, sensor->name);
        jm__finding_add(&devices->findings, subject, false, "", "%s: %s", sensor->source, sensor->missing);
    }
}

static void add_boards(jm__devices *devices, size_t backend)
{
    const jm__backend *table = backends[backend];
    void *state = devices->states[backend];
    for (size_t number = 0; devices->board_count < JM_DEVICE_BOARDS_MAX; number++) {
        board_entry *board = &devices->boards[devices->board_count];
        board->row = jm__board_blank;
        if (!table->board(state, number, &board->row)) return;
        devices->board_count++;
        board->backend = backend;
        board->number = number;
        snprintf(board->row.backend, sizeof board->row.backend, "%s", table->name);
        board->sensor_count = table->sensors(state, number, board->sensors);
        note_missing_sensors(devices, board);
    }
}

jm_status jm__devices_open(jm__devices **out, const jm__device_options *options, jm_error *err)
{
    *out = NULL;
    jm_status status = JM_OK;
    jm__devices *devices = calloc(1, sizeof *devices);
    if (devices == NULL) return jm__no_memory(err, "calloc");
    devices->boards = calloc(JM_DEVICE_BOARDS_MAX, sizeof *devices->boards);
    if (devices->boards == NULL) status = jm__no_memory(err, "calloc");
    for (size_t i = 0; i < BACKEND_COUNT && status == JM_OK; i++) {
        if (kinds[i] == JM_BOARD_CPU && options->no_cpu) continue;
        status = backends[i]->open(&devices->states[i], options, &devices->findings, err);
        if (status == JM_OK && devices->states[i] != NULL) add_boards(devices, i);
    }
    if (status != JM_OK)
        jm__devices_close(devices);
    else
        *out = devices;
    return status;
}

void jm__devices_close(jm__devices *devices)
{
    if (devices == NULL) return;
    for (size_t i = 0; i < BACKEND_COUNT; i++)
        if (devices->states[i] != NULL) backends[i]->close(devices->states[i]);
    jm__vec_free(&devices->findings);
    free(devices->findings.absent);
    free(devices->boards);
    free(devices);
}

size_t jm__devices_board_count(const jm__devices *devices)
{
    return devices->board_count;
}

jm_board *jm__devices_board(const jm__devices *devices, size_t board)
{
    return board < devices->board_count ? &devices->boards[board].row : NULL;
}

size_t jm__devices_sensor_count(const jm__devices *devices, size_t board)
{
    return board < devices->board_count ? devices->boards[board].sensor_count : 0;
}

jm__device_sensor *jm__devices_sensor(const jm__devices *devices, size_t board, size_t sensor)
{
    if (sensor >= jm__devices_sensor_count(devices, board)) return NULL;
    return &devices->boards[board].sensors[sensor];
}

jm_status jm__devices_read(jm__devices *devices, size_t board, size_t sensor, jm__samples *out, jm_error *err)
{
    const board_entry *entry = &devices->boards[board];
    out->count = 0;
    return backends[entry->backend]->read(devices->states[entry->backend], entry->number, sensor, out, err);
}

jm_status jm__devices_memory(jm__devices *devices, size_t board, jm_board_memory *out, jm_error *err)
{
    const board_entry *entry = &devices->boards[board];
    const jm__backend *backend = backends[entry->backend];
    if (backend->memory == NULL)
        return jm__fail(err, JM_NOT_SUPPORTED, 0, NULL, "%s has no memory of its own", entry->row.name);
    return backend->memory(devices->states[entry->backend], entry->number, out, err);
}

jm_status jm__devices_processes(jm__devices *devices, size_t board, int32_t *pids, size_t capacity,
                                size_t *count, jm_error *err)
{
    const board_entry *entry = &devices->boards[board];
    const jm__backend *backend = backends[entry->backend];
    *count = 0;
    if (backend->processes == NULL)
        return jm__fail(err, JM_NOT_SUPPORTED, 0, NULL, "%s has no processes of its own", entry->row.name);
    return backend->processes(devices->states[entry->backend], entry->number, pids, capacity, count, err);
}

const jm__findings *jm__devices_findings(const jm__devices *devices)
{
    return &devices->findings;
}
