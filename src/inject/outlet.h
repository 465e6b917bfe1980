/* The way out: this process's ring of kernels, and the names in it. Any thread.
 *
 * Its lock is never held while CUPTI or the driver is called: CUPTI may hold one of its own when it hands us
 * a buffer. Without a ring all of these do nothing. */
#ifndef JM_INJECT_OUTLET_H
#define JM_INJECT_OUTLET_H

#include "inject/cupti.h"

#include <stdint.h>

/* 0, or an errno. */
int jm__outlet_open(const char *run_dir);
void jm__outlet_close(void);

/* In the child of a fork: the ring is its parent's, and whoever held the lock is not there. */
void jm__outlet_forget(void);

/* A sentence for the user. */
void jm__outlet_note(const char *text);

/* A record that says nothing but its name. */
void jm__outlet_op(uint8_t op);

/* How often CUPTI was taken again. */
void jm__outlet_again(uint32_t again);

/* So many records are not there. */
void jm__outlet_lost(size_t count, const char *reason);

/* CUPTI's, converted. */
void jm__outlet_records(CUpti_Activity *const *records, size_t count);

/* Tell which boards work ran on since the last time. */
void jm__outlet_devices(void);

/* What ended before this (CLOCK_MONOTONIC) is out. */
void jm__outlet_flushed(int64_t flushed_ns);

#endif
