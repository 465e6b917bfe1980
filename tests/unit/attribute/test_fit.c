/* The algebra of a fit against formulas: priors, the hold against the total, sums of columns. */
#include "attribute/fit/fit.h"
#include "attribute/fit/levels.h"
#include "attribute/fit/local_noise.h"
#include "attribute/fit/nnls.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { COLUMNS = 3 };

static uint64_t noise_state = 88172645463325252u;

static double uniform(void)
{
    noise_state ^= noise_state << 13;
    noise_state ^= noise_state >> 7;
    noise_state ^= noise_state << 17;
    return ((double)(noise_state >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(void)
{
    return sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform());
}

static jm__prior prior_of(jm_provenance provenance, const double *power_w, const double *u_w)
{
    jm__prior prior;
    prior = (jm__prior){.provenance = provenance, .columns = COLUMNS};
    for (size_t k = 0; k < COLUMNS; k++)
        assert_int_equal(jm__prior_add_power(&prior, k, power_w[k], u_w[k], NULL), JM_OK);
    return prior;
}

static void assert_near(double value, double truth, double within)
{
    if (!(fabs(value - truth) <= within)) fail_msg("%.9g, not %.9g", value, truth);
}

/* Of the sum weights . power. */
static double variance_of(const jm__joint_prior *joint_prior, const double *weights)
{
    return jm__matrix_between(weights, joint_prior->covariance, weights, COLUMNS);
}

/* ---- priors */

static void test_an_error_that_equations_share_does_not_average_out(void **state)
{
    (void)state;
    const double power_w[] = {500, 300, 90}, u_w[] = {10, 10, 5}, shared_w[] = {30, 20, 0};
    jm__prior prior = prior_of(JM_PROVENANCE_ISOLATED, power_w, u_w);
    assert_int_equal(jm__prior_share(&prior, shared_w, NULL), JM_OK);
    const jm__prior *all = &prior;
    jm__joint_prior joint_prior;
    assert_int_equal(jm__joint_prior_make(&joint_prior, all, NULL, 0, (jm__noise_prior){5, 2}, NULL), JM_OK);
    for (size_t k = 0; k < COLUMNS; k++)
        assert_near(joint_prior.power_w[k], power_w[k], 1e-9);
    const double sum[] = {1, 1, 0}, difference[] = {1, -1, 0};
    assert_near(variance_of(&joint_prior, sum), 100 + 100 + 50 * 50, 1e-6);
    assert_near(variance_of(&joint_prior, difference), 100 + 100 + 10 * 10, 1e-6);
    jm__joint_prior_free(&joint_prior);
    jm__prior_free(&prior);
}

/* x0 = 500 +- 100 and x0 = 560 +- 50: the mean weighted by 1/u^2, and the surer one has decided it. */
static void test_priors_of_one_power_are_weighed_by_how_sure_they_are(void **state)
{
    (void)state;
    const double weak_w[] = {500, 400, 90}, weak_u_w[] = {100, 100, 30};
    jm__prior weak = prior_of(JM_PROVENANCE_WEAK, weak_w, weak_u_w), sure;
    sure = (jm__prior){.provenance = JM_PROVENANCE_ISOLATED, .columns = COLUMNS};
    assert_int_equal(jm__prior_add_power(&sure, 0, 560, 50, NULL), JM_OK);
    const jm__prior *all[] = {&weak, &sure};
    jm__joint_prior joint_prior;
    assert_int_equal(jm__joint_prior_make(&joint_prior, all[0], all + 1, 1, (jm__noise_prior){5, 2}, NULL),
                     JM_OK);
    assert_near(joint_prior.power_w[0], 548, 1e-9);
    assert_near(joint_prior.u_w[0], sqrt(2000), 1e-9);
    assert_near(joint_prior.power_w[1], 400, 1e-9);
    assert_near(joint_prior.parts[0].share[0], 0.2 * 2000,
                1e-9); /* (1/100^2) / (1/100^2 + 1/50^2) of the variance */
    assert_near(joint_prior.parts[1].share[0], 0.8 * 2000, 1e-9);
    assert_near(joint_prior.parts[0].share[COLUMNS + 1], 100 * 100, 1e-6);
    assert_near(joint_prior.parts[1].share[COLUMNS + 1], 0, 1e-9);
    jm__joint_prior_free(&joint_prior);
    jm__prior_free(&weak);
    jm__prior_free(&sure);
}

/* One equation of two powers: x0 + x1 = 1000 +- 1 after 500 +- 100 and 300 +- 50 splits the 200 W as 4 to 1.
 */
static void test_an_equation_of_two_powers_moves_the_less_sure_one(void **state)
{
    (void)state;
    const double weak_w[] = {500, 300, 90}, weak_u_w[] = {100, 50, 30}, both[] = {1, 1, 0};
    jm__prior weak = prior_of(JM_PROVENANCE_WEAK, weak_w, weak_u_w), sum;
    sum = (jm__prior){.provenance = JM_PROVENANCE_ISOLATED, .columns = COLUMNS};
    assert_int_equal(jm__prior_add(&sum, both, 1000, 1, NULL), JM_OK);
    const jm__prior *all[] = {&weak, &sum};
    jm__joint_prior joint_prior;
    assert_int_equal(jm__joint_prior_make(&joint_prior, all[0], all + 1, 1, (jm__noise_prior){5, 2}, NULL),
                     JM_OK);
    assert_near(joint_prior.power_w[0], 660, 0.1);
    assert_near(joint_prior.power_w[1], 340, 0.1);
    assert_near(variance_of(&joint_prior, both), 1, 1e-3);
    jm__joint_prior_free(&joint_prior);
    jm__prior_free(&weak);
    jm__prior_free(&sum);
}

static void test_a_prior_without_an_error_is_refused(void **state)
{
    (void)state;
    jm__prior prior;
    jm_error err = {0};
    prior = (jm__prior){.provenance = JM_PROVENANCE_ISOLATED, .columns = COLUMNS};
    assert_int_equal(jm__prior_add_power(&prior, 0, 500, 0, &err), JM_BAD_DATA);
    assert_int_equal(jm__prior_add_power(&prior, 0, NAN, 1, &err), JM_BAD_DATA);
    assert_int_equal(jm__prior_add_power(&prior, 0, 500, 1e-200, &err), JM_BAD_DATA);
    assert_int_equal(jm__prior_add_power(&prior, 0, 0, 1e-200, &err), JM_BAD_DATA);
    assert_int_equal(prior.rows, 0);
    jm__prior_free(&prior);
}

static void test_errors_that_no_numbers_can_have_are_refused(void **state)
{
    (void)state;
    const double power_w[] = {500, 300, 90}, u_w[] = {1, 1, 1};
    const double impossible[] = {0, 9, 0, 9, 0, 0, 0, 0, 0}; /* with u: a correlation of 9 */
    jm__prior prior = prior_of(JM_PROVENANCE_ISOLATED, power_w, u_w);
    const jm__prior *all = &prior;
    jm__joint_prior joint_prior;
    assert_int_equal(jm__prior_covary(&prior, impossible, NULL), JM_OK);
    assert_int_equal(jm__joint_prior_make(&joint_prior, all, NULL, 0, (jm__noise_prior){5, 2}, NULL),
                     JM_BAD_DATA);
    jm__prior_free(&prior);
}

static void test_what_is_assumed_of_independent_powers_adds_up_by_squares(void **state)
{
    (void)state;
    const double power_w[] = {500, 300, 90}, u_w[] = {0.1, 0.2, 0.3}, weights[] = {1, 2, 0};
    jm__prior prior = prior_of(JM_PROVENANCE_ISOLATED, power_w, u_w);
    const jm__prior *all = &prior;
    jm__joint_prior joint_prior;
    assert_int_equal(jm__joint_prior_make(&joint_prior, all, NULL, 0, (jm__noise_prior){3, 2}, NULL), JM_OK);
    assert_near(variance_of(&joint_prior, weights), 0.01 + 0.16, 1e-12);
    assert_near(joint_prior.noise.noise_w, 3, 0);
    jm__joint_prior_free(&joint_prior);
    assert_int_equal(jm__joint_prior_make(&joint_prior, all, NULL, 0, (jm__noise_prior){0, 0}, NULL), JM_OK);
    assert_near(joint_prior.noise.noise_w, JM_NOISE_UNKNOWN_W, 0); /* a sensor without one */
    jm__joint_prior_free(&joint_prior);
    jm__prior_free(&prior);
}

/* 500 +- 50 W beside 500 +- 100 W has 4 of 5 parts of the mean: so much of an error of the first is its own.
 */
static void test_a_prior_that_moves_takes_the_mean_along_by_its_weight(void **state)
{
    (void)state;
    const double power_w[] = {500, 300, 90}, first_u_w[] = {50, 10, 5}, shift_w[] = {10, -4, 0};
    jm__prior first = prior_of(JM_PROVENANCE_FITTED, power_w, first_u_w), second;
    second = (jm__prior){.provenance = JM_PROVENANCE_GIVEN, .columns = COLUMNS};
    assert_int_equal(jm__prior_add_power(&second, 0, 500, 100, NULL), JM_OK);
    const jm__prior *all[] = {&first, &second};
    for (size_t count = 1; count <= 2; count++) {
        jm__joint_prior joint_prior;
        double moved_w[COLUMNS];
        assert_int_equal(
            jm__joint_prior_make(&joint_prior, all[0], all + 1, count - 1, (jm__noise_prior){5, 2}, NULL),
            JM_OK);
        assert_int_equal(jm__joint_prior_moved_by_first(moved_w, &joint_prior, shift_w, NULL), JM_OK);
        assert_near(moved_w[0], count == 1 ? 10 : 8, 1e-9);
        assert_near(moved_w[1], -4, 1e-9);
        assert_near(moved_w[2], 0, 1e-9);
        jm__joint_prior_free(&joint_prior);
    }
    jm__prior_free(&first);
    jm__prior_free(&second);
}

/* ---- designs */

/* The malloc of a sanitizer gives up where the system's says no. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
__attribute__((visibility("default"))) const char *__tsan_default_options(void);

static const char say_no[] = "allocator_may_return_null=1";

const char *__asan_default_options(void)
{
    return say_no;
}

const char *__tsan_default_options(void)
{
    return say_no;
}

static void test_a_design_without_memory_for_its_blocks_keeps_none(void **state)
{
    (void)state;
    jm__pieces pieces = {.file = 0, .largest = SIZE_MAX / 64}; /* no machine has so much */
    jm__design design;
    jm_error err = {0};
    assert_int_equal(jm__design_init(&design, &pieces, COLUMNS, &err), JM_NO_MEMORY);
    assert_null(design.state);
    assert_null(design.cursor.buffer);
}

/* ---- intervals */

/* A board of which no piece is known, and readings that therefore say nothing of any column. */
typedef struct blank {
    jm__pieces pieces;
    jm__design design;
} blank;

static void blank_init(blank *b, size_t columns)
{
    jm__pieces_begin(&b->pieces, 0, 4096);
    assert_true(jm__pieces_end(&b->pieces));
    assert_int_equal(jm__design_init(&b->design, &b->pieces, columns, NULL), JM_OK);
}

static void blank_free(blank *b)
{
    jm__design_free(&b->design);
    jm__pieces_free(&b->pieces);
}

static const jm_sensor steady = {.name = "power", .response = JM_RESPONSE_INSTANT, .noise = 5};

/* Of a column of work and idle ones, by these readings; learnt from the first three. */
static jm__prior assume_readings(size_t columns, const double *watts, size_t count,
                                 const jm__idle_known *idle)
{
    enum { MOST = 8 };
    jm_reading readings[MOST];
    blank b;
    blank_init(&b, columns);
    jm__reading_list learn = {0};
    assert_true(count <= MOST);
    for (size_t i = 0; i < count; i++) {
        readings[i] = (jm_reading){.t_ns = 1 + (int64_t)i, .value = watts[i]};
        if (i < 3) assert_true(jm__vec_push(&learn, readings[i]));
    }
    const jm__fit_input input = {.sensor = &steady,
                                 .readings = readings,
                                 .reading_count = count,
                                 .class_columns = 1,
                                 .columns = columns,
                                 .idle = idle};
    jm__prior prior;
    assert_int_equal(jm__levels_prior(&prior, &input, &b.design, &learn, NULL), JM_OK);
    jm__vec_free(&learn);
    blank_free(&b);
    return prior;
}

static jm__prior assume_three(size_t columns, const jm__idle_known *idle)
{
    return assume_readings(columns, (const double[]){500, 100, 300}, 3, idle);
}

/* Work starts at the mean, 300 +- 30 %; the idle level at 1.4 times the least reading, 140 W, but at most 30
 * % of the work, 90 W +- 60 %. Gaps have most of that error in common, 15 % each to itself. */
static void test_idle_columns_start_from_the_idle_power_and_work_from_the_busy(void **state)
{
    (void)state;
    static const double power_w[] = {300, 90, 90}, u_w[] = {90, 54, 13.5};
    jm__prior prior = assume_three(COLUMNS, NULL);
    assert_int_equal(prior.rows, COLUMNS);
    for (size_t k = 0; k < COLUMNS; k++) {
        assert_near(prior.row[k * COLUMNS + k], 1, 0);
        assert_near(prior.value[k], power_w[k], 1e-6);
        assert_near(prior.u[k], u_w[k], 1e-6);
        for (size_t m = 0; m < COLUMNS; m++)
            assert_near(prior.covariance[k * COLUMNS + m], k == 2 && m == 2 ? 54 * 54 : 0, 1e-6);
    }
    jm__prior_free(&prior);
}

/* A board that rested before or after what is learnt from draws 1.4 times that at rest; readings of 0 W are
 * none. The error is 60 % of it, or 15 % of the work. */
static void test_the_idle_power_is_of_the_least_reading_wherever_it_is(void **state)
{
    (void)state;
    static const struct {
        double watts[5], idle_w, u_w;
    } runs[] = {{{500, 100, 300, 60, 200}, 84, 50.4}, /* the fourth */
                {{500, 60, 340, 61, 300}, 84, 50.4},  /* one that is learnt from */
                {{500, 100, 300, 90, 20}, 28, 45},    /* the last, and 15 % of 300 W */
                {{500, 50, 350, 0, -3}, 70, 45},      /* not those of nothing */
                {{300, 300, 300, 300, 300}, 90, 54}}; /* it never rested: at most 30 % of the work */
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        jm__prior prior = assume_readings(2, runs[i].watts, 5, NULL);
        assert_near(prior.value[0], 300, 1e-6);
        assert_near(prior.value[1], runs[i].idle_w, 1e-6);
        assert_near(prior.u[1], runs[i].u_w, 1e-6);
        jm__prior_free(&prior);
    }
}

