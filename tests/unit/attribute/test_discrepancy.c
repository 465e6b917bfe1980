/* How much of the noise of a fit is attributed to the context of kernels. */
#include "attribute/fit/discrepancy.h"
#include "base/clock.h"
#include "dense.h"

static void check_seen(jm__noise noise, double sensor_noise_w, double requested_w2)
{
    double seen_w2 = jm__discrepancy_of_noise(&noise, sensor_noise_w).square;
    if (!(fabs(seen_w2 - requested_w2) < 1e-9)) fail_msg("%.9g is not %.9g", seen_w2, requested_w2);
}

static void test_what_is_new_in_each_reading_beyond_the_sensors_own_noise_is_discrepancy(void **state)
{
    (void)state;
    /* Of a drift of 80 W^2 that keeps 0.6, 64 % are new in each reading; the sensor's 5 W may be 32.5 W^2. */
    check_seen((jm__noise){.white = 90, .drift = 80, .keep = 0.6}, 5, 80 * 0.64);
    check_seen((jm__noise){.white = 2, .drift = 80, .keep = 0.6}, 5,
               2 + 80 - 32.5);                                                /* no more than the excess */
    check_seen((jm__noise){.white = 2, .drift = 30, .keep = 0.6}, 5, 0);      /* there is none */
    check_seen((jm__noise){.white = 90, .drift = 80, .keep = 1}, 5, 0);       /* all of it lasts */
    check_seen((jm__noise){.white = 90, .drift = 80, .keep = 0}, 5, 80);      /* nothing does */
    check_seen((jm__noise){.white = 0.5, .drift = 0.25, .keep = 0}, 0, 0.25); /* less than 1 W^2 */
}

/* ---- uneven powers in full ---- */

enum { COLUMNS = 4, READINGS = 400 };

static const double power_w[COLUMNS] = {600, 450, 300, 120};
static const jm__response seen_by = {JM_RESPONSE_BOX, 0, 30.0 * JM_NS_PER_MS};

/* Readings of four kinds in turn, each reading's largest part naming its context. */
typedef struct program {
    jm__pieces pieces;
    jm__design design;
    jm_reading readings[READINGS];
    jm__pass pass;
    double rows[READINGS * COLUMNS];
    double length_s[COLUMNS];
    double squares[COLUMNS][COLUMNS * COLUMNS]; /* T_g */
    double whole[COLUMNS * COLUMNS];            /* G */
    double share[COLUMNS][COLUMNS];             /* w_l(g) */
} program;

static size_t largest_of(const double *row)
{
    size_t best = 0;
    for (size_t k = 1; k < COLUMNS; k++)
        if (row[k] > row[best]) best = k;
    return best;
}

static program *program_make(void)
{
    static const uint32_t column_of[] = {0, 1, 2, 3};
    program *p = calloc(1, sizeof *p);
    double pieces[COLUMNS] = {0}, time[COLUMNS] = {0};
    assert_non_null(p);
    jm__pieces_begin(&p->pieces, 0, SIZE_MAX);
    int64_t now_ns = 0;
    for (uint32_t k = 0, last = 9; now_ns < 9 * JM_NS_PER_S; last = k) {
        while ((k = (uint32_t)(dense_uniform() * COLUMNS)) == last) {
        }
        int64_t length_ns = (int64_t)((2 + 10 * k + 20 * dense_uniform()) * 1e6);
        assert_true(jm__pieces_add(&p->pieces, now_ns += length_ns, k, 1, false));
        p->length_s[k] += 1e-9 * (double)length_ns;
        pieces[k]++;
    }
    assert_true(jm__pieces_end(&p->pieces));
    p->pieces.column_of = column_of;
    assert_int_equal(jm__design_init(&p->design, &p->pieces, COLUMNS, NULL), JM_OK);
    for (int i = 0; i < READINGS; i++)
        p->readings[i] = (jm_reading){1, (100 + 20 * i) * JM_NS_PER_MS, 300};
    p->pass = (jm__pass){.design = &p->design,
                         .readings = p->readings,
                         .count = READINGS,
                         .period_ns = 20 * JM_NS_PER_MS,
                         .columns = COLUMNS};
    jm__design_start(&p->design, seen_by);
    for (size_t i = 0; i < READINGS; i++) {
        double *row = p->rows + i * COLUMNS;
        jm__pass_row(&p->pass, i, row);
        size_t g = largest_of(row);
        for (size_t k = 0; k < COLUMNS; k++) {
            p->share[g][k] += row[k];
            time[k] += row[k];
            for (size_t m = 0; m < COLUMNS; m++) {
                p->squares[g][k * COLUMNS + m] += row[k] * row[m];
                p->whole[k * COLUMNS + m] += row[k] * row[m];
            }
        }
    }
    for (size_t k = 0; k < COLUMNS; k++) {
        p->length_s[k] /= pieces[k];
        for (size_t g = 0; g < COLUMNS; g++)
            p->share[g][k] /= time[k];
    }
    return p;
}

