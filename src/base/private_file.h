/* Files of a folder that is this user's alone, opened so that nobody puts another one in their way: the
 * folder is looked at once it is open, and a file in it is opened in that very folder. No symbolic link is
 * followed, and nothing is opened that is no plain file, or that has another name somewhere else: what is
 * written or given back there would be lost in a file that is none of ours. Libc alone. */
#ifndef JM_BASE_PRIVATE_FILE_H
#define JM_BASE_PRIVATE_FILE_H

#include <stdbool.h>

/* -1 with an errno: EPERM if it is another user's, or others may write into it. */
int jm__private_folder(const char *path);

/* In such a folder. What O_CREAT makes nobody else may read. -1 with an errno. */
int jm__private_file_at(int folder, const char *name, int flags);

/* Both in one. */
int jm__private_file(const char *folder, const char *name, int flags);

#endif
