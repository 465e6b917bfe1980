/* Sensors: response, grid, stamps and noise of each channel of a board. */
#include "board.h"

#include "counters.h"
#include "noise.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int64_t grid_ns(const sim_channel *channel, int64_t number)
{
    return channel->first_ns + number * channel->profile.period_ns;
}

/* When sample `number` has all that it depends on. */
static int64_t due_ns(const sim_channel *channel)
{
    return grid_ns(channel, channel->count) - channel->profile.lag_ns;
}

static int64_t between(int64_t least, int64_t most, uint64_t key)
{
    return least + (int64_t)(sim_uniform(key) * (double)(most - least));
}

static double answer(const sim_board *board, int index)
{
    const sim_channel *channel = &board->channels[index];
    const sim_power *power = &board->power;
    if (channel->profile.response == SIM_RESPONSE_FIRST_ORDER) return channel->state;
    sim_interval end = sim_power_at(power, power->t_ns);
    if (channel->profile.response == SIM_RESPONSE_COUNTER) return end.energy_j;
    sim_interval begin = sim_power_at(power, power->t_ns - channel->profile.window_ns);
    double seconds = (double)channel->profile.window_ns * 1e-9;
    switch (index) {
    case SIM_CHANNEL_MEMORY_POWER:
        return (end.memory_j - begin.memory_j) / seconds;
    case SIM_CHANNEL_UTILISATION:
        return 100 * (end.busy_s - begin.busy_s) / seconds;
    case SIM_CHANNEL_MEMORY_UTILISATION:
        return 100 * board->profile->memory_busy_share * (end.busy_s - begin.busy_s) / seconds;
    default:
        return (end.energy_j - begin.energy_j) / seconds;
    }
}

static void make_sample(sim_board *board, int index)
{
    sim_channel *channel = &board->channels[index];
    const sim_channel_profile *profile = &channel->profile;
    uint64_t key = sim_key(channel->key, (uint64_t)channel->count);
    sim_sample sample = {.number = channel->count, .grid_ns = grid_ns(channel, channel->count)};
    sample.stamp_ns = sample.grid_ns + between(-profile->jitter_ns, profile->jitter_ns, sim_key(key, 1));
    if (profile->late_every > 0 && channel->count % profile->late_every == 0 &&
        sim_uniform(sim_key(key, 2)) < profile->late_share)
        sample.stamp_ns =
            sample.grid_ns + between(profile->late_min_ns, profile->late_max_ns, sim_key(key, 3));
    sample.visible_ns =
        sample.stamp_ns + between(profile->delay_min_ns, profile->delay_max_ns, sim_key(key, 4));
    double noise = board->power.now.capped ? profile->noise_throttled : profile->noise;
    sample.value = fmax(answer(board, index) + noise * sim_normal(sim_key(key, 5)), 0);
    channel->samples[channel->count % (profile->depth + SIM_UNSEEN)] = sample;
    channel->count++;
}

static void find_next(sim_board *board)
{
    board->next_sample_ns = INT64_MAX;
    for (int i = 0; i < SIM_CHANNEL_COUNT; i++) {
        if (board->channels[i].profile.response == SIM_RESPONSE_NONE) continue;
        int64_t due = due_ns(&board->channels[i]);
        if (due < board->next_sample_ns) board->next_sample_ns = due;
    }
}

