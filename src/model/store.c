/* The user's data folder, and what lies in the library. */
#include "model/store.h"

#include "base/embedded.h"
#include "base/status.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Models as they lie in src/model/shipped, by profile of a board. */
extern const jm__embedded jm__shipped_models[];

/* It names a file, and nothing else. */
static bool is_plain(const char *uuid)
{
    size_t length = strspn(uuid, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_");
    return length > 0 && uuid[length] == '\0';
}

/* Of a board's model, or with "" of their folder, with a slash at its end. */
static jm_status path_of(char *path, size_t size, const char *uuid, jm_error *err)
{
    const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    const char *end = uuid[0] != '\0' ? ".json" : "";
    bool absolute = data != NULL && data[0] == '/';
    if (!absolute && (home == NULL || home[0] != '/'))
        return jm__fail(err, JM_NOT_FOUND, 0, NULL,
                        "neither XDG_DATA_HOME nor HOME says where models are kept");
    int length = absolute ? snprintf(path, size, "%s/joulemap/models/%s%s", data, uuid, end)
                          : snprintf(path, size, "%s/.local/share/joulemap/models/%s%s", home, uuid, end);
    if (length > 0 && (size_t)length < size) return JM_OK;
    return jm__fail(err, JM_NOT_FOUND, 0, NULL, "the path of the folder for models is too long");
}

jm_status jm__model_own_path(char *path, size_t size, const jm_board *board, jm_error *err)
{
    if (!is_plain(board->uuid))
        return jm__fail(err, JM_NOT_FOUND, 0, NULL, "%s has no UUID to keep its model by", board->name);
    return path_of(path, size, board->uuid, err);
}

jm_status jm__model_make_room(char *path, size_t size, const jm_board *board, jm_error *err)
{
    JM_TRY(jm__model_own_path(path, size, board, err));
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        bool made = mkdir(path, 0777) == 0 || errno == EEXIST;
        int code = errno;
        if (!made) return jm__fail(err, JM_IO, code, "mkdir", "%s cannot be made: %s", path, strerror(code));
        *slash = '/';
    }
    return JM_OK;
}

jm_status jm__model_shipped(jm__board_model *model, const jm_board *board, jm_error *err)
{
    *model = (jm__board_model){0};
    for (const jm__embedded *known = jm__shipped_models; known->name != NULL; known++) {
        if (strcmp(known->name, board->profile) != 0) continue;
        JM_TRY(jm__model_parse(model, known->text, known->length, known->name, err));
        jm__model_is_of_another(model);
        return JM_OK;
    }
    return JM_OK;
}

jm_status jm__model_own(jm__board_model *model, const jm_board *board, jm_error *err)
{
    char path[4096];
    *model = (jm__board_model){0};
    if (jm__model_own_path(path, sizeof path, board, NULL) != JM_OK || access(path, F_OK) != 0) return JM_OK;
    return jm__model_read(model, path, err);
}

/* "UUID.json" */
static int is_kept(const struct dirent *entry)
{
    static const char end[] = ".json";
    char uuid[JM_BOARD_TEXT];
    size_t length = strlen(entry->d_name), most = sizeof uuid + sizeof end - 2;
    if (length < sizeof end || length > most || strcmp(entry->d_name + length - 5, end) != 0) return 0;
    snprintf(uuid, sizeof uuid, "%.*s", (int)(length - 5), entry->d_name);
    return is_plain(uuid);
}

jm_status jm__model_each_kept(jm_status (*take)(void *taker, const char *uuid, const char *path,
                                                jm_error *err),
                              void *taker, jm_error *err)
{
    char folder[4096], path[4096 + 256];
    struct dirent **found = NULL;
    if (path_of(folder, sizeof folder, "", NULL) != JM_OK) return JM_OK;
    int count = scandir(folder, &found, is_kept, alphasort);
    if (count < 0 && errno == ENOMEM) return jm__no_memory(err, "scandir");
    jm_status status = JM_OK;
    for (int i = 0; i < count; i++) {
        snprintf(path, sizeof path, "%s%s", folder, found[i]->d_name);
        found[i]->d_name[strlen(found[i]->d_name) - 5] = '\0';
        if (status == JM_OK) status = take(taker, found[i]->d_name, path, err);
        free(found[i]);
    }
    free(found);
    return status;
}
