/* The response fitted to a run's own readings: with white noise, powers and small errors of lag and width
 * have a joint normal distribution. So the search must agree with the dense formula, and its error with its
 * uncertainty. */
#include "attribute/fit/calibrate.h"
#include "base/clock.h"
#include "dense.h"

enum { COLUMNS = 3, READINGS = 240, AXES = 2, ALL = COLUMNS + AXES };

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

typedef struct program {
    jm__pieces pieces;
    jm__design design;
    jm__joint_prior joint_prior;
    jm_reading readings[READINGS];
    jm__pass pass;
} program;

/* `longest_ms`: of pieces of work. */
static program *make(double longest_ms)
{
    static const uint32_t column_of[] = {0, 1, 2};
    program *p = calloc(1, sizeof *p);
    jm__prior prior;
    const jm__prior *all = &prior;
    uint32_t code = 0;
    jm__pieces_begin(&p->pieces, 0, (size_t)1 << 22);
    for (int64_t now_ns = 0; now_ns < (READINGS + 60) * ring.period_ns;) {
        code = (code + 1 + (uint32_t)(dense_uniform() * (COLUMNS - 1))) % COLUMNS;
        now_ns += (int64_t)(1e6 * (1 + longest_ms * dense_uniform()));
        assert_true(jm__pieces_add(&p->pieces, now_ns, code, 1, false));
    }
    assert_true(jm__pieces_end(&p->pieces));
    p->pieces.column_of = column_of;
    assert_int_equal(jm__design_init(&p->design, &p->pieces, COLUMNS, NULL), JM_OK);
    assert_int_equal(jm__prior_init(&prior, JM_PROVENANCE_WEAK, COLUMNS, NULL), JM_OK);
    for (size_t k = 0; k < COLUMNS; k++)
        assert_int_equal(jm__prior_add_power(&prior, k, expected_w[k], u_w[k], NULL), JM_OK);
    assert_int_equal(jm__joint_prior_make(&p->joint_prior, all, NULL, 0, jm__noise_of(&ring), NULL), JM_OK);
    jm__prior_free(&prior);
    for (size_t i = 0; i < READINGS; i++)
        p->readings[i] = (jm_reading){1, (int64_t)(i + 40) * ring.period_ns, 0};
    p->pass = (jm__pass){.design = &p->design,
                         .readings = p->readings,
                         .count = READINGS,
                         .period_ns = ring.period_ns,
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

/* What powers give with the profile's response, that many of its standard uncertainties off. */
static void expect(program *p, const double *power_w, double lag, double width, double *out)
{
    jm__response response = jm__calibration_of(&ring).response;
    response.lag_ns += lag * (double)ring.lag_u_ns;
    response.width_ns += width * (double)ring.tau_u_ns;
    jm__design_start(&p->design, response);
    for (size_t i = 0; i < READINGS; i++) {
        const double *row = jm__design_row(&p->design, p->readings[i].t_ns);
        out[i] = 0;
        for (size_t k = 0; k < COLUMNS; k++)
            out[i] += row[k] * power_w[k];
    }
}

static void measure(program *p, double lag, double width, double noise_w)
{
    double y[READINGS];
    expect(p, truth_w, lag, width, y);
    for (size_t i = 0; i < READINGS; i++)
        p->readings[i].value = y[i] + noise_w * dense_normal();
}

/* Powers, lag and width after the readings, all linear around the truth. */
static void in_full(program *p, double lag, double width, double noise_w, double *mean, double *covariance)
{
    static double h[READINGS * ALL], r[READINGS * READINGS];
    double here[READINGS], moved[READINGS], z[READINGS];
    const double step = 0.05;
    memset(r, 0, sizeof r);
    expect(p, truth_w, lag, width, here);
    for (size_t k = 0; k < ALL; k++) {
        double power_w[COLUMNS];
        memcpy(power_w, truth_w, sizeof power_w);
        if (k < COLUMNS) power_w[k] += 1;
        expect(p, power_w, lag + (k == COLUMNS ? step : 0), width + (k == COLUMNS + 1 ? step : 0), moved);
        for (size_t i = 0; i < READINGS; i++)
            h[i * ALL + k] = (moved[i] - here[i]) / (k < COLUMNS ? 1 : step);
    }
    memset(covariance, 0, ALL * ALL * sizeof *covariance);
    for (size_t k = 0; k < ALL; k++) {
        mean[k] = k < COLUMNS ? expected_w[k] : 0;
        covariance[k * ALL + k] = k < COLUMNS ? u_w[k] * u_w[k] : 1;
    }
    for (size_t i = 0; i < READINGS; i++) {
        r[i * READINGS + i] = noise_w * noise_w;
        z[i] = p->readings[i].value - here[i] + lag * h[i * ALL + COLUMNS] + width * h[i * ALL + COLUMNS + 1];
        for (size_t k = 0; k < COLUMNS; k++)
            z[i] += truth_w[k] * h[i * ALL + k];
    }
    dense_condition(mean, covariance, ALL, h, z, r, READINGS);
}

typedef struct found {
    double lag, width; /* in standard uncertainties of the profile */
    double lag_variance, width_variance, covariance;
} found;

static found calibrate(program *p)
{
    jm__calibration c, profile = jm__calibration_of(&ring);
    double lag_u = (double)ring.lag_u_ns, width_u = (double)ring.tau_u_ns;
    assert_int_equal(jm__calibrate(&c, &ring, &p->pass, &p->joint_prior, NULL), JM_OK);
    return (found){.lag = (c.response.lag_ns - profile.response.lag_ns) / lag_u,
                   .width = (c.response.width_ns - profile.response.width_ns) / width_u,
                   .lag_variance = c.lag_variance / lag_u / lag_u,
                   .width_variance = c.width_variance / width_u / width_u,
                   .covariance = c.covariance / lag_u / width_u};
}

static void assert_near(const char *what, double is, double truth, double within)
{
    if (!(fabs(is - truth) <= within)) fail_msg("%s: %.4f, not %.4f", what, is, truth);
}

/* The search has steps of an eighth of a standard uncertainty, and edges of work distort the sum of squares:
 * this is its accuracy. */
static void test_lag_and_width_are_found_as_surely_as_the_formula_says(void **state)
{
    (void)state;
    static const struct {
        double longest_ms, lag, width, noise_w;
    } cases[] = {{60, 0.4, -0.7, 4}, {60, -0.9, 0.8, 12}, {200, 0.5, 0.5, 8}, {8, 0.3, 0.2, 10}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        program *p = make(cases[i].longest_ms);
        double mean[ALL], covariance[ALL * ALL];
        measure(p, cases[i].lag, cases[i].width, cases[i].noise_w);
        in_full(p, cases[i].lag, cases[i].width, cases[i].noise_w, mean, covariance);
        found f = calibrate(p);
        double lag_u = sqrt(covariance[COLUMNS * ALL + COLUMNS]),
               width_u = sqrt(covariance[(COLUMNS + 1) * ALL + COLUMNS + 1]);
        print_message(
            "lag %.3f (%.3f) +-%.3f (%.3f), width %.3f (%.3f) +-%.3f (%.3f), together %.3f (%.3f)\n", f.lag,
            mean[COLUMNS], sqrt(f.lag_variance), lag_u, f.width, mean[COLUMNS + 1], sqrt(f.width_variance),
            width_u, f.covariance / sqrt(f.lag_variance * f.width_variance),
            covariance[COLUMNS * ALL + COLUMNS + 1] / lag_u / width_u);
        assert_near("lag", f.lag, mean[COLUMNS], 0.06 + 0.15 * lag_u);
        assert_near("width", f.width, mean[COLUMNS + 1], 0.06 + 0.15 * width_u);
        assert_near("lag's error", sqrt(f.lag_variance) / lag_u, 1, 0.2);
        assert_near("width's error", sqrt(f.width_variance) / width_u, 1, 0.2);
        assert_near("together", f.covariance / sqrt(f.lag_variance * f.width_variance),
                    covariance[COLUMNS * ALL + COLUMNS + 1] / lag_u / width_u, 0.2);
        release(p);
    }
}

static void test_a_response_found_in_drawn_readings_is_off_as_it_says(void **state)
{
    (void)state;
    enum { DRAWS = 150 };
    double lag = 0, width = 0;
    for (int draw = 0; draw < DRAWS; draw++) {
        program *p = make(60);
        double true_lag = dense_normal(), true_width = dense_normal();
        measure(p, true_lag, true_width, 10);
        found f = calibrate(p);
        lag += pow(f.lag - true_lag, 2) / f.lag_variance / DRAWS;
        width += pow(f.width - true_width, 2) / f.width_variance / DRAWS;
        release(p);
    }
    print_message("mean square of the errors, in those said: lag %.2f, width %.2f\n", lag, width);
    assert_near("lag", lag, 1, 0.4); /* 150 draws have an error of 0.12; the profile's limit reduces it */
    assert_near("width", width, 1, 0.4);
}

/* Work that is one kind all the time does not show the response. */
static void test_steady_work_leaves_the_profile_as_it_was(void **state)
{
    (void)state;
    static const uint32_t columns[] = {1, 1, 1};
    program *p = make(60);
    p->pieces.column_of = columns;
    measure(p, 1, 1, 4);
    found f = calibrate(p);
    assert_near("lag", f.lag, 0, 1e-9);
    assert_near("width", f.width, 0, 1e-9);
    assert_near("lag's variance", f.lag_variance, 1, 1e-6);
    assert_near("width's variance", f.width_variance, 1, 1e-6);
    release(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lag_and_width_are_found_as_surely_as_the_formula_says),
        cmocka_unit_test(test_a_response_found_in_drawn_readings_is_off_as_it_says),
        cmocka_unit_test(test_steady_work_leaves_the_profile_as_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
