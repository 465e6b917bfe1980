/* A process that is still the one it was: numbers of processes come again, with another start. */
#ifndef JM_CAP_LEASE_PROCESS_H
#define JM_CAP_LEASE_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

/* When it started, in the kernel's ticks since boot; 0: there is none, or it cannot be told. */
int64_t jm__process_start(int64_t pid);

/* Of zombies too: false once nothing of it runs. */
bool jm__process_lives(int64_t pid, int64_t start);

/* A signal for this process and no other; 0 or an errno (ESRCH: it is gone). */
int jm__process_signal(int64_t pid, int64_t start, int signal);

#endif
