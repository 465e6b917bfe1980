/* SQLite's file system with calls that fail when told to: https://www.sqlite.org/vfs.html. */
#include "failing.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

typedef struct file {
    sqlite3_file base;
    sqlite3_file *real; /* lies behind this struct */
} file;

static sqlite3_vfs *below; /* what really opens files */

/* One of these fails, with its error and the errno that goes with it. */
static bool fails(failing_what what, int error)
{
    if (!failing_now(what)) return false;
    errno = error;
    return true;
}

#define REAL(opened)              (((file *)(opened))->real)
#define CALL(opened, method, ...) REAL(opened)->pMethods->method(REAL(opened), __VA_ARGS__)
#define ASK(opened, method)       REAL(opened)->pMethods->method(REAL(opened))

static int close_file(sqlite3_file *opened)
{
    return ASK(opened, xClose);
}

static int read_file(sqlite3_file *opened, void *to, int size, sqlite3_int64 offset)
{
    if (fails(FAILING_READ, EIO)) return SQLITE_IOERR_READ;
    return CALL(opened, xRead, to, size, offset);
}

static int write_file(sqlite3_file *opened, const void *from, int size, sqlite3_int64 offset)
{
    if (fails(FAILING_WRITE, EIO)) return SQLITE_IOERR_WRITE;
    if (fails(FAILING_WRITE_FULL, ENOSPC)) return SQLITE_FULL;
    return CALL(opened, xWrite, from, size, offset);
}

static int truncate_file(sqlite3_file *opened, sqlite3_int64 size)
{
    return fails(FAILING_TRUNCATE, EIO) ? SQLITE_IOERR_TRUNCATE : CALL(opened, xTruncate, size);
}

static int sync_file(sqlite3_file *opened, int flags)
{
    return fails(FAILING_SYNC, EIO) ? SQLITE_IOERR_FSYNC : CALL(opened, xSync, flags);
}

static int size_of_file(sqlite3_file *opened, sqlite3_int64 *size)
{
    return fails(FAILING_FILE_SIZE, EIO) ? SQLITE_IOERR_FSTAT : CALL(opened, xFileSize, size);
}

static int lock_file(sqlite3_file *opened, int level)
{
    return fails(FAILING_LOCK, EIO) ? SQLITE_IOERR_LOCK : CALL(opened, xLock, level);
}

static int unlock_file(sqlite3_file *opened, int level)
{
    return CALL(opened, xUnlock, level);
}

static int check_reserved_lock(sqlite3_file *opened, int *result)
{
    return CALL(opened, xCheckReservedLock, result);
}

static int control_file(sqlite3_file *opened, int operation, void *argument)
{
    return CALL(opened, xFileControl, operation, argument);
}

static int sector_size(sqlite3_file *opened)
{
    return ASK(opened, xSectorSize);
}

static int characteristics(sqlite3_file *opened)
{
    return ASK(opened, xDeviceCharacteristics);
}

static int map_shared(sqlite3_file *opened, int page, int size, int extend, void volatile **memory)
{
    return fails(FAILING_SHARE, EIO) ? SQLITE_IOERR_SHMMAP
                                     : CALL(opened, xShmMap, page, size, extend, memory);
}

static int lock_shared(sqlite3_file *opened, int offset, int count, int flags)
{
    bool takes = (flags & SQLITE_SHM_LOCK) != 0;
    return takes && fails(FAILING_LOCK, EIO) ? SQLITE_IOERR_SHMLOCK
                                             : CALL(opened, xShmLock, offset, count, flags);
}

static void shared_barrier(sqlite3_file *opened)
{
    ASK(opened, xShmBarrier);
}

static int unmap_shared(sqlite3_file *opened, int remove)
{
    return CALL(opened, xShmUnmap, remove);
}

static const sqlite3_io_methods methods = {
    .iVersion = 2, /* no xFetch: each page is read */
    .xClose = close_file,
    .xRead = read_file,
    .xWrite = write_file,
    .xTruncate = truncate_file,
    .xSync = sync_file,
    .xFileSize = size_of_file,
    .xLock = lock_file,
    .xUnlock = unlock_file,
    .xCheckReservedLock = check_reserved_lock,
    .xFileControl = control_file,
    .xSectorSize = sector_size,
    .xDeviceCharacteristics = characteristics,
    .xShmMap = map_shared,
    .xShmLock = lock_shared,
    .xShmBarrier = shared_barrier,
    .xShmUnmap = unmap_shared,
};

static int open_file(sqlite3_vfs *vfs, const char *name, sqlite3_file *opened, int flags, int *given)
{
    (void)vfs;
    opened->pMethods = NULL;
    if (fails(FAILING_OPEN, EIO)) return SQLITE_CANTOPEN;
    file *own = (file *)opened;
    own->real = (sqlite3_file *)(own + 1);
    int rc = below->xOpen(below, name, own->real, flags, given);
    if (own->real->pMethods != NULL) opened->pMethods = &methods;
    return rc;
}

static int delete_file(sqlite3_vfs *vfs, const char *name, int sync)
{
    (void)vfs;
    return fails(FAILING_DELETE, EIO) ? SQLITE_IOERR_DELETE : below->xDelete(below, name, sync);
}

static int access_file(sqlite3_vfs *vfs, const char *name, int flags, int *result)
{
    (void)vfs;
    return fails(FAILING_ACCESS, EIO) ? SQLITE_IOERR_ACCESS : below->xAccess(below, name, flags, result);
}

void failing_files_install(void)
{
    static sqlite3_vfs shim;
    if (below != NULL) return;
    below = sqlite3_vfs_find(NULL);
    shim = *below;
    shim.pNext = NULL;
    shim.zName = "failing";
    shim.szOsFile = (int)sizeof(file) + below->szOsFile;
    shim.xOpen = open_file;
    shim.xDelete = delete_file;
    shim.xAccess = access_file;
    sqlite3_vfs_register(&shim, 1);
}
