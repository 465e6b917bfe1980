/* The holder's side of helpers: start, call, wait. */
#ifndef JM_CAP_LEASE_REACH_H
#define JM_CAP_LEASE_REACH_H

#include "base/kept_file.h"
#include "cap/lease/state.h"
#include "cap/lease/transport.h"
#include "record/device/nvml.h"

/* The holder's connection to a helper. */
typedef struct jm__lease_link {
    jm__kept_file file;
    jm__transport transport;
} jm__lease_link;

/* How long a holder waits for an answer, except the first; tests shorten it. */
extern int64_t jm__lease_call_ns;

/* JOULEMAP_CAP: the command that starts a helper for other users than root, divided at blanks: "sudo -n
 * /usr/lib/.../joulemap-cap serve --within 300:600". NULL: the program beside this library, as this user. */
const char *jm__lease_command(void);

/* Start a helper. `sim` and `run_dir` may be NULL, see jm_cap_lease_options. */
jm_status jm__lease_link_start(jm__lease_link *link, const char *sim, const char *run_dir, jm_error *err);
void jm__lease_link_close(jm__lease_link *link);

/* Send a request and receive its answer, which is the caller's. The status only says whether there is an
 * answer. BUSY: none within the timeout; DEVICE_LOST: the helper is gone; BAD_DATA: an invalid answer. */
jm_status jm__lease_link_call(jm__lease_link *link, const jm__request *request, int64_t timeout_ns,
                              json_t **answer, jm_error *err);

/* Start a helper for one request: JM_REQUEST_RESTORE (put back after a lost lease) or JM_REQUEST_RESET (end a
 * lease of this user). `index`: NVML's, -1: no such board. */
jm_status jm__lease_call_once(jm__request_kind kind, const char *uuid, int32_t *index, jm_error *err);

/* A guard starts at once; a board may need a second, or be lost for a while. */
#define JM_LEASE_RESTORE_NS INT64_C(20000000000)

/* After a helper was killed or will end: wait until its state is gone, and put the board back if nobody else
 * does. BUSY: the state is still there. */
jm_status jm__lease_wait_restored(const jm__lease_folder *folder, const char *uuid, int64_t helper_pid,
                                  int64_t helper_start, int64_t timeout_ns, jm_error *err);

/* A limit in watts; NAN: not reported. */
double jm__cap_read_w(int (*call)(jm__nvml_device, unsigned *), jm__nvml_device device);

/* Read the cap and limits of a board; its index is set. */
void jm__cap_board_read(jm_cap_board *board, const jm__nvml *nvml, jm__nvml_device device);

#endif
