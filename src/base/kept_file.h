/* A file that stays open for long inside somebody else's program. A program may close what is not its own
 * (closefrom, a loop over all descriptors), and what it opens next then has our number: whoever writes
 * without a look writes into its file. Libc alone.
 *
 * Between the look and the use another thread may still close: a matter of microseconds, which nothing but a
 * process of our own would shut out. */
#ifndef JM_BASE_KEPT_FILE_H
#define JM_BASE_KEPT_FILE_H

#include <stdbool.h>
#include <sys/types.h>

typedef struct jm__kept_file { /* zeroed: none */
    int fd_plus_one;
    dev_t device;
    ino_t inode;
} jm__kept_file;

/* Keep an open descriptor; of one that cannot be looked at, none is kept, and it is closed. */
bool jm__kept_file_set(jm__kept_file *file, int fd);

/* The descriptor is there and still that of the file. */
bool jm__kept_file_is_ours(const jm__kept_file *file);

/* The descriptor, opened again by its path if it was lost and the same file is still there; -1: it is not. */
int jm__kept_file_fd(jm__kept_file *file, const char *path, int flags);

/* Closes nobody else's. */
void jm__kept_file_close(jm__kept_file *file);

#endif
