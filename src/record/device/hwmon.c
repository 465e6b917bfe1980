/* The hwmon back end: ACPI power meters (acpi_power_meter), as NVIDIA Grace has them. Each socket is a board.
 * A module contains sockets and GPUs, and is a board upstream of them. */
#include "base/clock.h"
#include "base/status.h"
#include "format/rows/rows.h"
#include "record/device/device.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { METERS_MAX = 32 };

/* What a meter measures, by its label "Grace Power Socket 0". A socket contains its rails. */
typedef enum part { PART_SOCKET, PART_RAIL, PART_MODULE } part;

typedef struct meter {
    char label[JM_BOARD_TEXT];
    char path[256]; /* of the mean power in microwatts */
    char missing[160];
    int fd; /* -1 if it cannot be read */
    part part;
    int32_t socket;
    int64_t window_ns; /* of the mean */
} meter;

typedef struct hwmon_state {
    meter meters[METERS_MAX];
    size_t count;
} hwmon_state;

/* Parses the label; false if it is none of Grace's. */
static bool parse_label(meter *m)
{
    static const struct {
        const char *form;
        part part;
    } forms[] = {
        {"Grace Power Socket %d", PART_SOCKET},
        {"CPU Power Socket %d", PART_RAIL},
        {"SysIO Power Socket %d", PART_RAIL},
        {"Module Power Socket %d", PART_MODULE},
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        m->part = forms[i].part;
        size_t length = strcspn(forms[i].form, "%");
        if (strncmp(m->label, forms[i].form, length) == 0) {
            char *end;
            m->socket = (int32_t)strtol(m->label + length, &end, 10);
            return end != m->label + length;
        }
    }
    return false;
}

/* Adds the meter of a folder: hwmonN itself, or before Linux 6.15 its device folder. */
static void add_meter(hwmon_state *state, const char *folder, int *denied)
{
    char path[256], line[JM_BOARD_TEXT];
    meter *m = &state->meters[state->count];
    *m = (meter){.fd = -1, .window_ns = JM_NS_PER_S};
    if (!jm__device_read_line(m->label, sizeof m->label, "%s/power1_oem_info", folder) || !parse_label(m))
        return;
    if (jm__device_read_line(line, sizeof line, "%s/power1_average_interval", folder) &&
        strtol(line, NULL, 10) > 0)
        m->window_ns = strtol(line, NULL, 10) * JM_NS_PER_MS;
    snprintf(path, sizeof path, "%.220s/power1_average", folder);
    memcpy(m->path, path, sizeof path);
    m->fd = open(path, O_RDONLY | O_CLOEXEC);
    *denied += m->fd < 0;
    if (m->fd < 0) snprintf(m->missing, sizeof m->missing, "%.100s: %.50s", path, strerror(errno));
    state->count++;
}

static void find_meters(hwmon_state *state, const char *top, int *denied)
{
    struct dirent **entries = NULL;
    int count = scandir(top, &entries, NULL, versionsort);
    for (int i = 0; i < count; i++) {
        static const char *const places[] = {"", "/device"};
        size_t before = state->count;
        bool is_power_meter = false;
        for (size_t k = 0; k < 2; k++) {
            char name[32];
            is_power_meter = is_power_meter || (jm__device_read_line(name, sizeof name, "%s/%s%s/name", top,
                                                                     entries[i]->d_name, places[k]) &&
                                                strcmp(name, "power_meter") == 0);
        }
        for (size_t k = 0; k < 2 && is_power_meter && state->count == before && before < METERS_MAX; k++) {
            char folder[256];
            snprintf(folder, sizeof folder, "%.120s/%.60s%s", top, entries[i]->d_name, places[k]);
            add_meter(state, folder, denied);
        }
        free(entries[i]);
    }
    free(entries);
}

