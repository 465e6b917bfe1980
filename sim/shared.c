/* The state file of the simulated boards. */
#include "shared.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MAGIC 0x53494d0000000003ull

/* The file's bytes as locks: the gate, held while something is made or set; then one for each board, which
 * all processes that have a PM sampler on it share. The kernel lets go of them however a process ends. */
enum { GATE, SAMPLERS };

static int64_t read_clock(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t sim_monotonic_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

int64_t sim_realtime_ns(void)
{
    return read_clock(CLOCK_REALTIME);
}

/* The two clocks at one instant: the tightest of a few readings. */
static void take_epoch(sim_shared_state *state)
{
    int64_t best = INT64_MAX;
    for (int i = 0; i < 8; i++) {
        int64_t before = sim_monotonic_ns();
        int64_t realtime = sim_realtime_ns();
        int64_t width = sim_monotonic_ns() - before;
        if (width >= best) continue;
        best = width;
        state->epoch_monotonic_ns = before + width / 2;
        state->epoch_realtime_ns = realtime;
    }
}

static bool latest(const sim_shared_state *state, int board, sim_setting *setting)
{
    uint64_t count = atomic_load_explicit(&state->setting_count, memory_order_acquire);
    for (uint64_t back = 1; back <= count && back <= SIM_SETTINGS_MAX; back++) {
        const sim_shared_setting *one = &state->settings[(count - back) % SIM_SETTINGS_MAX];
        if (one->board != board) continue;
        *setting = one->setting;
        return true;
    }
    return false;
}

static void append(sim_shared_state *state, int board, sim_setting setting)
{
    uint64_t count = atomic_load_explicit(&state->setting_count, memory_order_relaxed);
    state->settings[count % SIM_SETTINGS_MAX] = (sim_shared_setting){.setting = setting, .board = board};
    atomic_store_explicit(&state->setting_count, count + 1, memory_order_release);
}

/* Nobody else has it open: begin anew. */
static void begin(sim_shared_state *state, const sim_shared_state *base)
{
    sim_shared_state old = *state;
    bool known = atomic_load(&old.magic) == MAGIC;
    memset(state, 0, sizeof *state);
    take_epoch(state);
    if (base != NULL) {
        *state = *base;
        atomic_store(&state->truth_pid, 0);
    }
    for (int board = 0; known && base == NULL && board < SIM_BOARDS; board++) {
        sim_setting setting;
        if (atomic_load(&old.persistence[board]) == 0) continue;
        atomic_store(&state->persistence[board], 1);
        if (!latest(&old, board, &setting)) continue;
        setting.t_ns = state->epoch_monotonic_ns;
        setting.sampled = false; /* whoever did has gone */
        append(state, board, setting);
    }
    atomic_store(&state->magic, MAGIC);
}

/* Only regular files of our own with no other name: the folder may be anybody's. */
static int open_file(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    struct stat status;
    if (fd < 0) return -1;
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || status.st_uid != geteuid() ||
        status.st_nlink != 1) {
        close(fd);
        return -1;
    }
    return fd;
}

bool sim_shared_path(char *path, size_t size, const char *run_dir, uint64_t key)
{
    int length;
    if (run_dir != NULL) {
        length = snprintf(path, size, "%s/sim.state", run_dir);
    } else {
        const char *folder = getenv("XDG_RUNTIME_DIR");
        if (folder == NULL || access(folder, W_OK) != 0) folder = "/tmp";
        length = snprintf(path, size, "%s/joulemap-sim-%ld-%016llx.state", folder, (long)geteuid(),
                          (unsigned long long)key);
    }
    return length > 0 && (size_t)length < size;
}

static void lock_byte(const sim_shared *shared, int byte, short type, int command)
{
    struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};
    if (shared->fd < 0) return;
    while (fcntl(shared->fd, command, &lock) != 0 && errno == EINTR) {
    }
}

