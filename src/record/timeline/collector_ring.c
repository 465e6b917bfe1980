/* One ring: mapped, and read by copies, as its file may be cut short at any time. */
#include "base/mapped.h"
#include "base/private_file.h"
#include "record/timeline/collector_parts.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define TAIL_EVERY  4096u  /* records between two releases of room to the producer */
#define CHUNK_BYTES 16384u /* of records copied at once: as fast as more, and little for a thousand rings */

static bool header_makes_sense(const jm_ring_header *header, off_t file_bytes)
{
    bool spans = header->writer == JM_WRITER_CORE || header->writer == JM_WRITER_NVTX;
    size_t record_size = spans ? sizeof(jm_ring_span) : sizeof(jm_ring_kernel);
    uint64_t capacity = header->capacity;
    return (spans || header->writer == JM_WRITER_INJECT) && header->record_size == record_size &&
           capacity > 0 && (capacity & (capacity - 1)) == 0 && header->pid > 0 &&
           (uint64_t)file_bytes >= JM_RING_HEADER_SIZE + capacity * record_size;
}

/* Map a ring and copy its header; false if it is none, or none yet. */
bool jm__collector_ring_map(collector_reader *reader, int folder, jm_ring_header *first)
{
    int fd = jm__private_file_at(folder, reader->name, O_RDWR);
    if (fd < 0) return false;
    struct stat file;
    void *map = MAP_FAILED;
    if (fstat(fd, &file) == 0 && file.st_size >= (off_t)JM_RING_HEADER_SIZE)
        map = mmap(NULL, (size_t)file.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (map == MAP_FAILED) return false;
    reader->header = map;
    reader->mapped_bytes = (size_t)file.st_size;
    reader->records = (const char *)map + JM_RING_HEADER_SIZE;
    /* The magic number is stored last, so the rest is read after it. */
    uint64_t magic = 0;
    bool valid = jm__mapped_read(&magic, &reader->header->magic, sizeof magic) && magic == JM_RING_MAGIC;
    atomic_thread_fence(memory_order_acquire);
    if (!valid || !jm__mapped_read(first, map, sizeof *first) || !header_makes_sense(first, file.st_size)) {
        munmap(map, reader->mapped_bytes);
        return false;
    }
    reader->capacity = first->capacity;
    reader->record_size = first->record_size;
    reader->tail = atomic_load_explicit(&first->tail, memory_order_relaxed);
    return true;
}

/* Anything may stand there: what is no time stays none, or becomes another. */
int64_t jm__collector_time_here(const collector_reader *reader, int64_t t_ns)
{
    return (int64_t)((uint64_t)t_ns + reader->later_ns);
}

void jm__collector_ring_free(collector_reader *reader)
{
    if (reader->header != NULL) munmap(reader->header, reader->mapped_bytes);
    free(reader->chunk);
    free(reader->name);
    free(reader);
}

/* What it still held, as far as we know, and all that comes after. */
static void give_up(jm__collector *collector, collector_reader *reader)
{
    uint64_t known = reader->head - reader->tail;
    jm__collector_tell_loss(
        collector, reader->process->row_id, known == 0 ? 1 : known, "ring",
        "the file of a ring was cut short: these records and all later ones of it are gone");
    reader->tail = reader->head;
    reader->ended = true;
}

static void tell_lost(jm__collector *collector, collector_reader *reader, const jm_ring_header *header)
{
    uint64_t lost = atomic_load_explicit(&header->lost, memory_order_relaxed);
    if (lost > reader->lost_told) {
        jm__collector_tell_loss(collector, reader->process->row_id, lost - reader->lost_told, "ring",
                                reader->writer == JM_WRITER_INJECT ? "the ring of kernel records was full"
                                                                   : "the ring of a thread's spans was full");
    }
    reader->lost_told = lost;
    uint64_t refused = atomic_load_explicit(&header->names_refused, memory_order_relaxed);
    if (refused > reader->names_refused_told)
        reader->process->refused_names += refused - reader->names_refused_told;
    reader->names_refused_told = refused;
}

void jm__collector_ring_look(jm__collector *collector, collector_reader *reader)
{
    jm_ring_header header; /* before `head`: what it promises is below that head */
    bool dead = reader->process->dead;
    bool there = jm__mapped_read(&header, reader->header, sizeof header);
    atomic_thread_fence(memory_order_acquire);
    if (!there || !jm__mapped_read_head(&reader->head, &reader->header->head)) {
        give_up(collector, reader);
        return;
    }
    reader->ended = dead || atomic_load_explicit(&header.closed, memory_order_relaxed) != 0;
    int64_t flushed_ns = atomic_load_explicit(&header.flushed_ns, memory_order_relaxed);
    reader->flushed_ns = flushed_ns == 0 ? 0 : jm__collector_time_here(reader, flushed_ns);
    if (reader->flushed_ns > reader->process->flushed_ns) reader->process->flushed_ns = reader->flushed_ns;
    if (reader->head - reader->tail > reader->capacity) { /* not ours: a damaged file */
        reader->process->malformed++;
        reader->tail = reader->head;
    }
    tell_lost(collector, reader, &header);
}

static void publish_tail(collector_reader *reader)
{
    atomic_thread_fence(memory_order_release);
    jm__mapped_write(&reader->header->tail, &reader->tail, sizeof reader->tail);
}

void jm__collector_ring_advance(jm__collector *collector, collector_reader *reader)
{
    reader->tail++;
    collector->taken++;
    if (reader->tail % TAIL_EVERY == 0) publish_tail(reader);
}

/* Records from `tail` on, at most as many as lie in one piece. */
static uint64_t count_chunk(const collector_reader *reader, uint64_t at)
{
    uint64_t count = CHUNK_BYTES / reader->record_size;
    if (count > reader->head - reader->tail) count = reader->head - reader->tail;
    return count < reader->capacity - at ? count : reader->capacity - at;
}

static void set_time(const collector_reader *reader, int64_t *t_ns)
{
    *t_ns = jm__collector_time_here(reader, *t_ns);
}

/* Stamps of the program's clock into ours. CLOCK_REALTIME is one for all. */
static void set_times(const collector_reader *reader)
{
    if (reader->later_ns == 0 || reader->realtime) return;
    for (uint64_t i = 0; i < reader->chunk_count; i++) {
        void *record = reader->chunk + i * reader->record_size;
        if (reader->writer != JM_WRITER_INJECT) {
            set_time(reader, &((jm_ring_span *)record)->t_ns);
            continue;
        }
        set_time(reader, &((jm_ring_kernel *)record)->start_ns);
        set_time(reader, &((jm_ring_kernel *)record)->end_ns);
    }
}

/* Copy records from `tail` on; false if there are none, or no memory. Those of a part of the file that is
 * gone are counted. */
static bool load_chunk(jm__collector *collector, collector_reader *reader)
{
    if (reader->chunk == NULL) reader->chunk = malloc(CHUNK_BYTES);
    if (reader->chunk == NULL) collector->out_of_memory = true;
    if (reader->chunk == NULL) return false;
    while (reader->tail != reader->head) {
        uint64_t at = reader->tail & (reader->capacity - 1), count = count_chunk(reader, at);
        const char *from = reader->records + at * reader->record_size;
        reader->chunk_from = reader->tail;
        reader->chunk_count = count;
        if (jm__mapped_read(reader->chunk, from, count * reader->record_size)) {
            set_times(reader);
            return true;
        }
        jm__collector_tell_loss(collector, reader->process->row_id, count, "ring",
                                "the file of a ring was cut short: these records are gone");
        reader->tail += count;
        reader->chunk_count = 0;
    }
    return false;
}

bool jm__collector_ring_has_record(jm__collector *collector, collector_reader *reader)
{
    if (reader->tail == reader->head) return false;
    return reader->tail - reader->chunk_from < reader->chunk_count || load_chunk(collector, reader);
}

const void *jm__collector_ring_next(const collector_reader *reader)
{
    return reader->chunk + (reader->tail - reader->chunk_from) * reader->record_size;
}

void jm__collector_ring_release(collector_reader *reader)
{
    publish_tail(reader);
    if (reader->tail != reader->head) return;
    free(reader->chunk);
    reader->chunk = NULL;
    reader->chunk_count = 0;
}
