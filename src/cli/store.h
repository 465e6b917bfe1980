/* The folder .joulemap of a project: the recordings of `joulemap run`, the newest of them within a bound. */
#ifndef CLI_STORE_H
#define CLI_STORE_H

#include "cli/verb.h"

#include <limits.h>
#include <stddef.h>

typedef struct cli_store {
    char folder[PATH_MAX - 64];
    char **names; /* [count] of recordings, the newest first */
    size_t count;
} cli_store;

/* Find the project's folder: that of its .git, else the present one. A store that does not exist yet is
 * empty. CLI_GO_ON, or the exit code of a failure that was reported; free it in any case. */
int cli_store_open(const cli_args *args, cli_store *store);
void cli_store_free(cli_store *store);

/* The path of a recording of the store. Returns `path`. */
const char *cli_store_path(const cli_store *store, size_t number, char path[PATH_MAX]);

/* Make room for another recording, and give its path. CLI_GO_ON, or the exit code. */
int cli_store_add(const cli_args *args, char path[PATH_MAX]);

/* Suffixes of the files that a recorder keeps beside its recording (format/file_lock.c), and of itself: "".
 */
enum { CLI_RECORDING_FILES = 5 };
extern const char *const cli_recording_files[CLI_RECORDING_FILES];

/* The path of the newest recording. CLI_GO_ON, or the exit code. */
int cli_store_newest(const cli_args *args, char path[PATH_MAX]);

#endif
