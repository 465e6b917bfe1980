/* Readings weighed by all that may be wrong with them, against the same put down in full: the scores z = A'y
 * of readings y = A x + e, where e has any covariance V, of noise, drift and model discrepancy. Then the
 * powers x after z are a dense problem of a few numbers. */
#include "attribute/fit/interval.h"
#include "attribute/fit/prior.h"
#include "dense.h"
#include "proof.h"

enum { READINGS = 80, COLUMNS = 5 };

typedef struct problem {
    double rows[READINGS * COLUMNS];   /* A */
    double noise[READINGS * READINGS]; /* V */
    double power_w[COLUMNS];           /* mean of x before */
    double before[COLUMNS * COLUMNS];  /* covariance of x before */
    jm__joint_prior joint_prior;       /* the same */
} problem;

static void assume(problem *p)
{
    jm__prior prior;
    const double own = 1; /* W; the rest is shared */
    double shared[COLUMNS * COLUMNS];
    prior = (jm__prior){.provenance = JM_PROVENANCE_WEAK, .columns = COLUMNS};
    for (size_t k = 0; k < COLUMNS; k++)
        assert_int_equal(jm__prior_add_power(&prior, k, p->power_w[k], own, NULL), JM_OK);
    for (size_t i = 0; i < COLUMNS * COLUMNS; i++)
        shared[i] = p->before[i] - (i % (COLUMNS + 1) == 0 ? own * own : 0);
    assert_int_equal(jm__prior_covary(&prior, shared, NULL), JM_OK);
    assert_int_equal(jm__joint_prior_make(&p->joint_prior, &prior, NULL, 0, (jm__noise_prior){5, 2}, NULL),
                     JM_OK);
    jm__prior_free(&prior);
}

/* Shares of readings, the first two columns nearly parallel. White noise, a drift that keeps 0.9 from one
 * reading to the next, and two kinds of work whose power differs by `differs` in context that last ten
 * readings. */
static problem make(double white, double drift, double differs)
{
    problem p = {0};
    double l[COLUMNS * COLUMNS] = {0}, turned[COLUMNS * COLUMNS];
    for (size_t i = 0; i < READINGS; i++) {
        double sum = 0, *row = p.rows + i * COLUMNS;
        for (size_t k = 0; k < COLUMNS; k++)
            sum += row[k] = k == 1 ? row[0] * (0.9 + 0.2 * dense_uniform()) : pow(dense_uniform(), 2);
        for (size_t k = 0; k < COLUMNS; k++)
            row[k] /= sum;
    }
    for (size_t k = 0; k < COLUMNS; k++) {
        p.power_w[k] = 400 + 100 * (double)k;
        for (size_t m = 0; m <= k; m++)
            l[k * COLUMNS + m] = m == k ? 12 + 6 * dense_uniform() : 5 * dense_normal();
    }
    dense_transpose(turned, l, COLUMNS, COLUMNS);
    dense_multiply(p.before, l, turned, COLUMNS, COLUMNS, COLUMNS);
    for (size_t i = 0; i < READINGS; i++)
        for (size_t j = 0; j < READINGS; j++) {
            double *v = &p.noise[i * READINGS + j];
            *v = (i == j ? white : 0) + drift * pow(0.9, fabs((double)i - (double)j));
            for (size_t k = 0; k < 2 && i / 10 == j / 10; k++)
                *v += pow(differs * p.power_w[k], 2) * p.rows[i * COLUMNS + k] * p.rows[j * COLUMNS + k];
        }
    assume(&p);
    return p;
}

/* What the estimator makes of readings. */
typedef struct answer {
    double power_w[COLUMNS], covariance[COLUMNS * COLUMNS];
} answer;

static jm__qr fold(const problem *p, const double *y)
{
    jm__qr data;
    assert_int_equal(jm__qr_init(&data, COLUMNS, NULL), JM_OK);
    for (size_t i = 0; i < READINGS; i++)
        jm__qr_add(&data, p->rows + i * COLUMNS, y[i]);
    jm__qr_finish(&data);
    return data;
}

static answer estimate(const problem *p, const double *y)
{
    double scores[COLUMNS * COLUMNS];
    jm__qr data = fold(p, y), equations;
    answer out;
    jm__posterior posterior = {.power_w = out.power_w, .covariance = out.covariance};
    dense_around(scores, p->rows, p->noise, READINGS, COLUMNS);
    assert_int_equal(jm__weigh(&equations, &data, scores, NULL), JM_OK);
    assert_int_equal(jm__posterior_update(&posterior, &equations, &p->joint_prior, 1, NULL), JM_OK);
    jm__qr_free(&equations);
    jm__qr_free(&data);
    return out;
}

/* A truth, and readings of it; both factors are of the covariances. */
static void draw(const problem *p, const double *before, const double *noise, double *truth, double *y)
{
    double mean[READINGS];
    dense_draw(truth, p->power_w, before, COLUMNS);
    dense_multiply(mean, p->rows, truth, READINGS, COLUMNS, 1);
    dense_draw(y, mean, noise, READINGS);
}

