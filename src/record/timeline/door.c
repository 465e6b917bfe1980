/* Who may not enter a run's folder knocks. */
#include "record/timeline/door.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

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
