/* Forward selection of groups of parts that draw different power, against the same normal distributions
 * written out: readings y = A x + W d + e, x the powers without prior, d ~ N(0, q) of each selected group. */
#include "attribute/fit/levels.h"
#include "attribute/fit/refine.h"
#include "dense.h"

enum { READINGS = 60, CLASSES = 3, PARTS = 7, ALL = CLASSES + PARTS, SETS = 3 };

#define VARIANCE 16.0

typedef struct problem {
    double rows[READINGS * ALL]; /* A, and W behind it */
    double y[READINGS];
    double information[PARTS * PARTS], score[PARTS]; /* W'M W and W'M y, M taking out what A explains */
    jm__parts parts;
    jm__selection selection;
    double power_w[CLASSES];
} problem;

/* I and g in full. */
static void make_dense(problem *p)
{
    double a[READINGS * CLASSES], w[READINGS * PARTS], whole[CLASSES * CLASSES] = {0}, m[READINGS * READINGS];
    double turned[PARTS * READINGS], half[PARTS * READINGS], one[READINGS * READINGS] = {0};
    for (size_t i = 0; i < READINGS; i++) {
        memcpy(a + i * CLASSES, p->rows + i * ALL, CLASSES * sizeof *a);
        memcpy(w + i * PARTS, p->rows + i * ALL + CLASSES, PARTS * sizeof *w);
        one[i * READINGS + i] = 1;
    }
    dense_around(whole, a, one, READINGS, CLASSES);
    dense_invert(whole, CLASSES);
    for (size_t i = 0; i < READINGS; i++)
        for (size_t j = 0; j < READINGS; j++) {
            m[i * READINGS + j] = i == j;
            for (size_t k = 0; k < CLASSES; k++)
                for (size_t l = 0; l < CLASSES; l++)
                    m[i * READINGS + j] -= a[i * CLASSES + k] * whole[k * CLASSES + l] * a[j * CLASSES + l];
        }
    dense_around(p->information, w, m, READINGS, PARTS);
    dense_transpose(turned, w, READINGS, PARTS);
    dense_multiply(half, turned, m, PARTS, READINGS, READINGS);
    dense_multiply(p->score, half, p->y, PARTS, READINGS, 1);
}

static problem *make(void)
{
    problem *p = calloc(1, sizeof *p);
    jm__qr qr;
    assert_non_null(p);
    assert_int_equal(jm__qr_init(&qr, ALL, NULL), JM_OK);
    for (size_t i = 0; i < READINGS; i++) {
        for (size_t k = 0; k < ALL; k++)
            p->rows[i * ALL + k] = pow(dense_uniform(), 2);
        p->y[i] = 300 + 40 * dense_normal();
        jm__qr_add(&qr, p->rows + i * ALL, p->y[i]);
    }
    jm__qr_finish(&qr);
    make_dense(p);
    p->parts.count = PARTS;
    for (size_t i = 0; i < PARTS; i++)
        p->parts.items[i].column = i < 3 ? 0 : 1;
    p->power_w[0] = 600;
    p->power_w[1] = 10; /* 5 % of it are less than 1 W */
    assert_int_equal(jm__selection_init(&p->selection, &p->parts, p->power_w, &qr, NULL), JM_OK);
    jm__qr_free(&qr);
    return p;
}

static void drop(problem *p)
{
    jm__selection_free(&p->selection);
    free(p);
}

static void assert_near(double value, double truth)
{
    if (!(fabs(value - truth) <= 1e-8 * fmax(1, fabs(truth)))) fail_msg("%.12g, not %.12g", value, truth);
}

static const jm__part_set sets[SETS] = {
    {.first = 0, .bits = 5}, {.first = 3, .bits = 1}, {.first = 3, .bits = 14}};
static const double q[SETS] = {900, 50, 200};

/* The weight of a group in a part: 0 or 1. */
static double in_set(const jm__part_set *set, size_t part)
{
    return part >= set->first && part - set->first < 64 && (set->bits >> (part - set->first) & 1) ? 1 : 0;
}

