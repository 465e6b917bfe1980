/* The response of a run's own readings against the posterior of lag and width on a fine grid, each point's
 * evidence put down in full: readings y are normal around A x0 with the covariance A P A' + v I, P being that
 * of the powers before, A the shares at this response, and v the noise that makes the readings likeliest. */
#include "attribute/fit/calibrate.h"
#include "base/clock.h"
#include "dense.h"

enum { COLUMNS = 3, READINGS = 240, LAGS = 97, WIDTHS = 65 };

static const double truth_w[COLUMNS] = {650, 400, 120}, expected_w[COLUMNS] = {600, 450, 110},
                    u_w[COLUMNS] = {120, 100, 40};

static const jm_sensor ring = {.name = "power_ring",
                               .response = JM_RESPONSE_FIRST_ORDER,
                               .period_ns = 20 * JM_NS_PER_MS,
                               .lag_ns = 3500000,
                               .lag_u_ns = 500000,
                               .tau_ns = 13 * JM_NS_PER_MS,
                               .tau_u_ns = JM_NS_PER_MS,
                               .noise = 4};

static const jm_sensor slow = {.name = "power",
                               .response = JM_RESPONSE_FIRST_ORDER,
                               .period_ns = 20 * JM_NS_PER_MS,
                               .lag_ns = 40 * JM_NS_PER_MS,
                               .lag_u_ns = 15 * JM_NS_PER_MS,
                               .tau_ns = 13 * JM_NS_PER_MS,
                               .noise = 4};

typedef struct program {
    const jm_sensor *sensor;
    jm__pieces pieces;
    jm__design design;
    jm__joint_prior joint_prior;
    jm_reading readings[READINGS];
    jm__pass pass;
    double rows[READINGS * COLUMNS]; /* at the response that was asked for last */
} program;

/* Pieces of work of 1 ms to longest_ms in any order; of period_ms, if that is not 0, in turn. */
static program *make(const jm_sensor *sensor, double longest_ms, double period_ms)
{
    static const uint32_t column_of[] = {0, 1, 2};
    program *p = calloc(1, sizeof *p);
    jm__prior prior;
    uint32_t code = 0;
    p->sensor = sensor;
    jm__pieces_begin(&p->pieces, 0, (size_t)1 << 22);
    for (int64_t now_ns = 0; now_ns < (READINGS + 60) * sensor->period_ns;) {
        code = (code + 1 + (period_ms > 0 ? 0 : (uint32_t)(dense_uniform() * (COLUMNS - 1)))) % COLUMNS;
        now_ns += (int64_t)(1e6 * (period_ms > 0 ? period_ms / COLUMNS : 1 + longest_ms * dense_uniform()));
        assert_true(jm__pieces_add(&p->pieces, now_ns, code, 1, false));
    }
    assert_true(jm__pieces_end(&p->pieces));
    p->pieces.column_of = column_of;
    assert_int_equal(jm__design_init(&p->design, &p->pieces, COLUMNS, NULL), JM_OK);
    prior = (jm__prior){.provenance = JM_PROVENANCE_WEAK, .columns = COLUMNS};
    for (size_t k = 0; k < COLUMNS; k++)
        assert_int_equal(jm__prior_add_power(&prior, k, expected_w[k], u_w[k], NULL), JM_OK);
    assert_int_equal(jm__joint_prior_make(&p->joint_prior, &prior, NULL, 0, jm__noise_of(sensor), NULL),
                     JM_OK);
    jm__prior_free(&prior);
    for (size_t i = 0; i < READINGS; i++)
        p->readings[i] = (jm_reading){1, (int64_t)(i + 40) * sensor->period_ns, 0};
    p->pass = (jm__pass){.design = &p->design,
                         .readings = p->readings,
                         .count = READINGS,
                         .period_ns = sensor->period_ns,
                         .columns = COLUMNS};
    return p;
}

static void release(program *p)
{
    jm__design_free(&p->design);
    jm__pieces_free(&p->pieces);
    jm__joint_prior_free(&p->joint_prior);
    free(p);
}

