/* What the data of a training cannot tell apart. */
#include "estimate/training.h"

#include "attribute/fit/qr.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Two features that go together so closely, and one of which the others tell so much, are one as far as the
 * data say. Choices: the usual ones (a variance inflation of 10). */
static const double pair_least = 0.95, others_least = 0.9;

typedef struct columns {
    double
        *values; /* [rows * columns]: less their means, and over their spreads; 0 where they do not change */
    bool *changes;
    size_t rows, count;
} columns;

static void standardise(columns *c, const double *values)
{
    for (size_t k = 0; k < c->count; k++) {
        double mean = 0, square = 0;
        for (size_t i = 0; i < c->rows; i++)
            mean += values[i * c->count + k] / (double)c->rows;
        for (size_t i = 0; i < c->rows; i++)
            square += pow(values[i * c->count + k] - mean, 2);
        double spread = sqrt(square);
        c->changes[k] = spread > 1e-9;
        for (size_t i = 0; i < c->rows; i++)
            c->values[i * c->count + k] = c->changes[k] ? (values[i * c->count + k] - mean) / spread : 0;
    }
}

static double correlation(const columns *c, size_t a, size_t b)
{
    double sum = 0;
    for (size_t i = 0; i < c->rows; i++)
        sum += c->values[i * c->count + a] * c->values[i * c->count + b];
    return sum;
}

/* The share of a column's variance that all others tell. */
static jm_status told_by_others(const columns *c, size_t which, double *share, jm_error *err)
{
    jm__qr qr;
    double *row = calloc(c->count + 1, sizeof *row), *x = calloc(c->count + 1, sizeof *x);
    jm_status status =
        row != NULL && x != NULL ? jm__qr_init(&qr, c->count, err) : jm__no_memory(err, "jm_estimate_train");
    if (status == JM_OK) {
        for (size_t i = 0; i < c->rows; i++) {
            memcpy(row, c->values + i * c->count, c->count * sizeof *row);
            row[which] = 0;
            jm__qr_add(&qr, row, c->values[i * c->count + which]);
        }
        for (size_t k = 0; k < c->count; k++) { /* full rank */
            memset(row, 0, c->count * sizeof *row);
            row[k] = 1e-4;
            jm__qr_add(&qr, row, 0);
        }
        jm__qr_finish(&qr);
        jm__qr_solve(&qr, x);
        double left = 0;
        for (size_t i = 0; i < c->rows; i++) {
            double rest = c->values[i * c->count + which];
            for (size_t k = 0; k < c->count; k++)
                if (k != which) rest -= x[k] * c->values[i * c->count + k];
            left += rest * rest;
        }
        *share = 1 - left;
        jm__qr_free(&qr);
    }
    free(row);
    free(x);
    return status;
}

static jm_status tell_pairs(jm_training *t, const columns *c, bool *paired, jm_error *err)
{
    const char **names = t->features.names;
    for (size_t a = 0; a < c->count; a++)
        for (size_t b = a + 1; b < c->count; b++) {
            double r = correlation(c, a, b);
            if (!c->changes[a] || !c->changes[b] || fabs(r) < pair_least) continue;
            paired[a] = paired[b] = true;
            JM_TRY(jm__training_note(
                t, err,
                "%.120s and %.120s go together (correlation %.3f): the data cannot tell whose "
                "power it is",
                names[a], names[b], r));
        }
    return JM_OK;
}

static jm_status tell(jm_training *t, const columns *c, const double *weights, bool *paired, jm_error *err)
{
    if (c->rows <= c->count + 1)
        JM_TRY(jm__training_note(t, err, "%zu kernels for %zu features: too few to tell them apart", c->rows,
                                 c->count));
    JM_TRY(tell_pairs(t, c, paired, err));
    for (size_t k = 0; k < c->count; k++) {
        double share = 0;
        if (!c->changes[k]) {
            JM_TRY(jm__training_note(t, err,
                                     "%.120s is the same for all kernels: nothing can be learnt of it",
                                     t->features.names[k]));
            continue;
        }
        if (!paired[k] && c->rows > c->count + 1) JM_TRY(told_by_others(c, k, &share, err));
        if (share > others_least)
            JM_TRY(jm__training_note(
                t, err, "%.120s is told by the other features together (R2 %.3f): its weight may be theirs",
                t->features.names[k], share));
        if (weights[k] <= 0)
            JM_TRY(jm__training_note(t, err, "%.120s got no weight: the others tell as much without it",
                                     t->features.names[k]));
    }
    return JM_OK;
}

jm_status jm__training_collinear(jm_training *training, const double *values, const double *weights,
                                 jm_error *err)
{
    columns c = {.rows = training->features.count, .count = training->features.columns};
    c.values = calloc(c.rows * c.count + 1, sizeof *c.values);
    c.changes = calloc(c.count + 1, sizeof *c.changes);
    bool *paired = calloc(c.count + 1, sizeof *paired);
    jm_status status = c.values != NULL && c.changes != NULL && paired != NULL
                           ? JM_OK
                           : jm__no_memory(err, "jm_estimate_train");
    if (status == JM_OK) {
        standardise(&c, values);
        status = tell(training, &c, weights, paired, err);
    }
    free(c.values);
    free(c.changes);
    free(paired);
    return status;
}
