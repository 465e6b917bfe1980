/* Noise is new in every reading; what powers are off by comes again where the same work comes again.
 *
 * Two readings of rows a and b are of the same work where the parts p_l a_l and p_l b_l of their powers are
 * the same, and those of the readings around them: a layer is known by its neighbours. A misfit that draws
 * d_l there leaves the same in both, so the covariance of the residuals of such pairs is the misfit's
 * variance; that of noise is nothing. (A lack of fit is told from a pure error by replicates: Fisher 1922;
 * by near ones: Daniel and Wood, Fitting Equations to Data, 1980.) Near ones share 1 - r of the misfit's
 * variance sum_l (u p_l a_l)^2, with r = sum_l (p_l a_l - p_l b_l)^2 / 2 over sum_l (p_l a_l)^2.
 *
 * Powers are fitted to the noise, too: those of covariance C take so much of it that residuals of rows a and
 * b covary by -a'C b where there is nothing but noise. That is added to each pair.
 */
#include "attribute/fit/replicates.h"

#include "attribute/fit/matrix.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>

/* Choices. AROUND: 0.1 s of the ring, as long as a step of most programs; on recordings of GPUs 1 and 4 say
 * the same (docs/accuracy.md). NEAREST: of twice as many the last are often less alike. APART, in readings:
 * as long as noise.c follows a drift, which would come again before that. */
enum { AROUND = 2, NEAREST = 4, APART = 20 };

/* A choice: a reading whose pairs share less has no replicates, and fewer that have some tell nothing. */
static const double least_shared = 0.8;
enum { LEAST_READINGS = 100 };

/* Multiplications of a pass over pairs and of one through the covariance: a third of a second each on one
 * core of 2020.
 */
static const double cost = 5e8;
enum { MOST_READINGS = 1600 };

size_t jm__replicates_most(size_t columns)
{
    double width = (double)columns + 1;
    return (size_t)fmin(MOST_READINGS, fmin(sqrt(2 * cost / width), cost / width / width));
}

typedef struct finder {
    const jm__pass *pass;
    double *row;      /* [count * columns] */
    double *part;     /* [count * columns], W: of each reading */
    double *taken;    /* [count * columns], W^2: C row' */
    double *residual; /* [count], W */
    float *apart;     /* [count * count], W^2: of the parts of two readings; of i > j alone */
} finder;

static jm_status finder_init(finder *f, const jm__pass *pass, jm_error *err)
{
    size_t count = pass->count;
    *f = (finder){.pass = pass};
    f->row = calloc(count * pass->columns + 1, sizeof *f->row);
    f->part = calloc(count * pass->columns + 1, sizeof *f->part);
    f->taken = calloc(count * pass->columns + 1, sizeof *f->taken);
    f->residual = calloc(count + 1, sizeof *f->residual);
    f->apart = calloc(count * count + 1, sizeof *f->apart);
    bool fine =
        f->row != NULL && f->part != NULL && f->taken != NULL && f->residual != NULL && f->apart != NULL;
    return fine ? JM_OK : jm__no_memory(err, "jm__replicates_find");
}

static void finder_free(finder *f)
{
    free(f->row);
    free(f->part);
    free(f->taken);
    free(f->residual);
    free(f->apart);
}

static void find_parts(finder *f, jm__response response, const double *power_w, const double *covariance)
{
    size_t columns = f->pass->columns;
    jm__design_start(f->pass->design, response);
    for (size_t i = 0; i < f->pass->count; i++) {
        double *row = f->row + i * columns, *part = f->part + i * columns;
        jm__pass_row(f->pass, i, row);
        jm__matrix_apply(f->taken + i * columns, covariance, row, columns);
        f->residual[i] = f->pass->readings[i].value;
        for (size_t k = 0; k < columns; k++) {
            part[k] = row[k] * power_w[k];
            f->residual[i] -= part[k];
        }
    }
}

static void find_apart(finder *f)
{
    size_t columns = f->pass->columns;
    for (size_t i = 0; i < f->pass->count; i++) {
        for (size_t j = 0; j < i; j++) {
            const double *left = f->part + i * columns, *right = f->part + j * columns;
            double sum = 0;
            for (size_t k = 0; k < columns; k++)
                sum += (left[k] - right[k]) * (left[k] - right[k]);
            f->apart[i * f->pass->count + j] = (float)sum;
        }
    }
}

/* The reading has all of those around it. */
static bool has_around(const finder *f, size_t i)
{
    if (i < AROUND || i + AROUND >= f->pass->count) return false;
    for (size_t n = i - AROUND + 1; n <= i + AROUND; n++)
        if (!jm__pass_are_neighbours(f->pass, n)) return false;
    return true;
}

