/* Late stamps of a ring are moved to the grid of most stamps. The true grid is known. */
#include "attribute/input/ring_grid.h"
#include "base/clock.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#define MS     JM_NS_PER_MS
#define PERIOD (20 * MS)

enum { COUNT = 3000 };

/* Sample n was taken at n periods, of a clock that is `ppm` off ours, and has the value n. */
typedef struct board {
    jm_reading readings[COUNT];
    double ppm;
    int64_t jitter_ns, least_ns, most_ns; /* late stamps: by this much */
    int one_in;                           /* so many of them late */
} board;

static int64_t taken_ns(const board *b, int64_t n)
{
    return llround((double)(n * PERIOD) * (1 + b->ppm * 1e-6));
}

static int64_t some(int64_t most)
{
    return (int64_t)((double)rand() / RAND_MAX * (double)most);
}

static void stamp(board *b)
{
    for (int64_t n = 0; n < COUNT; n++) {
        int64_t late_ns = rand() % b->one_in == 0 ? b->least_ns + some(b->most_ns - b->least_ns) : 0;
        b->readings[n] = (jm_reading){1, taken_ns(b, n) + some(b->jitter_ns) + late_ns, (double)n};
    }
}

/* Largest distance from where the sample was taken, less the jitter's middle. */
static int64_t worst_ns(const board *b, size_t count)
{
    int64_t worst = 0;
    for (size_t i = 0; i < count; i++) {
        int64_t off =
            llabs(b->readings[i].t_ns - taken_ns(b, (int64_t)b->readings[i].value) - b->jitter_ns / 2);
        if (off > worst) worst = off;
    }
    return worst;
}

static board *make(double ppm, int one_in, int64_t least_ns, int64_t most_ns)
{
    static board b;
    srand(7);
    b = (board){.ppm = ppm,
                .jitter_ns = 400 * JM_NS_PER_US,
                .least_ns = least_ns,
                .most_ns = most_ns,
                .one_in = one_in};
    stamp(&b);
    return &b;
}

static void check_grid(double ppm, int one_in, int64_t least_ns, int64_t most_ns)
{
    board *b = make(ppm, one_in, least_ns, most_ns);
    assert_true(worst_ns(b, COUNT) > least_ns - MS);
    assert_int_equal(jm__ring_grid(b->readings, COUNT, PERIOD, false, NULL), JM_OK);
    assert_true(worst_ns(b, COUNT) < 300 * JM_NS_PER_US);
}

static void test_late_stamps_of_an_h200_return_to_their_grid(void **state)
{
    (void)state;
    check_grid(0, 6, 9 * MS, 10 * MS);
    check_grid(100, 6, 9 * MS, 10 * MS);
    check_grid(-100, 6, 9 * MS, 10 * MS);
}

/* Single neighbours do not show it: 23 and 17 ms to both sides look like jitter. */
static void test_late_stamps_of_an_h100_return_to_their_grid(void **state)
{
    (void)state;
    check_grid(15, 5, 2500 * JM_NS_PER_US, 5 * MS);
    check_grid(-30, 4, 2500 * JM_NS_PER_US, 5 * MS);
}

static void test_samples_that_are_missing_do_not_move_the_others(void **state)
{
    (void)state;
    board *b = make(15, 6, 9 * MS, 10 * MS);
    size_t kept = 0;
    for (size_t i = 0; i < COUNT; i++)
        if (i % 500 > 20 && i % 7 != 0) b->readings[kept++] = b->readings[i];
    assert_int_equal(jm__ring_grid(b->readings, kept, PERIOD, false, NULL), JM_OK);
    assert_true(worst_ns(b, kept) < 300 * JM_NS_PER_US);
}

/* The board's clock was set, or another ring began: each side has a grid of its own. */
static void test_a_grid_that_jumps_is_followed(void **state)
{
    (void)state;
    board *b = make(0, 6, 9 * MS, 10 * MS);
    for (size_t i = COUNT / 2; i < COUNT; i++)
        b->readings[i].t_ns += 7 * MS;
    assert_int_equal(jm__ring_grid(b->readings, COUNT, PERIOD, false, NULL), JM_OK);
    for (size_t i = COUNT / 2; i < COUNT; i++)
        b->readings[i].t_ns -= 7 * MS;
    size_t off = 0;
    for (size_t i = 0; i < COUNT; i++)
        off += llabs(b->readings[i].t_ns - taken_ns(b, (int64_t)i) - b->jitter_ns / 2) > 300 * JM_NS_PER_US;
    assert_true(off <= 12); /* near the seam, where neither half of the stamps agrees */
}

static void test_order_stays_and_nothing_is_moved_without_a_grid(void **state)
{
    (void)state;
    board *b = make(0, 6, 9 * MS, 10 * MS);
    b->readings[100].t_ns = b->readings[99].t_ns + 1; /* stamped twice */
    assert_int_equal(jm__ring_grid(b->readings, COUNT, PERIOD, false, NULL), JM_OK);
    for (size_t i = 1; i < COUNT; i++)
        assert_true(b->readings[i].t_ns > b->readings[i - 1].t_ns);

    static jm_reading any[COUNT], before[COUNT];
    int64_t t_ns = 0;
    for (size_t i = 0; i < COUNT; i++)
        before[i] = any[i] = (jm_reading){1, t_ns += MS + some(2 * PERIOD), 0};
    assert_int_equal(jm__ring_grid(any, COUNT, PERIOD, false, NULL), JM_OK);
    assert_int_equal(jm__ring_grid(any, 7, PERIOD, false, NULL), JM_OK); /* too few for a grid */
    assert_int_equal(jm__ring_grid(any, COUNT, 0, false, NULL), JM_OK);  /* unknown period */
    for (size_t i = 0; i < COUNT; i++)
        assert_int_equal(any[i].t_ns, before[i].t_ns);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_late_stamps_of_an_h200_return_to_their_grid),
        cmocka_unit_test(test_late_stamps_of_an_h100_return_to_their_grid),
        cmocka_unit_test(test_samples_that_are_missing_do_not_move_the_others),
        cmocka_unit_test(test_a_grid_that_jumps_is_followed),
        cmocka_unit_test(test_order_stays_and_nothing_is_moved_without_a_grid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
