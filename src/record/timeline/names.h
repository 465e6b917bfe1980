/* The names of one writer: texts, their numbers, and the names file of the run.
 *
 * Texts outlive a run: a new run's file gets those known already. Not locked:
 * the owner does that. Libc alone: also part of libjoulemap_inject. */
#ifndef JM_RECORD_TIMELINE_NAMES_H
#define JM_RECORD_TIMELINE_NAMES_H

#include "base/kept_file.h"
#include "base/map.h"

#include <stddef.h>
#include <stdint.h>

#define JM_NAMES_MAX (1u << 20) /* texts kept in a process */
/* Numbers of texts used once, which come again: 16 full rings of marks. */
#define JM_NAMES_ONCE_MAX (1u << 20)

typedef struct jm__names_entry {
    uint32_t number;
    uint32_t length;
    char *text; /* NUL-terminated */
} jm__names_entry;

typedef struct jm__names {
    jm__names_entry *entries;
    size_t count;
    size_t capacity;
    jm__map indices; /* of entries, by text */
    uint32_t last_number;
    uint32_t *once; /* numbers of texts used once, the oldest at once_next when all are there */
    size_t once_count;
    size_t once_next;
    uint64_t refused; /* asked for and without a number; the owner takes the count away */
    size_t written;   /* entries that are in the file */
    jm__kept_file file;
    char *path; /* of the file, NULL: there is none */
    uint32_t file_number;
} jm__names;

/* Open this run's file and write into it what is known already. 0 or an errno. */
int jm__names_open(jm__names *names, const char *run_dir, uint32_t writer);

/* The number of a text, 0 if there is no memory or JM_NAMES_MAX texts are there. */
uint32_t jm__names_intern(jm__names *names, const char *text, size_t length);

/* A number for a text used once (a mark's JSON): goes to the file and is not kept. 0 if it could not. The
 * same number is given again after JM_NAMES_ONCE_MAX others: a program may tell of marks for months. */
uint32_t jm__names_write_once(jm__names *names, const char *text, size_t length);

/* The kept text of a number that jm__names_intern gave, NULL of any other; valid for ever. */
const char *jm__names_text(const jm__names *names, uint32_t number);

void jm__names_close(jm__names *names); /* the file; texts stay */
void jm__names_free(jm__names *names);

#endif
