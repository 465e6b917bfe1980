/* Scores into equations.
 *
 * Errors of the response t, each of variance 1, add B t to the errors of Q'y, and the prior's powers may know
 * of them already: they covary with t by S, as they were learnt with the same response. Then t = W'(x - x0) +
 * r with W = P^-1 S, P being the prior's covariance, and r of covariance R = 1 - S'W independent of x. So Q'y
 * = (T + B W') x - B W'x0 + B r + the other errors: equations of x alone. After them x covaries with t by C
 * (W - T' N^-1 B R), T and N being the new ones. */
#include "attribute/fit/weigh.h"

#include "attribute/fit/matrix.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct weigher {
    const jm__weigh_of *of;
    size_t columns;
    double *errors;                                  /* N, then L */
    double *rows;                                    /* columns * (columns + 1): T and Q'y */
    double *moved[JM_RESPONSE_AXES];                 /* B */
    double *known[JM_RESPONSE_AXES];                 /* W */
    double rest[JM_RESPONSE_AXES][JM_RESPONSE_AXES]; /* R */
} weigher;

static jm_status weigher_init(weigher *w, const jm__weigh_of *of, jm_error *err)
{
    size_t n = of->data->columns;
    *w = (weigher){.of = of, .columns = n};
    w->errors = malloc((n * n + 1) * sizeof(double));
    w->rows = calloc(n * (n + 1) + 1, sizeof(double));
    bool all = w->errors != NULL && w->rows != NULL;
    for (int axis = 0; axis < JM_RESPONSE_AXES; axis++) {
        w->moved[axis] = calloc(n + 1, sizeof(double));
        w->known[axis] = calloc(n + 1, sizeof(double));
        all = all && w->moved[axis] != NULL && w->known[axis] != NULL;
    }
    return all ? JM_OK : jm__no_memory(err, "jm__weigh");
}

static void weigher_free(weigher *w)
{
    free(w->errors);
    free(w->rows);
    for (int axis = 0; axis < JM_RESPONSE_AXES; axis++) {
        free(w->moved[axis]);
        free(w->known[axis]);
    }
}

/* values = T'^-1 values: from a score to the orthogonal basis. */
static void to_basis(double *values, const jm__qr *data)
{
    for (size_t i = 0; i < data->columns; i++) {
        const double *column = data->triangle + i * data->stride;
        values[i] = (values[i] - jm__matrix_dot(column, values, i)) / column[i];
    }
}

/* The lower half of the transpose in place of a matrix's own: nothing reads the upper half. */
static void turn(double *matrix, size_t n)
{
    for (size_t i = 1; i < n; i++)
        for (size_t j = 0; j < i; j++)
            matrix[i * n + j] = matrix[j * n + i];
}

static void take_triangle(weigher *w)
{
    const jm__qr *data = w->of->data;
    size_t n = w->columns;
    for (size_t i = 0; i < n; i++) {
        for (size_t k = i; k <= n; k++)
            w->rows[i * (n + 1) + k] = data->triangle[k * data->stride + i];
        to_basis(memcpy(w->errors + i * n, w->of->scores + i * n, n * sizeof(double)), data);
    }
    turn(w->errors, n);
    for (size_t i = 0; i < n; i++)
        to_basis(w->errors + i * n, data);
}

static void take_axis(weigher *w, int axis)
{
    const jm__weigh_of *of = w->of;
    size_t n = w->columns;
    double *b = w->moved[axis], *known = w->known[axis];
    to_basis(memcpy(b, of->response[axis], n * sizeof *b), of->data);
    if (of->prior_shift[axis] == NULL) return;
    jm__matrix_apply(known, of->prior->information, of->prior_shift[axis], n);
    double before = jm__matrix_dot(known, of->prior->power_w, n);
    for (size_t i = 0; i < n; i++) {
        double *row = w->rows + i * (n + 1);
        for (size_t k = 0; k < n; k++)
            row[k] += b[i] * known[k];
        row[n] += b[i] * before;
    }
}

