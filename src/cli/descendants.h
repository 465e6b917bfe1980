/* A process and those that it started, as /proc tells. */
#ifndef CLI_DESCENDANTS_H
#define CLI_DESCENDANTS_H

#include <stddef.h>
#include <sys/types.h>

/* `root` first, then its children and theirs, as far as they live; an orphan is nobody's. At most `most` into
 * `out`; returns how many. */
size_t cli_descendants(pid_t root, pid_t *out, size_t most);

#endif
