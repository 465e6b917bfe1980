/* The thread that brings out CUPTI's records twice a second. */
#ifndef JM_INJECT_FLUSHER_H
#define JM_INJECT_FLUSHER_H

#include <stdbool.h>

/* `flush` brings out what is finished; called on that thread. */
void jm__flusher_start(bool (*flush)(bool forced));

/* Flush soon. From any thread, CUPTI's callbacks too. */
void jm__flusher_kick(void);

/* False: it hangs in CUPTI, and nothing of CUPTI may be touched until it is back. */
bool jm__flusher_stop(void);

/* One that hung has ended meanwhile. */
bool jm__flusher_is_back(void);

/* In the child of a fork, which has no such thread. */
void jm__flusher_forget(void);

#endif
