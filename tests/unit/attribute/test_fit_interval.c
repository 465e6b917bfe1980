/* The powers of an interval of time against the same put down in full: readings with noise and drift, a model
 * discrepancy, and a prior, of which a thousandth goes with the readings; then by how much they are others at
 * each response that may be. What noise.c, discrepancy.c and prior.c say by themselves has tests of its own,
 * so it is asked of them here. */
#include "attribute/fit/discrepancy.h"
#include "attribute/fit/interval.h"
#include "base/clock.h"
#include "dense.h"

enum { COLUMNS = 4, MOST = 600, POINTS = 3 };

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
    prior = (jm__prior){.provenance = JM_PROVENANCE_WEAK, .columns = COLUMNS};
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

/* As if the noise were white: where the search for all that is wrong begins. */
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
    double observed[COLUMNS * COLUMNS] = {0}, square = 0, sum = 0, powers = 0;
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
        if (!(expected[0] > 0)) continue; /* no reading saw it */
        sum += seen[0] / expected[0];
        powers++;
    }
    return fmax(1, pow(first->noise_w, 2) / square * sum / powers);
}

/* What errors there may be, as scores: of noise and model discrepancy. */
typedef struct errors {
    double scores[COLUMNS * COLUMNS];
    double larger; /* than the noise explains */
} errors;

static errors errors_of(program *p, const jm__posterior *first, const jm__calibration *c,
                        const jm__noise *given)
{
    errors e;
    size_t count = p->readings.count;
    jm__noise noise;
    double u;
    const jm__pass pass = {.design = &p->design,
                           .readings = p->readings.items,
                           .count = count,
                           .period_ns = ring.period_ns,
                           .columns = COLUMNS};
    double *residual = calloc(count + 1, sizeof *residual);
    assert_int_equal(jm__pass_residuals(&pass, c->response, first->power_w, residual, NULL, NULL), JM_OK);
    jm__noise_of_residuals(&noise, &pass, residual, first->freedom);
    free(residual);
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
    return e;
}

/* What is asked of an interval. */
typedef struct queried {
    const jm__noise *noise; /* found elsewhere */
    bool larger;            /* than the noise: errors that last */
    const double *shift;    /* [POINTS * COLUMNS]: of the prior's mean at each response */
} queried;

/* Powers of the interval's own equations: z = A'y = A'A x + errors of covariance S. What is lent of the prior
 * is as good as a reading with the first fit's noise. */
static void check_powers(const program *p, const jm__posterior *first, const errors *e,
                         const jm__fit_interval *said)
{
    double h[COLUMNS * COLUMNS], r[COLUMNS * COLUMNS], z[COLUMNS] = {0}, square = pow(first->noise_w, 2);
    double mean[COLUMNS], covariance[COLUMNS * COLUMNS];
    for (size_t i = 0; i < COLUMNS * COLUMNS; i++) {
        size_t k = i / COLUMNS, m = i % COLUMNS;
        double information = p->joint_prior.information[i];
        h[i] = lent * square * information;
        z[k] += h[i] * p->joint_prior.power_w[m];
        r[i] = e->scores[i] + square * h[i];
        covariance[i] = p->joint_prior.covariance[i] / (1 - lent);
        for (size_t n = 0; n < p->readings.count; n++)
            h[i] += p->rows[n * COLUMNS + k] * p->rows[n * COLUMNS + m];
    }
    for (size_t n = 0; n < p->readings.count; n++)
        for (size_t k = 0; k < COLUMNS; k++)
            z[k] += p->rows[n * COLUMNS + k] * p->readings.items[n].value;
    memcpy(mean, p->joint_prior.power_w, sizeof mean);
    dense_condition(mean, covariance, COLUMNS, h, z, r, COLUMNS);
    for (size_t k = 0; k < COLUMNS; k++)
        if (!(fabs(said->power_w[k] - mean[k]) < 1e-4))
            fail_msg("%zu: %.8g W, not %.8g", k, said->power_w[k], mean[k]);
    dense_assert_covariance("powers", said->covariance, covariance, COLUMNS, 1e-5);
}

