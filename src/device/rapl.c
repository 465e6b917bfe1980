/* The RAPL back end: each domain as a board, by powercap where that may be read, else by perf. */
#include "device/rapl.h"

#include "base/clock.h"
#include "base/status.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct rapl_state {
    jm__rapl_domain domains[JM_RAPL_DOMAINS_MAX];
    size_t count;
} rapl_state;

bool jm__rapl_line_read(const char *path, char *line, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    ssize_t length = read(fd, line, size - 1);
    close(fd);
    if (length <= 0) return false;
    line[length] = '\0';
    line[strcspn(line, "\n")] = '\0';
    return true;
}

static bool raw_read(const jm__rapl_domain *domain, uint64_t *count)
{
    if (domain->binary) return read(domain->fd, count, sizeof *count) == (ssize_t)sizeof *count;
    char text[32];
    ssize_t length = pread(domain->fd, text, sizeof text - 1, 0);
    if (length <= 0) return false;
    text[length] = '\0';
    char *end;
    errno = 0;
    *count = strtoull(text, &end, 10);
    return end != text && errno == 0;
}

jm_status jm__rapl_domain_read(jm__rapl_domain *domain, double *energy_j, jm_error *err)
{
    uint64_t count = 0;
    if (domain->fd < 0)
        return jm__fail(err, JM_NO_PERMISSION, 0, "open", "%s: %s", domain->name, domain->missing);
    errno = 0;
    if (!raw_read(domain, &count))
        return jm__fail(err, JM_IO, errno, "read", "%s: %s: %s", domain->name, domain->path,
                        errno == 0 ? "not a number" : strerror(errno));
    if (domain->read_before && count < domain->last_count) domain->wrapped_count += domain->wrap_count;
    domain->last_count = count;
    domain->read_before = true;
    *energy_j = domain->joule_per_count * ((double)domain->wrapped_count + (double)count);
    return JM_OK;
}

/* Take perf's counter for a domain that powercap lacks or may not read. */
static void perf_merge(rapl_state *state, jm__rapl_domain *perf, size_t perf_count)
{
    for (size_t i = 0; i < perf_count; i++) {
        size_t slot = 0;
        while (slot < state->count && strcmp(state->domains[slot].name, perf[i].name) != 0)
            slot++;
        bool is_new = slot == state->count;
        bool wanted = is_new ? slot < JM_RAPL_DOMAINS_MAX : state->domains[slot].fd < 0 && perf[i].fd >= 0;
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
    jm__rapl_domain *perf = calloc(JM_RAPL_DOMAINS_MAX, sizeof *perf);
    if (state == NULL || perf == NULL) {
        free(state);
        free(perf);
        return jm__no_memory(err, "calloc");
    }
    const char *root = options->sys_root == NULL ? "" : options->sys_root;
    state->count = jm__rapl_powercap_find(root, state->domains, JM_RAPL_DOMAINS_MAX, findings);
    perf_merge(state, perf, jm__rapl_perf_find(root, perf, JM_RAPL_DOMAINS_MAX, findings));
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
        *board = (jm_board){.cuda_index = -1, .index = socket_of(state->domains[i].name)};
        board->power_limit_w = board->power_limit_min_w = board->power_limit_max_w = NAN;
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

const jm__backend jm__backend_rapl = {"rapl", rapl_open, rapl_boards, rapl_sensors, rapl_read, rapl_close};
