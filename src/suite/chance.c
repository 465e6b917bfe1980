/* Steele, Lea, Flood: Fast splittable pseudorandom number generators (2014). */
#include "suite/chance.h"

uint64_t suite_chance_bits(suite_chance *chance)
{
    uint64_t x = chance->state += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

double suite_chance_part(suite_chance *chance)
{
    return (double)(suite_chance_bits(chance) >> 11) * 0x1p-53;
}

double suite_chance_between(suite_chance *chance, double low, double high)
{
    return low + (high - low) * suite_chance_part(chance);
}

uint32_t suite_chance_one_of(suite_chance *chance, uint32_t count)
{
    return (uint32_t)((suite_chance_bits(chance) >> 32) * count >> 32);
}
