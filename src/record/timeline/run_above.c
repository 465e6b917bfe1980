/* Runs of this user that wait for what some process starts, and whether this one is such. */
#include "record/timeline/run_above.h"

#include "base/private_file.h"
#include "record/timeline/identity.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Where recorders make their folders, if they can. */
static const char parent[] = "/dev/shm";

enum { ABOVE_MOST = 64 };

bool jm__run_goes_on(const char *run_dir)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int file = jm__private_file(run_dir, JM_RUN_FILE, O_RDWR);
    if (file < 0) return errno == EMFILE || errno == ENFILE; /* it cannot be seen just now */
    bool locked = fcntl(file, F_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
    close(file);
    return locked;
}

static bool is_below(pid_t pid)
{
    pid_t at = getpid(), above = 0;
    for (int i = 0; i < ABOVE_MOST && at > 1; i++, at = above) {
        char state;
        uint64_t ticks;
        if (at == pid) return true;
        if (!jm__process_stat(at, &state, &above, &ticks)) return false;
    }
    return false;
}

/* Folders in /dev/shm may be of other containers, where a pid is another process's. */
static bool expects_us(const char *run_dir, bool *kernels)
{
    char text[96];
    unsigned long long pid_namespace;
    int pid, wanted;
    int file = jm__private_file(run_dir, JM_EXPECTS_FILE, O_RDONLY);
    if (file < 0) return false;
    ssize_t count = read(file, text, sizeof text - 1);
    close(file);
    text[count > 0 ? count : 0] = '\0';
    if (sscanf(text, JM_EXPECTS_FORMAT, &pid, &pid_namespace, &wanted) != 3) return false;
    if (pid_namespace != jm__namespace_of(JM_SELF, "pid") || !is_below((pid_t)pid)) return false;
    *kernels = wanted != 0;
    return jm__run_goes_on(run_dir);
}

bool jm__run_above(char *run_dir, size_t size, bool *kernels)
{
    char prefix[48], path[sizeof parent + NAME_MAX + 2];
    snprintf(prefix, sizeof prefix, "joulemap-%u-", (unsigned)geteuid());
    DIR *entries = opendir(parent);
    if (entries == NULL) return false;
    bool found = false;
    for (struct dirent *entry; !found && (entry = readdir(entries)) != NULL;) {
        if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0) continue;
        snprintf(path, sizeof path, "%s/%s", parent, entry->d_name);
        found = strlen(path) < size && expects_us(path, kernels);
    }
    closedir(entries);
    if (found) memcpy(run_dir, path, strlen(path) + 1);
    return found;
}
