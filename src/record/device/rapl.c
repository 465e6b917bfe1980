/* The RAPL back end: each energy counter of a CPU package or its DRAM (Intel and AMD) is a board, read by
 * powercap if permitted, else by perf. */
#include "base/clock.h"
#include "base/plain.h"
#include "base/status.h"
#include "format/rows/rows.h"
#include "record/device/device.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DOMAINS_MAX 32

/* A domain of powercap or perf. */
typedef struct rapl_domain {
    char name[32];          /* "package-0", "dram-0" */
    char path[256];         /* of the counter */
    char missing[160];      /* why it cannot be read, "" if it can */
    int fd;                 /* -1 if it cannot be read */
    bool binary;            /* read(2) returns a uint64 (perf), else decimal text (powercap) */
    double joule_per_count; /* unit of the raw counter */
    uint64_t wrap_count;    /* the raw counter restarts at 0 after this value; 0: never */
    uint64_t last_count;
    uint64_t wrapped_count; /* counts before the last restart */
    bool read_before;
} rapl_domain;

typedef struct rapl_domains {
    rapl_domain items[DOMAINS_MAX];
    size_t count;
    int denied; /* domains that may not be read */
} rapl_domains;

static bool raw_read(const rapl_domain *domain, uint64_t *count)
{
    if (domain->binary) return read(domain->fd, count, sizeof *count) == (ssize_t)sizeof *count;
    char text[32];
    ssize_t length = pread(domain->fd, text, sizeof text - 1, 0);
    if (length <= 0) return false;
    text[length] = '\0';
    char *end;
    *count = strtoull(text, &end, 10);
    return end != text && errno == 0;
}

/* Joules since an unknown start; does not fall when the raw counter wraps. */
static jm_status domain_read(rapl_domain *domain, double *energy_j, jm_error *err)
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

/* ---- /sys/class/powercap: packages and DRAM, at any depth */

#define DEPTH_MAX 4
#define PATH_SIZE 256

/* The index of the domain of this name, or their number. */
static size_t find_domain(const rapl_domains *found, const char *name)
{
    size_t at = 0;
    while (at < found->count && strcmp(found->items[at].name, name) != 0)
        at++;
    return at;
}

static void add_domain_of_zone(rapl_domains *found, const char *folder, const char *name)
{
    char wrap[32];
    /* A package may appear twice (MSR and MMIO) and must be counted once. */
    if (found->count == DOMAINS_MAX || find_domain(found, name) < found->count) return;
    rapl_domain domain = {.joule_per_count = 1e-6};
    if (jm__device_read_line(wrap, sizeof wrap, "%s/max_energy_range_uj", folder))
        domain.wrap_count = strtoull(wrap, NULL, 10);
    snprintf(domain.name, sizeof domain.name, "%s", name);
    int length = snprintf(domain.path, sizeof domain.path, "%s/energy_uj", folder);
    if (length < 0 || (size_t)length >= sizeof domain.path) return;
    domain.fd = open(domain.path, O_RDONLY | O_CLOEXEC);
    if (domain.fd < 0) {
        found->denied += errno == EACCES || errno == EPERM;
        snprintf(domain.missing, sizeof domain.missing, "%.100s: %.50s", domain.path, strerror(errno));
    }
    found->items[found->count++] = domain;
}

/* Walks a zone and its inner zones. `package` is the text after "package-" of the outer zone, "" if none.
 * Core and uncore are parts of their package and psys contains everything: counting them would count energy
 * twice. */
static void walk_zone(rapl_domains *found, const char *folder, const char *package, int depth)
{
    char zone[32], inner[24];
    if (!jm__device_read_line(zone, sizeof zone, "%s/name", folder)) return;
    snprintf(inner, sizeof inner, "%s", package);
    if (strncmp(zone, "package-", 8) == 0) {
        snprintf(inner, sizeof inner, "%.23s", zone + 8);
        add_domain_of_zone(found, folder, zone);
    } else if (strcmp(zone, "dram") == 0) {
        char name[32];
        snprintf(name, sizeof name, "dram-%s", package[0] == '\0' ? "0" : package);
        add_domain_of_zone(found, folder, name);
    }
    if (depth == DEPTH_MAX) return;
    struct dirent **entries = NULL;
    int count = scandir(folder, &entries, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        char child[PATH_SIZE];
        int length = snprintf(child, sizeof child, "%s/%s", folder, entries[i]->d_name);
        if (strncmp(entries[i]->d_name, "intel-rapl", 10) == 0 && length > 0 && (size_t)length < sizeof child)
            walk_zone(found, child, inner, depth + 1);
        free(entries[i]);
    }
    free(entries);
}

