/* Readings weighed by all that may be wrong with them, against the same put down in full: the scores z = A'y
 * of readings y = A x + D t + e, where t are errors of the response that the prior of the powers x may know
 * of, and e has any covariance V, noise, drift and model discrepancy. Then (x, t) after z is a dense problem
 * of a few numbers. */
#include "attribute/fit/interval.h"
#include "attribute/fit/prior.h"
#include "dense.h"
#include "proof.h"

enum { READINGS = 80, COLUMNS = 5, AXES = JM_RESPONSE_AXES, ALL = COLUMNS + AXES };

typedef struct problem {
    double rows[READINGS * COLUMNS];   /* A */
    double moved[READINGS * AXES];     /* D */
    double noise[READINGS * READINGS]; /* V */
    double power_w[COLUMNS];           /* mean of x before */
    double before[ALL * ALL];          /* covariance of (x, t) before */
    bool known[AXES];                  /* x and t covary */
} problem;

/* White noise, a drift that keeps 0.9 from one reading to the next, and two kinds of work whose power differs
 * by 4 % in context that last ten readings. */
static void make_noise(problem *p, double white, double drift, double class_variance)
{
    for (size_t i = 0; i < READINGS; i++)
        for (size_t j = 0; j < READINGS; j++) {
            double *v = &p->noise[i * READINGS + j];
            *v = (i == j ? white : 0) + drift * pow(0.9, fabs((double)i - (double)j));
            for (size_t k = 0; k < 2 && i / 10 == j / 10; k++)
                *v += pow(class_variance * p->power_w[k], 2) * p->rows[i * COLUMNS + k] *
                      p->rows[j * COLUMNS + k];
        }
}

/* Shares of readings, the first two columns nearly parallel; x = power_w + B t + L n, so cov(x, t) = B. */
static problem make(bool first_known, bool second_known)
{
    problem p = {.known = {first_known, second_known}};
    double b[COLUMNS * AXES] = {0}, l[COLUMNS * COLUMNS] = {0};
    for (size_t i = 0; i < READINGS; i++) {
        double sum = 0, *row = p.rows + i * COLUMNS;
        for (size_t k = 0; k < COLUMNS; k++)
            sum += row[k] = k == 1 ? row[0] * (0.9 + 0.2 * dense_uniform()) : pow(dense_uniform(), 2);
        for (size_t k = 0; k < COLUMNS; k++)
            row[k] /= sum;
        p.moved[i * AXES] = 10 * dense_normal();
        p.moved[i * AXES + 1] = 0.5 * p.moved[i * AXES] + 4 * dense_normal();
    }
    for (size_t k = 0; k < COLUMNS; k++) {
        p.power_w[k] = 400 + 100 * (double)k;
        for (size_t axis = 0; axis < AXES; axis++)
            b[k * AXES + axis] = p.known[axis] ? 15 * dense_normal() : 0;
        for (size_t m = 0; m <= k; m++)
            l[k * COLUMNS + m] = m == k ? 12 + 6 * dense_uniform() : 5 * dense_normal();
    }
    for (size_t k = 0; k < COLUMNS; k++) {
        for (size_t m = 0; m < COLUMNS; m++) {
            for (size_t i = 0; i < COLUMNS; i++)
                p.before[k * ALL + m] += l[k * COLUMNS + i] * l[m * COLUMNS + i];
            for (size_t axis = 0; axis < AXES; axis++)
                p.before[k * ALL + m] += b[k * AXES + axis] * b[m * AXES + axis];
        }
        for (size_t axis = 0; axis < AXES; axis++)
            p.before[k * ALL + COLUMNS + axis] = p.before[(COLUMNS + axis) * ALL + k] = b[k * AXES + axis];
    }
    for (size_t axis = 0; axis < AXES; axis++)
        p.before[(COLUMNS + axis) * ALL + COLUMNS + axis] = 1;
    return p;
}

static jm__joint_prior prior_of(const problem *p)
{
    jm__prior prior;
    jm__joint_prior joint_prior;
    const jm__prior *all = &prior;
    const double own = 1; /* W; the rest is shared */
    double shared[COLUMNS * COLUMNS];
    assert_int_equal(jm__prior_init(&prior, JM_PROVENANCE_WEAK, COLUMNS, NULL), JM_OK);
    for (size_t k = 0; k < COLUMNS; k++) {
        assert_int_equal(jm__prior_add_power(&prior, k, p->power_w[k], own, NULL), JM_OK);
        for (size_t m = 0; m < COLUMNS; m++)
            shared[k * COLUMNS + m] = p->before[k * ALL + m] - (k == m ? own * own : 0);
    }
    assert_int_equal(jm__prior_covary(&prior, shared, NULL), JM_OK);
    assert_int_equal(jm__joint_prior_make(&joint_prior, all, NULL, 0, (jm__noise_prior){5, 2}, NULL), JM_OK);
    jm__prior_free(&prior);
    return joint_prior;
}

