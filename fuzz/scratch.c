/* The scratch folder of a fuzz target: files that live for one input. */
#include "fuzz.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[] = "/dev/shm/joulemap-fuzz-XXXXXX";
static char paths[8][PATH_MAX]; /* as many as one input may need at a time */
static unsigned next_path;

_Noreturn void fuzz_broken(const char *promise, const char *file, int line)
{
    fprintf(stderr, "%s:%d: broken promise: %s\n", file, line, promise);
    abort();
}

static void remove_folder(void)
{
    fuzz_clear();
    rmdir(folder);
}

const char *fuzz_path(const char *name)
{
    static int made;
    if (!made) {
        made = 1;
        FUZZ_PROMISE(mkdtemp(folder) != NULL);
        atexit(remove_folder);
    }
    char *path = paths[next_path++ % (sizeof paths / sizeof *paths)];
    int length = snprintf(path, PATH_MAX, "%s/%s", folder, name);
    FUZZ_PROMISE(length > 0 && length < PATH_MAX);
    return path;
}

const char *fuzz_file(const char *name, const void *data, size_t size)
{
    const char *path = fuzz_path(name);
    FILE *file = fopen(path, "wb");
    FUZZ_PROMISE(file != NULL);
    FUZZ_PROMISE(size == 0 || fwrite(data, 1, size, file) == size);
    FUZZ_PROMISE(fclose(file) == 0);
    return path;
}

void fuzz_clear(void)
{
    DIR *dir = opendir(fuzz_path("."));
    FUZZ_PROMISE(dir != NULL);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            unlink(fuzz_path(entry->d_name));
        }
    }
    closedir(dir);
}
