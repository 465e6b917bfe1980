/* Is that process still there, and is it still the same one? */
#include "recording/alive.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int64_t jm__process_start_ticks(int64_t pid)
{
    enum { START_TIME = 22 }; /* field of /proc/PID/stat, from 1; the command, field 2, may hold anything */
    char path[48], line[1024];
    snprintf(path, sizeof path, "/proc/%" PRId64 "/stat", pid);
    FILE *file = fopen(path, "re");
    if (file == NULL) return -1;
    size_t count = fread(line, 1, sizeof line - 1, file);
    fclose(file);
    line[count] = '\0';
    char *field = strrchr(line, ')');
    for (int i = 2; i < START_TIME && field != NULL; i++)
        field = strchr(field + 1, ' ');
    return field == NULL ? -1 : strtoll(field + 1, NULL, 10);
}
