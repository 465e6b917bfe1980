/* Priors by kernel families, against sums by hand. */
#include "attribute/fit/levels.h"
#include "attribute/fit/prior.h"
#include "attribute/prior/source.h"
#include "attribute/report.h"
#include "figures.h"
#include "synthetic.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void assert_near(double value, double truth, double within)
{
    if (!(fabs(value - truth) <= within)) fail_msg("%.9g, not %.9g", value, truth);
}

/* ---- from names to shares */

enum { CLASSES = 6 };

/* The work of a board by class, each with its column. */
typedef struct ran {
    const char *name;
    uint32_t column;
    double seconds;
    int64_t calls;
} ran;

typedef struct scene {
    jm__board_work work;
    jm__work_set set;
    uint32_t of_use[CLASSES];
    jm_board board;
} scene;

static void make_scene(scene *s, const char *profile, const ran *classes, size_t count, size_t columns)
{
    *s = (scene){0};
    snprintf(s->board.profile, sizeof s->board.profile, "%s", profile);
    s->work.columns = (jm__columns){.of_use = s->of_use, .class_columns = columns};
    for (size_t c = 0; c < count; c++) {
        const jm__class row = {
            .name = classes[c].name, .kind = "kernel", .family = jm__kernel_family_of(classes[c].name)};
        const jm__use_sum sum = {.ran_s = classes[c].seconds, .calls = classes[c].calls};
        const jm__use use = {.class_index = (uint32_t)c};
        assert_true(jm__vec_push(&s->set.classes, row) && jm__vec_push(&s->set.uses.items, use) &&
                    jm__vec_push(&s->work.tally.uses, sum));
        s->of_use[c] = classes[c].column;
    }
}

static jm__expectation *expect(scene *s)
{
    jm__expectation *expected = jm__family_power(&s->board, &s->work, &s->set);
    assert_non_null(expected);
    jm__vec_free(&s->set.classes);
    jm__vec_free(&s->set.uses.items);
    jm__vec_free(&s->work.tally.uses);
    return expected;
}

/* Long calls: a matrix product of 922 W for 3 s and a copy of 618 W for 1 s are 846 W on the average. */
static void test_families_are_assumed_beside_the_mean_of_the_run(void **state)
{
    (void)state;
    static const ran classes[] = {{"nvjet_sm90_tst", 0, 3, 3}, {"[memcpy DtoD]", 1, 1, 1}};
    scene s;
    make_scene(&s, "h200", classes, 2, 2);
    jm__expectation *e = expect(&s);
    assert_near(e[0].share, 922 / 846.0, 1e-4);
    assert_near(e[1].share, 618 / 846.0, 1e-4);
    assert_near(3 * e[0].share + 1 * e[1].share, 4, 1e-9);
    assert_near(e[0].weight, 3 * 922 / (3 * 922 + 618.0), 1e-4);
    assert_near(e[0].weight + e[1].weight, 1, 1e-12);
    assert_true(e[0].family != e[1].family && e[0].kin != e[1].kin);
    assert_near(e[0].kin_u, 0, 0); /* of no other shape */
    free(e);
}

/* Measured powers of each family on an H200 and an H100, W; the sources are in
 * src/attribute/prior/source.c. */