/* What is known of gaps takes the place of the least reading, but for before the first work; gaps that
 * nothing is known of are like the mean of the others, 15 % each by itself. All gaps are off together by 12
 * %. */
static void test_gaps_start_from_what_is_known_of_them(void **state)
{
    (void)state;
    enum { ALL = 1 + JM_IDLE_STATES };
    static const jm__idle_known known = {
        .power_w = {NAN, NAN, NAN, 160, 120}, .u_w = {0, 0, 0, 13, 10}, .together_u = 0.12};
    static const double power_w[] = {300, 90, 140, 140, 160, 120}, u_w[] = {90, 54, 21, 21, 13, 10};
    jm__prior prior = assume_three(ALL, &known);
    for (size_t k = 0; k < ALL; k++) {
        assert_near(prior.value[k], power_w[k], 1e-6);
        assert_near(prior.u[k], u_w[k], 1e-6);
        for (size_t m = 0; m < ALL; m++)
            assert_near(prior.covariance[k * ALL + m],
                        k >= 2 && m >= 2 ? 0.12 * 0.12 * power_w[k] * power_w[m] : 0, 1e-6);
    }
    jm__prior_free(&prior);
}

static void test_without_readings_a_interval_leaves_the_priors_as_they_are(void **state)
{
    (void)state;
    const double power_w[] = {500, 300, 90}, u_w[] = {50, 40, 5}, shared_w[] = {30, 20, 0};
    blank b;
    blank_init(&b, COLUMNS);
    jm__prior prior = prior_of(JM_PROVENANCE_WEAK, power_w, u_w);
    assert_int_equal(jm__prior_share(&prior, shared_w, NULL), JM_OK);
    const jm__prior *all = &prior;
    jm__joint_prior joint_prior;
    assert_int_equal(jm__joint_prior_make(&joint_prior, all, NULL, 0, (jm__noise_prior){5, 2}, NULL), JM_OK);
    const jm__reading_list none = {0};
    const jm__calibration calibration = jm__calibration_of(&steady);
    const jm__fit_interval_input input = {.sensor = &steady,
                                          .design = &b.design,
                                          .readings = &none,
                                          .calibration = &calibration,
                                          .joint_prior = &joint_prior};
    jm__fit_interval interval;
    assert_int_equal(jm__fit_interval_solve(&interval, &input, NULL), JM_OK);
    for (size_t k = 0; k < COLUMNS; k++) {
        assert_near(interval.power_w[k], power_w[k], 1e-9);
        for (size_t m = 0; m < COLUMNS; m++) {
            double truth = shared_w[k] * shared_w[m] + (k == m ? u_w[k] * u_w[k] : 0);
            assert_near(interval.covariance[k * COLUMNS + m], truth, 1e-6);
        }
    }
    jm__fit_interval_free(&interval);
    jm__joint_prior_free(&joint_prior);
    jm__prior_free(&prior);
    blank_free(&b);
}

