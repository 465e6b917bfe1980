/* What a board draws in gaps, and how much its sensor's readings scatter at rest. */
#ifndef JM_CALIBRATE_IDLE_H
#define JM_CALIBRATE_IDLE_H

#include "calibrate/training_set.h"
#include "model/board_model.h"

/* Sets the idle states of the model that the recording shows, and noise_w if it shows that: what it does not
 * show stays unknown. */
jm_status jm__idle_learn(jm__board_model *model, const jm__training_set *training_set, jm_error *err);

#endif
