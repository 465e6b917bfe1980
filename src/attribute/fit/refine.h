/* A first fit, for whoever asks what would explain the readings better. */
#ifndef JM_ATTRIBUTE_FIT_REFINE_H
#define JM_ATTRIBUTE_FIT_REFINE_H

#include "attribute/fit/fit.h"
#include "attribute/work/work.h"

typedef struct jm__refine_input {
    const jm__fit *fit;
    const jm__fit_input *fit_input; /* that it came from */
    const jm__work_set *set;
    jm__board_work *work; /* only its pieces are walked, and left as they were */
} jm__refine_input;

/* Something must be twenty times likelier than not: its logarithm. */
#define JM_REFINE_LOG_ODDS 3.0

#endif
