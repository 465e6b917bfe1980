/* The Python whose packages may hold a libcupti. */
#include "record/cupti/program.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The first python3 on PATH. */
static bool find_on_path(char *found, size_t size)
{
    const char *path = getenv("PATH");
    while (path != NULL && *path != '\0') {
        size_t length = strcspn(path, ":");
        int written = snprintf(found, size, "%.*s/python3", (int)length, path);
        if (length > 0 && written > 0 && (size_t)written < size && access(found, X_OK) == 0) return true;
        path += length + (path[length] == ':');
    }
    return false;
}

const char *jm__cupti_program(char *program, size_t size)
{
    char found[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", program, size - 1);
    program[length > 0 ? length : 0] = '\0';
    const char *slash = strrchr(program, '/');
    if (slash != NULL && strncmp(slash + 1, "python", 6) == 0) return program;
    const char *launcher = getenv("JOULEMAP_PYTHON");
    if (launcher != NULL && launcher[0] != '\0')
        snprintf(found, sizeof found, "%s", launcher);
    else if (!find_on_path(found, sizeof found))
        return NULL;
    return size >= PATH_MAX ? realpath(found, program) : NULL;
}
