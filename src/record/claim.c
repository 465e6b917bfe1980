/* The file of a new recording: made, or refused with words. */
#include "record/claim.h"

#include "base/status.h"
#include "base/strbuf.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static jm_status refuse_existing(const char *path, jm_error *err)
{
    jm_status status = jm__fail(err, JM_IO, EEXIST, "open", "%s exists already", path);
    return jm__hint(err, status, "choose another name with -o, or replace it with --force");
}

static jm_status fail_to_create(const char *path, int code, jm_error *err)
{
    if (code == EACCES || code == EPERM || code == EROFS) {
        jm_status status = jm__fail(err, JM_NO_PERMISSION, code, "open", "%s cannot be created: %s", path,
                                    code == EROFS ? "its folder is read-only" : strerror(code));
        return jm__hint(err, status, "record into a folder that you may write to, with -o");
    }
    if (code == ENOENT || code == ENOTDIR) {
        jm_status status = jm__fail(err, JM_NOT_FOUND, code, "open",
                                    "%s cannot be created: its folder does not exist", path);
        return jm__hint(err, status, "make the folder first, or choose another with -o");
    }
    jm_status status = code == ENOSPC || code == EDQUOT ? JM_DISK_FULL : JM_IO;
    return jm__fail(err, status, code, "open", "%s cannot be created: %s", path, strerror(code));
}

jm_status jm__claim(const char *path, bool overwrite, jm_error *err)
{
    int file = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);
    if (file < 0 && errno == EEXIST) {
        struct stat info;
        if (!overwrite) return refuse_existing(path, err);
        if (stat(path, &info) == 0 && !S_ISREG(info.st_mode))
            return jm__fail(err, JM_IO, 0, "open", "%s is not a regular file", path);
        if (unlink(path) != 0) return fail_to_create(path, errno, err);
        file = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);
    }
    if (file < 0) return fail_to_create(path, errno, err);
    close(file);
    static const char *const beside[] = {"-wal", "-shm", "-journal"};
    for (size_t i = 0; i < sizeof beside / sizeof *beside; i++) { /* left by a recording of that name */
        jm__strbuf name = {0};
        jm__strbuf_format(&name, "%s%s", path, beside[i]);
        if (!name.failed) unlink(name.text);
        jm__strbuf_free(&name);
    }
    return JM_OK;
}
