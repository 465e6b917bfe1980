/* The store .joulemap: where it lies, what is in it, and what goes when it is full. */
#include "cli/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { RUNS_MOST = 100 };
#define BYTES_MOST 2e9

static const char suffix[] = ".joulemap";

const char *const cli_recording_files[] = {"", "-wal", "-journal", "-shm", ".truth.csv"};

static bool exists_in(const char *folder, const char *name)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return access(path, F_OK) == 0;
}

/* The folder of .git above the present one, or the present one. */
static bool find_project(char *folder, size_t size)
{
    char here[PATH_MAX - 96];
    if (getcwd(here, sizeof here) == NULL) return false;
    snprintf(folder, size, "%s", here);
    while (!exists_in(folder, ".git")) {
        char *last = strrchr(folder, '/');
        if (last == NULL || last == folder) {
            snprintf(folder, size, "%s", here);
            break;
        }
        *last = '\0';
    }
    return true;
}

/* Only what `joulemap run` has named: "20261129-181530.123-4567.joulemap", of a repeated one "...-4567-02".
 */
static bool is_recording(const char *name)
{
    static const char form[] = "dddddddd-dddddd.ddd-";
    for (size_t i = 0; form[i] != '\0'; i++)
        if (form[i] == 'd' ? name[i] < '0' || name[i] > '9' : name[i] != form[i]) return false;
    const char *rest = name + sizeof form - 1;
    return strcmp(rest + strspn(rest, "0123456789-"), suffix) == 0;
}

/* Names begin with the time. */
static int newest_first(const void *a, const void *b)
{
    return strcmp(*(char *const *)b, *(char *const *)a);
}

static int read_names(const cli_args *args, cli_store *store)
{
    DIR *entries = opendir(store->folder);
    if (entries == NULL && errno == ENOENT) return CLI_GO_ON;
    if (entries == NULL)
        return cli_error(args, JM_IO, "give the recording's path", "%s: %s", store->folder, strerror(errno));
    bool fine = true;
    size_t room = 0;
    for (struct dirent *entry; fine && (entry = readdir(entries)) != NULL;) {
        if (!is_recording(entry->d_name)) continue;
        if (store->count == room) {
            char **more = realloc(store->names, (room = 2 * room + 16) * sizeof *more);
            if (more == NULL) break;
            store->names = more;
        }
        fine = (store->names[store->count] = strdup(entry->d_name)) != NULL;
        store->count += fine;
    }
    closedir(entries);
    if (store->count > 0) qsort(store->names, store->count, sizeof *store->names, newest_first);
    return CLI_GO_ON;
}

int cli_store_open(const cli_args *args, cli_store *store)
{
    *store = (cli_store){0};
    if (!find_project(store->folder, sizeof store->folder - 16))
        return cli_error(args, JM_IO, "go to a folder that exists", "the present folder: %s",
                         strerror(errno));
    strcat(store->folder, "/.joulemap");
    return read_names(args, store);
}

void cli_store_free(cli_store *store)
{
    for (size_t i = 0; i < store->count; i++)
        free(store->names[i]);
    free(store->names);
    *store = (cli_store){0};
}

const char *cli_store_path(const cli_store *store, size_t number, char path[PATH_MAX])
{
    snprintf(path, PATH_MAX, "%s/%s", store->folder, store->names[number]);
    return path;
}

/* Of a recording with all that is beside it. */
static double size_of(const char *path)
{
    char file[PATH_MAX + 16];
    double bytes = 0;
    for (int i = 0; i < CLI_RECORDING_FILES; i++) {
        struct stat info;
        snprintf(file, sizeof file, "%s%s", path, cli_recording_files[i]);
        if (stat(file, &info) == 0) bytes += (double)info.st_size;
    }
    return bytes;
}

/* A recorder writes into a journal beside its recording, twice a second; that of a killed one stays. */
static bool is_in_use(const char *path)
{
    enum { SILENT_S = 60 };
    char journal[PATH_MAX + 8];
    struct stat info;
    snprintf(journal, sizeof journal, "%s-wal", path);
    return stat(journal, &info) == 0 && time(NULL) - info.st_mtime < SILENT_S;
}

static void remove_run(const char *path)
{
    char file[PATH_MAX + 16];
    for (int i = 0; i < CLI_RECORDING_FILES; i++) {
        snprintf(file, sizeof file, "%s%s", path, cli_recording_files[i]);
        unlink(file);
    }
}

/* Remove the oldest that are too many, or too large together, once another one is there. The newest stays. */
static void prune(const cli_store *store)
{
    char path[PATH_MAX];
    double bytes = 0;
    for (size_t i = 0; i < store->count; i++) {
        cli_store_path(store, i, path);
        bytes += size_of(path);
        if (i > 0 && (i + 1 >= RUNS_MOST || bytes > BYTES_MOST) && !is_in_use(path)) remove_run(path);
    }
}

static bool make_folder(const char *folder)
{
    char ignore[PATH_MAX];
    if (mkdir(folder, 0777) != 0) return errno == EEXIST;
    snprintf(ignore, sizeof ignore, "%s/.gitignore", folder);
    int file = open(ignore, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file < 0) return true;
    bool written = write(file, "*\n", 2) == 2;
    close(file);
    if (!written) unlink(ignore);
    return true;
}

int cli_store_add(const cli_args *args, char path[PATH_MAX])
{
    cli_store store;
    int code = cli_store_open(args, &store);
    if (code == CLI_GO_ON && !make_folder(store.folder))
        code = cli_error(args, JM_IO, "give a path with -o FILE", "cannot make the folder %s: %s",
                         store.folder, strerror(errno));
    if (code == CLI_GO_ON) {
        struct timespec now;
        struct tm utc; /* names sort by it, whatever the time zone */
        char date[32] = "";
        clock_gettime(CLOCK_REALTIME, &now);
        if (gmtime_r(&now.tv_sec, &utc) != NULL) strftime(date, sizeof date, "%Y%m%d-%H%M%S", &utc);
        prune(&store);
        snprintf(path, PATH_MAX, "%s/%s.%03ld-%d%s", store.folder, date, now.tv_nsec / 1000000, (int)getpid(),
                 suffix);
    }
    cli_store_free(&store);
    return code;
}

int cli_store_newest(const cli_args *args, char path[PATH_MAX])
{
    cli_store store;
    int code = cli_store_open(args, &store);
    if (code == CLI_GO_ON && store.count == 0)
        code =
            cli_error(args, JM_NOT_FOUND, "joulemap run COMMAND makes one; or give the path of a recording",
                      "no recording is given, and there is none in %s", store.folder);
    if (code == CLI_GO_ON) cli_store_path(&store, 0, path);
    cli_store_free(&store);
    return code;
}