/* By the estimator. */
typedef struct answer {
    double power_w[COLUMNS];
    double covariance[COLUMNS * COLUMNS];
    double with_response[COLUMNS * AXES]; /* covariance of the powers with t */
} answer;

static answer estimate(const problem *p, const jm__joint_prior *joint_prior, const double *y)
{
    double scores[COLUMNS * COLUMNS], moved[AXES][COLUMNS] = {{0}}, shift[AXES][COLUMNS];
    jm__qr data;
    jm__weighed weighed;
    jm__posterior posterior;
    answer out;
    assert_int_equal(jm__qr_init(&data, COLUMNS, NULL), JM_OK);
    for (size_t i = 0; i < READINGS; i++)
        jm__qr_add(&data, p->rows + i * COLUMNS, y[i]);
    jm__qr_finish(&data);
    dense_around(scores, p->rows, p->noise, READINGS, COLUMNS);
    jm__weigh_of of = {.data = &data, .joint_prior = joint_prior, .scores = scores};
    for (size_t axis = 0; axis < AXES; axis++) {
        for (size_t k = 0; k < COLUMNS; k++) {
            for (size_t i = 0; i < READINGS; i++)
                moved[axis][k] += p->rows[i * COLUMNS + k] * p->moved[i * AXES + axis];
            shift[axis][k] = p->before[k * ALL + COLUMNS + axis];
        }
        of.response[axis] = moved[axis];
        of.prior_shift[axis] = p->known[axis] ? shift[axis] : NULL;
    }
    assert_int_equal(jm__weigh(&weighed, &of, NULL), JM_OK);
    assert_int_equal(jm__posterior_init(&posterior, COLUMNS, NULL), JM_OK);
    assert_int_equal(jm__posterior_update(&posterior, &weighed.equations, joint_prior, 1, NULL), JM_OK);
    memcpy(out.power_w, posterior.power_w, sizeof out.power_w);
    memcpy(out.covariance, posterior.covariance, sizeof out.covariance);
    for (size_t axis = 0; axis < AXES; axis++) {
        double by_response[COLUMNS];
        dense_multiply(by_response, out.covariance, weighed.marked[axis], COLUMNS, COLUMNS, 1);
        for (size_t k = 0; k < COLUMNS; k++)
            out.with_response[k * AXES + axis] = by_response[k];
    }
    jm__posterior_free(&posterior);
    jm__weighed_free(&weighed);
    jm__qr_free(&data);
    return out;
}

/* A truth (x, t), and readings of it. */
static void draw(const problem *p, const double *before, const double *noise, double *truth, double *y)
{
    double mean[ALL] = {0};
    memcpy(mean, p->power_w, sizeof p->power_w);
    dense_draw(truth, mean, before, ALL);
    dense_draw(y, NULL, noise, READINGS);
    for (size_t i = 0; i < READINGS; i++) {
        for (size_t k = 0; k < COLUMNS; k++)
            y[i] += p->rows[i * COLUMNS + k] * truth[k];
        for (size_t axis = 0; axis < AXES; axis++)
            y[i] += p->moved[i * AXES + axis] * truth[COLUMNS + axis];
    }
}

typedef struct factors {
    double before[ALL * ALL], noise[READINGS * READINGS];
} factors;

static factors factors_of(const problem *p)
{
    factors f;
    memcpy(f.before, p->before, sizeof f.before);
    memcpy(f.noise, p->noise, sizeof f.noise);
    dense_factor(f.before, ALL);
    dense_factor(f.noise, READINGS);
    return f;
}

static void check_powers(const answer *result, const double *mean, const double *covariance)
{
    double part[COLUMNS * COLUMNS];
    for (size_t k = 0; k < COLUMNS; k++) {
        if (!(fabs(result->power_w[k] - mean[k]) < 1e-4))
            fail_msg("power %zu: %.9g, not %.9g", k, result->power_w[k], mean[k]);
        for (size_t m = 0; m < COLUMNS; m++)
            part[k * COLUMNS + m] = covariance[k * ALL + m];
        for (size_t axis = 0; axis < AXES; axis++) {
            double truth = covariance[k * ALL + COLUMNS + axis], is = result->with_response[k * AXES + axis];
            if (!(fabs(is - truth) < 1e-6 * sqrt(covariance[k * ALL + k])))
                fail_msg("power %zu with axis %zu: %.9g, not %.9g", k, axis, is, truth);
        }
    }
    dense_assert_covariance("powers", result->covariance, part, COLUMNS, 1e-6);
}

