/* Who a process is, as /proc says. */
#ifndef JM_RECORD_TIMELINE_IDENTITY_H
#define JM_RECORD_TIMELINE_IDENTITY_H

#include "record/timeline/ring_format.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define JM_SELF ((pid_t)0) /* whoever asks: /proc may be of another namespace, where its pid is another's */

/* State, parent and start time of a pid or JM_SELF; false if there is no such process (or no /proc). */
bool jm__process_stat(pid_t pid, char *state, pid_t *parent, uint64_t *start_ticks);

/* The last of these: with its pid it names a process for ever. -1: there is none. */
int64_t jm__process_start_ticks(pid_t pid);

/* The inode of a namespace, as "pid" or "time_for_children", of a pid or JM_SELF; 0: not known, or not ours
 * to see. */
uint64_t jm__namespace_of(pid_t pid, const char *kind);

/* How far CLOCK_MONOTONIC of this process's namespace of time is ahead of the first one's. */
int64_t jm__clock_ahead_ns(void);

/* What a process of another namespace, which calls itself `pid` there, is called here; 0: it is not seen from
 * here, or has ended. */
pid_t jm__process_here(pid_t pid, const jm_ring_identity *told);

/* Of a namespace: all processes of the machine are seen from there. */
bool jm__namespace_is_first(uint64_t pid_namespace);

/* `pid`: JM_SELF, or another's, whose namespaces are not told. False, and all zeros with rank -1, likewise.
 * Takes no memory, little of the stack (threads have as little as 16 KiB) and leaves errno alone: programs do
 * it, too. */
bool jm__identity_read(pid_t pid, jm_ring_identity *identity);

#endif
