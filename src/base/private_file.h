/* Files in a folder that only this user may write to. The folder is checked after it was opened, and files
 * are opened relative to it, so nobody can swap a path in between. Symbolic links, non-regular files and
 * files with several hard links are refused: writing there would change a file that is not ours. Needs only
 * libc. */
#ifndef JM_BASE_PRIVATE_FILE_H
#define JM_BASE_PRIVATE_FILE_H

#include <stdbool.h>

/* Opens the folder. -1 with an errno: EPERM if it belongs to another user or others may write to it. */
int jm__private_folder(const char *path);

/* Opens a file in such a folder; O_CREAT makes it readable by this user alone. -1 with an errno. */
int jm__private_file_at(int folder, const char *name, int flags);

/* Both steps in one. */
int jm__private_file(const char *folder, const char *name, int flags);

#endif
