/* This process's ring of kernels: converts CUPTI's records, names their boards, and flushes them from a
 * thread. */
#include "inject/outlet.h"

#include "base/clock.h"
#include "base/thread.h"
#include "record/timeline/ring.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* ---- the flusher: a thread that flushes records twice a second, and more often while detaching is pending
 */

#define PERIOD_NS    (JM_NS_PER_S / 2)
#define SOON_NS      (50 * JM_NS_PER_MS)
#define STOP_WAIT_NS (2 * JM_NS_PER_S)

static pthread_mutex_t flusher_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wakes;
static pthread_t flusher;
static bool running, ending, kicked, ended, abandoned;
static bool (*flush_records)(bool forced);
static void (*on_return)(void);

static void wait_locked(int64_t for_ns)
{
    const struct timespec until = jm__clock_after(CLOCK_MONOTONIC, for_ns);
    while (!ending && !kicked)
        if (pthread_cond_timedwait(&wakes, &flusher_mutex, &until) != 0) break;
    kicked = false;
}

static void *run_flusher(void *unused)
{
    (void)unused;
    pthread_setname_np(pthread_self(), "joulemap");
    pthread_mutex_lock(&flusher_mutex);
    for (bool soon = false;;) {
        wait_locked(soon ? SOON_NS : PERIOD_NS);
        if (ending) break;
        pthread_mutex_unlock(&flusher_mutex);
        soon = flush_records(false);
        pthread_mutex_lock(&flusher_mutex);
    }
    ended = true;
    bool late = abandoned;
    pthread_mutex_unlock(&flusher_mutex);
    if (late) on_return();
    return NULL;
}

void jm__flusher_start(bool (*flush)(bool forced), void (*return_handler)(void))
{
    pthread_mutex_lock(&flusher_mutex);
    ending = kicked = ended = abandoned = false;
    flush_records = flush;
    on_return = return_handler;
    jm__condition_init(&wakes);
    running = jm__thread_start(&flusher, run_flusher, NULL) == 0;
    pthread_mutex_unlock(&flusher_mutex);
}

void jm__flusher_kick(void)
{
    pthread_mutex_lock(&flusher_mutex);
    kicked = true;
    if (running) pthread_cond_signal(&wakes);
    pthread_mutex_unlock(&flusher_mutex);
}

bool jm__flusher_stop(void)
{
    pthread_mutex_lock(&flusher_mutex);
    bool was_running = running;
    running = false;
    ending = true;
    if (was_running) pthread_cond_signal(&wakes);
    pthread_mutex_unlock(&flusher_mutex);
    if (!was_running) return true;
    const struct timespec until = jm__clock_after(CLOCK_REALTIME, STOP_WAIT_NS);
    if (pthread_timedjoin_np(flusher, NULL, &until) == 0) return true;
    pthread_mutex_lock(&flusher_mutex);
    bool late = ended; /* it ended just now */
    abandoned = !late;
    pthread_mutex_unlock(&flusher_mutex);
    if (late)
        pthread_join(flusher, NULL);
    else
        pthread_detach(flusher);
    return late;
}

void jm__flusher_forget(void)
{
    pthread_mutex_init(&flusher_mutex, NULL); /* the flusher may have held it */
    running = false;
}

/* ---- The boards behind CUDA ordinals. The driver knows them, but must not be called from CUPTI's callbacks.
 * So an ordinal is only noted there and resolved at the next flush. Without the driver's answer CUPTI's UUID
 * is used. One thread at a time. */

#define ORDINALS    256
#define DEVICE_TEXT 48

static struct {
    bool seen, reported;
    char from_cupti[DEVICE_TEXT]; /* ""; unknown */
} devices[ORDINALS];

typedef int get_uuid(unsigned char *uuid, int device);
static get_uuid *uuid_of_board, *uuid_of_instance; /* NULL: not in this driver */

