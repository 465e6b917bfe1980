/* The daemon's end of a lease, as clients see it. */
#ifndef JM_CAP_LEASE_DAEMON_H
#define JM_CAP_LEASE_DAEMON_H

#include "cap/lease/reach.h"

/* JOULEMAP_CAPD_SOCKET, else /run/joulemap/capd.sock. */
const char *jm__capd_socket(void);

/* Is it the daemon that this process has to ask? Who is not root, for real boards; for simulated ones where
 * JOULEMAP_CAPD_SOCKET names its socket. `sim` as in jm_inventory_create. */
bool jm__capd_is_to_ask(const char *sim);

/* Speak with it. NOT_FOUND: none serves there. */
jm_status jm__capd_connect(jm__lease_link *link, jm_error *err);

/* What this user may set, for words: "joulemap capd: 300 to 600 W". False: nothing, or nobody is there. */
bool jm__capd_may(const char *uuid, char *text, size_t size);

/* End this user's lease on a board. */
jm_status jm__capd_reset(const char *uuid, jm_error *err);

#endif