/* What the rest is unsure of, and on top how much kinds differ: 5 % of work, 10 % of idle, and no less than
 * 1 W. */
static void test_the_rest_teaches_as_surely_as_kinds_are_alike(void **state)
{
    (void)state;
    double power_w[] = {500, 0, 90}, covariance[COLUMNS * COLUMNS] = {0};
    const double difference_w[] = {25, 1, 9};
    for (size_t k = 0; k < COLUMNS; k++)
        covariance[k * COLUMNS + k] = 36;
    blank b;
    blank_init(&b, COLUMNS);
    const jm__reading_list none = {0};
    const jm__calibration calibration = jm__calibration_of(&steady);
    jm__prior prior = prior_of(JM_PROVENANCE_WEAK, (double[]){300, 300, 90}, (double[]){90, 90, 54});
    const jm__prior *all = &prior;
    jm__joint_prior weak, taught;
    assert_int_equal(jm__joint_prior_make(&weak, all, NULL, 0, (jm__noise_prior){5, 2}, NULL), JM_OK);
    const jm__fit_interval_input here = {.sensor = &steady,
                                         .design = &b.design,
                                         .readings = &none,
                                         .calibration = &calibration,
                                         .joint_prior = &weak};
    const jm__fit_interval rest = {
        .columns = COLUMNS, .power_w = power_w, .covariance = covariance, .readings = 1000, .noise_w = 4};
    const jm__transfer_input input = {
        .rest = &rest, .here = &here, .relative_u = (double[]){0.05, 0.05, 0.1}};
    assert_int_equal(jm__transfer_prior(&taught, &input, NULL), JM_OK);
    for (size_t k = 0; k < COLUMNS; k++) {
        assert_near(taught.power_w[k], power_w[k], 1e-9);
        assert_near(taught.u_w[k], hypot(6, difference_w[k]), 1e-9);
    }
    assert_near(taught.noise.noise_w, 4, 0);
    jm__joint_prior_free(&taught);
    jm__joint_prior_free(&weak);
    jm__prior_free(&prior);
    blank_free(&b);
}

