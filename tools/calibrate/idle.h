/* Learns idle powers of a board and the noise of its power sensor. */
#ifndef JM_CALIBRATE_IDLE_H
#define JM_CALIBRATE_IDLE_H

#include "calibrate/training_set.h"
#include "model/board_model.h"

/* Sets the idle states that the recording resolves, and noise_w if possible. The others stay unknown. */
jm_status jm__idle_learn(jm__board_model *model, const jm__training_set *training_set, jm_error *err);

#endif
