/* Helpers as their holders see them: started, asked, waited for. */
#ifndef JM_CAP_LEASE_REACH_H
#define JM_CAP_LEASE_REACH_H

#include "base/kept_file.h"
#include "cap/lease/state.h"
#include "cap/lease/transport.h"
#include "record/device/nvml.h"

/* The holder's end of a conversation with a helper. */
typedef struct jm__lease_link {
    jm__kept_file file;
    jm__transport transport;
} jm__lease_link;

/* How long a lease's holder waits for an answer, after the first; tests make it short. */
extern int64_t jm__lease_call_ns;

/* JOULEMAP_CAP: the command that starts a helper for who is not root, "sudo -n /usr/lib/.../joulemap-cap
 * serve
 * --within 300:600"; its words are divided by blanks. NULL: the program beside this library, as this user. */
const char *jm__lease_command(void);

/* Start a helper. `sim`, `run_dir`: may be NULL; see jm_cap_lease_options. */
jm_status jm__lease_link_start(jm__lease_link *link, const char *sim, const char *run_dir, jm_error *err);
void jm__lease_link_close(jm__lease_link *link);

/* Ask, and take the answer, the caller's. What the answer itself says is not looked at: the status tells
 * whether there is one. BUSY: none within `longest_ns`; DEVICE_LOST: the other end is gone; BAD_DATA. */
jm_status jm__lease_link_ask(jm__lease_link *link, const jm__request *request, int64_t longest_ns,
                             json_t **answer, jm_error *err);

/* Ask a helper of its own for one thing, JM_ASK_RESTORE (what a lost lease found is put back) or JM_ASK_RESET
 * (a lease of this user ends). `index`: NVML's, -1: not there. */
jm_status jm__lease_ask_once(jm__ask ask, const char *uuid, int32_t *index, jm_error *err);

/* A guard begins at once; a board may need a second, and be lost for a while. */
#define JM_LEASE_BACK_NS INT64_C(20000000000)

/* A helper is about to end, or was killed: wait until the state that it wrote is gone, and put back if nobody
 * else does. BUSY: it still stands. */
jm_status jm__lease_await_back(const jm__lease_folder *folder, const char *uuid, int64_t helper_pid,
                               int64_t helper_start, int64_t longest_ns, jm_error *err);

/* A limit in watts; NAN: it is not told. */
double jm__cap_read_w(int (*call)(jm__nvml_device, unsigned *), jm__nvml_device device);

/* A board, whose index is known, as it stands. */
void jm__cap_board_look(jm_cap_board *board, const jm__nvml *nvml, jm__nvml_device device);

#endif
