/* The identity of a process, from /proc. */
#ifndef JM_RECORD_TIMELINE_IDENTITY_H
#define JM_RECORD_TIMELINE_IDENTITY_H

#include "record/timeline/ring_format.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define JM_SELF ((pid_t)0) /* the caller; /proc may belong to another namespace, where its pid differs */

typedef struct jm__process_stat {
    char state;
    pid_t parent;
    uint64_t start_ticks;
} jm__process_stat;

/* Of a pid or JM_SELF; false and zeros if there is no such process or no /proc. */
bool jm__process_stat_read(pid_t pid, jm__process_stat *out);

/* The text behind `name` in a file of entries "NAMEtext" that end with `end`, cut to `size`; a line keeps its
 * end. Returns its length before the cut; -1: none. */
ssize_t jm__process_value(pid_t pid, const char *file, const char *name, int end, char *value, size_t size);

/* Has it other threads than its first one and `beside` more? True if unknown. */
bool jm__process_has_threads(pid_t pid, nlink_t beside);

/* The start time: together with the pid it identifies a process for ever. -1: no such process. */
int64_t jm__process_start_ticks(pid_t pid);

/* The inode of a namespace of a pid or JM_SELF; `kind` is "pid", "net", "time" or "time_for_children". 0:
 * unknown or not permitted. */
uint64_t jm__namespace_of(pid_t pid, const char *kind);

/* By how much CLOCK_MONOTONIC of this process's time namespace is ahead of the first namespace. */
int64_t jm__clock_ahead_ns(void);

/* The pid in this namespace of a process that has `pid` in its own; 0: it is not visible here, or has
 * ended. */
pid_t jm__process_here(pid_t pid, const jm_ring_identity *identity);

/* Is it the first pid namespace, which contains all processes of the machine? */
bool jm__namespace_is_first(uint64_t pid_namespace);

/* Reads the identity of JM_SELF, or of another pid (then without namespaces). False if it fails: all zeros,
 * with rank -1. Allocates nothing, needs little stack (threads may have 16 KiB) and keeps errno, since it
 * also runs inside programs. */
bool jm__identity_read(pid_t pid, jm_ring_identity *identity);

#endif
