/* Priors of powers from limits, kernel families, models and files. */
#ifndef JM_ATTRIBUTE_PRIOR_SOURCE_H
#define JM_ATTRIBUTE_PRIOR_SOURCE_H

#include "attribute/fit/levels.h"
#include "attribute/fit/prior.h"
#include "attribute/work/work.h"
#include "model/board_model.h"

/* The work of a board, to which the lines of a file are applied. */
typedef struct jm__prior_scene {
    const jm_board *board;
    const jm__work_set *set;
    const jm__board_work *work;
} jm__prior_scene;

/* The lines of a file, and those that apply to this board. */
typedef struct jm__prior_lines {
    size_t all;
    size_t used;
} jm__prior_lines;

/* (*out)[columns.count]: the highest possible power of each column, INFINITY for no limit; the caller frees
 * it. NULL if the board's limit is unknown. */
jm_status jm__board_limits(double **out, const jm_board *board, const jm__board_work *work, jm_error *err);

/* [columns.class_columns] of one board of `set`; the caller frees it. NULL if memory is out. */
jm__expectation *jm__family_power(const jm_board *board, const jm__board_work *work, const jm__work_set *set);

/* The priors of a file for one board. BAD_DATA names the file and line, or the supported headers. */
jm_status jm__prior_from_file(jm__prior *prior, jm__prior_lines *lines, const char *path,
                              const jm__prior_scene *scene, jm_error *err);

/* The model's idle powers, for another run. False: the model has none.
 *
 * Each has the model's own uncertainty, and 8 % for the range of gap lengths of a state. They share an error
 * of 25 % for another temperature (leakage) or clock; of 35 % if the model is of another board of the kind.
 */
bool jm__idle_of_model(jm__idle_known *idle_powers, const jm__board_model *model);

#endif
