/* What the daemon does for one client: requests in, answers out. Sockets are serve.c's. */
#ifndef JM_CAP_DAEMON_CLIENT_H
#define JM_CAP_DAEMON_CLIENT_H

#include "cap/daemon/audit.h"
#include "cap/daemon/policy.h"

#include <jansson.h>
#include <joulemap/lease.h>

/* Between two changes of a board by its clients. */
#define JM_CAPD_CHANGE_NS INT64_C(1000000000)

/* What sets caps: leases of this library; in tests, none. */
typedef struct jm__capd_setter {
    jm_status (*take)(jm_cap_lease **out, const jm_cap_lease_options *options, jm_error *err);
    jm_status (*set)(jm_cap_lease *lease, double cap_w, double *enforced_w, jm_error *err);
    jm_status (*clock)(jm_cap_lease *lease, double clock_mhz, jm_error *err);
    const jm_cap_board *(*board)(const jm_cap_lease *lease);
    jm_status (*end)(jm_cap_lease *lease, jm_error *err);
    void (*attach)(jm_cap_lease *lease);
    jm_status (*reset)(const char *uuid, jm_cap_restored *out, jm_error *err);
    jm_status (*find)(jm_cap_boards **out, const char *sim, jm_error *err);
} jm__capd_setter;

extern const jm__capd_setter jm__capd_leases;

typedef struct jm__capd_board {
    int32_t index;
    char uuid[JM_BOARD_TEXT];
    double low_w, high_w;
    int64_t changed_ns; /* CLOCK_MONOTONIC; 0: never */
} jm__capd_board;

typedef struct jm__capd {
    jm__capd_policy policy;
    jm__capd_audit audit;
    const jm__capd_setter *setter;
    const char *sim; /* as in jm_inventory_create */
    jm__capd_board boards[JM_CAPD_BOARDS_MAX];
    size_t board_count;
} jm__capd;

typedef struct jm__capd_client {
    jm__capd_peer peer;
    jm_cap_lease *lease; /* NULL: none */
    bool stays;          /* it is detached, and a cap was set: it outlives its client */
    bool detached;
    size_t board; /* of the lease, and */
    jm__capd_right right;
} jm__capd_client;

/* Look for boards. */
jm_status jm__capd_look(jm__capd *daemon, jm_error *err);

/* The answer to one request, the caller's; NULL: no memory. A board that its helper asks may keep this for as
 * long as a lease's functions wait: all clients wait then. `costly`: so it did, or may have. */
json_t *jm__capd_obey(jm__capd *daemon, jm__capd_client *client, const json_t *object, int64_t now_ns,
                      bool *costly);

/* The policy names who that is, or it is root. */
bool jm__capd_knows(const jm__capd *daemon, const jm__capd_peer *peer);

/* The client is gone, or is sent away; its lease ends. NULL: it left by itself. */
void jm__capd_drop(jm__capd *daemon, jm__capd_client *client, const char *why);

/* After a new policy: the lease of a client that may not have it any more ends. True: it had one, and ended.
 */
bool jm__capd_revoke(jm__capd *daemon, jm__capd_client *client);

/* Somebody was refused without a request that could be read. */
void jm__capd_refuse(jm__capd *daemon, const jm__capd_peer *peer, const char *why);

#endif
