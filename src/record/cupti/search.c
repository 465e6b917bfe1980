/* The places where a libcupti may be, in order, and whether one is usable. */
#include "record/cupti/search.h"

#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct search {
    jm__cupti_candidates *all;
    const char *where;
} search;

static void add(search *s, const char *path)
{
    if (s->all->count == JM_CUPTI_CANDIDATES_MAX || strlen(path) >= sizeof s->all->items[0].path) return;
    for (size_t i = 0; i < s->all->count; i++)
        if (strcmp(s->all->items[i].path, path) == 0) return;
    jm__cupti_candidate *candidate = &s->all->items[s->all->count++];
    memcpy(candidate->path, path, strlen(path) + 1);
    candidate->where = s->where;
}

/* Newest version first. */
static void add_matches(search *s, int length, const char *folder, const char *below)
{
    glob_t found;
    char pattern[PATH_MAX];
    int written = snprintf(pattern, sizeof pattern, "%.*s/%s", length, folder, below);
    if (written <= 0 || (size_t)written >= sizeof pattern) return;
    if (glob(pattern, 0, NULL, &found) != 0) return;
    for (size_t i = found.gl_pathc; i > 0; i--)
        add(s, found.gl_pathv[i - 1]);
    globfree(&found);
}

/* The packages nvidia-cuda-cupti (13) and nvidia-cuda-cupti-cu12 under a site-packages folder. */
static void add_packages(search *s, int length, const char *site_packages)
{
    add_matches(s, length, site_packages, "nvidia/cu1[3-9]/lib/libcupti.so.1[3-9]");
    add_matches(s, length, site_packages, "nvidia/cuda_cupti/lib/libcupti.so.1[2-9]");
}

static int add_loaded(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    if (strstr(info->dlpi_name, "/libcupti.so") != NULL) add(context, info->dlpi_name);
    return 0;
}

static int add_beside_loaded(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    const char *packages = strstr(info->dlpi_name, "-packages/"); /* site-packages, dist-packages */
    if (packages == NULL) return 0;
    add_packages(context, (int)(packages + strlen("-packages") - info->dlpi_name), info->dlpi_name);
    return 0;
}

/* Adds the packages of all Pythons below a prefix ("/usr"). */
static void add_prefix(search *s, const char *where, int length, const char *prefix)
{
    glob_t found;
    char pattern[PATH_MAX];
    s->where = where;
    snprintf(pattern, sizeof pattern, "%.*s/lib/python3*/*-packages", length, prefix);
    if (glob(pattern, 0, NULL, &found) != 0) return;
    for (size_t i = 0; i < found.gl_pathc; i++)
        add_packages(s, (int)strlen(found.gl_pathv[i]), found.gl_pathv[i]);
    globfree(&found);
}

/* PREFIX/bin/python3.11 -> PREFIX */
static void add_program(search *s, const char *program)
{
    const char *slash = program == NULL ? NULL : strrchr(program, '/');
    if (slash == NULL || slash - program < 4 || strncmp(slash - 4, "/bin", 4) != 0) return;
    add_prefix(s, "the program's Python", (int)(slash - 4 - program), program);
}

static void add_toolkits(search *s)
{
    const struct {
        const char *where, *path;
    } homes[] = {{"CUDA_HOME", getenv("CUDA_HOME")},
                 {"CUDA_PATH", getenv("CUDA_PATH")},
                 {"the CUDA toolkit", "/usr/local/cuda"}};
    for (size_t i = 0; i < sizeof homes / sizeof homes[0]; i++) {
        if (homes[i].path == NULL || homes[i].path[0] == '\0') continue;
        s->where = homes[i].where;
        add_matches(s, INT_MAX, homes[i].path, "extras/CUPTI/lib64/libcupti.so.1[2-9]");
        add_matches(s, INT_MAX, homes[i].path, "lib64/libcupti.so.1[2-9]");
    }
}