/* The response that is that many of the profile's standard uncertainties off; its rows are then the program's
 * own. */
static void respond(program *p, double lag, double width)
{
    jm__response response = jm__calibration_of(p->sensor).response;
    response.lag_ns += lag * (double)p->sensor->lag_u_ns;
    response.width_ns += width * (double)p->sensor->tau_u_ns;
    jm__design_start(&p->design, response);
    for (size_t i = 0; i < READINGS; i++)
        memcpy(p->rows + i * COLUMNS, jm__design_row(&p->design, p->readings[i].t_ns), sizeof truth_w);
}

/* keep: of a reading's error in the next one. */
static void measure(program *p, double lag, double width, double noise_w, double keep)
{
    double y[READINGS], error = dense_normal();
    respond(p, lag, width);
    dense_multiply(y, p->rows, truth_w, READINGS, COLUMNS, 1);
    for (size_t i = 0; i < READINGS; i++) {
        error = keep * error + sqrt(1 - keep * keep) * dense_normal();
        p->readings[i].value = y[i] + noise_w * error;
    }
}

/* ---- the posterior in full */

/* log N(y; A x0, A P A' + v I) but for a constant, of the program's rows. */
static double evidence_in_full(const program *p, double v)
{
    static double covariance[READINGS * READINGS];
    double z[READINGS], sum = 0;
    for (size_t i = 0; i < READINGS; i++) {
        const double *row = p->rows + i * COLUMNS;
        z[i] = p->readings[i].value;
        for (size_t k = 0; k < COLUMNS; k++)
            z[i] -= row[k] * expected_w[k];
        for (size_t j = 0; j <= i; j++) {
            covariance[i * READINGS + j] = i == j ? v : 0;
            for (size_t k = 0; k < COLUMNS; k++)
                covariance[i * READINGS + j] += row[k] * u_w[k] * u_w[k] * p->rows[j * COLUMNS + k];
        }
    }
    dense_factor(covariance, READINGS);
    for (size_t i = 0; i < READINGS; i++) {
        for (size_t j = 0; j < i; j++)
            z[i] -= covariance[i * READINGS + j] * z[j];
        z[i] /= covariance[i * READINGS + i];
        sum += z[i] * z[i] / 2 + log(covariance[i * READINGS + i]);
    }
    return -sum;
}

/* What rows and readings come to, so that the same is had at once for any noise: with u = x - x0 in units of
 * its uncertainty it is the product of N(y - A x0; B u, v I) and N(u; 0, 1) over its maximum in u, by the
 * curvature 1 + B'B / v there. */
typedef struct sums {
    double square[COLUMNS * COLUMNS], right[COLUMNS], rest; /* B'B, B'z, z'z */
} sums;

static sums sums_of(const program *p)
{
    sums s = {0};
    for (size_t i = 0; i < READINGS; i++) {
        const double *row = p->rows + i * COLUMNS;
        double z = p->readings[i].value;
        for (size_t k = 0; k < COLUMNS; k++)
            z -= row[k] * expected_w[k];
        s.rest += z * z;
        for (size_t k = 0; k < COLUMNS; k++) {
            s.right[k] += row[k] * u_w[k] * z;
            for (size_t m = 0; m < COLUMNS; m++)
                s.square[k * COLUMNS + m] += row[k] * u_w[k] * row[m] * u_w[m];
        }
    }
    return s;
}

/* u: [COLUMNS], where the product is highest. */
static double evidence(const sums *s, double v, double *u)
{
    double inverse[COLUMNS * COLUMNS], factor[COLUMNS * COLUMNS], sum = READINGS * log(v) + s->rest / v;
    for (size_t i = 0; i < COLUMNS * COLUMNS; i++)
        inverse[i] = factor[i] = (i % (COLUMNS + 1) == 0) + s->square[i] / v;
    dense_factor(factor, COLUMNS);
    dense_invert(inverse, COLUMNS);
    dense_multiply(u, inverse, s->right, COLUMNS, COLUMNS, 1);
    for (size_t k = 0; k < COLUMNS; k++) {
        u[k] /= v;
        sum += 2 * log(factor[k * COLUMNS + k]) - u[k] * s->right[k] / v;
    }
    return -sum / 2;
}

