/* The user's data folder, and what lies in the library. */
#include "model/store.h"

#include "base/embedded.h"
#include "base/status.h"

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

jm_status jm__model_own_path(char *path, size_t size, const jm_board *board, jm_error *err)
{
    const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    bool absolute = data != NULL && data[0] == '/';
    if (!is_plain(board->uuid))
        return jm__fail(err, JM_NOT_FOUND, 0, NULL, "%s has no UUID to keep its model by", board->name);
    if (!absolute && (home == NULL || home[0] != '/'))
        return jm__fail(err, JM_NOT_FOUND, 0, NULL,
                        "neither XDG_DATA_HOME nor HOME says where models are kept");
    int length = absolute
                     ? snprintf(path, size, "%s/joulemap/models/%s.json", data, board->uuid)
                     : snprintf(path, size, "%s/.local/share/joulemap/models/%s.json", home, board->uuid);
    if (length > 0 && (size_t)length < size) return JM_OK;
    return jm__fail(err, JM_NOT_FOUND, 0, NULL, "the path of the folder for models is too long");
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