/* What the prior's powers leave of the errors of the response: a covariance, whatever rounding and powers at
 * their limits make of it. */
static void find_rest(weigher *w)
{
    for (int a = 0; a < JM_RESPONSE_AXES; a++) {
        const double *shift = w->of->prior_shift[a];
        w->rest[a][a] = 1;
        if (shift != NULL) w->rest[a][a] = fmax(0, 1 - jm__matrix_dot(w->known[a], shift, w->columns));
        for (int b = 0; shift != NULL && b < a; b++) {
            double most = sqrt(w->rest[a][a] * w->rest[b][b]);
            double both = -jm__matrix_dot(w->known[b], shift, w->columns);
            w->rest[a][b] = w->rest[b][a] = fmax(-most, fmin(most, both));
        }
    }
}

static void take_response(weigher *w)
{
    size_t n = w->columns;
    for (int axis = 0; axis < JM_RESPONSE_AXES; axis++)
        take_axis(w, axis);
    find_rest(w);
    for (int a = 0; a < JM_RESPONSE_AXES; a++)
        for (int b = 0; b < JM_RESPONSE_AXES; b++)
            for (size_t i = 0; i < n; i++)
                for (size_t k = 0; k < n; k++)
                    w->errors[i * n + k] += w->rest[a][b] * w->moved[a][i] * w->moved[b][k];
}

static jm_status whiten(weigher *w, jm_error *err)
{
    size_t n = w->columns;
    for (size_t i = 0; i < n; i++) /* rounding must not cost the factor */
        w->errors[i * n + i] *= 1 + 1e-9;
    if (!jm__matrix_factor(w->errors, n))
        return jm__fail(err, JM_INTERNAL, 0, "jm__weigh", "the errors of the readings are no covariance");
    for (size_t i = 0; i < n; i++)
        jm__matrix_whiten(w->rows, n + 1, w->errors, i, n);
    for (int axis = 0; axis < JM_RESPONSE_AXES; axis++)
        for (size_t i = 0; i < n; i++)
            jm__matrix_whiten(w->moved[axis], 1, w->errors, i, n);
    return JM_OK;
}

/* W - T' N^-1 B R */
static jm_status tell(jm__weighed *out, const weigher *w, jm_error *err)
{
    size_t n = w->columns;
    for (int axis = 0; axis < JM_RESPONSE_AXES; axis++) {
        out->told[axis] = malloc((n + 1) * sizeof(double));
        if (out->told[axis] == NULL) return jm__no_memory(err, "jm__weigh");
        memcpy(out->told[axis], w->known[axis], n * sizeof(double));
        for (int other = 0; other < JM_RESPONSE_AXES; other++)
            for (size_t i = 0; i < n; i++)
                for (size_t k = 0; k < n; k++)
                    out->told[axis][k] -=
                        w->rest[axis][other] * w->moved[other][i] * w->rows[i * (n + 1) + k];
    }
    return JM_OK;
}

static jm_status weigh(jm__weighed *out, weigher *w, jm_error *err)
{
    size_t n = w->columns;
    take_triangle(w);
    take_response(w);
    JM_TRY(whiten(w, err));
    JM_TRY(jm__qr_init(&out->equations, n, err));
    for (size_t i = 0; i < n; i++)
        jm__qr_add(&out->equations, w->rows + i * (n + 1), w->rows[i * (n + 1) + n]);
    jm__qr_finish(&out->equations);
    return tell(out, w, err);
}

jm_status jm__weigh(jm__weighed *out, const jm__weigh_of *of, jm_error *err)
{
    weigher w;
    *out = (jm__weighed){0};
    jm_status status = weigher_init(&w, of, err);
    if (status == JM_OK) status = weigh(out, &w, err);
    weigher_free(&w);
    if (status != JM_OK) jm__weighed_free(out);
    return status;
}

void jm__weighed_free(jm__weighed *weighed)
{
    jm__qr_free(&weighed->equations);
    for (int axis = 0; axis < JM_RESPONSE_AXES; axis++)
        free(weighed->told[axis]);
    *weighed = (jm__weighed){0};
}
