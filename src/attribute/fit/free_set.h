/* Some columns of a triangle, free, as a triangle of their own that columns enter and leave one by one. */
#ifndef JM_ATTRIBUTE_FIT_FREE_SET_H
#define JM_ATTRIBUTE_FIT_FREE_SET_H

#include "attribute/fit/qr.h"

#include <stdbool.h>

/* R and Q'd, rotated. Column k stands at matrix + k * columns; column `columns` is the right-hand side. Those
 * named by column[0] to column[count - 1] are a triangle in this order, with zeros below it. */
typedef struct jm__free_set {
    size_t columns;
    size_t count;
    double *matrix;
    size_t *column; /* the free ones, then the others */
    double *turn;   /* room for the rotations of a removal: cosine, sine */
    double *rest;   /* [columns]: what the columns that are not free leave of the right-hand side */
} jm__free_set;

/* All columns of a finished triangle, free. */
jm_status jm__free_set_init(jm__free_set *set, const jm__qr *qr, jm_error *err);
void jm__free_set_free(jm__free_set *set);

/* column[place], `place` below `count`, is free no longer: the order of those after it stays. */
void jm__free_set_remove(jm__free_set *set, size_t place);

/* Those that are not free leave. */
void jm__free_set_keep(jm__free_set *set, const bool *is_free);

/* column[place], `place` from `count` on, is free: the last of the triangle. */
void jm__free_set_add(jm__free_set *set, size_t place);

/* solution[f] of the free column[f], the others being where x[column] has them; finds `rest`. */
void jm__free_set_solve(jm__free_set *set, const double *x, double *solution);

/* How steeply the sum of squares falls if a column that is not free grows; after a solution. */
double jm__free_set_slope(const jm__free_set *set, size_t column);

#endif
