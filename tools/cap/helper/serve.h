/* A helper at work: one lease from its taking to its end, or one board put back. */
#ifndef JM_CAP_HELPER_SERVE_H
#define JM_CAP_HELPER_SERVE_H

#include "cap/helper/guard.h"
#include "cap/helper/put_back.h"
#include "cap/lease/wire.h"
#include "cap/lease/words.h"

typedef struct jm__server {
    jm__wire link;        /* to the holder */
    int holder;           /* readable once the holder is gone; -1: this kernel cannot tell */
    double low_w, high_w; /* caps that whoever asks may set; -INFINITY, INFINITY: all that the board takes */
    const char *board;    /* the only one that may be taken, by index or UUID; NULL: any */
    int terminated;       /* readable once this process was told to end */
    jm__lease_folder folder;
    int lock; /* the board's; -1: none is taken */
    jm__guard guard;
    jm__setter setter;
    jm__lease_state state;
    bool detached, has_set;
    int64_t until_ns; /* CLOCK_MONOTONIC; INT64_MAX: no end */
} jm__server;

/* Returns once the board is put back, or could not be. */
void jm__serve(jm__server *server);

/* Take the board that is asked for: lock, state, guard. In `server->state` what was found. */
jm_status jm__server_take(jm__server *server, const jm__request *request, jm_error *err);

/* Put back, and let go of the lock if that worked. */
jm_status jm__server_put_back(jm__server *server, jm_error *err);

/* Have the helper of a lease end it, if it is the lease of who asks, or root asks. */
jm_status jm__server_reset(jm__server *server, const char *uuid, int32_t *index, jm_error *err);

/* Put back what a lost lease on this board found. `index`: NVML's, -1: not there. */
jm_status jm__server_restore(jm__server *server, const char *uuid, int32_t *index, jm_error *err);

#endif
