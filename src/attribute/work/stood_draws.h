/* How far traced steps may be from those that they stand for, as draws. */
#ifndef JM_ATTRIBUTE_WORK_STOOD_DRAWS_H
#define JM_ATTRIBUTE_WORK_STOOD_DRAWS_H

#include "attribute/work/stood.h"

/* Fills the draws; the weights are there. False if memory is out. */
bool jm__stood_draws_find(jm__stood *stood);

/* 1 or -1, by chance, the same for the same two numbers. */
static inline double jm__draw_sign(uint64_t what, uint64_t draw)
{
    uint64_t x = what * UINT64_C(0x9e3779b97f4a7c15) + draw * UINT64_C(0xd1b54a32d192ed03) + 1;
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return ((x ^ (x >> 31)) & 1) != 0 ? 1 : -1;
}

#endif
