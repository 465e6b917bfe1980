/* Pairs of kinds of kernels that often run together. The power of such a pair is not the mean of the two: it
 * gets a column of its own, which the readings tell, and whose joules the two share by their multiprocessors
 * (multiprocessors.h), as their time. What seldom runs together, and more than two kinds at once, shares time
 * at the powers that each kind has alone. */
#ifndef JM_ATTRIBUTE_WORK_JOINT_H
#define JM_ATTRIBUTE_WORK_JOINT_H

#include "attribute/work/duration_groups.h"
#include "attribute/work/sweep.h"
#include "attribute/work/uses.h"

/* Pairs that are told apart while kernels pass, and those that get a column. */
enum { JM_PAIRS_MAX = 4096, JM_JOINT_MAX = 16 };

/* A class beside another: two provisional classes a pair, one a side. */
typedef struct jm__pair {
    uint32_t class_index[2]; /* as recorded, the lower one first */
    uint32_t provisional[2];
} jm__pair;

typedef struct jm__pairs {
    jm__uses *uses;
    jm__duration_groups *groups; /* which number provisional classes */
    JM_VEC(jm__pair) items;
    jm__map numbers;
} jm__pairs;

void jm__pairs_begin(jm__pairs *pairs, jm__uses *uses, jm__duration_groups *groups);
void jm__pairs_free(jm__pairs *pairs);

/* For jm__sweep.beside. */
bool jm__pairs_use(void *pairs, const jm__running *item, const jm__running *other, uint32_t *use);

/* After the pass: those that ran together for 0.2 s and 1 % of all that ran get classes, `joint` and of one
 * column; the others become what they are alone. False if memory is out. */
bool jm__pairs_choose(const jm__pairs *pairs, const jm__tally *const *tallies, size_t count,
                      jm__classes *classes, uint32_t *final_of);

#endif
