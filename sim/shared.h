/* What all processes that look at one simulated board agree on: its epoch, what was set on it, and who
 * samples its counters.
 *
 * A small mapped file in the run's folder, else in $XDG_RUNTIME_DIR or /tmp. It begins anew with
 * the first process that opens it while no other has it open; settings then stay only where
 * persistence mode is on, as with the driver. */
#ifndef SIM_SHARED_H
#define SIM_SHARED_H

#include "power.h"

#include <stdatomic.h>

#define SIM_BOARDS       16
#define SIM_SHARED_PATH  512
#define SIM_SETTINGS_MAX 1024 /* kept; older ones have long been taken. Samplers come and go all the time */

typedef struct sim_shared_setting {
    sim_setting setting;
    int32_t board;
    int32_t reserved;
} sim_shared_setting;

/* The energy counter of a board as the processes that drive it live know it. */
typedef struct sim_checkpoint {
    _Atomic uint64_t burst; /* odd: being written */
    _Atomic int64_t t_ns;
    _Atomic uint64_t energy_uj;
} sim_checkpoint;

/* The file's content. */
typedef struct sim_shared_state {
    _Atomic uint64_t magic;
    int64_t epoch_monotonic_ns;
    int64_t epoch_realtime_ns;
    _Atomic int32_t truth_pid; /* the process that writes the truth, 0: none */
    _Atomic int32_t persistence[SIM_BOARDS];
    sim_checkpoint checkpoints[SIM_BOARDS];
    _Atomic uint64_t setting_count;
    sim_shared_setting settings[SIM_SETTINGS_MAX];
} sim_shared_state;

typedef struct sim_shared {
    sim_shared_state *state;
    int fd; /* -1: no file could be made, the state is this process's own */
    char path[SIM_SHARED_PATH];
    bool samples[SIM_BOARDS]; /* this process has a PM sampler on the board */
} sim_shared;

/* Where the file lies. `run_dir` may be NULL; `key` tells boards of different make apart. False: too long. */
bool sim_shared_path(char *path, size_t size, const char *run_dir, uint64_t key);

/* `base`, if not NULL: the state
 * to go on with if the file is new. False: out of memory. */
bool sim_shared_open(sim_shared *shared, const char *run_dir, uint64_t key, const sim_shared_state *base);
void sim_shared_close(sim_shared *shared);

/* Note a setting, from now on; the others stay. */
void sim_shared_set_limit(sim_shared *shared, int board, const sim_profile *profile, double limit_w);
void sim_shared_set_lock(sim_shared *shared, int board, const sim_profile *profile, double lock_mhz);

/* From now on this process has a PM sampler on the board, or none any more. */
void sim_shared_sample(sim_shared *shared, int board, const sim_profile *profile, bool samples);

/* Note whether anybody has a PM sampler on the board, if that is news: one that was killed told nobody. */
void sim_shared_look_for_samplers(sim_shared *shared, int board, const sim_profile *profile);

/* What was last set on this board; the profile's own where nothing was. */
sim_setting sim_shared_latest(const sim_shared *shared, int board, const sim_profile *profile);

/* Note how far a board's counter has come, unless somebody else does so just now. */
void sim_shared_publish(sim_shared *shared, int board, int64_t t_ns, double energy_j);

/* What was last noted; false: nothing. */
bool sim_shared_checkpoint(const sim_shared *shared, int board, int64_t *t_ns, double *energy_j);

int64_t sim_monotonic_ns(void);
int64_t sim_realtime_ns(void);

#endif
