/* Powers that differ by context, with more kinds than contexts: the effect on the scores, one difference at a
 * time. */
#include "attribute/fit/discrepancy.h"
#include "dense.h"

enum { COLUMNS = 14, READINGS = 400, CONTEXT = 12, TAU_NS = 13000000, PERIOD_NS = 20000000 };

/* Consecutive pieces of work, each kind of its own length, and their weights in the readings. */
typedef struct program {
    jm__pieces pieces;
    jm__design design;
    jm_reading readings[READINGS];
    double rows[READINGS * COLUMNS];
    double power_w[COLUMNS], length_s[COLUMNS];
    size_t context_of[READINGS]; /* context of each reading */
    double covariance[COLUMNS * COLUMNS];
} program;

static const jm__response response = {.kind = JM_RESPONSE_FIRST_ORDER, .width_ns = TAU_NS};

/* The kind with the largest part of a reading is its context; the twelfth and last context is for all kinds
 * but the eleven most frequent. */
static void name_context(program *p)
{
    size_t largest[READINGS], often[COLUMNS] = {0}, rank[COLUMNS];
    for (size_t i = 0; i < READINGS; i++) {
        const double *row = p->rows + i * COLUMNS;
        largest[i] = 0;
        for (size_t k = 1; k < COLUMNS; k++)
            if (row[k] > row[largest[i]]) largest[i] = k;
        often[largest[i]]++;
    }
    for (size_t k = 0; k < COLUMNS; k++) {
        rank[k] = 0;
        for (size_t m = 0; m < COLUMNS; m++)
            rank[k] += often[m] > often[k] || (often[m] == often[k] && m < k);
    }
    for (size_t i = 0; i < READINGS; i++)
        p->context_of[i] = rank[largest[i]] < CONTEXT ? rank[largest[i]] : CONTEXT - 1;
}

/* `call_ns`: of the first kind; the others take longer and longer. */
static program *make(int64_t call_ns)
{
    static uint32_t column_of[COLUMNS];
    program *p = calloc(1, sizeof *p);
    int64_t now_ns = 0, end_ns = (int64_t)(READINGS + 20) * PERIOD_NS;
    uint32_t before = COLUMNS;
    jm__pieces_begin(&p->pieces, 0, (size_t)1 << 20);
    while (now_ns < end_ns) {
        uint32_t first = (uint32_t)(dense_uniform() * COLUMNS);
        int64_t until_ns =
            now_ns + (int64_t)(4e7 * (0.5 + dense_uniform())); /* a mix of two kinds for so long */
        for (uint32_t i = 0; now_ns < until_ns; i++) {
            uint32_t code = (first + i % 2) % COLUMNS;
            if (code == before) code = (code + 2) % COLUMNS; /* one kind back to back would be one piece */
            before = code;
            now_ns += call_ns + call_ns / 4 * code;
            assert_true(jm__pieces_add(&p->pieces, now_ns, code, 1, false));
        }
    }
    assert_true(jm__pieces_end(&p->pieces));
    for (uint32_t k = 0; k < COLUMNS; k++) {
        column_of[k] = k;
        p->power_w[k] = 300 + 40 * k;
        p->length_s[k] = 1e-9 * (double)(call_ns + call_ns / 4 * k);
        p->covariance[k * COLUMNS + k] = 0;
    }
    p->pieces.column_of = column_of;
    assert_int_equal(jm__design_init(&p->design, &p->pieces, COLUMNS, NULL), JM_OK);
    jm__design_start(&p->design, response);
    for (size_t i = 0; i < READINGS; i++) {
        p->readings[i].t_ns = (int64_t)(i + 10) * PERIOD_NS;
        memcpy(p->rows + i * COLUMNS, jm__design_row(&p->design, p->readings[i].t_ns),
               COLUMNS * sizeof(double));
    }
    name_context(p);
    return p;
}

static void release(program *p)
{
    jm__design_free(&p->design);
    jm__pieces_free(&p->pieces);
    free(p);
}

static const double noise_w = 5, more = 2.5; /* `more`: fitted readings per reading of the pass */

/* By the estimator: u, and what it adds to the scores. */
static double discrepancy_of(program *p, double seen_square, double sensor_square, double *scores)
{
    const jm__pass pass = {.design = &p->design,
                           .readings = p->readings,
                           .count = READINGS,
                           .period_ns = PERIOD_NS,
                           .columns = COLUMNS};
    const jm__discrepancy_of of = {.pass = &pass,
                                   .response = response,
                                   .power_w = p->power_w,
                                   .covariance = p->covariance,
                                   .noise_w = noise_w,
                                   .readings = more * READINGS,
                                   .seen = {.square = seen_square, .u = 0.15 * sensor_square}};
    double u;
    memset(scores, 0, COLUMNS * COLUMNS * sizeof *scores);
    assert_int_equal(jm__discrepancy_add(scores, &u, &of, NULL), JM_OK);
    return u;
}

/* A' (the readings' change if kinds draw d(g) more in context g, less that of the mean over time). */
static void score_of(const program *p, const double *d, double *score)
{
    double mean[COLUMNS] = {0}, time[COLUMNS] = {0};
    for (size_t i = 0; i < READINGS; i++)
        for (size_t k = 0; k < COLUMNS; k++) {
            mean[k] += p->rows[i * COLUMNS + k] * d[p->context_of[i] * COLUMNS + k];
            time[k] += p->rows[i * COLUMNS + k];
        }
    memset(score, 0, COLUMNS * sizeof *score);
    for (size_t i = 0; i < READINGS; i++) {
        const double *row = p->rows + i * COLUMNS;
        double off = 0;
        for (size_t k = 0; k < COLUMNS; k++)
            off += row[k] * (d[p->context_of[i] * COLUMNS + k] - (time[k] > 0 ? mean[k] / time[k] : 0));
        for (size_t k = 0; k < COLUMNS; k++)
            score[k] += row[k] * off;
    }
}

/* A score is linear in the differences: its covariance is a sum over differences. */
static void test_the_rarest_context_are_one_and_differ_from_the_others(void **state)
{
    (void)state;
    program *p = make(400000);
    double scores[COLUMNS * COLUMNS], truth[COLUMNS * COLUMNS] = {0}, score[COLUMNS];
    double u = discrepancy_of(p, 60, 25, scores);
    assert_true(u > 0.01);
    for (size_t g = 0; g < CONTEXT; g++)
        for (size_t l = 0; l < COLUMNS; l++) {
            double d[CONTEXT * COLUMNS] = {0};
            d[g * COLUMNS + l] = u * p->power_w[l] * more;
            score_of(p, d, score);
            for (size_t k = 0; k < COLUMNS; k++)
                for (size_t m = 0; m < COLUMNS; m++)
                    truth[k * COLUMNS + m] += score[k] * score[m];
        }
    dense_assert_covariance("scores", scores, truth, COLUMNS, 1e-9);
    release(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_rarest_context_are_one_and_differ_from_the_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
