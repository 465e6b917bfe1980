/* Where leases are written down, and whether to believe what lies there. */
#include "cap/lease/folder.h"

#include "base/status.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ROOTS_FOLDER "/var/lib/joulemap/caps"
#define STATE_END    ".json"

enum { ROOM_FOR_NAME = 128 };

static bool is_set(const char *text)
{
    return text != NULL && text[0] != '\0';
}

static bool is_roots_to_set(void)
{
    return geteuid() == 0 || is_set(getenv("JOULEMAP_CAP"));
}

jm_status jm__lease_folder_find(jm__lease_folder *folder, jm_error *err)
{
    const char *named = getenv("JOULEMAP_CAPS_DIR"), *state = getenv("XDG_STATE_HOME"),
               *home = getenv("HOME");
    int length = 0;
    if (is_set(named) && named[0] != '/')
        return jm__fail(err, JM_USAGE, 0, NULL, "JOULEMAP_CAPS_DIR is %.200s, which is no absolute path",
                        named);
    if (is_set(named))
        length = snprintf(folder->path, sizeof folder->path, "%s", named);
    else if (is_roots_to_set())
        length = snprintf(folder->path, sizeof folder->path, "%s", ROOTS_FOLDER);
    else if (is_set(state) && state[0] == '/')
        length = snprintf(folder->path, sizeof folder->path, "%s/joulemap/caps", state);
    else if (is_set(home) && home[0] == '/')
        length = snprintf(folder->path, sizeof folder->path, "%s/.local/state/joulemap/caps", home);
    if (length > 0 && (size_t)length < sizeof folder->path - ROOM_FOR_NAME) return JM_OK;
    jm_status status = length == 0 ? JM_NOT_FOUND : JM_USAGE;
    jm__fail(err, status, 0, NULL, "no folder for the state of power caps: %s",
             length == 0 ? "neither XDG_STATE_HOME nor HOME says where" : "its path is too long");
    return jm__hint(err, status, "set JOULEMAP_CAPS_DIR");
}

bool jm__lease_folder_of_root(jm__lease_folder *folder)
{
    if (is_set(getenv("JOULEMAP_CAPS_DIR")) || is_roots_to_set()) return false;
    snprintf(folder->path, sizeof folder->path, "%s", ROOTS_FOLDER);
    return true;
}

jm_status jm__lease_folder_trust(const jm__lease_folder *folder, jm_error *err)
{
    struct stat info;
    if (stat(folder->path, &info) != 0)
        return jm__fail(err, jm_status_of_errno(errno), errno, "stat", "%.300s: %s", folder->path,
                        strerror(errno));
    bool ours = info.st_uid == geteuid() || info.st_uid == 0;
    if (ours && S_ISDIR(info.st_mode) && (info.st_mode & (S_IWGRP | S_IWOTH)) == 0) return JM_OK;
    jm__fail(err, JM_NO_PERMISSION, 0, NULL, "%.300s is not believed: %s", folder->path,
             !S_ISDIR(info.st_mode) ? "it is no folder"
             : ours                 ? "others may write into it"
                                    : "it is another user's");
    return jm__hint(err, JM_NO_PERMISSION,
                    "make it yours alone (chown, chmod 755), or name another in "
                    "JOULEMAP_CAPS_DIR");
}

jm_status jm__lease_folder_make(const jm__lease_folder *folder, jm_error *err)
{
    char path[sizeof folder->path + 1];
    snprintf(path, sizeof path, "%s/", folder->path);
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(path, 0755) != 0 && errno != EEXIST)
            return jm__fail(err, jm_status_of_errno(errno), errno, "mkdir", "%.300s cannot be made: %s", path,
                            strerror(errno));
        *slash = '/';
    }
    return jm__lease_folder_trust(folder, err);
}

bool jm__lease_folder_path(const jm__lease_folder *folder, const char *uuid, const char *end, char *path,
                           size_t size)
{
    size_t plain = strspn(uuid, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_");
    if (plain == 0 || uuid[plain] != '\0') return false;
    int length = snprintf(path, size, "%s/%s.%s", folder->path, uuid, end);
    return length > 0 && (size_t)length < size;
}

bool jm__lease_folder_next(void *directory, char *uuid, size_t size)
{
    for (const struct dirent *entry = readdir(directory); entry != NULL; entry = readdir(directory)) {
        size_t length = strlen(entry->d_name), end = strlen(STATE_END);
        if (length <= end || length - end >= size || strcmp(entry->d_name + length - end, STATE_END) != 0)
            continue;
        snprintf(uuid, size, "%.*s", (int)(length - end), entry->d_name);
        return true;
    }
    return false;
}