static void note_powercap(const rapl_domains *found, const char *top, jm__findings *findings)
{
    const char *subject = "RAPL (powercap)";
    if (found->count == 0) {
        jm__finding_add(findings, subject, false,
                        "sudo modprobe intel_rapl_msr; most virtual machines have no RAPL at all",
                        "no package or DRAM domain in %.180s", top);
    } else if (found->denied > 0) {
        jm__finding_add(findings, subject, false,
                        "sudo chmod a+r /sys/class/powercap/intel-rapl:*/energy_uj "
                        "/sys/class/powercap/intel-rapl:*/intel-rapl:*/energy_uj (until the next boot)",
                        "%d of %zu domains: no permission to read energy_uj (root only since Linux 5.10)",
                        found->denied, found->count);
    } else {
        jm__finding_add(findings, subject, true, "", "%zu domains in %.180s", found->count, top);
    }
}

/* Walks the top-level zones with this prefix; the class folder also lists inner zones. */
static void walk_top_zones(rapl_domains *found, const char *top, const char *prefix)
{
    struct dirent **entries = NULL;
    int count = scandir(top, &entries, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        char zone[PATH_SIZE];
        const char *name = entries[i]->d_name;
        int length = snprintf(zone, sizeof zone, "%s/%s", top, name);
        const char *colon = strchr(name, ':');
        bool first_level = colon != NULL && strchr(colon + 1, ':') == NULL;
        if (strncmp(name, prefix, strlen(prefix)) == 0 && first_level && length > 0 &&
            (size_t)length < sizeof zone)
            walk_zone(found, zone, "", 0);
        free(entries[i]);
    }
    free(entries);
}

/* Finds the domains below `root` ("" for the real one), opens those that may be read, and adds findings. */
static void powercap_find(const char *root, rapl_domains *found, jm__findings *findings)
{
    char top[PATH_SIZE];
    snprintf(top, sizeof top, "%.200s/sys/class/powercap", root);
    walk_top_zones(found, top, "intel-rapl:");
    walk_top_zones(found, top, "intel-rapl-"); /* MMIO, for domains without MSRs */
    note_powercap(found, top, findings);
}

/* ---- perf events: power/energy-pkg/ and power/energy-ram/, one counter per package */

typedef struct perf_source {
    const char *root;
    char folder[224]; /* .../event_source/devices/power */
    uint32_t type;
    rapl_domains *found;
} perf_source;

static bool is_number(const char *line, uint64_t *out)
{
    char *end;
    *out = strtoull(line, &end, 10);
    return end != line;
}

/* Reads the config of an event, "event=0x02" or "event=0x02,umask=0x00". */
static bool event_read(const perf_source *source, const char *event, uint64_t *config, double *scale)
{
    char line[128];
    if (!jm__device_read_line(line, sizeof line, "%s/events/%s", source->folder, event)) return false;
    const char *value = strstr(line, "event=");
    if (value == NULL) return false;
    *config = strtoull(value + strlen("event="), NULL, 16);
    if (!jm__device_read_line(line, sizeof line, "%s/events/%s.scale", source->folder, event)) return false;
    *scale = jm__real_of(line, NULL);
    return *scale > 0;
}

