/* The simulated machine of this process: its boards, who drives them, and the way in for NVML's calls. */
#ifndef SIM_WORLD_H
#define SIM_WORLD_H

#include "faults.h"
#include "live.h"
#include "nvml_abi.h"
#include "script.h"
#include "shared.h"

typedef struct sim_world {
    _Atomic int users; /* nvmlInit less nvmlShutdown */
    uint64_t settings; /* of the environment, as it was opened: a hash */
    sim_profile profiles[SIM_BOARDS];
    sim_board boards[SIM_BOARDS];
    int board_count;
    sim_labels labels;
    sim_script *script; /* at most one of script and live */
    sim_live *live;
    sim_shared shared;
    uint64_t setting_cursor; /* of shared settings */
    sim_faults faults;
    double mark_j[SIM_FAULTS_MAX][SIM_BOARDS]; /* the counter where a stuck or reset fault sets in */
    struct {
        const sim_fault *fault; /* NULL: free */
        int board;
        unsigned int part;
        unsigned long long number;
    } held[64]; /* what calls said when a fault began to hold them */
    uint64_t reads;
    char error[512];
} sim_world;

struct nvmlDevice_st {
    int index;
};

/* --- for nvml_*.c ----------------------------------------------------------
 * A call enters with its own name and its device (NULL: none), and leaves. Between the two it holds
 * the world's lock. enter returns what the call has to return at once: not initialised, wrong handle, a
 * fault. Then the lock is not held. */
nvmlReturn_t sim_enter(const char *call, sim_world **out);
nvmlReturn_t sim_enter_device(const char *call, nvmlDevice_t device, sim_world **out, sim_board **board);
void sim_leave(void);

/* Bring all boards up to the present less SIM_HORIZON_NS; returns the present. Lock held. */
int64_t sim_world_settle(void);

void sim_sleep_ns(int64_t ns);

/* Spend what a read of this channel costs. Lock not held: the board may be another by now. */
void sim_spend(const sim_profile *board, int channel);

nvmlReturn_t sim_world_init(const char *call);
nvmlReturn_t sim_world_shutdown(const char *call);

nvmlDevice_t sim_device(int index);

/* A text into the caller's buffer, as NVML does it. */
nvmlReturn_t sim_copy_text(char *to, unsigned int size, const char *text);

/* A stamp as the board's driver gives it: CLOCK_REALTIME. */
int64_t sim_stamp_ns(const sim_world *of, const sim_board *board, int64_t t_ns);
long long sim_stamp_us(const sim_world *of, const sim_board *board, int64_t t_ns);

/* A number as this call gives it, faults included. `part` tells those apart that one call can give. */
unsigned long long sim_number(sim_world *of, const char *call, const sim_board *board, unsigned int part,
                              unsigned long long number);

/* The energy counter in mJ, faults included; false: not yet. */
bool sim_energy_mj(const sim_world *of, const sim_board *board, int64_t now_ns, unsigned long long *mj,
                   int64_t *grid_ns);

/* --- for joulemap and for tests ------------------------------------------- */

/* The version; its presence tells that a board is simulated. */
SIM_EXPORT const char *jmsim_version(void);

/* Look at the spans of this run and write the truth there. Either may be NULL: then JOULEMAP_RUN and
 * JOULEMAP_SIM_TRUTH from the environment serve. Before nvmlInit or after it. The truth begins
 * now; where other boards than the open ones are asked for, with the next nvmlInit. Returns 0, or an NVML
 * error number. */
SIM_EXPORT int jmsim_attach(const char *run_dir, const char *truth_path);

/* Write the truth a last time and stop writing it; forget the run. Returns 0 or errno. */
SIM_EXPORT int jmsim_detach(void);

/* 1 if a fault (missing:SYMBOL) says that this symbol is not there. A loader asks before it believes dlsym.
 */
SIM_EXPORT int jmsim_missing(const char *symbol);

/* Why the last nvmlInit or jmsim_attach failed; "" if it did not. */
SIM_EXPORT const char *jmsim_error(void);

/* Span records that were overwritten before the board could see them. */
SIM_EXPORT unsigned long long jmsim_overtaken(void);

/* How fast work of this type runs on a board as it is set now: the clock's share of the highest. For programs
 * that stand for work and must slow down as it would. NAN: no such board, or before nvmlInit. */
SIM_EXPORT double jmsim_speed(int board, const char *type);

/* CLOCK_MONOTONIC ns of the epoch; 0 before nvmlInit. */
SIM_EXPORT long long jmsim_epoch_ns(void);

#endif
