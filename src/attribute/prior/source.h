/* Beliefs that a person gives: CSV files, each known by its header line. */
#ifndef JM_ATTRIBUTE_PRIOR_SOURCE_H
#define JM_ATTRIBUTE_PRIOR_SOURCE_H

#include "attribute/fit/belief.h"
#include "attribute/work/work.h"
#include "base/csv.h"

/* What can be believed: name, columns of its CSV, what a figure is called that it decides, what it tells of.
 * A new one is a line here and src/attribute/prior/NAME.c, which gives jm__believe_NAME. */
#define JM_BELIEF_MAP(X)                                                                                     \
    X(kernel_powers, "kernel,power_w,u_w", GIVEN, "powers of kernels")                                       \
    X(isolated_layers, "path,direction,energy_j,u_j", ISOLATED, "energy of layers alone")

/* What a board did, for whoever turns words of a file into equations of its columns. */
typedef struct jm__belief_scene {
    const jm_board *board;
    const jm__work_set *set;
    const jm__board_work *work;
    const jm__classes *classes;
    const jm__columns *columns;
    const double *seconds; /* [columns->count]: time of each */
} jm__belief_scene;

/* How many lines there were, and how many speak of what ran on this board. */
typedef struct jm__belief_lines {
    size_t all;
    size_t used;
} jm__belief_lines;

/* Sources: each adds the equations of its file, counts its lines, and names the line that is wrong. */
#define X(name, columns, provenance, text)                                                                   \
    jm_status jm__believe_##name(jm__belief *belief, jm__belief_lines *lines, jm__csv *csv,                  \
                                 const jm__belief_scene *scene, jm_error *err);
JM_BELIEF_MAP(X)
#undef X

#endif
