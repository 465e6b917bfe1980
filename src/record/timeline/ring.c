/* What a writer stores in the run's folder: ring files, interned texts with their names file, and the page of
 * records that had no ring. */
#include "record/timeline/ring.h"

#include "base/clock.h"
#include "base/private_file.h"
#include "base/search.h"
#include "record/timeline/identity.h"
#include "record/timeline/ring_format.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* ---- ring files */

/* Unique in this process; files of an earlier program with the same pid (exec) may already use a number. */
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

/* Reserves the pages now: a hole that cannot be filled later would be a SIGBUS in the program. */
static int reserve(int fd, const jm__ring_options *options, uint32_t *capacity, size_t *bytes)
{
    struct statvfs space;
    uint64_t max_bytes = UINT64_MAX;
    if (fstatvfs(fd, &space) == 0) max_bytes = (uint64_t)space.f_bavail * space.f_frsize / options->share;
    struct rlimit limit; /* exceeding it raises SIGXFSZ, which kills */
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < max_bytes) max_bytes = limit.rlim_cur;
    /* Before Linux 6.9 a signal undoes what tmpfs has reserved so far: under a profiler's timer (setitimer
     * every 10 ms) 64 MiB would never finish. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = ENOSPC;
    for (*capacity = options->capacity; *capacity >= options->capacity_least; *capacity /= 2) {
        *bytes = JM_RING_HEADER_SIZE + (size_t)*capacity * options->record_size;
        if (*bytes > max_bytes) continue;
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

static int create_once(jm__ring *ring, const jm__ring_options *options)
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
    int error = EBADF; /* the program may have just closed all descriptors, ours included */
    for (int tries = 0; tries < CLOSED_TRIES && error == EBADF; tries++)
        error = create_once(ring, options);
    return error;
}

void jm__ring_close(jm__ring *ring, bool ours)
{
    if (ring->header == NULL) return;
    if (ours) atomic_store_explicit(&ring->header->closed, 1, memory_order_release);
    munmap(ring->header, ring->mapped_bytes);
    memset(ring, 0, sizeof *ring);
}

/* ---- names */

#define FILES_TRIED 4096

/* A key of the map; during lookups its text is not NUL-terminated. */
typedef struct name_key {
    const char *text;
    size_t length;
} name_key;

static uint64_t hash_of(const void *key)
{
    const name_key *name = key;
    return jm__map_hash_bytes(0, name->text, name->length);
}

static bool is_equal(const void *key, const void *another)
{
    const name_key *a = key, *b = another;
    return a->length == b->length && memcmp(a->text, b->text, a->length) == 0;
}

/* Writes an entry with one write(2), completely or not at all: a torn entry would shift all later ones. */
static bool write_entry(int fd, uint32_t number, const char *text, uint32_t length)
{
    uint32_t head[2] = {number, length};
    union {
        const char *from;
        void *to;
    } borrowed = {.from = text}; /* writev takes no const */
    struct iovec parts[2] = {{head, sizeof head}, {borrowed.to, length}};
    ssize_t needed = (ssize_t)(sizeof head + length);
    off_t before = lseek(fd, 0, SEEK_END);
    ssize_t written;
    struct rlimit limit; /* exceeding it raises SIGXFSZ, which kills */
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && (before < 0 || (rlim_t)(before + needed) > limit.rlim_cur))
        return false;
    do {
        written = writev(fd, parts, 2);
    } while (written < 0 && errno == EINTR);
    if (written == needed) return true;
    if (written > 0 && before >= 0 && ftruncate(fd, before) != 0) return false;
    return false;
}

/* -1: no file, or it is lost. */
static int file_of(jm__names *names)
{
    return names->path == NULL ? -1 : jm__kept_file_fd(&names->file, names->path, O_WRONLY | O_APPEND);
}

static bool write_pending(jm__names *names)
{
    int fd = file_of(names);
    if (fd < 0) return false;
    for (; names->written < names->entries.count; names->written++) {
        const jm__names_entry *entry = &names->entries.items[names->written];
        if (!write_entry(fd, entry->number, entry->text, entry->length)) return false;
    }
    return true;
}

/* Returns an errno. */
static int keep_names_file(jm__names *names, int fd, const char *run_dir, const char *name)
{
    size_t size = strlen(run_dir) + strlen(name) + 2;
    bool kept = jm__kept_file_set(&names->file, fd);
    names->path = malloc(size);
    if (!kept || names->path == NULL) {
        jm__names_close(names);
        return ENOMEM;
    }
    snprintf(names->path, size, "%s/%s", run_dir, name);
    write_pending(names);
    return 0;
}

static int open_names_in(int folder, jm__names *names, const char *run_dir, uint32_t writer)
{
    for (uint32_t k = 0; k < FILES_TRIED; k++) {
        char name[NAME_MAX], suffix[16] = "";
        if (k > 0) snprintf(suffix, sizeof suffix, "-%u", k);
        snprintf(name, sizeof name, "%d-%c%s" JM_NAMES_SUFFIX, (int)getpid(), (char)writer, suffix);
        int fd = jm__private_file_at(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_APPEND);
        if (fd < 0 && errno == EEXIST) continue;
        if (fd < 0) return errno;
        names->file_number = k;
        return keep_names_file(names, fd, run_dir, name);
    }
    return EEXIST;
}

int jm__names_open(jm__names *names, const char *run_dir, uint32_t writer)
{
    jm__names_close(names);
    int folder = jm__private_folder(run_dir);
    if (folder < 0) return errno;
    int error = open_names_in(folder, names, run_dir, writer);
    close(folder);
    return error;
}

