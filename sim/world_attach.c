/* What joulemap and the tests ask of the simulated machine beside NVML's calls. */
#include "world_parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

sim_world_given sim_given;

const char *jmsim_version(void)
{
    return JOULEMAP_VERSION;
}

int jmsim_missing(const char *symbol)
{
    sim_faults faults;
    char why[16];
    if (!sim_faults_parse(&faults, getenv("JOULEMAP_SIM_FAULTS"), why, sizeof why)) return 0;
    return sim_fault_find(&faults, SIM_FAULT_MISSING, symbol, -1, 0) != NULL;
}

static bool keep(char *to, size_t size, const char *text)
{
    size_t length = text == NULL ? 0 : strlen(text);
    if (length >= size) return false;
    if (length > 0) memcpy(to, text, length);
    to[length] = '\0';
    return true;
}

int jmsim_attach(const char *run, const char *truth)
{
    sim_world_change_begin();
    int result = NVML_SUCCESS;
    bool others = sim_world_others_asked();
    if (others && sim_world_measured()) {
        sim_world_change_end();
        return NVML_ERROR_IN_USE;
    }
    if (sim_the_world.users > 0) {
        sim_world_helper_stop();
        sim_world_truth_finish();
    }
    sim_given.pid = getpid();
    if (!keep(sim_given.run, sizeof sim_given.run, run) ||
        !keep(sim_given.truth, sizeof sim_given.truth, truth)) {
        snprintf(sim_the_world.error, sizeof sim_the_world.error, "path too long");
        result = NVML_ERROR_INVALID_ARGUMENT;
    } else if (sim_the_world.users > 0 && !others) { /* others come with the next nvmlInit */
        if (sim_world_change_run()) {
            sim_world_settle();
            sim_world_truth_claim();
        } else {
            sim_world_boards_close();
            sim_shared_close(&sim_the_world.shared);
            sim_the_world.users = 0;
            result = NVML_ERROR_MEMORY;
        }
    }
    if (sim_the_world.users > 0) sim_world_helper_start();
    sim_world_change_end();
    return result;
}

int jmsim_detach(void)
{
    sim_world_change_begin();
    int result = 0;
    if (sim_the_world.users > 0) {
        sim_world_helper_stop();
        result = sim_world_truth_finish();
        sim_live_close(sim_the_world.live);
        sim_the_world.live = NULL;
        for (int i = 0; i < sim_the_world.board_count; i++)
            if (sim_the_world.script == NULL) sim_board_load(&sim_the_world.boards[i], NULL, 0, false);
    }
    sim_given.run[0] = '\0';
    sim_given.truth[0] = '\0';
    sim_world_change_end();
    return result;
}

const char *jmsim_error(void)
{
    return sim_the_world.error;
}

unsigned long long jmsim_overtaken(void)
{
    pthread_mutex_lock(&sim_world_lock);
    unsigned long long count = sim_the_world.live != NULL ? sim_live_overtaken(sim_the_world.live) : 0;
    pthread_mutex_unlock(&sim_world_lock);
    return count;
}

long long jmsim_epoch_ns(void)
{
    pthread_mutex_lock(&sim_world_lock);
    long long epoch_ns = sim_the_world.users > 0 ? sim_the_world.shared.state->epoch_monotonic_ns : 0;
    pthread_mutex_unlock(&sim_world_lock);
    return epoch_ns;
}

double jmsim_speed(int board, const char *type)
{
    double speed = NAN;
    pthread_mutex_lock(&sim_world_lock);
    const sim_world *world = &sim_the_world;
    if (world->users > 0 && board >= 0 && board < world->board_count) {
        const sim_profile *profile = &world->profiles[board];
        sim_setting setting = sim_shared_latest(&world->shared, board, profile);
        speed = sim_power_speed(profile, &setting, sim_profile_watts(profile, type, SIM_FORWARD));
    }
    pthread_mutex_unlock(&sim_world_lock);
    return speed;
}
