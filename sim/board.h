/* One simulated board: its power and what its sensors make of it.
 *
 * Drive it in rising order of time: sim_board_advance to an instant, then sim_board_load. The
 * same calls serve the library (in real time) and the generator (as fast as it can). */
#ifndef SIM_BOARD_H
#define SIM_BOARD_H

#include "power.h"

/* A board has been idle for so long before its epoch: its rings are full when it is first read. */
#define SIM_BEFORE_NS INT64_C(26000000000)

typedef struct sim_sample {
    int64_t number;
    int64_t grid_ns;    /* the instant that it belongs to */
    int64_t stamp_ns;   /* the instant that it says: jitter, late stamps */
    int64_t visible_ns; /* from when on it can be read */
    double value;
} sim_sample;

typedef struct sim_channel {
    sim_channel_profile profile;
    uint64_t key;
    int64_t first_ns; /* grid time of number 0 */
    int64_t count;    /* samples made */
    double state;     /* FIRST_ORDER: its output */
    sim_sample *samples;
} sim_channel;

typedef struct sim_board {
    const sim_profile *profile;
    int index;
    uint64_t key;
    int64_t epoch_ns;
    sim_power power;
    sim_channel channels[SIM_CHANNEL_COUNT];
    int64_t next_sample_ns;
    uint64_t reads;                /* of slow calls: which of them are in the tail */
    struct sim_counting *counting; /* its hardware counters; NULL: nobody counts */
} sim_board;

bool sim_board_open(sim_board *board, const sim_profile *profile, int index, uint64_t seed, int64_t epoch_ns);
void sim_board_close(sim_board *board);

void sim_board_advance(sim_board *board, int64_t t_ns);
void sim_board_load(sim_board *board, const sim_load *loads, int count, bool context);

/* Add to the energy counter, as if it had always been so. */
void sim_board_shift(sim_board *board, double energy_j);

/* Besides `depth`, samples kept that are made but cannot be read yet. */
#define SIM_UNSEEN 8

/* The newest sample that can be read at now_ns; NULL: none, or no such sensor. */
const sim_sample *sim_board_newest(const sim_board *board, int channel, int64_t now_ns);

/* Sample `number` if it is still kept and can be read at now_ns; else NULL. */
const sim_sample *sim_board_sample(const sim_board *board, int channel, int64_t number, int64_t now_ns);

#endif
