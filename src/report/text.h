/* What a table says of a row, column by column. */
#ifndef JM_REPORT_TEXT_H
#define JM_REPORT_TEXT_H

#include "report/fold.h"
#include "report/table.h"

/* What some row of a table has: columns that none has anything for are left out. */
typedef struct jm__row_traits {
    bool by_kernel;
    bool by_request;
    bool several;        /* members */
    bool goes_both_ways; /* energy in forward and in backward passes */
    bool somewhere;      /* a layer that it is mostly in */
} jm__row_traits;

/* Is the row a pause, so that its place is what came after it, not where it was? */
bool jm__row_is_pause(const jm_row *row);

/* Where most of the row was: at least half of it; NULL: nowhere. For tables and pages alike. */
const char *jm__row_place(const jm_row *row);

/* It was in a layer: a column of places is worth its room if some row's was. */
bool jm__row_has_layer(const jm_row *row);

void jm__row_traits_see(jm__row_traits *traits, const jm__part *part);

/* The cells of a line; `sums_alone`: only those that can be said of several rows together. False if memory
 * is out. */
bool jm__row_cells(char cells[][JM_CELL], const jm__row_traits *traits, const jm__part *part,
                   const jm__energy_scale *scale, bool sums_alone);

#endif
