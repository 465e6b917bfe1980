/* What sampling of counters draws, by the steps at its edges: boards whose draw is known, with noise, drift
 * and programs that change at an edge. */
#include "attribute/fit/sampler.h"

#include "base/clock.h"
#include "chance.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define MS JM_NS_PER_MS
#define S  JM_NS_PER_S

enum {
    LENGTH_S = 60,
    READINGS = LENGTH_S * 50,
    WORK = 1,
    COLUMNS = WORK + JM_IDLE_STATES + JM_SAMPLER_STATES
};
enum { BUSY = WORK + JM_IDLE_STATES + JM_SAMPLER_BUSY, IDLE = WORK + JM_IDLE_STATES + JM_SAMPLER_IDLE };

static const double work_w = 400, idle_w = 130, busy_draw_w = 27, idle_draw_w = 35;
static const uint32_t column_of[] = {1, 2, 3, 4, 5, 0};

/* A board that works for the first half of the time, or all of it. */
typedef struct board {
    jm__pieces pieces;
    jm__intervals sampled;
    int64_t works_ns; /* until */
    jm_reading readings[READINGS];
} board;

static void sample(board *b, double from_s, double to_s)
{
    assert_true(jm__intervals_add(&b->sampled, (int64_t)(from_s * 1e9), (int64_t)(to_s * 1e9)));
}

static void add(board *b, int64_t to_ns, uint32_t code)
{
    while (b->pieces.end_ns < to_ns)
        assert_true(jm__pieces_add(&b->pieces, jm__pieces_edge_ns(&b->pieces, to_ns), code, 1, false));
}

static void begin(board *b, double works_s)
{
    *b = (board){.works_ns = (int64_t)(works_s * 1e9)};
    sample(b, 5, 6);
    sample(b, 15, 16);
    sample(b, 35, 36);
    sample(b, 45, 46);
}

static void make_pieces(board *b)
{
    jm__pieces_begin(&b->pieces, 0, 1 << 20);
    b->pieces.sampled = &b->sampled;
    add(b, b->works_ns, jm__piece_code(0));
    add(b, LENGTH_S * S, JM_IDLE_LONG);
    assert_true(jm__pieces_end(&b->pieces));
    b->pieces.column_of = column_of;
    b->pieces.sampler_column = BUSY;
}

static const jm__response response = {JM_RESPONSE_BOX, 5.0 * MS, 20.0 * MS};

/* What the board draws as the sensor sees it, with noise; and a slow drift. */
static void read_board(board *b, double noise_w, double drift_w, uint64_t seed)
{
    jm__design design;
    assert_int_equal(jm__design_init(&design, &b->pieces, COLUMNS, NULL), JM_OK);
    jm__design_start(&design, response);
    for (int i = 0; i < READINGS; i++) {
        int64_t t_ns = (int64_t)(i + 1) * 20 * MS;
        const double *row = jm__design_row(&design, t_ns);
        double power_w = row[0] * work_w + row[BUSY] * busy_draw_w + row[IDLE] * idle_draw_w;
        for (int k = WORK; k < WORK + JM_IDLE_STATES; k++)
            power_w += row[k] * idle_w;
        power_w += noise_w * sqrt(12) * (chance_uniform(&seed) - 0.5) + drift_w * sin((double)i / 500);
        b->readings[i] = (jm_reading){.t_ns = t_ns, .value = power_w};
    }
    jm__design_free(&design);
}

/* `known`: as before, [JM_SAMPLER_STATES]. */
static jm__sampler_draws find(board *b, jm__sampler_draws known)
{
    static const double power_w[COLUMNS] = {380, 120, 120, 120, 120, 120, 0, 0}; /* about */
    jm__design design;
    assert_int_equal(jm__design_init(&design, &b->pieces, COLUMNS, NULL), JM_OK);
    const jm__pass pass = {.design = &design,
                           .readings = b->readings,
                           .count = READINGS,
                           .period_ns = 20 * MS,
                           .columns = COLUMNS};
    const jm__sampler_edges edges = {&pass, response, power_w, WORK, &b->sampled};
    assert_int_equal(jm__sampler_steps(&known, &edges, NULL), JM_OK);
    jm__design_free(&design);
    return known;
}

static void end(board *b)
{
    jm__pieces_free(&b->pieces);
    jm__vec_free(&b->sampled);
}

static const jm__sampler_draws usual = {{20, 20}, {15, 15}};