static void test_a_family_draws_what_was_measured_of_its_members(void **state)
{
    (void)state;
    enum { MOST = 11, FAMILIES = 21 };
    static const struct {
        const char *board, *name;
        double power_w[MOST];
    } measured[FAMILIES] = {
        {"h200", "nvjet_sm90_tst", {978, 962, 926, 855, 853, 953, 925}},
        {"h200", "ampere_sgemm_128x64_nn", {629, 658, 612}},
        {"h200", "flash_fwd_kernel", {938, 618, 860}},
        {"h200", "reduce_kernel", {720, 639, 596, 541, 511, 501, 470, 565}},
        {"h200", "batch_norm_collect_statistics_channels_last_kernel", {456}},
        {"h200", "vectorized_elementwise_kernel", {697, 681, 654, 663, 660, 647, 610, 550, 519, 519, 470}},
        {"h200", "vectorized_elementwise_kernel<GeluCUDAKernelImpl>", {793, 722, 740, 685, 774}},
        {"h200", "[memcpy DtoD]", {662, 640, 610, 558, 621}},
        {"h200", "[memset]", {493, 427}},
        {"h200", "vectorized_gather_kernel", {408, 304}},
        {"h100", "nvjet_sm90_tst", {973, 946, 941, 929, 910, 862}},
        {"h100", "cutlass_80_tensorop_bf16_s16816gemm_bf16_256x128", {730, 717, 602, 572}},
        {"h100", "flash_fwd_kernel", {820, 815, 719, 545, 654, 615, 629}},
        {"h100", "sm90_xmma_fprop_implicit_gemm", {903, 802, 778}},
        {"h100", "conv2d_c1_k1_nhwc_kernel", {388}},
        {"h100", "reduce_kernel", {632, 558, 401}},
        {"h100", "batch_norm_collect_statistics_channels_last_kernel", {346, 470, 468, 430, 398, 383}},
        {"h100", "vectorized_elementwise_kernel", {517, 510, 475, 563}},
        {"h100", "vectorized_elementwise_kernel<GeluCUDAKernelImpl>", {663}},
        {"h100", "[memcpy DtoD]", {479, 436, 473}},
        {"h100", "[memset]", {379}},
    };
    double matrix_w = 0;
    for (size_t f = 0; f < FAMILIES; f++) {
        const ran classes[] = {{measured[f].name, 0, 1, 1}, {measured[0].name, 1, 1, 1}};
        double sum_w = 0, square = 0, count = 0;
        for (; count < MOST && measured[f].power_w[(int)count] > 0; count++)
            sum_w += measured[f].power_w[(int)count];
        for (int i = 0; i < (int)count; i++)
            square += pow(measured[f].power_w[i] - sum_w / count, 2);
        if (strcmp(measured[f].name, measured[0].name) == 0) matrix_w = sum_w / count; /* of this board */
        scene s;
        make_scene(&s, measured[f].board, classes, 2, 2);
        jm__expectation *e = expect(&s);
        assert_near(e[0].share / e[1].share * matrix_w, sum_w / count, 1);
        double spread = sqrt(square / fmax(1, count - 1)) / (sum_w / count),
               stated = hypot(e[0].own_u, e[0].kin_u);
        assert_true(stated >
                    0.9 * spread); /* three measurements determine a spread to no better than a tenth */
        free(e);
    }
}

static void test_a_class_that_never_ran_is_passed_over(void **state)
{
    (void)state;
    static const ran classes[] = {
        {"nvjet_sm90_tst", 0, 3, 3}, {"idle_kernel", 1, -1, 0}, {"[memcpy DtoD]", 1, 1, 1}};
    scene s;
    make_scene(&s, "h200", classes, 3, 2);
    jm__expectation *e = expect(&s);
    assert_near(e[0].share, 922 / 846.0, 1e-4);
    assert_near(e[1].share, 618 / 846.0, 1e-4);
    free(e);
}

static void test_a_family_on_another_board_is_assumed_less(void **state)
{
    (void)state;
    static const ran classes[] = {{"nvjet_sm90_tst", 0, 1, 1}, {"[memcpy DtoD]", 1, 1, 1}};
    scene s;
    make_scene(&s, "h100", classes, 2, 2);
    jm__expectation *hopper = expect(&s);
    make_scene(&s, "rtx3090", classes, 2, 2);
    jm__expectation *other = expect(&s);
    for (size_t k = 0; k < 2; k++) {
        assert_near(other[k].share, hopper[k].share, 1e-12);
        assert_true(other[k].family_u > 2 * hopper[k].family_u);
    }
    free(hopper);
    free(other);
}

/* No known family: all draw the mean, with independent errors of 30 %, as if there were no families. */
/* Of 30 %, and half of what a kernel of that length misses of 663 W, 140 of them a gap's. */
static double unknown_u(double us)
{
    double reached_w = 140 + 523 * us / (us + 3.9);
    return hypot(0.3, 0.5 * (663 - reached_w) / reached_w);
}

static void test_kernels_of_unknown_names_draw_the_mean(void **state)
{
    (void)state;
    static const ran classes[] = {{"a", 0, 3, 3}, {"b", 1, 1, 1}};
    scene s;
    make_scene(&s, "h200", classes, 2, 2);
    jm__expectation *e = expect(&s);
    for (size_t k = 0; k < 2; k++) {
        assert_near(e[k].share, 1, 1e-4);
        assert_near(e[k].own_u, unknown_u(1e6), 1e-12);
        assert_near(e[k].family_u, 0, 0);
    }
    free(e);
}

/* It reaches 401.5 W of 663 if it fills the board as slowly as is usual, and is taken to be off by half of
 * what it misses. */
