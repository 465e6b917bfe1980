/* The file of a new recording: made, or refused with words. */
#include "format/claim.h"

#include "base/status.h"
#include "base/strbuf.h"
#include "base/utf8.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
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
    jm_status status = jm_status_of_errno(code);
    if (status == JM_NO_PERMISSION) {
        jm__fail(err, status, code, "open", "%s cannot be created: %s", path,
                 code == EROFS ? "its folder is read-only" : strerror(code));
        return jm__hint(err, status, "record into a folder that you may write to, with -o");
    }
    if (status == JM_NOT_FOUND) {
        jm__fail(err, status, code, "open", "%s cannot be created: its folder does not exist", path);
        return jm__hint(err, status, "make the folder first, or choose another with -o");
    }
    return jm__fail(err, status, code, "open", "%s cannot be created: %s", path, strerror(code));
}

jm_status jm__claim_refuse_written(const char *path, jm_error *err)
{
    char command[160];
    int64_t writer = jm__written_by(path, command, sizeof command);
    if (writer == 0) return JM_OK;
    command[jm__utf8_cut(command, 80)] = '\0';
    bool own = writer == getpid();
    jm_status status =
        jm__fail(err, JM_BUSY, writer, "open", "%s is being written: %sprocess %lld%s%s records into it",
                 path, own ? "this very " : "", (long long)writer, command[0] != '\0' ? " of " : "", command);
    return jm__hint(err, status, "let that run end first, or choose another name");
}

/* Of a recording: the file, its journals, and what a simulated board says of it. */
static const char *const parts[] = {"", "-wal", "-journal", "-shm", ".truth.csv"};
enum { PARTS = sizeof parts / sizeof *parts, JOURNALS_END = PARTS - 1 };

/* Without asking for memory: what stood there comes back also when that is out. False: no file has a name
 * that long. */
static bool name_part(char name[PATH_MAX], const char *path, int part)
{
    return (size_t)snprintf(name, PATH_MAX, "%s%s", path, parts[part]) < PATH_MAX;
}

static void remove_parts(const char *path, int first, int end)
{
    char name[PATH_MAX];
    for (int part = first; part < end; part++)
        if (name_part(name, path, part)) unlink(name);
}

/* The journals with their file: a recorder that was killed leaves the last seconds there. 0 or an errno: of
 * the file itself, which goes last, so that there is no moment with a file and another one's journal. */
static int move_parts(const char *from, const char *to)
{
    char source[PATH_MAX], target[PATH_MAX];
    int error = 0;
    for (int part = PARTS - 1; part >= 0; part--) {
        if (!name_part(source, from, part) || !name_part(target, to, part))
            error = ENAMETOOLONG;
        else if (rename(source, target) != 0 && part == 0)
            error = errno;
    }
    return error;
}

static jm_status put_aside(jm__claim *claim, jm_error *err)
{
    struct stat info;
    if (stat(claim->path, &info) == 0 && !S_ISREG(info.st_mode))
        return jm__fail(err, JM_IO, 0, "open", "%s is not a regular file", claim->path);
    JM_TRY(jm__claim_refuse_written(claim->path, err));
    jm__strbuf aside = {0};
    jm__strbuf_format(&aside, "%s.replaced-%d", claim->path, (int)getpid());
    claim->aside = jm__strbuf_take(&aside);
    if (claim->aside == NULL) return jm__no_memory(err, "jm__claim_make");
    int code = move_parts(claim->path, claim->aside);
    if (code == 0) return JM_OK;
    move_parts(claim->aside, claim->path);
    free(claim->aside);
    claim->aside = NULL;
    return fail_to_create(claim->path, code, err);
}

jm_status jm__claim_make(jm__claim *claim, const char *path, bool overwrite, jm_error *err)
{
    *claim = (jm__claim){.path = strdup(path)};
    if (claim->path == NULL) return jm__no_memory(err, "jm__claim_make");
    jm_status status = JM_OK;
    int file = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);
    if (file < 0 && errno == EEXIST) {
        status = overwrite ? put_aside(claim, err) : refuse_existing(path, err);
        if (status == JM_OK) file = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);
    }
    if (status == JM_OK && file < 0) {
        status = fail_to_create(path, errno, err);
        if (claim->aside != NULL) move_parts(claim->aside, path);
    }
    if (status == JM_OK && !jm__written_add(&claim->file, file))
        status = jm__no_memory(err, "jm__claim_make");
    if (file >= 0) close(file); /* before SQLite opens it: closing it would drop SQLite's locks */
    if (status != JM_OK) {
        if (file >= 0)
            jm__claim_undo(claim);
        else
            jm__claim_free(claim);
        return status;
    }
    remove_parts(path, 1, JOURNALS_END); /* left by a recording of that name that somebody removed */
    return JM_OK;
}

int jm__claim_remove_files(const char *path)
{
    int code = unlink(path) == 0 ? 0 : errno;
    if (code == 0 || code == ENOENT) remove_parts(path, 1, PARTS);
    return code;
}

void jm__claim_keep(jm__claim *claim)
{
    if (claim->aside != NULL) remove_parts(claim->aside, 0, PARTS);
    free(claim->aside);
    claim->aside = NULL;
}

void jm__claim_undo(jm__claim *claim)
{
    if (claim->path == NULL) return;
    /* Not what somebody has put there since. */
    bool ours = claim->file.pid == 0 || jm__written_is_at(&claim->file, claim->path);
    if (ours) remove_parts(claim->path, 0, PARTS);
    if (claim->aside != NULL && (ours || access(claim->path, F_OK) != 0))
        move_parts(claim->aside, claim->path);
    jm__claim_free(claim);
}

void jm__claim_free(jm__claim *claim)
{
    jm__written_remove(&claim->file);
    free(claim->path);
    free(claim->aside);
    *claim = (jm__claim){0};
}
