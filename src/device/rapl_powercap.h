/* RAPL through /sys/class/powercap. */
#ifndef JM_DEVICE_RAPL_POWERCAP_H
#define JM_DEVICE_RAPL_POWERCAP_H

#include "device/device.h"
#include "device/rapl_domain.h"

/* Find what the kernel offers below `root` ("" for the real one), open what may be read, and note in the
 * findings how that went. Returns how many domains it put into `domains`. */
size_t jm__rapl_powercap_find(const char *root, jm__rapl_domain *domains, size_t capacity,
                              jm__findings *findings);

#endif