static void program_free(program *p)
{
    jm__design_free(&p->design);
    jm__pieces_free(&p->pieces);
    free(p);
}

/* T_g - G W_g */
static void leverage(double *out, const program *p, size_t g)
{
    for (size_t k = 0; k < COLUMNS; k++)
        for (size_t l = 0; l < COLUMNS; l++)
            out[k * COLUMNS + l] =
                p->squares[g][k * COLUMNS + l] - p->whole[k * COLUMNS + l] * p->share[g][l];
}

/* The mean of u^2 given the residuals, over u by its usual spread and the ways that it may hide: by context,
 * layers and calls, with the powers or without. */
static double mean_u(const program *p, double shown, double seen_square, double doubt)
{
    double parts[3] = {0}, all = 0, sum = 0, usual = 0, nothing = 0;
    for (size_t i = 0; i < READINGS * COLUMNS; i++) {
        double share = p->rows[i], square = pow(share * power_w[i % COLUMNS], 2) / READINGS;
        double calls = fmax(1, share * 0.030 / p->length_s[i % COLUMNS]);
        parts[0] += square;
        parts[1] += square / sqrt(calls);
        parts[2] += square / calls;
    }
    for (int tenth = -40; tenth <= 40; tenth++) {
        double z = tenth / 10.0;
        double square = pow(0.05 * exp(0.3 * z), 2), weight = exp(-z * z / 2), likely = 0;
        for (int way = 0; way < 6; way++)
            likely +=
                exp(-pow((seen_square - square * parts[way / 2] * (way % 2 ? shown : 1)) / doubt, 2) / 2);
        usual += weight;
        all += weight * likely;
        sum += weight * likely * square;
    }
    nothing = 6 * exp(-pow(seen_square / doubt, 2) / 2);
    return sqrt(0.65 * sum / usual / (0.65 * all / usual + 0.35 * nothing));
}

static jm__discrepancy_of discrepancy_of(const program *p, const double *covariance, double seen_square)
{
    return (jm__discrepancy_of){.pass = &p->pass,
                                .response = seen_by,
                                .power_w = power_w,
                                .covariance = covariance,
                                .noise_w = 6,
                                .readings = 3 * READINGS, /* the pass is a third of them */
                                .seen = {.square = seen_square, .u = 0.15 * 25}};
}

static void test_class_variance_powers_do_to_the_scores_what_the_page_says(void **state)
{
    (void)state;
    static const double seen[] = {3, 10, 40, 200};
    const double sure[COLUMNS * COLUMNS] = {0};
    program *p = program_make();
    for (size_t i = 0; i < sizeof seen / sizeof *seen; i++) {
        double scores[COLUMNS * COLUMNS], expected[COLUMNS * COLUMNS], u;
        const jm__discrepancy_of of = discrepancy_of(p, sure, seen[i]);
        for (size_t k = 0; k < COLUMNS * COLUMNS; k++)
            scores[k] = expected[k] = 1000; /* of the noise: it stays */
        assert_int_equal(jm__discrepancy_add(scores, &u, &of, NULL), JM_OK);
        double truth = mean_u(p, 1, seen[i], 0.15 * 25);
        if (!(fabs(u / truth - 1) < 0.01)) fail_msg("u is %.6g, should be %.6g", u, truth);
        for (size_t g = 0; g < COLUMNS; g++) {
            double one[COLUMNS * COLUMNS], turned[COLUMNS * COLUMNS], q[COLUMNS * COLUMNS] = {0};
            leverage(one, p, g);
            for (size_t k = 0; k < COLUMNS; k++)
                q[k * COLUMNS + k] = pow(3 * u * power_w[k], 2); /* three times the readings */
            dense_transpose(turned, one, COLUMNS, COLUMNS);
            double added[COLUMNS * COLUMNS];
            dense_around(added, turned, q, COLUMNS, COLUMNS);
            for (size_t k = 0; k < COLUMNS * COLUMNS; k++)
                expected[k] += added[k];
        }
        for (size_t k = 0; k < COLUMNS * COLUMNS; k++)
            if (!(fabs(scores[k] - expected[k]) < 1e-9 * fabs(expected[0])))
                fail_msg("score %zu is %.9g, should be %.9g", k, scores[k], expected[k]);
    }
    program_free(p);
}