/* Readings of one kind that draws 500 + d W here, 5 W up and down. */
typedef struct seen {
    blank board;
    jm__reading_list readings;
    jm__calibration calibration;
    jm__prior prior;
    jm__joint_prior weak;
    jm__fit_interval_input input;
} seen;

static void seen_make(seen *s, double d)
{
    static const uint32_t column_of[] = {0};
    enum { READINGS = 100 };
    const jm__prior *all = &s->prior;
    *s = (seen){.calibration = jm__calibration_of(&steady)};
    jm__pieces_begin(&s->board.pieces, 0, 4096);
    assert_true(jm__pieces_add(&s->board.pieces, 1000000000, 0, 1, false));
    assert_true(jm__pieces_end(&s->board.pieces));
    s->board.pieces.column_of = column_of;
    assert_int_equal(jm__design_init(&s->board.design, &s->board.pieces, 1, NULL), JM_OK);
    for (int r = 0; r < READINGS; r++)
        assert_true(jm__vec_push(&s->readings, ((jm_reading){.t_ns = 1000000 + r * 1000000,
                                                             .value = 500 + d + (r % 2 == 0 ? 5 : -5)})));
    s->prior = (jm__prior){.provenance = JM_PROVENANCE_WEAK, .columns = 1};
    assert_int_equal(jm__prior_add_power(&s->prior, 0, 500, 150, NULL), JM_OK);
    assert_int_equal(jm__joint_prior_make(&s->weak, all, NULL, 0, (jm__noise_prior){5, 2}, NULL), JM_OK);
    s->input = (jm__fit_interval_input){.sensor = &steady,
                                        .design = &s->board.design,
                                        .readings = &s->readings,
                                        .calibration = &s->calibration,
                                        .joint_prior = &s->weak};
}

