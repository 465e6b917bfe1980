/* Noise and drift of readings, and their effect on the scores of a fit, against dense covariances and draws.
 */
#include "attribute/fit/calibrate.h"
#include "attribute/fit/discrepancy.h"
#include "base/clock.h"
#include "dense.h"

#define MS JM_NS_PER_MS

enum { COLUMNS = 3 };

/* Work of three alternating columns, seen by a sensor with a very short response. */
typedef struct bench {
    jm__pieces pieces;
    jm__design design;
    jm_reading *readings;
    jm__pass pass;
} bench;

static const jm__response sharp = {.kind = JM_RESPONSE_FIRST_ORDER, .lag_ns = 0, .width_ns = 13.0 * MS};
static const uint32_t column_of[] = {0, 1, 2};

/* Readings each 20 ms; after each `run` of them one is missing. */
static void bench_make(bench *b, size_t count, size_t run)
{
    jm__pieces_begin(&b->pieces, 0, SIZE_MAX);
    for (size_t i = 0; i < 2 * count; i++)
        assert_true(jm__pieces_add(&b->pieces, (int64_t)(i + 1) * 17 * MS, (uint32_t)(i * i % 3), 1, false));
    assert_true(jm__pieces_end(&b->pieces));
    b->pieces.column_of = column_of;
    assert_int_equal(jm__design_init(&b->design, &b->pieces, COLUMNS, NULL), JM_OK);
    b->readings = calloc(count, sizeof *b->readings);
    assert_non_null(b->readings);
    int64_t t_ns = 500 * MS;
    for (size_t i = 0; i < count; i++) {
        t_ns += i % run == 0 ? 40 * MS : 20 * MS;
        b->readings[i] = (jm_reading){1, t_ns, 100 + 200 * dense_uniform()};
    }
    b->pass = (jm__pass){.design = &b->design,
                         .readings = b->readings,
                         .count = count,
                         .period_ns = 20 * MS,
                         .columns = COLUMNS};
}

static void bench_free(bench *b)
{
    jm__design_free(&b->design);
    jm__pieces_free(&b->pieces);
    free(b->readings);
}

static void assert_near(double value, double truth, double within)
{
    if (!(fabs(value - truth) <= within)) fail_msg("%.9g, not %.9g", value, truth);
}

/* White noise and a drift, which begins anew after each gap. */
static double *draw_residuals(const jm__pass *pass, double white, double drift, double keep)
{
    double *residual = calloc(pass->count, sizeof *residual), state = 0;
    assert_non_null(residual);
    for (size_t i = 0; i < pass->count; i++) {
        double fresh = jm__pass_are_neighbours(pass, i) ? sqrt(1 - keep * keep) : 1;
        state = (fresh < 1 ? keep * state : 0) + fresh * sqrt(drift) * dense_normal();
        residual[i] = state + sqrt(white) * dense_normal();
    }
    return residual;
}

static void test_noise_and_drift_are_found_as_they_were_drawn(void **state)
{
    (void)state;
    enum { COUNT = 60000 };
    static const double cases[][3] = {{25, 16, 0.9}, {9, 100, 0.7}, {4, 9, 0.96}, {25, 0, 0.9}};
    bench b;
    bench_make(&b, COUNT, 500);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double white = cases[i][0], drift = cases[i][1], keep = cases[i][2], square = 0;
        double *residual = draw_residuals(&b.pass, white, drift, keep);
        jm__noise noise, twice;
        jm__noise_of_residuals(&noise, &b.pass, residual, COUNT);
        for (size_t k = 0; k < COUNT; k++)
            square += residual[k] * residual[k] / COUNT;
        assert_near(noise.white + noise.drift, square, 1e-9 * square); /* all of it is one or the other */
        assert_near(noise.drift, drift, 0.08 * (drift + white));
        if (drift > 0) assert_near(noise.keep, keep, 0.03);
        /* Half of the freedom taken: twice as much noise. */
        jm__noise_of_residuals(&twice, &b.pass, residual, COUNT / 2);
        assert_near(twice.white, 2 * noise.white, 1e-9 * square);
        assert_near(twice.drift, 2 * noise.drift, 1e-9 * square);
        assert_near(twice.keep, noise.keep, 0);
        free(residual);
    }
    bench_free(&b);
}

