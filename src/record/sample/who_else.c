/* NVML's list of processes as a text. */
#include "record/sample/who_else.h"

#include "record/timeline/identity.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PIDS_MOST = 64, PIDS_TOLD = 10 };

/* "" if it is gone, or not ours to see. */
static void read_name(char *name, size_t size, int32_t pid)
{
    char path[48];
    snprintf(path, sizeof path, "/proc/%d/comm", pid);
    name[0] = '\0';
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    ssize_t length = read(file, name, size - 1);
    name[length > 0 ? length : 0] = '\0';
    name[strcspn(name, "\n")] = '\0';
    close(file);
}

void jm__who_else(char *text, size_t size, jm__devices *devices, size_t board)
{
    int32_t pids[PIDS_MOST];
    size_t count = 0, used = 0;
    text[0] = '\0';
    if (!jm__devices_board(devices, board)->simulated &&
        !jm__namespace_is_first(jm__namespace_of(JM_SELF, "pid")))
        return;
    if (jm__devices_processes(devices, board, pids, PIDS_MOST, &count, NULL) != JM_OK) return;
    for (size_t i = 0; i < count && i < PIDS_TOLD && used < size; i++) {
        char name[24];
        read_name(name, sizeof name, pids[i]);
        const char *open = name[0] != '\0' ? " (" : "", *close = name[0] != '\0' ? ")" : "";
        int length =
            snprintf(text + used, size - used, "%s%d%s%s%s", i > 0 ? ", " : "", pids[i], open, name, close);
        used += length > 0 ? (size_t)length : 0;
    }
}
