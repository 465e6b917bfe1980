/* The powers of an interval of time against the same put down in full: readings with noise and drift, a model
 * discrepancy, errors of lag and width, and a prior, of which a thousandth goes with the readings. What
 * noise.c, model discrepancy.c and posterior.c say by themselves has tests of its own, so it is asked of them
 * here. */
#include "attribute/fit/discrepancy.h"
#include "attribute/fit/interval.h"
#include "base/clock.h"
#include "dense.h"

enum { COLUMNS = 4, MOST = 600 };

static const double lent = 1e-3; /* of the prior */

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
    jm__reading_list readings;
    jm__joint_prior joint_prior;
    double rows[MOST * COLUMNS];
} program;

static void weigh_rows(program *p, jm__response response, double *rows)
{
    jm__design_start(&p->design, response);
    for (size_t i = 0; i < p->readings.count; i++)
        memcpy(rows + i * COLUMNS, jm__design_row(&p->design, p->readings.items[i].t_ns),
               COLUMNS * sizeof *rows);
}

/* `kinds`: of the columns, those that ran; `slow_w`: of an error that changes once a second. */
static program *make(size_t count, uint32_t kinds, double slow_w)
{
    static const uint32_t column_of[] = {0, 1, 2, 3};
    static const double truth_w[] = {640, 480, 330, 110}, expected_w[] = {600, 500, 300, 100},
                        u_w[] = {150, 120, 100, 40};
    program *p = calloc(1, sizeof *p);
    jm__prior prior;
    const jm__prior *all = &prior;
    jm__pieces_begin(&p->pieces, 0, (size_t)1 << 22);
    uint32_t code = 0;
    for (int64_t now_ns = 0; now_ns < (int64_t)(count + 10) * ring.period_ns;) {
        code = (code + 1 + (uint32_t)(dense_uniform() * (kinds - 1))) % kinds;
        now_ns += (int64_t)(1e6 * (1 + 25 * dense_uniform()));
        assert_true(jm__pieces_add(&p->pieces, now_ns, code, 1, false));
    }
    assert_true(jm__pieces_end(&p->pieces));
    p->pieces.column_of = column_of;
    assert_int_equal(jm__design_init(&p->design, &p->pieces, COLUMNS, NULL), JM_OK);
    for (size_t i = 0; i < count; i++)
        assert_true(jm__vec_push(&p->readings, ((jm_reading){1, (int64_t)(i + 8) * ring.period_ns, 0})));
    weigh_rows(p, jm__calibration_of(&ring).response, p->rows);
    double drift = 0, slow = 0;
    for (size_t i = 0; i < count; i++) {
        if (i % 50 == 0) slow = slow_w * dense_normal();
        drift = 0.8 * drift + 0.6 * 5 * dense_normal();
        p->readings.items[i].value = slow + drift + 4 * dense_normal();
        for (size_t k = 0; k < COLUMNS; k++)
            p->readings.items[i].value += p->rows[i * COLUMNS + k] * truth_w[k];
    }
    assert_int_equal(jm__prior_init(&prior, JM_PROVENANCE_WEAK, COLUMNS, NULL), JM_OK);
    for (size_t k = 0; k < COLUMNS; k++)
        assert_int_equal(jm__prior_add_power(&prior, k, expected_w[k], u_w[k], NULL), JM_OK);
    assert_int_equal(jm__prior_share(&prior, (const double[]){30, 20, 10, 0}, NULL), JM_OK);
    assert_int_equal(jm__joint_prior_make(&p->joint_prior, all, NULL, 0, jm__noise_of(&ring), NULL), JM_OK);
    jm__prior_free(&prior);
    return p;
}

static void release(program *p)
{
    jm__design_free(&p->design);
    jm__pieces_free(&p->pieces);
    jm__vec_free(&p->readings);
    jm__joint_prior_free(&p->joint_prior);
    free(p);
}