static void test_too_few_neighbours_tell_no_noise(void **state)
{
    (void)state;
    for (int enough = 0; enough < 2; enough++) {
        bench b;
        jm__noise noise = {1, 1, 1};
        /* Runs of 40 readings: 20 pairs of a lag of 20 each; 100 pairs are asked for. */
        bench_make(&b, enough ? 200 : 199, 40);
        double *residual = draw_residuals(&b.pass, 25, 0, 0.5);
        jm__noise_of_residuals(&noise, &b.pass, residual, (double)b.pass.count);
        assert_int_equal(noise.white > 0, enough);
        assert_true(noise.drift == 0);
        free(residual);
        bench_free(&b);
    }
}

/* A' S A, S written down in full: white on its diagonal, drift that fades within a run of neighbours. */
static void test_scores_are_those_of_the_noises_covariance(void **state)
{
    (void)state;
    enum { COUNT = 150 };
    static const jm__noise noises[] = {{25, 16, 0.9}, {9, 100, 0.5}, {25, 0, 0}};
    static double rows[COUNT * COLUMNS], s[COUNT * COUNT];
    bench b;
    bench_make(&b, COUNT, 40);
    jm__design_start(&b.design, sharp);
    for (size_t i = 0; i < COUNT; i++)
        jm__pass_row(&b.pass, i, rows + i * COLUMNS);
    for (size_t n = 0; n < sizeof noises / sizeof *noises; n++) {
        double expected[COLUMNS * COLUMNS], found[COLUMNS * COLUMNS];
        for (size_t i = 0; i < COUNT; i++)
            for (size_t j = 0; j < COUNT; j++) {
                double apart = fabs((double)i - (double)j);
                s[i * COUNT + j] = (i == j ? noises[n].white : 0) +
                                   (i / 40 == j / 40 ? noises[n].drift * pow(noises[n].keep, apart) : 0);
            }
        dense_around(expected, rows, s, COUNT, COLUMNS);
        assert_int_equal(jm__noise_scores(&noises[n], &b.pass, sharp, found, NULL), JM_OK);
        for (size_t k = 0; k < COLUMNS * COLUMNS; k++)
            assert_near(found[k], expected[k], 1e-9 * fabs(expected[k]));
    }
    bench_free(&b);
}

static void test_residuals_are_what_powers_leave_of_readings(void **state)
{
    (void)state;
    enum {
        COUNT = 450,
        BLOCK = COUNT / 20
    }; /* a block of a second would be 50: there are to be 20 of them */
    const double x[COLUMNS] = {120, 250, 180};
    double found[COUNT], expected[COUNT], product = 0, pairs = 0;
    double scores[COLUMNS * COLUMNS], dense[COLUMNS * COLUMNS] = {0}, rows[COUNT * COLUMNS];
    bench b;
    bench_make(&b, COUNT, 100);
    jm__design_start(&b.design, sharp);
    for (size_t i = 0; i < COUNT; i++) {
        double *row = rows + i * COLUMNS;
        jm__pass_row(&b.pass, i, row);
        expected[i] = b.readings[i].value - row[0] * x[0] - row[1] * x[1] - row[2] * x[2];
        if (i % 100 == 0) continue;
        product += expected[i] * expected[i - 1];
        pairs += (expected[i] * expected[i] + expected[i - 1] * expected[i - 1]) / 2;
    }
    for (size_t first = 0; first < COUNT; first += BLOCK) {
        double block[COLUMNS] = {0};
        for (size_t i = first; i < first + BLOCK && i < COUNT; i++)
            for (size_t k = 0; k < COLUMNS; k++)
                block[k] += rows[i * COLUMNS + k] * expected[i];
        for (size_t k = 0; k < COLUMNS * COLUMNS; k++)
            dense[k] += block[k / COLUMNS] * block[k % COLUMNS];
    }
    assert_int_equal(jm__pass_residuals(&b.pass, sharp, x, found, scores, NULL), JM_OK);
    for (size_t i = 0; i < COUNT; i++)
        assert_near(found[i], expected[i], 1e-9);
    assert_near(jm__pass_correlation(&b.pass, found), product / pairs, 1e-12);
    for (size_t k = 0; k < COLUMNS * COLUMNS; k++)
        assert_near(scores[k], dense[k], 1e-9 * fabs(dense[k]));
    bench_free(&b);
}

