/* A kind draws x there and x + d here; d is small for most kinds and large for a few.
 *
 * So d has Student's t distribution, with the spread m x that kinds were seen with and few degrees of
 * freedom. It is a normal distribution whose variance q is itself unknown, and expectation-maximisation finds
 * each q: q = (f m^2 x^2 + E d^2) / (f + 1), where E d^2 follows from the powers solved with the last q: with
 * V0 = C + q before and V1 after the readings, and the power moved by D, d has the mean q D / V0 and the
 * variance q - (q / V0)^2 (V0 - V1). Readings that say nothing leave q at m^2 x^2. (Dempster, Laird, Rubin
 * 1977; West, Biometrika 74, 1987.)
 *
 * C, V0 and V1 are those of one column: what the errors of columns share is left out here, so where the rest
 * could not tell two kinds apart, q stays near m^2 x^2 although their sum may have moved. The powers
 * themselves are solved with all of it.
 */
#include "attribute/fit/alike.h"

#include "base/status.h"

#include <math.h>
#include <stdlib.h>

/* A choice: a column that was at zero there may draw something here. */
static const double least_u_w = 1;

/* Degrees of freedom of the differences, a choice: the smallest whole number whose variance and its error are
 * finite would be 5; fewer make it easier to give up one kind (a matrix product throttled there and not here:
 * -26 %), and 3 is the fewest with a finite variance. */
static const double difference_freedom = 3;

/* q then moves by less than a tenth of itself where C is below q / 2, and by less than a seventh elsewhere,
 * for differences of up to 8 m x (the equation above for one column, on a grid of C, V1 and D). */
enum { ROUNDS = 6 };

/* The noise of a stretch is that of the rest within a quarter: as much as 1 / (2 * 0.25^2) readings tell. */
static const double noise_readings = 8;

/* What lives while the differences are looked for. */
typedef struct finder {
    const jm__alike_input *input;
    const jm__stretch *rest;
    double *usual_square; /* [columns], W^2: (m x)^2 */
    double *square;       /* [columns], W^2: q */
    jm__posterior here;
    jm__weighed data;
} finder;

static jm_status finder_init(finder *f, const jm__alike_input *input, jm_error *err)
{
    const jm__stretch *rest = input->rest;
    size_t columns = rest->columns;
    *f = (finder){.input = input, .rest = rest};
    f->usual_square = calloc(columns + 1, sizeof(double));
    f->square = calloc(columns + 1, sizeof(double));
    if (f->usual_square == NULL || f->square == NULL) return jm__no_memory(err, "jm__alike_believe");
    for (size_t k = 0; k < columns; k++) {
        f->square[k] = f->usual_square[k] = pow(fmax(least_u_w, input->relative_u[k] * rest->power_w[k]), 2);
    }
    return jm__posterior_init(&f->here, columns, err);
}

static void finder_free(finder *f)
{
    free(f->usual_square);
    free(f->square);
    jm__posterior_free(&f->here);
    jm__weighed_free(&f->data);
}

/* What the rest teaches, with the differences that are allowed now. */
static jm_status teach(jm__belief *belief, const finder *f, jm_error *err)
{
    JM_TRY(jm__belief_init(belief, JM_PROVENANCE_FITTED, f->rest->columns, err));
    jm_status status = JM_OK;
    for (size_t k = 0; status == JM_OK && k < f->rest->columns; k++)
        status = jm__belief_add_power(belief, k, f->rest->power_w[k], sqrt(f->square[k]), err);
    return status == JM_OK ? jm__belief_covary(belief, f->rest->covariance, err) : status;
}

static jm_status believe(jm__prior *out, const finder *f, jm_error *err)
{
    size_t count = f->input->belief_count + 1;
    const jm__noise_prior noise = {f->rest->noise_w, noise_readings};
    jm__belief taught = {0};
    const jm__belief **all = calloc(count, sizeof *all);
    jm_status status = all == NULL ? jm__no_memory(err, "jm__alike_believe") : teach(&taught, f, err);
    if (status == JM_OK) {
        all[0] = &taught;
        for (size_t i = 1; i < count; i++)
            all[i] = f->input->beliefs[i - 1];
        status = jm__prior_make(out, all, count, noise, err);
        if (status == JM_OK) status = jm__prior_limit(out, f->input->here->prior->most_w, err);
    }
    jm__belief_free(&taught);
    free(all);
    return status;
}

/* One round: the powers with these differences, and the differences with these powers. */
static jm_status improve(finder *f, jm_error *err)
{
    size_t columns = f->rest->columns;
    jm__prior prior;
    JM_TRY(believe(&prior, f, err));
    jm_status status = jm__stretch_update(&f->here, &f->data, &prior, err);
    for (size_t k = 0; status == JM_OK && k < columns; k++) {
        double q = f->square[k], before = f->rest->covariance[k * columns + k] + q;
        double after = fmin(before, f->here.covariance[k * columns + k]);
        double moved = q / before * (f->here.power_w[k] - f->rest->power_w[k]);
        double seen = moved * moved + q - pow(q / before, 2) * (before - after);
        f->square[k] = (difference_freedom * f->usual_square[k] + seen) / (difference_freedom + 1);
    }
    jm__prior_free(&prior);
    return status;
}

jm_status jm__alike_believe(jm__prior *out, const jm__alike_input *input, jm_error *err)
{
    finder f;
    jm_status status = finder_init(&f, input, err);
    jm__stretch seen;
    if (status == JM_OK) status = jm__stretch_weigh(&f.data, &seen, input->here, err);
    for (int round = 0; status == JM_OK && input->here->readings->count > 0 && round < ROUNDS; round++)
        status = improve(&f, err);
    if (status == JM_OK) status = believe(out, &f, err);
    finder_free(&f);
    return status;
}
