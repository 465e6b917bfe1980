/* Images that were decoded and wait to be evaluated: decoding must keep up with the board, evaluating
 * may lag behind. */
#ifndef JM_RECORD_COUNTERS_PROCESS_IMAGES_H
#define JM_RECORD_COUNTERS_PROCESS_IMAGES_H

#include "record/counters/process/pm.h"

/* At 75 kB a sample of 19 counters these are six images: decoded ten times a second, the samples of 0.6 s. */
#define JM_PM_IMAGES_MAX   64
#define JM_PM_IMAGES_BYTES ((size_t)128 << 20)

typedef struct jm__pm_images {
    jm__pm_image items[JM_PM_IMAGES_MAX]; /* their memory is made when it is first needed, and kept */
    size_t first, count;                  /* of those that wait; the oldest first */
    size_t evaluated;                     /* samples of the oldest one that are done */
} jm__pm_images;

/* A free image to decode into; NULL: there is none, or no memory for it. It waits once it is pushed. */
jm__pm_image *jm__pm_images_free_one(jm__pm_images *images, const jm__pm *pm);
void jm__pm_images_push(jm__pm_images *images);

/* The oldest, or NULL; and away with it. */
jm__pm_image *jm__pm_images_oldest(jm__pm_images *images);
void jm__pm_images_pop(jm__pm_images *images, const jm__pm *pm);

#endif
