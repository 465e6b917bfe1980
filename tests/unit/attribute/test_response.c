/* The weights of work in a reading: cursors over pieces against a plain list of moments, shares of a reading
 * against the integral of the sensor's response. */
#include "attribute/fit/calibrate.h"
#include "base/clock.h"
#include "chance.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { COLUMNS = 6, MOMENTS_MAX = 20000, SHARES_MAX = 3 };

#define MS JM_NS_PER_MS

/* What ran from `from_ns` to `to_ns`. */
typedef struct moment {
    int64_t from_ns, to_ns;
    int count;
    uint32_t codes[SHARES_MAX];
    double shares[SHARES_MAX];
} moment;

static moment moments[MOMENTS_MAX];
static int moment_count;
static uint64_t seed;

static uint32_t dice(uint32_t sides)
{
    return chance_below(&seed, sides);
}

static void add_moment(jm__pieces *pieces, int64_t length_ns)
{
    assert_true(moment_count < MOMENTS_MAX);
    moment *one = &moments[moment_count];
    int64_t from_ns = moment_count == 0 ? pieces->end_ns : moments[moment_count - 1].to_ns;
    *one = (moment){from_ns, from_ns + length_ns, 1 + (int)dice(SHARES_MAX), {0}, {0}};
    for (int i = 0; i < one->count; i++) {
        one->codes[i] = (dice(2 * COLUMNS / SHARES_MAX)) * SHARES_MAX + (uint32_t)i;
        one->shares[i] = one->count == 1 ? 1 : one->count == 2 ? 0.5 : i == 0 ? 0.5 : 0.25;
        assert_true(
            jm__pieces_add(pieces, one->to_ns, one->codes[i], (float)one->shares[i], i + 1 < one->count));
    }
    moment_count++;
}

/* Two codes a column; of the odd ones a share counts double. */
static uint32_t column_of[2 * COLUMNS];
static double scale_of[2 * COLUMNS];

/* Work of 0.01 to 30 ms, now and then the same again; one moment of more than 2^32 ns. `room`: bytes in
 * memory, as in pieces.h. */
static void make_pieces(jm__pieces *pieces, int count, int64_t start_ns, size_t room, int64_t long_ns)
{
    moment_count = 0;
    seed = 7;
    jm__pieces_begin(pieces, start_ns, room);
    for (int i = 0; i < count; i++)
        add_moment(pieces, i == count / 3 && long_ns > 0 ? long_ns : 10000 + (int64_t)dice(30000000));
    assert_true(jm__pieces_end(pieces));
    for (uint32_t i = 0; i < 2 * COLUMNS; i++) {
        column_of[i] = i / 2;
        scale_of[i] = i % 2 == 0 ? 1 : 2;
    }
    pieces->column_of = column_of;
    pieces->scale_of = scale_of;
}

/* Does a cursor's moment lie where the list has it? Equal work back to back is one moment for the cursor. */
static void check_moment(const jm__piece_cursor *cursor, int first, int last)
{
    assert_int_equal(cursor->now.start_ns, moments[first].from_ns);
    assert_int_equal(cursor->now.end_ns, moments[last].to_ns);
    assert_int_equal(cursor->now.count, moments[first].count);
    for (int i = 0; i < moments[first].count; i++) {
        assert_int_equal(jm__cursor_column(cursor, (size_t)i), column_of[moments[first].codes[i]]);
        assert_true(jm__cursor_share(cursor, (size_t)i) ==
                    moments[first].shares[i] * scale_of[moments[first].codes[i]]);
    }
}

static bool goes_on(int at)
{
    return at + 1 < moment_count && moments[at].count == 1 && moments[at + 1].count == 1 &&
           moments[at].codes[0] == moments[at + 1].codes[0];
}

static void test_a_cursor_gives_all_moments_in_order_from_memory_or_a_file(void **state)
{
    (void)state;
    static const size_t rooms[] = {SIZE_MAX, 100000, 0};
    for (size_t r = 0; r < sizeof rooms / sizeof *rooms; r++) {
        jm__pieces pieces;
        jm__piece_cursor cursor;
        make_pieces(&pieces, MOMENTS_MAX, 12345, rooms[r], 3 * (INT64_C(1) << 32) + 17);
        assert_int_equal(pieces.file >= 0, rooms[r] != SIZE_MAX);
        assert_true(pieces.blocks.count > 5 && pieces.end_ns == moments[moment_count - 1].to_ns);
        assert_int_equal(jm__cursor_init(&cursor, &pieces, NULL), JM_OK);
        int at = 0, block_end = -1;
        for (jm__cursor_seek(&cursor, 0); !jm__cursor_at_end(&cursor); jm__cursor_next(&cursor)) {
            int first = at;
            while (goes_on(at) && moments[at].to_ns < cursor.now.end_ns)
                at++;
            block_end = at;
            check_moment(&cursor, first, at++);
        }
        assert_int_equal(block_end, moment_count - 1);
        /* From any time on: the first moment that ends after it. */
        for (int i = 0; i < 300; i++) {
            int expected = (int)dice((uint32_t)moment_count);
            int64_t t_ns = moments[expected].from_ns + (int64_t)dice(10000);
            jm__cursor_seek(&cursor, t_ns);
            assert_true(cursor.now.start_ns <= t_ns && t_ns < cursor.now.end_ns);
            assert_int_equal(jm__cursor_column(&cursor, 0), column_of[moments[expected].codes[0]]);
            jm__cursor_seek(&cursor, moments[expected].from_ns - 1);
            assert_true(expected == 0 || cursor.now.end_ns >= moments[expected].from_ns);
        }
        jm__cursor_seek(&cursor, pieces.end_ns);
        assert_true(jm__cursor_at_end(&cursor));
        jm__cursor_seek(&cursor, pieces.end_ns - 1);
        assert_false(jm__cursor_at_end(&cursor));
        assert_int_equal(jm__pieces_check(&pieces, NULL), JM_OK);
        jm__cursor_free(&cursor);
        jm__pieces_free(&pieces);
    }
}

