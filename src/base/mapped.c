/* Copies out of and into a mapped file that somebody else may cut short at any time. */
#include "base/mapped.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

typedef ssize_t copy_call(pid_t, const struct iovec *, unsigned long, const struct iovec *, unsigned long,
                          unsigned long);

/* process_vm_readv and process_vm_writev on this very process. */
static bool copy(copy_call *call, void *own, void *mapped, size_t size, bool *forbidden)
{
    struct iovec local = {own, size}, remote = {mapped, size};
    ssize_t copied = call(getpid(), &local, 1, &remote, 1, 0);
    *forbidden = copied < 0 && (errno == EPERM || errno == ENOSYS);
    return copied == (ssize_t)size;
}

bool jm__mapped_read(void *to, const void *mapped, size_t size)
{
    bool forbidden;
    union {
        const void *borrowed;
        void *address;
    } from = {mapped};
    if (copy(process_vm_readv, to, from.address, size, &forbidden)) return true;
    if (forbidden) memcpy(to, mapped, size);
    return forbidden;
}

bool jm__mapped_write(void *mapped, const void *from, size_t size)
{
    bool forbidden;
    union {
        const void *borrowed;
        void *address;
    } own = {from};
    if (copy(process_vm_writev, own.address, mapped, size, &forbidden)) return true;
    if (forbidden) memcpy(mapped, from, size);
    return forbidden;
}
