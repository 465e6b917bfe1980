/* NVML's calls that set something, and a board to call them on. These names stand here alone: nothing that is
 * loaded into other programs has them (tests/unit/cap/test_cap_lease_names.c). */
#ifndef JM_CAP_HELPER_SETTER_H
#define JM_CAP_HELPER_SETTER_H

#include "cap/lease/state.h"
#include "record/device/nvml.h"

#include <joulemap/lease.h>

typedef struct jm__setter {
    jm__nvml nvml;
    jm__nvml_device device;
    jm_cap_board board; /* as it was when it was opened */
#define X(slot, symbol, arguments) int(*slot) arguments;
#define JM_SETTER_MAP(X)                                                                                     \
    X(set_limit, "nvmlDeviceSetPowerManagementLimit", (jm__nvml_device, unsigned))                           \
    X(lock_clocks, "nvmlDeviceSetGpuLockedClocks", (jm__nvml_device, unsigned, unsigned))                    \
    X(reset_clocks, "nvmlDeviceResetGpuLockedClocks", (jm__nvml_device))
    JM_SETTER_MAP(X)
#undef X
} jm__setter;

/* By UUID, "": by index. NO_DEVICE: no NVML; NOT_FOUND: no such board; NOT_SUPPORTED: its cap cannot be set.
 * There is no close: a driver may hang in it, and the process ends anyway. */
jm_status jm__setter_open(jm__setter *setter, const char *uuid, int32_t index, jm_error *err);

/* As set last, whatever the board keeps to. */
jm_status jm__setter_cap(const jm__setter *setter, double *cap_w, jm_error *err);

/* Set, and read back. USAGE: out of range. IO: the board took it and says another. `enforced_w` may be NULL.
 */
jm_status jm__setter_set(const jm__setter *setter, double cap_w, double *enforced_w, jm_error *err);

/* 0: let go of it. */
jm_status jm__setter_clock(const jm__setter *setter, double clock_mhz, jm_error *err);

/* ---- Putting a board back to what its state says was found. */

/* The cap, unless somebody else has set another since, the clock if it was held, read back; then the state
 * goes. If it fails, the state stays, with the reason. The board's lock is held. */
jm_status jm__put_back(const jm__setter *setter, jm__lease_state *state, const jm__lease_folder *folder,
                       jm_error *err);

/* The same of a lease of which nobody is there any more: its board is looked for first. The state of a
 * simulated board that went with its run is removed. `index`: NVML's, -1: not there. */
jm_status jm__put_back_lost(jm__lease_state *state, const jm__lease_folder *folder, int32_t *index,
                            jm_error *err);

#endif