void jm__names_close(jm__names *names)
{
    jm__kept_file_close(&names->file);
    free(names->path);
    names->path = NULL;
    names->written = 0;
}

void jm__names_free(jm__names *names)
{
    jm__names_close(names);
    for (size_t i = 0; i < names->entries.count; i++)
        free(names->entries.items[i].text);
    jm__vec_free(&names->entries);
    jm__vec_free(&names->once);
    jm__map_free(&names->indices);
    memset(names, 0, sizeof *names);
}

static const jm__names_entry *append_text(jm__names *names, const char *text, size_t length)
{
    size_t count = names->entries.count;
    if (count >= JM_NAMES_MAX || !jm__vec_reserve(&names->entries, count + 1)) return NULL;
    char *copy = strndup(text, length);
    if (copy == NULL) return NULL;
    name_key key = {copy, length};
    if (names->indices.key_size == 0) /* zeroed by its owner until now */
        names->indices = (jm__map){.key_size = sizeof key, .hash = hash_of, .equal = is_equal};
    if (!jm__map_put(&names->indices, &key, (jm__map_value){.id = (int64_t)count})) {
        free(copy);
        return NULL;
    }
    jm__names_entry *entry = &names->entries.items[names->entries.count++];
    *entry = (jm__names_entry){++names->last_number, (uint32_t)length, copy};
    return entry;
}

uint32_t jm__names_intern(jm__names *names, const char *text, size_t length)
{
    if (length == 0) return 0;
    if (length > JM_NAME_MAX) {
        names->refused++;
        return 0;
    }
    name_key key = {text, length};
    const jm__map_value *found = jm__map_find(&names->indices, &key);
    if (found != NULL) {
        /* An earlier write may have failed (disk full), so write what is pending. */
        if (names->written < names->entries.count) write_pending(names);
        return names->entries.items[found->id].number;
    }
    const jm__names_entry *entry = append_text(names, text, length);
    if (entry == NULL) {
        names->refused++;
        return 0;
    }
    write_pending(names);
    return entry->number;
}

/* 0: no memory. */
static uint32_t next_once_number(jm__names *names)
{
    if (names->once.count == JM_NAMES_ONCE_MAX) {
        uint32_t number = names->once.items[names->once_next];
        names->once_next = (names->once_next + 1) % JM_NAMES_ONCE_MAX;
        return number;
    }
    return jm__vec_push(&names->once, names->last_number + 1) ? ++names->last_number : 0;
}

uint32_t jm__names_write_once(jm__names *names, const char *text, size_t length)
{
    int fd = file_of(names);
    if (length == 0 || length > JM_NAME_MAX || fd < 0) return 0;
    uint32_t number = next_once_number(names);
    if (number == 0) return 0;
    return write_entry(fd, number, text, (uint32_t)length) ? number : 0;
}

const char *jm__names_text(const jm__names *names, uint32_t number)
{
    /* Numbers increase with the index, with gaps for texts used once. */
    size_t at;
    jm__search(at, names->entries.count, names->entries.items[at].number < number);
    bool is_known = at < names->entries.count && names->entries.items[at].number == number;
    return is_known ? names->entries.items[at].text : NULL;
}

/* ---- the page `lost` */

/* The address of the page never changes during the life of the process, only its mapping does, so counting is
 * safe at any time. Without memory for a page: `nowhere`. */
static jm_lost_counts nowhere;
static jm_lost_counts *_Atomic page = &nowhere;
static bool in_run;

int jm__lost_create(const char *run_dir)
{
    jm_lost_counts none;
    memset(&none, 0, sizeof none);
    int fd = jm__private_file(run_dir, JM_LOST_FILE, O_WRONLY | O_CREAT | O_EXCL);
    if (fd < 0) return errno;
    ssize_t written = write(fd, &none, sizeof none); /* written, so its memory exists: no SIGBUS later */
    int error = written < 0 ? errno : written == (ssize_t)sizeof none ? 0 : ENOSPC;
    close(fd);
    return error;
}

bool jm__lost_read(const char *run_dir, uint64_t counts[JM_LOST_KINDS])
{
    int fd = jm__private_file(run_dir, JM_LOST_FILE, O_RDONLY);
    if (fd < 0) return false;
    ssize_t needed = (ssize_t)sizeof(uint64_t) * JM_LOST_KINDS;
    bool whole = read(fd, counts, (size_t)needed) == needed;
    close(fd);
    return whole;
}

/* Maps another page at the address; with `transfers` the counts so far are added to it. */
static bool change_page(int fd, bool transfers)
{
    jm_lost_counts *now = atomic_load(&page);
    uint64_t counted[JM_LOST_KINDS];
    for (int kind = 0; kind < JM_LOST_KINDS; kind++)
        counted[kind] = transfers ? atomic_load(&now->of[kind]) : 0;
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
    if (in_run) return true;
    int fd = jm__private_file(run_dir, JM_LOST_FILE, O_RDWR);
    if (fd < 0) return false;
    off_t size = lseek(fd, 0, SEEK_END);
    in_run = size >= (off_t)sizeof nowhere && change_page(fd, true);
    close(fd);
    return in_run;
}

void jm__lost_leave(void)
{
    if (in_run && change_page(-1, false)) in_run = false;
}

void jm__lost_forget(void)
{
    if (in_run) return; /* the page belongs to the run, like the child */
    jm_lost_counts *own = atomic_load(&page);
    for (int kind = 0; kind < JM_LOST_KINDS; kind++)
        atomic_store(&own->of[kind], 0);
}

void jm__lost_add(jm_lost_kind kind, uint64_t count)
{
    atomic_fetch_add_explicit(&atomic_load(&page)->of[kind], count, memory_order_relaxed);
}
