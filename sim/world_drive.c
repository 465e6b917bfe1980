/* Move the boards of the simulated machine: spans or script, settings and faults in between. */
#include "world_parts.h"

static void move(sim_board *board, int64_t t_ns)
{
    if (sim_the_world.script != NULL)
        sim_script_drive(sim_the_world.script, board, t_ns);
    else
        sim_board_advance(board, t_ns);
}

/* The first stuck or reset fault that sets in from `from_ns` to `to_ns`; -1: none. */
static int next_mark(const sim_board *board, int64_t from_ns, int64_t to_ns)
{
    int found = -1;
    for (int i = 0; i < sim_the_world.faults.count; i++) {
        const sim_fault *fault = &sim_the_world.faults.items[i];
        int64_t mark_ns = board->epoch_ns + fault->from_ns;
        if (fault->kind != SIM_FAULT_STUCK && fault->kind != SIM_FAULT_RESET) continue;
        if (mark_ns < from_ns || mark_ns > to_ns) continue;
        if (found < 0 || fault->from_ns < sim_the_world.faults.items[found].from_ns) found = i;
    }
    return found;
}

/* What the counter shows from then on where such a fault sets in: one that stands still, what it showed last;
 * one that is reset, less than before by what was drawn. */
static double mark_j(const sim_board *board, sim_fault_kind kind)
{
    const sim_sample *shown =
        kind == SIM_FAULT_STUCK ? sim_board_newest(board, SIM_CHANNEL_COUNTER, INT64_MAX) : NULL;
    return shown != NULL ? shown->value : board->power.now.energy_j;
}

static void pass_marks(sim_board *board, int64_t t_ns)
{
    int64_t from_ns = board->power.t_ns;
    for (int mark; (mark = next_mark(board, from_ns, t_ns)) >= 0;) {
        int64_t mark_ns = board->epoch_ns + sim_the_world.faults.items[mark].from_ns;
        move(board, mark_ns);
        for (int i = 0; i < sim_the_world.faults.count; i++)
            if (board->epoch_ns + sim_the_world.faults.items[i].from_ns == mark_ns)
                sim_the_world.mark_j[i][board->index] = mark_j(board, sim_the_world.faults.items[i].kind);
        from_ns = mark_ns + 1;
    }
}

/* Move a board, with what was set on it in between. */
void sim_world_step(void *context, sim_board *board, int64_t t_ns)
{
    (void)context;
    if (t_ns <= board->power.t_ns) return;
    pass_marks(board, t_ns);
    move(board, t_ns);
}

/* Settings are stamped when they are made, so always later than what is settled. */
static int64_t next_setting_ns(void)
{
    const sim_shared_state *state = sim_the_world.shared.state;
    uint64_t count = atomic_load_explicit(&state->setting_count, memory_order_acquire);
    if (count - sim_the_world.setting_cursor > SIM_SETTINGS_MAX)
        sim_the_world.setting_cursor = count - SIM_SETTINGS_MAX;
    if (sim_the_world.setting_cursor == count) return INT64_MAX;
    return state->settings[sim_the_world.setting_cursor % SIM_SETTINGS_MAX].setting.t_ns;
}

static void drive_boards(int64_t until_ns, int64_t now_ns)
{
    if (sim_the_world.live != NULL) {
        sim_live_drive(sim_the_world.live, sim_the_world.boards, sim_the_world.board_count, until_ns, now_ns,
                       sim_world_step, NULL);
        return;
    }
    for (int i = 0; i < sim_the_world.board_count; i++)
        sim_world_step(NULL, &sim_the_world.boards[i], until_ns);
}

void sim_world_drive(int64_t until_ns, int64_t now_ns)
{
    for (int64_t setting_ns; (setting_ns = next_setting_ns()) <= until_ns;) {
        drive_boards(setting_ns, now_ns);
        const sim_shared_setting *one =
            &sim_the_world.shared.state->settings[sim_the_world.setting_cursor++ % SIM_SETTINGS_MAX];
        if (one->board < 0 || one->board >= sim_the_world.board_count) continue;
        sim_power *power = &sim_the_world.boards[one->board].power;
        power->next_setting = one->setting;
        sim_power_advance(power, power->t_ns);
    }
    drive_boards(until_ns, now_ns);
}

int64_t sim_world_settle(void)
{
    for (int i = 0; i < sim_the_world.board_count; i++) {
        const sim_board *board = &sim_the_world.boards[i];
        if (board->power.setting.sampled)
            sim_shared_look_for_samplers(&sim_the_world.shared, i, board->profile);
    }
    int64_t now_ns = sim_monotonic_ns();
    sim_world_drive(now_ns - SIM_HORIZON_NS, now_ns);
    for (int i = 0; sim_the_world.live != NULL && i < sim_the_world.board_count; i++)
        sim_shared_publish(&sim_the_world.shared, i, sim_the_world.boards[i].power.t_ns,
                           sim_the_world.boards[i].power.now.energy_j);
    return now_ns;
}
