/* Inside of an estimate from a file of ncu's: what its steps share. */
#ifndef JM_ESTIMATE_OF_NCU_H
#define JM_ESTIMATE_OF_NCU_H

#include "estimate/estimate.h"
#include "estimate/model_choice.h"
#include "estimate/totals.h"

/* Within this ratio of the clocks of both directions one exponent was tried (docs/board-model.md). */
#define JM_TRIED_CLOCK_RATIO 0.9

typedef struct jm__of_ncu {
    jm_estimate *to;
    const jm_estimate_options *options;
    jm__ncu ncu;
    jm__ncu_words words;
    jm__ncu_sheet sheet;
    jm__model_choice choice;
    jm__bench bench;
    jm__estimate_sums sums;
    double *features;
    jm__errors errors;
    /* what notes tell of */
    size_t no_clock, with_missing, beyond, refused, other_chip, over_limit;
    double ncu_clock_mhz, flushed_j;
    jm_estimated_range peak, least;
    char missing[400];
} jm__of_ncu;

/* The names of the features that rows have rates of. */
jm_status jm__of_ncu_name_features(jm__of_ncu *m, jm_error *err);

/* One kernel of the file, as it runs at the clocks that m->bench says: a row, and its part of the sums. */
jm_status jm__of_ncu_add_kernel(jm__of_ncu *m, const jm__ncu_kernel *kernel, jm_error *err);

/* Of all rows, and where their joules go. */
void jm__of_ncu_find_totals(jm__of_ncu *m);

/* What one should know of the figures. */
jm_status jm__of_ncu_tell(jm__of_ncu *m, jm_error *err);

#endif
