/* A simulated board in a folder of the test's own, which stays open as long as the test: what is set on it is
 * lost when nobody has it open, as with the driver. */
#ifndef JM_TESTS_CAP_LEASE_H
#define JM_TESTS_CAP_LEASE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "cap/lease/reach.h"
#include "cap/lease/state.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <joulemap/joulemap.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* No machine needs so long for what is waited for. */
#define SOON_NS (INT64_C(60) * JM_NS_PER_S)

/* The test's own eye on the boards, and its hand: another tool's. */
static struct {
    int (*init)(void);
    int (*shutdown)(void);
    int (*handle)(unsigned, void **);
    int (*limit)(void *, unsigned *);
    int (*set_limit)(void *, unsigned);
    int (*uuid)(void *, char *, unsigned);
    int (*reasons)(void *, unsigned long long *);
    long long (*epoch_ns)(void);
} nvml;

static char folder[64];
static jm__lease_folder caps;

static inline bool load(void *library, const char *symbol, void *slot)
{
    void *address = dlsym(library, symbol);
    memcpy(slot, &address, sizeof address);
    return address != NULL;
}

static inline bool load_nvml(void)
{
    void *library = dlopen(JM_BUILD_DIR "/sim/libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    return library != NULL && load(library, "nvmlInit_v2", &nvml.init) &&
           load(library, "nvmlShutdown", &nvml.shutdown) &&
           load(library, "nvmlDeviceGetHandleByIndex_v2", &nvml.handle) &&
           load(library, "nvmlDeviceGetPowerManagementLimit", &nvml.limit) &&
           load(library, "nvmlDeviceSetPowerManagementLimit", &nvml.set_limit) &&
           load(library, "nvmlDeviceGetUUID", &nvml.uuid) &&
           load(library, "nvmlDeviceGetCurrentClocksEventReasons", &nvml.reasons) &&
           load(library, "jmsim_epoch_ns", &nvml.epoch_ns);
}

static inline int open_board(void **state)
{
    (void)state;
    if (!load_nvml()) return -1;
    snprintf(folder, sizeof folder, "/tmp/joulemap-test-XXXXXX");
    if (mkdtemp(folder) == NULL) return -1;
    snprintf(caps.path, sizeof caps.path, "%s/caps", folder);
    setenv("XDG_RUNTIME_DIR", folder, 1);
    setenv("JOULEMAP_CAPS_DIR", caps.path, 1);
    setenv("JOULEMAP_SIM", "h200,h200", 1);
    unsetenv("JOULEMAP_RUN");
    unsetenv("JOULEMAP_SIM_FAULTS");
    return nvml.init() == 0 ? 0 : -1;
}

static inline int close_board(void **state)
{
    (void)state;
    char command[sizeof folder + 16];
    nvml.shutdown();
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

static inline double limit_w(unsigned board)
{
    void *device;
    unsigned mw = 0;
    assert_int_equal(nvml.handle(board, &device), 0);
    assert_int_equal(nvml.limit(device, &mw), 0);
    return 1e-3 * mw;
}

/* By somebody else: nvidia-smi, say. */
static inline void set_limit(unsigned board, double watts)
{
    void *device;
    assert_int_equal(nvml.handle(board, &device), 0);
    assert_int_equal(nvml.set_limit(device, (unsigned)lround(1e3 * watts)), 0);
}

static inline const char *uuid_of(unsigned board)
{
    static char uuids[2][96];
    void *device;
    assert_int_equal(nvml.handle(board, &device), 0);
    assert_int_equal(nvml.uuid(device, uuids[board], sizeof uuids[board]), 0);
    return uuids[board];
}

static inline jm_cap_lease *take(int board, const char *who)
{
    jm_error err = {0};
    jm_cap_lease *lease = NULL;
    const jm_cap_lease_options options = {.size = sizeof options, .board = board, .who = who};
    if (jm_cap_lease_take(&lease, &options, &err) != JM_OK) fail_msg("%s", err.text);
    return lease;
}

static inline void set(jm_cap_lease *lease, double watts)
{
    jm_error err = {0};
    double enforced_w = 0;
    if (jm_cap_lease_set(lease, watts, &enforced_w, &err) != JM_OK) fail_msg("%s", err.text);
    assert_float_equal(enforced_w, watts, 1e-3);
}

static inline void end(jm_cap_lease *lease)
{
    jm_error err = {0};
    if (jm_cap_lease_end(lease, &err) != JM_OK) fail_msg("%s", err.text);
}

/* From which faults of the boards count. */
static inline int64_t epoch_ns(void)
{
    return nvml.epoch_ns();
}

/* The state of the board's lease as it lies there; false: there is none. */
static inline bool read_state(unsigned board, jm__lease_state *state)
{
    return jm__lease_state_read(state, &caps, uuid_of(board), NULL) == JM_OK;
}

static inline bool is_put_back(unsigned board)
{
    jm__lease_state state;
    return !read_state(board, &state);
}

static inline void wait_until_put_back(unsigned board)
{
    for (int64_t until_ns = jm__now_ns() + SOON_NS; !is_put_back(board); jm__sleep_ns(JM_NS_PER_MS))
        if (jm__now_ns() > until_ns) fail_msg("GPU %u is still to be put back", board);
}

/* The guard of a helper is its only child; 0: it has none just now. */
static inline pid_t guard_of(pid_t helper)
{
    char path[64], text[64] = "";
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)helper, (int)helper);
    FILE *file = fopen(path, "re");
    if (file == NULL) return 0;
    if (fgets(text, sizeof text, file) == NULL) text[0] = '\0';
    fclose(file);
    return (pid_t)atoi(text);
}

#endif
