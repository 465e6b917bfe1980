/* How well a model tells powers: from the kernels that it was learnt from, each told by the other families.
 */
#ifndef JM_CALIBRATE_LEARN_H
#define JM_CALIBRATE_LEARN_H

#include "model/board_model.h"

#include <joulemap/model.h>

/* Sets the model's errors, of a family and of a kernel, adds to that of all kernels alike, and what `learnt`
 * says of them. BAD_DATA: there is no kernel to judge by. */
jm_status jm__cross_validate(jm__board_model *model, jm_learnt *learnt, jm_error *err);

#endif
