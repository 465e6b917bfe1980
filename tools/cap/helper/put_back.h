/* Putting a board back to what its state says was found. */
#ifndef JM_CAP_HELPER_PUT_BACK_H
#define JM_CAP_HELPER_PUT_BACK_H

#include "cap/helper/setter.h"
#include "cap/lease/state.h"

/* The cap, unless somebody else has set another since, the clock if it was held, read back; then the state
 * goes. If it fails, the state stays, with the reason. The board's lock is held. */
jm_status jm__put_back(const jm__setter *setter, jm__lease_state *state, const jm__lease_folder *folder,
                       jm_error *err);

/* The same of a lease of which nobody is there any more: its board is looked for first. The state of a
 * simulated board that went with its run is removed. `index`: NVML's, -1: not there. */
jm_status jm__put_back_lost(jm__lease_state *state, const jm__lease_folder *folder, int32_t *index,
                            jm_error *err);

#endif
