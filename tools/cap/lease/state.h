/* A lease's state: one file a board, which says what is to be put back, and one lock, which says that
 * somebody is there to do it. The kernel lets go of the lock however its helpers end. */
#ifndef JM_CAP_LEASE_STATE_H
#define JM_CAP_LEASE_STATE_H

#include <joulemap/lease.h>
#include <joulemap/status.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

/* ---- The folder of the leases' state: what each one found, written before anything is changed. */

typedef struct jm__lease_folder {
    char path[PATH_MAX];
} jm__lease_folder;

/* JOULEMAP_CAPS_DIR, else root's (also of who has root set caps, by JOULEMAP_CAP) or this user's. NOT_FOUND:
 * nothing says where it is; USAGE: what does is no absolute path, or too long. */
jm_status jm__lease_folder_find(jm__lease_folder *folder, jm_error *err);

/* Root's, where it is another and nobody said which to take: leases of the machine, for all to see. */
bool jm__lease_folder_of_root(jm__lease_folder *folder);

/* Make it where it is not there. NO_PERMISSION: one may not, or others may write into it. */
jm_status jm__lease_folder_make(const jm__lease_folder *folder, jm_error *err);

/* What it holds can be assumed: it is this user's or root's, and nobody else writes into it. NOT_FOUND: it
 * is not there. */
jm_status jm__lease_folder_trust(const jm__lease_folder *folder, jm_error *err);

/* "FOLDER/UUID.END"; false: the UUID is none that can name a file, or the path is too long. */
bool jm__lease_folder_path(const jm__lease_folder *folder, const char *uuid, const char *end, char *path,
                           size_t size);

/* The next UUID of which there is a state, of an open DIR of the folder. */
bool jm__lease_folder_next(void *directory, char *uuid, size_t size);

/* ---- A process that is still the one it was: numbers of processes come again, with another start. */

/* When it started, in the kernel's ticks since boot; 0: there is none, or it cannot be told. */
int64_t jm__process_start(int64_t pid);

/* Of zombies too: false once nothing of it runs. */
bool jm__process_lives(int64_t pid, int64_t start);

/* A signal for this process and no other; 0 or an errno (ESRCH: it is gone). */
int jm__process_signal(int64_t pid, int64_t start, int signal);

/* ---- the state */

#define JM_STATE_BYTES_MAX 4096 /* of the file */
#define JM_STATE_SIM_MAX   512
#define JM_SAME_W          1.0 /* NVML's limits are whole milliwatts; a board may keep whole watts */
#define JM_STATE_BOOT      40  /* a UUID */

typedef struct jm__lease_state {
    char uuid[JM_BOARD_TEXT];
    char name[JM_BOARD_TEXT];
    int32_t index;
    char sim[JM_STATE_SIM_MAX]; /* "": a real board */
    char run[JM_STATE_SIM_MAX]; /* folder of the run whose simulated board it is, "": none */
    jm_cap_lease_info info;     /* `lost` is not written: the lock says it */
    int64_t holder_start;       /* of info.pid, as jm__process_start */
    int64_t helper_pid, helper_start;
    bool clock_held;           /* the SM clock is held, too */
    double before_w;           /* the lease's own cap before info.cap_w, or what was found: a kill may come
                                * between the two; NAN: not written by an older joulemap */
    char boot[JM_STATE_BOOT];  /* which boot of the machine it is of; "": not told */
    char fault[JM_LEASE_TEXT]; /* why it could not be put back, "" */
} jm__lease_state;

/* NOT_FOUND: no lease. BAD_DATA: what lies there is no state, or none of this board; NO_PERMISSION: it is not
 * to be assumed. The errors name the file and the cure. */
jm_status jm__lease_state_read(jm__lease_state *state, const jm__lease_folder *folder, const char *uuid,
                               jm_error *err);

/* It is of a boot before this one: boards have forgotten what was set, and nothing is to be put back. */
bool jm__lease_state_is_void(const jm__lease_state *state);

/* Which boot this is; "": the kernel does not tell. */
void jm__boot_id(char *boot, size_t size);

/* From bytes; `path` names them in an error. */
jm_status jm__lease_state_parse(jm__lease_state *state, const char *bytes, size_t count, const char *path,
                                jm_error *err);

/* Whole or not at all, and on the disk once this returns. */
jm_status jm__lease_state_write(const jm__lease_state *state, const jm__lease_folder *folder, jm_error *err);
jm_status jm__lease_state_remove(const jm__lease_folder *folder, const char *uuid, jm_error *err);

/* The board's lock, as a descriptor to keep; a copy of it in another process holds it, too. BUSY: another has
 * it. */
jm_status jm__lease_lock_take(int *lock, const jm__lease_folder *folder, const char *uuid, jm_error *err);

/* Somebody is there to put back what this state says. Who may not look at the lock asks for the process. */
bool jm__lease_is_kept(const jm__lease_state *state, const jm__lease_folder *folder);

#endif
