/* A file of two lines: what it depends on, and what it is. */
#include "record/cupti/launch_cost.h"

#include "record/cupti/search.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { KEY_MAX = 2048 };

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

bool jm__launch_cost_of(jm__launch_cost *cost, const int64_t *burst_ns, size_t pairs)
{
    int64_t ns[JM_LAUNCH_COST_PAIRS];
    if (pairs == 0) return false;
    if (pairs > JM_LAUNCH_COST_PAIRS) pairs = JM_LAUNCH_COST_PAIRS;
    for (size_t i = 0; i < pairs; i++)
        ns[i] = burst_ns[2 * i + 1] - burst_ns[2 * i];
    qsort(ns, pairs, sizeof *ns, by_value);
    cost->ns = (ns[(pairs - 1) / 2] + ns[pairs / 2]) / 2;
    cost->low_ns = ns[pairs / 10];
    cost->high_ns = ns[pairs - 1 - pairs / 10];
    if (cost->ns < 0) cost->ns = 0; /* it is nothing that can be seen */
    if (cost->low_ns < 0) cost->low_ns = 0;
    if (cost->high_ns < 0) cost->high_ns = 0;
    return true;
}

/* ---- what it depends on */

/* What stands behind `key` and a colon in the first such line, or the first line for "". */
static void find_line(const char *path, const char *key, char *value, size_t size)
{
    char line[512];
    value[0] = '\0';
    FILE *file = fopen(path, "re");
    if (file == NULL) return;
    while (value[0] == '\0' && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, key, strlen(key)) != 0) continue;
        const char *at = key[0] != '\0' ? strchr(line, ':') : line;
        if (at == NULL) continue;
        if (*at == ':') at++;
        at += strspn(at, " \t");
        snprintf(value, size, "%.*s", (int)strcspn(at, "\n"), at);
    }
    fclose(file);
}

/* The file that would be loaded: the first of the search that is there. */
static void tell_cupti(char *text, size_t size)
{
    char program[PATH_MAX];
    struct stat info;
    jm__cupti_candidates *all = calloc(1, sizeof *all);
    text[0] = '\0';
    if (all == NULL) return;
    jm__cupti_search(all, jm__cupti_program(program, sizeof program), false);
    for (size_t i = 0; i < all->count && text[0] == '\0'; i++)
        if (stat(all->items[i].path, &info) == 0)
            snprintf(text, size, "%lld bytes of %lld", (long long)info.st_size, (long long)info.st_mtime);
    free(all);
}

static void make_key(char *key, size_t size)
{
    char processor[256], driver[256], cupti[64];
    struct utsname system;
    if (uname(&system) != 0) system.nodename[0] = '\0';
    find_line("/proc/cpuinfo", "model name", processor, sizeof processor);
    find_line("/proc/driver/nvidia/version", "", driver, sizeof driver);
    tell_cupti(cupti, sizeof cupti);
    snprintf(key, size, "joulemap %s, %.64s, %s, %s, CUPTI %s", JOULEMAP_VERSION, system.nodename, processor,
             driver, cupti);
}

/* ---- where it is kept */

static bool find_path(char *path, size_t size)
{
    const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    bool absolute = data != NULL && data[0] == '/';
    if (!absolute && (home == NULL || home[0] != '/')) return false;
    int length = absolute ? snprintf(path, size, "%s/joulemap/launch-cost", data)
                          : snprintf(path, size, "%s/.local/share/joulemap/launch-cost", home);
    return length > 0 && (size_t)length < size;
}

static bool make_folders(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        bool made = mkdir(path, 0777) == 0 || errno == EEXIST;
        *slash = '/';
        if (!made) return false;
    }
    return true;
}

bool jm__launch_cost_read(jm__launch_cost *cost)
{
    char path[PATH_MAX], key[KEY_MAX], line[KEY_MAX + 2];
    if (!find_path(path, sizeof path)) return false;
    FILE *file = fopen(path, "re");
    if (file == NULL) return false;
    make_key(key, sizeof key);
    bool fine = fgets(line, sizeof line, file) != NULL;
    line[strcspn(line, "\n")] = '\0';
    fine = fine && strcmp(line, key) == 0 && fgets(line, sizeof line, file) != NULL &&
           sscanf(line, "%" SCNd64 " %" SCNd64 " %" SCNd64, &cost->ns, &cost->low_ns, &cost->high_ns) == 3;
    fclose(file);
    return fine;
}

/* Another process may read it meanwhile: it has the old one or the new one. */
void jm__launch_cost_keep(const jm__launch_cost *cost)
{
    static const jm__launch_cost none = {-1, -1, -1};
    char path[PATH_MAX - 32], new_path[PATH_MAX], key[KEY_MAX];
    if (cost == NULL) cost = &none;
    if (!find_path(path, sizeof path) || !make_folders(path)) return;
    snprintf(new_path, sizeof new_path, "%s.%d", path, (int)getpid());
    FILE *file = fopen(new_path, "we");
    if (file == NULL) return;
    make_key(key, sizeof key);
    bool fine = fprintf(file, "%s\n%" PRId64 " %" PRId64 " %" PRId64 "\n", key, cost->ns, cost->low_ns,
                        cost->high_ns) > 0;
    fine = fclose(file) == 0 && fine;
    if (!fine || rename(new_path, path) != 0) unlink(new_path);
}
