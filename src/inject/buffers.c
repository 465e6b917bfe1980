/* The pool of activity buffers. */
#include "inject/buffers.h"

#include "base/clock.h"

#include <pthread.h>
#include <sys/mman.h>

typedef struct buffer {
    uint8_t *memory;  /* NULL: not made yet */
    int64_t taken_ns; /* 0: free */
} buffer;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static buffer buffers[JM_BUFFERS_MAX];

static uint8_t *make(int more_flags)
{
    void *memory =
        mmap(NULL, JM_BUFFER_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | more_flags, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

void jm__buffers_prepare(void)
{
    pthread_mutex_lock(&mutex);
    for (int i = 0; i < JM_BUFFERS_KEPT; i++)
        if (buffers[i].memory == NULL) buffers[i].memory = make(MAP_POPULATE); /* no page faults later */
    pthread_mutex_unlock(&mutex);
}

uint8_t *jm__buffers_take(void)
{
    uint8_t *memory = NULL;
    pthread_mutex_lock(&mutex);
    for (int i = 0; i < JM_BUFFERS_MAX && memory == NULL; i++) {
        if (buffers[i].taken_ns != 0) continue;
        if (buffers[i].memory == NULL) buffers[i].memory = make(0);
        if (buffers[i].memory == NULL) break;
        buffers[i].taken_ns = jm__now_ns();
        memory = buffers[i].memory;
    }
    pthread_mutex_unlock(&mutex);
    return memory;
}

void jm__buffers_return(const uint8_t *memory)
{
    pthread_mutex_lock(&mutex);
    for (int i = 0; i < JM_BUFFERS_MAX; i++)
        if (buffers[i].memory == memory) buffers[i].taken_ns = 0;
    pthread_mutex_unlock(&mutex);
}

size_t jm__buffers_forget(void)
{
    size_t taken = 0;
    pthread_mutex_lock(&mutex);
    for (int i = 0; i < JM_BUFFERS_MAX; i++) {
        taken += buffers[i].taken_ns != 0;
        buffers[i].taken_ns = 0;
    }
    pthread_mutex_unlock(&mutex);
    return taken;
}

void jm__buffers_forget_in_child(void)
{
    pthread_mutex_init(&mutex, NULL);
    jm__buffers_forget();
}

void jm__buffers_release(void)
{
    pthread_mutex_lock(&mutex);
    for (int i = 0; i < JM_BUFFERS_MAX; i++)
        if (buffers[i].memory != NULL && buffers[i].taken_ns == 0 &&
            munmap(buffers[i].memory, JM_BUFFER_BYTES) == 0)
            buffers[i].memory = NULL;
    pthread_mutex_unlock(&mutex);
}

int64_t jm__buffers_oldest_ns(void)
{
    int64_t oldest_ns = INT64_MAX;
    pthread_mutex_lock(&mutex);
    for (int i = 0; i < JM_BUFFERS_MAX; i++)
        if (buffers[i].taken_ns != 0 && buffers[i].taken_ns < oldest_ns) oldest_ns = buffers[i].taken_ns;
    pthread_mutex_unlock(&mutex);
    return oldest_ns;
}
