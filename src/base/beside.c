/* Where our own library lies, and what lies beside it; programs on PATH. */
#include "base/beside.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool jm__own_folder(char *folder, size_t size)
{
    static const char here; /* an address in this library */
    Dl_info info;
    char path[PATH_MAX];
    if (dladdr(&here, &info) == 0 || info.dli_fname == NULL) return false;
    if (strchr(info.dli_fname, '/') == NULL || realpath(info.dli_fname, path) == NULL) {
        /* An executable found by way of PATH carries a bare name, which is nothing in this folder. */
        ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
        if (length <= 0) return false;
        path[length] = '\0';
    }
    char *slash = strrchr(path, '/');
    if (slash == NULL || (size_t)(slash - path) >= size) return false;
    *slash = '\0';
    memcpy(folder, path, (size_t)(slash - path) + 1);
    return true;
}

bool jm__beside(const char *name, char *path, size_t size)
{
    char folder[PATH_MAX];
    static const char *const places[] = {"", "../"};
    if (!jm__own_folder(folder, sizeof folder)) {
        snprintf(path, size, "%s", name);
        return false;
    }
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        int length = snprintf(path, size, "%s/%s%s", folder, places[i], name);
        if (length > 0 && (size_t)length < size && access(path, R_OK) == 0) return true;
    }
    snprintf(path, size, "%s/%s", folder, name);
    return false;
}

bool jm__on_path(const char *name, char *path, size_t size)
{
    const char *folder = getenv("PATH");
    while (folder != NULL && *folder != '\0') {
        struct stat about;
        int length = (int)strcspn(folder, ":"),
            written = snprintf(path, size, "%.*s/%s", length, folder, name);
        if (length > 0 && written > 0 && (size_t)written < size && stat(path, &about) == 0 &&
            S_ISREG(about.st_mode) && access(path, X_OK) == 0)
            return true;
        folder += length + (folder[length] == ':');
    }
    return false;
}
