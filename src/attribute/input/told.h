/* What counts as a step of a process, with its samples and tokens: what the program told of itself; where it
 * told none, the batches that were found. */
#ifndef JM_ATTRIBUTE_INPUT_TOLD_H
#define JM_ATTRIBUTE_INPUT_TOLD_H

#include "attribute/input/window.h"
#include "base/map.h"
#include "format/dataset.h"

typedef enum jm__amount { JM_AMOUNT_SAMPLES, JM_AMOUNT_TOKENS, JM_AMOUNTS } jm__amount;

typedef struct jm__told {
    jm__map of_process; /* row of `processes` -> bits of what its program told in the time asked about */
} jm__told;

/* Free it in any case, also where memory was out. */
jm_status jm__told_find(jm__told *told, const jm__dataset *dataset, const jm__windows *windows,
                        jm_error *err);
void jm__told_free(jm__told *told);

/* A step, or a batch of a process that told no step. */
bool jm__told_is_step(const jm__told *told, const jm__span *span);

/* Samples or tokens of a span; 0: none, or those of a batch whose program told its own. */
int64_t jm__told_amount(const jm__told *told, const jm__span *span, jm__amount amount);

#endif
