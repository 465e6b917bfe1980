/* A program's spans as the simulated board sees them: rings written here, by their format alone. */
#ifndef TEST_SIM_RINGS_H
#define TEST_SIM_RINGS_H

#include "test_sim_library.h"

#include "record/timeline/ring_format.h"

#include <fcntl.h>
#include <sys/mman.h>

enum { FORWARD = 5, BACKWARD = 6, OPTIMIZER = 8, PHASE = 1, STEP = 3 }; /* jm_span_kind */
enum { NAME_A = 1, NAME_B, LINEAR, LAYER_NORM, ADAMW, ODD, TRACED_MARK, STEPS_MARK };

static const char *const names[] = {"",
                                    "model.a",
                                    "model.b",
                                    "Linear(768, 3072)",
                                    "LayerNorm((768,))",
                                    "AdamW",
                                    "Odd",
                                    "joulemap: traced from here",
                                    "joulemap: steps alone from here"};

typedef struct ring {
    jm_ring_header *header;
    jm_ring_span *slots;
    uint64_t next_id;
} ring;

static char run_dir[96];
static char truth[128];

/* Names of a writer; `program`: how often it has replaced itself. Its numbers go the other way round then. */
static inline void write_names(uint32_t program)
{
    char path[160], suffix[16] = "";
    if (program > 0) snprintf(suffix, sizeof suffix, "-%u", program);
    snprintf(path, sizeof path, "%s/%d-c%s%s", run_dir, (int)getpid(), suffix, JM_NAMES_SUFFIX);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    for (uint32_t i = 1; i < sizeof names / sizeof *names; i++) {
        const char *name = program == 0 ? names[i] : names[sizeof names / sizeof *names - i];
        uint32_t head[2] = {i, (uint32_t)strlen(name)};
        assert_int_equal(fwrite(head, sizeof head, 1, out), 1);
        assert_int_equal(fwrite(name, head[1], 1, out), 1);
    }
    fclose(out);
}

/* A ring as a program's thread makes it. */
static inline ring make_ring_of(uint32_t program, int number, uint32_t capacity)
{
    char path[160];
    snprintf(path, sizeof path, "%s/%d-c-%d%s", run_dir, (int)getpid(), number, JM_RING_SUFFIX);
    size_t size = JM_RING_HEADER_SIZE + (size_t)capacity * sizeof(jm_ring_span);
    int fd = open(path, O_RDWR | O_CREAT, 0600);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, (off_t)size), 0);
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_true(memory != MAP_FAILED);
    close(fd);
    ring made = {.header = memory, .slots = (jm_ring_span *)(void *)((char *)memory + JM_RING_HEADER_SIZE)};
    made.next_id = 1 + (uint64_t)number * 1000000;
    made.header->record_size = sizeof(jm_ring_span);
    made.header->capacity = capacity;
    made.header->pid = (int32_t)getpid();
    made.header->writer = JM_WRITER_CORE;
    made.header->names_file = program;
    made.header->created_ns = now_ns();
    atomic_store(&made.header->magic, JM_RING_MAGIC);
    return made;
}

static inline ring make_ring(int number, uint32_t capacity)
{
    if (number == 0) write_names(0);
    return make_ring_of(0, number, capacity);
}

static inline void put(ring *to, jm_ring_span span)
{
    uint64_t head = atomic_load(&to->header->head);
    to->slots[head & (to->header->capacity - 1)] = span;
    atomic_store_explicit(&to->header->head, head + 1, memory_order_release);
}

/* Both are stamped as they are written, as a program does it; the stamp comes back. */
static inline int64_t begin_span(ring *to, int kind, uint32_t name, uint32_t type, uint64_t *id)
{
    *id = to->next_id++;
    int64_t t_ns = now_ns();
    put(to,
        (jm_ring_span){
            .t_ns = t_ns, .id = *id, .name = name, .type = type, .op = JM_RING_BEGIN, .kind = (uint8_t)kind});
    return t_ns;
}

static inline int64_t end_span(ring *to, uint64_t id)
{
    int64_t t_ns = now_ns();
    put(to, (jm_ring_span){.t_ns = t_ns, .id = id, .op = JM_RING_END});
    return t_ns;
}

static inline void wait_ms(int ms)
{
    sleep_until_ns(now_ns() + ms * 1000000ll);
}

static inline int enter_run(void **state)
{
    if (enter_folder(state) != 0) return -1;
    snprintf(run_dir, sizeof run_dir, "%s", folder);
    snprintf(truth, sizeof truth, "%s/truth.csv", folder);
    return nvml.attach(run_dir, truth);
}

#endif
