/* The thread that brings out CUPTI's records twice a second. */
#ifndef JM_INJECT_FLUSHER_H
#define JM_INJECT_FLUSHER_H

#include <stdbool.h>

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
