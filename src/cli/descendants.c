/* A process and those that it started. */
#include "cli/descendants.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct process {
    pid_t pid, parent;
} process;

/* "PID (NAME) STATE PARENT ...": a name may hold anything. */
static bool read_parent(const char *pid, process *out)
{
    char path[64], text[512], state;
    int parent;
    snprintf(path, sizeof path, "/proc/%.20s/stat", pid);
    FILE *file = fopen(path, "re");
    size_t count = file == NULL ? 0 : fread(text, 1, sizeof text - 1, file);
    if (file != NULL) (void)fclose(file);
    text[count] = '\0';
    const char *end = strrchr(text, ')');
    if (end == NULL || sscanf(end + 1, " %c %d", &state, &parent) != 2 || state == 'Z') return false;
    *out = (process){(pid_t)atoi(pid), (pid_t)parent};
    return true;
}

/* All processes; to be freed. */
static process *list(size_t *count)
{
    process *all = NULL;
    size_t room = 0;
    *count = 0;
    DIR *folder = opendir("/proc");
    if (folder == NULL) return NULL;
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        if (entry->d_name[0] < '1' || entry->d_name[0] > '9') continue;
        if (*count == room) {
            process *moved = realloc(all, (room = room == 0 ? 256 : 2 * room) * sizeof *all);
            if (moved == NULL) break;
            all = moved;
        }
        if (read_parent(entry->d_name, &all[*count])) ++*count;
    }
    closedir(folder);
    return all;
}

size_t cli_descendants(pid_t root, pid_t *out, size_t most)
{
    size_t count, found = 0;
    process *all = list(&count);
    if (most > 0) out[found++] = root;
    for (size_t next = 0; next < found; next++)
        for (size_t i = 0; i < count && found < most; i++)
            if (all[i].parent == out[next] && all[i].pid != root) out[found++] = all[i].pid;
    free(all);
    return found;
}