static void seen_free(seen *s)
{
    jm__joint_prior_free(&s->weak);
    jm__prior_free(&s->prior);
    jm__vec_free(&s->readings);
    blank_free(&s->board);
}

/* One kind, 500 W in the rest to 20 W, and here to about a watt at 500 + d: the same differences as below,
 * but what the rest was unsure of takes its part of d. Six rounds of expectation and maximisation for one
 * number. */
static void test_what_the_rest_was_unsure_of_is_no_difference(void **state)
{
    (void)state;
    double power_w[] = {500}, covariance[] = {400};
    for (double d = 0; d <= 100; d += 50) {
        seen s;
        jm__joint_prior taught;
        seen_make(&s, d);
        const jm__fit_interval rest = {
            .columns = 1, .power_w = power_w, .covariance = covariance, .readings = 1000, .noise_w = 5};
        const jm__transfer_input input = {.rest = &rest, .here = &s.input, .relative_u = (double[]){0.05}};
        assert_int_equal(jm__transfer_prior(&taught, &input, NULL), JM_OK);
        double q = 625;
        for (int round = 0; round < 6; round++) {
            double before = 400 + q,
                   share = q / before; /* of d that is a difference; the readings are sure */
            q = (3 * 625 + share * share * d * d + q - share * share * before) / 4;
        }
        assert_near(taught.u_w[0] * taught.u_w[0], 400 + q, 0.01 * (400 + q));
        jm__joint_prior_free(&taught);
        seen_free(&s);
    }
}

