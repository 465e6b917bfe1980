/* One word in a page that the ranks share. */
#include "record/run/turns.h"

#include "base/private_file.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define LEVEL_BITS 2 /* of jm_tracing; the step's number above */

struct jm__turns_page {
    _Atomic uint64_t said; /* 0: nothing */
    _Atomic uint32_t soon; /* how often a turn was to come */
};

static long number_of(const char *name)
{
    const char *text = getenv(name);
    char *end = NULL;
    long number = text == NULL ? -1 : strtol(text, &end, 10);
    return end != text && end != NULL && *end == '\0' ? number : -1;
}

static int open_page(const char *run_dir, long job, bool create)
{
    char name[32];
    const jm__turns_page none = {0};
    snprintf(name, sizeof name, "turns-%ld", job);
    int fd = jm__private_file(run_dir, name, O_RDWR | (create ? O_CREAT : 0));
    /* Written, so its memory is there: no SIGBUS later. */
    if (fd >= 0 && create && pwrite(fd, &none, sizeof none, 0) != (ssize_t)sizeof none) {
        close(fd);
        return -1;
    }
    return fd;
}

void jm__turns_join(jm__turns *turns, const char *run_dir)
{
    long rank = number_of("LOCAL_RANK"), job = number_of("MASTER_PORT");
    *turns = (jm__turns){0};
    if (run_dir[0] == '\0') return; /* of a dormant run, which has no folder: each rank takes its own turns */
    if (number_of("WORLD_SIZE") < 2 || rank < 0) return;
    turns->leads = rank == 0;
    turns->waits = rank != 0;
    int fd = open_page(run_dir, job, turns->leads);
    if (fd < 0) return;
    off_t size = lseek(fd, 0, SEEK_END);
    void *map = size < (off_t)sizeof(jm__turns_page)
                    ? MAP_FAILED
                    : mmap(NULL, sizeof(jm__turns_page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (map == MAP_FAILED) return;
    turns->page = map;
    turns->heard = atomic_load_explicit(&turns->page->soon, memory_order_relaxed);
}

/* From this step on. */
static void say(const jm__turns *turns, uint64_t step, jm_tracing level)
{
    atomic_store_explicit(&turns->page->said, step << LEVEL_BITS | (uint64_t)level, memory_order_relaxed);
}

/* The last thing said; false: nothing was, or the first rank has ended. */
static bool ask(const jm__turns *turns, uint64_t *step, jm_tracing *level)
{
    uint64_t said = atomic_load_explicit(&turns->page->said, memory_order_relaxed);
    *step = said >> LEVEL_BITS;
    *level = (jm_tracing)(said & ((1u << LEVEL_BITS) - 1));
    return said != 0;
}

/* A rank that was not told in time that it gets warm is so for one step. */
jm_tracing jm__turns_agree(const jm__turns *turns, uint64_t step, jm_tracing before, jm_tracing wanted)
{
    uint64_t from;
    jm_tracing level;
    if (turns->page == NULL) return wanted;
    bool told = ask(turns, &from, &level);
    if (told && from > step) return before;
    if (told && level != before)
        return before == JM_TRACING_STEPS && level == JM_TRACING_ON ? JM_TRACING_WARM : level;
    if (!turns->leads) return told ? before : wanted; /* the first rank has not begun, or has ended */
    if (wanted != before) say(turns, step + JM_TURNS_AHEAD, wanted);
    return before;
}

uint64_t jm__turns_lag(const jm__turns *turns)
{
    return turns->page != NULL && turns->leads ? JM_TURNS_AHEAD : 0;
}

bool jm__turns_comes_soon(jm__turns *turns, bool own)
{
    if (turns->page == NULL) return own;
    if (turns->leads) {
        if (own) atomic_fetch_add_explicit(&turns->page->soon, 1, memory_order_relaxed);
        return own;
    }
    uint32_t said = atomic_load_explicit(&turns->page->soon, memory_order_relaxed), before = turns->heard;
    uint64_t step;
    jm_tracing level;
    turns->heard = said;
    return ask(turns, &step, &level) ? said != before : own;
}

void jm__turns_leave(jm__turns *turns)
{
    if (turns->page == NULL) return;
    if (turns->leads) atomic_store_explicit(&turns->page->said, 0, memory_order_relaxed);
    munmap(turns->page, sizeof *turns->page);
    turns->page = NULL;
}
