/* What the daemon was asked for and did: a line of JSON each. */
#ifndef JM_CAP_DAEMON_AUDIT_H
#define JM_CAP_DAEMON_AUDIT_H

#include "cap/daemon/policy.h"

typedef struct jm__capd_audit {
    const char *path; /* NULL: standard error, which systemd writes into its journal */
    int fd;
    bool broken;     /* a line could not be written, and that was said */
    int64_t second;  /* CLOCK_REALTIME, in which `refused` were */
    size_t refused;  /* lines on what was refused */
    size_t left_out; /* refusals without a line, since the last one with one */
} jm__capd_audit;

/* One line. Fields without a value (NULL, NAN) are left out. */
typedef struct jm__capd_event {
    const char *event; /* "take", "set", "clock", "end", "reset", "refused", "start", ... */
    const jm__capd_peer *peer;
    const char *board; /* UUID */
    const char *who;
    double found_w, cap_w, clock_mhz;
    jm_status status;
    const char *why;
} jm__capd_event;

/* IO: the file cannot be opened; the old one stays open. Also to open it again after it was moved away. */
jm_status jm__capd_audit_open(jm__capd_audit *audit, jm_error *err);

/* Never fails: what cannot be written is said once on standard error, and nothing stops for it. Of refusals
 * at most 50 a second have a line; the next one that has tells how many had none. */
void jm__capd_audit_write(jm__capd_audit *audit, const jm__capd_event *event);

#endif
