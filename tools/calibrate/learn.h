/* The errors of a model, from kernels predicted by the weights of other families. */
#ifndef JM_CALIBRATE_LEARN_H
#define JM_CALIBRATE_LEARN_H

#include "model/board_model.h"

#include <joulemap/model.h>

/* Sets the model's errors of a family and of a kernel, adds to the common error, and fills in `learnt`.
 * BAD_DATA: there is no usable kernel. */
jm_status jm__cross_validate(jm__board_model *model, jm_learnt *learnt, jm_error *err);

#endif