/* As if the noise were white: the start of the search. */
static jm__posterior first_of(const program *p)
{
    jm__qr qr;
    jm__posterior first;
    assert_int_equal(jm__qr_init(&qr, COLUMNS, NULL), JM_OK);
    for (size_t i = 0; i < p->readings.count; i++)
        jm__qr_add(&qr, p->rows + i * COLUMNS, p->readings.items[i].value);
    jm__qr_finish(&qr);
    assert_int_equal(jm__posterior_init(&first, COLUMNS, NULL), JM_OK);
    assert_int_equal(jm__posterior_solve(&first, &qr, &p->joint_prior, NULL), JM_OK);
    jm__qr_free(&qr);
    return first;
}

static double residual_of(const program *p, const jm__posterior *first, size_t i)
{
    double residual = p->readings.items[i].value;
    for (size_t k = 0; k < COLUMNS; k++)
        residual -= p->rows[i * COLUMNS + k] * first->power_w[k];
    return residual;
}

/* Scores of residuals in blocks, against those of the noise: the mean over powers of what both make of it. */
static double larger_than_noise(const program *p, const jm__posterior *first, const double *scores)
{
    size_t count = p->readings.count, length = count / 20 < 50 ? count / 20 : 50; /* a second at most */
    double observed[COLUMNS * COLUMNS] = {0}, square = 0, sum = 0;
    for (size_t from = 0; from < count; from += length) {
        double block[COLUMNS] = {0};
        for (size_t i = from; i < from + length && i < count; i++) {
            double residual = residual_of(p, first, i);
            square += residual * residual / (double)count;
            for (size_t k = 0; k < COLUMNS; k++)
                block[k] += p->rows[i * COLUMNS + k] * residual;
        }
        for (size_t k = 0; k < COLUMNS * COLUMNS; k++)
            observed[k] += block[k / COLUMNS] * block[k % COLUMNS];
    }
    for (size_t k = 0; k < COLUMNS; k++) {
        double seen[1], expected[1], column[COLUMNS];
        for (size_t m = 0; m < COLUMNS; m++)
            column[m] = first->covariance[k * COLUMNS + m];
        dense_around(seen, column, observed, COLUMNS, 1);
        dense_around(expected, column, scores, COLUMNS, 1);
        sum += seen[0] / expected[0] / COLUMNS;
    }
    return fmax(1, pow(first->noise_w, 2) / square * sum);
}

/* Correlated neighbours determine the response less than a likelihood of independent ones assumes: by this
 * ratio, but never less than the profile does. */
static double fewer_by(const program *p, const jm__posterior *first)
{
    double product = 0, square = 0;
    for (size_t i = 1; i < p->readings.count; i++) {
        double here = residual_of(p, first, i), before = residual_of(p, first, i - 1);
        product += here * before;
        square += (here * here + before * before) / 2;
    }
    return (1 + fmax(0, product / square)) / (1 - fmax(0, product / square));
}

/* What errors there may be, as scores. */
typedef struct errors {
    double scores[COLUMNS * COLUMNS];           /* of noise and model discrepancy */
    double response[JM_RESPONSE_AXES][COLUMNS]; /* per standard uncertainty of the response */
    double larger;                              /* than the noise explains */
} errors;

