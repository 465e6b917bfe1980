/* How much of a recording still fits on its disk. */
#include "format/room.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

bool jm__room_find(sqlite3 *db, const char *path, uint64_t *room, uint64_t *reserve)
{
    struct statvfs fs;
    struct stat file;
    struct rlimit most;
    int64_t pages = 0;
    if (path == NULL || statvfs(path, &fs) != 0 || stat(path, &file) != 0) return false;
    if (jm__database_integer(db, "PRAGMA page_count", &pages, path, NULL) != JM_OK) return false;
    uint64_t all = (uint64_t)fs.f_blocks * fs.f_frsize, free_bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
    uint64_t size = (uint64_t)file.st_size, wanted = (uint64_t)pages * JM_PAGE_BYTES;
    uint64_t most_size = size + free_bytes;
    if (getrlimit(RLIMIT_FSIZE, &most) == 0 && most.rlim_cur < most_size) all = most_size = most.rlim_cur;
    *room = wanted < most_size ? most_size - wanted : 0;
    *reserve = all / JM_RESERVE_SHARE < JM_RESERVE_BYTES ? all / JM_RESERVE_SHARE : JM_RESERVE_BYTES;
    return true;
}
