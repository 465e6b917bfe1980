/* What a board's model tells of its gaps. */
#ifndef JM_ATTRIBUTE_PRIOR_IDLE_STATES_H
#define JM_ATTRIBUTE_PRIOR_IDLE_STATES_H

#include "attribute/fit/levels.h"
#include "model/board_model.h"

/* The model's idle states, as they hold for another run. False: it knows of none.
 *
 * Each is unsure by what the model says, and by the lengths that gaps of one state have: 8 %. All together
 * they are off by 25 %, at another temperature (leakage) or clock than the model was learnt at; by 35 % where
 * it was learnt on another board of the kind. */
bool jm__idle_of_model(jm__idle_known *known, const jm__board_model *model);

#endif
