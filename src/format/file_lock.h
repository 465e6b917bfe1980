/* The file of a new recording: made, or refused with words; and who writes one just now: nobody else may
 * replace it. */
#ifndef JM_FORMAT_FILE_LOCK_H
#define JM_FORMAT_FILE_LOCK_H

#include <joulemap/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A file that this process writes. */
typedef struct jm__liveness {
    pid_t pid; /* 0: none */
    dev_t device;
    ino_t inode;
} jm__liveness;

/* A process that this one is a fork of wrote it as it forked. */
bool jm__liveness_by_forebear(const char *path);

/* The recorder of a file without an end mark is still at work; its pid and start as `meta` has them, or NULL.
 */
bool jm__liveness_goes_on(const char *path, const char *recorder_pid, const char *recorder_start_ticks);

/* The process that writes the recording at `path`, 0 if nobody does; `command`: what it records, "" if that
 * is not known. What cannot be read is nobody's. */
int64_t jm__liveness_by(const char *path, char *command, size_t size);

/* A name claimed, so that two recorders never write one file. */
typedef struct jm__file_lock {
    char *path;
    char *aside; /* what the file replaces waits here, with the journals beside it; NULL: nothing */
    jm__liveness file;
} jm__file_lock;

/* SQLite fills the empty file. An existing one is refused (IO) unless `overwrite`, and then put aside until
 * it is known that the new one comes to something; one that is still being written is refused in any case
 * (BUSY). */
jm_status jm__file_lock_make(jm__file_lock *file_lock, const char *path, bool overwrite, jm_error *err);

/* Its name still leads to it. */
bool jm__file_lock_is_there(const jm__file_lock *file_lock);

/* The new file stands: what it replaces goes. */
void jm__file_lock_keep(jm__file_lock *file_lock);

/* The new file goes, and what it would have replaced is there again. */
void jm__file_lock_undo(jm__file_lock *file_lock);

void jm__file_lock_free(jm__file_lock *file_lock); /* leaves the files as they are */

#endif
