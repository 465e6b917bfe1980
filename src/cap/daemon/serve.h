/* The daemon's socket: connections, their bounds, and the end. */
#ifndef JM_CAP_DAEMON_SERVE_H
#define JM_CAP_DAEMON_SERVE_H

#include "cap/daemon/client.h"

typedef struct jm__capd_serve_options {
    const char *socket; /* path */
    const char *config; /* of the policy, read again at SIGHUP */
    bool config_required;
} jm__capd_serve_options;

/* Before anything else: signals that come while it starts wait until it serves. */
void jm__capd_hold_signals(void);

/* Serve until SIGTERM or SIGINT, then end all leases. BUSY: another daemon has the socket. */
jm_status jm__capd_serve(jm__capd *daemon, const jm__capd_serve_options *options, jm_error *err);

/* The policy of `config`; where that is not there and not required, root's alone. */
jm_status jm__capd_read_policy(jm__capd_policy *policy, const jm__capd_serve_options *options, jm_error *err);

#endif