static void test_a_short_kernel_of_an_unknown_name_is_less_sure(void **state)
{
    (void)state;
    static const ran classes[] = {{"a", 0, 3.9e-3, 1000}, {"b", 1, 1, 1}};
    scene s;
    make_scene(&s, "h200", classes, 2, 2);
    jm__expectation *e = expect(&s);
    assert_near(e[0].own_u, hypot(0.3, 0.5 * 261.5 / 401.5), 1e-12);
    assert_near(e[1].own_u, unknown_u(1e6), 1e-12);
    free(e);
}

/* Half of the power above a gap (140 W) at 3.9 us: 140 + (922 - 140) / 2 = 531 W, and nearly all at 10 ms.
 * Memory-bound kernels have half of it at 15 us: 140 + (568 - 140) / 2 = 354 W. */
static void test_a_short_kernel_is_assumed_to_draw_less_than_a_long_one(void **state)
{
    (void)state;
    static const ran classes[] = {
        {"nvjet_short", 0, 3.9, 1000000}, {"nvjet_long", 1, 1, 100}, {"layer_norm", 2, 15, 1000000}};
    scene s;
    make_scene(&s, "h200", classes, 3, 3);
    jm__expectation *e = expect(&s);
    assert_near(e[0].share / e[1].share, 531 / 921.7, 1e-4);
    assert_near(e[2].share / e[1].share, 354 / 921.7, 1e-4);
    free(e);
}

/* Two shapes of one kernel share half of their variance: 15 % are 10.6 % together and 10.6 % alone. */
static void test_shapes_of_one_kernel_are_off_together(void **state)
{
    (void)state;
    static const ran classes[] = {{"nvjet", 0, 1, 1}, {"nvjet", 1, 1, 1}, {"nvjet_other", 2, 1, 1}};
    scene s;
    make_scene(&s, "h200", classes, 3, 3);
    jm__expectation *e = expect(&s);
    assert_int_equal(e[0].kin, e[1].kin);
    assert_true(e[2].kin != e[0].kin);
    for (size_t k = 0; k < 2; k++) {
        assert_near(e[k].kin_u, 0.15 / sqrt(2), 1e-12);
        assert_near(e[k].own_u, 0.15 / sqrt(2), 1e-12);
    }
    assert_near(e[2].own_u, 0.15, 1e-12);
    free(e);
}

/* Rare classes in one column: their mean over time; of no family if they are of several. */
static void test_a_column_of_several_kernels_is_their_mean(void **state)
{
    (void)state;
    static const ran classes[] = {
        {"nvjet", 0, 1, 1}, {"[memcpy DtoD]", 0, 3, 1}, {"[memset]", 1, 1, 1}, {"Memset (Device)", 1, 1, 1}};
    scene s;
    make_scene(&s, "h200", classes, 4, 2);
    jm__expectation *e = expect(&s);
    assert_near(e[0].share / e[1].share, (922 + 3 * 618) / 4.0 / 460, 1e-3);
    assert_near(e[0].own_u, 0.3, 1e-12);
    assert_near(e[0].family_u, 0, 0);
    assert_near(e[1].own_u, 0.1, 1e-12);
    assert_true(e[1].family_u > 0);
    free(e);
}

/* ---- from shares to a prior */

enum { COLUMNS = 4, IDLE = 3 };

static const jm_sensor steady = {.name = "power", .response = JM_RESPONSE_INSTANT, .noise = 5};

/* A board without pieces: readings give only their mean, 300 W, and their minimum, 100 W. */
static jm__joint_prior prior_of(const jm__expectation *expected)
{
    static const jm_reading readings[] = {
        {.t_ns = 1, .value = 500}, {.t_ns = 2, .value = 100}, {.t_ns = 3, .value = 300}};
    jm__pieces pieces = {0};
    jm__design design;
    jm__pieces_begin(&pieces, 0, 4096);
    assert_true(jm__pieces_end(&pieces));
    assert_int_equal(jm__design_init(&design, &pieces, COLUMNS, NULL), JM_OK);
    jm__reading_list learn = {0};
    for (size_t i = 0; i < 3; i++)
        assert_true(jm__vec_push(&learn, readings[i]));
    const jm__fit_input input = {.sensor = &steady,
                                 .readings = readings,
                                 .reading_count = 3,
                                 .class_columns = IDLE,
                                 .columns = COLUMNS,
                                 .expected = expected};
    jm__prior prior;
    jm__joint_prior joint_prior;
    const jm__prior *all = &prior;
    assert_int_equal(jm__levels_prior(&prior, &input, &design, &learn, NULL), JM_OK);
    assert_int_equal(jm__joint_prior_make(&joint_prior, all, NULL, 0, (jm__noise_prior){5, 2}, NULL), JM_OK);
    jm__prior_free(&prior);
    jm__vec_free(&learn);
    jm__design_free(&design);
    jm__pieces_free(&pieces);
    return joint_prior;
}

