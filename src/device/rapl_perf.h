/* RAPL through perf events. */
#ifndef JM_DEVICE_RAPL_PERF_H
#define JM_DEVICE_RAPL_PERF_H

#include "device/device.h"
#include "device/rapl_domain.h"

/* Find what the kernel offers below `root` ("" for the real one), open what may be read, and note in the
 * findings how that went. Returns how many domains it put into `domains`. */
size_t jm__rapl_perf_find(const char *root, jm__rapl_domain *domains, size_t capacity,
                          jm__findings *findings);

#endif