/* Powers of readings of one response with white noise, by normal equations; moved: of the prior. */
static void powers_at(program *p, jm__response response, const double *moved, double noise_w, double *power_w)
{
    static double rows[MOST * COLUMNS];
    double weight = 1 / (noise_w * noise_w), inverse[COLUMNS * COLUMNS], right[COLUMNS] = {0};
    weigh_rows(p, response, rows);
    memcpy(inverse, p->joint_prior.covariance, sizeof inverse);
    dense_invert(inverse, COLUMNS);
    for (size_t i = 0; i < COLUMNS * COLUMNS; i++) {
        size_t k = i / COLUMNS, m = i % COLUMNS;
        right[k] += inverse[i] * (p->joint_prior.power_w[m] + (moved != NULL ? moved[m] : 0));
        for (size_t n = 0; n < p->readings.count; n++)
            inverse[i] += weight * rows[n * COLUMNS + k] * rows[n * COLUMNS + m];
    }
    for (size_t n = 0; n < p->readings.count; n++)
        for (size_t k = 0; k < COLUMNS; k++)
            right[k] += weight * rows[n * COLUMNS + k] * p->readings.items[n].value;
    dense_invert(inverse, COLUMNS);
    dense_multiply(power_w, inverse, right, COLUMNS, COLUMNS, 1);
}

/* The noise that makes scores as unsure, on the whole, as they are; and the powers with it. */
static void check_shift(program *p, const jm__posterior *first, const errors *e, const jm__calibration *c,
                        const double *shift, const jm__fit_interval *said)
{
    double here[COLUMNS], there[COLUMNS], seen = 0, white = 0;
    for (size_t k = 0; k < COLUMNS; k++) {
        seen += e->scores[k * COLUMNS + k];
        for (size_t i = 0; i < p->readings.count; i++)
            white += pow(first->noise_w * p->rows[i * COLUMNS + k], 2);
    }
    assert_true(fabs(said->inflation / fmax(1, seen / white) - 1) < 1e-9);
    double noise_w = first->noise_w * sqrt(said->inflation);
    powers_at(p, c->response, NULL, noise_w, here);
    for (size_t point = 0; point < c->count; point++) {
        powers_at(p, c->points[point], shift != NULL ? shift + point * COLUMNS : NULL, noise_w, there);
        for (size_t k = 0; k < COLUMNS; k++) {
            double is = said->shift[point * COLUMNS + k], truth = there[k] - here[k];
            if (!(fabs(is - truth) < 1e-4)) fail_msg("%zu, %zu: %.8g W, not %.8g", point, k, is, truth);
            assert_true(k > 0 || fabs(truth) > 0.02); /* there is something to see */
        }
    }
}

enum { SECTIONS = 8 };

/* By what sections differ beyond what each is expected to miss, having been left out of the fit. */
static double missed_of(const program *p, const jm__posterior *first)
{
    double sum = 0, weights = 0, noise = pow(first->noise_w, 2);
    for (size_t left_out = 0; left_out < SECTIONS; left_out++) {
        double inverse[COLUMNS * COLUMNS], right[COLUMNS] = {0}, power_w[COLUMNS], mean[COLUMNS] = {0};
        double value = 0, count = 0, variance;
        memcpy(inverse, p->joint_prior.covariance, sizeof inverse);
        dense_invert(inverse, COLUMNS);
        for (size_t i = 0; i < COLUMNS * COLUMNS; i++)
            right[i / COLUMNS] += inverse[i] * p->joint_prior.power_w[i % COLUMNS];
        for (size_t n = 0; n < p->readings.count; n++) {
            const double *row = p->rows + n * COLUMNS;
            bool out = n * SECTIONS / p->readings.count == left_out;
            for (size_t i = 0; !out && i < COLUMNS * COLUMNS; i++)
                inverse[i] += row[i / COLUMNS] * row[i % COLUMNS] / noise;
            for (size_t k = 0; k < COLUMNS; k++)
                *(out ? &mean[k] : &right[k]) += out ? row[k] : row[k] * p->readings.items[n].value / noise;
            value += out ? p->readings.items[n].value : 0;
            count += out;
        }
        dense_invert(inverse, COLUMNS);
        dense_multiply(power_w, inverse, right, COLUMNS, COLUMNS, 1);
        for (size_t k = 0; k < COLUMNS; k++) {
            mean[k] /= count;
            value -= count * mean[k] * power_w[k];
        }
        dense_around(&variance, mean, inverse, COLUMNS, 1);
        variance += noise / count;
        sum += pow(value / count, 2) / variance;
        weights += 1 / variance;
    }
    return sum > 20.1 ? sqrt((sum - SECTIONS) / weights) : 0; /* chi square, 99 % */
}

