/* What the simulated machine is made of. Only for world*.c; all of it with the lock held. */
#ifndef SIM_WORLD_PARTS_H
#define SIM_WORLD_PARTS_H

#include "world.h"

#include <pthread.h>

extern sim_world sim_the_world;
extern pthread_mutex_t sim_world_lock;

/* The lock, by one who opens, closes or hands over the machine: one at a time, also while the helper's end
 * lets go of the lock. */
void sim_world_change_begin(void);
void sim_world_change_end(void);

/* What the process was told, kept over nvmlShutdown; "": the environment serves. */
typedef struct sim_world_given {
    char run[512];
    char truth[4096];
    pid_t pid; /* the process that was told: a fork's child was not */
} sim_world_given;
extern sim_world_given sim_given;

/* world_drive.c. Move one board, with what was set on it in between; or all of them. */
void sim_world_step(void *context, sim_board *board, int64_t t_ns);
void sim_world_drive(int64_t until_ns, int64_t now_ns);

/* world_truth.c. Only one process writes to a path that the environment gives. */
void sim_world_truth_claim(void);
int sim_world_truth_finish(void); /* 0 or errno */
void sim_world_helper_start(void);
void sim_world_helper_stop(void); /* lets go of the lock while the thread ends */

/* world_open.c. False: the reason is in the world's error. */
bool sim_world_open(void);
void sim_world_close(void);
void sim_world_boards_close(void);
bool sim_world_change_run(void);

/* Boards are open, and the environment names others: of other make or settings, or with another state file.
 */
bool sim_world_others_asked(void);
/* Whether a run that this process was told of is measured on the open boards. If so, that is the world's
 * error. */
bool sim_world_measured(void);
/* Open what the environment names in the place of what is open, for its users too. */
nvmlReturn_t sim_world_change_boards(void);

#endif
