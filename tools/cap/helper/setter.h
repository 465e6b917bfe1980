/* NVML's calls that set something, and the board for them. Only this header has these names: no library that
 * joulemap loads into other programs contains them (tests/unit/cap/test_cap_lease_names.c). */
#ifndef JM_CAP_HELPER_SETTER_H
#define JM_CAP_HELPER_SETTER_H

#include "cap/lease/state.h"
#include "record/device/nvml.h"

#include <joulemap/lease.h>

typedef struct jm__setter {
    jm__nvml nvml;
    jm__nvml_device device;
    jm_cap_board board; /* as read when opened */
#define X(slot, symbol, arguments) int(*slot) arguments;
#define JM_SETTER_MAP(X)                                                                                     \
    X(set_limit, "nvmlDeviceSetPowerManagementLimit", (jm__nvml_device, unsigned))                           \
    X(lock_clocks, "nvmlDeviceSetGpuLockedClocks", (jm__nvml_device, unsigned, unsigned))                    \
    X(reset_clocks, "nvmlDeviceResetGpuLockedClocks", (jm__nvml_device))
    JM_SETTER_MAP(X)
#undef X
} jm__setter;

/* By UUID; "": by index. NO_DEVICE: no NVML; NOT_FOUND: no such board; NOT_SUPPORTED: its cap cannot be set.
 * There is no close: a driver may hang in it, and the process ends anyway. */
jm_status jm__setter_open(jm__setter *setter, const char *uuid, int32_t index, jm_error *err);

/* The cap as set, which may differ from the enforced one. */
jm_status jm__setter_cap(const jm__setter *setter, double *cap_w, jm_error *err);

/* Set and read back. USAGE: out of range. IO: the board reports another cap. `enforced_w` may be NULL. */
jm_status jm__setter_set(const jm__setter *setter, double cap_w, double *enforced_w, jm_error *err);

/* 0: reset it. */
jm_status jm__setter_clock(const jm__setter *setter, double clock_mhz, jm_error *err);

/* ---- putting a board back to the cap in its state */

/* Puts back the cap, unless somebody else has set another since, and the clock if it was held; reads both
 * back, then removes the state. After a failure the state stays, with the reason. The board's lock is held.
 */
jm_status jm__put_back(const jm__setter *setter, jm__lease_state *state, const jm__lease_folder *folder,
                       jm_error *err);

/* The same for a lost lease, after finding its board. If the run of a simulated board is gone, only the state
 * is removed. `index`: NVML's, -1: no such board. */
jm_status jm__put_back_lost(jm__lease_state *state, const jm__lease_folder *folder, int32_t *index,
                            jm_error *err);

#endif
