/* Copies from and to a mapped file that another process may truncate at any time. */
#include "base/mapped.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define CHUNK_BYTES 4096 /* PIPE_BUF: a write of that size fits into any pipe, pipe(7) */

typedef ssize_t copy_call(pid_t, const struct iovec *, unsigned long, const struct iovec *, unsigned long,
                          unsigned long);

typedef enum outcome { COPIED, GONE, FORBIDDEN } outcome;

/* process_vm_readv or process_vm_writev on our own process. */
static outcome copy_by(copy_call *call, void *own, void *mapped, size_t size)
{
    struct iovec local = {own, size}, remote = {mapped, size};
    ssize_t copied = call(getpid(), &local, 1, &remote, 1, 0);
    if (copied < 0 && (errno == EPERM || errno == ENOSYS)) return FORBIDDEN;
    return copied == (ssize_t)size ? COPIED : GONE;
}

/* The fallback where a sandbox forbids them: any system call that copies reports missing pages. */
static outcome copy_by_pipe(char *to, const char *from, size_t size)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return FORBIDDEN;
    size_t done = 0, part;
    do {
        part = size - done < CHUNK_BYTES ? size - done : CHUNK_BYTES;
        if (write(ends[1], from + done, part) != (ssize_t)part ||
            read(ends[0], to + done, part) != (ssize_t)part)
            break;
        done += part;
    } while (done < size);
    close(ends[0]);
    close(ends[1]);
    return done == size ? COPIED : GONE;
}

static bool copy(copy_call *call, void *own, void *mapped, void *to, const void *from, size_t size)
{
    outcome how = copy_by(call, own, mapped, size);
    if (how == FORBIDDEN) how = copy_by_pipe(to, from, size);
    if (how == FORBIDDEN) memcpy(to, from, size);
    return how != GONE;
}

bool jm__mapped_read(void *to, const void *mapped, size_t size)
{
    union {
        const void *borrowed;
        void *address;
    } from = {mapped};
    return copy(process_vm_readv, to, from.address, to, mapped, size);
}

bool jm__mapped_write(void *mapped, const void *from, size_t size)
{
    union {
        const void *borrowed;
        void *address;
    } own = {from};
    return copy(process_vm_writev, own.address, mapped, mapped, from, size);
}

/* The copy may be torn while the writer changes it. A value that is not above the next one read was
 * published. */
bool jm__mapped_read_head(uint64_t *to, const _Atomic uint64_t *mapped)
{
    uint64_t next;
    do {
        if (!jm__mapped_read(to, mapped, sizeof *to) || !jm__mapped_read(&next, mapped, sizeof next))
            return false;
    } while (*to > next);
    atomic_thread_fence(memory_order_acquire);
    return true;
}
