/* Durations that fall apart stand for sizes of the problem: of kernels whose launch shape is unknown
 * (imports), and of persistent ones, which launch as many blocks as the board holds whatever there is to do
 * (cuBLAS's nvjet: products of 26 and 90 us with one grid). */
#ifndef JM_ATTRIBUTE_WORK_DURATION_GROUPS_H
#define JM_ATTRIBUTE_WORK_DURATION_GROUPS_H

#include "attribute/work/classes.h"

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

/* Count an item, and give it its provisional class. False if memory is out. */
bool jm__duration_groups_count(jm__duration_groups *groups, jm__item *item);

/* Classes whose single calls fall into groups of clearly different length become a class a group: a matrix
 * product of another size is another class, whatever its name. Appends classes; (*final_of)[class] tells for
 * each of *count classes, provisional ones among them, what it is; the caller frees it. False if memory is
 * out.
 */
bool jm__duration_groups_split(const jm__duration_groups *groups, jm__classes *classes, uint32_t **final_of,
                               size_t *count);

#endif
