/* Streaming readings: build the row, fold it, and what is left of each reading. */
#include "attribute/fit/pass.h"

#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void jm__pass_row(const jm__pass *pass, size_t i, double *row)
{
    const double *weights = jm__design_row(pass->design, pass->readings[i].t_ns);
    if (pass->group == NULL) {
        memcpy(row, weights, pass->columns * sizeof *row);
        return;
    }
    memset(row, 0, pass->columns * sizeof *row);
    for (size_t k = 0; k < pass->design->columns; k++)
        row[pass->group[k]] += pass->scale != NULL ? pass->scale[k] * weights[k] : weights[k];
}

bool jm__pass_are_neighbours(const jm__pass *pass, size_t i)
{
    if (i == 0) return false;
    return pass->readings[i].t_ns - pass->readings[i - 1].t_ns < pass->period_ns + pass->period_ns / 2;
}

jm_status jm__pass_fold(const jm__pass *pass, jm__response response, jm__qr *qr, jm_error *err)
{
    double *row = calloc(pass->columns + 1, sizeof *row);
    if (row == NULL) return jm__no_memory(err, "jm__pass_fold");
    jm__qr_reset(qr);
    jm__design_start(pass->design, response);
    for (size_t i = 0; i < pass->count; i++) {
        jm__pass_row(pass, i, row);
        jm__qr_add(qr, row, pass->readings[i].value);
    }
    jm__qr_finish(qr);
    free(row);
    return JM_OK;
}

/* A block is long against the noise's memory, and there are enough of them to tell a variance. */
static size_t block_length(const jm__pass *pass)
{
    size_t length = (size_t)(1000000000 / (pass->period_ns > 0 ? pass->period_ns : 1));
    if (length < 10) length = 10;
    if (length > pass->count / 20) length = pass->count / 20;
    return length > 0 ? length : 1;
}

static void add_score(double *scores, double *block, size_t columns)
{
    for (size_t k = 0; k < columns; k++) {
        if (block[k] == 0) continue;
        for (size_t m = 0; m < columns; m++)
            scores[k * columns + m] += block[k] * block[m];
    }
    memset(block, 0, columns * sizeof *block);
}

jm_status jm__pass_residual_each(const jm__pass *pass, jm__response response, const double *x,
                                 double *residual, jm_error *err)
{
    double *row = calloc(pass->columns + 1, sizeof *row);
    if (row == NULL) return jm__no_memory(err, "jm__pass_residual_each");
    jm__design_start(pass->design, response);
    for (size_t i = 0; i < pass->count; i++) {
        jm__pass_row(pass, i, row);
        residual[i] = pass->readings[i].value;
        for (size_t k = 0; k < pass->columns; k++)
            residual[i] -= row[k] * x[k];
    }
    free(row);
    return JM_OK;
}

jm_status jm__pass_residuals(const jm__pass *pass, jm__response response, const double *x, jm__residuals *out,
                             double *scores, jm_error *err)
{
    size_t columns = pass->columns, length = block_length(pass);
    double *row = calloc(2 * columns + 2, sizeof *row);
    if (row == NULL) return jm__no_memory(err, "jm__pass_residuals");
    double *block = row + columns + 1;
    double square = 0, product = 0, pair_square = 0, previous = 0;
    memset(scores, 0, columns * columns * sizeof *scores);
    jm__design_start(pass->design, response);
    for (size_t i = 0; i < pass->count; i++) {
        jm__pass_row(pass, i, row);
        double residual = pass->readings[i].value;
        for (size_t k = 0; k < columns; k++)
            residual -= row[k] * x[k];
        square += residual * residual;
        if (jm__pass_are_neighbours(pass, i)) {
            product += residual * previous;
            pair_square += (residual * residual + previous * previous) / 2;
        }
        previous = residual;
        for (size_t k = 0; k < columns; k++)
            block[k] += row[k] * residual;
        if ((i + 1) % length == 0) add_score(scores, block, columns);
    }
    add_score(scores, block, columns);
    out->rms = pass->count > 0 ? sqrt(square / (double)pass->count) : 0;
    out->correlation = pair_square > 0 ? product / pair_square : 0;
    free(row);
    return JM_OK;
}
