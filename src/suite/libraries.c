/* Looking for them: names, folders, patterns. */
#include "suite/libraries.h"

#include <glob.h>
#include <libgen.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value != NULL && value[0] != '\0' ? value : NULL;
}

/* The folder of a program's file, links followed; false: it cannot be told. */
static bool folder_of(const char *program, char *folder, size_t size)
{
    char path[PATH_MAX];
    if (realpath(program, path) == NULL) return false;
    return (size_t)snprintf(folder, size, "%s", dirname(path)) < size;
}

/* A library of the simulated board: sim/ lies beside this program, or one folder up (tests). */
static bool find_simulated(char *path, size_t size, const char *name)
{
    char folder[SUITE_PATH];
    if (!folder_of("/proc/self/exe", folder, sizeof folder)) return false;
    snprintf(path, size, "%s/sim/%s", folder, name);
    if (access(path, R_OK) == 0) return true;
    snprintf(path, size, "%s/../sim/%s", folder, name);
    return access(path, R_OK) == 0;
}

void suite_libcuda_path(char *path, size_t size, bool simulated)
{
    const char *given = variable("JOULEMAP_CUDA");
    if (given == NULL && simulated && find_simulated(path, size, "libcuda.so.1")) return;
    snprintf(path, size, "%s", given != NULL ? given : "libcuda.so.1");
}

static void add(suite_paths *paths, const char *path)
{
    if (paths->count < SUITE_NVRTC_MAX) snprintf(paths->items[paths->count++], SUITE_PATH, "%s", path);
}

/* All files of a pattern that is made of the format. */
static void add_all(suite_paths *paths, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add_all(suite_paths *paths, const char *format, ...)
{
    char pattern[SUITE_PATH];
    glob_t found;
    va_list args;
    va_start(args, format);
    int length = vsnprintf(pattern, sizeof pattern, format, args);
    va_end(args);
    if (length < 0 || (size_t)length >= sizeof pattern || glob(pattern, 0, NULL, &found) != 0) return;
    for (size_t i = 0; i < found.gl_pathc; i++)
        add(paths, found.gl_pathv[i]);
    globfree(&found);
}

/* libnvrtc.so.13 and the like; not libnvrtc-builtins.so.13.0, which it loads itself. */
#define NVRTC "libnvrtc.so.1[1-9]*"

static void add_packages(suite_paths *paths, const char *site_packages)
{
    add_all(paths, "%s/nvidia/cu1[3-9]/lib/" NVRTC, site_packages);
    add_all(paths, "%s/nvidia/cuda_nvrtc/lib/" NVRTC, site_packages);
}

/* Those of an environment or a prefix. */
static void add_environment(suite_paths *paths, const char *prefix)
{
    char site_packages[SUITE_PATH];
    if ((size_t)snprintf(site_packages, sizeof site_packages, "%s/lib/python3*/site-packages", prefix) <
        sizeof site_packages)
        add_packages(paths, site_packages);
    if ((size_t)snprintf(site_packages, sizeof site_packages, "%s/lib/python3*/dist-packages", prefix) <
        sizeof site_packages)
        add_packages(paths, site_packages);
}

/* That of each python3 on PATH, whose links lead away from its packages. */
static void add_from_path(suite_paths *paths)
{
    const char *rest = variable("PATH");
    while (rest != NULL && *rest != '\0') {
        char python[SUITE_PATH], prefix[SUITE_PATH];
        const int length = (int)strcspn(rest, ":");
        if (*rest == '/' && length < SUITE_PATH - 16) {
            snprintf(python, sizeof python, "%.*s/python3", length, rest);
            snprintf(prefix, sizeof prefix, "%.*s/..", length, rest);
            if (access(python, X_OK) == 0) add_environment(paths, prefix);
        }
        rest += length;
        rest += *rest == ':';
    }
}

static void add_python(suite_paths *paths)
{
    char folder[SUITE_PATH], above[SUITE_PATH + 8];
    if (folder_of("/proc/self/exe", folder, sizeof folder)) { /* site-packages/joulemap/_native */
        snprintf(above, sizeof above, "%s/../..", folder);
        add_packages(paths, above);
    }
    const char *python = variable("JOULEMAP_PYTHON"), *home = variable("HOME");
    if (variable("VIRTUAL_ENV") != NULL) add_environment(paths, variable("VIRTUAL_ENV"));
    if (python != NULL && strchr(python, '/') != NULL) { /* links not followed: an environment's own folder */
        snprintf(folder, sizeof folder, "%s", python);
        snprintf(above, sizeof above, "%s/..", dirname(folder));
        add_environment(paths, above);
    }
    if (variable("CONDA_PREFIX") != NULL) add_environment(paths, variable("CONDA_PREFIX"));
    add_from_path(paths);
    if (home != NULL) {
        snprintf(above, sizeof above, "%s/.local", home);
        add_environment(paths, above);
    }
    add_environment(paths, "/usr/local");
    add_environment(paths, "/usr");
}

void suite_libnvrtc_paths(suite_paths *paths, bool simulated)
{
    const char *given = variable("JOULEMAP_NVRTC");
    const char *const toolkits[] = {variable("CUDA_HOME"), variable("CUDA_PATH"), "/usr/local/cuda"};
    char path[SUITE_PATH];
    paths->count = 0;
    if (given != NULL) {
        add(paths, given);
        return;
    }
    if (simulated) {
        if (find_simulated(path, sizeof path, "libnvrtc.so.13")) add(paths, path);
        return;
    }
    add(paths, "libnvrtc.so.13");
    add(paths, "libnvrtc.so.12");
    add(paths, "libnvrtc.so.11.2");
    for (size_t i = 0; i < sizeof toolkits / sizeof *toolkits; i++)
        if (toolkits[i] != NULL) add_all(paths, "%s/lib64/" NVRTC, toolkits[i]);
    add_python(paths);
}