/* One kind, 500 W in the rest to a milliwatt, and here to half a watt at 500 + d. Student's t of 3 degrees of
 * freedom and the spread 25 W (5 %), seen as a normal distribution that made d itself, has the variance
 * (3 * 25^2 + d^2) / 4: half a watt of doubt is a thousandth of it. */
static void test_a_kind_seen_to_draw_otherwise_is_assumed_less(void **state)
{
    (void)state;
    static const double differences_w[] = {0, 25, 100};
    double power_w[] = {500}, covariance[] = {1e-6};
    for (size_t i = 0; i < sizeof differences_w / sizeof *differences_w; i++) {
        double d = differences_w[i];
        jm__joint_prior taught;
        seen s;
        seen_make(&s, d);
        const jm__fit_interval rest = {
            .columns = 1, .power_w = power_w, .covariance = covariance, .readings = 1000, .noise_w = 5};
        const jm__transfer_input input = {.rest = &rest, .here = &s.input, .relative_u = (double[]){0.05}};
        assert_int_equal(jm__transfer_prior(&taught, &input, NULL), JM_OK);
        double truth = (3 * 625 + d * d) / 4;
        assert_near(taught.u_w[0] * taught.u_w[0], truth, 0.01 * truth);
        assert_near(taught.power_w[0], 500, 1e-9);
        jm__joint_prior_free(&taught);
        seen_free(&s);
    }
}

/* ---- the hold */

typedef struct held {
    double power_w[COLUMNS], covariance[COLUMNS * COLUMNS];
    jm__fit fit;
} held;

static const double seconds[COLUMNS] = {2, 1, 0.5};
static const jm_sensor ring = {.name = "power_ring", .noise = 5};

static void make_held(held *h, const double *power_w)
{
    static const double covariance[] = {400, -150, 10, -150, 300, 0, 10, 0, 25};
    memset(h, 0, sizeof *h);
    memcpy(h->power_w, power_w, sizeof h->power_w);
    memcpy(h->covariance, covariance, sizeof covariance);
    h->fit = (jm__fit){.columns = COLUMNS,
                       .power_w = h->power_w,
                       .covariance = h->covariance,
                       .fitted = true,
                       .known = true,
                       .quantile = 1.96};
}

static void hold(held *h, double total_j, double u_j)
{
    const jm__fit_input input = {
        .sensor = &ring,
        .columns = COLUMNS,
        .seconds = seconds,
        .total = {.source = "energy_counter", .energy_j = total_j, .u_j = u_j},
    };
    assert_int_equal(jm__fit_hold(&h->fit, &input, NULL), JM_OK);
}

/* One more equation E = s'x +- u: the covariance is C - C s s'C / (s'C s + u^2) (Sherman and Morrison). In W,
 * and in hundredths of it: no number of the hold has a size of its own. */
static void test_a_total_makes_powers_surer_by_what_it_tells_of_them(void **state)
{
    (void)state;
    for (double scale = 1; scale > 1e-5; scale /= 100) {
        const double power_w[] = {500, 300, 90}, u_j = 12 * scale;
        held before, after;
        make_held(&before, power_w);
        for (size_t i = 0; i < COLUMNS * COLUMNS; i++)
            before.covariance[i] *= scale * scale;
        after = before;
        after.fit.power_w = after.power_w;
        after.fit.covariance = after.covariance;
        hold(&after, 1345 + 6 * scale, u_j);
        assert_true(after.fit.held);
        double with_total[COLUMNS] = {0}, all = u_j * u_j, gain[COLUMNS];
        for (size_t k = 0; k < COLUMNS; k++)
            for (size_t m = 0; m < COLUMNS; m++)
                with_total[k] += before.covariance[k * COLUMNS + m] * seconds[m];
        for (size_t k = 0; k < COLUMNS; k++)
            all += seconds[k] * with_total[k];
        for (size_t k = 0; k < COLUMNS; k++) {
            gain[k] = with_total[k] / all;
            assert_near(after.power_w[k], power_w[k] + gain[k] * 6 * scale, 1e-9 * scale);
        }
        for (size_t k = 0; k < COLUMNS; k++) {
            for (size_t m = 0; m < COLUMNS; m++) {
                assert_near(after.covariance[k * COLUMNS + m],
                            before.covariance[k * COLUMNS + m] - with_total[k] * with_total[m] / all,
                            1e-9 * scale * scale);
            }
        }
    }
}

