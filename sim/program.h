/* A made-up program for the generator: kernel classes with duration and watts, and the order of their calls.
 */
#ifndef SIM_PROGRAM_H
#define SIM_PROGRAM_H

#include "profile.h"

#define SIM_CLASSES_MAX 4096

typedef struct sim_class {
    char name[SIM_TEXT];
    double duration_us;
    double power_w; /* of the board while it runs alone */
    int calls;      /* one after the other, each time it has its turn */
} sim_class;

typedef struct sim_program {
    sim_class classes[SIM_CLASSES_MAX];
    int class_count;
    bool shuffled;    /* each round in another order; else as listed */
    double spread;    /* a call's duration varies by this share (standard deviation) */
    double gap_us;    /* mean of the gap after a call, exponential */
    double round_us;  /* gap after a round */
    double repeat_ms; /* after a round, one class at random once more for so long; 0: no */
    bool bursts;      /* no rounds: one class at random for 1 to 20 ms, then nothing for up to 12 */
    uint64_t seed;
} sim_program;

/* `count` classes of random length (20 us to 5 ms) and power (of the range that the profile gives to unknown
 * types). */
void sim_program_invent(sim_program *program, const sim_profile *profile, int count);

/* Micro-kernels to learn a board's weights from, in bursts: 20 us to 0.5 ms; every eighth works on zeros. */
void sim_program_invent_suite(sim_program *program, const sim_profile *profile, int count);

/* From CSV `name,duration_us,power_w[,calls]`. False: `why` tells. */
bool sim_program_read(sim_program *program, const char *path, char *why, size_t why_size);

/* The calls of a program, one after the other. */
typedef struct sim_player {
    const sim_program *program;
    int order[SIM_CLASSES_MAX];
    int place; /* in `order` */
    int call;  /* of this turn */
    int64_t round;
    int64_t repeat_left_ns;
    int repeating; /* class, also that of a burst; -1: none */
    uint64_t draws;
} sim_player;

typedef struct sim_call_step {
    int class_number;
    int64_t duration_ns;
    int64_t gap_ns;  /* after it */
    bool burst_ends; /* the next call is of another turn */
} sim_call_step;

void sim_player_start(sim_player *player, const sim_program *program);
sim_call_step sim_player_next(sim_player *player);

#endif
