/* Least squares row by row: rows are folded into a triangle, so memory is K^2 however many there are. */
#ifndef JM_ATTRIBUTE_FIT_QR_H
#define JM_ATTRIBUTE_FIT_QR_H

#include <joulemap/status.h>
#include <stddef.h>

/* The triangle R and Q'y of all rows so far. Column k of R is at triangle + k * stride, with rows 0..k;
 * column `columns` is the right-hand side, whose entry [columns] is the norm that no x can remove. */
typedef struct jm__qr {
    size_t columns;
    size_t stride; /* columns + 1 */
    double *triangle;
    double *block; /* rows not yet folded in, column by column */
    size_t block_rows;
    size_t rows; /* all rows added */
} jm__qr;

jm_status jm__qr_init(jm__qr *qr, size_t columns, jm_error *err);
void jm__qr_free(jm__qr *qr);

/* Forget all rows, keep the memory. */
void jm__qr_reset(jm__qr *qr);

/* One equation row . x = rhs, already weighted. */
void jm__qr_add(jm__qr *qr, const double *row, double rhs);

/* The equations of a finished triangle of at most as many columns, times `weight`. */
void jm__qr_append(jm__qr *qr, const jm__qr *from, double weight);

/* Fold in what waits; before the triangle is read. */
void jm__qr_finish(jm__qr *qr);

/* x of a finished triangle; 0 for a column that no equation speaks of. */
void jm__qr_solve(const jm__qr *qr, double *x);

/* The finished triangle of the normal equations L L' x = rhs, of the lower half of `lower` and of L^-1 rhs.
 */
void jm__qr_load(jm__qr *qr, const double *lower, const double *forward);

/* `information`: R'R of a finished triangle's rows and columns from `first` on, and `score`: R' times their
 * right-hand side; NULL: not wanted. */
void jm__qr_information(double *information, double *score, const jm__qr *qr, size_t first);

/* `covariance`: (R'R)^-1, columns * columns. The triangle is used up. */
void jm__qr_covariance_take(jm__qr *qr, double *covariance);

#endif
