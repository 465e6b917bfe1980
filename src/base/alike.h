/* Counts of samples or tokens that are alike. */
#ifndef JM_BASE_ALIKE_H
#define JM_BASE_ALIKE_H

#include <stdint.h>

/* Rounded down to a power of two: within a factor of two they are alike, as padded text is that differs from
 * step to step. 0 (not told) stays. */
static inline uint32_t jm__alike_count(uint32_t count)
{
    while ((count & (count - 1)) != 0)
        count &= count - 1;
    return count;
}

#endif