/* The noise that makes it highest, by golden section between 1 and 300 W. */
static double likeliest_noise(const sums *s)
{
    const double golden = 0.6180339887;
    double from = 0, to = 2 * log(300), u[COLUMNS];
    while (to - from > 1e-2) {
        double left = to - golden * (to - from), right = from + golden * (to - from);
        if (evidence(s, exp(left), u) > evidence(s, exp(right), u))
            to = right;
        else
            from = left;
    }
    return exp((from + to) / 2);
}

/* Of neighbouring residuals, at the program's rows. */
static double correlation_of(const program *p)
{
    const sums s = sums_of(p);
    double u[COLUMNS], before = 0, product = 0, square = 0;
    (void)evidence(&s, likeliest_noise(&s), u);
    for (size_t i = 0; i < READINGS; i++) {
        double residual = p->readings[i].value;
        for (size_t k = 0; k < COLUMNS; k++)
            residual -= p->rows[i * COLUMNS + k] * (expected_w[k] + u[k] * u_w[k]);
        if (i > 0) product += residual * before;
        if (i > 0) square += (residual * residual + before * before) / 2;
        before = residual;
    }
    return fmax(0, product / square);
}

/* The posterior on a grid of 3 standard uncertainties of the lag to both sides, and 2 of the width. */
typedef struct posterior {
    double lag, width, lag_variance, width_variance; /* in standard uncertainties of the profile */
    double highest;                                  /* of the logarithm of its density */
    double kept;                                     /* of the evidence, of residuals that are alike */
    double up_to[LAGS];                              /* its mass at and below each lag */
} posterior;

static double lag_at(size_t i)
{
    return ((double)i - LAGS / 2) * 3 / (LAGS / 2);
}

static double width_at(size_t j)
{
    return ((double)j - WIDTHS / 2) * 2 / (WIDTHS / 2);
}

static double likeliest_evidence(program *p, double lag, double width)
{
    double u[COLUMNS];
    respond(p, lag, width);
    const sums s = sums_of(p);
    return evidence(&s, likeliest_noise(&s), u);
}

static posterior in_full(program *p)
{
    static double density[LAGS * WIDTHS];
    size_t best = 0;
    posterior f = {.highest = -INFINITY};
    double sum = 0;
    for (size_t i = 0; i < LAGS * WIDTHS; i++) {
        density[i] = likeliest_evidence(p, lag_at(i / WIDTHS), width_at(i % WIDTHS));
        if (density[i] > density[best]) best = i;
    }
    respond(p, lag_at(best / WIDTHS), width_at(best % WIDTHS));
    f.kept = (1 - correlation_of(p)) / (1 + correlation_of(p));
    for (size_t i = 0; i < LAGS * WIDTHS; i++) {
        density[i] = f.kept * density[i] - pow(lag_at(i / WIDTHS), 2) / 2 - pow(width_at(i % WIDTHS), 2) / 2;
        f.highest = fmax(f.highest, density[i]);
    }
    for (size_t i = 0; i < LAGS * WIDTHS; i++) {
        double weight = exp(density[i] - f.highest), lag = lag_at(i / WIDTHS), width = width_at(i % WIDTHS);
        f.up_to[i / WIDTHS] = sum += weight;
        f.lag += weight * lag;
        f.width += weight * width;
        f.lag_variance += weight * lag * lag;
        f.width_variance += weight * width * width;
    }
    for (size_t i = 0; i < LAGS; i++)
        f.up_to[i] /= sum;
    f.lag /= sum;
    f.width /= sum;
    f.lag_variance = f.lag_variance / sum - f.lag * f.lag;
    f.width_variance = f.width_variance / sum - f.width * f.width;
    return f;
}

