/* Powers and their noise out of readings and a prior, against normal equations by LAPACK and against draws.
 */
#include "attribute/fit/prior.h"
#include "attribute/fit/student.h"
#include "dense.h"
#include "proof.h"

enum { COLUMNS = 4, READINGS_MOST = 60 };

typedef struct problem {
    size_t readings;
    double rows[READINGS_MOST * COLUMNS];
    double factor[COLUMNS * COLUMNS]; /* of the prior's covariance */
    jm__joint_prior joint_prior;
} problem;

static const double expected_w[COLUMNS] = {600, 500, 400, 300};
static const double prior_noise_w = 6, prior_readings = 2;

static problem make(size_t readings)
{
    problem p = {.readings = readings};
    const double u_w[COLUMNS] = {60, 50, 40, 30}, shared_w[COLUMNS] = {20, 20, -10, 0};
    jm__prior prior;
    const jm__prior *all = &prior;
    for (size_t i = 0; i < readings; i++) {
        double sum = 0;
        for (size_t k = 0; k < COLUMNS; k++)
            sum += p.rows[i * COLUMNS + k] =
                k == 1 ? p.rows[i * COLUMNS] + 0.1 * dense_uniform() : dense_uniform();
        for (size_t k = 0; k < COLUMNS; k++)
            p.rows[i * COLUMNS + k] /= sum;
    }
    assert_int_equal(jm__prior_init(&prior, JM_PROVENANCE_WEAK, COLUMNS, NULL), JM_OK);
    for (size_t k = 0; k < COLUMNS; k++) {
        assert_int_equal(jm__prior_add_power(&prior, k, expected_w[k], u_w[k], NULL), JM_OK);
        for (size_t m = 0; m < COLUMNS; m++)
            p.factor[k * COLUMNS + m] = shared_w[k] * shared_w[m] + (k == m ? u_w[k] * u_w[k] : 0);
    }
    assert_int_equal(jm__prior_share(&prior, shared_w, NULL), JM_OK);
    assert_int_equal(jm__joint_prior_make(&p.joint_prior, all, NULL, 0,
                                          (jm__noise_prior){prior_noise_w, prior_readings}, NULL),
                     JM_OK);
    jm__prior_free(&prior);
    dense_factor(p.factor, COLUMNS);
    return p;
}

static void draw(const problem *p, double noise_w, double *truth_w, double *y)
{
    dense_draw(truth_w, expected_w, p->factor, COLUMNS);
    for (size_t i = 0; i < p->readings; i++) {
        y[i] = noise_w * dense_normal();
        for (size_t k = 0; k < COLUMNS; k++)
            y[i] += p->rows[i * COLUMNS + k] * truth_w[k];
    }
}

static jm__posterior solve(const problem *p, const double *y)
{
    jm__qr data;
    jm__posterior out;
    assert_int_equal(jm__qr_init(&data, COLUMNS, NULL), JM_OK);
    for (size_t i = 0; i < p->readings; i++)
        jm__qr_add(&data, p->rows + i * COLUMNS, y[i]);
    jm__qr_finish(&data);
    assert_int_equal(jm__posterior_init(&out, COLUMNS, NULL), JM_OK);
    assert_int_equal(jm__posterior_solve(&out, &data, &p->joint_prior, NULL), JM_OK);
    jm__qr_free(&data);
    return out;
}

/* Four iterations: powers for a noise, C = (A'A / v + P^-1)^-1; then the noise of the residuals, over as many
 * degrees of freedom as remain, the powers using tr(1 - C P^-1); the prior's noise counts as two readings. */
