/* Find and read the rings of a run's folder without their writers' and the recorder's knowing. */
#include "ring_watch.h"

#include "base/mapped.h"
#include "shared.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAMES_MAX    (1u << 20)
#define NAME_BYTES   65536u
#define CAPACITY_MAX (1u << 26)
#define CHUNK        512 /* records copied at once */

bool sim_ring_watch_open(sim_ring_watch *watch, const char *run_dir)
{
    memset(watch, 0, sizeof *watch);
    watch->run_dir = strdup(run_dir);
    return watch->run_dir != NULL;
}

static void unmap(const jm_ring_header *header, size_t bytes)
{
    union {
        const void *borrowed;
        void *address;
    } map = {header};
    munmap(map.address, bytes);
}

void sim_ring_watch_drop(sim_ring_watch *watch, int ring)
{
    sim_ring *one = &watch->rings[ring];
    if (one->header != NULL) unmap(one->header, one->mapped);
    one->header = NULL;
    one->done = true;
}

void sim_ring_watch_close(sim_ring_watch *watch)
{
    for (int i = 0; i < watch->ring_count; i++) {
        sim_ring_watch_drop(watch, i);
        free(watch->rings[i].path);
    }
    for (int i = 0; i < watch->writer_count; i++) {
        sim_writer *writer = &watch->writers[i];
        for (uint32_t k = 0; k < writer->name_size; k++)
            free(writer->names[k]);
        free(writer->names);
        free(writer->names_path);
        if (writer->names_fd >= 0) close(writer->names_fd);
    }
    free(watch->rings);
    free(watch->writers);
    free(watch->run_dir);
    memset(watch, 0, sizeof *watch);
}

/* A board's index; -1: none. */
static int read_index(const char *text)
{
    char *end;
    long index = strtol(text, &end, 10);
    return end != text && *end == '\0' && index >= 0 && index < SIM_BOARDS ? (int)index : -1;
}

/* A program says on which board its work runs: JOULEMAP_SIM_BOARD, else LOCAL_RANK in its environment, else
 * 0. */
static int find_board(int32_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/environ", pid);
    FILE *in = fopen(path, "re");
    if (in == NULL) return 0;
    int rank = -1;
    int board = -1;
    char *entry = NULL;
    size_t size = 0;
    while (getdelim(&entry, &size, '\0', in) > 0) {
        if (strncmp(entry, "LOCAL_RANK=", 11) == 0) rank = read_index(entry + 11);
        if (strncmp(entry, "JOULEMAP_SIM_BOARD=", 19) == 0) board = read_index(entry + 19);
    }
    free(entry);
    fclose(in);
    board = board >= 0 ? board : rank;
    return board >= 0 ? board : 0;
}

/* Nothing but a plain file: what else has the name of one may be waited for, or have no end. -1: none. */
static int open_plain(const char *path)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || (fstat(fd, &status) == 0 && S_ISREG(status.st_mode))) return fd;
    close(fd);
    errno = EPERM;
    return -1;
}

static int find_writer(sim_ring_watch *watch, const jm_ring_header *header)
{
    for (int i = 0; i < watch->writer_count; i++) {
        sim_writer *writer = &watch->writers[i];
        if (writer->pid == header->pid && writer->letter == header->writer &&
            writer->program == header->names_file) {
            if (header->created_ns < writer->created_ns) writer->created_ns = header->created_ns;
            return i;
        }
    }
    sim_writer *grown = realloc(watch->writers, (size_t)(watch->writer_count + 1) * sizeof *grown);
    if (grown == NULL) return -1;
    watch->writers = grown;
    sim_writer *writer = &watch->writers[watch->writer_count];
    *writer = (sim_writer){.pid = header->pid,
                           .letter = header->writer,
                           .program = header->names_file,
                           .board = find_board(header->pid),
                           .names_fd = -1,
                           .created_ns = header->created_ns,
                           .dead_ns = INT64_MAX};
    char number[16] = "";
    if (header->names_file > 0) snprintf(number, sizeof number, "-%u", header->names_file);
    if (asprintf(&writer->names_path, "%s/%d-%c%s%s", watch->run_dir, header->pid, (char)header->writer,
                 number, JM_NAMES_SUFFIX) < 0) {
        writer->names_path = NULL;
        return -1;
    }
    writer->names_fd = open_plain(writer->names_path); /* a dead program's file goes */
    return watch->writer_count++;
}

