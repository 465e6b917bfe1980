/* Pairs of classes that run together: how long each ran beside which other. They share the joules by their
 * multiprocessors (classes.h), as they share the time; what that changes is one factor for all of them
 * (fit/power_law.h). Three or more at once, and two of one class, are no pair: they draw the mean of their
 * powers. */
#ifndef JM_ATTRIBUTE_WORK_JOINT_H
#define JM_ATTRIBUTE_WORK_JOINT_H

#include "attribute/work/classes.h"
#include "attribute/work/columns.h"
#include "attribute/work/sweep.h"

typedef struct jm__pair {
    uint32_t class_index[2]; /* as recorded, the lower one first */
} jm__pair;

typedef struct jm__pairs {
    jm__uses *uses;
    size_t classes; /* behind these, each pair has two provisional classes: of each beside the other */
    uint32_t multiprocessors;
    JM_VEC(jm__pair) items;
    jm__map numbers;
} jm__pairs;

/* `classes`: how many there are already; `multiprocessors`: of the boards. */
void jm__pairs_begin(jm__pairs *pairs, jm__uses *uses, size_t classes, uint32_t multiprocessors);
void jm__pairs_free(jm__pairs *pairs);

/* For jm__sweep.beside. */
bool jm__pairs_use(void *pairs, const jm__running *item, const jm__running *other, uint32_t *use);

/* After the pass: appends the classes of work beside others. (*final_of)[class] is the final class of each
 * class, provisional ones included; the caller frees it. False if memory is out. */
bool jm__pairs_choose(const jm__pairs *pairs, const jm__tally *const *tallies, size_t count,
                      jm__classes *classes, uint32_t **final_of);

#endif
