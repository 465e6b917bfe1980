/* Temporary power caps that are always put back.
 *
 * This library never changes settings of a board. The program `joulemap-cap` beside it does: one process per
 * lease saves the present state, sets the cap, and restores the state when the lease ends or its holder exits
 * or is killed. If that process was killed too, the next use of joulemap finds the lost lease and restores
 * it. */
#ifndef JOULEMAP_LEASE_H
#define JOULEMAP_LEASE_H

#include <joulemap/board.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- boards and their leases */

#define JM_LEASE_TEXT  160
#define JM_LEASE_FAULT 800

typedef struct jm_cap_lease_info {
    char who[JM_LEASE_TEXT]; /* "joulemap cap search -- python train.py" */
    int64_t pid;             /* process of its holder; 0: none, it stays until it is reset */
    int64_t uid;             /* user of its holder */
    int64_t since_unix_ns;
    int64_t until_unix_ns; /* 0: no time limit */
    double found_w;        /* the cap to put back; NAN: the saved state cannot be read, nor the rest */
    double cap_w;          /* the cap set last; NAN: none yet */
    bool lost;             /* its helper died, so the cap must still be put back */
} jm_cap_lease_info;

/* A board's present cap. Watts are NAN if the board does not report them. */
typedef struct jm_cap_board {
    int32_t index;            /* NVML's index */
    char uuid[JM_BOARD_TEXT]; /* "GPU-..." */
    char name[JM_BOARD_TEXT];
    bool simulated;
    double cap_w;      /* as set */
    double enforced_w; /* the limit in effect, with other limits of the machine */
    double default_w;
    double low_w, high_w; /* range that can be set */
    char
        may_set[JM_LEASE_TEXT]; /* how this process may set it: "root", "sudo", "simulated"; "": not at all */
    char may_not_set[JM_LEASE_TEXT]; /* why not, and how to get the permission */
    bool has_lease;
    jm_cap_lease_info lease;
} jm_cap_board;

typedef struct jm_cap_boards jm_cap_boards;

/* GPUs with a readable cap. `sim` as in jm_inventory_create. Sets nothing and starts no process. */
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
    const char *uuid;    /* NULL: use `board` */
    const char *who;     /* name of the holder, for others that find the board in use; NULL: its command */
    int64_t for_ns;      /* time limit; 0: none */
    bool detached; /* once a cap is set, the lease outlives this process: until for_ns, jm_cap_reset or a
                      reboot */
} jm_cap_lease_options;

typedef struct jm_cap_lease jm_cap_lease;

/* Take a lease on a board; nothing is set yet. BUSY: in use, with the holder's name; NO_PERMISSION: and how
 * to get it; NOT_SUPPORTED: this board's cap cannot be set; NOT_FOUND: no such board. A lost lease on the
 * board is restored first. */
JM_API jm_status jm_cap_lease_take(jm_cap_lease **out, const jm_cap_lease_options *options, jm_error *err);

/* Set a cap and read back the limit in effect. USAGE: out of the board's range. NOT_FOUND: the lease has
 * ended (time limit, reset), and the cap was put back. DEVICE_LOST: the helper or the board is gone; what
 * could be put back was. One thread at a time. */
JM_API jm_status jm_cap_lease_set(jm_cap_lease *lease, double cap_w, double *enforced_w, jm_error *err);

/* Bound the SM clock; 0: no bound. NOT_SUPPORTED: this board's clock cannot be bound, or without permission.
 * NVML does not report bounds set before, so the end of a lease with a bound removes all bounds. */
JM_API jm_status jm_cap_lease_clock(jm_cap_lease *lease, double clock_mhz, jm_error *err);

JM_API const jm_cap_board *jm_cap_lease_board(const jm_cap_lease *lease); /* as it was found */

/* Put the cap back, wait until that is done, and free the lease, also on failure. A cap that somebody else
 * set after the lease's last one stays. A detached lease with a cap stays. OK if the lease has ended already.
 * In the child of a fork it only frees. NULL is allowed. */
JM_API jm_status jm_cap_lease_end(jm_cap_lease *lease, jm_error *err);

/* ---- leases of other processes */

/* A lease that was ended, and whether its cap was put back. */
typedef struct jm_cap_restored {
    char uuid[JM_BOARD_TEXT];
    int32_t index; /* -1: the board is missing */
    jm_cap_lease_info lease;
    double left_w; /* a cap that somebody else set meanwhile and that stays; NAN: found_w was put back */
    char fault[JM_LEASE_FAULT]; /* why it could not be put back, and the cure; "": it was */
} jm_cap_restored;

/* End the lease on a board of any process (of this user; root: of any user) and put the cap back. NOT_FOUND:
 * there is none. `out` may be NULL. */
JM_API jm_status jm_cap_reset(const char *uuid, jm_cap_restored *out, jm_error *err);

/* Restore lost leases: after a power cut, or if holder and helper were killed together. Every run and every
 * verb that looks at boards does this first; without leases it only looks into a folder. `out` [capacity] may
 * be NULL with 0; `count` of all lost leases, may be NULL. Fails only if leases cannot be listed; failures of
 * single leases are in `fault`. */
JM_API jm_status jm_cap_restore(jm_cap_restored *out, size_t capacity, size_t *count, jm_error *err);

#ifdef __cplusplus
}
#endif
#endif