static double mass_up_to(const posterior *f, double lag)
{
    double at = floor((lag + 3) * (LAGS / 2) / 3);
    return at < 0 ? 0 : at >= LAGS ? 1 : f->up_to[(size_t)at];
}

/* ---- what is said of it */

typedef struct found {
    jm__calibration c;
    double lag[JM_RESPONSE_POINTS], width[JM_RESPONSE_POINTS]; /* in standard uncertainties of the profile */
    double likeliest_lag, likeliest_width;
    double mean_lag, mean_width;
    double lag_variance, width_variance;
} found;

static found calibrate(program *p)
{
    found f = {0};
    const jm__response profile = jm__calibration_of(p->sensor).response;
    double lag_u = (double)p->sensor->lag_u_ns,
           width_u = p->sensor->tau_u_ns > 0 ? (double)p->sensor->tau_u_ns : 1;
    assert_int_equal(jm__calibrate(&f.c, p->sensor, &p->pass, NULL, &p->joint_prior, NULL, NULL), JM_OK);
    assert_int_equal(f.c.count, JM_RESPONSE_POINTS);
    for (int i = 0; i < JM_RESPONSE_POINTS; i++) {
        f.lag[i] = (f.c.points[i].lag_ns - profile.lag_ns) / lag_u;
        f.width[i] = (f.c.points[i].width_ns - profile.width_ns) / width_u;
        f.mean_lag += f.lag[i] / JM_RESPONSE_POINTS;
        f.mean_width += f.width[i] / JM_RESPONSE_POINTS;
    }
    f.likeliest_lag = (f.c.response.lag_ns - profile.lag_ns) / lag_u;
    f.likeliest_width = (f.c.response.width_ns - profile.width_ns) / width_u;
    f.lag_variance = f.c.lag_variance / lag_u / lag_u;
    f.width_variance = f.c.width_variance / width_u / width_u;
    return f;
}

static void assert_near(const char *what, double is, double truth, double within)
{
    if (!(fabs(is - truth) <= within)) fail_msg("%s: %.4f, not %.4f", what, is, truth);
}

static void test_the_evidence_of_any_noise_is_that_of_a_normal_distribution(void **state)
{
    (void)state;
    program *p = make(&ring, 60, 0);
    double u[COLUMNS], first = 0;
    measure(p, 0.4, -0.7, 6, 0);
    for (int i = 0; i < 4; i++) {
        respond(p, i - 1.5, 0.5 * i);
        const sums s = sums_of(p);
        double v = 20.0 * (i + 1), off = evidence_in_full(p, v) - evidence(&s, v, u);
        if (i == 0) first = off;
        assert_near("evidence", off, first, 1e-6);
    }
    release(p);
}

/* Its lattice has steps of a quarter of what is left to know, or less; eight points tell a mean to a third.
 */
static void test_lag_and_width_are_as_likely_as_the_formula_says(void **state)
{
    (void)state;
    static const struct {
        double longest_ms, lag, width, noise_w, keep;
    } cases[] = {
        {60, 0.4, -0.7, 4, 0}, {60, -0.9, 0.8, 12, 0}, {8, 0.3, 0.2, 10, 0}, {60, 1.2, -0.5, 15, 0.6}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        program *p = make(&ring, cases[i].longest_ms, 0);
        measure(p, cases[i].lag, cases[i].width, cases[i].noise_w, cases[i].keep);
        const posterior full = in_full(p);
        const found f = calibrate(p);
        double lag_u = sqrt(full.lag_variance), width_u = sqrt(full.width_variance);
        double off = f.likeliest_lag * f.likeliest_lag + f.likeliest_width * f.likeliest_width;
        double density = full.kept * likeliest_evidence(p, f.likeliest_lag, f.likeliest_width) - off / 2;
        print_message("lag %.3f (%.3f) +-%.3f (%.3f), width %.3f (%.3f) +-%.3f (%.3f), at most %.3f\n",
                      f.mean_lag, full.lag, sqrt(f.lag_variance), lag_u, f.mean_width, full.width,
                      sqrt(f.width_variance), width_u, density - full.highest);
        assert_near("lag", f.mean_lag, full.lag, 0.3 * lag_u);
        assert_near("width", f.mean_width, full.width, width_u);
        assert_near("lag's error", sqrt(f.lag_variance) / lag_u, 1, 0.1);
        assert_near("width's error", sqrt(f.width_variance) / width_u, 1, 0.1);
        assert_near("likeliest", density, full.highest, 0.2);
        for (int k = 0; k < JM_RESPONSE_POINTS; k++) {
            double part = (k + 0.5) / JM_RESPONSE_POINTS;
            assert_true(mass_up_to(&full, f.lag[k] - 0.15) - 0.02 < part);
            assert_true(mass_up_to(&full, f.lag[k] + 0.15) + 0.02 > part);
        }
        release(p);
    }
}

