/* Durations that fall apart stand for sizes of the problem: of kernels whose launch shape is unknown
 * (imports), and of persistent ones, which launch as many blocks as the board holds whatever there is to do
 * (cuBLAS's nvjet: products of 26 and 90 us with one grid). */
#ifndef JM_ATTRIBUTE_WORK_JOINT_H
#define JM_ATTRIBUTE_WORK_JOINT_H

#include "attribute/work/classes.h"
#include "attribute/work/columns.h"
#include "attribute/work/sweep.h"

struct jm__used_bins;

/* While kernels pass, each bin of durations of a class of kernels is a provisional class. */
typedef struct jm__duration_groups {
    const jm__classes *classes;
    struct jm__used_bins *of_class; /* [count]: none used: nothing to split */
    size_t count;                   /* classes before the split */
    size_t next;                    /* number of the next provisional class */
} jm__duration_groups;

/* False if memory is out. */
bool jm__duration_groups_begin(jm__duration_groups *groups, const jm__classes *classes);
void jm__duration_groups_free(jm__duration_groups *groups);

/* Count an item that ran at this clock, and give it its provisional class. `clock_mhz`: any, where it is not
 * known or stood still. False if memory is out. */
bool jm__duration_groups_count(jm__duration_groups *groups, jm__item *item, double clock_mhz);

/* Classes whose single calls fall into groups of clearly different length become a class a group: a matrix
 * product of another size is another class, whatever its name. Appends classes; (*final_of)[class] tells for
 * each of *count classes, provisional ones among them, what it is; the caller frees it. False if memory is
 * out.
 */
bool jm__duration_groups_split(const jm__duration_groups *groups, jm__classes *classes, uint32_t **final_of,
                               size_t *count);

/* Pairs of kinds of kernels that often run together. The power of such a pair is not the mean of the two: it
 * gets a column of its own, which the readings tell, and whose joules the two share by their multiprocessors
 * (classes.h), as their time. What seldom runs together, and more than two kinds at once, shares time
 * at the powers that each kind has alone. */

/* A class beside another: two provisional classes a pair, one a side. */
typedef struct jm__pair {
    uint32_t class_index[2]; /* as recorded, the lower one first */
    uint32_t provisional[2];
} jm__pair;

typedef struct jm__pairs {
    jm__uses *uses;
    jm__duration_groups *groups; /* which number provisional classes */
    uint32_t multiprocessors;
    JM_VEC(jm__pair) items;
    jm__map numbers;
} jm__pairs;
/* `multiprocessors`: of the boards. */
void jm__pairs_begin(jm__pairs *pairs, jm__uses *uses, jm__duration_groups *groups, uint32_t multiprocessors);
void jm__pairs_free(jm__pairs *pairs);

/* For jm__sweep.beside. */
bool jm__pairs_use(void *pairs, const jm__running *item, const jm__running *other, uint32_t *use);

/* After the pass: those that ran together for 0.2 s and 1 % of all that ran get classes, `joint` and of one
 * column; the others become what they are alone. False if memory is out. */
bool jm__pairs_choose(const jm__pairs *pairs, const jm__tally *const *tallies, size_t count,
                      jm__classes *classes, uint32_t *final_of);

#endif