void jm__cupti_search(jm__cupti_candidates *all, const char *program, bool past_loaded)
{
    static const char *const sonames[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so"};
    const char *override = getenv("JOULEMAP_CUPTI"), *environment = getenv("VIRTUAL_ENV");
    const char *home = getenv("HOME");
    char user_prefix[PATH_MAX];
    search s = {all, "JOULEMAP_CUPTI"};
    all->count = 0;
    if (override != NULL && override[0] != '\0') {
        add(&s, override);
        return;
    }
    s.where = "already loaded";
    dl_iterate_phdr(add_loaded, &s);
    if (all->count > 0 && !past_loaded) return;
    s.where = "beside what is loaded";
    dl_iterate_phdr(add_beside_loaded, &s);
    if (environment != NULL && environment[0] != '\0') add_prefix(&s, "VIRTUAL_ENV", INT_MAX, environment);
    add_program(&s, program);
    add_toolkits(&s);
    s.where = "the loader's path";
    for (size_t i = 0; i < sizeof sonames / sizeof sonames[0]; i++)
        add(&s, sonames[i]);
    if (home != NULL && home[0] != '\0') {
        snprintf(user_prefix, sizeof user_prefix, "%s/.local", home);
        add_prefix(&s, "the user's Python packages", INT_MAX, user_prefix);
    }
    add_prefix(&s, "the machine's Python packages", INT_MAX, "/usr/local");
    add_prefix(&s, "the machine's Python packages", INT_MAX, "/usr");
}

/* Up to 12.9 the version counts releases (18: 12.1, 28: 12.9.1); since 13.0 it is xxyyzz. */
static bool is_known_version(uint32_t version)
{
    return (version >= 18 && version < 100) || (version >= 130000 && version < 140000);
}

void *jm__cupti_open(const char *path, uint32_t *version, char *reason, size_t reason_size)
{
    static const char *const calls[] = {
#define X(symbol) #symbol,
        JM_CUPTI_MAP(X)
#undef X
    };
    int (*version_get)(uint32_t *) = NULL;
    reason[0] = '\0';
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        const char *error = dlerror();
        if (path[0] == '/')
            snprintf(reason, reason_size, "CUPTI could not be loaded (%s)", error == NULL ? path : error);
        return NULL;
    }
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        void *address = dlsym(library, calls[i]);
        if (address == NULL) {
            snprintf(reason, reason_size, "%s lacks %s", path, calls[i]);
            return NULL;
        }
        if (i == 0) memcpy(&version_get, &address, sizeof address); /* cuptiGetVersion */
    }
    *version = 0;
    if (version_get(version) == 0 && is_known_version(*version)) return library;
    snprintf(reason, reason_size,
             "%s has API version %u, whose records joulemap does not know (CUDA 12 and 13)", path, *version);
    return NULL;
}

/* ---- the Python whose packages are searched */

/* The first python3 on PATH. */
static bool find_on_path(char *found, size_t size)
{
    const char *path = getenv("PATH");
    while (path != NULL && *path != '\0') {
        size_t length = strcspn(path, ":");
        int written = snprintf(found, size, "%.*s/python3", (int)length, path);
        if (length > 0 && written > 0 && (size_t)written < size && access(found, X_OK) == 0) return true;
        path += length + (path[length] == ':');
    }
    return false;
}

const char *jm__cupti_program(char *program, size_t size)
{
    char found[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", program, size - 1);
    program[length > 0 ? length : 0] = '\0';
    const char *slash = strrchr(program, '/');
    if (slash != NULL && strncmp(slash + 1, "python", 6) == 0) return program;
    const char *launcher = getenv("JOULEMAP_PYTHON");
    if (launcher != NULL && launcher[0] != '\0')
        snprintf(found, sizeof found, "%s", launcher);
    else if (!find_on_path(found, sizeof found))
        return NULL;
    return size >= PATH_MAX ? realpath(found, program) : NULL;
}