static void test_moments_end_where_sampling_begins_and_ends(void **state)
{
    (void)state;
    static board b;
    jm__design design;
    begin(&b, 30);
    make_pieces(&b);
    assert_int_equal(jm__design_init(&design, &b.pieces, COLUMNS, NULL), JM_OK);
    jm__design_start(&design, (jm__response){JM_RESPONSE_BOX, 0, 100.0 * MS});
    static const struct {
        double t_s, busy, idle;
    } cases[] = {{4.9, 0, 0}, {5.03, 0.3, 0}, {5.5, 1, 0},     {6.04, 0.6, 0}, {6.2, 0, 0},
                 {30, 0, 0},  {35, 0, 0},     {35.05, 0, 0.5}, {46.09, 0, 0.1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const double *row = jm__design_row(&design, (int64_t)(cases[i].t_s * 1e9));
        double others = 0;
        for (int k = 0; k < WORK + JM_IDLE_STATES; k++)
            others += row[k];
        assert_true(fabs(others - 1) < 1e-9);
        assert_true(fabs(row[BUSY] - cases[i].busy) < 1e-9 && fabs(row[IDLE] - cases[i].idle) < 1e-9);
    }
    jm__design_free(&design);
    end(&b);
}

static void test_steps_tell_the_draw_beside_work_and_beside_none(void **state)
{
    (void)state;
    static board b;
    int outside = 0;
    enum { RUNS = 60 };
    begin(&b, 30);
    make_pieces(&b);
    for (uint64_t seed = 1; seed <= RUNS; seed++) {
        read_board(&b, 4, 20, seed);
        jm__sampler_draws found = find(&b, usual);
        const double truth_w[] = {busy_draw_w, idle_draw_w};
        for (int s = 0; s < JM_SAMPLER_STATES; s++) {
            assert_true(found.u_w[s] < 3);
            outside += fabs(found.power_w[s] - truth_w[s]) > 1.96 * found.u_w[s];
        }
    }
    assert_in_range(outside, 0, 14); /* 6 of 120; more than 14: by chance once in 1000 times */
    end(&b);
}

/* As a recorder samples: for 0.6 s, less than an edge is looked at after it has settled. */
static void test_of_short_windows_the_draw_is_not_diluted(void **state)
{
    (void)state;
    static board b;
    b = (board){.works_ns = LENGTH_S * S};
    for (int i = 0; i < 5; i++)
        sample(&b, 5 + 10 * i, 5.6 + 10 * i);
    make_pieces(&b);
    double sum_w = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        read_board(&b, 4, 0, seed);
        jm__sampler_draws found = find(&b, usual);
        assert_true(fabs(found.power_w[JM_SAMPLER_BUSY] - busy_draw_w) < 4 * found.u_w[JM_SAMPLER_BUSY]);
        sum_w += found.power_w[JM_SAMPLER_BUSY] / 20;
    }
    assert_true(fabs(sum_w - busy_draw_w) < 0.7);
    end(&b);
}

static void test_of_a_program_that_is_restless_little_is_learnt(void **state)
{
    (void)state;
    static board b;
    begin(&b, LENGTH_S);
    make_pieces(&b);
    read_board(&b, 4, 0, 1);
    for (int i = 0; i < READINGS; i++)
        b.readings[i].value += i / 30 % 2 == 0 ? 40 : -40; /* it does more and less, for 0.6 s each */
    jm__sampler_draws found = find(&b, usual);
    assert_true(found.u_w[JM_SAMPLER_BUSY] > 9);
    assert_true(fabs(found.power_w[JM_SAMPLER_BUSY] - busy_draw_w) < 2 * found.u_w[JM_SAMPLER_BUSY]);
    assert_true(found.power_w[JM_SAMPLER_IDLE] == 20 && found.u_w[JM_SAMPLER_IDLE] == 15);
    end(&b);
}

/* Work ends where sampling does, and something that nobody knows of begins with it. */
static void test_edges_at_which_more_changes_are_left_out(void **state)
{
    (void)state;
    static board b;
    begin(&b, 16);
    make_pieces(&b);
    read_board(&b, 4, 0, 1);
    for (int i = 35 * 50; i < READINGS; i++)
        b.readings[i].value += 150;
    jm__sampler_draws found = find(&b, usual);
    assert_true(fabs(found.power_w[JM_SAMPLER_BUSY] - busy_draw_w) < 3);
    assert_true(fabs(found.power_w[JM_SAMPLER_IDLE] - idle_draw_w) < 3);
    end(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_moments_end_where_sampling_begins_and_ends),
        cmocka_unit_test(test_steps_tell_the_draw_beside_work_and_beside_none),
        cmocka_unit_test(test_of_short_windows_the_draw_is_not_diluted),
        cmocka_unit_test(test_of_a_program_that_is_restless_little_is_learnt),
        cmocka_unit_test(test_edges_at_which_more_changes_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
