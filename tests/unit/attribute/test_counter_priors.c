/* Priors from counters, against their formulas written out:
 *
 *     x_k = constant + sum_m w_m c_km / reference_m
 *     own^2 = max((relative x_k)^2 + (beyond / 2)^2 + (ridge_share_k mean)^2, least^2)
 *     beyond = sum_m w_m (c_km - most_m)+ / reference_m
 *     cov = f_k' W f_l + v inverse_kl + (gain^2 + [one family] family^2) x_k x_l, f_k = (c_k / reference, 1)
 *     v = (w / reference)' covariance (w / reference)
 *
 * and for a kernel of unknown family, relative^2 + family^2 instead of relative^2. */
#include "attribute/prior/counters.h"
#include "base/status.h"
#include "dense.h"

#include <stdio.h>

enum { METRICS = 3, CLASSES = 5, COLUMNS = 7, FEATURES = METRICS + 1 };

typedef struct scene {
    jm__board_model model;
    jm__class_rates rates;
    jm__feature features[METRICS];
    jm__expectation expected[CLASSES];
    double weights[FEATURES * FEATURES], rate[COLUMNS * METRICS], seen_s[COLUMNS];
    double ridge_share[COLUMNS], inverse[COLUMNS * COLUMNS], covariance[METRICS * METRICS];
} scene;

/* A covariance of n numbers. */
static void draw_covariance(double *out, size_t n, double scale)
{
    double factor[COLUMNS * COLUMNS];
    for (size_t i = 0; i < n * n; i++)
        factor[i] = scale * dense_normal();
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            out[i * n + j] = 0;
            for (size_t k = 0; k < n; k++)
                out[i * n + j] += factor[i * n + k] * factor[j * n + k];
        }
}

static void make(scene *s)
{
    *s = (scene){.model = {.count = METRICS,
                           .constant_w = 120,
                           .relative_u = 0.07,
                           .family_u = 0.05,
                           .gain_u = 0.03,
                           .clock_mhz = NAN,
                           .covariance = NULL}};
    for (size_t m = 0; m < METRICS; m++)
        s->features[m] = (jm__feature){
            .reference = pow(10, 3.0 * (double)(m + 1)), .weight_w = 100 + 50 * (double)m, .most = INFINITY};
    draw_covariance(s->weights, FEATURES, 5);
    draw_covariance(s->inverse, COLUMNS, 0.1);
    draw_covariance(s->covariance, METRICS, 1);
    for (size_t a = 0; a < METRICS; a++)
        for (size_t b = 0; b < METRICS; b++)
            s->covariance[a * METRICS + b] *= 1e-2 * s->features[a].reference * s->features[b].reference;
    for (size_t k = 0; k < COLUMNS; k++) {
        s->seen_s[k] = 1 + dense_uniform();
        s->ridge_share[k] = 0.1 * dense_uniform();
        for (size_t m = 0; m < METRICS; m++)
            s->rate[k * METRICS + m] = dense_uniform() * s->features[m].reference;
    }
    static const uint32_t families[CLASSES] = {3, 8, 3, 0, 3};
    for (size_t k = 0; k < CLASSES; k++) /* the last has no family, though its number is 3 */
        s->expected[k] = (jm__expectation){.family = families[k], .family_u = k + 1 < CLASSES ? 0.1 : 0};
    s->model.features = s->features;
    s->model.covariance = s->weights;
    s->rates = (jm__class_rates){.columns = COLUMNS,
                                 .metrics = METRICS,
                                 .windows = 1000,
                                 .rate = s->rate,
                                 .seen_s = s->seen_s,
                                 .ridge_share = s->ridge_share,
                                 .inverse = s->inverse,
                                 .covariance = s->covariance};
}

static jm__prior assume(const scene *s)
{
    jm__prior prior;
    jm_error err = {0};
    if (jm__prior_from_counters(&prior, &s->model, &s->rates, s->expected, CLASSES, &err) != JM_OK)
        fail_msg("%s", err.text);
    return prior;
}

/* The column that an equation is of: a row of zeros but for one 1. */
static size_t column_of(const jm__prior *prior, size_t row)
{
    size_t column = COLUMNS;
    for (size_t k = 0; k < COLUMNS; k++) {
        double entry = prior->row[row * COLUMNS + k];
        assert_true(entry == 0 || (entry == 1 && column == COLUMNS));
        if (entry == 1) column = k;
    }
    assert_true(column < CLASSES);
    return column;
}

static double power_of(const scene *s, size_t column)
{
    double power_w = s->model.constant_w;
    for (size_t m = 0; m < METRICS; m++)
        power_w += s->features[m].weight_w * s->rate[column * METRICS + m] / s->features[m].reference;
    return power_w;
}

