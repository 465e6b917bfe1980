/* Files of a folder that is this user's alone. */
#include "base/private_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static int refuse(int fd, int error)
{
    close(fd);
    errno = error;
    return -1;
}

int jm__private_folder(const char *path)
{
    struct stat info;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return -1;
    if (fstat(fd, &info) != 0) return refuse(fd, errno);
    bool ours = info.st_uid == geteuid() && (info.st_mode & (S_IWGRP | S_IWOTH)) == 0;
    return ours ? fd : refuse(fd, EPERM);
}

/* O_NONBLOCK: opening a FIFO of that name would block. */
int jm__private_file_at(int folder, const char *name, int flags)
{
    struct stat info;
    int fd = openat(folder, name, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    if (fd < 0) return -1;
    if (fstat(fd, &info) != 0) return refuse(fd, errno);
    return S_ISREG(info.st_mode) && info.st_nlink == 1 ? fd : refuse(fd, EPERM);
}

int jm__private_file(const char *folder, const char *name, int flags)
{
    int parent = jm__private_folder(folder);
    if (parent < 0) return -1;
    int fd = jm__private_file_at(parent, name, flags);
    int error = errno;
    close(parent);
    errno = error;
    return fd;
}