static void write_text(char text[DEVICE_TEXT], const unsigned char uuid[16], bool mig)
{
    size_t length = (size_t)snprintf(text, DEVICE_TEXT, "%s", mig ? "MIG-" : "GPU-");
    for (int i = 0; i < 16; i++)
        length += (size_t)snprintf(text + length, DEVICE_TEXT - length, "%s%02x",
                                   i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
}

void jm__devices_find_driver(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (driver == NULL) return;
    *(void **)&uuid_of_board = dlsym(driver, "cuDeviceGetUuid");
    *(void **)&uuid_of_instance = dlsym(driver, "cuDeviceGetUuid_v2");
}

/* cuDeviceGetUuid returns the board, its second version the MIG instance if there is one. */
static bool query_driver(uint8_t ordinal, char text[DEVICE_TEXT])
{
    unsigned char board_uuid[16], uuid[16];
    if (uuid_of_board == NULL || uuid_of_board(board_uuid, ordinal) != 0) return false;
    memcpy(uuid, board_uuid, sizeof uuid);
    if (uuid_of_instance != NULL && uuid_of_instance(uuid, ordinal) != 0)
        memcpy(uuid, board_uuid, sizeof uuid);
    write_text(text, uuid, memcmp(uuid, board_uuid, sizeof uuid) != 0);
    return true;
}

static bool find_unreported_device(unsigned *next, uint8_t *ordinal)
{
    for (; *next < ORDINALS; ++*next) {
        if (!devices[*next].seen || devices[*next].reported) continue;
        *ordinal = (uint8_t)*next;
        ++*next;
        return true;
    }
    return false;
}

/* ---- Conversion of CUPTI's activity records. Only fields are read whose offset is the same from CUDA 12.1
 * to 13.x. Newer layouts only add fields at the end, which the assertions below check for the headers at
 * hand. */

typedef enum conversion {
    CONVERTED,
    IGNORED,    /* another kind of record */
    UNFINISHED, /* work without an end time: CUPTI was flushed too early */
} conversion;

/* The oldest layouts, which all header versions define. */
typedef CUpti_ActivityKernel9 kernel_record;
typedef CUpti_ActivityMemcpy5 memcpy_record;
typedef CUpti_ActivityMemcpyPtoP4 memcpy2_record;
typedef CUpti_ActivityMemset4 memset_record;
typedef CUpti_ActivityDevice4 device_record;

#define AT(type, field, offset)                                                                              \
    _Static_assert(offsetof(type, field) == (offset), "CUPTI moved " #field " of " #type)
AT(kernel_record, start, 16);
AT(kernel_record, end, 24);
AT(kernel_record, deviceId, 40);
AT(kernel_record, contextId, 44);
AT(kernel_record, streamId, 48);
AT(kernel_record, gridX, 52);
AT(kernel_record, blockX, 64);
AT(kernel_record, correlationId, 92);
AT(kernel_record, name, 104);
AT(kernel_record, graphNodeId, 144);
AT(memcpy_record, bytes, 8);
AT(memcpy_record, start, 16);
AT(memcpy_record, deviceId, 32);
AT(memcpy_record, correlationId, 44);
AT(memcpy_record, graphNodeId, 64);
AT(memcpy2_record, correlationId, 60);
AT(memcpy2_record, graphNodeId, 72);
AT(memset_record, bytes, 8);
AT(memset_record, start, 16);
AT(memset_record, correlationId, 44);
AT(memset_record, graphNodeId, 64);
AT(device_record, id, 112);
AT(device_record, uuid, 120);
#if CUPTI_API_VERSION >= 130000
#define SAME(newer, older, field)                                                                            \
    _Static_assert(offsetof(newer, field) == offsetof(older, field), "CUPTI moved " #field " of " #newer)
SAME(CUpti_ActivityKernel10, kernel_record, start);
SAME(CUpti_ActivityKernel10, kernel_record, end);
SAME(CUpti_ActivityKernel10, kernel_record, deviceId);
SAME(CUpti_ActivityKernel10, kernel_record, gridX);
SAME(CUpti_ActivityKernel10, kernel_record, blockX);
SAME(CUpti_ActivityKernel10, kernel_record, correlationId);
SAME(CUpti_ActivityKernel10, kernel_record, name);
SAME(CUpti_ActivityKernel10, kernel_record, graphNodeId);
SAME(CUpti_ActivityMemcpy6, memcpy_record, correlationId);
SAME(CUpti_ActivityMemcpy6, memcpy_record, graphNodeId);
SAME(CUpti_ActivityDevice5, device_record, uuid);
SAME(CUpti_ActivityDevice5, device_record, migUuid);
#endif

static const char *const copy_names[] = {
    [CUPTI_ACTIVITY_MEMCPY_KIND_UNKNOWN] = "[memcpy]",   [CUPTI_ACTIVITY_MEMCPY_KIND_HTOD] = "[memcpy HtoD]",
    [CUPTI_ACTIVITY_MEMCPY_KIND_DTOH] = "[memcpy DtoH]", [CUPTI_ACTIVITY_MEMCPY_KIND_HTOA] = "[memcpy HtoA]",
    [CUPTI_ACTIVITY_MEMCPY_KIND_ATOH] = "[memcpy AtoH]", [CUPTI_ACTIVITY_MEMCPY_KIND_ATOA] = "[memcpy AtoA]",
    [CUPTI_ACTIVITY_MEMCPY_KIND_ATOD] = "[memcpy AtoD]", [CUPTI_ACTIVITY_MEMCPY_KIND_DTOA] = "[memcpy DtoA]",
    [CUPTI_ACTIVITY_MEMCPY_KIND_DTOD] = "[memcpy DtoD]", [CUPTI_ACTIVITY_MEMCPY_KIND_HTOH] = "[memcpy HtoH]",
    [CUPTI_ACTIVITY_MEMCPY_KIND_PTOP] = "[memcpy PtoP]",
};

/* A kernel's name lives as long as its module. Its pointer is the cache key, and its text is compared in case
 * another module was loaded at the same address. */
static uint32_t kernel_name(jm__names *names, const char *text)
{
    static struct {
        const char *pointer;
        const char *text; /* ours */
        uint32_t number;
    } cache[1024];
    if (text == NULL) return 0;
    uintptr_t hash = (uintptr_t)text;
    size_t at = (hash >> 4 ^ hash >> 14) % 1024;
    if (cache[at].pointer == text && strcmp(cache[at].text, text) == 0) return cache[at].number;
    uint32_t number = jm__names_intern(names, text, strnlen(text, JM_NAME_MAX));
    const char *kept = jm__names_text(names, number);
    if (kept != NULL) {
        cache[at].pointer = text;
        cache[at].text = kept;
        cache[at].number = number;
    }
    return number;
}

static conversion check_times(const jm_ring_kernel *out)
{
    return out->start_ns > 0 && out->end_ns >= out->start_ns ? CONVERTED : UNFINISHED;
}

static conversion convert_kernel(jm_ring_kernel *out, const kernel_record *record, jm__names *names)
{
    out->op = JM_RING_KERNEL;
    out->start_ns = (int64_t)record->start;
    out->end_ns = (int64_t)record->end;
    out->bytes = record->graphNodeId;
    out->correlation = record->correlationId;
    out->context = record->contextId;
    out->stream = record->streamId;
    out->device = (uint8_t)record->deviceId;
    out->grid[0] = (uint32_t)record->gridX;
    out->grid[1] = (uint32_t)record->gridY;
    out->grid[2] = (uint32_t)record->gridZ;
    out->block[0] = (uint16_t)record->blockX;
    out->block[1] = (uint16_t)record->blockY;
    out->block[2] = (uint16_t)record->blockZ;
    out->name = kernel_name(names, record->name);
    return check_times(out);
}

static uint32_t copy_name(jm__names *names, uint8_t kind)
{
    bool known = kind < sizeof copy_names / sizeof copy_names[0] && copy_names[kind] != NULL;
    return kernel_name(names, copy_names[known ? kind : CUPTI_ACTIVITY_MEMCPY_KIND_UNKNOWN]);
}

/* Copies within a board, between boards, to or from the host, and memsets: three types with the same fields.
 */
#define CONVERT_BYTES(out, record, op_, name_)                                                               \
    ((out)->op = (op_), (out)->start_ns = (int64_t)(record)->start, (out)->end_ns = (int64_t)(record)->end,  \
     (out)->bytes = (record)->bytes, (out)->correlation = (record)->correlationId,                           \
     (out)->context = (record)->contextId, (out)->stream = (record)->streamId,                               \
     (out)->device = (uint8_t)(record)->deviceId, (out)->grid[0] = (uint32_t)(record)->graphNodeId,          \
     (out)->grid[1] = (uint32_t)((record)->graphNodeId >> 32), (out)->name = (name_), check_times(out))

static conversion note_device_record(const device_record *record)
{
    const CUuuid *uuid = record->isMigEnabled ? &record->migUuid : &record->uuid;
    unsigned char bytes[16];
    memcpy(bytes, uuid->bytes, sizeof bytes);
    if (record->isCudaVisible && record->id < ORDINALS)
        write_text(devices[record->id].from_cupti, bytes, record->isMigEnabled != 0);
    return IGNORED;
}

static conversion convert(jm_ring_kernel *out, const CUpti_Activity *record, jm__names *names)
{
    memset(out, 0, sizeof *out);
    const void *any = record;
    switch (record->kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
        return convert_kernel(out, any, names);
    case CUPTI_ACTIVITY_KIND_MEMCPY: {
        const memcpy_record *copy = any;
        return CONVERT_BYTES(out, copy, JM_RING_MEMCPY, copy_name(names, copy->copyKind));
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY2: {
        const memcpy2_record *copy = any;
        return CONVERT_BYTES(out, copy, JM_RING_MEMCPY, copy_name(names, copy->copyKind));
    }
    case CUPTI_ACTIVITY_KIND_MEMSET: {
        const memset_record *set = any;
        return CONVERT_BYTES(out, set, JM_RING_MEMSET, kernel_name(names, "[memset]"));
    }
    case CUPTI_ACTIVITY_KIND_DEVICE:
        return note_device_record(any);
    default:
        return IGNORED;
    }
}

/* ---- the ring */

/* Guards all below against CUPTI's worker, a flush and callbacks that return a buffer. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static jm__ring ring;
static jm__names names;

int jm__outlet_open(const char *run_dir)
{
    pthread_mutex_lock(&mutex);
    int error = jm__names_open(&names, run_dir, JM_WRITER_INJECT);
    if (error == 0) {
        jm__ring_options options = {.run_dir = run_dir,
                                    .writer = JM_WRITER_INJECT,
                                    .names_file = names.file_number,
                                    .record_size = sizeof(jm_ring_kernel),
                                    .capacity = JM_KERNELS_CAPACITY,
                                    .capacity_least = JM_KERNELS_CAPACITY_LEAST,
                                    .share = JM_KERNELS_SHARE,
                                    .realtime = true};
        error = jm__ring_create(&ring, &options);
        for (int i = 0; i < ORDINALS; i++) /* a new run has no devices yet */
            devices[i].seen = devices[i].reported = false;
    }
    pthread_mutex_unlock(&mutex);
    return error;
}

void jm__outlet_close(void)
{
    pthread_mutex_lock(&mutex);
    jm__ring_close(&ring, true);
    jm__names_close(&names);
    pthread_mutex_unlock(&mutex);
}

/* A fork does not wait for the lock, as the driver's own handlers may wait for a CUPTI callback that waits
 * for it. State that a thread was changing is dropped. */
void jm__outlet_forget(void)
{
    if (pthread_mutex_trylock(&mutex) == 0) {
        jm__ring_close(&ring, false);
        jm__names_close(&names);
    } else {
        ring = (jm__ring){0};
        names = (jm__names){0};
    }
    pthread_mutex_init(&mutex, NULL);
}

static uint32_t text_number(const char *text)
{
    return jm__names_intern(&names, text, strlen(text));
}

void jm__outlet_op(uint8_t op, uint32_t again)
{
    pthread_mutex_lock(&mutex);
    if (ring.header != NULL) jm__ring_push_kernel(&ring, &(jm_ring_kernel){.op = op, .bytes = again});
    pthread_mutex_unlock(&mutex);
}

static void push_text_locked(jm_ring_kernel record, const char *text)
{
    if (ring.header == NULL) return;
    record.name = text_number(text);
    jm__ring_push_kernel(&ring, &record);
}

void jm__outlet_note(const char *text)
{
    pthread_mutex_lock(&mutex);
    push_text_locked((jm_ring_kernel){.op = JM_RING_NOTE}, text);
    pthread_mutex_unlock(&mutex);
}

static void push_lost_locked(uint64_t count, const char *reason)
{
    if (count > 0) push_text_locked((jm_ring_kernel){.op = JM_RING_LOST, .bytes = count}, reason);
}

void jm__outlet_lost(size_t count, const char *reason)
{
    pthread_mutex_lock(&mutex);
    push_lost_locked(count, reason);
    pthread_mutex_unlock(&mutex);
}

void jm__outlet_records(CUpti_Activity *const *records, size_t count)
{
    uint64_t unfinished = 0;
    pthread_mutex_lock(&mutex);
    for (size_t i = 0; i < count && ring.header != NULL; i++) {
        jm_ring_kernel converted;
        conversion result = convert(&converted, records[i], &names);
        if (result == UNFINISHED) unfinished++;
        if (result != CONVERTED) continue;
        jm__ring_push_kernel(&ring, &converted);
        if (!devices[converted.device].seen) jm__flusher_kick(); /* the flusher resolves the board */
        devices[converted.device].seen = true;
    }
    push_lost_locked(unfinished, "this work had not ended when its recording did");
    /* Records without a name, as there was no space for it. */
    if (ring.header != NULL) atomic_fetch_add(&ring.header->names_refused, names.refused);
    names.refused = 0;
    pthread_mutex_unlock(&mutex);
}

void jm__outlet_devices(void)
{
    unsigned next = 0;
    for (;;) {
        jm_ring_kernel record = {.op = JM_RING_DEVICE};
        char text[DEVICE_TEXT];
        pthread_mutex_lock(&mutex);
        bool found = ring.header != NULL && find_unreported_device(&next, &record.device);
        pthread_mutex_unlock(&mutex);
        if (!found) return;
        bool known = query_driver(record.device, text);
        pthread_mutex_lock(&mutex);
        if (!known) memcpy(text, devices[record.device].from_cupti, sizeof text);
        if (ring.header != NULL && text[0] != '\0') {
            record.name = text_number(text);
            if (jm__ring_push_kernel(&ring, &record)) devices[record.device].reported = true;
        }
        pthread_mutex_unlock(&mutex);
    }
}

void jm__outlet_flushed(int64_t flushed_ns)
{
    pthread_mutex_lock(&mutex);
    if (ring.header != NULL &&
        flushed_ns > atomic_load_explicit(&ring.header->flushed_ns, memory_order_relaxed))
        atomic_store_explicit(&ring.header->flushed_ns, flushed_ns, memory_order_release);
    pthread_mutex_unlock(&mutex);
}