/* Columns 0 and 2 in one, the second at 1.5 times its power. */
static void test_columns_of_a_group_are_added_up_by_their_scale(void **state)
{
    (void)state;
    static const uint32_t group[] = {0, 1, 0};
    static const double scale[] = {1, 1, 1.5};
    bench b;
    bench_make(&b, 50, 50);
    for (size_t i = 0; i < 50; i++) {
        double plain[COLUMNS], grouped[2];
        jm__design_start(&b.design, sharp);
        jm__pass_row(&b.pass, i, plain);
        jm__pass one = b.pass;
        one.group = group;
        one.columns = 2;
        for (int scaled = 0; scaled < 2; scaled++) {
            one.scale = scaled ? scale : NULL;
            jm__design_start(&b.design, sharp);
            jm__pass_row(&one, i, grouped);
            assert_near(grouped[0], plain[0] + (scaled ? 1.5 : 1) * plain[2], 1e-12);
            assert_near(grouped[1], plain[1], 1e-12);
        }
    }
    bench_free(&b);
}

static void choose(jm__reading_list *out, const jm_reading *readings, size_t count,
                   const jm__intervals *windows)
{
    const jm_sensor sensor = {
        .response = JM_RESPONSE_FIRST_ORDER, .lag_ns = 3 * MS, .tau_ns = 10 * MS, .period_ns = 20 * MS};
    out->count = 0;
    assert_int_equal(jm__readings_choose(out, &sensor, readings, count, windows, NULL, NULL), JM_OK);
}

static void test_readings_of_a_window_are_those_that_speak_of_it(void **state)
{
    (void)state;
    enum { COUNT = 200 };
    jm_reading readings[COUNT];
    jm__reading_list list = {0};
    jm__intervals windows = {0};
    for (size_t i = 0; i < COUNT; i++)
        readings[i] = (jm_reading){1, (int64_t)i * 20 * MS + 3 * MS, 100}; /* of 0, 20, 40 ms ... */
    /* A short window uses both of its ends; one longer than 20 time constants of 30 ms omits its first 30 ms.
     */
    assert_true(jm__intervals_add(&windows, 100 * MS, 700 * MS));
    assert_true(jm__intervals_add(&windows, 1000 * MS, 1620 * MS));
    choose(&list, readings, COUNT, &windows);
    assert_int_equal(list.count, 31 + 30);
    assert_int_equal(list.items[0].t_ns, 103 * MS);
    assert_int_equal(list.items[30].t_ns, 703 * MS);
    assert_int_equal(list.items[31].t_ns, 1043 * MS);
    assert_int_equal(list.items[60].t_ns, 1623 * MS);
    /* None of unknown sensors, none twice. */
    readings[10].value = -1;
    readings[11].value = NAN;
    readings[12].value = INFINITY;
    readings[13].value = 0;
    readings[15].t_ns = readings[14].t_ns;
    choose(&list, readings, COUNT, &windows);
    assert_int_equal(list.count, 61 - 4);
    jm__vec_free(&list);
    jm__vec_free(&windows);
}

static void test_a_sample_keeps_blocks_of_neighbours_from_all_of_the_run(void **state)
{
    (void)state;
    enum { COUNT = 10000, MOST = 1000, BLOCKS = 6 };
    jm__reading_list all = {0}, some = {0};
    for (int64_t i = 0; i < COUNT; i++)
        assert_true(jm__vec_push(&all, ((jm_reading){1, i, 100})));
    assert_int_equal(jm__readings_sample(&some, &all, MOST, NULL), JM_OK);
    assert_int_equal(some.count, MOST);
    for (size_t i = 0; i < MOST; i++) /* five of six blocks of 200, each from the beginning of its sixth */
        assert_int_equal(some.items[i].t_ns, (int64_t)((i / 200 * COUNT + BLOCKS - 1) / BLOCKS + i % 200));
    some.count = 0;
    assert_int_equal(jm__readings_sample(&some, &all, COUNT, NULL), JM_OK);
    assert_int_equal(some.count, COUNT);
    jm__vec_free(&all);
    jm__vec_free(&some);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_noise_and_drift_are_found_as_they_were_drawn),
        cmocka_unit_test(test_too_few_neighbours_tell_no_noise),
        cmocka_unit_test(test_scores_are_those_of_the_noises_covariance),
        cmocka_unit_test(test_residuals_are_what_powers_leave_of_readings),
        cmocka_unit_test(test_columns_of_a_group_are_added_up_by_their_scale),
        cmocka_unit_test(test_readings_of_a_window_are_those_that_speak_of_it),
        cmocka_unit_test(test_a_sample_keeps_blocks_of_neighbours_from_all_of_the_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
