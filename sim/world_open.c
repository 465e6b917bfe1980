/* Open and close the boards of the simulated machine; go over to another run. */
#include "world_parts.h"

#include "noise.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void sim_world_boards_close(void)
{
    for (int i = 0; i < SIM_BOARDS; i++)
        sim_board_close(&sim_the_world.boards[i]);
    sim_script_close(sim_the_world.script);
    sim_live_close(sim_the_world.live);
    sim_labels_free(&sim_the_world.labels);
    sim_the_world.script = NULL;
    sim_the_world.live = NULL;
}

static uint64_t seed(void)
{
    const char *text = getenv("JOULEMAP_SIM_SEED");
    return text == NULL ? 1 : strtoull(text, NULL, 0);
}

static bool open_boards(void)
{
    const char *script = getenv("JOULEMAP_SIM_SCRIPT");
    int64_t epoch_ns = sim_the_world.shared.state->epoch_monotonic_ns;
    sim_the_world.setting_cursor = 0;
    for (int i = 0; i < sim_the_world.board_count; i++) {
        if (!sim_board_open(&sim_the_world.boards[i], &sim_the_world.profiles[i], i, seed(), epoch_ns)) {
            snprintf(sim_the_world.error, sizeof sim_the_world.error, "out of memory");
            return false;
        }
        sim_power_account_reset(&sim_the_world.boards[i].power);
    }
    if (script == NULL || script[0] == '\0') return true;
    sim_the_world.script =
        sim_script_open(script, &sim_the_world.labels, sim_the_world.error, sizeof sim_the_world.error);
    return sim_the_world.script != NULL;
}

/* Spans that ran before this process looked cannot be known, but what they took can: from who was there. */
static void adopt_counters(void)
{
    for (int i = 0; i < sim_the_world.board_count; i++) {
        sim_board *board = &sim_the_world.boards[i];
        int64_t t_ns;
        double energy_j;
        if (!sim_shared_checkpoint(&sim_the_world.shared, i, &t_ns, &energy_j)) continue;
        sim_world_step(NULL, board, t_ns);
        double missing_j = energy_j - board->power.now.energy_j;
        sim_board_shift(board, missing_j);
        for (int k = 0; k < sim_the_world.faults.count; k++)
            sim_the_world.mark_j[k][i] += missing_j;
    }
}

static const char *run_dir(void)
{
    const char *path = sim_given.run[0] != '\0' ? sim_given.run : getenv("JOULEMAP_RUN");
    return path != NULL && path[0] != '\0' ? path : NULL;
}

static uint64_t add_variable(uint64_t key, const char *variable)
{
    const char *text = getenv(variable);
    if (text == NULL) text = "";
    return sim_key(key, sim_text_key(text, strlen(text)));
}

/* Boards of different make, or with another script, are other boards. */
static uint64_t world_key(void)
{
    uint64_t key = add_variable(0, "JOULEMAP_SIM");
    key = add_variable(key, "JOULEMAP_SIM_SCRIPT");
    return add_variable(key, "JOULEMAP_SIM_SEED");
}

/* Of all that the environment says of the boards; faults are each process's own. */
static uint64_t settings(void)
{
    return add_variable(world_key(), "JOULEMAP_SIM_FAULTS");
}

/* `fresh`: the boards were opened just now. */
static bool open_live(bool fresh)
{
    if (sim_the_world.script != NULL || run_dir() == NULL) return true;
    if (fresh) adopt_counters();
    sim_the_world.live = sim_live_open(run_dir(), &sim_the_world.labels, sim_monotonic_ns());
    if (sim_the_world.live == NULL)
        snprintf(sim_the_world.error, sizeof sim_the_world.error, "out of memory");
    return sim_the_world.live != NULL;
}

bool sim_world_open(void)
{
    sim_the_world.settings = settings();
    memset(sim_the_world.held, 0, sizeof sim_the_world.held);
    sim_the_world.board_count = sim_profiles_load(sim_the_world.profiles, SIM_BOARDS, sim_the_world.error,
                                                  sizeof sim_the_world.error);
    bool good = sim_the_world.board_count > 0 &&
                sim_faults_parse(&sim_the_world.faults, getenv("JOULEMAP_SIM_FAULTS"), sim_the_world.error,
                                 sizeof sim_the_world.error);
    if (!good) return false;
    if (!sim_shared_open(&sim_the_world.shared, run_dir(), world_key(), NULL)) {
        snprintf(sim_the_world.error, sizeof sim_the_world.error, "out of memory");
        return false;
    }
    if (!open_boards() || !open_live(true)) {
        sim_world_boards_close();
        sim_shared_close(&sim_the_world.shared);
        return false;
    }
    sim_world_settle();
    sim_world_truth_claim();
    sim_world_helper_start();
    return true;
}

void sim_world_close(void)
{
    sim_world_helper_stop();
    sim_world_truth_finish();
    sim_world_boards_close();
    sim_shared_close(&sim_the_world.shared);
}

/* Lock held. Go over to another run's state and spans; boards stay where the epoch does. */
bool sim_world_change_run(void)
{
    sim_shared_state base = *sim_the_world.shared.state;
    sim_shared_close(&sim_the_world.shared);
    if (!sim_shared_open(&sim_the_world.shared, run_dir(), world_key(), &base)) return false;
    bool fresh = sim_the_world.shared.state->epoch_monotonic_ns != base.epoch_monotonic_ns;
    if (fresh) {
        sim_world_boards_close();
        if (!open_boards()) return false;
    }
    sim_live_close(sim_the_world.live);
    sim_the_world.live = NULL;
    return open_live(fresh);
}

/* --- other boards while some are open --- */

static bool state_in_place(void)
{
    char path[SIM_SHARED_PATH];
    (void)sim_shared_path(path, sizeof path, run_dir(), world_key());
    return strcmp(path, sim_the_world.shared.path) == 0;
}

bool sim_world_others_asked(void)
{
    const char *boards = getenv("JOULEMAP_SIM");
    if (sim_the_world.users == 0 || boards == NULL || boards[0] == '\0') return false;
    return sim_the_world.settings != settings() || !state_in_place();
}

bool sim_world_measured(void)
{
    if (sim_given.run[0] == '\0' || sim_given.pid != getpid() || !state_in_place()) return false;
    snprintf(
        sim_the_world.error, sizeof sim_the_world.error,
        "this process measures on simulated boards that are others, or set otherwise: end that run first");
    return true;
}

/* What sim_world_open will read, looked at beforehand: what is open stays if it cannot be read. */
static bool settings_readable(void)
{
    static sim_profile profiles[SIM_BOARDS];
    static sim_faults faults;
    char *why = sim_the_world.error;
    size_t size = sizeof sim_the_world.error;
    const char *path = getenv("JOULEMAP_SIM_SCRIPT");
    if (sim_profiles_load(profiles, SIM_BOARDS, why, size) == 0 ||
        !sim_faults_parse(&faults, getenv("JOULEMAP_SIM_FAULTS"), why, size))
        return false;
    if (path == NULL || path[0] == '\0') return true;
    sim_labels labels = {0};
    sim_script *script = sim_script_open(path, &labels, why, size);
    sim_script_close(script);
    sim_labels_free(&labels);
    return script != NULL;
}

nvmlReturn_t sim_world_change_boards(void)
{
    if (sim_world_measured()) return NVML_ERROR_IN_USE;
    if (!settings_readable()) return NVML_ERROR_INVALID_ARGUMENT;
    sim_world_close();
    if (sim_world_open()) return NVML_SUCCESS;
    sim_the_world.users = 0;
    return NVML_ERROR_MEMORY;
}