static double dense_information(const problem *p, const jm__part_set *a, const jm__part_set *b)
{
    double sum = 0;
    for (size_t i = 0; i < PARTS; i++)
        for (size_t j = 0; j < PARTS; j++)
            sum += in_set(a, i) * in_set(b, j) * p->information[i * PARTS + j];
    return sum;
}

static double dense_score(const problem *p, const jm__part_set *set)
{
    double sum = 0;
    for (size_t i = 0; i < PARTS; i++)
        sum += in_set(set, i) * p->score[i];
    return sum;
}

static void pick(problem *p, size_t count)
{
    p->selection.count = count;
    for (size_t i = 0; i < count; i++)
        p->selection.items[i] = (jm__pick){.set = sets[i], .q = q[i]};
    jm__selection_update(&p->selection, VARIANCE);
}

/* (I + v / q)^-1 of the first selections. */
static void dense_selection(const problem *p, double *inverse, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < count; j++)
            inverse[i * count + j] =
                dense_information(p, &sets[i], &sets[j]) + (i == j ? VARIANCE / q[i] : 0);
    dense_invert(inverse, count);
}

/* I and g of a group after the first selections. */
static void dense_seen(const problem *p, const jm__part_set *set, size_t count, double *information,
                       double *score)
{
    double inverse[SETS * SETS];
    *information = dense_information(p, set, set);
    *score = dense_score(p, set);
    if (count == 0) return;
    dense_selection(p, inverse, count);
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < count; j++) {
            double weight = dense_information(p, set, &sets[i]) * inverse[i * count + j];
            *information -= weight * dense_information(p, &sets[j], set);
            *score -= weight * dense_score(p, &sets[j]);
        }
}

static void test_what_readings_tell_of_parts_is_what_classes_leave(void **state)
{
    (void)state;
    problem *p = make();
    for (size_t i = 0; i < PARTS; i++) {
        assert_near(p->selection.score[i], p->score[i]);
        for (size_t j = 0; j < PARTS; j++)
            assert_near(p->selection.information[i * PARTS + j], p->information[i * PARTS + j]);
    }
    drop(p);
}

static void test_of_a_set_that_is_left_which_the_selection_do_not_explain(void **state)
{
    (void)state;
    const jm__part_set groups[] = {{.first = 0, .bits = 2}, {.first = 3, .bits = 6}, {.first = 0, .bits = 5}};
    problem *p = make();
    for (size_t count = 0; count <= SETS; count++) {
        pick(p, count);
        for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
            double information, score;
            dense_seen(p, &groups[i], count, &information, &score);
            assert_near(jm__selection_information(&p->selection, &groups[i]), information);
        }
    }
    drop(p);
}

/* The gain in likelihood by a group, with d ~ N(0, q) and without, less the cost of q's tail; q is the fixed
 * point of expectation and maximisation. */
static void test_a_set_gains_what_it_makes_the_readings_likelier(void **state)
{
    (void)state;
    const jm__part_set groups[] = {{.first = 0, .bits = 2}, {.first = 3, .bits = 6}};
    problem *p = make();
    assert_near(jm__selection_usual_square(&p->selection, &groups[0]), 2 * 30 * 30);
    assert_near(jm__selection_usual_square(&p->selection, &groups[1]), 2); /* no less than 1 W each */
    for (size_t count = 0; count <= SETS; count++) {
        pick(p, count);
        for (size_t i = 0; i < 2; i++) {
            double information, score, found, usual = jm__selection_usual_square(&p->selection, &groups[i]);
            double gain = jm__selection_gain(&p->selection, &groups[i], VARIANCE, &found);
            dense_seen(p, &groups[i], count, &information, &score);
            /* g ~ N(0, v I) without the set, N(0, v I + I q I) with it. */
            double without = VARIANCE * information, with = without + information * information * found;
            double likelier = -(log(with / without) + score * score * (1 / with - 1 / without)) / 2;
            double tail = 3 * log(fmax(1, found / usual)) / 2;
            assert_near(gain, likelier - tail);
            double v = 1 / (information / VARIANCE + 1 / found), d = score / VARIANCE * v;
            double agreed = (3 * usual + d * d + v) / 4;
            if (fabs(found / agreed - 1) > 0.05) fail_msg("q %.6g, should be %.6g", found, agreed);
        }
    }
    drop(p);
}