/* Powers drawn anew in each context: A'y around G times their means over time. */
static void test_the_page_is_right_about_powers_that_are_drawn(void **state)
{
    (void)state;
    enum { DRAWS = 4000 };
    program *p = program_make();
    double found[COLUMNS * COLUMNS] = {0}, expected[COLUMNS * COLUMNS] = {0}, u = 0.05;
    for (int draw = 0; draw < DRAWS; draw++) {
        double d[COLUMNS][COLUMNS], mean[COLUMNS], error[COLUMNS] = {0};
        for (size_t l = 0; l < COLUMNS; l++) {
            mean[l] = power_w[l];
            for (size_t g = 0; g < COLUMNS; g++) {
                d[g][l] = u * power_w[l] * dense_normal();
                mean[l] += p->share[g][l] * d[g][l];
            }
        }
        for (size_t i = 0; i < READINGS; i++) {
            const double *row = p->rows + i * COLUMNS;
            double y = 0;
            for (size_t l = 0; l < COLUMNS; l++)
                y += row[l] * (power_w[l] + d[largest_of(row)][l] - mean[l]);
            for (size_t k = 0; k < COLUMNS; k++)
                error[k] += row[k] * y;
        }
        for (size_t k = 0; k < COLUMNS * COLUMNS; k++)
            found[k] += error[k / COLUMNS] * error[k % COLUMNS] / DRAWS;
    }
    for (size_t g = 0; g < COLUMNS; g++) {
        double one[COLUMNS * COLUMNS];
        leverage(one, p, g);
        for (size_t k = 0; k < COLUMNS; k++)
            for (size_t m = 0; m < COLUMNS; m++)
                for (size_t l = 0; l < COLUMNS; l++)
                    expected[k * COLUMNS + m] +=
                        one[k * COLUMNS + l] * one[m * COLUMNS + l] * pow(u * power_w[l], 2);
    }
    for (size_t k = 0; k < COLUMNS; k++) { /* a variance of 4000 draws: 2 % */
        double ratio = found[k * COLUMNS + k] / expected[k * COLUMNS + k];
        if (!(fabs(ratio - 1) < 0.1)) fail_msg("column %zu: %.3f of what the page says", k, ratio);
    }
    program_free(p);
}

/* The part that the powers absorb is not in the residuals, so u is larger for the same residuals. */
static void test_what_powers_may_have_taken_makes_the_same_residuals_tell_of_more(void **state)
{
    (void)state;
    program *p = program_make();
    double covariance[COLUMNS * COLUMNS], scores[COLUMNS * COLUMNS] = {0}, u, taken = 0, all = 0;
    /* As of white noise: C = v (A'A)^-1, with three times the readings of the pass. */
    for (size_t k = 0; k < COLUMNS * COLUMNS; k++)
        covariance[k] = 3 * p->whole[k] / 36;
    dense_invert(covariance, COLUMNS);
    const jm__discrepancy_of of = discrepancy_of(p, covariance, 10);
    assert_int_equal(jm__discrepancy_add(scores, &u, &of, NULL), JM_OK);
    /* The share that stays, 1 - tr(b'C b) / tr(m'm), over independent differences of all powers. */
    for (size_t g = 0; g < COLUMNS; g++)
        for (size_t l = 0; l < COLUMNS; l++) {
            all += p->squares[g][l * COLUMNS + l] * power_w[l] * power_w[l];
            for (size_t k = 0; k < COLUMNS; k++)
                for (size_t m = 0; m < COLUMNS; m++)
                    taken += p->squares[g][k * COLUMNS + l] * covariance[k * COLUMNS + m] *
                             p->squares[g][m * COLUMNS + l] * power_w[l] * power_w[l] * 3 / 36;
        }
    double truth = mean_u(p, 1 - taken / all, 10, 0.15 * 25);
    assert_true(taken / all > 0.1 && taken / all < 0.9);
    /* The estimator takes the mean of 16 draws of signs, with an error of a tenth. */
    if (!(fabs(u / truth - 1) < 0.12)) fail_msg("u is %.6g, should be %.6g", u, truth);
    program_free(p);
}

static void test_without_readings_there_is_no_discrepancy(void **state)
{
    (void)state;
    program *p = program_make();
    double scores[COLUMNS * COLUMNS] = {0}, u = 7;
    const double sure[COLUMNS * COLUMNS] = {0};
    jm__discrepancy_of of = discrepancy_of(p, sure, 10);
    p->pass.count = 0;
    assert_int_equal(jm__discrepancy_add(scores, &u, &of, NULL), JM_OK);
    assert_true(u == 0 && scores[0] == 0);
    program_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_new_in_each_reading_beyond_the_sensors_own_noise_is_discrepancy),
        cmocka_unit_test(test_class_variance_powers_do_to_the_scores_what_the_page_says),
        cmocka_unit_test(test_the_page_is_right_about_powers_that_are_drawn),
        cmocka_unit_test(test_what_powers_may_have_taken_makes_the_same_residuals_tell_of_more),
        cmocka_unit_test(test_without_readings_there_is_no_discrepancy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