static errors errors_of(program *p, const jm__posterior *first, const jm__calibration *c,
                        const jm__noise *given)
{
    errors e;
    size_t count = p->readings.count;
    jm__noise noise;
    double u, moved[MOST * COLUMNS];
    const jm__pass pass = {.design = &p->design,
                           .readings = p->readings.items,
                           .count = count,
                           .period_ns = ring.period_ns,
                           .columns = COLUMNS};
    assert_int_equal(jm__noise_fit(&noise, &pass, c->response, first->power_w, first->freedom, NULL), JM_OK);
    if (given != NULL) noise = *given;
    assert_int_equal(jm__noise_scores(&noise, &pass, c->response, e.scores, NULL), JM_OK);
    e.larger = count < JM_NOISE_READINGS ? 1 : larger_than_noise(p, first, e.scores);
    for (size_t k = 0; k < COLUMNS * COLUMNS; k++)
        e.scores[k] *= e.larger;
    jm__discrepancy_seen seen = jm__discrepancy_of_noise(&noise, ring.noise);
    assert_int_equal(jm__replicates_find(&seen, &pass, c->response, first->power_w, first->covariance, NULL),
                     JM_OK);
    const jm__discrepancy_of of = {.pass = &pass,
                                   .response = c->response,
                                   .power_w = first->power_w,
                                   .covariance = first->covariance,
                                   .noise_w = first->noise_w,
                                   .readings = (double)count,
                                   .seen = seen};
    assert_int_equal(jm__discrepancy_add(e.scores, &u, &of, NULL), JM_OK);
    /* Along the lag, with the width that goes with it; then what of the width is its own. */
    double lag_u = sqrt(c->lag_variance), along = c->covariance / lag_u;
    const jm__response responses[] = {
        {JM_RESPONSE_FIRST_ORDER, c->response.lag_ns + lag_u, c->response.width_ns + along},
        {JM_RESPONSE_FIRST_ORDER, c->response.lag_ns,
         c->response.width_ns + sqrt(c->width_variance - along * along)}};
    const jm__calibration profile = jm__calibration_of(&ring);
    for (int axis = 0; axis < JM_RESPONSE_AXES; axis++) {
        double taught =
            axis == 0 ? profile.lag_variance / c->lag_variance : profile.width_variance / c->width_variance;
        double wider = sqrt(fmin(fewer_by(p, first), taught));
        weigh_rows(p, responses[axis], moved);
        for (size_t k = 0; k < COLUMNS; k++)
            e.response[axis][k] = 0;
        for (size_t i = 0; i < count; i++) {
            double change = 0;
            for (size_t k = 0; k < COLUMNS; k++)
                change += (moved[i * COLUMNS + k] - p->rows[i * COLUMNS + k]) * first->power_w[k];
            for (size_t k = 0; k < COLUMNS; k++)
                e.response[axis][k] += wider * p->rows[i * COLUMNS + k] * change;
        }
    }
    return e;
}

/* Options of an interval. */
typedef struct interval_options {
    const jm__noise *noise; /* found elsewhere */
    bool larger;            /* than the noise: errors that last */
    double lag_taught;      /* how much surer of it the readings have made the response, in variance */
    double width_taught;
    const double *shift[JM_RESPONSE_AXES]; /* what the prior's powers have in common with the response */
} interval_options;

/* The interval's own equations: z = H x + errors of covariance R, and what of the response the prior does not
 * know. */
typedef struct full {
    double h[COLUMNS * COLUMNS], r[COLUMNS * COLUMNS], z[COLUMNS];
    double known[JM_RESPONSE_AXES][COLUMNS];         /* W */
    double rest[JM_RESPONSE_AXES][JM_RESPONSE_AXES]; /* of the response */
} full;

static full in_full(const program *p, const jm__posterior *first, const errors *e, const interval_options *a)
{
    full f = {0};
    double square = pow(first->noise_w, 2);
    for (int axis = 0; axis < JM_RESPONSE_AXES; axis++)
        for (size_t k = 0; k < COLUMNS; k++)
            for (size_t m = 0; m < COLUMNS && a->shift[axis] != NULL; m++)
                f.known[axis][k] += p->joint_prior.information[k * COLUMNS + m] * a->shift[axis][m];
    for (int one = 0; one < JM_RESPONSE_AXES; one++)
        for (int other = 0; other < JM_RESPONSE_AXES; other++) {
            f.rest[one][other] = one == other;
            for (size_t k = 0; k < COLUMNS && a->shift[one] != NULL; k++)
                f.rest[one][other] -= a->shift[one][k] * f.known[other][k];
        }
    for (size_t k = 0; k < COLUMNS; k++) {
        for (size_t i = 0; i < p->readings.count; i++) {
            f.z[k] += p->rows[i * COLUMNS + k] * p->readings.items[i].value;
            for (size_t m = 0; m < COLUMNS; m++)
                f.h[k * COLUMNS + m] += p->rows[i * COLUMNS + k] * p->rows[i * COLUMNS + m];
        }
        for (size_t m = 0; m < COLUMNS; m++) {
            /* A lent row counts as a reading with the first fit's noise. */
            double information = p->joint_prior.information[k * COLUMNS + m];
            f.h[k * COLUMNS + m] += lent * square * information;
            f.z[k] += lent * square * information * p->joint_prior.power_w[m];
            f.r[k * COLUMNS + m] = e->scores[k * COLUMNS + m] + lent * square * square * information;
            for (int one = 0; one < JM_RESPONSE_AXES; one++) {
                f.h[k * COLUMNS + m] += e->response[one][k] * f.known[one][m];
                f.z[k] += e->response[one][k] * f.known[one][m] * p->joint_prior.power_w[m];
                for (int other = 0; other < JM_RESPONSE_AXES; other++)
                    f.r[k * COLUMNS + m] += f.rest[one][other] * e->response[one][k] * e->response[other][m];
            }
        }
    }
    return f;
}

