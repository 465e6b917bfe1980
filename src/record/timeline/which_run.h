/* Finds the run of this program. Needs only libc: libjoulemap_inject contains it as well. */
#ifndef JM_RECORD_TIMELINE_WHICH_RUN_H
#define JM_RECORD_TIMELINE_WHICH_RUN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

typedef enum jm__start_name { JM_START_RUN, JM_START_DORMANT, JM_START_NAMES } jm__start_name;

/* The value of the variable: in the environment now, else when this library was loaded, else at the start of
 * the program. NULL: unset, or too long for `buffer`, into which it is copied. */
const char *jm__start_variable(jm__start_name name, char *buffer, size_t size);

/* ---- A recorder that is attached to a process above this one: a program that was started dormant enters its
 * run at once. The recorder looks for processes once a second, too late for short ones. */

/* Written by the recorder into the run's folder: the process above, the namespace of this pid, and whether
 * kernels are requested. */
#define JM_EXPECTS_FILE   "expects"
#define JM_EXPECTS_FORMAT "pid=%d\npid_namespace=%llx\nkernels=%d\n"
/* Likewise; locked while the recorder lives. */
#define JM_RUN_FILE "run"

/* The folder of the run above; false: none. */
bool jm__run_above(char *run_dir, size_t size, bool *kernels);

/* Is its recorder alive? Not for a run of this process itself, whose lock this would drop. */
bool jm__run_is_alive(const char *run_dir);

/* ---- The door of a run's folder: a process of another user may not enter the folder, so it knocks, and the
 * recorder reports that it is not recorded. The door is an abstract socket named after the folder; the kernel
 * identifies the caller. */

/* For the recorder: a listening descriptor; -1: none. */
int jm__door_make(const char *run_dir);
/* The next process that knocked; false: none. */
bool jm__door_next(int door, pid_t *pid, uid_t *uid);

/* For the program. Does not block. */
void jm__door_knock(const char *run_dir);

/* ---- A program that was started dormant (`joulemap dormant`) waits for a recorder (`joulemap attach`).
 *
 * libjoulemap and libjoulemap_inject each listen at an abstract socket of their own. A program with one
 * thread gets no second one, as some calls require (unshare, setns): its spans look for callers from time to
 * time. If there are other threads, a recorder, or possibly no spans (CUDA, a dormant run), a thread waits
 * for calls and checks once a second that its socket still exists.
 *
 * A connection is a recording. The recorder's first message begins it; its second one or the end of the
 * connection ends it, so a killed recorder is one that left. Only the same user may call. Nothing is stored
 * in files. Needs only libc. */

#define JM_DORMANT_VARIABLE    "JOULEMAP_DORMANT"
#define JM_DORMANT_MESSAGE_MAX 4608 /* a path and a few words */

/* The recorder's messages, one packet of a SOCK_SEQPACKET each ... */
#define JM_DORMANT_RECORD "record %llx %d " /* magic of rings; 1: with kernels; then the run's folder */
#define JM_DORMANT_END    "end"

/* ... and the first letter of the answers, which may be followed by a sentence. */
typedef enum jm__dormant_answer {
    JM_DORMANT_RECORDING = 'r',
    JM_DORMANT_NO_KERNELS = 'k', /* recording, without kernels */
    JM_DORMANT_BUSY = 'b',       /* another recorder records it */
    JM_DORMANT_LATER = 'l',      /* it cannot be recorded yet */
    JM_DORMANT_FAILED = 'f',
    JM_DORMANT_ENDED = 'e',
} jm__dormant_answer;

/* The listening library. Called on the listening thread. */
typedef struct jm__dormant_part {
    uint32_t writer; /* JM_WRITER_* */
    /* Records into `run_dir` from now on. `why` is "" before. */
    jm__dormant_answer (*join)(const char *run_dir, bool kernels, char *why, size_t why_size);
    /* Everything recorded is in the rings when it returns. No effect if another run has replaced this one. */
    void (*leave)(const char *run_dir);
} jm__dormant_part;

/* The address of the library `writer` (JM_WRITER_*) in this process, an abstract name with its pid and pid
 * namespace, since containers may share a network. Returns its size. Any process may take such a name. If
 * another process has it, the program listens at the name with JM_DORMANT_MORE appended, which cannot be
 * predicted. */
#define JM_DORMANT_NAME "joulemap-dormant-"
#define JM_DORMANT_MORE "-%llx"
socklen_t jm__dormant_address(struct sockaddr_un *address, pid_t pid, char writer);

/* Was this program started dormant? True if the variable is set and neither empty nor 0. */
bool jm__dormant_requested(void);

/* Starts listening, for programs that were started dormant; again in a forked child. No effect if there is no
 * socket or thread available. `run_dir`: the run above that this library has joined on its own, until its
 * recorder calls or it ends; NULL: none. */
void jm__dormant_begin(const jm__dormant_part *part, const char *run_dir);

/* Requires a listening thread, since spans may be rare or absent; false: no longer. */
void jm__dormant_needs_thread(bool needed);

/* Number of spans or marks until the next look; 0: spans do not look. */
extern _Atomic uint32_t jm__dormant_rest;
void jm__dormant_look(void);

/* Called for each span of a program that is not recorded. */
static inline void jm__dormant_count(void)
{
    uint32_t rest = atomic_load_explicit(&jm__dormant_rest, memory_order_relaxed);
    if (__builtin_expect(rest == 0, 1)) return;
    if (rest == 1)
        jm__dormant_look();
    else /* there is only one thread */
        atomic_store_explicit(&jm__dormant_rest, rest - 1, memory_order_relaxed);
}

/* Calls `changed` after listening has begun and after a recorder has come or left, on a thread of its own
 * that holds no lock; NULL: none. */
void jm__dormant_follow(void (*changed)(void));

#endif