/* With each axis of the response known to the prior or not: learnt with the same response or without it. */
static void test_what_is_known_after_weighed_readings_is_what_their_scores_tell(void **state)
{
    (void)state;
    for (int known = 0; known < 4; known++) {
        problem p = make(known & 1, known & 2);
        make_noise(&p, 16, 30, 0.04);
        factors f = factors_of(&p);
        jm__joint_prior joint_prior = prior_of(&p);
        double truth[ALL], y[READINGS], z[COLUMNS] = {0}, h[COLUMNS * ALL], r[COLUMNS * COLUMNS];
        draw(&p, f.before, f.noise, truth, y);
        answer result = estimate(&p, &joint_prior, y);
        for (size_t k = 0; k < COLUMNS; k++) {
            for (size_t m = 0; m < ALL; m++) {
                h[k * ALL + m] = 0;
                for (size_t i = 0; i < READINGS; i++)
                    h[k * ALL + m] +=
                        p.rows[i * COLUMNS + k] *
                        (m < COLUMNS ? p.rows[i * COLUMNS + m] : p.moved[i * AXES + m - COLUMNS]);
            }
            for (size_t i = 0; i < READINGS; i++)
                z[k] += p.rows[i * COLUMNS + k] * y[i];
        }
        dense_around(r, p.rows, p.noise, READINGS, COLUMNS);
        double mean[ALL] = {0}, covariance[ALL * ALL];
        memcpy(mean, p.power_w, sizeof p.power_w);
        memcpy(covariance, p.before, sizeof covariance);
        dense_condition(mean, covariance, ALL, h, z, r, COLUMNS);
        check_powers(&result, mean, covariance);
        jm__joint_prior_free(&joint_prior);
    }
}

/* A prior that is said to know more of the response than its own errors allow (rounding, powers at their
 * limits) knows all of it: nothing but what the powers tell of t is left. */
static void test_more_than_all_of_the_response_cannot_be_known(void **state)
{
    (void)state;
    problem p = make(true, true);
    make_noise(&p, 16, 30, 0.04);
    factors f = factors_of(&p);
    jm__joint_prior joint_prior = prior_of(&p);
    double truth[ALL], y[READINGS], z[COLUMNS] = {0}, h[COLUMNS * COLUMNS] = {0}, r[COLUMNS * COLUMNS];
    double known[COLUMNS * AXES], inverse[COLUMNS * COLUMNS], mean[COLUMNS], covariance[COLUMNS * COLUMNS];
    draw(&p, f.before, f.noise, truth, y);
    for (size_t k = 0; k < COLUMNS; k++)
        for (size_t axis = 0; axis < AXES; axis++)
            p.before[k * ALL + COLUMNS + axis] *= 4;
    answer result = estimate(&p, &joint_prior, y);
    memcpy(inverse, joint_prior.covariance, sizeof inverse);
    memcpy(covariance, joint_prior.covariance, sizeof covariance);
    memcpy(mean, p.power_w, sizeof mean);
    dense_invert(inverse, COLUMNS);
    for (size_t axis = 0; axis < AXES; axis++) {
        double by_response = 0;
        for (size_t k = 0; k < COLUMNS; k++) {
            known[k * AXES + axis] = 0;
            for (size_t m = 0; m < COLUMNS; m++)
                known[k * AXES + axis] += inverse[k * COLUMNS + m] * p.before[m * ALL + COLUMNS + axis];
            by_response += known[k * AXES + axis] * p.before[k * ALL + COLUMNS + axis];
        }
        assert_true(by_response > 1);
    }
    for (size_t i = 0; i < READINGS; i++) { /* y = (A + D W') x - D W' x0 + e */
        double row[COLUMNS], value = y[i];
        for (size_t k = 0; k < COLUMNS; k++) {
            row[k] = p.rows[i * COLUMNS + k];
            for (size_t axis = 0; axis < AXES; axis++) {
                row[k] += p.moved[i * AXES + axis] * known[k * AXES + axis];
                value += p.moved[i * AXES + axis] * known[k * AXES + axis] * p.power_w[k];
            }
        }
        for (size_t k = 0; k < COLUMNS; k++) {
            z[k] += p.rows[i * COLUMNS + k] * value;
            for (size_t m = 0; m < COLUMNS; m++)
                h[k * COLUMNS + m] += p.rows[i * COLUMNS + k] * row[m];
        }
    }
    dense_around(r, p.rows, p.noise, READINGS, COLUMNS);
    dense_condition(mean, covariance, COLUMNS, h, z, r, COLUMNS);
    for (size_t k = 0; k < COLUMNS; k++)
        assert_true(fabs(result.power_w[k] - mean[k]) < 1e-4);
    dense_assert_covariance("powers", result.covariance, covariance, COLUMNS, 1e-6);
    jm__joint_prior_free(&joint_prior);
}

