/* Learning a board's model, and its errors, from kernels predicted by the weights of other families. */
#ifndef JM_CALIBRATE_LEARN_H
#define JM_CALIBRATE_LEARN_H

#include "format/dataset.h"
#include "model/board_model.h"

#include <joulemap/model.h>

/* Sets the model's errors of a family and of a kernel, adds to the common error, and fills in `learnt`.
 * BAD_DATA: there is no usable kernel. */
jm_status jm__cross_validate(jm__board_model *model, jm_learnt *learnt, jm_error *err);

/* jm_response_learn from a dataset. */
jm_status jm__response_learn(const jm__dataset *dataset, const jm_learn_options *options,
                             jm_learnt_response *learnt, jm_error *err);

/* Today, for a model's file; the caller frees it. NULL: memory is out. */
char *jm__model_date(void);

/* The path of the model to write: `path`, else where reports look for the board's own. */
jm_status jm__model_path(char *out, size_t size, const jm_board *board, const char *path, jm_error *err);

#endif
