/* What found no ring to be written into, counted where the recorder sees it. */
#include "record/timeline/lost.h"

#include "base/private_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The page stays where it is for the life of the process and only what lies behind it changes, so that
 * whoever counts just then always has one. Without the memory for it: `nowhere`. */
static jm_lost_counts nowhere;
static jm_lost_counts *_Atomic page = &nowhere;
static bool joined;

int jm__lost_create(const char *run_dir)
{
    jm_lost_counts none;
    memset(&none, 0, sizeof none);
    int fd = jm__private_file(run_dir, JM_LOST_FILE, O_WRONLY | O_CREAT | O_EXCL);
    if (fd < 0) return errno;
    ssize_t written = write(fd, &none, sizeof none); /* written, so its page is there: no SIGBUS later */
    int error = written < 0 ? errno : written == (ssize_t)sizeof none ? 0 : ENOSPC;
    close(fd);
    return error;
}

bool jm__lost_read(const char *run_dir, uint64_t counts[JM_LOST_KINDS])
{
    int fd = jm__private_file(run_dir, JM_LOST_FILE, O_RDONLY);
    if (fd < 0) return false;
    ssize_t wanted = (ssize_t)sizeof(uint64_t) * JM_LOST_KINDS;
    bool whole = read(fd, counts, (size_t)wanted) == wanted;
    close(fd);
    return whole;
}

/* Put another page behind the address; what the one before had counted goes on where `hand_on`. */
static bool change_page(int fd, bool hand_on)
{
    jm_lost_counts *now = atomic_load(&page);
    uint64_t counted[JM_LOST_KINDS];
    for (int kind = 0; kind < JM_LOST_KINDS; kind++)
        counted[kind] = hand_on ? atomic_load(&now->of[kind]) : 0;
    int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
    void *place = now == &nowhere ? NULL : now;
    void *map =
        mmap(place, sizeof nowhere, PROT_READ | PROT_WRITE, flags | (place == NULL ? 0 : MAP_FIXED), fd, 0);
    if (map == MAP_FAILED) return false;
    atomic_store(&page, map);
    for (int kind = 0; kind < JM_LOST_KINDS; kind++)
        if (counted[kind] > 0) jm__lost_add((jm_lost_kind)kind, counted[kind]);
    return true;
}

bool jm__lost_join(const char *run_dir)
{
    if (joined) return true;
    int fd = jm__private_file(run_dir, JM_LOST_FILE, O_RDWR);
    if (fd < 0) return false;
    off_t size = lseek(fd, 0, SEEK_END);
    joined = size >= (off_t)sizeof nowhere && change_page(fd, true);
    close(fd);
    return joined;
}

void jm__lost_leave(void)
{
    if (joined && change_page(-1, false)) joined = false;
}

void jm__lost_forget(void)
{
    if (joined) return; /* the page is the run's, and so is the child */
    jm_lost_counts *own = atomic_load(&page);
    for (int kind = 0; kind < JM_LOST_KINDS; kind++)
        atomic_store(&own->of[kind], 0);
}

void jm__lost_add(jm_lost_kind kind, uint64_t count)
{
    atomic_fetch_add_explicit(&atomic_load(&page)->of[kind], count, memory_order_relaxed);
}
