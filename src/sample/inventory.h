/* The inside of jm_inventory: open back ends, and the profile of each board. */
#ifndef JM_SAMPLE_INVENTORY_H
#define JM_SAMPLE_INVENTORY_H

#include "device/device.h"

/* Opens the back ends, asks each sensor once for its cost, and joins it with the board's profile. Its
 * findings are those of the back ends alone: a sampler need not load CUDA to know them. */
jm_status jm__inventory_open(jm_inventory **out, const jm__device_options *options, jm_error *err);

/* Borrowed; for the one thread that reads. */
jm__devices *jm__inventory_devices(const jm_inventory *inventory);

/* What the machine offers beside its boards: CUPTI, CUDA, shared memory, SQLite. Takes up to some seconds
 * where it loads CUDA (in a process of its own). */
void jm__machine_findings_add(jm__findings *findings);

#endif