/* One error of all readings of a section. */
static void add_missed(errors *e, const program *p, double missed_w)
{
    for (size_t i = 0; i < p->readings.count; i++)
        for (size_t j = 0; j < p->readings.count; j++)
            for (size_t k = 0; k < COLUMNS * COLUMNS; k++)
                if (i * SECTIONS / p->readings.count == j * SECTIONS / p->readings.count)
                    e->scores[k] += missed_w * missed_w * p->rows[i * COLUMNS + k / COLUMNS] *
                                    p->rows[j * COLUMNS + k % COLUMNS];
}

static void check(program *p, const queried *a)
{
    jm__calibration c = jm__calibration_of(&ring);
    c.count = POINTS;
    for (int i = 0; i < POINTS; i++)
        c.points[i] = (jm__response){c.response.kind, (double)ring.lag_ns + (i - 0.7) * (double)ring.lag_u_ns,
                                     (double)ring.tau_ns + (0.5 - i * i) * (double)ring.tau_u_ns};
    jm__posterior first = first_of(p);
    errors e = errors_of(p, &first, &c, a->noise);
    double missed_w = p->readings.count < JM_NOISE_READINGS ? NAN : missed_of(p, &first);
    if (missed_w > 0) add_missed(&e, p, missed_w);
    assert_true(!a->larger || (e.larger > 2 && missed_w > 5));
    const jm__fit_interval_input input = {.sensor = &ring,
                                          .design = &p->design,
                                          .readings = &p->readings,
                                          .calibration = &c,
                                          .joint_prior = &p->joint_prior,
                                          .prior_shift = a->shift,
                                          .noise = a->noise};
    jm__fit_interval said;
    assert_int_equal(jm__fit_interval_solve(&said, &input, NULL), JM_OK);
    assert_int_equal(said.points, POINTS);
    check_powers(p, &first, &e, &said);
    check_shift(p, &first, &e, &c, a->shift, &said);
    double square = 0;
    for (size_t i = 0; i < p->readings.count; i++)
        square += pow(residual_of(p, &first, i), 2) / (double)p->readings.count;
    assert_int_equal(said.readings, p->readings.count);
    assert_true(said.noise_w == first.noise_w && said.freedom == first.freedom);
    assert_true(fabs(said.residual_w / sqrt(square) - 1) < 1e-9);
    assert_true(isnan(missed_w) ? isnan(said.missed_w) : fabs(said.missed_w - missed_w) < 1e-6);
    jm__fit_interval_free(&said);
    jm__posterior_free(&first);
}

static void test_few_readings_are_weighed_by_the_noise_found_elsewhere(void **state)
{
    (void)state;
    const jm__noise elsewhere = {.white = 16, .drift = 60, .keep = 0.8};
    program *p = make(150, COLUMNS, 0);
    check(p, &(queried){.noise = &elsewhere});
    release(p);
}

static void test_many_readings_are_weighed_by_what_their_residuals_show(void **state)
{
    (void)state;
    program *p = make(MOST, COLUMNS, 0);
    check(p, &(queried){0});
    release(p);
}

static void test_errors_that_last_for_a_second_make_the_noise_larger(void **state)
{
    (void)state;
    const jm__noise white = {.white = 40};
    program *p = make(MOST, COLUMNS, 30);
    check(p, &(queried){.noise = &white, .larger = true});
    release(p);
}

