/* Steps whose work nobody records: a program that traces only some of its steps says so by marks, and of the
 * others only their edges come. While such a step goes on, the board carries again what the last steps of
 * this name put on it that were told in full, one after the other, each as much shorter as untraced steps
 * are.
 *
 * Times: CLOCK_MONOTONIC, in rising order. */
#ifndef SIM_AGAIN_H
#define SIM_AGAIN_H

#include "power.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct sim_again sim_again; /* one process */

/* All processes: zeroed at first. */
typedef struct sim_agains {
    sim_again *first;
} sim_agains;

void sim_agains_free(sim_agains *all);

/* That of a process, whose work runs on that board, made if it is not there; NULL: out of memory. */
sim_again *sim_again_of(sim_agains *all, int32_t pid, int board);
void sim_again_forget(sim_agains *all, int32_t pid);

/* A mark of the program: it may say from where on steps alone are told, or everything is. */
void sim_again_mark(sim_again *again, const char *name);

/* A step begins or ends: `key` stands for its kind and name. A step in a step is a part of it. */
void sim_again_begin(sim_again *again, uint64_t id, uint64_t key, int64_t t_ns);
void sim_again_end(sim_again *again, uint64_t id, int64_t t_ns);

/* What the program's own spans put on the board from here on; a call of a label begins with it, UINT32_MAX:
 * none. */
void sim_again_told(sim_again *again, const sim_load *loads, int count, uint32_t call, int64_t t_ns);

/* Records of the program are missing: of the step that goes on nothing is learnt. */
void sim_again_broken(sim_again *again);

/* The process whose work changes next of all that carry some again, and when; NULL: none does. */
sim_again *sim_again_next(const sim_agains *all, int64_t *t_ns);

/* Move it on to there: the board that it is on, and the label of a call that ends with it, UINT32_MAX: none.
 */
int sim_again_move(sim_again *again, uint32_t *call);

/* What a board carries again now: up to SIM_LOADS; returns how many. */
int sim_again_loads(const sim_agains *all, int board, sim_load *loads);

#endif
