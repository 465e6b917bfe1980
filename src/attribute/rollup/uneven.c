/* A column has one power, the mean over its time; a row of the report that holds the share f of that time may
 * draw more or less.
 *
 * Let each row's own time draw the column's mean and a difference of its own, of variance (u x)^2,
 * independent but for their mean over all time, which is none. With n rows of equal shares, what rows of the
 * share f together draw is then off by a variance of (u x S)^2 f (1 - f) / n, S being the column's seconds,
 * and two sets of rows that have nothing in common by a covariance of -(u x S)^2 f g / n: all rows together
 * are off by nothing. With unequal shares n is one over the sum of their squares. u is the fit's misfit. */
#include "attribute/rollup/uneven.h"

#include "base/status.h"

#include <math.h>
#include <stdlib.h>

/* Two kernels that run together share the joules of their column by multiprocessors, which draw alike within
 * some 30 % from one kernel to another (the families' powers, prior/family_power.c). So the share f of one
 * is off by 0.3 f (1 - f); with n between 1 and 2 an u of 0.15 to 0.3 is that for the smaller share. */
static const double joint_u = 0.2;

static bool is_joint(const jm__work_set *work, const jm__columns *columns, size_t column)
{
    for (size_t c = work->classes.count; c-- > 0 && work->classes.items[c].joint;) /* the last ones */
        if (columns->of_class[c] == column) return true;
    return false;
}

static jm_status find_board(jm__board_part *part, const jm__work_set *work, const jm__tree *tree,
                            jm_error *err)
{
    jm__fit *fit = &part->fit;
    fit->uneven = calloc(fit->columns + 1, sizeof *fit->uneven);
    if (fit->uneven == NULL) return jm__no_memory(err, "jm_report_create");
    for (size_t i = 0; i < tree->cells.count; i++) {
        const jm__cell *cell = &tree->cells.items[i];
        if (cell->column < part->first_column || cell->column >= part->first_column + fit->columns) continue;
        jm__uneven *column = &fit->uneven[cell->column - part->first_column];
        column->seconds += cell->seconds;
        column->square += cell->seconds * cell->seconds; /* a sum until all are here */
    }
    for (size_t k = 0; k < fit->columns; k++) {
        jm__uneven *column = &fit->uneven[k];
        double share_square = column->seconds > 0 ? column->square / pow(column->seconds, 2) : 0;
        double u = is_joint(work, &part->work->columns, k) ? hypot(fit->misfit, joint_u) : fit->misfit;
        column->square = pow(u * fit->power_w[k], 2) * share_square;
    }
    return JM_OK;
}

jm_status jm__uneven_find(jm__attribution *a, const jm__tree *tree, jm_error *err)
{
    for (size_t b = 0; b < a->dataset->board_count; b++)
        if (a->boards[b].fit.fitted) JM_TRY(find_board(&a->boards[b], &a->work, tree, err));
    return JM_OK;
}