static void counter_add(const perf_source *source, const char *domain, const char *event, uint64_t config,
                        double scale, int cpu)
{
    rapl_domains *found = source->found;
    if (found->count == DOMAINS_MAX) return;
    char line[64];
    uint64_t package;
    if (!jm__device_read_line(line, sizeof line,
                              "%s/sys/devices/system/cpu/cpu%d/topology/physical_package_id", source->root,
                              cpu) ||
        !is_number(line, &package))
        package = found->count;
    rapl_domain out = {.binary = true, .joule_per_count = scale};
    snprintf(out.name, sizeof out.name, "%s-%" PRIu64, domain, package);
    snprintf(out.path, sizeof out.path, "perf_event_open(power/%s/, cpu %d)", event, cpu);
    struct perf_event_attr attributes = {.type = source->type, .size = sizeof attributes, .config = config};
    out.fd = (int)syscall(SYS_perf_event_open, &attributes, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
    if (out.fd < 0) {
        found->denied += errno == EACCES || errno == EPERM;
        snprintf(out.missing, sizeof out.missing, "%.100s: %.50s", out.path, strerror(errno));
    }
    found->items[found->count++] = out;
}

/* cpumask has one CPU per package: "0,32" or "0-1". */
static void add_domain_of_event(const perf_source *source, const char *domain, const char *event,
                                const char *cpus)
{
    uint64_t config;
    double scale;
    if (!event_read(source, event, &config, &scale)) return;
    for (const char *text = cpus; *text != '\0';) {
        char *end;
        long first = strtol(text, &end, 10), last = first;
        if (end == text) return;
        if (*end == '-') last = strtol(end + 1, &end, 10);
        for (long cpu = first; cpu <= last && cpu < 65536; cpu++)
            counter_add(source, domain, event, config, scale, (int)cpu);
        text = *end == ',' ? end + 1 : "";
    }
}

static void note_perf(const perf_source *source, jm__findings *findings)
{
    const char *subject = "RAPL (perf events)";
    const rapl_domains *found = source->found;
    size_t open_count = 0;
    for (size_t i = 0; i < found->count; i++)
        open_count += found->items[i].fd >= 0;
    if (found->denied > 0) {
        jm__finding_add(
            findings, subject, false,
            "sudo sysctl kernel.perf_event_paranoid=0, or sudo setcap cap_perfmon+ep on the program",
            "%d of %zu counters: no permission for system-wide events", found->denied, found->count);
    } else if (open_count < found->count || found->count == 0) {
        jm__finding_add(findings, subject, false, "", "%s",
                        found->count == 0 ? "the power PMU has no energy events" : found->items[0].missing);
    } else {
        jm__finding_add(findings, subject, true, "", "%zu counters of %.180s", found->count, source->folder);
    }
}

/* The same for perf. */
static void perf_find(const char *root, rapl_domains *found, jm__findings *findings)
{
    perf_source source = {.root = root, .found = found};
    char line[64], cpus[256];
    uint64_t type;
    snprintf(source.folder, sizeof source.folder, "%.180s/sys/bus/event_source/devices/power", root);
    if (!jm__device_read_line(line, sizeof line, "%s/type", source.folder) || !is_number(line, &type)) {
        jm__finding_add(findings, "RAPL (perf events)", false,
                        "sudo modprobe rapl; most virtual machines have no RAPL at all", "no %.200s",
                        source.folder);
        return;
    }
    source.type = (uint32_t)type;
    if (!jm__device_read_line(cpus, sizeof cpus, "%s/cpumask", source.folder))
        snprintf(cpus, sizeof cpus, "0");
    add_domain_of_event(&source, "package", "energy-pkg", cpus);
    add_domain_of_event(&source, "dram", "energy-ram", cpus);
    note_perf(&source, findings);
}

/* ---- the back end */

/* Uses perf for domains that powercap lacks or may not read. */
static void perf_merge(rapl_domains *domains, const rapl_domains *perf)
{
    for (size_t i = 0; i < perf->count; i++) {
        size_t slot = find_domain(domains, perf->items[i].name);
        bool is_new = slot == domains->count, is_open = perf->items[i].fd >= 0;
        bool use_perf = is_new ? slot < DOMAINS_MAX : domains->items[slot].fd < 0 && is_open;
        if (!use_perf) {
            if (is_open) close(perf->items[i].fd);
            continue;
        }
        domains->items[slot] = perf->items[i];
        domains->count += is_new;
    }
}

static jm_status rapl_open(void **out, const jm__device_options *options, jm__findings *findings,
                           jm_error *err)
{
    rapl_domains *domains = calloc(1, sizeof *domains), *perf = calloc(1, sizeof *perf);
    if (domains == NULL || perf == NULL) {
        free(domains);
        free(perf);
        return jm__no_memory(err, "calloc");
    }
    const char *root = options->sys_root == NULL ? "" : options->sys_root;
    powercap_find(root, domains, findings);
    perf_find(root, perf, findings);
    perf_merge(domains, perf);
    free(perf);
    *out = domains;
    return JM_OK;
}

static bool rapl_board(void *context, size_t number, jm_board *row)
{
    const rapl_domains *domains = context;
    if (number >= domains->count) return false;
    snprintf(row->name, sizeof row->name, "%s", domains->items[number].name);
    const char *dash = strchr(row->name, '-'); /* "package-1" and "dram-1" belong to socket 1 */
    row->index = dash == NULL ? -1 : (int32_t)strtol(dash + 1, NULL, 10);
    return true;
}

static size_t rapl_sensors(void *context, size_t number, jm__device_sensor *sensors)
{
    const rapl_domain *domain = &((const rapl_domains *)context)->items[number];
    jm__device_sensor_init(&sensors[0], JM_SENSOR_ENERGY_COUNTER, domain->path);
    snprintf(sensors[0].row.missing, sizeof sensors[0].row.missing, "%s", domain->missing);
    return 1;
}

static jm_status rapl_read(void *context, size_t number, size_t sensor, jm__samples *out, jm_error *err)
{
    (void)sensor;
    rapl_domains *domains = context;
    int64_t before_ns = jm__now_ns();
    JM_TRY(domain_read(&domains->items[number], &out->items[0].value, err));
    out->items[0].t_ns = before_ns + (jm__now_ns() - before_ns) / 2;
    out->count = 1;
    return JM_OK;
}

static void rapl_close(void *context)
{
    rapl_domains *domains = context;
    for (size_t i = 0; i < domains->count; i++)
        if (domains->items[i].fd >= 0) close(domains->items[i].fd);
    free(domains);
}

const jm__backend jm__backend_rapl = {.name = "rapl",
                                      .open = rapl_open,
                                      .board = rapl_board,
                                      .sensors = rapl_sensors,
                                      .read = rapl_read,
                                      .close = rapl_close};