/* Of two readings and those around them, i > j. */
static double apart_with_around(const finder *f, size_t i, size_t j)
{
    double sum = 0;
    for (size_t n = 0; n <= (size_t)2 * AROUND; n++)
        sum += f->apart[(i + n - AROUND) * f->pass->count + j + n - AROUND];
    return sum / (2 * AROUND + 1);
}

typedef struct nearest {
    double apart[NEAREST]; /* rising */
    size_t which[NEAREST];
    size_t count;
} nearest;

static void keep(nearest *near, double apart, size_t which)
{
    size_t at = near->count < NEAREST ? near->count++ : NEAREST;
    if (at == NEAREST && apart >= near->apart[--at]) return;
    for (; at > 0 && near->apart[at - 1] > apart; at--) {
        near->apart[at] = near->apart[at - 1];
        near->which[at] = near->which[at - 1];
    }
    near->apart[at] = apart;
    near->which[at] = which;
}

static void find_nearest(nearest *near, const finder *f, const bool *usable, size_t i)
{
    *near = (nearest){0};
    for (size_t j = 0; j < f->pass->count; j++) {
        size_t later = i > j ? i : j, earlier = i > j ? j : i;
        int64_t between_ns = f->pass->readings[later].t_ns - f->pass->readings[earlier].t_ns;
        if (usable[j] && between_ns >= APART * f->pass->period_ns)
            keep(near, apart_with_around(f, later, earlier), j);
    }
}

/* Sums over readings, of the mean over those nearest to each. Neighbours' errors are as one where noise
 * lasts, so how sure their mean is is told by blocks. */
typedef struct sums {
    double readings;
    double product; /* of the residuals of two, and what the powers took */
    double apart, parts;
    double others; /* readings without replicates */
    double block, block_readings;
    double blocks, block_sum, block_square;
} sums;

static void add_to_blocks(sums *s, double product)
{
    s->block += product / APART;
    if (++s->block_readings < APART) return;
    s->blocks++;
    s->block_sum += s->block;
    s->block_square += s->block * s->block;
    s->block = s->block_readings = 0;
}

static void add(sums *s, const finder *f, const nearest *near, size_t i)
{
    size_t columns = f->pass->columns;
    const double *part = f->part + i * columns;
    double product = 0, apart = 0, parts = jm__matrix_dot(part, part, columns);
    for (size_t n = 0; n < NEAREST; n++) {
        size_t j = near->which[n];
        product += f->residual[i] * f->residual[j] / NEAREST +
                   jm__matrix_dot(f->row + i * columns, f->taken + j * columns, columns) / NEAREST;
        apart += near->apart[n] / NEAREST;
    }
    if (1 - apart / 2 / parts < least_shared) {
        s->others++;
        return;
    }
    s->readings++;
    s->product += product;
    s->apart += apart;
    s->parts += parts;
    add_to_blocks(s, product);
}

/* A pair counts at both of its ends, so half of the blocks are news. No noise is known better than the
 * profile says, and of readings without replicates no more than before. */
static void tell(jm__misfit_seen *seen, const sums *s)
{
    if (s->readings < LEAST_READINGS) return;
    double shared = 1 - s->apart / 2 / s->parts, mean = s->block_sum / s->blocks;
    double variance = fmax(0, s->block_square / s->blocks - mean * mean);
    double again = fmax(0, s->product / s->readings / shared);
    seen->square = (s->readings * again + s->others * seen->square) / (s->readings + s->others);
    seen->u = fmax(seen->u, sqrt(2 * variance / s->blocks) / shared);
}

static void compare(jm__misfit_seen *seen, const finder *f, bool *usable)
{
    sums s = {0};
    for (size_t i = 0; i < f->pass->count; i++)
        usable[i] = has_around(f, i);
    for (size_t i = 0; i < f->pass->count; i++) {
        nearest near;
        if (!usable[i]) continue;
        find_nearest(&near, f, usable, i);
        if (near.count == NEAREST) add(&s, f, &near, i);
    }
    tell(seen, &s);
}

jm_status jm__replicates_find(jm__misfit_seen *seen, const jm__pass *pass, jm__response response,
                              const double *power_w, const double *covariance, jm_error *err)
{
    finder f;
    if (pass->count < LEAST_READINGS) return JM_OK;
    bool *usable = calloc(pass->count, sizeof *usable);
    jm_status status = finder_init(&f, pass, err);
    if (usable == NULL && status == JM_OK) status = jm__no_memory(err, "jm__replicates_find");
    if (status == JM_OK) {
        find_parts(&f, response, power_w, covariance);
        find_apart(&f);
        compare(seen, &f, usable);
    }
    free(usable);
    finder_free(&f);
    return status;
}
