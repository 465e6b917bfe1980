/* Creates the file of a new recording, and finds out who writes an existing one: that one must not be
 * replaced. */
#ifndef JM_FORMAT_FILE_LOCK_H
#define JM_FORMAT_FILE_LOCK_H

#include <joulemap/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A file that this process writes. */
typedef struct jm__file_writer {
    pid_t pid; /* 0: none */
    dev_t device;
    ino_t inode;
} jm__file_writer;

/* A process that this one was forked from wrote the file at the time of the fork. */
bool jm__file_written_by_ancestor(const char *path);

/* Is the recorder of a file without an end mark still alive? Its pid and start time are as in `meta`, or
 * NULL. */
bool jm__recorder_is_alive(const char *path, const char *recorder_pid, const char *recorder_start_ticks);

/* The pid of the process that writes the recording at `path`; 0 if nobody does or it cannot be read.
 * `command`: what it records, "" if unknown. */
int64_t jm__recorder_of(const char *path, char *command, size_t size);

/* A claimed name: two recorders never write one file. */
typedef struct jm__file_lock {
    char *path;
    char *aside; /* where the replaced file and its journals are kept; NULL: nothing was replaced */
    jm__file_writer file;
} jm__file_lock;

/* Creates an empty file for SQLite. An existing file is refused (IO) unless `overwrite`; then it is moved
 * aside until the new one is worth keeping. A file that is still being written is refused in any case
 * (BUSY). */
jm_status jm__file_lock_make(jm__file_lock *file_lock, const char *path, bool overwrite, jm_error *err);

/* Does the path still lead to the file? */
bool jm__file_lock_is_there(const jm__file_lock *file_lock);

/* Keep the new file: deletes the replaced one. */
void jm__file_lock_keep(jm__file_lock *file_lock);

/* Delete the new file and restore the replaced one. */
void jm__file_lock_undo(jm__file_lock *file_lock);

void jm__file_lock_free(jm__file_lock *file_lock); /* leaves the files as they are */

#endif
