/* Repeated residuals of repeated work, against the values put into them. */
#include "attribute/fit/discrepancy.h"
#include "dense.h"

enum { COLUMNS = 12, READINGS = 1200, TAU_NS = 13000000, PERIOD_NS = 20000000, PARTS = 24, AHEAD = 10 };

static const jm__response response = {.kind = JM_RESPONSE_FIRST_ORDER, .width_ns = TAU_NS};
static const double power_w[COLUMNS] = {900, 600, 450, 700, 120, 810, 520, 380, 640, 990, 470, 750};

/* A step of parts, each of a kind, repeated forever: part i draws off[i] more, relative. */
typedef struct program {
    jm__pieces pieces;
    jm__design design;
    jm_reading readings[READINGS];
    double discrepancy_square; /* W^2: of the readings */
    size_t count;
} program;

typedef struct make_options {
    double discrepancy, noise_w, drift_w; /* relative; white; one that keeps 0.9 from reading to reading */
    bool at_random;                       /* the parts of a step in another order and length each time */
    size_t readings;
} make_options;

static const int64_t part_ns[COLUMNS] = {2137000, 1311000, 3173000, 900000,  1700000, 2500000,
                                         700000,  1900000, 2300000, 1100000, 2900000, 1500000};

/* The model discrepancy as the sensor shows it: its decaying memory, piece by piece. */
typedef struct memory {
    double off_w;
    int64_t now_ns;
} memory;

static void pass_time(memory *m, double off_w, int64_t until_ns)
{
    double keep = exp(-(double)(until_ns - m->now_ns) / TAU_NS);
    m->off_w = m->off_w * keep + off_w * (1 - keep);
    m->now_ns = until_ns;
}

static double expected_w(jm__design *design, int64_t t_ns)
{
    const double *row = jm__design_row(design, t_ns);
    double sum = 0;
    for (size_t k = 0; k < COLUMNS; k++)
        sum += row[k] * power_w[k];
    return sum;
}

static program *make(make_options of)
{
    static const uint32_t column_of[COLUMNS] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    program *p = calloc(1, sizeof *p);
    double off[PARTS], drift_w = 0;
    int kind[PARTS];
    memory seen = {0};
    int64_t end_ns = 0;
    assert_non_null(p);
    for (int i = 0; i < PARTS; i++) {
        kind[i] = i % COLUMNS;
        off[i] = of.discrepancy * dense_normal();
    }
    jm__pieces_begin(&p->pieces, 0, (size_t)1 << 20);
    for (size_t at = 0; p->count < of.readings; at++) {
        int i = of.at_random ? (int)(dense_uniform() * PARTS) : (int)(at % PARTS);
        double off_w = off[i] * power_w[kind[i]];
        end_ns += (int64_t)((double)part_ns[kind[i]] * (of.at_random ? 8 * dense_uniform() : 1));
        assert_true(jm__pieces_add(&p->pieces, end_ns, (uint32_t)kind[i], 1, false));
        while (p->count < of.readings && (int64_t)(p->count + AHEAD) * PERIOD_NS <= end_ns) {
            jm_reading *reading = &p->readings[p->count++];
            reading->t_ns = (int64_t)(p->count - 1 + AHEAD) * PERIOD_NS;
            pass_time(&seen, off_w, reading->t_ns);
            drift_w = 0.9 * drift_w + sqrt(1 - 0.81) * of.drift_w * dense_normal();
            reading->value = seen.off_w + of.noise_w * dense_normal() + drift_w;
            p->discrepancy_square += seen.off_w * seen.off_w / (double)of.readings;
        }
        pass_time(&seen, off_w, end_ns);
    }
    assert_true(jm__pieces_end(&p->pieces));
    p->pieces.column_of = column_of;
    assert_int_equal(jm__design_init(&p->design, &p->pieces, COLUMNS, NULL), JM_OK);
    jm__design_start(&p->design, response);
    for (size_t i = 0; i < p->count; i++)
        p->readings[i].value += expected_w(&p->design, p->readings[i].t_ns);
    return p;
}

static void release(program *p)
{
    jm__design_free(&p->design);
    jm__pieces_free(&p->pieces);
    free(p);
}

static const jm__discrepancy_seen before = {.square = 77, .u = 4};
static const double exact[COLUMNS * COLUMNS]; /* powers that are known */

static jm__discrepancy_seen find(program *p, const double *covariance)
{
    jm__discrepancy_seen seen = before;
    const jm__pass pass = {.design = &p->design,
                           .readings = p->readings,
                           .count = p->count,
                           .period_ns = PERIOD_NS,
                           .columns = COLUMNS};
    assert_int_equal(jm__replicates_find(&seen, &pass, response, power_w, covariance, NULL), JM_OK);
    return seen;
}

