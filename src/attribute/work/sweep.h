/* The activity of a board over time: pieces between two changes, each with its columns and their shares. */
#ifndef JM_ATTRIBUTE_WORK_SWEEP_H
#define JM_ATTRIBUTE_WORK_SWEEP_H

#include "attribute/work/columns.h"
#include "attribute/work/window.h"

/* Pieces are sorted; those of one moment have the same ends, and their shares add up to 1. */
typedef struct jm__piece {
    int64_t start_ns;
    int64_t end_ns;
    uint32_t column;
    float share;
} jm__piece;

typedef JM_VEC(jm__piece) jm__pieces;

/* Cover [from, to] without a hole. Work that overlaps shares the time equally. Adds to each item its
 * seconds within the windows. */
jm_status jm__sweep(jm__pieces *pieces, jm__items *items, const jm__columns *columns,
                    const jm__windows *windows, int64_t from_ns, int64_t to_ns, jm_error *err);

#endif