static bool anybody_samples(const sim_shared *shared, int board)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = SAMPLERS + board, .l_len = 1};
    if (shared->samples[board]) return true; /* locks of our own are not in our way, so not found */
    return shared->fd >= 0 && fcntl(shared->fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

static bool map_file(sim_shared *shared, const sim_shared_state *base)
{
    shared->fd = open_file(shared->path);
    if (shared->fd < 0) return false;
    /* The file's lock: exclusive while it is looked at or made, shared while it is in use. The
     * gate makes the step from one to the other safe among processes. */
    lock_byte(shared, GATE, F_WRLCK, F_OFD_SETLKW);
    bool alone = flock(shared->fd, LOCK_EX | LOCK_NB) == 0;
    bool mapped = ftruncate(shared->fd, sizeof(sim_shared_state)) == 0;
    if (mapped) {
        shared->state =
            mmap(NULL, sizeof(sim_shared_state), PROT_READ | PROT_WRITE, MAP_SHARED, shared->fd, 0);
        mapped = shared->state != MAP_FAILED;
    }
    if (mapped && (alone || atomic_load(&shared->state->magic) != MAGIC)) begin(shared->state, base);
    if (mapped) mapped = flock(shared->fd, LOCK_SH) == 0;
    lock_byte(shared, GATE, F_UNLCK, F_OFD_SETLK);
    if (!mapped) {
        close(shared->fd);
        shared->fd = -1;
    }
    return mapped;
}

bool sim_shared_open(sim_shared *shared, const char *run_dir, uint64_t key, const sim_shared_state *base)
{
    memset(shared, 0, sizeof *shared);
    shared->fd = -1;
    if (sim_shared_path(shared->path, sizeof shared->path, run_dir, key) && map_file(shared, base))
        return true;
    shared->state =
        mmap(NULL, sizeof(sim_shared_state), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared->state == MAP_FAILED) {
        shared->state = NULL;
        return false;
    }
    begin(shared->state, base);
    return true;
}

void sim_shared_close(sim_shared *shared)
{
    if (shared->state != NULL) munmap(shared->state, sizeof(sim_shared_state));
    if (shared->fd >= 0) close(shared->fd);
    memset(shared, 0, sizeof *shared);
    shared->fd = -1;
}

sim_setting sim_shared_latest(const sim_shared *shared, int board, const sim_profile *profile)
{
    sim_setting setting = sim_setting_default(profile, 0);
    latest(shared->state, board, &setting);
    return setting;
}

/* What is set goes from one end to the next under the gate: nobody else sets anything meanwhile. */
static sim_setting begin_change(sim_shared *shared, int board, const sim_profile *profile)
{
    lock_byte(shared, GATE, F_WRLCK, F_OFD_SETLKW);
    sim_setting setting = sim_shared_latest(shared, board, profile);
    setting.t_ns = sim_monotonic_ns();
    return setting;
}

static void end_change(sim_shared *shared, int board, sim_setting setting)
{
    append(shared->state, board, setting);
    lock_byte(shared, GATE, F_UNLCK, F_OFD_SETLK);
}

void sim_shared_set_limit(sim_shared *shared, int board, const sim_profile *profile, double limit_w)
{
    sim_setting setting = begin_change(shared, board, profile);
    setting.limit_w = limit_w;
    end_change(shared, board, setting);
}

void sim_shared_set_lock(sim_shared *shared, int board, const sim_profile *profile, double lock_mhz)
{
    sim_setting setting = begin_change(shared, board, profile);
    setting.lock_mhz = lock_mhz;
    end_change(shared, board, setting);
}

void sim_shared_sample(sim_shared *shared, int board, const sim_profile *profile, bool samples)
{
    sim_setting setting = begin_change(shared, board, profile);
    shared->samples[board] = samples;
    lock_byte(shared, SAMPLERS + board, samples ? F_RDLCK : F_UNLCK, F_OFD_SETLK);
    setting.sampled = anybody_samples(shared, board);
    end_change(shared, board, setting);
}

void sim_shared_look_for_samplers(sim_shared *shared, int board, const sim_profile *profile)
{
    if (sim_shared_latest(shared, board, profile).sampled == anybody_samples(shared, board)) return;
    sim_setting setting = begin_change(shared, board, profile);
    setting.sampled = anybody_samples(shared, board);
    end_change(shared, board, setting);
}

void sim_shared_publish(sim_shared *shared, int board, int64_t t_ns, double energy_j)
{
    sim_checkpoint *to = &shared->state->checkpoints[board];
    uint64_t burst = atomic_load(&to->burst);
    if (burst % 2 != 0 || atomic_load(&to->t_ns) >= t_ns ||
        !atomic_compare_exchange_strong(&to->burst, &burst, burst + 1))
        return;
    atomic_store(&to->t_ns, t_ns);
    atomic_store(&to->energy_uj, (uint64_t)(energy_j * 1e6));
    atomic_store(&to->burst, burst + 2);
}

bool sim_shared_checkpoint(const sim_shared *shared, int board, int64_t *t_ns, double *energy_j)
{
    const sim_checkpoint *from = &shared->state->checkpoints[board];
    for (int attempt = 0; attempt < 1000; attempt++) {
        uint64_t burst = atomic_load(&from->burst);
        *t_ns = atomic_load(&from->t_ns);
        *energy_j = (double)atomic_load(&from->energy_uj) * 1e-6;
        if (burst % 2 == 0 && atomic_load(&from->burst) == burst) return burst > 0;
    }
    return false; /* its writer died while it wrote */
}
