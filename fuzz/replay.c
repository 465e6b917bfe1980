/* Runs a fuzz target over files and folders of inputs, without libFuzzer. Fails if there is none. */
#include "fuzz.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static size_t replayed;

static int replay_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        return 1;
    }
    int failed = 1;
    uint8_t *data = NULL;
    struct stat info;
    if (fstat(fileno(file), &info) != 0) goto out;
    size_t size = (size_t)info.st_size;
    data = malloc(size ? size : 1); /* no slack: a read past the end is one past the allocation */
    if (!data || fread(data, 1, size, file) != size) goto out;
    fprintf(stderr, "replay %s\n", path);
    LLVMFuzzerTestOneInput(data, size);
    replayed++;
    failed = 0;
out:
    if (failed) perror(path);
    free(data);
    fclose(file);
    return failed;
}

static int replay_folder(const char *folder)
{
    struct dirent **entries;
    int count = scandir(folder, &entries, NULL, alphasort);
    if (count < 0) {
        perror(folder);
        return 1;
    }
    int failed = 0;
    for (int i = 0; i < count; i++) {
        char path[PATH_MAX];
        int length = snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        if (entries[i]->d_name[0] != '.' && length < (int)sizeof path) failed |= replay_file(path);
        free(entries[i]);
    }
    free(entries);
    return failed;
}

int main(int argc, char **argv)
{
    int failed = 0;
    for (int i = 1; i < argc; i++) {
        struct stat info;
        if (stat(argv[i], &info) == 0 && S_ISDIR(info.st_mode)) {
            failed |= replay_folder(argv[i]);
        } else {
            failed |= replay_file(argv[i]);
        }
    }
    printf("%zu inputs replayed\n", replayed);
    return failed || replayed == 0;
}