/* The powers were learnt with the same response elsewhere: with each other one they had been others. */
static void test_what_the_prior_knows_of_the_response_goes_with_each_point(void **state)
{
    (void)state;
    const double moved_w[POINTS * COLUMNS] = {60, -30, 10, 0, -20, 50, 0, 10, 5, 5, 5, -40};
    program *p = make(MOST, COLUMNS, 0);
    check(p, &(queried){.shift = moved_w});
    release(p);
}

/* The last kind never ran: nothing but what it is trusted to have in common with the others tells of it. */
static void test_a_kind_that_no_reading_saw_stays_as_it_was_assumed(void **state)
{
    (void)state;
    program *p = make(MOST, COLUMNS - 1, 0);
    check(p, &(queried){0});
    release(p);
}

/* A response that is sure moves nothing. */
static void test_a_response_that_is_known_leaves_powers_as_they_are(void **state)
{
    (void)state;
    program *p = make(150, COLUMNS, 0);
    const jm__calibration c = jm__calibration_of(&ring);
    const jm__fit_interval_input input = {.sensor = &ring,
                                          .design = &p->design,
                                          .readings = &p->readings,
                                          .calibration = &c,
                                          .joint_prior = &p->joint_prior};
    jm__fit_interval said;
    double power_w[COLUMNS], covariance[COLUMNS * COLUMNS];
    assert_int_equal(jm__fit_interval_solve(&said, &input, NULL), JM_OK);
    memcpy(power_w, said.power_w, sizeof power_w);
    memcpy(covariance, said.covariance, sizeof covariance);
    jm__fit_interval_mix(&said);
    assert_memory_equal(power_w, said.power_w, sizeof power_w);
    assert_memory_equal(covariance, said.covariance, sizeof covariance);
    jm__fit_interval_free(&said);
    release(p);
}

/* Each point is as likely, and as sure around its own powers. */
static void test_powers_of_all_points_become_one_mean_and_covariance(void **state)
{
    (void)state;
    const double power_w[] = {500, 200}, covariance[] = {40, -6, -6, 9};
    const double shift_w[POINTS][2] = {{3, -1}, {-8, 4}, {2, 6}};
    jm__fit_interval interval;
    double mean[2] = {0}, second[4] = {0};
    assert_int_equal(jm__fit_interval_init(&interval, 2, POINTS, NULL), JM_OK);
    memcpy(interval.power_w, power_w, sizeof power_w);
    memcpy(interval.covariance, covariance, sizeof covariance);
    memcpy(interval.shift, shift_w, sizeof shift_w);
    for (int i = 0; i < POINTS * 2; i++)
        mean[i % 2] += (power_w[i % 2] + shift_w[i / 2][i % 2]) / POINTS;
    for (int i = 0; i < POINTS * 4; i++) {
        const double *moved = shift_w[i / 4];
        int k = i / 2 % 2, m = i % 2;
        second[i % 4] +=
            (covariance[i % 4] + (power_w[k] + moved[k] - mean[k]) * (power_w[m] + moved[m] - mean[m])) /
            POINTS;
    }
    jm__fit_interval_mix(&interval);
    for (int k = 0; k < 2; k++)
        assert_true(fabs(interval.power_w[k] - mean[k]) < 1e-9);
    dense_assert_covariance("mixture", interval.covariance, second, 2, 1e-9);
    jm__fit_interval_free(&interval);
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
        cmocka_unit_test(test_errors_that_last_for_a_second_make_the_noise_larger),
        cmocka_unit_test(test_what_the_prior_knows_of_the_response_goes_with_each_point),
        cmocka_unit_test(test_a_kind_that_no_reading_saw_stays_as_it_was_assumed),
        cmocka_unit_test(test_a_response_that_is_known_leaves_powers_as_they_are),
        cmocka_unit_test(test_powers_of_all_points_become_one_mean_and_covariance),
        cmocka_unit_test(test_a_sample_is_as_large_as_its_step_may_cost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