/* While any of the kinds of work ran. */
static double mean_w(const scene *s)
{
    double energy_j = 0, seconds = 0;
    for (size_t k = 0; k < CLASSES; k++) {
        energy_j += s->seen_s[k] * power_of(s, k);
        seconds += s->seen_s[k];
    }
    return seconds > 0 ? energy_j / seconds : 0;
}

static double own_u(const scene *s, size_t column)
{
    double beyond_w = 0;
    for (size_t m = 0; m < METRICS; m++) {
        double more = s->rate[column * METRICS + m] - s->features[m].most;
        if (more > 0) beyond_w += s->features[m].weight_w * more / s->features[m].reference;
    }
    double relative = pow(s->model.relative_u, 2);
    if (s->expected[column].family_u == 0) relative += pow(s->model.family_u, 2);
    double own = sqrt(relative * pow(power_of(s, column), 2) + pow(beyond_w / 2, 2) +
                      pow(s->ridge_share[column] * mean_w(s), 2));
    return own > JM_POWER_LEAST_W ? own : JM_POWER_LEAST_W;
}

static bool are_family(const scene *s, size_t left, size_t right)
{
    const jm__expectation *l = &s->expected[left], *r = &s->expected[right];
    return l->family_u > 0 && r->family_u > 0 && l->family == r->family;
}

static double shared(const scene *s, size_t left, size_t right)
{
    double sum = 0, window_w2 = 0, f[2][FEATURES];
    for (size_t m = 0; m < METRICS; m++) {
        f[0][m] = s->rate[left * METRICS + m] / s->features[m].reference;
        f[1][m] = s->rate[right * METRICS + m] / s->features[m].reference;
    }
    f[0][METRICS] = f[1][METRICS] = 1;
    for (size_t a = 0; a < FEATURES; a++)
        for (size_t b = 0; b < FEATURES; b++)
            sum += f[0][a] * s->weights[a * FEATURES + b] * f[1][b];
    for (size_t a = 0; a < METRICS; a++)
        for (size_t b = 0; b < METRICS; b++)
            window_w2 += s->features[a].weight_w / s->features[a].reference * s->covariance[a * METRICS + b] *
                         s->features[b].weight_w / s->features[b].reference;
    double common = pow(s->model.gain_u, 2);
    if (are_family(s, left, right)) common += pow(s->model.family_u, 2);
    return sum + window_w2 * s->inverse[left * COLUMNS + right] +
           common * power_of(s, left) * power_of(s, right);
}

static void assert_close(double stated, double truth)
{
    if (!(fabs(stated - truth) <= 1e-10 * fabs(truth))) fail_msg("%.15g, not %.15g", stated, truth);
}

static void assert_formulas(const scene *s, const jm__prior *prior)
{
    assert_int_equal(prior->provenance, JM_PROVENANCE_COUNTERS);
    assert_int_equal(prior->columns, COLUMNS);
    assert_non_null(prior->covariance);
    for (size_t i = 0; i < prior->rows; i++) {
        size_t column = column_of(prior, i);
        assert_close(prior->value[i], power_of(s, column));
        assert_close(prior->u[i], own_u(s, column));
        for (size_t j = 0; j < prior->rows; j++)
            assert_close(prior->covariance[i * prior->rows + j], shared(s, column, column_of(prior, j)));
    }
}

static void test_powers_and_their_errors_are_those_of_the_formulas(void **state)
{
    (void)state;
    for (int draw = 0; draw < 20; draw++) {
        scene s;
        make(&s);
        jm__prior prior = assume(&s);
        assert_int_equal(prior.rows, CLASSES); /* idle states get no prior */
        assert_formulas(&s, &prior);
        jm__prior_free(&prior);
    }
}

/* Power from rates beyond the model's range has an uncertainty of a half. */
static void test_rates_beyond_those_learnt_from_are_less_sure(void **state)
{
    (void)state;
    scene s;
    make(&s);
    s.rate[2 * METRICS + 1] = 2.5 * s.features[1].reference;
    jm__prior near = assume(&s);
    s.features[1].most = 0.5 * s.features[1].reference;
    jm__prior far = assume(&s);
    assert_formulas(&s, &far);
    assert_true(far.value[2] == near.value[2]);
    assert_close(pow(far.u[2], 2) - pow(near.u[2], 2), pow(0.5 * 2 * s.features[1].weight_w, 2));
    s.features[1].most = s.rate[2 * METRICS + 1]; /* as far as that, and no further */
    jm__prior at = assume(&s);
    assert_true(at.u[2] == near.u[2]);
    jm__prior_free(&near);
    jm__prior_free(&far);
    jm__prior_free(&at);
}

