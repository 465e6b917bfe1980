/* Open and close the simulated machine; drive its boards; write its truth. */
#include "world.h"

#include "noise.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define HELPER_NS  INT64_C(20000000)
#define REFRESH_NS INT64_C(1000000000)

static sim_world world;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct nvmlDevice_st devices[SIM_BOARDS];

/* What the process was told, kept over nvmlShutdown. */
static char given_run[512];
static char given_truth[4096];
static char truth_path[4096]; /* "": not written by this process */
static pid_t truth_pid;

static pthread_t helper;
static pid_t helper_pid; /* 0: no helper; else the process that it runs in */
static bool helper_stop;
static pthread_cond_t helper_wake;

/* --- driving --------------------------------------------------------------- */

static void move(sim_board *board, int64_t t_ns)
{
    if (world.script != NULL)
        sim_script_drive(world.script, board, t_ns);
    else
        sim_board_advance(board, t_ns);
}

/* The first stuck or reset fault that sets in from `from_ns` to `to_ns`; -1: none. */
static int next_mark(const sim_board *board, int64_t from_ns, int64_t to_ns)
{
    int found = -1;
    for (int i = 0; i < world.faults.count; i++) {
        const sim_fault *fault = &world.faults.items[i];
        int64_t mark_ns = board->epoch_ns + fault->from_ns;
        if (fault->kind != SIM_FAULT_STUCK && fault->kind != SIM_FAULT_RESET) continue;
        if (mark_ns < from_ns || mark_ns > to_ns) continue;
        if (found < 0 || fault->from_ns < world.faults.items[found].from_ns) found = i;
    }
    return found;
}

/* Note the counter where such faults set in. */
static void pass_marks(sim_board *board, int64_t t_ns)
{
    int64_t from_ns = board->power.t_ns;
    for (int mark; (mark = next_mark(board, from_ns, t_ns)) >= 0;) {
        int64_t mark_ns = board->epoch_ns + world.faults.items[mark].from_ns;
        move(board, mark_ns);
        for (int i = 0; i < world.faults.count; i++)
            if (board->epoch_ns + world.faults.items[i].from_ns == mark_ns)
                world.mark_j[i][board->index] = board->power.now.energy_j;
        from_ns = mark_ns + 1;
    }
}

/* Move a board, with what was set on it in between. */
static void step_board(void *context, sim_board *board, int64_t t_ns)
{
    (void)context;
    if (t_ns <= board->power.t_ns) return;
    pass_marks(board, t_ns);
    move(board, t_ns);
}

/* Settings are stamped when they are made, so always later than what is settled. */
static int64_t next_setting_ns(void)
{
    const sim_shared_state *state = world.shared.state;
    uint64_t count = atomic_load_explicit(&state->setting_count, memory_order_acquire);
    if (count - world.setting_cursor > SIM_SETTINGS_MAX) world.setting_cursor = count - SIM_SETTINGS_MAX;
    if (world.setting_cursor == count) return INT64_MAX;
    return state->settings[world.setting_cursor % SIM_SETTINGS_MAX].setting.t_ns;
}

static void drive_boards(int64_t until_ns, int64_t now_ns)
{
    if (world.live != NULL) {
        sim_live_drive(world.live, world.boards, world.board_count, until_ns, now_ns, step_board, NULL);
        return;
    }
    for (int i = 0; i < world.board_count; i++)
        step_board(NULL, &world.boards[i], until_ns);
}

static void drive(int64_t until_ns, int64_t now_ns)
{
    for (int64_t setting_ns; (setting_ns = next_setting_ns()) <= until_ns;) {
        drive_boards(setting_ns, now_ns);
        const sim_shared_setting *one =
            &world.shared.state->settings[world.setting_cursor++ % SIM_SETTINGS_MAX];
        if (one->board < 0 || one->board >= world.board_count) continue;
        sim_power *power = &world.boards[one->board].power;
        power->next_setting = one->setting;
        sim_power_advance(power, power->t_ns);
    }
    drive_boards(until_ns, now_ns);
}

int64_t sim_world_settle(void)
{
    int64_t now_ns = sim_monotonic_ns();
    drive(now_ns - SIM_HORIZON_NS, now_ns);
    for (int i = 0; world.live != NULL && i < world.board_count; i++)
        sim_shared_publish(&world.shared, i, world.boards[i].power.t_ns, world.boards[i].power.now.energy_j);
    return now_ns;
}

/* --- truth ----------------------------------------------------------------- */

static bool writes_truth(void)
{
    return truth_path[0] != '\0' && truth_pid == getpid();
}