/* Of a column beside the mean of all, to which each adds its weight of what it is off. */
static double own_variance(const jm__expectation *expected, size_t column)
{
    double of_mean = 0, own = pow(expected[column].own_u, 2);
    for (size_t k = 0; k < IDLE; k++)
        of_mean += pow(expected[k].weight * expected[k].own_u, 2);
    return fmax(own, own * (1 - 2 * expected[column].weight) + of_mean);
}

/* Powers p = 300 share. Family 1 (columns 0 and 1, 80 % of the energy) is off by 10 %, family 2 (column 2) by
 * 20 %, and what a family draws more the rest draws less: column k of family f moves by
 * p_k (d_fg - w_g) u_g for each family g. Columns 0 and 1 are kin, of 5 %; each has an error of its own. */
static void test_a_priors_covariance_is_that_of_its_families(void **state)
{
    (void)state;
    static const jm__expectation expected[IDLE] = {
        {.share = 1.2, .weight = 0.5, .family = 1, .kin = 0, .family_u = 0.1, .kin_u = 0.05, .own_u = 0.08},
        {.share = 1.1, .weight = 0.3, .family = 1, .kin = 0, .family_u = 0.1, .kin_u = 0.05, .own_u = 0.06},
        {.share = 0.6, .weight = 0.2, .family = 2, .kin = 2, .family_u = 0.2, .own_u = 0.1},
    };
    static const double family_u[] = {0.1, 0.2}, weight[] = {0.8, 0.2};
    static const int family[] = {0, 0, 1};
    jm__joint_prior joint_prior = prior_of(expected);
    for (size_t j = 0; j < IDLE; j++) {
        double p_j = 300 * expected[j].share;
        assert_near(joint_prior.power_w[j], p_j, 1e-6);
        for (size_t k = 0; k < IDLE; k++) {
            double p_k = 300 * expected[k].share, relative = j == k ? own_variance(expected, k) : 0;
            for (int g = 0; g < 2; g++)
                relative +=
                    pow(family_u[g], 2) * ((family[j] == g) - weight[g]) * ((family[k] == g) - weight[g]);
            relative += pow(0.05, 2) * ((j < 2) - 0.8) * ((k < 2) - 0.8); /* the kin is the family here */
            assert_near(joint_prior.covariance[j * COLUMNS + k], p_j * p_k * relative, 1e-6 * p_j * p_k);
        }
        assert_near(joint_prior.covariance[j * COLUMNS + IDLE], 0, 1e-6); /* idle has no part in it */
    }
    jm__joint_prior_free(&joint_prior);
}

/* The prior of a run with one family is the run's mean, without an error of the family. */
static void test_where_all_is_one_family_the_mean_of_the_run_decides(void **state)
{
    (void)state;
    jm__expectation expected[IDLE];
    for (size_t k = 0; k < IDLE; k++)
        expected[k] = (jm__expectation){.share = 1,
                                        .weight = 1.0 / IDLE,
                                        .family = 3,
                                        .kin = (uint32_t)k,
                                        .family_u = 0.25,
                                        .own_u = 0.12};
    jm__joint_prior joint_prior = prior_of(expected);
    for (size_t k = 0; k < IDLE; k++) {
        assert_near(joint_prior.power_w[k], 300, 1e-6);
        assert_near(joint_prior.u_w[k], 0.12 * 300, 1e-6);
    }
    jm__joint_prior_free(&joint_prior);
}

/* Readings show that column 0 draws 20 % more than its prior, and nothing about the others. Column 1, of its
 * family, then draws more too, by their covariance over the variance of column 0, and column 2 draws less. */
