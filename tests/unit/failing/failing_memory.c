/* Allocations that fail when told to: malloc and its like of the whole program. */
#include "failing.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* ---- the C library's own, or the sanitizer's where there is one */

#define ALLOCATOR __attribute__((visibility("default")))

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
extern void *__interceptor_malloc(size_t size) __attribute__((weak));
extern void *__interceptor_calloc(size_t count, size_t size) __attribute__((weak));
extern void *__interceptor_realloc(void *memory, size_t size) __attribute__((weak));

/* Of the program itself, by the linker's symbols. */
extern const char __executable_start, etext;

static _Thread_local bool spared;

static bool out_of_memory(const void *caller)
{
    if (spared) return false;
    const char *from = caller;
    bool own = from >= &__executable_start && from < &etext;
    if (!failing_now(FAILING_MEMORY) && !(own && failing_now(FAILING_OWN_MEMORY))) return false;
    errno = ENOMEM;
    return true;
}

ALLOCATOR void *malloc(size_t size)
{
    if (out_of_memory(__builtin_return_address(0))) return NULL;
    return __interceptor_malloc != NULL ? __interceptor_malloc(size) : __libc_malloc(size);
}

ALLOCATOR void *calloc(size_t count, size_t size)
{
    if (out_of_memory(__builtin_return_address(0))) return NULL;
    return __interceptor_calloc != NULL ? __interceptor_calloc(count, size) : __libc_calloc(count, size);
}

ALLOCATOR void *realloc(void *memory, size_t size)
{
    if (out_of_memory(__builtin_return_address(0))) return NULL;
    return __interceptor_realloc != NULL ? __interceptor_realloc(memory, size) : __libc_realloc(memory, size);
}

/* The sanitizers have these two of their own, which ask no malloc. */

ALLOCATOR char *strndup(const char *text, size_t most)
{
    size_t length = strnlen(text, most);
    char *copy = malloc(length + 1);
    if (copy == NULL) return NULL;
    memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

ALLOCATOR char *strdup(const char *text)
{
    return strndup(text, PTRDIFF_MAX - 1);
}

/* A thread that has begun is asked for its stack by AddressSanitizer, which ends the program if the answer
 * finds no memory. What fails is what our code asks for, not that. */
ALLOCATOR int pthread_getattr_np(pthread_t thread, pthread_attr_t *attributes)
{
    spared = true;
    int (*next)(pthread_t, pthread_attr_t *) = NULL;
    *(void **)&next = dlsym(RTLD_NEXT, "pthread_getattr_np");
    int code = next != NULL ? next(thread, attributes) : ENOSYS;
    spared = false;
    return code;
}
