/* Classes beyond name and launch shape: groups of durations, and pairs that run together.
 *
 * Clearly separate durations mean different problem sizes: of kernels whose launch shape is unknown (imports)
 * and of persistent kernels, which always launch as many blocks as the board holds (cuBLAS's nvjet: products
 * of 26 and 90 us with one grid). */
#ifndef JM_ATTRIBUTE_WORK_JOINT_H
#define JM_ATTRIBUTE_WORK_JOINT_H

#include "attribute/work/classes.h"
#include "attribute/work/columns.h"
#include "attribute/work/sweep.h"

struct jm__used_bins;

/* During the pass, each bin of durations of a class is a provisional class. */
typedef struct jm__duration_groups {
    const jm__classes *classes;
    struct jm__used_bins *of_class; /* [count] */
    size_t count;                   /* classes before the split */
    size_t next;                    /* number of the next provisional class */
} jm__duration_groups;

/* False if memory is out. */
bool jm__duration_groups_begin(jm__duration_groups *groups, const jm__classes *classes);
void jm__duration_groups_free(jm__duration_groups *groups);

/* Count an item and set its provisional class. False if memory is out. */
bool jm__duration_groups_count(jm__duration_groups *groups, jm__item *item);

/* Split classes whose calls form groups of clearly different duration: one class per group. Appends classes.
 * (*final_of)[class] is the final class of each of *count classes, provisional ones included; the caller
 * frees it. False if memory is out. */
bool jm__duration_groups_split(const jm__duration_groups *groups, jm__classes *classes, uint32_t **final_of,
                               size_t *count);

/* Pairs of classes that often run together. The power of a pair is not the mean of the two: it has a column
 * of its own, and the two share its joules by their multiprocessors (classes.h), as they share the time. Rare
 * pairs and more than two classes at once share time at the powers that each class has alone. */

typedef struct jm__pair {
    uint32_t class_index[2]; /* as recorded, the lower one first */
    uint32_t provisional[2]; /* the provisional class of each beside the other */
} jm__pair;

typedef struct jm__pairs {
    jm__uses *uses;
    jm__duration_groups *groups; /* numbers the provisional classes */
    JM_VEC(jm__pair) items;
    jm__map numbers;
} jm__pairs;
void jm__pairs_begin(jm__pairs *pairs, jm__uses *uses, jm__duration_groups *groups);
void jm__pairs_free(jm__pairs *pairs);

/* For jm__sweep.beside. */
bool jm__pairs_use(void *pairs, const jm__running *item, const jm__running *other, uint32_t *use);

/* After the pass: pairs that ran together for at least 0.2 s and 1 % of all work get `joint` classes with a
 * column of their own; the others become their classes alone. False if memory is out. */
bool jm__pairs_choose(const jm__pairs *pairs, const jm__tally *const *tallies, size_t count,
                      jm__classes *classes, uint32_t *final_of);

#endif
