/* Noise that is a function of what it belongs to: seed, board, channel, number of the sample.
 * So two processes that look at one board see the same noise, in any order. */
#ifndef SIM_NOISE_H
#define SIM_NOISE_H

#include <math.h>
#include <stdint.h>

static inline uint64_t sim_mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15ull; /* splitmix64 */
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

static inline uint64_t sim_key(uint64_t key, uint64_t part)
{
    return sim_mix(key ^ sim_mix(part));
}

/* FNV-1a over the first `length` bytes. */
static inline uint64_t sim_text_key(const char *text, size_t length)
{
    uint64_t key = 0xcbf29ce484222325ull;
    for (size_t i = 0; i < length; i++)
        key = (key ^ (unsigned char)text[i]) * 0x100000001b3ull;
    return sim_mix(key);
}

/* In (0, 1). */
static inline double sim_uniform(uint64_t key)
{
    return ((double)(sim_mix(key) >> 11) + 0.5) * 0x1p-53;
}

/* Standard normal (Box and Muller). */
static inline double sim_normal(uint64_t key)
{
    return sqrt(-2.0 * log(sim_uniform(sim_key(key, 1)))) *
           cos(6.283185307179586 * sim_uniform(sim_key(key, 2)));
}

#endif
