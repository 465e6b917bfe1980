/* The weakest belief: work draws what its kind does around the mean busy power of the recording, idle states
 * the idle power. */
#ifndef JM_ATTRIBUTE_FIT_LEVELS_H
#define JM_ATTRIBUTE_FIT_LEVELS_H

#include "attribute/fit/belief.h"
#include "attribute/fit/expectation.h"
#include "attribute/fit/readings.h"
#include "attribute/fit/response.h"

typedef struct jm__levels_input {
    const jm_sensor *sensor;
    const jm_reading *readings; /* the whole recording's */
    size_t reading_count;
    jm__design *design;
    size_t class_columns; /* the first idle column */
    size_t columns;
    const jm__expectation *expected; /* [class_columns]; NULL: the mean of all, each by itself */
} jm__levels_input;

/* `learn`: the readings that powers are learnt from. One equation a column. */
jm_status jm__levels_believe(jm__belief *belief, const jm__levels_input *input, const jm__reading_list *learn,
                             jm_error *err);

#endif
