/* Power from the spans of the programs of a run. */
#ifndef SIM_LIVE_H
#define SIM_LIVE_H

#include "truth.h"

typedef struct sim_live sim_live;

/* NULL: out of memory. `labels` is borrowed. */
sim_live *sim_live_open(const char *run_dir, sim_labels *labels, int64_t now_ns);
void sim_live_close(sim_live *live);

/* Take all records up to until_ns and drive the boards with them. `step` is called before a board is
 * moved to a time, so that settings come in between. */
typedef void sim_live_step(void *context, sim_board *board, int64_t t_ns);
void sim_live_drive(sim_live *live, sim_board *boards, int board_count, int64_t until_ns, int64_t now_ns,
                    sim_live_step *step, void *context);

/* Span records that were overwritten before they were seen. */
uint64_t sim_live_overtaken(const sim_live *live);

/* The processes with work on this board; returns how many there are, writes at most `size`. */
int sim_live_processes(const sim_live *live, int board, int32_t *pids, int size);

#endif
