/* The folder through which a recorder and the processes it records meet.
 *
 * Its file `run` names the recorder and the recording. The recorder holds a lock on
 * it as long as it lives: a lock, unlike a pid, is also right across containers that share /dev/shm. */
#ifndef JM_RECORD_RUN_FOLDER_H
#define JM_RECORD_RUN_FOLDER_H

#include "base/kept_file.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

#define JM_RUN_FOLDER_MAX 256

typedef struct jm__run_folder {
    char path[JM_RUN_FOLDER_MAX]; /* "" if there is none */
    jm__kept_file lock_file;      /* none if this process does not own it */
    jm__kept_file door;           /* likewise, or none can be had: where others of no right to it knock */
    long budget_ppm;              /* of their time, for tracing the processes in it; 0: none */
} jm__run_folder;

/* Make one in /dev/shm, or in TMPDIR (else /tmp) where that cannot be used, and lock it. Removes those
 * that dead recorders of this user left. `recording` is an absolute path or NULL. */
jm_status jm__run_folder_create(jm__run_folder *out, const char *recording, long budget_ppm, jm_error *err);

/* Now and then, by its owner: a program may have closed the file that holds the lock. */
void jm__run_folder_keep(jm__run_folder *folder);

/* With all that is in it. */
void jm__run_folder_remove(jm__run_folder *folder);

/* The run that JOULEMAP_RUN names, if another process is recording it just now. `recording` becomes "" if
 * it is kept in memory. */
bool jm__run_folder_find(jm__run_folder *out, char *recording, size_t size);

/* What `pid` starts is to enter by itself, or no longer (pid 0). */
bool jm__run_folder_expect(const jm__run_folder *folder, int64_t pid, bool kernels);

/* Another process is recording into that folder just now. */
bool jm__run_folder_is_alive(const char *path);

/* Ask the recorder to bring the recording up to date; and the recorder's look at that. */
void jm__run_folder_ask_flush(const jm__run_folder *folder);
bool jm__run_folder_flush_queried(const jm__run_folder *folder);

#endif
