/* This process's ring of kernels. */
#include "inject/outlet.h"

#include "inject/convert.h"
#include "inject/devices.h"
#include "inject/flusher.h"
#include "record/timeline/ring.h"

#include <pthread.h>
#include <string.h>

/* Guards all below: CUPTI's worker, a flush and whoever hands back a buffer. */
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
        jm__devices_reset();
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

/* A fork does not wait for the lock: the driver's own handlers may wait for a callback of CUPTI's that waits
 * for it. What somebody was at work on is left as it lies. */
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

static void push(const jm_ring_kernel *record)
{
    pthread_mutex_lock(&mutex);
    if (ring.header != NULL) jm__ring_push_kernel(&ring, record);
    pthread_mutex_unlock(&mutex);
}

void jm__outlet_op(uint8_t op)
{
    push(&(jm_ring_kernel){.op = op});
}

void jm__outlet_again(uint32_t again)
{
    push(&(jm_ring_kernel){.op = JM_RING_AGAIN, .bytes = again});
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

/* Records that go without their name. */
static void count_refused_locked(void)
{
    if (ring.header != NULL) atomic_fetch_add(&ring.header->names_refused, names.refused);
    names.refused = 0;
}

void jm__outlet_records(CUpti_Activity *const *records, size_t count)
{
    uint64_t unfinished = 0;
    pthread_mutex_lock(&mutex);
    for (size_t i = 0; i < count && ring.header != NULL; i++) {
        jm_ring_kernel converted;
        jm__conversion result = jm__convert(&converted, records[i], &names);
        if (result == JM_UNFINISHED) unfinished++;
        if (result != JM_CONVERTED) continue;
        jm__ring_push_kernel(&ring, &converted);
        if (jm__devices_saw(converted.device)) jm__flusher_kick();
    }
    push_lost_locked(unfinished, "this work had not ended when its recording did");
    count_refused_locked();
    pthread_mutex_unlock(&mutex);
}

void jm__outlet_devices(void)
{
    unsigned next = 0;
    for (;;) {
        jm_ring_kernel record = {.op = JM_RING_DEVICE};
        char text[JM_DEVICE_TEXT];
        pthread_mutex_lock(&mutex);
        bool found = ring.header != NULL && jm__devices_find_untold(&next, &record.device);
        pthread_mutex_unlock(&mutex);
        if (!found) return;
        bool known = jm__devices_ask_driver(record.device, text);
        pthread_mutex_lock(&mutex);
        if (ring.header != NULL && (known || jm__devices_recall(record.device, text))) {
            record.name = text_number(text);
            if (jm__ring_push_kernel(&ring, &record)) jm__devices_set_told(record.device);
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
