/* What is assumed of powers before any reading, by whatever source. */
#ifndef JM_ATTRIBUTE_PRIOR_SOURCE_H
#define JM_ATTRIBUTE_PRIOR_SOURCE_H

#include "attribute/fit/levels.h"
#include "attribute/fit/prior.h"
#include "attribute/work/work.h"
#include "base/csv.h"
#include "model/board_model.h"

/* What a board did, for whoever turns words of a file into equations of its columns. */
typedef struct jm__prior_scene {
    const jm_board *board;
    const jm__work_set *set;
    const jm__board_work *work;
    const jm__classes *classes;
    const jm__columns *columns;
    const double *seconds; /* [columns->count]: time of each */
} jm__prior_scene;

/* How many lines there were, and how many speak of what ran on this board. */
typedef struct jm__prior_lines {
    size_t all;
    size_t used;
} jm__prior_lines;

/* (*out)[columns.count]: the highest power of each column, INFINITY where there is no limit; the caller frees
 * it. NULL if the board's limit is not known. */
jm_status jm__board_limits(double **out, const jm_board *board, const jm__board_work *work, jm_error *err);

/* [columns.class_columns] of one board of `set`; the caller frees it. NULL if memory is out. */
jm__expectation *jm__family_power(const jm_board *board, const jm__board_work *work, const jm__work_set *set);

/* The priors of a file about one board. BAD_DATA names file and line, or the headers that are known. */
jm_status jm__prior_from_file(jm__prior *prior, jm__prior_lines *lines, const char *path,
                              const jm__prior_scene *scene, jm_error *err);

/* The model's idle states, as they hold for another run. False: it knows of none.
 *
 * Each is unsure by what the model says, and by the lengths that gaps of one state have: 8 %. All together
 * they are off by 25 %, at another temperature (leakage) or clock than the model was learnt at; by 35 % where
 * it was learnt on another board of the kind. */
bool jm__idle_of_model(jm__idle_known *known, const jm__board_model *model);

#endif
