/* Which board a CUDA ordinal of this process is: the UUID as NVML writes it.
 *
 * The driver knows for sure, but must not be called out of CUPTI's callbacks; so an ordinal is noted there
 * and asked for at the next flush. CUPTI's own word is used where the driver gives none. One thread at a
 * time. */
#ifndef JM_INJECT_DEVICES_H
#define JM_INJECT_DEVICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JM_DEVICE_TEXT 48

/* All is unknown again: a new run wants to be told. */
void jm__devices_reset(void);

/* Work ran there. True if it is new and somebody should ask. */
bool jm__devices_saw(uint8_t ordinal);

/* What CUPTI says. */
void jm__devices_heard(uint32_t ordinal, const unsigned char uuid[16], bool mig);

/* The next ordinal, from *next on, that work ran on and that the run was not told of. */
bool jm__devices_find_untold(unsigned *next, uint8_t *ordinal);

/* Find the driver's calls, once it is loaded: on the program's thread, as the loader has a lock that the
 * child of a fork beside it would wait for. */
void jm__devices_find_driver(void);

/* What the driver says. Not in a callback, and without a lock that a callback takes. */
bool jm__devices_ask_driver(uint8_t ordinal, char text[JM_DEVICE_TEXT]);

/* CUPTI's word, for when the driver gives none. */
bool jm__devices_recall(uint8_t ordinal, char text[JM_DEVICE_TEXT]);
void jm__devices_set_told(uint8_t ordinal);

#endif
