/* The RAPL back end: each domain as a board, by powercap where that may be read, else by perf. */
#include "base/clock.h"
#include "base/status.h"
#include "device/rapl_perf.h"
#include "device/rapl_powercap.h"
#include "rows/rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DOMAINS_MAX 32

typedef struct rapl_state {
    jm__rapl_domain domains[DOMAINS_MAX];
    size_t count;
} rapl_state;

/* Take perf's counter for a domain that powercap lacks or may not read. */
static void perf_merge(rapl_state *state, jm__rapl_domain *perf, size_t perf_count)
{
    for (size_t i = 0; i < perf_count; i++) {
        size_t slot = 0;
        while (slot < state->count && strcmp(state->domains[slot].name, perf[i].name) != 0)
            slot++;
        bool is_new = slot == state->count;
        bool wanted = is_new ? slot < DOMAINS_MAX : state->domains[slot].fd < 0 && perf[i].fd >= 0;
        if (!wanted) {
            if (perf[i].fd >= 0) close(perf[i].fd);
            continue;
        }
        state->domains[slot] = perf[i];
        state->count += is_new;
    }
}

static jm_status rapl_open(void **out, const jm__device_options *options, jm__findings *findings,
                           jm_error *err)
{
    rapl_state *state = calloc(1, sizeof *state);
    jm__rapl_domain *perf = calloc(DOMAINS_MAX, sizeof *perf);
    if (state == NULL || perf == NULL) {
        free(state);
        free(perf);
        return jm__no_memory(err, "calloc");
    }
    const char *root = options->sys_root == NULL ? "" : options->sys_root;
    state->count = jm__rapl_powercap_find(root, state->domains, DOMAINS_MAX, findings);
    perf_merge(state, perf, jm__rapl_perf_find(root, perf, DOMAINS_MAX, findings));
    free(perf);
    *out = state;
    return JM_OK;
}

/* "package-1" and "dram-1" are of socket 1. */
static int32_t socket_of(const char *name)
{
    const char *dash = strchr(name, '-');
    return dash == NULL ? -1 : (int32_t)strtol(dash + 1, NULL, 10);
}

static size_t rapl_boards(void *context, jm_board *boards, size_t capacity)
{
    const rapl_state *state = context;
    size_t count = state->count < capacity ? state->count : capacity;
    for (size_t i = 0; i < count; i++) {
        jm_board *board = &boards[i];
        *board = jm__board_blank;
        board->index = socket_of(state->domains[i].name);
        snprintf(board->name, sizeof board->name, "%s", state->domains[i].name);
    }
    return count;
}

static size_t rapl_sensors(void *context, size_t number, jm__device_sensor *sensors, size_t capacity)
{
    const rapl_state *state = context;
    const jm__rapl_domain *domain = &state->domains[number];
    if (capacity == 0) return 0;
    jm__device_sensor_init(&sensors[0], JM_SENSOR_ENERGY_COUNTER, domain->path);
    snprintf(sensors[0].row.missing, sizeof sensors[0].row.missing, "%s", domain->missing);
    return 1;
}

static jm_status rapl_read(void *context, size_t number, size_t sensor, jm__samples *out, jm_error *err)
{
    (void)sensor;
    rapl_state *state = context;
    int64_t before_ns = jm__now_ns();
    JM_TRY(jm__rapl_domain_read(&state->domains[number], &out->items[0].value, err));
    out->items[0].t_ns = before_ns + (jm__now_ns() - before_ns) / 2;
    out->count = 1;
    return JM_OK;
}

static void rapl_close(void *context)
{
    rapl_state *state = context;
    for (size_t i = 0; i < state->count; i++)
        if (state->domains[i].fd >= 0) close(state->domains[i].fd);
    free(state);
}

const jm__backend jm__backend_rapl = {"rapl",    rapl_open, rapl_boards, rapl_sensors,
                                      rapl_read, NULL,      rapl_close,  NULL};
