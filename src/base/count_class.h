/* Classes of sample or token counts. */
#ifndef JM_BASE_COUNT_CLASS_H
#define JM_BASE_COUNT_CLASS_H

#include <stdint.h>

/* Rounded down to a power of two. Counts within a factor of two are one class, since padded text differs in
 * length from step to step. 0 (unknown) stays 0. */
static inline uint32_t jm__count_class(uint32_t count)
{
    while ((count & (count - 1)) != 0)
        count &= count - 1;
    return count;
}

#endif
