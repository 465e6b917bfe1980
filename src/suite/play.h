/* Playing what is ready: bursts and gaps, and a heavy kernel switched on and off. Each burst lies in a span
 * of kind `window`, its name the kernel's, its type the kind of data. */
#ifndef SUITE_PLAY_H
#define SUITE_PLAY_H

#include "suite/ready.h"

#include <joulemap/joulemap.h>

typedef struct suite_player {
    const suite_driver *driver;
    const suite_ready *ready;
    suite_chance *chance;
    bool simulated; /* a span in each burst, typed by the kernel, is what a simulated board draws power for */
} suite_player;

typedef struct suite_played {
    size_t bursts;
    double *seconds; /* of each entry, on the GPU; of suite_played_free */
} suite_played;

/* Play for so many seconds at most; a signal ends it without a fault. `told` as in suite_make_ready. */
jm_status suite_play_all(const suite_player *player, double seconds, bool (*told)(double share),
                         suite_played *played, jm_error *err);
void suite_played_free(suite_played *played);

/* Switch between the first matrix product of the list and rest, each for a random time: out of it the
 * sensor's response and lag are learnt. */
jm_status suite_play_square_wave(const suite_player *player, double seconds, jm_error *err);

/* Play each entry's call a single time between cuProfilerStart and cuProfilerStop; a line each on stdout:
 * name, kind of data, seconds. For a profiler, which sees the kernels in this order. */
jm_status suite_play_once(const suite_player *player, jm_error *err);

#endif