/* cov(x, t) = C (W - H' R^-1 B rest) */
static void check_shift(const jm__fit_interval *result, const full *f, const errors *e,
                        const double *covariance)
{
    double inverse[COLUMNS * COLUMNS], turned[COLUMNS * COLUMNS], product[COLUMNS * COLUMNS];
    memcpy(inverse, f->r, sizeof inverse);
    dense_invert(inverse, COLUMNS);
    dense_transpose(turned, f->h, COLUMNS, COLUMNS);
    dense_multiply(product, turned, inverse, COLUMNS, COLUMNS, COLUMNS);
    for (int axis = 0; axis < JM_RESPONSE_AXES; axis++) {
        double rest[COLUMNS] = {0}, by[COLUMNS], shift[COLUMNS];
        for (int other = 0; other < JM_RESPONSE_AXES; other++)
            for (size_t k = 0; k < COLUMNS; k++)
                rest[k] += f->rest[axis][other] * e->response[other][k];
        dense_multiply(by, product, rest, COLUMNS, COLUMNS, 1);
        for (size_t k = 0; k < COLUMNS; k++)
            by[k] = f->known[axis][k] - by[k];
        dense_multiply(shift, covariance, by, COLUMNS, COLUMNS, 1);
        for (size_t k = 0; k < COLUMNS; k++)
            if (!(fabs(result->shift[axis][k] - shift[k]) < 1e-4))
                fail_msg("axis %d, %zu: %.8g W, not %.8g", axis, k, result->shift[axis][k], shift[k]);
        assert_true(fabs(shift[0]) > 0.02); /* there is something to see */
    }
}

static void check(program *p, const interval_options *a)
{
    jm__calibration c = jm__calibration_of(&ring);
    c.lag_variance /= a->lag_taught;
    c.width_variance /= a->width_taught;
    c.covariance = 0.4 * sqrt(c.lag_variance * c.width_variance);
    jm__posterior first = first_of(p);
    const errors e = errors_of(p, &first, &c, a->noise);
    const full f = in_full(p, &first, &e, a);
    assert_true(a->larger == (e.larger > 1.2));
    double mean[COLUMNS], covariance[COLUMNS * COLUMNS], square = 0;
    memcpy(mean, p->joint_prior.power_w, sizeof mean);
    for (size_t k = 0; k < COLUMNS * COLUMNS; k++)
        covariance[k] = p->joint_prior.covariance[k] / (1 - lent);
    dense_condition(mean, covariance, COLUMNS, f.h, f.z, f.r, COLUMNS);
    const jm__fit_interval_input input = {.sensor = &ring,
                                          .design = &p->design,
                                          .readings = &p->readings,
                                          .calibration = &c,
                                          .joint_prior = &p->joint_prior,
                                          .prior_shift = {a->shift[0], a->shift[1]},
                                          .noise = a->noise};
    jm__fit_interval result;
    assert_int_equal(jm__fit_interval_solve(&result, &input, NULL), JM_OK);
    for (size_t k = 0; k < COLUMNS; k++)
        if (!(fabs(result.power_w[k] - mean[k]) < 1e-4))
            fail_msg("%zu: %.8g W, not %.8g", k, result.power_w[k], mean[k]);
    dense_assert_covariance("powers", result.covariance, covariance, COLUMNS, 1e-5);
    check_shift(&result, &f, &e, covariance);
    for (size_t i = 0; i < p->readings.count; i++)
        square += pow(residual_of(p, &first, i), 2) / (double)p->readings.count;
    assert_int_equal(result.readings, p->readings.count);
    assert_true(result.noise_w == first.noise_w && result.freedom == first.freedom);
    assert_true(fabs(result.residual_w / sqrt(square) - 1) < 1e-9);
    assert_true(fabs((1 + result.correlation) / (1 - result.correlation) / fewer_by(p, &first) - 1) < 1e-9);
    jm__fit_interval_free(&result);
    jm__posterior_free(&first);
}

