/* The folder that a recorder and its recorded processes share.
 *
 * Its file `run` names the recorder and the recording. The recorder holds a lock on it while it lives: unlike
 * a pid, a lock works across containers that share /dev/shm. */
#ifndef JM_RECORD_RUN_FOLDER_H
#define JM_RECORD_RUN_FOLDER_H

#include "base/kept_file.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

#define JM_RUN_FOLDER_MAX 256

typedef struct jm__run_folder {
    char path[JM_RUN_FOLDER_MAX]; /* "": none */
    jm__kept_file lock_file;      /* only in the process that owns the folder */
    jm__kept_file door;           /* likewise, if available: where processes without access knock */
    long budget_ppm;              /* tracing budget of its processes, as a share of their time; 0: none */
} jm__run_folder;

/* Creates and locks one in /dev/shm, else in TMPDIR (or /tmp). Removes folders of dead recorders of this
 * user. `recording` is an absolute path or NULL. */
jm_status jm__run_folder_create(jm__run_folder *out, const char *recording, long budget_ppm, jm_error *err);

/* Called regularly by its owner: takes the lock again if the program has closed its file. */
void jm__run_folder_keep(jm__run_folder *folder);

/* Removes it with its content. */
void jm__run_folder_remove(jm__run_folder *folder);

/* The run of JOULEMAP_RUN, if another process is recording it now. `recording` is "" if it is in memory. */
bool jm__run_folder_find(jm__run_folder *out, char *recording, size_t size);

/* Lets processes below `pid` enter on their own; pid 0: no longer. */
bool jm__run_folder_expect(const jm__run_folder *folder, int64_t pid, bool kernels);

/* Is another process recording into that folder now? */
bool jm__run_folder_is_alive(const char *path);

/* Requests a flush from the recorder; and the recorder's check for requests. */
void jm__run_folder_request_flush(const jm__run_folder *folder);
bool jm__run_folder_flush_requested(const jm__run_folder *folder);

#endif