/* Drops rails whose socket has a meter, which measures their energy as well. */
static void drop_rails(hwmon_state *state)
{
    size_t kept = 0;
    for (size_t i = 0; i < state->count; i++) {
        const meter *m = &state->meters[i];
        bool has_socket = false;
        for (size_t k = 0; k < state->count && m->part == PART_RAIL; k++)
            has_socket =
                has_socket || (state->meters[k].part == PART_SOCKET && state->meters[k].socket == m->socket);
        if (has_socket && m->fd >= 0) close(m->fd);
        if (!has_socket) state->meters[kept++] = *m;
    }
    state->count = kept;
}

static jm_status hwmon_open(void **out, const jm__device_options *options, jm__findings *findings,
                            jm_error *err)
{
    static const char subject[] = "Grace (hwmon)";
    char top[256];
    int denied = 0;
    hwmon_state *state = calloc(1, sizeof *state);
    if (state == NULL) return jm__no_memory(err, "calloc");
    snprintf(top, sizeof top, "%.200s/sys/class/hwmon", options->sys_root == NULL ? "" : options->sys_root);
    find_meters(state, top, &denied);
    if (denied > 0)
        jm__finding_add(findings, subject, false,
                        "sudo chmod a+r /sys/class/hwmon/hwmon*/device/power1_average (until the next boot)",
                        "%d of %zu meters: %.150s", denied, state->count, "power1_average cannot be read");
    else if (state->count > 0) /* only Grace has such meters: elsewhere nothing is missing */
        jm__finding_add(findings, subject, true, "", "%zu meters in %.180s", state->count, top);
    drop_rails(state);
    *out = state;
    return JM_OK;
}

static bool hwmon_board(void *context, size_t number, jm_board *row)
{
    const hwmon_state *state = context;
    const meter *m = &state->meters[number];
    if (number >= state->count) return false;
    row->upstream = m->part == PART_MODULE;
    row->index = row->upstream ? -1 : m->socket; /* meters have no index */
    snprintf(row->name, sizeof row->name, "%s", m->label);
    return true;
}

/* NVIDIA states no accuracy: 5 % is assumed. The mean is updated once per window. */
static size_t hwmon_sensors(void *context, size_t number, jm__device_sensor *sensors)
{
    const meter *m = &((const hwmon_state *)context)->meters[number];
    sensors[0] = (jm__device_sensor){.row = {.name = "power_meter",
                                             .quantity = JM_QUANTITY_POWER,
                                             .response = JM_RESPONSE_BOX,
                                             .period_ns = m->window_ns,
                                             .window_ns = m->window_ns,
                                             .lag_u_ns = m->window_ns / 2,
                                             .noise = 0.5,
                                             .gain_u = 0.05}};
    snprintf(sensors[0].row.source, sizeof sensors[0].row.source, "%.95s", m->path);
    snprintf(sensors[0].row.missing, sizeof sensors[0].row.missing, "%s", m->missing);
    return 1;
}

static jm_status hwmon_read(void *context, size_t number, size_t sensor, jm__samples *out, jm_error *err)
{
    (void)sensor;
    const meter *m = &((const hwmon_state *)context)->meters[number];
    char text[32], *end = text;
    int64_t before_ns = jm__now_ns();
    errno = 0;
    ssize_t length = m->fd < 0 ? -1 : pread(m->fd, text, sizeof text - 1, 0);
    text[length > 0 ? length : 0] = '\0';
    double microwatts = (double)strtoll(text, &end, 10);
    if (end == text)
        return jm__fail(err, JM_IO, errno, "read", "%s: %s: %s", m->label, m->path,
                        errno == 0 ? "not a number" : strerror(errno));
    out->items[0].value = 1e-6 * microwatts;
    out->items[0].t_ns = before_ns + (jm__now_ns() - before_ns) / 2;
    out->count = 1;
    return JM_OK;
}

static void hwmon_close(void *context)
{
    hwmon_state *state = context;
    for (size_t i = 0; i < state->count; i++)
        if (state->meters[i].fd >= 0) close(state->meters[i].fd);
    free(state);
}

const jm__backend jm__backend_hwmon = {.name = "hwmon",
                                       .open = hwmon_open,
                                       .board = hwmon_board,
                                       .sensors = hwmon_sensors,
                                       .read = hwmon_read,
                                       .close = hwmon_close};