static void test_one_kernel_that_is_found_off_takes_its_family_along(void **state)
{
    (void)state;
    static const jm__expectation expected[IDLE] = {
        {.share = 1, .weight = 0.4, .family = 1, .kin = 0, .family_u = 0.1, .own_u = 0.05},
        {.share = 1, .weight = 0.2, .family = 1, .kin = 1, .family_u = 0.1, .own_u = 0.05},
        {.share = 1, .weight = 0.4, .family = 2, .kin = 2, .family_u = 0.1, .own_u = 0.05},
    };
    jm__joint_prior joint_prior = prior_of(expected);
    jm__posterior posterior;
    jm__qr data;
    assert_int_equal(jm__qr_init(&data, COLUMNS, NULL), JM_OK);
    for (int i = 0; i < 4000; i++)
        jm__qr_add(&data, (double[COLUMNS]){1}, 360 + (i % 2 ? 5 : -5));
    jm__qr_finish(&data);
    assert_int_equal(jm__posterior_init(&posterior, COLUMNS, NULL), JM_OK);
    assert_int_equal(jm__posterior_solve(&posterior, &data, &joint_prior, NULL), JM_OK);
    for (size_t k = 0; k < IDLE; k++) {
        double moved_w = 60 * joint_prior.covariance[k] / joint_prior.covariance[0];
        assert_near(posterior.power_w[k], 300 + moved_w, 0.1);
    }
    assert_true(posterior.power_w[1] > 310 && posterior.power_w[2] < 290);
    jm__posterior_free(&posterior);
    jm__qr_free(&data);
    jm__joint_prior_free(&joint_prior);
}

/* ---- in a report */

/* 10 s of two alternating kernels of 400 us, 400 and 550 W: the sensor, which averages over 13 ms and is read
 * every 20, sees only their mean, 475 W. */
static synthetic *twins(const char *first, const char *second)
{
    synthetic *s = syn_create(11, 1, 120000);
    snprintf(s->boards[0].profile, sizeof s->boards[0].profile, "h200");
    int64_t a = syn_class(s, first, 1, 400), b = syn_class(s, second, 2, 550);
    for (int64_t now = 1000000000; now < 11000000000; now += 800000) {
        syn_kernel(s, a, 0, 0, now, now + 400000);
        syn_kernel(s, b, 0, 0, now + 400000, now + 800000);
    }
    syn_measure(s, 0, 500000000, 11500000000);
    syn_finish(s);
    return s;
}

static void powers_of_twins(const char *first, const char *second, double power_w[2])
{
    synthetic *s = twins(first, second);
    const jm_report_options options = {.size = sizeof options, .by = JM_BY_KERNEL};
    const char *const names[] = {first, second};
    jm_report *report = NULL;
    assert_int_equal(jm__report_from_dataset(&report, &s->dataset, &options, NULL), JM_OK);
    figures_kept(__BASE_FILE__, report);
    for (size_t i = 0; i < jm_report_row_count(report); i++)
        for (int n = 0; n < 2; n++)
            if (strcmp(jm_report_row(report, i)->path, names[n]) == 0)
                power_w[n] = jm_report_row(report, i)->power_w;
    jm_report_free(report);
    syn_free(s);
}

static void test_kernels_that_always_follow_each_other_are_marked_apart_by_their_families(void **state)
{
    (void)state;
    double unknown_w[2], known_w[2];
    powers_of_twins("a", "b", unknown_w);
    powers_of_twins("my_reduce_kernel", "my_gemm", known_w);
    print_message("truth 400 and 550 W; unknown %.0f and %.0f W, of known families %.0f and %.0f W\n",
                  unknown_w[0], unknown_w[1], known_w[0], known_w[1]);
    assert_near((unknown_w[0] + unknown_w[1]) / 2, 475, 5);
    assert_near((known_w[0] + known_w[1]) / 2, 475, 5);
    for (int n = 0; n < 2; n++) {
        double truth_w = n == 0 ? 400 : 550;
        assert_true(fabs(known_w[n] - truth_w) < 0.7 * fabs(unknown_w[n] - truth_w));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_families_are_assumed_beside_the_mean_of_the_run),
        cmocka_unit_test(test_a_family_draws_what_was_measured_of_its_members),
        cmocka_unit_test(test_a_class_that_never_ran_is_passed_over),
        cmocka_unit_test(test_a_family_on_another_board_is_assumed_less),
        cmocka_unit_test(test_kernels_of_unknown_names_draw_the_mean),
        cmocka_unit_test(test_a_short_kernel_of_an_unknown_name_is_less_sure),
        cmocka_unit_test(test_a_short_kernel_is_assumed_to_draw_less_than_a_long_one),
        cmocka_unit_test(test_shapes_of_one_kernel_are_off_together),
        cmocka_unit_test(test_a_column_of_several_kernels_is_their_mean),
        cmocka_unit_test(test_a_priors_covariance_is_that_of_its_families),
        cmocka_unit_test(test_where_all_is_one_family_the_mean_of_the_run_decides),
        cmocka_unit_test(test_one_kernel_that_is_found_off_takes_its_family_along),
        cmocka_unit_test(test_kernels_that_always_follow_each_other_are_marked_apart_by_their_families),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
