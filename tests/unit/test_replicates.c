/* Residuals that come again where the same work comes again, against what was put into them. */
#include "attribute/fit/replicates.h"
#include "dense.h"

enum { COLUMNS = 12, READINGS = 1200, TAU_NS = 13000000, PERIOD_NS = 20000000, PARTS = 24, AHEAD = 10 };

static const jm__response response = {.kind = JM_RESPONSE_FIRST_ORDER, .width_ns = TAU_NS};
static const double power_w[COLUMNS] = {900, 600, 450, 700, 120, 810, 520, 380, 640, 990, 470, 750};

/* A step of parts, each of a kind, after the other for ever: what a kind draws there is off[part] more,
 * relative. */
typedef struct program {
    jm__pieces pieces;
    jm__design design;
    jm_reading readings[READINGS];
    double misfit_square; /* W^2: of the readings */
    size_t count;
} program;

typedef struct wish {
    double misfit, noise_w, drift_w; /* relative; white; one that keeps 0.9 from reading to reading */
    bool at_random;                  /* the parts of a step in another order and length each time */
    size_t readings;
} wish;

static const int64_t part_ns[COLUMNS] = {2100000, 1300000, 3100000, 900000,  1700000, 2500000,
                                         700000,  1900000, 2300000, 1100000, 2900000, 1500000};

/* The misfit as the sensor shows it: its decaying memory, piece by piece. */
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

static program *make(wish of)
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
        off[i] = of.misfit * dense_normal();
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
            p->misfit_square += seen.off_w * seen.off_w / (double)of.readings;
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

static const jm__misfit_seen before = {.square = 77, .u = 5};

static jm__misfit_seen find(program *p, double freedom)
{
    jm__misfit_seen seen = before;
    const jm__pass pass = {.design = &p->design,
                           .readings = p->readings,
                           .count = p->count,
                           .period_ns = PERIOD_NS,
                           .columns = COLUMNS};
    assert_int_equal(jm__replicates_find(&seen, &pass, response, power_w, freedom, NULL), JM_OK);
    return seen;
}

static void test_what_comes_again_with_the_work_is_seen_through_noise(void **state)
{
    (void)state;
    for (int turn = 0; turn < 8; turn++) {
        program *p = make((wish){.misfit = 0.02 * (1 + turn), .noise_w = 15, .readings = READINGS});
        jm__misfit_seen seen = find(p, 1);
        if (!(fabs(seen.square - p->misfit_square) < 3 * seen.u + 0.1 * p->misfit_square))
            fail_msg("%g +- %g W^2, not %g", seen.square, seen.u, p->misfit_square);
        assert_true(seen.u < 0.1 * (225 + p->misfit_square));
        release(p);
    }
}

static void test_noise_and_drift_do_not_come_again(void **state)
{
    (void)state;
    for (int turn = 0; turn < 8; turn++) {
        program *p = make((wish){.noise_w = 10, .drift_w = 10, .readings = READINGS});
        jm__misfit_seen seen = find(p, 1);
        if (!(seen.square < 4 * seen.u && seen.u < 20)) fail_msg("%g +- %g W^2", seen.square, seen.u);
        release(p);
    }
}

/* Of residuals with 0.8 degrees of freedom each, powers took a fifth of the noise, in replicates alike. */
static void test_what_powers_took_is_added(void **state)
{
    (void)state;
    program *p = make((wish){.misfit = 0.1, .noise_w = 10, .readings = READINGS});
    double square = 0;
    jm__design_start(&p->design, response);
    for (size_t i = 2; i + 2 < p->count; i++) /* those that have two on each side */
        square += pow(p->readings[i].value - expected_w(&p->design, p->readings[i].t_ns), 2) /
                  (double)(p->count - 4);
    jm__misfit_seen all = find(p, 1), part = find(p, 0.8);
    assert_true(fabs(part.square - all.square - square * 0.25) < 1e-6 * square);
    assert_true(part.u == all.u);
    release(p);
}

static void test_readings_of_which_no_two_are_alike_tell_nothing(void **state)
{
    (void)state;
    program *p = make((wish){.misfit = 0.05, .noise_w = 5, .at_random = true, .readings = 200});
    jm__misfit_seen seen = find(p, 1);
    assert_true(seen.square == before.square && seen.u == before.u);
    release(p);
    p = make((wish){.misfit = 0.05, .noise_w = 5, .readings = 103}); /* 99 with two on each side */
    seen = find(p, 1);
    assert_true(seen.square == before.square && seen.u == before.u);
    release(p);
    p = make((wish){.misfit = 0.05, .noise_w = 5, .readings = 104});
    seen = find(p, 1);
    assert_true(seen.square != before.square);
    release(p);
}

static void test_more_columns_leave_room_for_fewer_readings(void **state)
{
    (void)state;
    assert_int_equal(jm__replicates_most(10), 1600);
    assert_int_equal(jm__replicates_most(3999), 500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_comes_again_with_the_work_is_seen_through_noise),
        cmocka_unit_test(test_noise_and_drift_do_not_come_again),
        cmocka_unit_test(test_what_powers_took_is_added),
        cmocka_unit_test(test_readings_of_which_no_two_are_alike_tell_nothing),
        cmocka_unit_test(test_more_columns_leave_room_for_fewer_readings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
