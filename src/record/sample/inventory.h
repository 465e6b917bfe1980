/* The inside of jm_inventory: open back ends, and the profile of each board. */
#ifndef JM_RECORD_SAMPLE_INVENTORY_H
#define JM_RECORD_SAMPLE_INVENTORY_H

#include "record/device/device.h"

/* Opens the back ends, asks each sensor once for its cost, and joins it with the board's profile. */
jm_status jm__inventory_open(jm_inventory **out, const jm__device_options *options, jm_error *err);

/* Borrowed; for the one thread that reads. */
jm__devices *jm__inventory_devices(const jm_inventory *inventory);

#endif