/* Work that comes again every 25 ms looks the same with a lag that is 25 ms off: each is as likely as the
 * profile has it, and points are shared out so. */
static void test_each_lag_that_a_period_allows_has_its_points(void **state)
{
    (void)state;
    const double period = 25 / 15.0;
    for (int i = 0; i < 10; i++) {
        program *p = make(&slow, 0, 25);
        double true_lag = -1.5 + 0.31 * i, weight[7], sum = 0;
        measure(p, true_lag, 0, 20 + 2 * i, 0);
        const found f = calibrate(p);
        for (int k = 0; k < 7; k++) {
            double lag = true_lag + (k - 3) * period;
            weight[k] = fabs(lag) < 3 ? exp(-lag * lag / 2) : 0;
            sum += weight[k];
        }
        for (int k = 0; k < 7; k++) {
            double points = 0;
            for (int n = 0; n < JM_RESPONSE_POINTS; n++)
                points += fabs(f.lag[n] - true_lag - (k - 3) * period) < 0.1; /* 1.5 ms */
            assert_near("points", points, JM_RESPONSE_POINTS * weight[k] / sum, 1.1);
        }
        release(p);
    }
}

/* In units of what is said, of a truth that the profile allows. */
static void test_a_response_found_in_drawn_readings_is_off_as_it_says(void **state)
{
    (void)state;
    enum { DRAWS = 150 };
    double lag = 0, width = 0, before_all = 0, after_all = 0;
    for (int draw = 0; draw < DRAWS; draw++) {
        program *p = make(&ring, 60, 0);
        double true_lag = dense_normal(), true_width = dense_normal();
        while (fabs(true_width) > 2)
            true_width = dense_normal();
        measure(p, true_lag, true_width, 10, 0);
        const found f = calibrate(p);
        lag += pow(f.mean_lag - true_lag, 2) / f.lag_variance / DRAWS;
        width += pow(f.mean_width - true_width, 2) / f.width_variance / DRAWS;
        assert_true(f.c.taught);
        before_all += true_lag < f.lag[0];
        after_all += true_lag > f.lag[JM_RESPONSE_POINTS - 1];
        release(p);
    }
    print_message("mean square of the errors, in those said: lag %.2f, width %.2f\n", lag, width);
    assert_near("lag", lag, 1, 0.4); /* 150 draws tell it to 0.12; the mean of eight points costs some */
    assert_near("width", width, 1, 0.4);
    /* Points are the middles of eight equal parts: half a part is before the first. */
    assert_near("before", before_all / DRAWS, 0.0625, 0.06);
    assert_near("after", after_all / DRAWS, 0.0625, 0.06);
}

/* Of a normal distribution between two limits, in its standard deviations: the variance. */
static double variance_between(double from, double to)
{
    double sum = 0, first = 0, second = 0;
    for (double x = from; x < to; x += 1e-3) {
        sum += exp(-x * x / 2);
        first += x * exp(-x * x / 2);
        second += x * x * exp(-x * x / 2);
    }
    return second / sum - first * first / sum / sum;
}

