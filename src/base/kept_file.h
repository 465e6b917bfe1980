/* A file that stays open for long inside somebody else's program. The program may close descriptors that are
 * not its own (closefrom, a loop over all descriptors). The next file that it opens then gets our number, and
 * a blind write would end up in that file. So each use first checks device and inode. Needs only libc.
 *
 * Another thread may still close the descriptor between check and use: a window of microseconds that only a
 * separate process would avoid. */
#ifndef JM_BASE_KEPT_FILE_H
#define JM_BASE_KEPT_FILE_H

#include <stdbool.h>
#include <sys/types.h>

typedef struct jm__kept_file { /* zeroed: none */
    int fd_plus_one;
    dev_t device;
    ino_t inode;
} jm__kept_file;

/* Takes an open descriptor. False: fstat failed, and the descriptor was closed. */
bool jm__kept_file_set(jm__kept_file *file, int fd);

/* The descriptor is open and still refers to this file. */
bool jm__kept_file_is_ours(const jm__kept_file *file);

/* Returns the descriptor, reopened by its path if the program closed it; -1 if the path no longer leads to
 * the same file. */
int jm__kept_file_fd(jm__kept_file *file, const char *path, int flags);

/* Closes the descriptor only if it is still ours. */
void jm__kept_file_close(jm__kept_file *file);

#endif