static void test_picked_sets_differ_by_what_the_readings_say(void **state)
{
    (void)state;
    problem *p = make();
    for (size_t count = 0; count <= SETS; count++) {
        double inverse[SETS * SETS], truth[PARTS] = {0}, found[PARTS];
        pick(p, count);
        if (count > 0) dense_selection(p, inverse, count);
        for (size_t i = 0; i < count; i++) {
            double d = 0;
            for (size_t j = 0; j < count; j++)
                d += inverse[i * count + j] * dense_score(p, &sets[j]);
            for (size_t part = 0; part < PARTS; part++)
                truth[part] += in_set(&sets[i], part) * d;
        }
        memset(found, 0x7f, sizeof found);
        jm__selection_differences(&p->selection, found);
        for (size_t part = 0; part < PARTS; part++)
            assert_near(found[part], truth[part]);
    }
    /* A part differs from its class by the usual spread, and by the groups that it is in. */
    assert_near(jm__selection_differ_w(&p->selection, 0, 0), 30);
    assert_near(jm__selection_differ_w(&p->selection, 0, 5), sqrt(900 + q[0] + q[2]));
    assert_near(jm__selection_differ_w(&p->selection, 1, 2), sqrt(1 + q[1]));
    drop(p);
}

/* Columns 0, 2 and 3 are parts of one class, 1 is a class of its own, 4 is idle. */
static void test_parts_of_a_class_share_what_is_not_known_of_it(void **state)
{
    (void)state;
    enum { COLUMNS = 5 };
    const double power_w[COLUMNS] = {500, 300, 450, 520, 90}, u_w[COLUMNS] = {150, 90, 140, 160, 50};
    uint32_t split_from[COLUMNS] = {0, 1, 0, 0, 4};
    double differs_w[COLUMNS] = {25, 0, 30, 35, 0};
    const jm__columns columns = {.class_columns = 4, .split_from = split_from, .differs_w = differs_w};
    jm__prior prior;
    jm__joint_prior joint_prior;
    const jm__prior *all = &prior;
    prior = (jm__prior){.provenance = JM_PROVENANCE_WEAK, .columns = COLUMNS};
    for (size_t k = 0; k < COLUMNS; k++)
        assert_int_equal(jm__prior_add_power(&prior, k, power_w[k], u_w[k], NULL), JM_OK);
    assert_int_equal(jm__hierarchical_prior(&prior, &columns, NULL), JM_OK);
    assert_int_equal(jm__joint_prior_make(&joint_prior, all, NULL, 0, (jm__noise_prior){5, 2}, NULL), JM_OK);
    for (size_t k = 0; k < COLUMNS; k++) {
        bool part = k == 0 || k == 2 || k == 3;
        assert_near(joint_prior.power_w[k], part ? 500 : power_w[k]);
        for (size_t m = 0; m < COLUMNS; m++) {
            bool both = part && (m == 0 || m == 2 || m == 3);
            double own = k != m ? 0 : part ? differs_w[k] * differs_w[k] : u_w[k] * u_w[k];
            double found = joint_prior.covariance[k * COLUMNS + m];
            if (fabs(found - own - (both ? 150 * 150 : 0)) > 1e-6) fail_msg("%zu, %zu: %.9g", k, m, found);
        }
    }
    jm__joint_prior_free(&joint_prior);
    jm__prior_free(&prior);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_readings_tell_of_parts_is_what_classes_leave),
        cmocka_unit_test(test_of_a_set_that_is_left_which_the_selection_do_not_explain),
        cmocka_unit_test(test_a_set_gains_what_it_makes_the_readings_likelier),
        cmocka_unit_test(test_picked_sets_differ_by_what_the_readings_say),
        cmocka_unit_test(test_parts_of_a_class_share_what_is_not_known_of_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