/* A column needs a tenth of a millisecond in the windows. */
static void test_what_the_windows_did_not_see_is_not_marked_of(void **state)
{
    (void)state;
    scene s;
    make(&s);
    s.seen_s[0] = 0;
    s.seen_s[3] = 0.9e-4;
    s.seen_s[4] = 1.1e-4;
    jm__prior prior = assume(&s);
    assert_int_equal(prior.rows, 3);
    assert_int_equal(column_of(&prior, 0), 1);
    assert_int_equal(column_of(&prior, 1), 2);
    assert_int_equal(column_of(&prior, 2), 4);
    assert_formulas(&s, &prior);
    jm__prior_free(&prior);
    for (size_t k = 0; k < CLASSES; k++)
        s.seen_s[k] = 0;
    prior = assume(&s);
    assert_int_equal(prior.rows, 0);
    assert_null(prior.row); /* nothing to free */
}

/* A model without uncertainty, of a board that draws nothing: still a prior. */
static void test_a_power_of_nothing_is_not_known_exactly(void **state)
{
    (void)state;
    scene s;
    make(&s);
    s.model.constant_w = 0;
    s.model.relative_u = s.model.family_u = 0;
    memset(s.rate, 0, sizeof s.rate);
    memset(s.weights, 0, sizeof s.weights);
    memset(s.covariance, 0, sizeof s.covariance);
    jm__prior prior = assume(&s);
    assert_int_equal(prior.rows, CLASSES);
    for (size_t i = 0; i < CLASSES; i++)
        assert_true(prior.value[i] == 0 && prior.u[i] == JM_POWER_LEAST_W);
    jm__prior_free(&prior);
}

/* The residual variance of many metrics may be below zero by rounding: it counts as zero. */
static void test_windows_without_any_noise_add_no_variance(void **state)
{
    (void)state;
    scene s;
    make(&s);
    for (size_t i = 0; i < METRICS * METRICS; i++)
        s.covariance[i] = -fabs(s.covariance[i]);
    jm__prior prior = assume(&s);
    memset(s.covariance, 0, sizeof s.covariance);
    assert_formulas(&s, &prior);
    jm__prior_free(&prior);
}

/* Drawn weights, rates and gains spread powers as the prior states. */
static void test_drawn_models_spread_powers_as_the_prior_says(void **state)
{
    (void)state;
    enum { DRAWS = 40000 };
    scene s;
    make(&s);
    s.model.gain_u = 0.02;
    jm__prior prior = assume(&s);
    double weights[FEATURES * FEATURES], inverse[COLUMNS * COLUMNS], covariance[METRICS * METRICS];
    double spread[CLASSES * CLASSES] = {0}, stated[CLASSES * CLASSES];
    memcpy(weights, s.weights, sizeof weights);
    memcpy(inverse, s.inverse, sizeof inverse);
    memcpy(covariance, s.covariance, sizeof covariance);
    dense_factor(weights, FEATURES);
    dense_factor(inverse, COLUMNS);
    dense_factor(covariance, METRICS);
    for (size_t n = 0; n < DRAWS; n++) {
        double off[FEATURES], in_metric[METRICS][COLUMNS], off_w[CLASSES], gain = 0.02 * dense_normal();
        double of_family[9];
        for (size_t f = 0; f < 9; f++)
            of_family[f] = s.model.family_u * dense_normal();
        dense_draw(off, NULL, weights, FEATURES);
        for (size_t m = 0; m < METRICS; m++)
            dense_draw(in_metric[m], NULL, inverse, COLUMNS);
        for (size_t k = 0; k < CLASSES; k++) {
            double common = are_family(&s, k, k) ? gain + of_family[s.expected[k].family] : gain;
            off_w[k] = off[METRICS] + common * power_of(&s, k) + prior.u[k] * dense_normal();
            for (size_t m = 0; m < METRICS; m++) {
                double rate_off = 0; /* covariance of metrics, one after the other of columns */
                for (size_t b = 0; b <= m; b++)
                    rate_off += covariance[m * METRICS + b] * in_metric[b][k];
                off_w[k] += off[m] * s.rate[k * METRICS + m] / s.features[m].reference +
                            s.features[m].weight_w * rate_off / s.features[m].reference;
            }
        }
        for (size_t i = 0; i < CLASSES * CLASSES; i++)
            spread[i] += off_w[i / CLASSES] * off_w[i % CLASSES] / DRAWS;
    }
    memcpy(stated, prior.covariance, sizeof stated);
    for (size_t k = 0; k < CLASSES; k++)
        stated[k * CLASSES + k] += pow(prior.u[k], 2);
    dense_assert_covariance("drawn", spread, stated, CLASSES, 0.03); /* 4 of its errors */
    jm__prior_free(&prior);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_powers_and_their_errors_are_those_of_the_formulas),
        cmocka_unit_test(test_rates_beyond_those_learnt_from_are_less_sure),
        cmocka_unit_test(test_what_the_windows_did_not_see_is_not_marked_of),
        cmocka_unit_test(test_a_power_of_nothing_is_not_known_exactly),
        cmocka_unit_test(test_windows_without_any_noise_add_no_variance),
        cmocka_unit_test(test_drawn_models_spread_powers_as_the_prior_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