static void test_a_file_that_cannot_be_read_is_an_error(void **state)
{
    (void)state;
    jm__pieces pieces;
    jm__piece_cursor cursor;
    make_pieces(&pieces, MOMENTS_MAX, 0, 0, 0);
    assert_int_equal(ftruncate(pieces.file, pieces.file_size - 1), 0);
    assert_int_equal(jm__cursor_init(&cursor, &pieces, NULL), JM_OK);
    for (jm__cursor_seek(&cursor, 0); !jm__cursor_at_end(&cursor);)
        jm__cursor_next(&cursor);
    assert_int_equal(jm__pieces_check(&pieces, NULL), JM_IO);
    jm__cursor_free(&cursor);
    jm__pieces_free(&pieces);
}

static void test_without_a_file_all_stays_in_memory(void **state)
{
    (void)state;
    jm__pieces pieces;
    jm__piece_cursor cursor;
    setenv("TMPDIR", "/nonexistent", 1);
    make_pieces(&pieces, MOMENTS_MAX, 0, 0, 0);
    unsetenv("TMPDIR");
    assert_int_equal(pieces.file, -1);
    assert_int_equal(jm__cursor_init(&cursor, &pieces, NULL), JM_OK);
    jm__cursor_seek(&cursor, pieces.end_ns / 2);
    assert_false(jm__cursor_at_end(&cursor));
    assert_int_equal(jm__pieces_check(&pieces, NULL), JM_OK);
    jm__cursor_free(&cursor);
    jm__pieces_free(&pieces);
}

/* The integral of the response over an interval that ended `near` to `far` ago. */
static double weight(jm__response response, double near, double far)
{
    if (response.kind == JM_RESPONSE_FIRST_ORDER)
        return exp(-near / response.width_ns) - exp(-far / response.width_ns);
    double to = fmin(far, response.width_ns), from = fmin(near, response.width_ns);
    return (to - from) / response.width_ns;
}

static void check_row(const double *row, jm__response response, int64_t t_ns)
{
    double expected[COLUMNS] = {0};
    double seen_ns = (double)t_ns - response.lag_ns;
    for (int i = 0; i < moment_count && (double)moments[i].from_ns < seen_ns; i++) {
        double near = fmax(0, seen_ns - (double)moments[i].to_ns);
        double one = weight(response, near, seen_ns - (double)moments[i].from_ns);
        for (int k = 0; k < moments[i].count; k++)
            expected[column_of[moments[i].codes[k]]] +=
                one * moments[i].shares[k] * scale_of[moments[i].codes[k]];
    }
    for (size_t k = 0; k < COLUMNS; k++)
        if (fabs(row[k] - expected[k]) > 1e-9)
            fail_msg("at %lld column %zu: %.12f, should be %.12f", (long long)t_ns, k, row[k], expected[k]);
}

static void test_a_reading_has_the_shares_of_its_response(void **state)
{
    (void)state;
    const jm__response responses[] = {
        {JM_RESPONSE_FIRST_ORDER, 3.5 * MS, 13.0 * MS}, {JM_RESPONSE_FIRST_ORDER, 0, 0.2 * MS},
        {JM_RESPONSE_BOX, 14.0 * MS, 25.0 * MS},        {JM_RESPONSE_BOX, 25.0 * MS, 1000.0 * MS},
        {JM_RESPONSE_BOX, -6.0 * MS, 3.0 * MS},
    };
    const int64_t start_ns = 5000 * MS;
    jm__pieces pieces;
    jm__design design;
    make_pieces(&pieces, 400, start_ns, SIZE_MAX, 6 * JM_NS_PER_S);
    assert_int_equal(jm__design_init(&design, &pieces, COLUMNS, NULL), JM_OK);
    for (size_t r = 0; r < sizeof responses / sizeof *responses; r++) {
        jm__design_start(&design, responses[r]);
        /* From before all work to after it, with short pauses and pauses longer than the response. */
        int64_t end_ns = pieces.end_ns + 30 * MS;
        for (int64_t t_ns = start_ns - 50 * MS; t_ns < end_ns;) {
            check_row(jm__design_row(&design, t_ns), responses[r], t_ns);
            t_ns += dice(20) == 0 ? 900 * MS : dice(4) == 0 ? 0 : (int64_t)dice(60000000);
        }
    }
    jm__design_free(&design);
    jm__pieces_free(&pieces);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_cursor_gives_all_moments_in_order_from_memory_or_a_file),
        cmocka_unit_test(test_a_file_that_cannot_be_read_is_an_error),
        cmocka_unit_test(test_without_a_file_all_stays_in_memory),
        cmocka_unit_test(test_a_reading_has_the_shares_of_its_response),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
