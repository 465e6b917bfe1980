/* The inside of jm_inventory: open back ends, and the profile of each board. */
#ifndef JM_RECORD_SAMPLE_INVENTORY_H
#define JM_RECORD_SAMPLE_INVENTORY_H

#include "record/device/device.h"

/* Opens the back ends, asks each sensor once for its cost, and joins it with the board's profile. */
jm_status jm__inventory_open(jm_inventory **out, const jm__device_options *options, jm_error *err);

/* Borrowed; for the one thread that reads. */
jm__devices *jm__inventory_devices(const jm_inventory *inventory);

/* The pids of one board, and what they are called: "4711 (python3), 4712". "" if there are none, or if they
 * cannot be told: those that nobody records draw power there too. Pids are the machine's, so in a namespace
 * of its own nobody can say which are the run's: nothing is said there, but of a simulated board. */
void jm__who_else(char *text, size_t size, jm__devices *devices, size_t board);

#endif
