/* The way into the simulated machine: its lock, its users, its end, and the faults of a call. */
#include "world_parts.h"

#include <stdio.h>
#include <unistd.h>

sim_world sim_the_world;
pthread_mutex_t sim_world_lock = PTHREAD_MUTEX_INITIALIZER;
static struct nvmlDevice_st devices[SIM_BOARDS];

/* --- its lock --- */

static pthread_mutex_t change_lock = PTHREAD_MUTEX_INITIALIZER; /* taken before the other one */
static _Atomic pid_t owner;                                     /* of both */

/* A fork that had begun when this library was loaded took neither. */
static void make_locks_ours(void)
{
    if (owner == getpid()) return;
    pthread_mutex_init(&change_lock, NULL);
    pthread_mutex_init(&sim_world_lock, NULL);
    owner = getpid();
}

static void take_lock(void)
{
    make_locks_ours();
    pthread_mutex_lock(&sim_world_lock);
}

void sim_world_change_begin(void)
{
    make_locks_ours();
    pthread_mutex_lock(&change_lock);
    pthread_mutex_lock(&sim_world_lock);
}

void sim_world_change_end(void)
{
    pthread_mutex_unlock(&sim_world_lock);
    pthread_mutex_unlock(&change_lock);
}

static void after_fork_in_child(void)
{
    owner = getpid();
    sim_world_change_end();
}

__attribute__((constructor)) static void at_load(void)
{
    owner = getpid();
    for (int i = 0; i < SIM_BOARDS; i++)
        devices[i].index = i;
    pthread_atfork(sim_world_change_begin, sim_world_change_end, after_fork_in_child);
}

/* --- begin and end --- */

/* A destructor, not atexit: GCC's thread sanitizer puts an atexit of its own in the place of libc's, which
 * forgets the library that asks, and calls it at the end of the process when the library is long unmapped. */
__attribute__((destructor)) static void at_exit(void)
{
    if (sim_the_world.users == 0) return; /* it may be let go of while a fork has the lock */
    sim_world_change_begin();
    if (sim_the_world.users > 0) sim_world_close();
    sim_the_world.users = 0;
    sim_world_change_end();
}

nvmlReturn_t sim_world_init(const char *call)
{
    if (jmsim_missing(call)) return NVML_ERROR_FUNCTION_NOT_FOUND;
    sim_world_change_begin();
    nvmlReturn_t result = NVML_SUCCESS;
    sim_the_world.error[0] = '\0';
    if (sim_the_world.users == 0)
        result = sim_world_open() ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
    else if (sim_world_others_asked())
        result = sim_world_change_boards();
    if (result != NVML_SUCCESS) {
        /* Whoever called through pynvml sees a bare number: say it once, here. */
        fprintf(stderr, "joulemap: simulated board: %s\n", sim_the_world.error);
    } else {
        int64_t t_ns = sim_monotonic_ns() - sim_the_world.shared.state->epoch_monotonic_ns;
        const sim_fault *fault = sim_fault_find(&sim_the_world.faults, SIM_FAULT_ERROR, call, -1, t_ns);
        if (fault != NULL) {
            result = fault->error;
            if (sim_the_world.users == 0) sim_world_close();
        } else {
            sim_the_world.users++;
        }
    }
    sim_world_change_end();
    return result;
}

nvmlReturn_t sim_world_shutdown(const char *call)
{
    sim_world *unused;
    nvmlReturn_t result = sim_enter(call, &unused);
    if (result != NVML_SUCCESS) return result;
    sim_leave();
    sim_world_change_begin();
    if (sim_the_world.users == 1) sim_world_close();
    if (sim_the_world.users > 0) sim_the_world.users--;
    sim_world_change_end();
    return NVML_SUCCESS;
}

/* --- a call --- */

static nvmlReturn_t check_open(int board)
{
    if (sim_the_world.users == 0) return NVML_ERROR_UNINITIALIZED;
    return board < sim_the_world.board_count ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

static nvmlReturn_t check_faults(const char *call, int board, int64_t *slow_ns)
{
    int64_t t_ns = sim_monotonic_ns() - sim_the_world.shared.state->epoch_monotonic_ns;
    const sim_fault *fault = sim_fault_find(&sim_the_world.faults, SIM_FAULT_SLOW, call, board, t_ns);
    *slow_ns = fault != NULL ? fault->amount_ns : 0;
    if (sim_fault_find(&sim_the_world.faults, SIM_FAULT_MISSING, call, board, t_ns) != NULL)
        return NVML_ERROR_FUNCTION_NOT_FOUND;
    if (board >= 0 && sim_fault_find(&sim_the_world.faults, SIM_FAULT_LOST, call, board, t_ns) != NULL)
        return NVML_ERROR_GPU_IS_LOST;
    fault = sim_fault_find(&sim_the_world.faults, SIM_FAULT_ERROR, call, board, t_ns);
    return fault != NULL ? fault->error : NVML_SUCCESS;
}

static nvmlReturn_t enter(const char *call, int board, sim_world **out)
{
    take_lock();
    int64_t slow_ns = 0;
    nvmlReturn_t result = check_open(board);
    if (result == NVML_SUCCESS) result = check_faults(call, board, &slow_ns);
    if (slow_ns > 0) {
        pthread_mutex_unlock(&sim_world_lock);
        sim_sleep_ns(slow_ns);
        pthread_mutex_lock(&sim_world_lock);
        if (result == NVML_SUCCESS) result = check_open(board);
    }
    if (result != NVML_SUCCESS) pthread_mutex_unlock(&sim_world_lock);
    *out = &sim_the_world;
    return result;
}

nvmlReturn_t sim_enter(const char *call, sim_world **out)
{
    return enter(call, -1, out);
}

nvmlReturn_t sim_enter_device(const char *call, nvmlDevice_t device, sim_world **out, sim_board **board)
{
    *board = NULL;
    if (device < devices || device >= devices + SIM_BOARDS) {
        nvmlReturn_t result = enter(call, -1, out);
        if (result == NVML_SUCCESS) sim_leave();
        return result == NVML_SUCCESS ? NVML_ERROR_INVALID_ARGUMENT : result;
    }
    nvmlReturn_t result = enter(call, device->index, out);
    if (result == NVML_SUCCESS) *board = &sim_the_world.boards[device->index];
    return result;
}

void sim_leave(void)
{
    pthread_mutex_unlock(&sim_world_lock);
}

nvmlDevice_t sim_device(int index)
{
    return &devices[index];
}