static void test_errors_that_no_readings_can_have_are_an_error(void **state)
{
    (void)state;
    problem p = make(false, false);
    jm__joint_prior joint_prior = prior_of(&p);
    const double none[COLUMNS] = {0}, scores[COLUMNS * COLUMNS] = {[0] = -1};
    jm__qr data;
    jm__weighed weighed;
    jm_error err = {0};
    assert_int_equal(jm__qr_init(&data, COLUMNS, NULL), JM_OK);
    for (size_t i = 0; i < READINGS; i++)
        jm__qr_add(&data, p.rows + i * COLUMNS, 500);
    jm__qr_finish(&data);
    const jm__weigh_of of = {
        .data = &data, .joint_prior = &joint_prior, .scores = scores, .response = {none, none}};
    assert_int_equal(jm__weigh(&weighed, &of, &err), JM_INTERNAL);
    assert_non_null(strstr(err.text, "no covariance"));
    assert_null(weighed.marked[0]);
    jm__qr_free(&data);
    jm__joint_prior_free(&joint_prior);
}

/* Of white noise and a response that is right the scores tell all that the readings do: generalised least
 * squares of all readings with their own covariance comes to the same. */
static void test_with_white_noise_the_scores_tell_all_that_the_readings_do(void **state)
{
    (void)state;
    problem p = make(false, false);
    memset(p.moved, 0, sizeof p.moved);
    make_noise(&p, 25, 0, 0);
    factors f = factors_of(&p);
    jm__joint_prior joint_prior = prior_of(&p);
    double truth[ALL], y[READINGS], h[READINGS * ALL] = {0}, mean[ALL] = {0}, covariance[ALL * ALL];
    draw(&p, f.before, f.noise, truth, y);
    answer result = estimate(&p, &joint_prior, y);
    for (size_t i = 0; i < READINGS; i++)
        memcpy(h + i * ALL, p.rows + i * COLUMNS, COLUMNS * sizeof *h);
    memcpy(mean, p.power_w, sizeof p.power_w);
    memcpy(covariance, p.before, sizeof covariance);
    dense_condition(mean, covariance, ALL, h, y, p.noise, READINGS);
    check_powers(&result, mean, covariance);
    jm__joint_prior_free(&joint_prior);
}

/* Truths and readings drawn by what is said of them: the powers are off as they say they are, and so they go
 * with the errors of the response. */
static void test_weighed_powers_are_off_as_they_say(void **state)
{
    (void)state;
    const int draws = proof_some(20000, 1000);
    /* Four standard deviations of a variance that so many draws tell: to 1 % of 20,000. */
    const double within = 4 * sqrt(2.0 / draws);
    problem p = make(true, true);
    make_noise(&p, 16, 30, 0.04);
    factors f = factors_of(&p);
    jm__joint_prior joint_prior = prior_of(&p);
    double seen[ALL * ALL] = {0}, result[ALL * ALL] = {0};
    answer last = {0};
    for (int round = 0; round < draws; round++) {
        double truth[ALL], y[READINGS], off[ALL];
        draw(&p, f.before, f.noise, truth, y);
        last = estimate(&p, &joint_prior, y);
        for (size_t k = 0; k < ALL; k++)
            off[k] = truth[k] - (k < COLUMNS ? last.power_w[k] : 0);
        for (size_t k = 0; k < COLUMNS; k++)
            for (size_t m = 0; m < ALL; m++)
                seen[k * ALL + m] += off[k] * off[m] / draws;
    }
    for (size_t k = 0; k < COLUMNS; k++) {
        memcpy(result + k * ALL, last.covariance + k * COLUMNS, COLUMNS * sizeof *result);
        memcpy(result + k * ALL + COLUMNS, last.with_response + k * AXES, AXES * sizeof *result);
        for (size_t m = 0; m < ALL; m++) {
            /* t itself has the variance 1. */
            double scale = sqrt(result[k * ALL + k] * (m < COLUMNS ? last.covariance[m * COLUMNS + m] : 1));
            if (!(fabs(seen[k * ALL + m] - result[k * ALL + m]) < within * scale))
                fail_msg("%zu, %zu: said %.4g, drawn %.4g", k, m, result[k * ALL + m], seen[k * ALL + m]);
        }
    }
    jm__joint_prior_free(&joint_prior);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_known_after_weighed_readings_is_what_their_scores_tell),
        cmocka_unit_test(test_more_than_all_of_the_response_cannot_be_known),
        cmocka_unit_test(test_errors_that_no_readings_can_have_are_an_error),
        cmocka_unit_test(test_with_white_noise_the_scores_tell_all_that_the_readings_do),
        cmocka_unit_test(test_weighed_powers_are_off_as_they_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