/* Nothing is learnt of a response that the work does not show: one kind all the time. The profile is left,
 * as far as it goes: to no lag below 0, and to 3 standard uncertainties of it, 2 of the width, in steps of
 * one of which the last has a half beyond. */
static void test_steady_work_leaves_the_profile_as_it_was(void **state)
{
    (void)state;
    static const uint32_t together[] = {1, 1, 1};
    static const int64_t lags_u_ns[] = {500000, 2500000};
    for (int i = 0; i < 4; i++) {
        jm_sensor sensor = ring;
        sensor.lag_u_ns = lags_u_ns[i % 2];
        program *p = make(&sensor, 60, 0);
        p->pieces.column_of = together;
        if (i / 2 == 1) p->pass.count = COLUMNS + 2; /* nor of so few readings of any work */
        measure(p, 1, 1, 4, 0);
        const found f = calibrate(p);
        double least = fmax(-3, -(double)sensor.lag_ns / (double)sensor.lag_u_ns);
        assert_near("lag", f.likeliest_lag, 0, 1e-9);
        assert_near("width", f.likeliest_width, 0, 1e-9);
        assert_near("lag's variance", f.lag_variance, variance_between(least, 3), 0.05);
        assert_near("width's variance", f.width_variance, variance_between(-2.5, 2.5), 0.05);
        assert_false(f.c.taught);
        for (int k = 0; k < JM_RESPONSE_POINTS; k++)
            assert_true(f.c.points[k].lag_ns >= 0);
        release(p);
    }
}

/* A sensor whose response is known for sure. */
static void test_what_is_sure_stays(void **state)
{
    (void)state;
    jm_sensor sensor = ring;
    sensor.lag_u_ns = sensor.tau_u_ns = 0;
    program *p = make(&sensor, 60, 0);
    jm__calibration c;
    measure(p, 0, 0, 4, 0);
    assert_int_equal(jm__calibrate(&c, &sensor, &p->pass, NULL, &p->joint_prior, NULL, NULL), JM_OK);
    assert_int_equal(c.count, 1);
    assert_true(c.points[0].lag_ns == 3.5e6 && c.points[0].width_ns == 13e6 && !c.taught);
    assert_true(c.lag_variance == 0 && c.width_variance == 0);
    release(p);
}

/* Values of the grid's time whose stamps scatter, and values of the time that their stamps say. */
static void test_readings_tell_which_times_are_theirs(void **state)
{
    (void)state;
    program *p = make(&ring, 8, 0);
    static jm_reading stamped[READINGS];
    jm__calibration c;
    measure(p, 0, 0, 4, 0);
    memcpy(stamped, p->readings, sizeof stamped);
    for (size_t i = 0; i < READINGS; i++)
        stamped[i].t_ns += (int64_t)(0.5e6 * (2 * dense_uniform() - 1));
    jm__pass pass = p->pass;
    pass.readings = stamped;
    assert_int_equal(jm__calibrate(&c, &ring, &pass, p->readings, &p->joint_prior, NULL, NULL), JM_OK);
    assert_true(c.moved);
    assert_int_equal(jm__calibrate(&c, &ring, &p->pass, stamped, &p->joint_prior, NULL, NULL), JM_OK);
    assert_false(c.moved);
    assert_int_equal(jm__calibrate(&c, &ring, &p->pass, NULL, &p->joint_prior, NULL, NULL), JM_OK);
    assert_false(c.moved);
    release(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_evidence_of_any_noise_is_that_of_a_normal_distribution),
        cmocka_unit_test(test_lag_and_width_are_as_likely_as_the_formula_says),
        cmocka_unit_test(test_each_lag_that_a_period_allows_has_its_points),
        cmocka_unit_test(test_a_response_found_in_drawn_readings_is_off_as_it_says),
        cmocka_unit_test(test_steady_work_leaves_the_profile_as_it_was),
        cmocka_unit_test(test_what_is_sure_stays),
        cmocka_unit_test(test_readings_tell_which_times_are_theirs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