static void test_powers_and_noise_are_found_by_bursts(void **state)
{
    (void)state;
    static const size_t counts[] = {0, 3, 12, READINGS_MOST};
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        problem p = make(counts[c]);
        double truth_w[COLUMNS], y[READINGS_MOST], before[COLUMNS * COLUMNS],
            variance = pow(prior_noise_w, 2);
        draw(&p, 3, truth_w, y);
        jm__posterior result = solve(&p, y);
        memcpy(before, p.joint_prior.covariance, sizeof before);
        dense_invert(before, COLUMNS);
        double covariance[COLUMNS * COLUMNS], score[COLUMNS], power_w[COLUMNS], freedom = 0;
        for (int round = 0; round < 4; round++) {
            double square = prior_readings * pow(prior_noise_w, 2), used = 0;
            dense_multiply(score, before, expected_w, COLUMNS, COLUMNS, 1);
            memcpy(covariance, before, sizeof covariance);
            for (size_t i = 0; i < p.readings; i++)
                for (size_t k = 0; k < COLUMNS; k++) {
                    score[k] += p.rows[i * COLUMNS + k] * y[i] / variance;
                    for (size_t m = 0; m < COLUMNS; m++)
                        covariance[k * COLUMNS + m] +=
                            p.rows[i * COLUMNS + k] * p.rows[i * COLUMNS + m] / variance;
                }
            dense_invert(covariance, COLUMNS);
            dense_multiply(power_w, covariance, score, COLUMNS, COLUMNS, 1);
            for (size_t k = 0; k < COLUMNS; k++) {
                used += 1;
                for (size_t m = 0; m < COLUMNS; m++)
                    used -= covariance[k * COLUMNS + m] * before[m * COLUMNS + k];
            }
            for (size_t i = 0; i < p.readings; i++) {
                double rest = y[i];
                for (size_t k = 0; k < COLUMNS; k++)
                    rest -= p.rows[i * COLUMNS + k] * power_w[k];
                square += rest * rest;
            }
            freedom = (double)p.readings - used + prior_readings;
            for (size_t k = 0; k < COLUMNS * COLUMNS; k++)
                covariance[k] /= variance; /* of unit noise */
            variance = square / freedom;
        }
        for (size_t k = 0; k < COLUMNS * COLUMNS; k++)
            covariance[k] *= variance;
        for (size_t k = 0; k < COLUMNS; k++)
            if (!(fabs(result.power_w[k] - power_w[k]) < 1e-6))
                fail_msg("%zu: %.9g W, not %.9g", k, result.power_w[k], power_w[k]);
        assert_true(fabs(result.noise_w / sqrt(variance) - 1) < 1e-9);
        assert_true(fabs(result.freedom - freedom) < 1e-6);
        dense_assert_covariance("powers", result.covariance, covariance, COLUMNS, 1e-8);
        jm__posterior_free(&result);
        jm__joint_prior_free(&p.joint_prior);
    }
}

/* Truths of the prior, readings with a noise that differs from the prior's: 95 % intervals by Student's t
 * contain 95 %. */
static void test_intervals_of_drawn_powers_hold_as_often_as_they_say(void **state)
{
    (void)state;
    const int draws = proof_some(2000, 200);
    static const size_t counts[] = {12, READINGS_MOST};
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        problem p = make(counts[c]);
        size_t held = 0;
        double noise_square = 0;
        for (int round = 0; round < draws; round++) {
            double truth_w[COLUMNS], y[READINGS_MOST];
            draw(&p, 6, truth_w, y);
            jm__posterior result = solve(&p, y);
            double t = jm__student_quantile(0.95, result.freedom);
            for (size_t k = 0; k < COLUMNS; k++)
                held += fabs(result.power_w[k] - truth_w[k]) <= t * sqrt(result.covariance[k * COLUMNS + k]);
            noise_square += result.noise_w * result.noise_w / draws;
            jm__posterior_free(&result);
        }
        double share = (double)held / (draws * COLUMNS);
        print_message("%zu readings: %.1f %% held, noise %.2f W of 6\n", p.readings, 100 * share,
                      sqrt(noise_square));
        /* 2,000 draws of 4 columns: a standard deviation of 0.25 %, were all of them independent. */
        double chance = draws < 2000 ? 4 * sqrt(0.05 * 0.95 / draws) : 0;
        assert_true(share > 0.935 - chance && share < 0.97 + chance);
        assert_true(fabs(noise_square / 36 - 1) < 0.05 * sqrt(2000.0 / draws));
        jm__joint_prior_free(&p.joint_prior);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_powers_and_noise_are_found_by_bursts),
        cmocka_unit_test(test_intervals_of_drawn_powers_hold_as_often_as_they_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
