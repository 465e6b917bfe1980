/* The PM sampler of a board: its hardware buffer, which holds so many samples and no more. Times:
 * CLOCK_MONOTONIC ns. */
#ifndef SIM_PM_SAMPLER_H
#define SIM_PM_SAMPLER_H

#include "counters.h"

/* A raw sample's place in the buffer: 512 MiB are 8 s of samples of a millisecond. */
#define SIM_PM_RAW_BYTES   ((size_t)64 << 10)
#define SIM_PM_SAMPLES_MAX ((size_t)1 << 16)

typedef struct sim_pm_sampler {
    sim_counting counting;
    sim_window *samples; /* [capacity], a ring */
    size_t capacity, first, count;
    int64_t from_ns; /* windows from here on are kept */
    bool overflow;   /* it was full: nothing more until the next start */
    bool running;
} sim_pm_sampler;

/* False: out of memory. */
bool sim_pm_configure(sim_pm_sampler *pm, size_t buffer_bytes, int64_t period_ns);
void sim_pm_free(sim_pm_sampler *pm);

/* From now_ns on; what is left of before is forgotten. */
void sim_pm_start(sim_pm_sampler *pm, sim_board *board, const sim_labels *labels, int64_t now_ns);

/* What is in the buffer can still be taken. */
void sim_pm_stop(sim_pm_sampler *pm, sim_board *board);

/* The oldest sample, out of the buffer; false: there is none. */
bool sim_pm_take(sim_pm_sampler *pm, sim_window *sample);

#endif
