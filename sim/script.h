/* Power from a script: segments `t_start_s,t_end_s,power_w[,name][,board]` relative to the board's epoch. */
#ifndef SIM_SCRIPT_H
#define SIM_SCRIPT_H

#include "truth.h"

typedef struct sim_script sim_script;

/* NULL: `why` says what is wrong, with the line. */
sim_script *sim_script_open(const char *path, sim_labels *labels, char *why, size_t why_size);
void sim_script_close(sim_script *script);

/* Drive the board up to t_ns. A board begins at its epoch, whenever it is first driven. */
void sim_script_drive(sim_script *script, sim_board *board, int64_t t_ns);

#endif
