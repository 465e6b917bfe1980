/* A board's model for another kind of board of the same chip.
 *
 * An event costs what it costs: the joules of an instruction, of a byte are those of the board that the model
 * was learnt on. What changes is how many of them its units can do, and what runs whatever is done:
 *
 *     rates in percent of the memory's peak    weight x peak of the new board / peak of the old one
 *     the constant, the clock's own part,      half of it with the number of multiprocessors (the rest is
 * memory gaps                                     and board), a choice the most that rates were learnt at
 * with the number of multiprocessors
 */
#ifndef JM_ESTIMATE_SCALED_MODEL_H
#define JM_ESTIMATE_SCALED_MODEL_H

#include "import/ncu/sheet.h"
#include "model/board_model.h"

void jm__model_scale(jm__board_model *model, const jm__ncu_words *words, const jm__ncu_board *from,
                     const jm__ncu_board *to);

/* How far off all of a scaled model may be beside its own errors, relative, standard. */
double jm__model_scale_u(const jm__ncu_board *from, const jm__ncu_board *to);

#endif