static int write_truth(void)
{
    uint64_t overtaken = world.live != NULL ? sim_live_overtaken(world.live) : 0;
    return sim_truth_write(truth_path, world.boards, world.board_count, &world.labels, overtaken);
}

/* A path of one's own always serves; that of the environment goes to the first process that asks. */
static void claim_truth(void)
{
    const char *path = given_truth[0] != '\0' ? given_truth : getenv("JOULEMAP_SIM_TRUTH");
    if (path == NULL || path[0] == '\0' || strlen(path) >= sizeof truth_path) return;
    int32_t mine = (int32_t)getpid();
    int32_t owner = atomic_load(&world.shared.state->truth_pid);
    bool free_to_take = owner == 0 || owner == mine || (kill(owner, 0) != 0 && errno == ESRCH);
    if (given_truth[0] == '\0' &&
        (!free_to_take || !atomic_compare_exchange_strong(&world.shared.state->truth_pid, &owner, mine)))
        return;
    atomic_store(&world.shared.state->truth_pid, mine);
    memcpy(truth_path, path, strlen(path) + 1);
    truth_pid = getpid();
    for (int i = 0; i < world.board_count; i++)
        sim_power_account_reset(&world.boards[i].power);
}

static int finish_truth(void)
{
    if (!writes_truth()) return 0;
    int64_t now_ns = sim_monotonic_ns();
    drive(now_ns, now_ns);
    int failed = write_truth();
    truth_path[0] = '\0';
    atomic_store(&world.shared.state->truth_pid, 0);
    return failed;
}

/* --- helper: keeps up with the rings and with the truth --------------------- */

static void *help(void *unused)
{
    (void)unused;
    int64_t written_ns = 0;
    pthread_mutex_lock(&lock);
    while (!helper_stop) {
        int64_t now_ns = sim_world_settle();
        if (writes_truth() && now_ns - written_ns >= REFRESH_NS) {
            write_truth();
            written_ns = now_ns;
        }
        int64_t wake_ns = now_ns + HELPER_NS;
        struct timespec wake = {wake_ns / 1000000000, wake_ns % 1000000000};
        while (!helper_stop && pthread_cond_timedwait(&helper_wake, &lock, &wake) == 0) {
        }
    }
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void start_helper(void)
{
    if (helper_pid == getpid() || (world.live == NULL && !writes_truth())) return;
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&helper_wake, &attributes);
    pthread_condattr_destroy(&attributes);
    helper_stop = false;
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old); /* the program's signals are not for us */
    if (pthread_create(&helper, NULL, help, NULL) == 0) helper_pid = getpid();
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

/* Lock held; let go of while the thread ends. */
static void stop_helper(void)
{
    if (helper_pid != getpid()) return;
    helper_stop = true;
    pthread_cond_signal(&helper_wake);
    pthread_mutex_unlock(&lock);
    pthread_join(helper, NULL);
    pthread_mutex_lock(&lock);
    pthread_cond_destroy(&helper_wake);
    helper_pid = 0;
}

static void before_fork(void)
{
    pthread_mutex_lock(&lock);
}

static void after_fork(void)
{
    pthread_mutex_unlock(&lock);
}

/* --- opening and closing ---------------------------------------------------- */

static void close_boards(void)
{
    for (int i = 0; i < SIM_BOARDS; i++)
        sim_board_close(&world.boards[i]);
    sim_script_close(world.script);
    sim_live_close(world.live);
    sim_labels_free(&world.labels);
    world.script = NULL;
    world.live = NULL;
}

static uint64_t seed(void)
{
    const char *text = getenv("JOULEMAP_SIM_SEED");
    return text == NULL ? 1 : strtoull(text, NULL, 0);
}

static bool load_profiles(void)
{
    const char *list = getenv("JOULEMAP_SIM");
    if (list == NULL || list[0] == '\0') list = "h200";
    char *copy = strdup(list);
    char *rest = copy;
    bool good = copy != NULL;
    world.board_count = 0;
    for (const char *name; good && (name = strsep(&rest, ",")) != NULL;) {
        good = world.board_count < SIM_BOARDS;
        if (!good)
            snprintf(world.error, sizeof world.error, "more than %d boards in JOULEMAP_SIM", SIM_BOARDS);
        else
            good =
                sim_profile_load(&world.profiles[world.board_count], name, world.error, sizeof world.error);
        if (good) world.board_count++;
    }
    free(copy);
    return good;
}

