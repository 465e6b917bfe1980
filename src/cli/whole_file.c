/* Files that appear whole or not at all. */
#include "cli/whole_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static jm_status fail(jm_error *err, const char *call, const char *path)
{
    int code = errno;
    *err = (jm_error){.status = jm_status_of_errno(code), .code = code};
    snprintf(err->call, sizeof err->call, "%s", call);
    snprintf(err->text, sizeof err->text, "cannot write %s: %s", path, strerror(code));
    return err->status;
}

static jm_status open_temporary(cli_whole_file *file, jm_error *err)
{
    int fd = mkostemp(file->temporary, O_CLOEXEC);
    if (fd < 0) return fail(err, "mkostemp", file->path);
    mode_t mask = umask(0);
    umask(mask);
    fchmod(fd, 0666 & ~mask); /* as any new file, not as a secret one */
    file->stream = fdopen(fd, "w");
    if (file->stream != NULL) return JM_OK;
    jm_status status = fail(err, "fdopen", file->path);
    close(fd);
    unlink(file->temporary);
    return status;
}

jm_status cli_whole_file_open(cli_whole_file *file, const char *path, jm_error *err)
{
    struct stat there;
    *file = (cli_whole_file){.path = path};
    if (stat(path, &there) == 0 && !S_ISREG(there.st_mode)) {
        file->stream = fopen(path, "we");
        return file->stream != NULL ? JM_OK : fail(err, "fopen", path);
    }
    if (asprintf(&file->temporary, "%s.XXXXXX", path) < 0) {
        file->temporary = NULL;
        return fail(err, "malloc", path);
    }
    jm_status status = open_temporary(file, err);
    if (status != JM_OK) {
        free(file->temporary);
        file->temporary = NULL;
    }
    return status;
}

jm_status cli_whole_file_close(cli_whole_file *file, jm_status status, jm_error *err)
{
    if (fclose(file->stream) != 0 && status == JM_OK) status = fail(err, "fclose", file->path);
    if (file->temporary != NULL) {
        if (status == JM_OK && rename(file->temporary, file->path) != 0)
            status = fail(err, "rename", file->path);
        if (status != JM_OK) unlink(file->temporary);
        free(file->temporary);
    }
    return status;
}
