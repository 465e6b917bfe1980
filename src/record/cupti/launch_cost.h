/* What it costs a program that a launch is traced: measured once on a machine (doctor/probe.h), and kept for
 * this user, by what it depends on.
 *
 * libc alone. */
#ifndef JM_RECORD_CUPTI_LAUNCH_COST_H
#define JM_RECORD_CUPTI_LAUNCH_COST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Nanoseconds of the launching thread; low to high: what 8 of 10 pairs of bursts gave. */
typedef struct jm__launch_cost {
    int64_t ns;
    int64_t low_ns;
    int64_t high_ns;
} jm__launch_cost;

enum { JM_LAUNCH_COST_PAIRS = 64 };

/* Of nanoseconds that a launch took, in bursts by turns without and with tracing: [2 * pairs]. False: there
 * is no pair. */
bool jm__launch_cost_of(jm__launch_cost *cost, const int64_t *burst_ns, size_t pairs);

/* The one that is kept for this host, processor, driver and CUPTI. False: none is, or of others. */
bool jm__launch_cost_read(jm__launch_cost *cost);

/* Keep it, in $XDG_DATA_HOME/joulemap or ~/.local/share/joulemap; where that cannot be written, nothing
 * happens. `cost` NULL: it could not be measured, which is kept too, as costs below 0. */
void jm__launch_cost_keep(const jm__launch_cost *cost);

#endif
