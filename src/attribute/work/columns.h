/* Which unknown power each class of a board is fitted with: a bounded number of columns. */
#ifndef JM_ATTRIBUTE_WORK_COLUMNS_H
#define JM_ATTRIBUTE_WORK_COLUMNS_H

#include "attribute/work/classes.h"
#include "attribute/work/tally.h"

enum { JM_COLUMNS_MAX = 400 }; /* of classes; idle states come on top */

#define JM_NO_COLUMN UINT32_MAX

typedef struct jm__columns {
    uint32_t *of_class;   /* [classes]: JM_NO_COLUMN if the class did not run on this board */
    bool *merged;         /* [classes]: shares its column with other classes */
    size_t class_columns; /* first idle column */
    size_t count;         /* class_columns + JM_IDLE_STATES */
    size_t merged_count;  /* classes without a column of their own */
} jm__columns;

/* Classes that took less than 0.1 % of the busy time together, and those beyond the maximum, share a
 * column with classes of the same name, or the last column of all. */
jm_status jm__columns_choose(jm__columns *columns, const jm__tally *tally, const jm__classes *classes,
                             jm_error *err);
void jm__columns_free(jm__columns *columns);

#endif
