/* Power caps that are set for a while and put back, whatever happens.
 *
 * Nothing in this library sets anything on a board. `joulemap-cap`, a program beside it, does: one process a
 * lease, which writes down what it found before it changes anything, and puts it back when the lease ends,
 * its holder exits or is killed. A lease whose helper was killed too is found by the next use of joulemap. */
#ifndef JOULEMAP_LEASE_H
#define JOULEMAP_LEASE_H

#include <joulemap/board.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- what there is */

#define JM_LEASE_TEXT  160
#define JM_LEASE_FAULT 800

typedef struct jm_cap_lease_info {
    char who[JM_LEASE_TEXT]; /* "joulemap cap search -- python train.py" */
    int64_t pid;             /* of its holder; 0: nobody's, it stands until it is reset */
    int64_t uid;             /* whose it is */
    int64_t since_unix_ns;
    int64_t until_unix_ns; /* 0: until it is ended */
    double found_w;        /* what is put back; NAN: what was written down cannot be read, nor the rest */
    double cap_w;          /* what was set last; NAN: nothing yet */
    bool lost;             /* its helper died: what it found is still to be put back */
} jm_cap_lease_info;

/* A board's cap as it stands. Watts are NAN where the board does not tell. */
typedef struct jm_cap_board {
    int32_t index;            /* NVML's */
    char uuid[JM_BOARD_TEXT]; /* "GPU-..." */
    char name[JM_BOARD_TEXT];
    bool simulated;
    double cap_w;      /* as set */
    double enforced_w; /* what the board keeps to: also other limits of the machine */
    double default_w;
    double low_w, high_w;            /* what can be set */
    char may_set[JM_LEASE_TEXT];     /* how this process may: "root", "sudo", "simulated"; "": not */
    char may_not_set[JM_LEASE_TEXT]; /* else why not, and how to get the right */
    bool has_lease;
    jm_cap_lease_info lease;
} jm_cap_board;

typedef struct jm_cap_boards jm_cap_boards;

/* GPUs with a cap that can be read. `sim` as in jm_inventory_create. Sets nothing and starts no process. */
JM_API jm_status jm_cap_boards_create(jm_cap_boards **out, const char *sim, jm_error *err);
JM_API void jm_cap_boards_free(jm_cap_boards *boards);
JM_API size_t jm_cap_boards_count(const jm_cap_boards *boards);
JM_API const jm_cap_board *jm_cap_boards_board(const jm_cap_boards *boards, size_t board);

/* ---- a lease */

typedef struct jm_cap_lease_options {
    uint32_t size;       /* sizeof of this struct */
    const char *sim;     /* as in jm_inventory_create */
    const char *run_dir; /* simulated: folder of the run whose board it is; NULL: JOULEMAP_RUN, or no run */
    int32_t board;       /* NVML's index */
    const char *uuid;    /* NULL: by `board` */
    const char *who; /* what the holder is called, for others that find the board taken; NULL: its command */
    int64_t for_ns;  /* ends by itself after so long; 0: it does not */
    bool detached;   /* once a cap is set it outlives this process: until for_ns, jm_cap_reset or the
                      * machine's end */
} jm_cap_lease_options;

typedef struct jm_cap_lease jm_cap_lease;

/* Take a board: nothing is set yet. BUSY: another has it, who is named; NO_PERMISSION: no right, and how to
 * get it; NOT_SUPPORTED: this board's cap cannot be set; NOT_FOUND: no such board. A lost lease on the board
 * is put back first. */
JM_API jm_status jm_cap_lease_take(jm_cap_lease **out, const jm_cap_lease_options *options, jm_error *err);

/* Set a cap, and read back what the board keeps to from now on. USAGE: out of the board's range. NOT_FOUND:
 * the lease is over (its time was up, somebody reset it), and what was found has been put back. DEVICE_LOST:
 * the helper or the board is gone; what can be put back has been. One thread at a time. */
JM_API jm_status jm_cap_lease_set(jm_cap_lease *lease, double cap_w, double *enforced_w, jm_error *err);

/* Hold the SM clock at no more than this; 0: at no bound of ours. NOT_SUPPORTED: this board's clock cannot be
 * held, or one may not. NVML does not tell whether a clock was held before: the end of a lease that held one
 * lets go of all bounds. */
JM_API jm_status jm_cap_lease_clock(jm_cap_lease *lease, double clock_mhz, jm_error *err);

JM_API const jm_cap_board *jm_cap_lease_board(const jm_cap_lease *lease); /* as it was found */

/* Put back what was found, wait until that is done, and free, also where it fails. A cap that somebody else
 * has set since the lease's last is theirs, and stays. A detached lease on which
 * a cap was set stays. A lease that is over has been put back: OK. In the child of a fork it frees, and ends
 * nothing. NULL is fine. */
JM_API jm_status jm_cap_lease_end(jm_cap_lease *lease, jm_error *err);

/* ---- leases of others */

/* What was put back, or could not be. */
typedef struct jm_cap_restored {
    char uuid[JM_BOARD_TEXT];
    int32_t index; /* -1: the board is not there */
    jm_cap_lease_info lease;
    double left_w; /* what somebody else set meanwhile and was left as it is; NAN: found_w was put back */
    char fault[JM_LEASE_FAULT]; /* ""; else why it could not be put back, and the cure */
} jm_cap_restored;

/* End the lease on a board, whoever holds it (this user's; root: anybody's): what was found is put back.
 * NOT_FOUND: there is none. `out` may be NULL. */
JM_API jm_status jm_cap_reset(const char *uuid, jm_cap_restored *out, jm_error *err);

/* Put back what lost leases found: after a power cut, or where holder and helper were killed at once. Every
 * verb that looks at boards, and every run, asks this first; with no lease it is one look at a folder.
 * `out` [capacity], may be NULL with 0; `count` of all of them, may be NULL. Fails only where it cannot look:
 * what cannot be put back is in `fault`. */
JM_API jm_status jm_cap_restore(jm_cap_restored *out, size_t capacity, size_t *count, jm_error *err);

#ifdef __cplusplus
}
#endif
#endif