static bool is_of_spans(const jm_ring_header *header, off_t bytes)
{
    uint64_t capacity = header->capacity;
    return header->record_size == sizeof(jm_ring_span) && header->realtime == 0 && capacity > 0 &&
           capacity <= CAPACITY_MAX && (capacity & (capacity - 1)) == 0 &&
           JM_RING_HEADER_SIZE + capacity * sizeof(jm_ring_span) <= (uint64_t)bytes;
}

/* Map a ring once it is valid; what is none, or not for us, is done with. */
static void map_ring(sim_ring_watch *watch, sim_ring *ring)
{
    int fd = open_plain(ring->path);
    struct stat status;
    jm_ring_header header;
    ring->done = fd < 0 && errno != EMFILE && errno != ENFILE;
    if (fd < 0) return;
    bool there = fstat(fd, &status) == 0 && status.st_size > (off_t)JM_RING_HEADER_SIZE;
    void *memory = there ? mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;
    close(fd);
    if (memory == MAP_FAILED) return;
    /* The magic number is stored last, so the rest is read after it. */
    uint64_t magic = 0;
    bool valid = jm__mapped_read(&magic, memory, sizeof magic) && magic == JM_RING_MAGIC &&
                 jm__mapped_read(&header, memory, sizeof header);
    ring->done = valid && !is_of_spans(&header, status.st_size);
    ring->writer = valid && !ring->done ? find_writer(watch, &header) : -1;
    if (ring->writer < 0) {
        munmap(memory, (size_t)status.st_size);
        return;
    }
    ring->header = memory;
    ring->mapped = (size_t)status.st_size;
    ring->capacity = header.capacity;
    ring->created_ns = header.created_ns;
}

static void add_ring(sim_ring_watch *watch, const char *name)
{
    char *path = NULL;
    if (asprintf(&path, "%s/%s", watch->run_dir, name) < 0) return;
    for (int i = 0; i < watch->ring_count; i++) {
        if (strcmp(watch->rings[i].path, path) == 0) {
            free(path);
            return;
        }
    }
    sim_ring *grown = realloc(watch->rings, (size_t)(watch->ring_count + 1) * sizeof *grown);
    if (grown == NULL) {
        free(path);
        return;
    }
    watch->rings = grown;
    watch->rings[watch->ring_count++] = (sim_ring){.path = path};
}

/* Gone, or a zombie: it will write no more. */
static bool is_dead(int32_t pid)
{
    char path[64];
    char text[512];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return errno == ENOENT;
    ssize_t length = read(fd, text, sizeof text - 1);
    close(fd);
    if (length <= 0) return true;
    text[length] = '\0';
    const char *state = strrchr(text, ')'); /* the command before it may hold anything */
    return state != NULL && state[1] == ' ' && (state[2] == 'Z' || state[2] == 'X');
}

void sim_ring_watch_scan(sim_ring_watch *watch, int64_t now_ns, bool deaths)
{
    struct stat status;
    /* The folder's time stamp is coarse: look again for a second after it changed. */
    bool changed =
        stat(watch->run_dir, &status) == 0 &&
        sim_realtime_ns() - ((int64_t)status.st_mtim.tv_sec * 1000000000 + status.st_mtim.tv_nsec) <
            1000000000 + (now_ns - watch->scanned_ns);
    if (changed || watch->scanned_ns == 0) {
        DIR *folder = opendir(watch->run_dir);
        const struct dirent *entry;
        while (folder != NULL && (entry = readdir(folder)) != NULL) {
            size_t length = strlen(entry->d_name);
            size_t suffix = strlen(JM_RING_SUFFIX);
            if (length > suffix && strcmp(entry->d_name + length - suffix, JM_RING_SUFFIX) == 0)
                add_ring(watch, entry->d_name);
        }
        if (folder != NULL) closedir(folder);
    }
    watch->scanned_ns = now_ns;
    for (int i = 0; i < watch->ring_count; i++)
        if (watch->rings[i].header == NULL && !watch->rings[i].done) map_ring(watch, &watch->rings[i]);
    for (int i = 0; deaths && i < watch->writer_count; i++)
        if (watch->writers[i].dead_ns == INT64_MAX && is_dead(watch->writers[i].pid))
            watch->writers[i].dead_ns = now_ns;
}

