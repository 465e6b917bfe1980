/* From errors to the range that holds JM_ESTIMATE_COVERS of a figure (docs/estimate.md, "How sure is it?").
 */
#ifndef JM_ESTIMATE_RANGE_H
#define JM_ESTIMATE_RANGE_H

#include "model/board_model.h"

/* Of a board's model, standard. The first three are relative to what the sensor said, as in its file. */
typedef struct jm__errors {
    double kernel_u, family_u; /* of a kernel by itself, of its family */
    double gain_u;             /* of all kernels alike, on this board */
    double clock_u;            /* of the logarithm of all powers: a clock that the model was not learnt at */
    double kernel_z;           /* how many of the first two hold JM_ESTIMATE_COVERS of single kernels */
} jm__errors;

/* `board_u`: of another board than the model's, relative. NO_MEMORY. */
jm_status jm__errors_find(jm__errors *errors, const jm__board_model *model, double board_u, double clock_u,
                          jm_error *err);

/* How far a range goes to both sides of its figure, in the figure's unit; never below 0. */
typedef struct jm__sides {
    double down, up;
} jm__sides;

/* `model`: what the model's errors of kernels, families and weights hold, relative, and no standard one;
 * `rest`: of all else, standard, in the figure's unit. */
jm__sides jm__sides_of(const jm__errors *errors, double value, double model, double rest);

/* Of two opinions on the model's errors the larger: kernels whose family was left out, which the weights'
 * errors are part of, and the spread of the weights for these very counters. */
double jm__model_part(double left_out, double weights);

#endif
