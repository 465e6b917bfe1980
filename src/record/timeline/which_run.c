/* Which run this program is in: what it was started with, or a run above that waits for it; and the door of
 * one that it may not enter. */
#include "record/timeline/which_run.h"

#include "base/private_file.h"
#include "record/timeline/identity.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* ---- the environment. A program may clean it before its first span: some do so first of all, some launchers
 * of workers in between */

static const char *const names[JM_START_NAMES] = {
    [JM_START_RUN] = "JOULEMAP_RUN",
    [JM_START_DORMANT] = "JOULEMAP_DORMANT",
};

static char at_load[JM_START_NAMES][PATH_MAX]; /* "": there was none */

static __attribute__((constructor)) void note_at_load(void)
{
    for (int i = 0; i < JM_START_NAMES; i++) {
        const char *value = getenv(names[i]);
        if (value != NULL && strlen(value) < sizeof at_load[i]) memcpy(at_load[i], value, strlen(value) + 1);
    }
}

/* What the kernel keeps of the start of the program, unless the program has written its title over it. */
static const char *find_at_start(const char *name, char *buffer, size_t size)
{
    char *entry = NULL;
    size_t room = 0, length = strlen(name);
    const char *found = NULL;
    FILE *file = fopen("/proc/self/environ", "re");
    if (file == NULL) return NULL;
    while (found == NULL && getdelim(&entry, &room, '\0', file) > 0) {
        if (strncmp(entry, name, length) != 0 || entry[length] != '=') continue;
        const char *value = entry + length + 1;
        if (strlen(value) < size) found = memcpy(buffer, value, strlen(value) + 1);
    }
    free(entry);
    fclose(file);
    return found;
}

const char *jm__start_variable(jm__start_name name, char *buffer, size_t size)
{
    const char *value = getenv(names[name]);
    if (value == NULL && at_load[name][0] != '\0') value = at_load[name];
    if (value == NULL) return find_at_start(names[name], buffer, size);
    if (strlen(value) >= size) return NULL;
    return memcpy(buffer, value, strlen(value) + 1);
}

/* ---- runs of this user that wait for what some process starts */

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

/* ---- the door */

#define WAITING 64 /* between two looks of the recorder, 20 a second */

/* Its size; 0: the name is too long for one. */
static socklen_t address_of(struct sockaddr_un *address, const char *run_dir)
{
    const char *slash = strrchr(run_dir, '/');
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    int length = snprintf(address->sun_path + 1, sizeof address->sun_path - 1, "%s",
                          slash == NULL ? run_dir : slash + 1);
    if (length < 0 || (size_t)length >= sizeof address->sun_path - 1) return 0;
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

static int open_socket(void)
{
    return socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

int jm__door_make(const char *run_dir)
{
    struct sockaddr_un address;
    socklen_t size = address_of(&address, run_dir);
    int door = size == 0 ? -1 : open_socket();
    if (door < 0) return -1;
    if (bind(door, (const struct sockaddr *)&address, size) == 0 && listen(door, WAITING) == 0) return door;
    close(door);
    return -1;
}

bool jm__door_hear(int door, pid_t *pid, uid_t *uid)
{
    struct ucred peer;
    socklen_t size = sizeof peer;
    int line = accept4(door, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (line < 0) return false;
    bool known = getsockopt(line, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0;
    close(line);
    *pid = known ? peer.pid : 0;
    *uid = known ? peer.uid : 0;
    return known;
}

void jm__door_knock(const char *run_dir)
{
    struct sockaddr_un address;
    socklen_t size = address_of(&address, run_dir);
    int line = size == 0 ? -1 : open_socket();
    if (line < 0) return;
    (void)connect(line, (const struct sockaddr *)&address, size);
    close(line);
}