/* Copies of the records from the cursor on, as many as lie together below `*head`, which goes on where the
 * writer has overwritten them meanwhile. False: the file was cut short. */
static bool read_chunk(const sim_ring *ring, uint64_t *head, jm_ring_span *chunk, size_t *count)
{
    const jm_ring_span *slots = (const jm_ring_span *)((const char *)ring->header + JM_RING_HEADER_SIZE);
    uint64_t at = ring->cursor & (ring->capacity - 1), wanted = *head - ring->cursor, again;
    if (wanted > CHUNK) wanted = CHUNK;
    if (wanted > ring->capacity - at) wanted = ring->capacity - at;
    *count = (size_t)wanted;
    if (!jm__mapped_read(chunk, slots + at, *count * sizeof *chunk) ||
        !jm__mapped_read_head(&again, &ring->header->head))
        return false;
    if (again > ring->capacity && again - ring->cursor >= ring->capacity) {
        *head = again;
        *count = 0;
    }
    return true;
}

size_t sim_ring_watch_take(sim_ring_watch *watch, int ring, int64_t until_ns, sim_record *records,
                           size_t size)
{
    sim_ring *from = &watch->rings[ring];
    jm_ring_span chunk[CHUNK];
    uint64_t head;
    size_t count = 0, copied = 0;
    if (from->header == NULL) return 0;
    if (!jm__mapped_read_head(&head, &from->header->head)) {
        sim_ring_watch_drop(watch, ring);
        return 0;
    }
    if (!from->announced && from->created_ns <= until_ns && size > 0) {
        records[count++] =
            (sim_record){.span = {.t_ns = from->created_ns, .op = SIM_RING_OPENED}, .ring = ring};
        from->announced = true;
    }
    while (from->cursor < head && count < size) {
        if (head - from->cursor >= from->capacity && head > from->capacity) {
            /* The slot of head - capacity may be under the writer's pen. */
            watch->overtaken += head - from->capacity + 1 - from->cursor;
            from->cursor = head - from->capacity + 1;
            from->broken = true;
        }
        if (!read_chunk(from, &head, chunk, &copied)) {
            sim_ring_watch_drop(watch, ring);
            return count;
        }
        for (size_t i = 0; i < copied && count < size; i++) {
            if (chunk[i].t_ns > until_ns) return count;
            records[count] = (sim_record){chunk[i], ring, (uint32_t)count, from->broken};
            from->broken = false;
            count++;
            from->cursor++;
        }
    }
    return count;
}

static bool keep_name(sim_writer *writer, uint32_t number, const char *text, uint32_t length)
{
    if (number == 0 || number > NAMES_MAX) return true;
    if (number >= writer->name_size) {
        uint32_t size = writer->name_size == 0 ? 256 : writer->name_size;
        while (size <= number)
            size *= 2;
        char **grown = realloc(writer->names, size * sizeof *grown);
        if (grown == NULL) return false;
        memset(grown + writer->name_size, 0, (size - writer->name_size) * sizeof *grown);
        writer->names = grown;
        writer->name_size = size;
    }
    if (writer->names[number] == NULL) writer->names[number] = strndup(text, length);
    return writer->names[number] != NULL;
}

/* Take what the names file holds beyond the last whole entry. */
static void read_names(sim_writer *writer)
{
    if (writer->names_fd < 0) writer->names_fd = open_plain(writer->names_path);
    if (writer->names_fd < 0) return;
    char *text = malloc(NAME_BYTES);
    uint32_t head[2];
    while (text != NULL && pread(writer->names_fd, head, sizeof head, writer->names_offset) == sizeof head) {
        if (head[1] > NAME_BYTES) break; /* not a names file */
        if (pread(writer->names_fd, text, head[1], writer->names_offset + (int64_t)sizeof head) !=
            (ssize_t)head[1])
            break;
        if (!keep_name(writer, head[0], text, head[1])) break;
        writer->names_offset += (int64_t)sizeof head + head[1];
    }
    free(text);
}

const char *sim_writer_name(sim_writer *writer, uint32_t number)
{
    if (number == 0) return "";
    if (number >= writer->name_size || writer->names[number] == NULL) read_names(writer);
    return number < writer->name_size && writer->names[number] != NULL ? writer->names[number] : "";
}
