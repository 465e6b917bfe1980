/* The way out: this process's ring of kernels, and the names in it. Any thread.
 *
 * Its lock is never held while CUPTI or the driver is called: CUPTI may hold one of its own when it hands us
 * a buffer. Without a ring all of these do nothing. */
#ifndef JM_INJECT_OUTLET_H
#define JM_INJECT_OUTLET_H

#include "inject/cupti.h"

#include <stdbool.h>
#include <stdint.h>

/* 0, or an errno. */
int jm__outlet_open(const char *run_dir);
void jm__outlet_close(void);

/* In the child of a fork: the ring is its parent's, and whoever held the lock is not there. */
void jm__outlet_forget(void);

/* A sentence for the user. */
void jm__outlet_note(const char *text);

/* JM_RING_GRAPHS, or JM_RING_AGAIN and how often CUPTI was taken again. */
void jm__outlet_op(uint8_t op, uint32_t again);

/* So many records are not there. */
void jm__outlet_lost(size_t count, const char *reason);

/* CUPTI's, converted. */
void jm__outlet_records(CUpti_Activity *const *records, size_t count);

/* Tell which boards work ran on since the last time. */
void jm__outlet_devices(void);

/* Find the driver's calls that tell boards, once it is loaded: on the program's thread, as the loader has a
 * lock that the child of a fork beside it would wait for. */
void jm__devices_find_driver(void);

/* What ended before this (CLOCK_MONOTONIC) is out. */
void jm__outlet_flushed(int64_t flushed_ns);

/* ---- The thread that brings out CUPTI's records twice a second. */

/* `flush` brings out what is finished; called on that thread, as `is_back` is after jm__flusher_stop has
 * given it up: once it is out of CUPTI, as its last act. */
void jm__flusher_start(bool (*flush)(bool forced), void (*is_back)(void));

/* Flush soon. From any thread, CUPTI's callbacks too. */
void jm__flusher_kick(void);

/* False: it hangs in CUPTI, and nothing of CUPTI may be touched until it is back. */
bool jm__flusher_stop(void);

/* In the child of a fork, which has no such thread. */
void jm__flusher_forget(void);

#endif
