/* Who writes a recording just now: nobody else may replace it. */
#ifndef JM_FORMAT_WRITTEN_H
#define JM_FORMAT_WRITTEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A file that this process writes. */
typedef struct jm__written {
    pid_t pid; /* 0: none */
    dev_t device;
    ino_t inode;
} jm__written;

/* From now on this process writes the open file; false if memory is out. */
bool jm__written_add(jm__written *written, int file);
void jm__written_remove(jm__written *written);

/* Its name still leads to it. */
bool jm__written_is_at(const jm__written *written, const char *path);

/* A process that this one is a fork of wrote it as it forked. */
bool jm__written_by_forebear(const char *path);

/* The recorder of a file without an end mark is still at work; its pid and start as `meta` has them, or NULL.
 */
bool jm__written_goes_on(const char *path, const char *recorder_pid, const char *recorder_start_ticks);

/* The process that writes the recording at `path`, 0 if nobody does; `command`: what it records, "" if that
 * is not known. What cannot be read is nobody's. */
int64_t jm__written_by(const char *path, char *command, size_t size);

#endif
