/* What a read of a board returns and costs: stamps, counter with its faults, time spent. */
#include "world.h"

#include "noise.h"

#include <errno.h>
#include <string.h>
#include <time.h>

void sim_sleep_ns(int64_t ns)
{
    struct timespec left = {ns / 1000000000, ns % 1000000000};
    while (ns > 0 && clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left) == EINTR) {
    }
}

/* Sleep most of it, spin the rest: a sleep alone is 50 us too long. */
void sim_spend(const sim_profile *board, int channel)
{
    const sim_channel_profile *profile = &board->channels[channel];
    int64_t cost_ns = profile->read_cost_ns;
    if (profile->read_tail_share > 0 && sim_uniform((uint64_t)sim_monotonic_ns()) < profile->read_tail_share)
        cost_ns = profile->read_tail_ns;
    int64_t end_ns = sim_monotonic_ns() + cost_ns;
    if (cost_ns > 200000) sim_sleep_ns(cost_ns - 100000);
    while (sim_monotonic_ns() < end_ns) {
    }
}

nvmlReturn_t sim_copy_text(char *to, unsigned int size, const char *text)
{
    if (to == NULL) return NVML_ERROR_INVALID_ARGUMENT;
    if (strlen(text) >= size) return NVML_ERROR_INSUFFICIENT_SIZE;
    memcpy(to, text, strlen(text) + 1);
    return NVML_SUCCESS;
}

int64_t sim_stamp_ns(const sim_world *of, const sim_board *board, int64_t t_ns)
{
    const sim_shared_state *state = of->shared.state;
    int64_t realtime_ns = t_ns - state->epoch_monotonic_ns + state->epoch_realtime_ns;
    const sim_fault *step =
        sim_fault_find(&of->faults, SIM_FAULT_STEP, "", board->index, t_ns - state->epoch_monotonic_ns);
    if (step != NULL) realtime_ns += step->amount_ns;
    return realtime_ns;
}

long long sim_stamp_us(const sim_world *of, const sim_board *board, int64_t t_ns)
{
    return sim_stamp_ns(of, board, t_ns) / 1000;
}

static unsigned long long hold(sim_world *of, const sim_fault *fault, int board, unsigned int part,
                               unsigned long long number)
{
    for (size_t i = 0; i < sizeof of->held / sizeof *of->held; i++) {
        if (of->held[i].fault == NULL) {
            of->held[i].fault = fault;
            of->held[i].board = board;
            of->held[i].part = part;
            of->held[i].number = number;
        }
        if (of->held[i].fault == fault && of->held[i].board == board && of->held[i].part == part)
            return of->held[i].number;
    }
    return number;
}

unsigned long long sim_number(sim_world *of, const char *call, const sim_board *board, unsigned int part,
                              unsigned long long number)
{
    int index = board == NULL ? -1 : board->index;
    int64_t t_ns = sim_monotonic_ns() - of->shared.state->epoch_monotonic_ns;
    const sim_fault *fault = sim_fault_find(&of->faults, SIM_FAULT_GLITCH, call, index, t_ns);
    if (fault != NULL) return fault->number;
    fault = sim_fault_find(&of->faults, SIM_FAULT_HELD, call, index, t_ns);
    return fault == NULL ? number : hold(of, fault, index, part, number);
}

bool sim_energy_mj(const sim_world *of, const sim_board *board, int64_t now_ns, unsigned long long *mj,
                   int64_t *grid_ns)
{
    const sim_sample *sample = sim_board_newest(board, SIM_CHANNEL_COUNTER, now_ns);
    if (sample == NULL) return false;
    double energy_j = sample->value;
    int64_t t_ns = sample->grid_ns - board->epoch_ns;
    const sim_fault *reset = sim_fault_find(&of->faults, SIM_FAULT_RESET, "", board->index, t_ns);
    if (reset != NULL) energy_j -= of->mark_j[reset - of->faults.items][board->index];
    const sim_fault *stuck = sim_fault_find(&of->faults, SIM_FAULT_STUCK, "", board->index, t_ns);
    if (stuck != NULL) energy_j = of->mark_j[stuck - of->faults.items][board->index];
    *mj = (unsigned long long)(energy_j * 1e3);
    *grid_ns = sample->grid_ns;
    return true;
}
