/* RAPL through perf events: power/energy-pkg/ and power/energy-ram/, one counter a package. */
#include "device/rapl_perf.h"

#include "base/plain.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef struct perf_source {
    const char *root;
    char folder[224]; /* .../event_source/devices/power */
    uint32_t type;
    jm__rapl_domain *domains;
    size_t count, capacity;
    int denied;
} perf_source;

static bool number_read(const char *path, uint64_t *out)
{
    char line[64];
    if (!jm__rapl_line_read(path, line, sizeof line)) return false;
    char *end;
    *out = strtoull(line, &end, 10);
    return end != line;
}

/* "event=0x02" or "event=0x02,umask=0x00": the config of the event in the PMU's own layout. */
static bool event_read(const perf_source *source, const char *event, uint64_t *config, double *scale)
{
    char path[288], line[128];
    snprintf(path, sizeof path, "%s/events/%s", source->folder, event);
    if (!jm__rapl_line_read(path, line, sizeof line)) return false;
    const char *value = strstr(line, "event=");
    if (value == NULL) return false;
    *config = strtoull(value + strlen("event="), NULL, 16);
    snprintf(path, sizeof path, "%s/events/%s.scale", source->folder, event);
    if (!jm__rapl_line_read(path, line, sizeof line)) return false;
    *scale = jm__real_of(line, NULL);
    return *scale > 0;
}

static void counter_add(perf_source *source, const char *domain, const char *event, uint64_t config,
                        double scale, int cpu)
{
    if (source->count == source->capacity) return;
    char path[288];
    uint64_t package = 0;
    snprintf(path, sizeof path, "%.180s/sys/devices/system/cpu/cpu%d/topology/physical_package_id",
             source->root, cpu);
    if (!number_read(path, &package)) package = source->count;
    jm__rapl_domain *out = &source->domains[source->count++];
    *out = (jm__rapl_domain){.binary = true, .joule_per_count = scale};
    snprintf(out->name, sizeof out->name, "%s-%" PRIu64, domain, package);
    snprintf(out->path, sizeof out->path, "perf_event_open(power/%s/, cpu %d)", event, cpu);
    struct perf_event_attr attributes = {.type = source->type, .size = sizeof attributes, .config = config};
    out->fd = (int)syscall(SYS_perf_event_open, &attributes, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
    if (out->fd >= 0) return;
    source->denied += errno == EACCES || errno == EPERM;
    snprintf(out->missing, sizeof out->missing, "%.100s: %.50s", out->path, strerror(errno));
}

/* The kernel names one CPU a package in cpumask: "0,32" or "0-1". */
static void domain_add(perf_source *source, const char *domain, const char *event, const char *cpus)
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

static void outcome_note(const perf_source *source, jm__findings *findings)
{
    const char *subject = "RAPL (perf events)";
    size_t open_count = 0;
    for (size_t i = 0; i < source->count; i++)
        open_count += source->domains[i].fd >= 0;
    if (source->denied > 0) {
        jm__finding_add(
            findings, subject, false,
            "sudo sysctl kernel.perf_event_paranoid=0, or sudo setcap cap_perfmon+ep on the program",
            "%d of %zu counters: no permission for system-wide events", source->denied, source->count);
    } else if (open_count < source->count || source->count == 0) {
        jm__finding_add(findings, subject, false, "", "%s",
                        source->count == 0 ? "the power PMU has no energy events"
                                           : source->domains[0].missing);
    } else {
        jm__finding_add(findings, subject, true, "", "%zu counters of %.180s", source->count, source->folder);
    }
}

size_t jm__rapl_perf_find(const char *root, jm__rapl_domain *domains, size_t capacity, jm__findings *findings)
{
    perf_source source = {.root = root, .domains = domains, .capacity = capacity};
    char path[288], cpus[256];
    uint64_t type = 0;
    snprintf(source.folder, sizeof source.folder, "%.180s/sys/bus/event_source/devices/power", root);
    snprintf(path, sizeof path, "%s/type", source.folder);
    if (!number_read(path, &type)) {
        jm__finding_add(findings, "RAPL (perf events)", false,
                        "sudo modprobe rapl; most virtual machines have no RAPL at all", "no %.200s",
                        source.folder);
        return 0;
    }
    source.type = (uint32_t)type;
    snprintf(path, sizeof path, "%s/cpumask", source.folder);
    if (!jm__rapl_line_read(path, cpus, sizeof cpus)) snprintf(cpus, sizeof cpus, "0");
    domain_add(&source, "package", "energy-pkg", cpus);
    domain_add(&source, "dram", "energy-ram", cpus);
    outcome_note(&source, findings);
    return source.count;
}
