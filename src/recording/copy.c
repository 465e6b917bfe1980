/* A private copy of a recording and its journal. */
#include "recording/copy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const beside[] = {"", "-wal", "-shm"}; /* what SQLite may keep: the last is made anew */

struct jm__copy {
    char folder[1024];
    char path[1100];
};

static jm_status fail(jm_error *err, const char *call, const char *path)
{
    int code = errno;
    return jm__fail(err, jm_status_of_errno(code), code, call,
                    "%s lies in a read-only folder with its journal, and copying it failed: %s", path,
                    strerror(code));
}

static int copy_file(const char *from, const char *to)
{
    static const size_t chunk = (size_t)1 << 20;
    int in = open(from, O_RDONLY | O_CLOEXEC);
    if (in < 0) return -1;
    int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    char *buffer = malloc(chunk);
    ssize_t count = out < 0 || buffer == NULL ? -1 : 1;
    while (count > 0) {
        count = read(in, buffer, chunk);
        for (ssize_t done = 0; done < count;) {
            ssize_t written = write(out, buffer + done, (size_t)(count - done));
            if (written < 0) {
                count = -1;
                break;
            }
            done += written;
        }
    }
    int code = errno;
    free(buffer);
    close(in);
    if (out >= 0) close(out);
    errno = code;
    return count == 0 ? 0 : -1;
}

jm_status jm__copy_create(jm__copy **out, const char *path, jm_error *err)
{
    const char *parent = getenv("TMPDIR");
    jm__copy *copy = calloc(1, sizeof *copy);
    if (copy == NULL) return jm__no_memory(err, "jm__copy_create");
    snprintf(copy->folder, sizeof copy->folder, "%s/joulemap-read-XXXXXX",
             parent == NULL || parent[0] == '\0' ? "/tmp" : parent);
    if (mkdtemp(copy->folder) == NULL) {
        jm_status status = fail(err, "mkdtemp", path);
        free(copy);
        return status;
    }
    snprintf(copy->path, sizeof copy->path, "%s/recording", copy->folder);
    for (size_t i = 0; i < 2; i++) {
        char from[4096], to[1200];
        snprintf(from, sizeof from, "%s%s", path, beside[i]);
        snprintf(to, sizeof to, "%s%s", copy->path, beside[i]);
        if (copy_file(from, to) != 0) {
            jm_status status = fail(err, "copy", path);
            jm__copy_free(copy);
            return status;
        }
    }
    *out = copy;
    return JM_OK;
}

const char *jm__copy_path(const jm__copy *copy)
{
    return copy->path;
}

void jm__copy_free(jm__copy *copy)
{
    if (copy == NULL) return;
    for (size_t i = 0; i < sizeof beside / sizeof *beside; i++) {
        char name[1200];
        snprintf(name, sizeof name, "%s%s", copy->path, beside[i]);
        unlink(name);
    }
    rmdir(copy->folder);
    free(copy);
}
