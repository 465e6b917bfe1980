/* Uses (a class in one context), by which the pass counts, and the columns with which they are fitted. */
#ifndef JM_ATTRIBUTE_WORK_COLUMNS_H
#define JM_ATTRIBUTE_WORK_COLUMNS_H

#include "attribute/input/places.h"
#include "attribute/work/classes.h"
#include "attribute/work/tally.h"
#include "base/map.h"
#include "base/vec.h"
#include <stdbool.h>
#include <stdint.h>

typedef struct jm__use {
    uint32_t class_index;
    uint32_t context; /* 0: anywhere */
} jm__use;

typedef struct jm__uses {
    JM_VEC(jm__use) items;
    JM_VEC(uint32_t) last; /* [classes]: the use looked up last, + 1 */
    jm__map numbers;
} jm__uses;
void jm__uses_free(jm__uses *uses);

/* The number of a use, new or not. False if memory is out. */
bool jm__use_number(jm__uses *uses, uint32_t class_index, uint32_t context, uint32_t *number);

/* Replace provisional classes: final_of[class] is the final one. (*number_of)[use] is the new number of each
 * use; the caller frees it. False if memory is out. */
bool jm__uses_renumber(jm__uses *uses, const uint32_t *final_of, uint32_t **number_of);

enum { JM_COLUMNS_MAX = 400 }; /* of classes; idle states come on top */

/* What sampling of hardware counters draws beside work, and beside none: columns behind those of idle states,
 * on a board whose counters were sampled. They are time that other columns have too. */
enum { JM_SAMPLER_BUSY, JM_SAMPLER_IDLE, JM_SAMPLER_STATES };

#define JM_NO_COLUMN UINT32_MAX

/* The unknown powers of one board (columns of the fit), and the column of each class and use. */
typedef struct jm__columns {
    uint32_t *of_class;   /* [classes]: JM_NO_COLUMN if the class did not run on this board; the first column
                             of a class that has several */
    uint32_t *of_use;     /* [uses] */
    uint32_t *first_of;   /* [count]: the first column of its class, itself if it is that */
    bool *merged;         /* [classes]: in a column of rare classes; a joint class as its own */
    size_t class_columns; /* first idle column */
    size_t sampler_columns; /* JM_SAMPLER_STATES or 0 */
    size_t count;           /* class_columns + JM_IDLE_STATES + sampler_columns */
    size_t merged_count;    /* classes without a column of their own */
} jm__columns;

/* Rare classes (together less than 0.1 % of the busy time) and those beyond the maximum share a column with
 * classes of the same name, or the last class column. */
jm_status jm__columns_choose(jm__columns *columns, const jm__tally *tally, const jm__uses *uses,
                             const jm__classes *classes, bool sampled, jm_error *err);

static inline size_t jm__sampler_column(const jm__columns *columns)
{
    return columns->class_columns + JM_IDLE_STATES;
}

/* A column for each place that a class ran in, inserted before the idle columns: by layer and phase, or more
 * coarsely where there are many. */
jm_status jm__columns_by_place(jm__columns *columns, const jm__tally *tally, const jm__uses *uses,
                               const jm__contexts *contexts, jm_error *err);
void jm__columns_free(jm__columns *columns);

#endif
