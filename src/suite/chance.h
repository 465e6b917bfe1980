/* Random numbers of a seed: splitmix64. */
#ifndef SUITE_CHANCE_H
#define SUITE_CHANCE_H

#include <stdint.h>

typedef struct suite_chance {
    uint64_t state; /* any number is a seed */
} suite_chance;

/* The next 64 random bits. */
uint64_t suite_chance_bits(suite_chance *chance);

/* In [0, 1). */
double suite_chance_part(suite_chance *chance);

/* In [low, high). */
double suite_chance_between(suite_chance *chance, double low, double high);

/* One of 0 to count - 1; count is at least 1. */
uint32_t suite_chance_one_of(suite_chance *chance, uint32_t count);

#endif
