/* A private copy of a recording and its journal. */
#include "format/copy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const beside[] = {"", "-wal", "-shm"}; /* the last is rebuilt by SQLite */

/* A recorder checkpoints its journal every 5 s: one that does so all the time needs more attempts. */
#define ATTEMPTS 8

struct jm__copy {
    pid_t owner; /* a forked child must not remove it */
    char folder[1024];
    char path[1100];
};

static jm_status fail(jm_error *err, const char *call, const char *path)
{
    int code = errno;
    return jm__fail(err, jm_status_of_errno(code), code, call,
                    "%s can only be read from a copy of it and its journal, which failed: %s", path,
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

/* The header of a journal changes whenever the journal is restarted:
 * https://www.sqlite.org/walformat.html. */
typedef struct journal_header {
    ssize_t size; /* bytes read; -1: no journal */
    char bytes[32];
} journal_header;

static journal_header read_header(const char *database)
{
    journal_header header = {.size = -1};
    char name[4096];
    snprintf(name, sizeof name, "%s%s", database, beside[1]);
    int file = open(name, O_RDONLY | O_CLOEXEC);
    if (file < 0) return header;
    header.size = read(file, header.bytes, sizeof header.bytes);
    close(file);
    return header;
}

static jm_status copy_part(const jm__copy *copy, const char *path, size_t part, jm_error *err)
{
    char from[4096], to[1200];
    snprintf(from, sizeof from, "%s%s", path, beside[part]);
    snprintf(to, sizeof to, "%s%s", copy->path, beside[part]);
    unlink(to);
    return copy_file(from, to) == 0 ? JM_OK : fail(err, "copy", path);
}

/* The recorder may be writing, through a mount that is read-only here. A checkpoint during the copy does no
 * harm: the journal is copied after the file and has all its changes. But a journal that was restarted
 * meanwhile may lack changes of pages that were copied before: then copy again. */
static jm_status copy_both(const jm__copy *copy, const char *path, jm_error *err)
{
    for (int i = 0; i < ATTEMPTS; i++) {
        journal_header before = read_header(path);
        JM_TRY(copy_part(copy, path, 0, err));
        jm_status status = copy_part(copy, path, 1, err);
        journal_header after = read_header(copy->path);
        if (before.size == after.size &&
            (before.size <= 0 || memcmp(before.bytes, after.bytes, sizeof before.bytes) == 0))
            return status;
    }
    jm_status status = jm__fail(err, JM_BUSY, 0, "copy", "%s changes faster than it can be copied", path);
    return jm__hint(err, status, "read it where its folder can be written, or when its run has ended");
}

jm_status jm__copy_create(jm__copy **out, const char *path, jm_error *err)
{
    const char *parent = getenv("TMPDIR");
    jm__copy *copy = calloc(1, sizeof *copy);
    if (copy == NULL) return jm__no_memory(err, "jm__copy_create");
    copy->owner = getpid();
    snprintf(copy->folder, sizeof copy->folder, "%s/joulemap-read-XXXXXX",
             parent == NULL || parent[0] == '\0' ? "/tmp" : parent);
    if (mkdtemp(copy->folder) == NULL) {
        jm_status status = fail(err, "mkdtemp", path);
        free(copy);
        return status;
    }
    snprintf(copy->path, sizeof copy->path, "%s/recording", copy->folder);
    jm_status status = copy_both(copy, path, err);
    if (status != JM_OK) {
        jm__copy_free(copy);
        return status;
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
    for (size_t i = 0; i < sizeof beside / sizeof *beside && copy->owner == getpid(); i++) {
        char name[1200];
        snprintf(name, sizeof name, "%s%s", copy->path, beside[i]);
        unlink(name);
    }
    if (copy->owner == getpid()) rmdir(copy->folder);
    free(copy);
}
