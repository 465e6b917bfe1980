/* Powers that differ by what runs around them: a fit weighs these surroundings otherwise than time does.
 *
 * Let kind l draw p_l + d_l(g) in surroundings g, with independent d_l(g) of variance q_l. The least squares
 * estimate is C A'y / s^2, so the error d_l(g) reaches power k with the weight (C T_g / s^2)_kl, where T_g is
 * A'A of the readings in g. The truth that is asked for is the mean over time, where d_l(g) has the share of
 * its time that l spent in g. With H_g the difference of both, the error's covariance is the sum over g of
 * H_g diag(q) H_g'. It vanishes where a kind runs alone, and where there is one g.
 *
 * q_l = (u p_l)^2, with u so large that the parts p_l a_il of the readings, each off by its own d_l, give the
 * residuals as they are seen. Residuals show less than that where the fit could take the misfit into its
 * powers, so u is rather small; they show more where other things changed. On a real board it came out right
 * (docs/accuracy.md).
 */
#include "attribute/fit/misfit.h"

#include "attribute/fit/matrix.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SURROUNDINGS = 12 }; /* the most frequent ones; the last holds all others */

/* A profile's noise is typical: boards in steady load have shown 2 to 8 W for 5 W (docs/sensors.md), a
 * variance of up to 2.6 times. Between that and the profile's own: their geometric mean. */
static const double noise_slack = 1.6;
static const double most_relative_u = 0.3; /* as wide as the prior */

/* Surroundings change within a few readings: of the drift only what is new in each reading can be theirs.
 * What lasts longer is drift, and is counted as such. */
double jm__misfit_seen(const jm__noise *noise, double sensor_noise_w)
{
    double excess = noise->white + noise->drift - noise_slack * sensor_noise_w * sensor_noise_w;
    double changing = noise->drift * (1 - noise->keep * noise->keep);
    return fmax(0, fmin(changing, excess));
}

typedef struct surroundings {
    size_t columns;
    size_t *rank;    /* [columns]: surroundings of the readings in which this column is the largest part */
    double *row;     /* [columns] */
    double *time;    /* [SURROUNDINGS * columns]: weight of each column in each */
    double *square;  /* [SURROUNDINGS * columns * columns]: A'A of each */
    double *weight;  /* [columns * columns]: C T_g / s^2 */
    double *product; /* [columns * columns] */
    double parts_square; /* W^2: mean over readings of the sum of squares of the parts that make it up */
} surroundings;

static jm_status surroundings_init(surroundings *s, size_t columns, jm_error *err)
{
    size_t square = columns * columns;
    *s = (surroundings){.columns = columns};
    s->rank = calloc(columns + 1, sizeof *s->rank);
    s->row = calloc(columns + 1, sizeof(double));
    s->time = calloc(SURROUNDINGS * columns + 1, sizeof(double));
    s->square = calloc(SURROUNDINGS * square + 1, sizeof(double));
    s->weight = calloc(square + 1, sizeof(double));
    s->product = calloc(square + 1, sizeof(double));
    bool all = s->rank != NULL && s->row != NULL && s->time != NULL && s->square != NULL &&
               s->weight != NULL && s->product != NULL;
    return all ? JM_OK : jm__no_memory(err, "jm__misfit_find");
}

static void surroundings_free(surroundings *s)
{
    free(s->rank);
    free(s->row);
    free(s->time);
    free(s->square);
    free(s->weight);
    free(s->product);
}

static size_t largest(const double *values, size_t count)
{
    size_t best = 0;
    for (size_t k = 1; k < count; k++)
        if (values[k] > values[best]) best = k;
    return best;
}

/* What is the largest part of a reading names its surroundings. */
static void name_surroundings(surroundings *s, const jm__misfit_of *of)
{
    double *readings = s->product; /* as room for counts */
    memset(readings, 0, s->columns * sizeof *readings);
    jm__design_start(of->pass->design, of->response);
    for (size_t i = 0; i < of->pass->count; i++) {
        jm__pass_row(of->pass, i, s->row);
        readings[largest(s->row, s->columns)]++;
    }
    for (size_t k = 0; k < s->columns; k++)
        s->rank[k] = SURROUNDINGS - 1;
    for (size_t g = 0; g + 1 < SURROUNDINGS; g++) {
        size_t k = largest(readings, s->columns);
        if (readings[k] <= 0) break;
        s->rank[k] = g;
        readings[k] = 0;
    }
}