static void test_few_readings_are_weighed_by_the_noise_found_elsewhere(void **state)
{
    (void)state;
    const jm__noise elsewhere = {.white = 16, .drift = 60, .keep = 0.8};
    program *p = make(150, COLUMNS, 0);
    check(p, &(interval_options){
                 .noise = &elsewhere, .lag_taught = 1, .width_taught = 1}); /* nothing to believe less */
    release(p);
}

static void test_many_readings_are_weighed_by_what_their_residuals_show(void **state)
{
    (void)state;
    program *p = make(MOST, COLUMNS, 0);
    check(p, &(interval_options){.lag_taught = 20, .width_taught = 1.3});
    release(p);
}

static void test_errors_that_last_for_a_second_make_the_noise_larger(void **state)
{
    (void)state;
    const jm__noise white = {.white = 40};
    program *p = make(MOST, COLUMNS, 30);
    check(p, &(interval_options){.noise = &white, .larger = true, .lag_taught = 1.2, .width_taught = 30});
    release(p);
}

/* The powers were learnt with the same response elsewhere. */
static void test_what_the_prior_knows_of_the_response_is_marked(void **state)
{
    (void)state;
    const double lag_w[COLUMNS] = {60, -30, 10, 0}, width_w[COLUMNS] = {-20, 50, 0, 10};
    program *p = make(MOST, COLUMNS, 0);
    check(p, &(interval_options){.lag_taught = 2, .width_taught = 2, .shift = {lag_w, width_w}});
    check(p, &(interval_options){.lag_taught = 2, .width_taught = 2, .shift = {NULL, width_w}});
    release(p);
}

/* The last kind never ran: only its common prior with the others determines it. */
static void test_a_kind_that_no_reading_saw_stays_as_it_was_assumed(void **state)
{
    (void)state;
    program *p = make(MOST, COLUMNS - 1, 0);
    check(p, &(interval_options){.lag_taught = 2, .width_taught = 2});
    release(p);
}

static void test_a_sample_is_as_large_as_its_step_may_cost(void **state)
{
    (void)state;
    assert_int_equal(jm__fit_interval_sample_size(4), 50000);   /* 16 minutes of the ring tell enough */
    assert_int_equal(jm__fit_interval_sample_size(300), 16666); /* 1.5e9 multiplications */
    assert_int_equal(jm__fit_interval_sample_size(1000), 4000); /* of no column less than four readings */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_few_readings_are_weighed_by_the_noise_found_elsewhere),
        cmocka_unit_test(test_many_readings_are_weighed_by_what_their_residuals_show),
        cmocka_unit_test(test_what_the_prior_knows_of_the_response_is_marked),
        cmocka_unit_test(test_a_kind_that_no_reading_saw_stays_as_it_was_assumed),
        cmocka_unit_test(test_a_sample_is_as_large_as_its_step_may_cost),
        cmocka_unit_test(test_errors_that_last_for_a_second_make_the_noise_larger),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