static void test_what_comes_again_with_the_work_is_seen_through_noise(void **state)
{
    (void)state;
    for (int round = 0; round < 8; round++) {
        program *p =
            make((make_options){.discrepancy = 0.02 * (1 + round), .noise_w = 15, .readings = READINGS});
        jm__discrepancy_seen seen = find(p, exact);
        if (!(fabs(seen.square - p->discrepancy_square) < 3 * seen.u + 0.1 * p->discrepancy_square))
            fail_msg("%g +- %g W^2, not %g", seen.square, seen.u, p->discrepancy_square);
        assert_true(seen.u < 0.1 * (225 + p->discrepancy_square));
        release(p);
    }
}

static void test_noise_and_drift_do_not_come_again(void **state)
{
    (void)state;
    for (int round = 0; round < 8; round++) {
        program *p = make((make_options){.noise_w = 10, .drift_w = 10, .readings = READINGS});
        jm__discrepancy_seen seen = find(p, exact);
        if (!(seen.square < 4 * seen.u && seen.u < 20)) fail_msg("%g +- %g W^2", seen.square, seen.u);
        release(p);
    }
}

/* Powers fitted to pure noise absorb the part of it along their columns, so replicates differ from them in
 * the same way. */
static void test_noise_that_powers_took_is_no_discrepancy(void **state)
{
    (void)state;
    double sum = 0;
    enum { BURSTS = 12 };
    for (int round = 0; round < BURSTS; round++) {
        program *p = make((make_options){.noise_w = 40, .readings = 300});
        double rows[300 * COLUMNS], fitted[300];
        double information[COLUMNS * COLUMNS], covariance[COLUMNS * COLUMNS], scores[COLUMNS], moved[COLUMNS];
        jm__design_start(&p->design, response);
        for (size_t i = 0; i < p->count; i++) {
            memcpy(rows + i * COLUMNS, jm__design_row(&p->design, p->readings[i].t_ns),
                   COLUMNS * sizeof *rows);
            fitted[i] = p->readings[i].value;
            for (size_t k = 0; k < COLUMNS; k++)
                fitted[i] -= rows[i * COLUMNS + k] * power_w[k];
        }
        memset(information, 0, sizeof information);
        memset(scores, 0, sizeof scores);
        for (size_t i = 0; i < p->count; i++)
            for (size_t k = 0; k < COLUMNS; k++) {
                scores[k] += rows[i * COLUMNS + k] * fitted[i];
                for (size_t m = 0; m < COLUMNS; m++)
                    information[k * COLUMNS + m] += rows[i * COLUMNS + k] * rows[i * COLUMNS + m];
            }
        memcpy(covariance, information, sizeof covariance);
        dense_invert(covariance, COLUMNS);
        dense_multiply(moved, covariance, scores, COLUMNS, COLUMNS, 1);
        for (size_t i = 0; i < p->count; i++) /* as if the powers had been those that were fitted */
            for (size_t k = 0; k < COLUMNS; k++)
                p->readings[i].value -= rows[i * COLUMNS + k] * moved[k];
        for (size_t k = 0; k < COLUMNS * COLUMNS; k++)
            covariance[k] *= 1600; /* the noise's variance */
        jm__discrepancy_seen seen = find(p, covariance), blind = find(p, exact);
        assert_true(seen.square < 4 * seen.u);
        sum += seen.square - blind.square;
        release(p);
    }
    assert_true(sum / BURSTS > 10); /* W^2: what would be missed otherwise */
}

static void test_residuals_of_nothing_are_known_no_better_than_the_sensor(void **state)
{
    (void)state;
    program *p = make((make_options){.readings = READINGS});
    jm__discrepancy_seen seen = find(p, exact);
    assert_true(seen.square < 1e-9 && seen.u == before.u);
    release(p);
}

static void test_readings_of_which_no_two_are_alike_tell_nothing(void **state)
{
    (void)state;
    program *p = make((make_options){.discrepancy = 0.05, .noise_w = 5, .at_random = true, .readings = 200});
    jm__discrepancy_seen seen = find(p, exact);
    assert_true(seen.square == before.square && seen.u == before.u);
    release(p);
    p = make(
        (make_options){.discrepancy = 0.05, .noise_w = 5, .readings = 103}); /* 99 with two on each side */
    seen = find(p, exact);
    assert_true(seen.square == before.square && seen.u == before.u);
    release(p);
    p = make((make_options){.discrepancy = 0.05, .noise_w = 5, .readings = 104});
    seen = find(p, exact);
    assert_true(seen.square != before.square);
    release(p);
}

static void test_more_columns_leave_room_for_fewer_readings(void **state)
{
    (void)state;
    assert_int_equal(jm__replicates_most(10), 1600);
    assert_int_equal(jm__replicates_most(999), 500);
    assert_true(jm__replicates_most(99) < 1600 * 2 && jm__replicates_most(99) >= 1600);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_comes_again_with_the_work_is_seen_through_noise),
        cmocka_unit_test(test_noise_and_drift_do_not_come_again),
        cmocka_unit_test(test_noise_that_powers_took_is_no_discrepancy),
        cmocka_unit_test(test_residuals_of_nothing_are_known_no_better_than_the_sensor),
        cmocka_unit_test(test_readings_of_which_no_two_are_alike_tell_nothing),
        cmocka_unit_test(test_more_columns_leave_room_for_fewer_readings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
