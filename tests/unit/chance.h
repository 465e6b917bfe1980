/* Chance that is the same in each run: MMIX's linear congruential generator (Knuth). A state begins with any
 * number. */
#ifndef JM_TESTS_CHANCE_H
#define JM_TESTS_CHANCE_H

#include <stdint.h>

static inline uint64_t chance_next(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state;
}

/* In [0, 1). */
static inline double chance_uniform(uint64_t *state)
{
    return (double)(chance_next(state) >> 11) * 0x1p-53;
}

/* In [0, n). */
static inline uint32_t chance_below(uint64_t *state, uint32_t n)
{
    return (uint32_t)(chance_next(state) >> 33) % n;
}

#endif
