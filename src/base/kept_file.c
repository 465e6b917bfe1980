/* A file that stays open for long inside somebody else's program. */
#include "base/kept_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

bool jm__kept_file_set(jm__kept_file *file, int fd)
{
    struct stat info;
    *file = (jm__kept_file){0};
    if (fstat(fd, &info) != 0) {
        close(fd);
        return false;
    }
    *file = (jm__kept_file){fd + 1, info.st_dev, info.st_ino};
    return true;
}

bool jm__kept_file_is_ours(const jm__kept_file *file)
{
    struct stat info;
    return file->fd_plus_one > 0 && fstat(file->fd_plus_one - 1, &info) == 0 && info.st_dev == file->device &&
           info.st_ino == file->inode;
}

int jm__kept_file_fd(jm__kept_file *file, const char *path, int flags)
{
    if (file->fd_plus_one == 0) return -1;
    if (jm__kept_file_is_ours(file)) return file->fd_plus_one - 1;
    jm__kept_file again = *file;
    int fd =
        open(path, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC); /* the path may lead to anything by now */
    if (fd < 0) return -1;
    again.fd_plus_one = fd + 1;
    if (!jm__kept_file_is_ours(&again)) {
        close(fd);
        return -1;
    }
    *file = again;
    return fd;
}

void jm__kept_file_close(jm__kept_file *file)
{
    if (jm__kept_file_is_ours(file)) close(file->fd_plus_one - 1);
    *file = (jm__kept_file){0};
}
