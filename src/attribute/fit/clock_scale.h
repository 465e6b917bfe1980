/* One kind of work draws more at a higher clock: by how much, found in the readings for all kinds alike. */
#ifndef JM_ATTRIBUTE_FIT_CLOCK_SCALE_H
#define JM_ATTRIBUTE_FIT_CLOCK_SCALE_H

#include "attribute/fit/refine.h"

typedef struct jm__clock_scale {
    double *of_use;  /* [uses]: its power over that at the mean clock of the run; NULL: the readings ask for
                        none */
    double exponent; /* of the power that work adds to the board's, over the clock; 0: none */
} jm__clock_scale;

jm_status jm__clock_scale_find(jm__clock_scale *out, const jm__refine_input *input, jm_error *err);
void jm__clock_scale_free(jm__clock_scale *scale);

#endif
