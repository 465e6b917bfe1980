/* Reading one RAPL counter, whichever way it was opened. */
#include "device/rapl_domain.h"

#include "base/status.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool jm__rapl_line_read(const char *path, char *line, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    ssize_t length = read(fd, line, size - 1);
    close(fd);
    if (length <= 0) return false;
    line[length] = '\0';
    line[strcspn(line, "\n")] = '\0';
    return true;
}

static bool raw_read(const jm__rapl_domain *domain, uint64_t *count)
{
    if (domain->binary) return read(domain->fd, count, sizeof *count) == (ssize_t)sizeof *count;
    char text[32];
    ssize_t length = pread(domain->fd, text, sizeof text - 1, 0);
    if (length <= 0) return false;
    text[length] = '\0';
    char *end;
    errno = 0;
    *count = strtoull(text, &end, 10);
    return end != text && errno == 0;
}

jm_status jm__rapl_domain_read(jm__rapl_domain *domain, double *energy_j, jm_error *err)
{
    uint64_t count = 0;
    if (domain->fd < 0)
        return jm__fail(err, JM_NO_PERMISSION, 0, "open", "%s: %s", domain->name, domain->missing);
    errno = 0;
    if (!raw_read(domain, &count))
        return jm__fail(err, JM_IO, errno, "read", "%s: %s: %s", domain->name, domain->path,
                        errno == 0 ? "not a number" : strerror(errno));
    if (domain->read_before && count < domain->last_count) domain->wrapped_count += domain->wrap_count;
    domain->last_count = count;
    domain->read_before = true;
    *energy_j = domain->joule_per_count * ((double)domain->wrapped_count + (double)count);
    return JM_OK;
}