typedef struct factors {
    double before[COLUMNS * COLUMNS], noise[READINGS * READINGS];
} factors;

static factors factors_of(const problem *p)
{
    factors f;
    memcpy(f.before, p->before, sizeof f.before);
    memcpy(f.noise, p->noise, sizeof f.noise);
    dense_factor(f.before, COLUMNS);
    dense_factor(f.noise, READINGS);
    return f;
}

/* Against the powers after z = H x + errors of covariance R. */
static void check(const problem *p, const answer *said, const double *h, const double *z, const double *r,
                  size_t count)
{
    double mean[COLUMNS], covariance[COLUMNS * COLUMNS];
    memcpy(mean, p->power_w, sizeof mean);
    memcpy(covariance, p->before, sizeof covariance);
    dense_condition(mean, covariance, COLUMNS, h, z, r, count);
    for (size_t k = 0; k < COLUMNS; k++)
        if (!(fabs(said->power_w[k] - mean[k]) < 1e-4))
            fail_msg("power %zu: %.9g, not %.9g", k, said->power_w[k], mean[k]);
    dense_assert_covariance("powers", said->covariance, covariance, COLUMNS, 1e-6);
}

static void test_what_is_known_after_weighed_readings_is_what_their_scores_tell(void **state)
{
    (void)state;
    problem p = make(16, 30, 0.04);
    factors f = factors_of(&p);
    double truth[COLUMNS], y[READINGS], turned[COLUMNS * READINGS];
    double z[COLUMNS], h[COLUMNS * COLUMNS], r[COLUMNS * COLUMNS];
    draw(&p, f.before, f.noise, truth, y);
    answer said = estimate(&p, y);
    dense_transpose(turned, p.rows, READINGS, COLUMNS);
    dense_multiply(z, turned, y, COLUMNS, READINGS, 1);
    dense_multiply(h, turned, p.rows, COLUMNS, READINGS, COLUMNS);
    dense_around(r, p.rows, p.noise, READINGS, COLUMNS);
    check(&p, &said, h, z, r, COLUMNS);
    jm__joint_prior_free(&p.joint_prior);
}

static void test_errors_that_no_readings_can_have_are_an_error(void **state)
{
    (void)state;
    problem p = make(16, 0, 0);
    const double y[READINGS] = {0}, scores[COLUMNS * COLUMNS] = {[0] = -1};
    jm__qr data = fold(&p, y), equations;
    jm_error err = {0};
    assert_int_equal(jm__weigh(&equations, &data, scores, &err), JM_INTERNAL);
    assert_non_null(strstr(err.text, "not a covariance"));
    jm__qr_free(&equations); /* the caller's in any case */
    jm__qr_free(&data);
    jm__joint_prior_free(&p.joint_prior);
}

/* Of white noise the scores tell all that the readings do: generalised least squares of all readings with
 * their own covariance comes to the same. */
static void test_with_white_noise_the_scores_tell_all_that_the_readings_do(void **state)
{
    (void)state;
    problem p = make(25, 0, 0);
    factors f = factors_of(&p);
    double truth[COLUMNS], y[READINGS];
    draw(&p, f.before, f.noise, truth, y);
    answer said = estimate(&p, y);
    check(&p, &said, p.rows, y, p.noise, READINGS);
    jm__joint_prior_free(&p.joint_prior);
}

/* Truths and readings drawn by what is said of them: the powers are off as they say they are. */
static void test_weighed_powers_are_off_as_they_say(void **state)
{
    (void)state;
    const int draws = proof_some(20000, 1000);
    /* Four standard deviations of a variance that so many draws tell: to 1 % of 20,000. */
    const double within = 4 * sqrt(2.0 / draws);
    problem p = make(16, 30, 0.04);
    factors f = factors_of(&p);
    double seen[COLUMNS * COLUMNS] = {0};
    answer last = {0};
    for (int i = 0; i < draws; i++) {
        double truth[COLUMNS], y[READINGS];
        draw(&p, f.before, f.noise, truth, y);
        last = estimate(&p, y);
        for (size_t k = 0; k < COLUMNS; k++)
            for (size_t m = 0; m < COLUMNS; m++)
                seen[k * COLUMNS + m] += (truth[k] - last.power_w[k]) * (truth[m] - last.power_w[m]) / draws;
    }
    dense_assert_covariance("drawn", seen, last.covariance, COLUMNS, within);
    jm__joint_prior_free(&p.joint_prior);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_known_after_weighed_readings_is_what_their_scores_tell),
        cmocka_unit_test(test_errors_that_no_readings_can_have_are_an_error),
        cmocka_unit_test(test_with_white_noise_the_scores_tell_all_that_the_readings_do),
        cmocka_unit_test(test_weighed_powers_are_off_as_they_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
