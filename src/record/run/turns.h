/* Turns of tracing that the ranks of a job take together: they wait for each other in each step, so that
 * turns of each one's own would slow all of them down as many times as there are ranks, and hardly ever
 * coincide in a report.
 *
 * The first rank of this machine decides, a few steps ahead, and says so in a page of the run's folder; the
 * others do as it says when their step of that number begins. Nothing is waited for. Ranks that were started
 * dormant count their steps from when a recorder came, each for itself: they take turns of their own. */
#ifndef JM_RECORD_RUN_TURNS_H
#define JM_RECORD_RUN_TURNS_H

#include <joulemap/run.h>
#include <stdbool.h>
#include <stdint.h>

/* Steps from what is said to when it holds: ranks are hardly ever further apart. */
enum { JM_TURNS_AHEAD = 2 };

typedef struct jm__turns_page jm__turns_page;

typedef struct jm__turns {
    jm__turns_page *page; /* NULL: this process takes turns of its own */
    bool leads;
    bool waits;     /* the first rank may not have come yet: join again */
    uint32_t heard; /* of what the first rank told of turns to come */
} jm__turns;

/* As the environment says that a launcher like torchrun set (WORLD_SIZE, LOCAL_RANK, MASTER_PORT): without
 * it, or where the page cannot be had, the process takes turns of its own. */
void jm__turns_join(jm__turns *turns, const char *run_dir);

/* The level of this step, after `before`, which would be `wanted` if the process were alone. */
jm_tracing jm__turns_agree(const jm__turns *turns, uint64_t step, jm_tracing before, jm_tracing wanted);

/* From a level that this process answers to the step that has it. */
uint64_t jm__turns_lag(const jm__turns *turns);

/* Whether it is news here that a turn is to come; `own`: this process would have it so if it were alone. */
bool jm__turns_comes_soon(jm__turns *turns, bool own);

/* The first rank's end is told to the others. */
void jm__turns_leave(jm__turns *turns);

#endif