static void test_a_total_takes_no_power_beyond_its_limits(void **state)
{
    (void)state;
    const double power_w[] = {500, 300, 0.5}, u_j = 12;
    double most_w[] = {505, INFINITY, INFINITY};
    for (double sign = -1; sign <= 1; sign += 2) {
        held h;
        make_held(&h, power_w);
        h.fit.joint_prior.most_w = most_w;
        hold(&h, 1300.25 + sign * 80, u_j);
        assert_true(h.fit.held);
        assert_true(sign < 0 ? h.power_w[0] < 495 : h.power_w[0] == 505);
        assert_true(sign < 0 ? h.power_w[2] == 0 : h.power_w[2] > 0.5);
    }
}

/* Truths drawn from the fit's own covariance and a total as unsure as it says: the rest varies as promised.
 */
static void test_what_is_left_of_the_total_varies_as_the_fit_says(void **state)
{
    (void)state;
    enum { DRAWS = 20000 };
    const double truth_w[] = {500, 300, 90}, u_j = 12;
    double square = 0, promised = 0;
    for (int draw = 0; draw < DRAWS; draw++) {
        /* Rows of the lower factor of make_held's covariance. */
        double a = normal(), b = normal(), c = normal();
        double first = 20 * a, second = -7.5 * a + sqrt(300 - 56.25) * b;
        double l20 = 0.5, l21 = 7.5 * 0.5 / sqrt(300 - 56.25);
        double third = l20 * a + l21 * b + sqrt(25 - l20 * l20 - l21 * l21) * c;
        const double power_w[] = {truth_w[0] + first, truth_w[1] + second, truth_w[2] + third};
        double true_j = 0, sum_j = 0, total_j;
        held h;
        make_held(&h, power_w);
        for (size_t k = 0; k < COLUMNS; k++)
            true_j += seconds[k] * truth_w[k];
        total_j = true_j + u_j * normal();
        hold(&h, total_j, u_j);
        if (!h.fit.held) continue; /* once in 370 times: 3 sigma */
        for (size_t k = 0; k < COLUMNS; k++)
            sum_j += seconds[k] * h.power_w[k];
        square += pow(total_j - sum_j, 2) / DRAWS;
        promised = h.fit.rest_variance;
    }
    assert_near(square / promised, 1,
                0.05); /* a variance from 20,000 draws: 1 %, and the tails cut off: 3 % */
}

/* ---- sums */

static void test_the_covariance_of_sums_is_that_of_their_columns(void **state)
{
    (void)state;
    const double power_w[] = {500, 300, 90};
    const double left[] = {2, 0, 1}, right[] = {0, 3, 1};
    double both[COLUMNS], expected = 0;
    held h;
    make_held(&h, power_w);
    for (size_t i = 0; i < COLUMNS; i++) {
        both[i] = left[i] + right[i];
        for (size_t j = 0; j < COLUMNS; j++)
            expected += left[i] * right[j] * h.covariance[i * COLUMNS + j];
    }
    assert_near(jm__fit_covariance(&h.fit, left, right, NULL), expected, 1e-9);
    assert_near(jm__fit_covariance(&h.fit, both, both, both),
                jm__fit_covariance(&h.fit, left, left, left) +
                    jm__fit_covariance(&h.fit, right, right, right) + 2 * expected,
                1e-9);
}

/* 700 W +- 20 for the first power and 90 W +- 30 for the third one, each given, beside 500, 300 and 90 W +-
 * 100, 50, 10: of the prior's figure of a sum, each prior has a share of its variance. */
