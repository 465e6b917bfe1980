/* The PM sampler of a board. */
#include "pm_sampler.h"

#include <stdlib.h>
#include <string.h>

static void keep(void *context, const sim_window *window)
{
    sim_pm_sampler *pm = context;
    if (window->start_ns < pm->from_ns) return;
    if (pm->count == pm->capacity) pm->overflow = true;
    if (pm->overflow) return;
    pm->samples[(pm->first + pm->count++) % pm->capacity] = *window;
}

bool sim_pm_configure(sim_pm_sampler *pm, size_t buffer_bytes, int64_t period_ns)
{
    size_t capacity = buffer_bytes / SIM_PM_RAW_BYTES;
    if (capacity > SIM_PM_SAMPLES_MAX) capacity = SIM_PM_SAMPLES_MAX;
    sim_pm_free(pm);
    pm->capacity = capacity > 0 ? capacity : 1;
    pm->samples = calloc(pm->capacity, sizeof *pm->samples);
    pm->counting.period_ns = period_ns;
    pm->counting.take = keep;
    pm->counting.context = pm;
    return pm->samples != NULL;
}

void sim_pm_free(sim_pm_sampler *pm)
{
    free(pm->samples);
    memset(pm, 0, sizeof *pm);
}

void sim_pm_start(sim_pm_sampler *pm, sim_board *board, const sim_labels *labels, int64_t now_ns)
{
    pm->first = pm->count = 0;
    pm->overflow = false;
    pm->from_ns = now_ns;
    pm->running = true;
    sim_counting_begin(&pm->counting, board, labels, pm->counting.period_ns);
}

void sim_pm_stop(sim_pm_sampler *pm, sim_board *board)
{
    board->counting = NULL;
    pm->running = false;
}

bool sim_pm_take(sim_pm_sampler *pm, sim_window *sample)
{
    if (pm->count == 0) return false;
    *sample = pm->samples[pm->first];
    pm->first = (pm->first + 1) % pm->capacity;
    pm->count--;
    return true;
}
