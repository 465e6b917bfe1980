/* Interned texts and the append-only names file. */
#include "record/timeline/names.h"

#include "base/private_file.h"
#include "base/search.h"
#include "record/timeline/ring_format.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <unistd.h>

#define FILES_TRIED 4096

/* A text in the map: not NUL-terminated when it is looked for. */
typedef struct name_key {
    const char *text;
    size_t length;
} name_key;

static uint64_t hash_of(const void *key)
{
    const name_key *name = key;
    return jm__map_hash_bytes(0, name->text, name->length);
}

static bool is_equal(const void *key, const void *another)
{
    const name_key *a = key, *b = another;
    return a->length == b->length && memcmp(a->text, b->text, a->length) == 0;
}

/* One write(2), whole or not at all: a torn entry would shift all that follow. */
static bool write_entry(int fd, uint32_t number, const char *text, uint32_t length)
{
    uint32_t head[2] = {number, length};
    union {
        const char *from;
        void *to;
    } borrowed = {.from = text}; /* writev takes no const */
    struct iovec parts[2] = {{head, sizeof head}, {borrowed.to, length}};
    ssize_t wanted = (ssize_t)(sizeof head + length);
    off_t before = lseek(fd, 0, SEEK_END);
    ssize_t written;
    struct rlimit most; /* passing it would be a SIGXFSZ, which kills */
    if (getrlimit(RLIMIT_FSIZE, &most) == 0 && (before < 0 || (rlim_t)(before + wanted) > most.rlim_cur))
        return false;
    do {
        written = writev(fd, parts, 2);
    } while (written < 0 && errno == EINTR);
    if (written == wanted) return true;
    if (written > 0 && before >= 0 && ftruncate(fd, before) != 0) return false;
    return false;
}

/* -1: there is none, or none any more. */
static int file_of(jm__names *names)
{
    return names->path == NULL ? -1 : jm__kept_file_fd(&names->file, names->path, O_WRONLY | O_APPEND);
}

static bool write_pending(jm__names *names)
{
    int fd = file_of(names);
    if (fd < 0) return false;
    for (; names->written < names->count; names->written++) {
        const jm__names_entry *entry = &names->entries[names->written];
        if (!write_entry(fd, entry->number, entry->text, entry->length)) return false;
    }
    return true;
}

/* An errno. */
static int keep(jm__names *names, int fd, const char *run_dir, const char *name)
{
    size_t size = strlen(run_dir) + strlen(name) + 2;
    bool kept = jm__kept_file_set(&names->file, fd);
    names->path = malloc(size);
    if (!kept || names->path == NULL) {
        jm__names_close(names);
        return ENOMEM;
    }
    snprintf(names->path, size, "%s/%s", run_dir, name);
    write_pending(names);
    return 0;
}

static int open_in(int folder, jm__names *names, const char *run_dir, uint32_t writer)
{
    for (uint32_t k = 0; k < FILES_TRIED; k++) {
        char name[NAME_MAX], suffix[16] = "";
        if (k > 0) snprintf(suffix, sizeof suffix, "-%u", k);
        snprintf(name, sizeof name, "%d-%c%s" JM_NAMES_SUFFIX, (int)getpid(), (char)writer, suffix);
        int fd = jm__private_file_at(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_APPEND);
        if (fd < 0 && errno == EEXIST) continue;
        if (fd < 0) return errno;
        names->file_number = k;
        return keep(names, fd, run_dir, name);
    }
    return EEXIST;
}

int jm__names_open(jm__names *names, const char *run_dir, uint32_t writer)
{
    jm__names_close(names);
    int folder = jm__private_folder(run_dir);
    if (folder < 0) return errno;
    int error = open_in(folder, names, run_dir, writer);
    close(folder);
    return error;
}

void jm__names_close(jm__names *names)
{
    jm__kept_file_close(&names->file);
    free(names->path);
    names->path = NULL;
    names->written = 0;
}

void jm__names_free(jm__names *names)
{
    jm__names_close(names);
    for (size_t i = 0; i < names->count; i++)
        free(names->entries[i].text);
    free(names->entries);
    free(names->once);
    jm__map_free(&names->indices);
    memset(names, 0, sizeof *names);
}

static const jm__names_entry *append(jm__names *names, const char *text, size_t length)
{
    if (names->count >= JM_NAMES_MAX) return NULL;
    if (names->count == names->capacity) {
        size_t larger = names->capacity == 0 ? 256 : names->capacity * 2;
        jm__names_entry *moved = realloc(names->entries, larger * sizeof *moved);
        if (moved == NULL) return NULL;
        names->entries = moved;
        names->capacity = larger;
    }
    char *copy = malloc(length + 1);
    if (copy == NULL) return NULL;
    memcpy(copy, text, length);
    copy[length] = '\0';
    name_key key = {copy, length};
    if (names->count == 0) /* the struct was zeroed by its owner */
        names->indices = (jm__map){.key_size = sizeof key, .hash = hash_of, .equal = is_equal};
    if (!jm__map_put(&names->indices, &key, (jm__map_value){.id = (int64_t)names->count})) {
        free(copy);
        return NULL;
    }
    jm__names_entry *entry = &names->entries[names->count++];
    *entry = (jm__names_entry){++names->last_number, (uint32_t)length, copy};
    return entry;
}

uint32_t jm__names_intern(jm__names *names, const char *text, size_t length)
{
    if (length == 0) return 0;
    if (length > JM_NAME_MAX) {
        names->refused++;
        return 0;
    }
    name_key key = {text, length};
    const jm__map_value *found = jm__map_find(&names->indices, &key);
    if (found != NULL) {
        /* An earlier write may have failed (disk full): the text may still be owed. */
        if (names->written < names->count) write_pending(names);
        return names->entries[found->id].number;
    }
    const jm__names_entry *entry = append(names, text, length);
    if (entry == NULL) {
        names->refused++;
        return 0;
    }
    write_pending(names);
    return entry->number;
}

/* 0: no memory. */
static uint32_t take_once_number(jm__names *names)
{
    if (names->once_count == JM_NAMES_ONCE_MAX) {
        uint32_t number = names->once[names->once_next];
        names->once_next = (names->once_next + 1) % JM_NAMES_ONCE_MAX;
        return number;
    }
    if ((names->once_count & (names->once_count - 1)) == 0) { /* room for a power of two is full */
        size_t room = names->once_count == 0 ? 1 : 2 * names->once_count;
        uint32_t *larger = realloc(names->once, room * sizeof *larger);
        if (larger == NULL) return 0;
        names->once = larger;
    }
    return names->once[names->once_count++] = ++names->last_number;
}

uint32_t jm__names_write_once(jm__names *names, const char *text, size_t length)
{
    int fd = file_of(names);
    if (length == 0 || length > JM_NAME_MAX || fd < 0) return 0;
    uint32_t number = take_once_number(names);
    if (number == 0) return 0;
    return write_entry(fd, number, text, (uint32_t)length) ? number : 0;
}

const char *jm__names_text(const jm__names *names, uint32_t number)
{
    /* Numbers grow with the index, with gaps where a text was written once. */
    size_t at;
    jm__search(at, names->count, names->entries[at].number < number);
    return at < names->count && names->entries[at].number == number ? names->entries[at].text : NULL;
}
