/* A lease's state: one file per board with what must be put back, and one lock, held by the process that will
 * do it. The kernel frees the lock however its helpers end. */
#ifndef JM_CAP_LEASE_STATE_H
#define JM_CAP_LEASE_STATE_H

#include <joulemap/lease.h>
#include <joulemap/status.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

/* ---- the folder of states; a state is written before the board is changed */

typedef struct jm__lease_folder {
    char path[PATH_MAX];
} jm__lease_folder;

/* JOULEMAP_CAPS_DIR, else root's (also if JOULEMAP_CAP sets caps as root) or this user's. NOT_FOUND: no
 * variable names it; USAGE: a relative or too long path. */
jm_status jm__lease_folder_find(jm__lease_folder *folder, jm_error *err);

/* Root's folder, with the leases of the machine. False: it is the folder of this user, or JOULEMAP_CAPS_DIR
 * names one. */
bool jm__lease_folder_of_root(jm__lease_folder *folder);

/* Make it if it does not exist. NO_PERMISSION: not permitted, or others may write into it. */
jm_status jm__lease_folder_make(const jm__lease_folder *folder, jm_error *err);

/* Check that it is this user's or root's, and that nobody else can write into it. NOT_FOUND: it does not
 * exist. */
jm_status jm__lease_folder_trust(const jm__lease_folder *folder, jm_error *err);

/* "FOLDER/UUID.END"; false: the UUID cannot name a file, or the path is too long. */
bool jm__lease_folder_path(const jm__lease_folder *folder, const char *uuid, const char *end, char *path,
                           size_t size);

/* The next UUID with a state, from an open DIR of the folder. */
bool jm__lease_folder_next(void *directory, char *uuid, size_t size);

/* ---- processes, identified by pid and start time, as pids are reused */

/* Start in the kernel's ticks since boot; 0: no such process, or unknown. */
int64_t jm__process_start(int64_t pid);

/* False also for zombies. */
bool jm__process_lives(int64_t pid, int64_t start);

/* Signals this process and no other; 0 or an errno (ESRCH: it is gone). */
int jm__process_signal(int64_t pid, int64_t start, int signal);

/* ---- the state */

#define JM_STATE_BYTES_MAX 4096 /* bytes of the file */
#define JM_STATE_SIM_MAX   512
#define JM_SAME_W          1.0 /* NVML's limits are whole milliwatts; a board may keep whole watts */
#define JM_STATE_BOOT      40  /* a UUID */

typedef struct jm__lease_state {
    char uuid[JM_BOARD_TEXT];
    char name[JM_BOARD_TEXT];
    int32_t index;
    char sim[JM_STATE_SIM_MAX]; /* "": a real board */
    char run[JM_STATE_SIM_MAX]; /* folder of the run with the simulated board */
    jm_cap_lease_info info;     /* `lost` is not written: the lock shows it */
    int64_t holder_start;       /* start of info.pid, as jm__process_start */
    int64_t helper_pid, helper_start;
    bool clock_held; /* the SM clock is held, too */
    double before_w; /* the cap before info.cap_w, by this lease or found: a kill may come between writing and
                        setting; NAN: written by an older joulemap */
    char boot[JM_STATE_BOOT];  /* boot ID of the machine; "": unknown */
    char fault[JM_LEASE_TEXT]; /* why it could not be put back; "" */
} jm__lease_state;

/* NOT_FOUND: no lease. BAD_DATA: not a state, or not of this board; NO_PERMISSION: not trusted. The errors
 * name the file and the remedy. */
jm_status jm__lease_state_read(jm__lease_state *state, const jm__lease_folder *folder, const char *uuid,
                               jm_error *err);

/* It is from an earlier boot: boards have lost their settings, and nothing must be put back. */
bool jm__lease_state_is_void(const jm__lease_state *state);

/* The present boot ID; "": unknown. */
void jm__boot_id(char *boot, size_t size);

/* Parse bytes; `path` names them in errors. */
jm_status jm__lease_state_parse(jm__lease_state *state, const char *bytes, size_t count, const char *path,
                                jm_error *err);

/* Atomic, and on the disk when this returns. */
jm_status jm__lease_state_write(const jm__lease_state *state, const jm__lease_folder *folder, jm_error *err);
jm_status jm__lease_state_remove(const jm__lease_folder *folder, const char *uuid, jm_error *err);

/* The board's lock, as a descriptor to keep. A copy in another process holds it, too. BUSY: another process
 * holds it. */
jm_status jm__lease_lock_take(int *lock, const jm__lease_folder *folder, const char *uuid, jm_error *err);

/* A process holds the lock, and so will put the board back. Without permission for the lock file, checks the
 * helper process. */
bool jm__lease_is_held(const jm__lease_state *state, const jm__lease_folder *folder);

#endif