static bool open_boards(void)
{
    const char *script = getenv("JOULEMAP_SIM_SCRIPT");
    int64_t epoch_ns = world.shared.state->epoch_monotonic_ns;
    world.setting_cursor = 0;
    for (int i = 0; i < world.board_count; i++) {
        if (!sim_board_open(&world.boards[i], &world.profiles[i], i, seed(), epoch_ns)) {
            snprintf(world.error, sizeof world.error, "out of memory");
            return false;
        }
        sim_power_account_reset(&world.boards[i].power);
    }
    if (script == NULL || script[0] == '\0') return true;
    world.script = sim_script_open(script, &world.labels, world.error, sizeof world.error);
    return world.script != NULL;
}

/* Spans that ran before this process looked cannot be known, but what they took can: from who was there. */
static void adopt_counters(void)
{
    for (int i = 0; i < world.board_count; i++) {
        sim_board *board = &world.boards[i];
        int64_t t_ns;
        double energy_j;
        if (!sim_shared_checkpoint(&world.shared, i, &t_ns, &energy_j)) continue;
        step_board(NULL, board, t_ns);
        double missing_j = energy_j - board->power.now.energy_j;
        sim_board_shift(board, missing_j);
        for (int k = 0; k < world.faults.count; k++)
            world.mark_j[k][i] += missing_j;
    }
}

static const char *run_dir(void)
{
    const char *path = given_run[0] != '\0' ? given_run : getenv("JOULEMAP_RUN");
    return path != NULL && path[0] != '\0' ? path : NULL;
}

/* Boards of different make, or with another script, are other boards. */
static uint64_t world_key(void)
{
    static const char *const variables[] = {"JOULEMAP_SIM", "JOULEMAP_SIM_SCRIPT", "JOULEMAP_SIM_SEED"};
    uint64_t key = 0;
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *text = getenv(variables[i]);
        if (text == NULL) text = "";
        key = sim_key(key, sim_text_key(text, strlen(text)));
    }
    return key;
}

/* `fresh`: the boards were opened just now. */
static bool open_live(bool fresh)
{
    if (world.script != NULL || run_dir() == NULL) return true;
    if (fresh) adopt_counters();
    world.live = sim_live_open(run_dir(), &world.labels, sim_monotonic_ns());
    if (world.live == NULL) snprintf(world.error, sizeof world.error, "out of memory");
    return world.live != NULL;
}

static bool open_world(void)
{
    world.error[0] = '\0';
    bool good = load_profiles() && sim_faults_parse(&world.faults, getenv("JOULEMAP_SIM_FAULTS"), world.error,
                                                    sizeof world.error);
    if (!good) return false;
    if (!sim_shared_open(&world.shared, run_dir(), world_key(), NULL)) {
        snprintf(world.error, sizeof world.error, "out of memory");
        return false;
    }
    if (!open_boards() || !open_live(true)) {
        close_boards();
        sim_shared_close(&world.shared);
        return false;
    }
    sim_world_settle();
    claim_truth();
    start_helper();
    return true;
}

static void close_world(void)
{
    stop_helper();
    finish_truth();
    close_boards();
    sim_shared_close(&world.shared);
}

/* A destructor, not atexit: it also runs when the library is unloaded, whoever wrapped atexit. */
__attribute__((destructor)) static void at_exit(void)
{
    pthread_mutex_lock(&lock);
    if (world.users > 0) close_world();
    world.users = 0;
    pthread_mutex_unlock(&lock);
}

static void once(void)
{
    for (int i = 0; i < SIM_BOARDS; i++)
        devices[i].index = i;
    pthread_atfork(before_fork, after_fork, after_fork);
}

nvmlReturn_t sim_world_init(const char *call)
{
    static pthread_once_t first = PTHREAD_ONCE_INIT;
    pthread_once(&first, once);
    if (jmsim_missing(call)) return NVML_ERROR_FUNCTION_NOT_FOUND;
    pthread_mutex_lock(&lock);
    nvmlReturn_t result = NVML_SUCCESS;
    if (world.users == 0 && !open_world()) {
        /* Whoever called through pynvml sees a bare number: say it once, here. */
        fprintf(stderr, "joulemap: simulated board: %s\n", world.error);
        result = NVML_ERROR_INVALID_ARGUMENT;
    }
    if (result == NVML_SUCCESS) {
        int64_t t_ns = sim_monotonic_ns() - world.shared.state->epoch_monotonic_ns;
        const sim_fault *fault = sim_fault_find(&world.faults, SIM_FAULT_ERROR, call, -1, t_ns);
        if (fault != NULL) {
            result = fault->error;
            if (world.users == 0) close_world();
        } else {
            world.users++;
        }
    }
    pthread_mutex_unlock(&lock);
    return result;
}

nvmlReturn_t sim_world_shutdown(const char *call)
{
    sim_world *unused;
    nvmlReturn_t result = sim_enter(call, &unused);
    if (result != NVML_SUCCESS) return result;
    if (world.users == 1) close_world();
    world.users--;
    pthread_mutex_unlock(&lock);
    return NVML_SUCCESS;
}