static void sum_up(surroundings *s, const jm__misfit_of *of)
{
    size_t columns = s->columns;
    jm__design_start(of->pass->design, of->response);
    for (size_t i = 0; i < of->pass->count; i++) {
        jm__pass_row(of->pass, i, s->row);
        size_t g = s->rank[largest(s->row, columns)];
        double *square = s->square + g * columns * columns;
        for (size_t k = 0; k < columns; k++) {
            double share = s->row[k];
            s->parts_square += pow(share * of->power_w[k], 2) / (double)of->pass->count;
            s->time[g * columns + k] += share;
            for (size_t m = 0; share != 0 && m < columns; m++)
                square[k * columns + m] += share * s->row[m];
        }
    }
}

/* error += H_g diag(p^2) H_g'; H_g takes the place of the weight. */
static void add_error(double *error, surroundings *s, const jm__misfit_of *of, size_t g,
                      const double *all_time)
{
    size_t columns = s->columns;
    for (size_t k = 0; k < columns; k++)
        if (all_time[k] > 0) s->weight[k * columns + k] -= s->time[g * columns + k] / all_time[k];
    for (size_t k = 0; k < columns; k++)
        for (size_t l = 0; l < columns; l++)
            s->product[l * columns + k] = pow(of->power_w[l], 2) * s->weight[k * columns + l];
    for (size_t k = 0; k < columns; k++) {
        for (size_t l = 0; l < columns; l++) {
            double term = s->weight[k * columns + l];
            for (size_t m = 0; term != 0 && m < columns; m++)
                error[k * columns + m] += term * s->product[l * columns + m];
        }
    }
}

/* From u = 1 to u^2 = `square`; no power is known worse than before there was any reading. */
static void scale_and_limit(double *error, double square, const jm__misfit_of *of, double *limit,
                            size_t columns)
{
    for (size_t k = 0; k < columns; k++) {
        double own = square * error[k * columns + k];
        double room = pow(of->prior_u_w[k], 2) - of->covariance[k * columns + k];
        limit[k] = own > 0 && room < own ? sqrt(fmax(0, room) / own) : 1;
    }
    for (size_t k = 0; k < columns; k++)
        for (size_t m = 0; m < columns; m++)
            error[k * columns + m] *= square * limit[k] * limit[m];
}

static double spread(double *error, surroundings *s, const jm__misfit_of *of, double *all_time)
{
    size_t columns = s->columns;
    double noise_square = of->noise_w * of->noise_w, count = (double)of->pass->count;
    name_surroundings(s, of);
    sum_up(s, of);
    for (size_t g = 0; g < SURROUNDINGS; g++)
        for (size_t k = 0; k < columns; k++)
            all_time[k] += s->time[g * columns + k];
    for (size_t g = 0; g < SURROUNDINGS; g++) {
        jm__matrix_multiply(s->weight, of->readings / count / noise_square, of->covariance,
                            s->square + g * columns * columns, columns);
        add_error(error, s, of, g, all_time);
    }
    double relative_u =
        s->parts_square > 0 ? fmin(most_relative_u, sqrt(of->seen_square / s->parts_square)) : 0;
    scale_and_limit(error, relative_u * relative_u, of, s->row, columns);
    return relative_u;
}

jm_status jm__misfit_find(double *error, double *relative_u, const jm__misfit_of *of, jm_error *err)
{
    size_t columns = of->pass->columns;
    memset(error, 0, columns * columns * sizeof *error);
    *relative_u = 0;
    if (of->seen_square <= 0 || of->pass->count == 0) return JM_OK;
    surroundings s;
    double *all_time = calloc(columns + 1, sizeof *all_time);
    jm_status status = surroundings_init(&s, columns, err);
    if (status == JM_OK && all_time == NULL) status = jm__no_memory(err, "jm__misfit_find");
    if (status == JM_OK) *relative_u = spread(error, &s, of, all_time);
    surroundings_free(&s);
    free(all_time);
    return status;
}
