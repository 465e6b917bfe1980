/* Making and closing a ring file. */
#include "record/timeline/ring.h"

#include "base/clock.h"
#include "base/private_file.h"
#include "record/timeline/identity.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The number only has to be new in this process; files of an earlier program of the same pid
 * (exec) may hold some already. */
static _Atomic uint32_t next_number;

#define NUMBERS_TRIED 65536

static int open_new(int folder, const jm__ring_options *options, char name[NAME_MAX], uint32_t *number)
{
    for (int i = 0; i < NUMBERS_TRIED; i++) {
        *number = atomic_fetch_add_explicit(&next_number, 1, memory_order_relaxed);
        snprintf(name, NAME_MAX, "%d-%c-%u" JM_RING_SUFFIX, (int)getpid(), (char)options->writer, *number);
        int fd = jm__private_file_at(folder, name, O_RDWR | O_CREAT | O_EXCL);
        if (fd >= 0 || errno != EEXIST) return fd;
    }
    return -1;
}

#define CLOSED_TRIES 3

/* Reserve the pages now: a hole that cannot be filled later would be a SIGBUS in somebody's program. */
static int reserve(int fd, const jm__ring_options *options, uint32_t *capacity, size_t *bytes)
{
    struct statvfs space;
    uint64_t most = UINT64_MAX;
    if (fstatvfs(fd, &space) == 0) most = (uint64_t)space.f_bavail * space.f_frsize / options->share;
    struct rlimit limit; /* passing it would be a SIGXFSZ, which kills */
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < most) most = limit.rlim_cur;
    /* Before Linux 6.9 a signal takes back what tmpfs has reserved so far: under a profiler's timer
     * (setitimer every 10 ms) 64 MiB would never be done. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = ENOSPC;
    for (*capacity = options->capacity; *capacity >= options->capacity_least; *capacity /= 2) {
        *bytes = JM_RING_HEADER_SIZE + (size_t)*capacity * options->record_size;
        if (*bytes > most) continue;
        do {
            error = posix_fallocate(fd, 0, (off_t)*bytes);
        } while (error == EINTR);
        if (error == 0) break;
        if (ftruncate(fd, 0) != 0) {
            error = errno;
            break;
        }
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

static void fill_header(jm_ring_header *header, const jm__ring_options *options, uint32_t capacity)
{
    header->record_size = options->record_size;
    header->capacity = capacity;
    header->pid = getpid();
    header->tid = (int32_t)syscall(SYS_gettid);
    header->writer = options->writer;
    header->realtime = options->realtime;
    header->names_file = options->names_file;
    header->created_ns = jm__now_ns();
    header->ahead_ns = jm__clock_ahead_ns();
    jm__identity_read(JM_SELF, (void *)((char *)header + JM_RING_IDENTITY_AT));
    atomic_store_explicit(&header->magic, JM_RING_MAGIC, memory_order_release);
}

static int create_in(int folder, jm__ring *ring, const jm__ring_options *options)
{
    char name[NAME_MAX];
    uint32_t number = 0, capacity = 0;
    size_t bytes = 0;
    int fd = open_new(folder, options, name, &number);
    if (fd < 0) return errno;
    int error = reserve(fd, options, &capacity, &bytes);
    void *map = MAP_FAILED;
    if (error == 0) {
        map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (map == MAP_FAILED) error = errno;
    }
    if (error != EBADF) close(fd);
    if (error != 0) {
        unlinkat(folder, name, 0);
        return error;
    }
    fill_header(map, options, capacity);
    *ring = (jm__ring){.header = map,
                       .records = (char *)map + JM_RING_HEADER_SIZE,
                       .capacity = capacity,
                       .mapped_bytes = bytes,
                       .number = number};
    return 0;
}

static int create(jm__ring *ring, const jm__ring_options *options)
{
    memset(ring, 0, sizeof *ring);
    int folder = jm__private_folder(options->run_dir);
    if (folder < 0) return errno;
    int error = create_in(folder, ring, options);
    if (error != EBADF) close(folder);
    return error;
}

int jm__ring_create(jm__ring *ring, const jm__ring_options *options)
{
    int error = EBADF; /* the program has just closed all descriptors, and ours with them */
    for (int tries = 0; tries < CLOSED_TRIES && error == EBADF; tries++)
        error = create(ring, options);
    return error;
}

void jm__ring_close(jm__ring *ring, bool ours)
{
    if (ring->header == NULL) return;
    if (ours) atomic_store_explicit(&ring->header->closed, 1, memory_order_release);
    munmap(ring->header, ring->mapped_bytes);
    memset(ring, 0, sizeof *ring);
}