/* --- the way in -------------------------------------------------------------- */

static nvmlReturn_t check_faults(const char *call, int board, int64_t *slow_ns)
{
    int64_t t_ns = sim_monotonic_ns() - world.shared.state->epoch_monotonic_ns;
    const sim_fault *fault = sim_fault_find(&world.faults, SIM_FAULT_SLOW, call, board, t_ns);
    *slow_ns = fault != NULL ? fault->amount_ns : 0;
    if (sim_fault_find(&world.faults, SIM_FAULT_MISSING, call, board, t_ns) != NULL)
        return NVML_ERROR_FUNCTION_NOT_FOUND;
    if (board >= 0 && sim_fault_find(&world.faults, SIM_FAULT_LOST, call, board, t_ns) != NULL)
        return NVML_ERROR_GPU_IS_LOST;
    fault = sim_fault_find(&world.faults, SIM_FAULT_ERROR, call, board, t_ns);
    return fault != NULL ? fault->error : NVML_SUCCESS;
}

static nvmlReturn_t enter(const char *call, int board, sim_world **out)
{
    pthread_mutex_lock(&lock);
    nvmlReturn_t result = NVML_ERROR_UNINITIALIZED;
    int64_t slow_ns = 0;
    if (world.users > 0) result = board < world.board_count ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
    if (result == NVML_SUCCESS) result = check_faults(call, board, &slow_ns);
    if (slow_ns > 0) {
        pthread_mutex_unlock(&lock);
        sim_sleep_ns(slow_ns);
        pthread_mutex_lock(&lock);
        if (world.users == 0) result = NVML_ERROR_UNINITIALIZED;
    }
    if (result != NVML_SUCCESS) pthread_mutex_unlock(&lock);
    *out = &world;
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
    if (result == NVML_SUCCESS) *board = &world.boards[device->index];
    return result;
}

void sim_leave(void)
{
    pthread_mutex_unlock(&lock);
}

nvmlDevice_t sim_device(int index)
{
    return &devices[index];
}

/* --- for joulemap -------------------------------------------------------------- */

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

/* Lock held. Go over to another run's state and spans; boards stay where the epoch does. */
static bool change_run(void)
{
    sim_shared_state base = *world.shared.state;
    sim_shared_close(&world.shared);
    if (!sim_shared_open(&world.shared, run_dir(), world_key(), &base)) return false;
    bool fresh = world.shared.state->epoch_monotonic_ns != base.epoch_monotonic_ns;
    if (fresh) {
        close_boards();
        if (!open_boards()) return false;
    }
    sim_live_close(world.live);
    world.live = NULL;
    return open_live(fresh);
}

int jmsim_attach(const char *run, const char *truth)
{
    pthread_mutex_lock(&lock);
    int result = NVML_SUCCESS;
    if (world.users > 0) {
        stop_helper();
        finish_truth();
    }
    if (!keep(given_run, sizeof given_run, run) || !keep(given_truth, sizeof given_truth, truth)) {
        snprintf(world.error, sizeof world.error, "path too long");
        result = NVML_ERROR_INVALID_ARGUMENT;
    } else if (world.users > 0) {
        if (change_run()) {
            sim_world_settle();
            claim_truth();
        } else {
            close_boards();
            sim_shared_close(&world.shared);
            world.users = 0;
            result = NVML_ERROR_MEMORY;
        }
    }
    if (world.users > 0) start_helper();
    pthread_mutex_unlock(&lock);
    return result;
}

int jmsim_detach(void)
{
    pthread_mutex_lock(&lock);
    int result = 0;
    if (world.users > 0) {
        stop_helper();
        result = finish_truth();
        sim_live_close(world.live);
        world.live = NULL;
        for (int i = 0; i < world.board_count; i++)
            if (world.script == NULL) sim_board_load(&world.boards[i], NULL, 0, false);
    }
    given_run[0] = '\0';
    given_truth[0] = '\0';
    pthread_mutex_unlock(&lock);
    return result;
}

const char *jmsim_error(void)
{
    return world.error;
}

unsigned long long jmsim_overtaken(void)
{
    pthread_mutex_lock(&lock);
    unsigned long long count = world.live != NULL ? sim_live_overtaken(world.live) : 0;
    pthread_mutex_unlock(&lock);
    return count;
}

long long jmsim_epoch_ns(void)
{
    pthread_mutex_lock(&lock);
    long long epoch_ns = world.users > 0 ? world.shared.state->epoch_monotonic_ns : 0;
    pthread_mutex_unlock(&lock);
    return epoch_ns;
}