static void test_a_sum_owes_most_to_the_prior_that_has_most_of_its_variance(void **state)
{
    (void)state;
    const double weak_w[] = {500, 300, 90}, weak_u_w[] = {100, 50, 10}, power_w[] = {500, 300, 90};
    jm__prior weak = prior_of(JM_PROVENANCE_WEAK, weak_w, weak_u_w), given;
    given = (jm__prior){.provenance = JM_PROVENANCE_GIVEN, .columns = COLUMNS};
    assert_int_equal(jm__prior_add_power(&given, 0, 700, 20, NULL), JM_OK);
    assert_int_equal(jm__prior_add_power(&given, 2, 90, 30, NULL), JM_OK);
    const struct {
        double seconds[COLUMNS];
        jm_provenance assumed;
    } sums[] = {{{1, 0, 0}, JM_PROVENANCE_GIVEN},
                {{0, 1, 0}, JM_PROVENANCE_WEAK},
                {{0, 0, 1}, JM_PROVENANCE_WEAK},
                {{2, 0.5, 0}, JM_PROVENANCE_GIVEN}, /* 4 * 370 of 4 * 385 J^2, and 0.25 * 2500 */
                {{1, 0.5, 0}, JM_PROVENANCE_WEAK}};
    for (int order = 0; order < 2; order++) {
        const jm__prior *all[] = {order == 0 ? &weak : &given, order == 0 ? &given : &weak};
        held h;
        make_held(&h, power_w);
        assert_int_equal(
            jm__joint_prior_make(&h.fit.joint_prior, all[0], all + 1, 1, (jm__noise_prior){5, 2}, NULL),
            JM_OK);
        for (size_t i = 0; i < sizeof sums / sizeof *sums; i++) {
            jm__cell cells[COLUMNS];
            size_t count = 0;
            double prior_j = 0, variance = 0;
            for (uint32_t k = 0; k < COLUMNS; k++) {
                const double each_w[] = {(500 / 1e4 + 700 / 400.0) / (1 / 1e4 + 1 / 400.0), 300, 90};
                const double each_w2[] = {1 / (1 / 1e4 + 1 / 400.0), 2500, 90};
                if (sums[i].seconds[k] > 0)
                    cells[count++] = (jm__cell){.column = 7 + k, .seconds = sums[i].seconds[k]};
                prior_j += sums[i].seconds[k] * each_w[k];
                variance += pow(sums[i].seconds[k], 2) * each_w2[k];
            }
            jm__fit_sum sum = jm__fit_sum_of(&h.fit, cells, count, 7);
            assert_int_equal(sum.assumed, sums[i].assumed);
            assert_near(sum.prior_j, prior_j, 1e-9);
            assert_near(sum.prior_variance, variance, 1e-6);
            assert_near(sum.variance, jm__fit_covariance(&h.fit, sums[i].seconds, sums[i].seconds, NULL),
                        1e-9);
        }
        jm__joint_prior_free(&h.fit.joint_prior);
    }
    jm__prior_free(&weak);
    jm__prior_free(&given);
}

/* ---- totals */

/* 100 W for a second, then 300 W: two readings of one stamp are a jump, as meters that write on a change do.
 */
static void test_two_readings_of_one_stamp_are_a_jump_of_power(void **state)
{
    (void)state;
    static const jm_sensor meter = {
        .name = "power", .response = JM_RESPONSE_INSTANT, .period_ns = 1000000000};
    static const jm_reading readings[] = {
        {.t_ns = 0, .value = 100},
        {.t_ns = 1000000000, .value = 100},
        {.t_ns = 1000000000, .value = 300},
        {.t_ns = 2000000000, .value = 300},
    };
    const jm__board_readings of = {.powers = {{&meter, readings, 4}}, .power_count = 1};
    jm__intervals windows = {0};
    assert_true(jm__intervals_add(&windows, 0, 2000000000));
    assert_near(jm__total_measure(&of, &windows).energy_j, 400, 1e-9);
    jm__vec_free(&windows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_error_that_equations_share_does_not_average_out),
        cmocka_unit_test(test_priors_of_one_power_are_weighed_by_how_sure_they_are),
        cmocka_unit_test(test_an_equation_of_two_powers_moves_the_less_sure_one),
        cmocka_unit_test(test_a_prior_without_an_error_is_refused),
        cmocka_unit_test(test_errors_that_no_numbers_can_have_are_refused),
        cmocka_unit_test(test_what_is_assumed_of_independent_powers_adds_up_by_squares),
        cmocka_unit_test(test_a_prior_that_moves_takes_the_mean_along_by_its_weight),
        cmocka_unit_test(test_a_design_without_memory_for_its_blocks_keeps_none),
        cmocka_unit_test(test_idle_columns_start_from_the_idle_power_and_work_from_the_busy),
        cmocka_unit_test(test_the_idle_power_is_of_the_least_reading_wherever_it_is),
        cmocka_unit_test(test_gaps_start_from_what_is_known_of_them),
        cmocka_unit_test(test_without_readings_a_interval_leaves_the_priors_as_they_are),
        cmocka_unit_test(test_the_rest_teaches_as_surely_as_kinds_are_alike),
        cmocka_unit_test(test_what_the_rest_was_unsure_of_is_no_difference),
        cmocka_unit_test(test_a_kind_seen_to_draw_otherwise_is_assumed_less),
        cmocka_unit_test(test_a_total_makes_powers_surer_by_what_it_tells_of_them),
        cmocka_unit_test(test_a_total_takes_no_power_beyond_its_limits),
        cmocka_unit_test(test_what_is_left_of_the_total_varies_as_the_fit_says),
        cmocka_unit_test(test_the_covariance_of_sums_is_that_of_their_columns),
        cmocka_unit_test(test_a_sum_owes_most_to_the_prior_that_has_most_of_its_variance),
        cmocka_unit_test(test_two_readings_of_one_stamp_are_a_jump_of_power),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
