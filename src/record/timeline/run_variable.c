/* What this process was started with. A program may clean its environment before its first span: some do so
 * first of all, some launchers of workers in between. */
#include "record/timeline/run_variable.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

const char *jm__run_variable(char *buffer, size_t size)
{
    return jm__start_variable(JM_START_RUN, buffer, size);
}
