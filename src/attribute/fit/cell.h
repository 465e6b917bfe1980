/* Seconds that a row of a report spent in a column. */
#ifndef JM_ATTRIBUTE_FIT_CELL_H
#define JM_ATTRIBUTE_FIT_CELL_H

#include <stddef.h>
#include <stdint.h>

/* Columns of all boards are numbered one after the other. */
typedef struct jm__cell {
    uint32_t node;
    uint32_t column;
    double seconds;
    size_t alike; /* in a tree: one number for the cells of a column whose nodes have one path and kind */
} jm__cell;

#endif
