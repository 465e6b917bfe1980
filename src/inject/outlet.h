/* This process's ring of kernels and its names. Any thread.
 *
 * Its lock is never held during a call of CUPTI or the driver, as CUPTI may hold its own lock when it hands
 * us a buffer. Without a ring all of these do nothing. */
#ifndef JM_INJECT_OUTLET_H
#define JM_INJECT_OUTLET_H

#include "inject/cupti.h"

#include <stdbool.h>
#include <stdint.h>

/* 0, or an errno. */
int jm__outlet_open(const char *run_dir);
void jm__outlet_close(void);

/* In the child of a fork: the ring belongs to the parent, and the holder of the lock is gone. */
void jm__outlet_forget(void);

/* Write a sentence for the user. */
void jm__outlet_note(const char *text);

/* Write JM_RING_GRAPHS, or JM_RING_AGAIN with the number of reattachments to CUPTI. */
void jm__outlet_op(uint8_t op, uint32_t again);

/* Note that `count` records are lost. */
void jm__outlet_lost(size_t count, const char *reason);

/* Convert and write CUPTI's records. */
void jm__outlet_records(CUpti_Activity *const *records, size_t count);

/* Write which boards new CUDA ordinals are. */
void jm__outlet_devices(void);

/* Find the driver's UUID calls, once it is loaded. Call it on the program's thread: the loader takes a lock,
 * for which the child of a concurrent fork would wait. */
void jm__devices_find_driver(void);

/* Note that all work that ended before `flushed_ns` (CLOCK_MONOTONIC) is written. */
void jm__outlet_flushed(int64_t flushed_ns);

/* ---- The flusher, a thread that flushes CUPTI's records twice a second. */

/* Start the flusher. `flush` writes finished records; true: call it again soon. `return_handler` is the
 * thread's last act if jm__flusher_stop gave up on it because it hung in CUPTI. */
void jm__flusher_start(bool (*flush)(bool forced), void (*return_handler)(void));

/* Flush soon. From any thread, CUPTI's callbacks too. */
void jm__flusher_kick(void);

/* Stop the flusher. False: it hangs in CUPTI, which must not be used until `return_handler` is called. */
bool jm__flusher_stop(void);

/* In the child of a fork, where the thread does not exist. */
void jm__flusher_forget(void);

#endif
