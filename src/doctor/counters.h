/* Whether hardware counters can be sampled here. */
#ifndef JM_DOCTOR_COUNTERS_H
#define JM_DOCTOR_COUNTERS_H

#include "record/device/device.h"

/* "hardware counters" of each GPU ("hardware counters: GPU 1" where there are several): its counters are
 * taken for a moment, and given back. `sim`: the simulated board's profile, NULL: real boards. */
void jm__doctor_counters(jm__findings *findings, const jm_inventory *inventory, const char *sim);

#endif
