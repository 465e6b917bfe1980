/* Noise is new in every reading; what powers are off by comes again where the same work comes again.
 *
 * Two readings of rows a and b are of the same work where the parts p_l a_l and p_l b_l of their powers are
 * the same, and those of the readings around them: a layer is known by its neighbours. A misfit that draws
 * d_l there leaves the same in both, so the covariance of the residuals of such pairs is the misfit's
 * variance; that of noise is nothing. (A lack of fit is told from a pure error by replicates: Fisher 1922;
 * by near ones: Daniel and Wood, Fitting Equations to Data, 1980.) Near ones share 1 - r of the misfit's
 * variance sum_l (u p_l a_l)^2, with r = sum_l (p_l a_l - p_l b_l)^2 / 2 over sum_l (p_l a_l)^2.
 *
 * The powers take a part of the noise: residuals of n readings with f degrees of freedom have a variance of
 * f / n of it, and as rows of replicates are equal, so are the parts taken: their covariance is lower by 1 -
 * f / n of it.
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

/* A choice: pairs that share less are not replicates, and fewer of them tell nothing. */
static const double least_shared = 0.8;
enum { LEAST_READINGS = 100 };

/* Multiplications: a third of a second on one core of 2020. */
static const double cost = 5e8;
enum { MOST_READINGS = 1600 };

size_t jm__replicates_most(size_t columns)
{
    return (size_t)fmin(MOST_READINGS, sqrt(2 * cost / (double)(columns + 1)));
}

typedef struct finder {
    const jm__pass *pass;
    double *part;     /* [count * columns], W: of each reading */
    double *residual; /* [count], W */
    float *apart;     /* [count * count], W^2: of the parts of two readings; of i > j alone */
} finder;

static jm_status finder_init(finder *f, const jm__pass *pass, jm_error *err)
{
    size_t count = pass->count;
    *f = (finder){.pass = pass};
    f->part = calloc(count * pass->columns + 1, sizeof *f->part);
    f->residual = calloc(count + 1, sizeof *f->residual);
    f->apart = calloc(count * count + 1, sizeof *f->apart);
    bool fine = f->part != NULL && f->residual != NULL && f->apart != NULL;
    return fine ? JM_OK : jm__no_memory(err, "jm__replicates_find");
}

static void finder_free(finder *f)
{
    free(f->part);
    free(f->residual);
    free(f->apart);
}

static void find_parts(finder *f, jm__response response, const double *power_w)
{
    size_t columns = f->pass->columns;
    jm__design_start(f->pass->design, response);
    for (size_t i = 0; i < f->pass->count; i++) {
        double *part = f->part + i * columns;
        jm__pass_row(f->pass, i, part);
        f->residual[i] = f->pass->readings[i].value;
        for (size_t k = 0; k < columns; k++) {
            part[k] *= power_w[k];
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

/* Sums over readings, of the mean over those nearest to each. */
typedef struct sums {
    double readings;
    double product, product_square; /* of the residuals of two */
    double square;                  /* of the residuals */
    double apart, parts;
} sums;

static void add(sums *s, const finder *f, const nearest *near, size_t i)
{
    size_t columns = f->pass->columns;
    double product = 0;
    for (size_t n = 0; n < near->count; n++) {
        product += f->residual[i] * f->residual[near->which[n]] / (double)near->count;
        s->apart += near->apart[n] / (double)near->count;
    }
    s->readings++;
    s->product += product;
    s->product_square += product * product;
    s->square += f->residual[i] * f->residual[i];
    s->parts += jm__matrix_dot(f->part + i * columns, f->part + i * columns, columns);
}

/* A pair counts at both of its ends, so half of the readings are news. */
static void tell(jm__misfit_seen *seen, const sums *s, double freedom)
{
    double shared = s->parts > 0 ? 1 - s->apart / 2 / s->parts : 0, n = s->readings;
    if (n < LEAST_READINGS || shared < least_shared) return;
    double mean = s->product / n, variance = fmax(0, s->product_square / n - mean * mean);
    double taken = s->square / n * (1 / freedom - 1);
    seen->square = fmax(0, mean / shared + taken);
    seen->u = sqrt(2 * variance / n) / shared;
}

static void compare(jm__misfit_seen *seen, const finder *f, bool *usable, double freedom)
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
    tell(seen, &s, freedom);
}

jm_status jm__replicates_find(jm__misfit_seen *seen, const jm__pass *pass, jm__response response,
                              const double *power_w, double freedom, jm_error *err)
{
    finder f;
    if (pass->count < LEAST_READINGS) return JM_OK;
    bool *usable = calloc(pass->count, sizeof *usable);
    jm_status status = finder_init(&f, pass, err);
    if (usable == NULL && status == JM_OK) status = jm__no_memory(err, "jm__replicates_find");
    if (status == JM_OK) {
        find_parts(&f, response, power_w);
        find_apart(&f);
        compare(seen, &f, usable, freedom);
    }
    free(usable);
    finder_free(&f);
    return status;
}
