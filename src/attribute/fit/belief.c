/* Equations with shared errors, made independent by the Cholesky factor of their covariance. */
#include "attribute/fit/belief.h"

#include "attribute/fit/matrix.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

jm_status jm__belief_init(jm__belief *belief, jm_provenance provenance, size_t columns, jm_error *err)
{
    enum { FIRST = 4 };
    *belief = (jm__belief){.provenance = provenance, .columns = columns, .capacity = FIRST};
    belief->row = calloc(FIRST * (columns + 1), sizeof(double));
    belief->value = calloc(FIRST, sizeof(double));
    belief->u = calloc(FIRST, sizeof(double));
    if (belief->row != NULL && belief->value != NULL && belief->u != NULL) return JM_OK;
    jm__belief_free(belief);
    return jm__no_memory(err, "jm__belief_init");
}

void jm__belief_free(jm__belief *belief)
{
    free(belief->row);
    free(belief->value);
    free(belief->u);
    free(belief->covariance);
    *belief = (jm__belief){0};
}

static bool grow(double **values, size_t count)
{
    double *moved = realloc(*values, (count + 1) * sizeof *moved);
    if (moved == NULL) return false;
    *values = moved;
    return true;
}

bool jm__belief_is_sane(double value, double u)
{
    return u > 0 && isfinite(u) && isfinite(value) && fmax(1, fabs(value)) <= JM_BELIEF_SUREST * u;
}

jm_status jm__belief_add(jm__belief *belief, const double *row, double value, double u, jm_error *err)
{
    if (!jm__belief_is_sane(value, u))
        return jm__fail(err, JM_BAD_DATA, 0, "jm__belief_add",
                        "a belief of %g with the uncertainty %g is none", value, u);
    if (belief->covariance != NULL)
        return jm__fail(err, JM_INTERNAL, 0, "jm__belief_add", "equations come before the errors they share");
    if (belief->rows == belief->capacity) {
        size_t larger = 2 * belief->capacity;
        if (!grow(&belief->row, larger * belief->columns) || !grow(&belief->value, larger) ||
            !grow(&belief->u, larger))
            return jm__no_memory(err, "jm__belief_add");
        belief->capacity = larger;
    }
    memcpy(belief->row + belief->rows * belief->columns, row, belief->columns * sizeof *row);
    belief->value[belief->rows] = value;
    belief->u[belief->rows++] = u;
    return JM_OK;
}

jm_status jm__belief_add_power(jm__belief *belief, size_t column, double power_w, double u_w, jm_error *err)
{
    double *row = calloc(belief->columns + 1, sizeof *row);
    if (row == NULL) return jm__no_memory(err, "jm__belief_add_power");
    row[column] = 1;
    jm_status status = jm__belief_add(belief, row, power_w, u_w, err);
    free(row);
    return status;
}

static jm_status share(jm__belief *belief, jm_error *err)
{
    if (belief->covariance == NULL)
        belief->covariance = calloc(belief->rows * belief->rows + 1, sizeof(double));
    return belief->covariance == NULL ? jm__no_memory(err, "jm__belief_share") : JM_OK;
}

jm_status jm__belief_share(jm__belief *belief, const double *error, jm_error *err)
{
    JM_TRY(share(belief, err));
    for (size_t i = 0; i < belief->rows; i++)
        for (size_t j = 0; j < belief->rows; j++)
            belief->covariance[i * belief->rows + j] += error[i] * error[j];
    return JM_OK;
}

jm_status jm__belief_covary(jm__belief *belief, const double *covariance, jm_error *err)
{
    JM_TRY(share(belief, err));
    for (size_t i = 0; i < belief->rows * belief->rows; i++)
        belief->covariance[i] += covariance[i];
    return JM_OK;
}

static jm_status fold_shared(const jm__belief *belief, jm__qr *qr, jm_error *err)
{
    size_t n = belief->rows, columns = belief->columns;
    double *lower = malloc((n * n + 1) * sizeof *lower), *values = malloc((n + 1) * sizeof *values);
    double *rows = malloc((n * columns + 1) * sizeof *rows);
    jm_status status = JM_OK;
    if (lower == NULL || values == NULL || rows == NULL) {
        status = jm__no_memory(err, "jm__belief_fold");
        goto out;
    }
    memcpy(lower, belief->covariance, n * n * sizeof *lower);
    memcpy(values, belief->value, n * sizeof *values);
    memcpy(rows, belief->row, n * columns * sizeof *rows);
    for (size_t i = 0; i < n; i++)
        lower[i * n + i] += belief->u[i] * belief->u[i];
    if (!jm__matrix_factor(lower, n)) {
        status = jm__fail(err, JM_BAD_DATA, 0, "jm__belief_fold", "the errors of a belief are no covariance");
        goto out;
    }
    for (size_t i = 0; i < n; i++) {
        jm__matrix_whiten(rows, columns, lower, i, n);
        jm__matrix_whiten(values, 1, lower, i, n);
        jm__qr_add(qr, rows + i * columns, values[i]);
    }
out:
    free(lower);
    free(values);
    free(rows);
    return status;
}

jm_status jm__belief_fold(const jm__belief *belief, jm__qr *qr, jm_error *err)
{
    if (belief->covariance != NULL) return fold_shared(belief, qr, err);
    double *row = malloc((belief->columns + 1) * sizeof *row);
    if (row == NULL) return jm__no_memory(err, "jm__belief_fold");
    for (size_t i = 0; i < belief->rows; i++) {
        for (size_t k = 0; k < belief->columns; k++)
            row[k] = belief->row[i * belief->columns + k] / belief->u[i];
        jm__qr_add(qr, row, belief->value[i] / belief->u[i]);
    }
    free(row);
    return JM_OK;
}
