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
    prior = (jm__prior){.provenance = JM_PROVENANCE_WEAK, .columns = COLUMNS};
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

/* Four turns: powers for a noise, C = (A'A / v + P^-1)^-1; then the noise that they leave, over as many
 * degrees of freedom as readings are not used up, tr(1 - C P^-1) being what is used up; the prior's noise
 * counts as two readings.
 */
static void test_powers_and_noise_are_found_by_bursts(void **state)
{
    (void)state;
    static const size_t counts[] = {0, 3, 12, READINGS_MOST};
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        problem p = make(counts[c]);
        double truth_w[COLUMNS], y[READINGS_MOST], before[COLUMNS * COLUMNS],
            variance = pow(prior_noise_w, 2);
        draw(&p, 3, truth_w, y);
        jm__posterior said = solve(&p, y);
        memcpy(before, p.joint_prior.covariance, sizeof before);
        dense_invert(before, COLUMNS);
        double covariance[COLUMNS * COLUMNS], score[COLUMNS], power_w[COLUMNS], freedom = 0;
        for (int burst = 0; burst < 4; burst++) {
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
            if (!(fabs(said.power_w[k] - power_w[k]) < 1e-6))
                fail_msg("%zu: %.9g W, not %.9g", k, said.power_w[k], power_w[k]);
        assert_true(fabs(said.noise_w / sqrt(variance) - 1) < 1e-9);
        assert_true(fabs(said.freedom - freedom) < 1e-6);
        dense_assert_covariance("powers", said.covariance, covariance, COLUMNS, 1e-8);
        jm__posterior_free(&said);
        jm__joint_prior_free(&p.joint_prior);
    }
}

/* Powers alone, of A'A and A'y in units of the noise's variance, with a prior whose mean is another: normal
 * equations; and one whose power would be above its limit is at it, the others as if it were known. */
static void test_powers_alone_are_those_of_normal_equations_within_limits(void **state)
{
    (void)state;
    problem p = make(READINGS_MOST);
    const double shift_w[COLUMNS] = {20, -10, 0, 5}, variance = 25;
    double truth_w[COLUMNS], y[READINGS_MOST], before[COLUMNS * COLUMNS];
    double gained[COLUMNS * COLUMNS] = {0}, moment[COLUMNS] = {0}, all[COLUMNS * COLUMNS], right[COLUMNS];
    double power_w[COLUMNS], said_w[COLUMNS], most_w[COLUMNS] = {INFINITY, INFINITY, INFINITY, INFINITY};
    draw(&p, 5, truth_w, y);
    memcpy(before, p.joint_prior.covariance, sizeof before);
    dense_invert(before, COLUMNS);
    for (size_t i = 0; i < p.readings * COLUMNS; i++) {
        const double *row = p.rows + i / COLUMNS * COLUMNS;
        size_t k = i % COLUMNS;
        moment[k] += row[k] * y[i / COLUMNS] / variance;
        for (size_t m = 0; m < COLUMNS; m++)
            gained[k * COLUMNS + m] += row[k] * row[m] / variance;
    }
    memcpy(right, moment, sizeof right);
    for (size_t i = 0; i < COLUMNS * COLUMNS; i++) {
        all[i] = before[i] + gained[i];
        right[i / COLUMNS] += before[i] * (expected_w[i % COLUMNS] + shift_w[i % COLUMNS]);
        if (i % COLUMNS > i / COLUMNS) gained[i] = NAN; /* the lower half is all that is read */
    }
    for (int limited = 0; limited < 2; limited++) {
        double inverse[COLUMNS * COLUMNS], rest[COLUMNS];
        memcpy(inverse, all, sizeof inverse);
        memcpy(rest, right, sizeof rest);
        for (size_t k = 0; k < COLUMNS && limited == 1; k++) { /* the last one is what it may be at most */
            rest[k] = k < COLUMNS - 1 ? rest[k] - all[k * COLUMNS + COLUMNS - 1] * most_w[COLUMNS - 1]
                                      : most_w[COLUMNS - 1];
            inverse[k * COLUMNS + COLUMNS - 1] = inverse[(COLUMNS - 1) * COLUMNS + k] = k == COLUMNS - 1;
        }
        dense_invert(inverse, COLUMNS);
        dense_multiply(power_w, inverse, rest, COLUMNS, COLUMNS, 1);
        assert_int_equal(jm__posterior_powers(said_w, gained, moment, &p.joint_prior, shift_w, NULL), JM_OK);
        for (size_t k = 0; k < COLUMNS; k++)
            if (!(fabs(said_w[k] - power_w[k]) < 1e-5))
                fail_msg("%zu: %.9g W, not %.9g", k, said_w[k], power_w[k]);
        most_w[COLUMNS - 1] = said_w[COLUMNS - 1] - 20;
        if (limited == 0) assert_int_equal(jm__joint_prior_limit(&p.joint_prior, most_w, NULL), JM_OK);
    }
    jm__joint_prior_free(&p.joint_prior);
}

/* Truths of the prior, readings with a noise that is not the prior's: 95 % intervals by Student's t hold 95
 * %. */
static void test_intervals_of_drawn_powers_hold_as_often_as_they_say(void **state)
{
    (void)state;
    const int draws = proof_some(2000, 200);
    static const size_t counts[] = {12, READINGS_MOST};
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        problem p = make(counts[c]);
        size_t held = 0;
        double noise_square = 0;
        for (int burst = 0; burst < draws; burst++) {
            double truth_w[COLUMNS], y[READINGS_MOST];
            draw(&p, 6, truth_w, y);
            jm__posterior said = solve(&p, y);
            double t = jm__student_quantile(0.95, said.freedom);
            for (size_t k = 0; k < COLUMNS; k++)
                held += fabs(said.power_w[k] - truth_w[k]) <= t * sqrt(said.covariance[k * COLUMNS + k]);
            noise_square += said.noise_w * said.noise_w / draws;
            jm__posterior_free(&said);
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
        cmocka_unit_test(test_powers_alone_are_those_of_normal_equations_within_limits),
        cmocka_unit_test(test_intervals_of_drawn_powers_hold_as_often_as_they_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
