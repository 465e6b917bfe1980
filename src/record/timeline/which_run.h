/* Which run this program is in. Libc alone: also part of libjoulemap_inject. */
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

/* The variable: as the environment has it now, else as it was when this library was loaded, else as it was
 * when the program started. NULL: none. Copied into `buffer`; one that does not fit is none. */
const char *jm__start_variable(jm__start_name name, char *buffer, size_t size);

/* ---- A recorder that has attached to a process above this one: who was started dormant enters its run at
 * once. By the time that the recorder finds a process, which it looks for once a second, a short one is gone.
 */

/* In the run's folder, by its recorder: the process above, the namespace that it has this pid in, and whether
 * kernels are wanted. */
#define JM_EXPECTS_FILE   "expects"
#define JM_EXPECTS_FORMAT "pid=%d\npid_namespace=%llx\nkernels=%d\n"
/* Likewise: locked as long as the recorder lives. */
#define JM_RUN_FILE "run"

/* The run's folder; false: there is none. */
bool jm__run_above(char *run_dir, size_t size, bool *kernels);

/* Its recorder still is at work. Not for a run of this very process, whose lock that would end. */
bool jm__run_goes_on(const char *run_dir);

/* ---- The door of a run's folder: a process that may not enter, as it is another user's, knocks, so that the
 * recorder can say that nothing of it is recorded. A socket in the abstract, by the folder's name; who it is
 * the kernel says. */

/* The recorder's side: a descriptor to hear at; -1: there is none. */
int jm__door_make(const char *run_dir);
/* The next who has knocked since; false: nobody has. */
bool jm__door_hear(int door, pid_t *pid, uid_t *uid);

/* The program's side. Waits for nothing. */
void jm__door_knock(const char *run_dir);

/* ---- A program that was started dormant (`joulemap dormant`) waits for a recorder (`joulemap attach`).
 *
 * libjoulemap and libjoulemap_inject each listen for themselves, at an abstract socket. A program that has
 * one thread keeps one, as some calls take it (unshare, setns): its spans look now and then whether somebody
 * has called. Where there are others, somebody records, or no span may come (CUDA, a dormant run), a thread
 * sleeps until somebody calls, and looks once a second whether its socket is still there. A connection is a
 * recording: the recorder's first message begins it, and its second or the end of the connection ends it, so
 * a recorder that was killed is one that has left. Nobody but this user is listened to. Nothing is kept in
 * any file, so nothing is left behind. Libc alone. */

#define JM_DORMANT_VARIABLE    "JOULEMAP_DORMANT"
#define JM_DORMANT_MESSAGE_MAX 4608 /* a path and a few words */

/* The recorder's messages, each one packet of a SOCK_SEQPACKET ... */
#define JM_DORMANT_RECORD "record %llx %d " /* magic of rings; 1: kernels, too; then the run's folder */
#define JM_DORMANT_END    "end"

/* ... and the first letter of the answers, a sentence behind it where there is something to say. */
typedef enum jm__dormant_answer {
    JM_DORMANT_RECORDING = 'r',
    JM_DORMANT_NO_KERNELS = 'k', /* recording, without kernels */
    JM_DORMANT_BUSY = 'b',       /* somebody records this program already */
    JM_DORMANT_LATER = 'l',      /* it cannot be recorded yet */
    JM_DORMANT_FAILED = 'f',
    JM_DORMANT_ENDED = 'e',
} jm__dormant_answer;

/* Who listens, and what for. Called on the listening thread. */
typedef struct jm__dormant_part {
    uint32_t writer; /* JM_WRITER_* */
    /* Record into `run_dir` from now on. `why` is "" before. */
    jm__dormant_answer (*join)(const char *run_dir, bool kernels, char *why, size_t why_size);
    /* All that was recorded is in the rings when it returns. Nothing, if another run has come in its place.
     */
    void (*leave)(const char *run_dir);
} jm__dormant_part;

/* Where the library `writer` (JM_WRITER_*) of this process listens: in the abstract, by its number and the
 * namespace that this counts in, as containers may share a network. Its size. Such names are anybody's: where
 * somebody else has it, the process listens under it with JM_DORMANT_MORE behind it, which nobody foresees.
 */
#define JM_DORMANT_NAME "joulemap-dormant-"
#define JM_DORMANT_MORE "-%llx"
socklen_t jm__dormant_address(struct sockaddr_un *address, pid_t pid, char writer);

/* Whether this program was started dormant: the variable is there and neither empty nor 0. */
bool jm__dormant_requested(void);

/* Listen from now on, unless it was begun already; in the child of a fork, begin anew. For programs that were
 * started dormant; without effect where no socket or no thread can be had. `run_dir`: of the run above, which
 * this library has joined by itself, until that calls or is over; NULL: of none. */
void jm__dormant_begin(const jm__dormant_part *part, const char *run_dir);

/* From now on, with a thread, or no longer: spans may be rare, or none. */
void jm__dormant_needs_thread(bool needed);

/* How many spans, or marks, until the next look; 0: nobody waits for one. */
extern _Atomic uint32_t jm__dormant_rest;
void jm__dormant_look(void);

/* For each span of a program that nobody records. */
static inline void jm__dormant_count(void)
{
    uint32_t rest = atomic_load_explicit(&jm__dormant_rest, memory_order_relaxed);
    if (__builtin_expect(rest == 0, 1)) return;
    if (rest == 1)
        jm__dormant_look();
    else /* the one thread does */
        atomic_store_explicit(&jm__dormant_rest, rest - 1, memory_order_relaxed);
}

/* Have `changed` called after listening has begun and after a recorder has come or left, on a thread of its
 * own, which holds no lock; NULL: nothing. */
void jm__dormant_follow(void (*changed)(void));

#endif
