/* The run that this process was started in. A program may clean its environment before its first span: some
 * do so first of all, some launchers of workers in between. */
#include "timeline/run_variable.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VARIABLE "JOULEMAP_RUN"

static char at_load[PATH_MAX]; /* "": there was none */

static __attribute__((constructor)) void note_at_load(void)
{
    const char *value = getenv(VARIABLE);
    if (value != NULL && strlen(value) < sizeof at_load) memcpy(at_load, value, strlen(value) + 1);
}

/* What the kernel keeps of the start of the program, unless the program has written its title over it. */
static const char *find_at_start(char *buffer, size_t size)
{
    static const char name[] = VARIABLE "=";
    char *entry = NULL;
    size_t room = 0;
    const char *found = NULL;
    FILE *file = fopen("/proc/self/environ", "re");
    if (file == NULL) return NULL;
    while (found == NULL && getdelim(&entry, &room, '\0', file) > 0) {
        size_t length = sizeof name - 1;
        if (strncmp(entry, name, length) != 0 || strlen(entry + length) >= size) continue;
        found = memcpy(buffer, entry + length, strlen(entry + length) + 1);
    }
    free(entry);
    fclose(file);
    return found;
}

const char *jm__run_variable(char *buffer, size_t size)
{
    const char *value = getenv(VARIABLE);
    if (value == NULL && at_load[0] != '\0') value = at_load;
    if (value == NULL) return find_at_start(buffer, size);
    if (strlen(value) >= size) return NULL;
    return memcpy(buffer, value, strlen(value) + 1);
}