bool sim_board_open(sim_board *board, const sim_profile *profile, int index, uint64_t seed, int64_t epoch_ns)
{
    memset(board, 0, sizeof *board);
    board->profile = profile;
    board->index = index;
    board->epoch_ns = epoch_ns;
    board->key = sim_key(sim_key(seed, (uint64_t)index), sim_text_key(profile->id, strlen(profile->id)));
    int64_t start_ns = epoch_ns - SIM_BEFORE_NS;
    if (!sim_power_open(&board->power, profile, start_ns)) return false;
    /* The counter has run since the driver was loaded, some days ago. */
    board->power.now.energy_j = floor(1e6 + 1e8 * sim_uniform(sim_key(board->key, 101)));
    board->power.history[0] = board->power.now;
    for (int i = 0; i < SIM_CHANNEL_COUNT; i++) {
        sim_channel *channel = &board->channels[i];
        channel->profile = profile->channels[i];
        if (channel->profile.response == SIM_RESPONSE_NONE) continue;
        channel->key = sim_key(board->key, (uint64_t)i + 1);
        channel->first_ns = start_ns + channel->profile.lag_ns +
                            (int64_t)(sim_uniform(channel->key) * (double)channel->profile.period_ns);
        channel->state = board->power.now.power_w;
        channel->samples = calloc((size_t)channel->profile.depth + SIM_UNSEEN, sizeof *channel->samples);
        if (channel->samples == NULL) {
            sim_board_close(board);
            return false;
        }
    }
    find_next(board);
    sim_board_advance(board, epoch_ns - 1);
    return true;
}

void sim_board_close(sim_board *board)
{
    for (int i = 0; i < SIM_CHANNEL_COUNT; i++)
        free(board->channels[i].samples);
    sim_power_close(&board->power);
    memset(board, 0, sizeof *board);
}

void sim_board_advance(sim_board *board, int64_t t_ns)
{
    sim_power *power = &board->power;
    while (power->t_ns < t_ns) {
        int64_t next = sim_power_next_ns(power);
        if (board->next_sample_ns < next) next = board->next_sample_ns;
        if (t_ns < next) next = t_ns;
        if (next < power->t_ns) next = power->t_ns;
        double watts = power->now.power_w;
        for (int i = 0; i < SIM_CHANNEL_COUNT; i++) {
            sim_channel *channel = &board->channels[i];
            if (channel->profile.response != SIM_RESPONSE_FIRST_ORDER) continue;
            double keep = exp(-(double)(next - power->t_ns) / (double)channel->profile.tau_ns);
            channel->state = watts + (channel->state - watts) * keep;
        }
        sim_power_advance(power, next);
        if (next < board->next_sample_ns) continue;
        for (int i = 0; i < SIM_CHANNEL_COUNT; i++)
            if (board->channels[i].profile.response != SIM_RESPONSE_NONE &&
                due_ns(&board->channels[i]) <= next)
                make_sample(board, i);
        find_next(board);
    }
    if (board->counting != NULL) sim_counting_advance(board->counting, power->t_ns);
}

void sim_board_load(sim_board *board, const sim_load *loads, int count, bool context)
{
    sim_power_load(&board->power, loads, count, context);
    if (board->counting != NULL) sim_counting_load(board->counting, loads, count);
}

void sim_board_shift(sim_board *board, double energy_j)
{
    sim_power *power = &board->power;
    for (uint64_t i = power->history_first; i < power->history_count; i++)
        power->history[i & (power->history_size - 1)].energy_j += energy_j;
    power->now.energy_j += energy_j;
    sim_channel *counter = &board->channels[SIM_CHANNEL_COUNTER];
    for (int64_t i = 0; i < counter->profile.depth + SIM_UNSEEN; i++)
        counter->samples[i].value += energy_j;
}

const sim_sample *sim_board_sample(const sim_board *board, int channel, int64_t number, int64_t now_ns)
{
    const sim_channel *from = &board->channels[channel];
    int64_t kept = from->profile.depth + SIM_UNSEEN;
    if (number < 0 || number >= from->count || number < from->count - kept) return NULL;
    const sim_sample *sample = &from->samples[number % kept];
    return sample->visible_ns <= now_ns ? sample : NULL;
}

const sim_sample *sim_board_newest(const sim_board *board, int channel, int64_t now_ns)
{
    const sim_channel *from = &board->channels[channel];
    for (int64_t back = 1; back <= SIM_UNSEEN; back++) {
        const sim_sample *sample = sim_board_sample(board, channel, from->count - back, now_ns);
        if (sample != NULL) return sample;
    }
    return NULL;
}
