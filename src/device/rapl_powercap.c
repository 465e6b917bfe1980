/* RAPL through /sys/class/powercap: Intel's and AMD's domains, packages and DRAM, at any depth. */
#include "device/rapl_powercap.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEPTH_MAX 4
#define PATH_SIZE 256

typedef struct search {
    jm__rapl_domain *domains;
    size_t count, capacity;
    int denied; /* domains that exist and may not be read */
} search;

static bool already_there(const search *found, const char *name)
{
    for (size_t i = 0; i < found->count; i++)
        if (strcmp(found->domains[i].name, name) == 0) return true;
    return false;
}

static uint64_t wrap_read(const char *folder)
{
    char path[PATH_SIZE + 32], line[32];
    snprintf(path, sizeof path, "%s/max_energy_range_uj", folder);
    return jm__rapl_line_read(path, line, sizeof line) ? strtoull(line, NULL, 10) : 0;
}

static void domain_add(search *found, const char *folder, const char *name)
{
    /* A package may show up twice (MSR and MMIO): its joules count once. */
    if (found->count == found->capacity || already_there(found, name)) return;
    jm__rapl_domain *domain = &found->domains[found->count];
    *domain = (jm__rapl_domain){.joule_per_count = 1e-6, .wrap_count = wrap_read(folder)};
    snprintf(domain->name, sizeof domain->name, "%s", name);
    int length = snprintf(domain->path, sizeof domain->path, "%s/energy_uj", folder);
    if (length < 0 || (size_t)length >= sizeof domain->path) return;
    domain->fd = open(domain->path, O_RDONLY | O_CLOEXEC);
    if (domain->fd < 0) {
        found->denied += errno == EACCES || errno == EPERM;
        snprintf(domain->missing, sizeof domain->missing, "%.100s: %.50s", domain->path, strerror(errno));
    }
    found->count++;
}

/* A zone and those inside it. `package` is the text after "package-" of the zone above, "" if none. Core and
 * uncore lie within their package and psys holds everything: counting them would count joules twice. */
static void zone_walk(search *found, const char *folder, const char *package, int depth)
{
    char path[PATH_SIZE + 8], zone[32];
    snprintf(path, sizeof path, "%s/name", folder);
    if (!jm__rapl_line_read(path, zone, sizeof zone)) return;
    char inner[24];
    snprintf(inner, sizeof inner, "%s", package);
    if (strncmp(zone, "package-", 8) == 0) {
        snprintf(inner, sizeof inner, "%.23s", zone + 8);
        domain_add(found, folder, zone);
    } else if (strcmp(zone, "dram") == 0) {
        char name[32];
        snprintf(name, sizeof name, "dram-%s", package[0] == '\0' ? "0" : package);
        domain_add(found, folder, name);
    }
    if (depth == DEPTH_MAX) return;
    struct dirent **entries = NULL;
    int count = scandir(folder, &entries, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        char child[PATH_SIZE];
        int length = snprintf(child, sizeof child, "%s/%s", folder, entries[i]->d_name);
        if (strncmp(entries[i]->d_name, "intel-rapl", 10) == 0 && length > 0 && (size_t)length < sizeof child)
            zone_walk(found, child, inner, depth + 1);
        free(entries[i]);
    }
    free(entries);
}

static void outcome_note(const search *found, const char *top, jm__findings *findings)
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

/* Zones of the first level whose names begin so; the class folder lists inner zones beside them. */
static void top_walk(search *found, const char *top, const char *prefix)
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
            zone_walk(found, zone, "", 0);
        free(entries[i]);
    }
    free(entries);
}

size_t jm__rapl_powercap_find(const char *root, jm__rapl_domain *domains, size_t capacity,
                              jm__findings *findings)
{
    search found = {.domains = domains, .capacity = capacity};
    char top[PATH_SIZE];
    snprintf(top, sizeof top, "%.200s/sys/class/powercap", root);
    top_walk(&found, top, "intel-rapl:");
    top_walk(&found, top, "intel-rapl-"); /* MMIO: only what the MSRs did not give */
    outcome_note(&found, top, findings);
    return found.count;
}
