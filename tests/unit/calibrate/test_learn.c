/* What counters are worth, learnt from kernels in bursts: what is taken as a training set, how weights come
 * out of it, and what each family tells of the others. */
#include "base/status.h"
#include "calibrate/learn.h"
#include "calibrate/weights.h"
#include "counter_samples.h"
#include "dense.h"
#include "figures.h"
#include "synthetic.h"

enum { FEATURES = 5, ROWS = 400, KERNELS = 9, FAMILIES = 4 };

/* ---- weights */

typedef struct sheet {
    jm__training_set_rows rows;
    bool use[ROWS];
    double feature[ROWS * FEATURES], kernel[ROWS * KERNELS], power_w[ROWS];
    double left_out[ROWS];
    bool usable[ROWS];
} sheet;

static const double truth_w[FEATURES] = {200, 80, 0, 350, 120}; /* the last: the constant */

static double residual_w(const sheet *s, size_t row, const double *x)
{
    double rest = s->power_w[row];
    for (size_t k = 0; k < FEATURES; k++)
        rest -= s->feature[row * FEATURES + k] * x[k];
    return rest;
}

static sheet *make_sheet(double noise_w)
{
    sheet *s = calloc(1, sizeof *s);
    s->rows = (jm__training_set_rows){.rows = ROWS,
                                      .features = FEATURES,
                                      .kernels = KERNELS,
                                      .feature = s->feature,
                                      .kernel = s->kernel,
                                      .power_w = s->power_w,
                                      .left_out = s->left_out,
                                      .usable = s->usable};
    for (size_t i = 0; i < ROWS; i++) {
        s->use[i] = s->usable[i] = true;
        for (size_t k = 0; k < FEATURES; k++)
            s->feature[i * FEATURES + k] = k + 1 < FEATURES ? pow(dense_uniform(), 2) : 1;
        s->power_w[i] = noise_w * dense_normal() + residual_w(s, i, truth_w) * -1;
    }
    return s;
}

static jm__weights find(const sheet *s)
{
    jm__weights weights;
    jm_error err = {0};
    if (jm__weights_find(&weights, &s->rows, s->use, &err) != JM_OK) fail_msg("%s", err.text);
    figures_keep(__BASE_FILE__, NULL, weights.x, FEATURES, (uint32_t)weights.used);
    figures_keep(__BASE_FILE__, NULL, (double[]){weights.rms_w, weights.spread_w}, 2, 0);
    return weights;
}

static void assert_weights(const jm__weights *weights, const double *requested_w, double within_w)
{
    for (size_t k = 0; k < FEATURES; k++)
        if (!(fabs(weights->x[k] - requested_w[k]) <= within_w))
            fail_msg("weight %zu: %.3f W, not %.3f W", k, weights->x[k], requested_w[k]);
}

/* 400 readings of 5 W: weights within four of their errors, which are below 1.5 W. */
static void test_weights_are_those_of_the_board(void **state)
{
    (void)state;
    sheet *s = make_sheet(5);
    jm__weights weights = find(s);
    assert_weights(&weights, truth_w, 6);
    assert_true(weights.x[2] >= 0);
    double sizes[ROWS], square = 0;
    size_t used = 0;
    for (size_t i = 0; i < ROWS; i++)
        sizes[i] = fabs(residual_w(s, i, weights.x));
    for (size_t i = 0; i < ROWS; i++) { /* the median by counting */
        size_t below = 0;
        for (size_t j = 0; j < ROWS; j++)
            below += sizes[j] < sizes[i] || (sizes[j] == sizes[i] && j < i);
        if (below == ROWS / 2) assert_true(fabs(weights.spread_w / (1.4826 * sizes[i]) - 1) < 1e-9);
    }
    for (size_t i = 0; i < ROWS; i++) {
        if (sizes[i] > 3 * weights.spread_w) continue;
        square += sizes[i] * sizes[i];
        used++;
    }
    assert_int_equal(weights.used, used); /* it stands */
    assert_true(used > ROWS * 97 / 100 && fabs(weights.spread_w / 5 - 1) < 0.2);
    assert_true(fabs(weights.rms_w / sqrt(square / (double)used) - 1) < 1e-9);
    jm__weights_free(&weights);
    free(s);
}

/* A seventh of the readings is of kernels on zeros: 300 W less at the same counters. */
static void test_readings_that_are_far_off_lead_nobody(void **state)
{
    (void)state;
    sheet *s = make_sheet(5);
    size_t spoilt = 0;
    for (size_t i = 0; i < ROWS; i += 7, spoilt++)
        s->power_w[i] -= 300;
    jm__weights weights = find(s);
    assert_weights(&weights, truth_w, 6);
    assert_true(weights.used <= ROWS - spoilt && weights.used > (ROWS - spoilt) * 97 / 100);
    assert_true(weights.rms_w < 6);
    jm__weights_free(&weights);
    free(s);
}

static void test_readings_that_are_not_to_be_used_are_not(void **state)
{
    (void)state;
    sheet *s = make_sheet(5);
    for (size_t i = 0; i < ROWS; i++) {
        if (i % 4 == 0) continue;
        s->use[i] = false;
        s->power_w[i] = 2000 * dense_uniform();
    }
    jm__weights weights = find(s);
    assert_weights(&weights, truth_w, 12); /* of a quarter of the readings */
    assert_true(weights.used <= ROWS / 4);
    jm__weights_free(&weights);
    free(s);
}

static void test_a_counter_that_never_counts_has_no_weight(void **state)
{
    (void)state;
    sheet *s = make_sheet(5);
    double requested_w[FEATURES];
    memcpy(requested_w, truth_w, sizeof requested_w);
    requested_w[0] = 0;
    for (size_t i = 0; i < ROWS; i++) {
        s->power_w[i] -= truth_w[0] * s->feature[i * FEATURES];
        s->feature[i * FEATURES] = 0;
    }
    jm__weights weights = find(s);
    assert_weights(&weights, requested_w, 6);
    assert_true(weights.x[0] == 0);
    jm__weights_free(&weights);
    free(s);
}

/* Two that always go together: what they are worth together is known, and each gets half of it. */
static void test_counters_that_go_together_share_their_weight(void **state)
{
    (void)state;
    sheet *s = make_sheet(5);
    double requested_w[FEATURES];
    memcpy(requested_w, truth_w, sizeof requested_w);
    requested_w[0] = requested_w[1] = (truth_w[0] + truth_w[1]) / 2;
    for (size_t i = 0; i < ROWS; i++) {
        s->power_w[i] += truth_w[1] * (s->feature[i * FEATURES] - s->feature[i * FEATURES + 1]);
        s->feature[i * FEATURES + 1] = s->feature[i * FEATURES];
    }
    jm__weights weights = find(s);
    assert_weights(&weights, requested_w, 6);
    assert_true(fabs(weights.x[0] - weights.x[1]) < 0.01);
    jm__weights_free(&weights);
    free(s);
}

/* A counter that goes with less power than none is a sign of something else, not of a negative energy. */
static void test_no_event_gives_energy_back(void **state)
{
    (void)state;
    sheet *s = make_sheet(5);
    for (size_t i = 0; i < ROWS; i++)
        s->power_w[i] -= 90 * s->feature[i * FEATURES + 2];
    jm__weights weights = find(s);
    assert_true(weights.x[2] == 0);
    for (size_t k = 0; k < FEATURES; k++)
        assert_true(weights.x[k] >= 0);
    jm__weights_free(&weights);
    free(s);
}

static void test_fewer_readings_than_twice_the_weights_are_too_few(void **state)
{
    (void)state;
    sheet *s = make_sheet(5);
    jm__weights weights;
    jm_error err = {0};
    for (size_t i = 2 * FEATURES; i < ROWS; i++)
        s->use[i] = false;
    weights = find(s);
    jm__weights_free(&weights);
    s->use[3] = false;
    assert_int_equal(jm__weights_find(&weights, &s->rows, s->use, &err), JM_BAD_DATA);
    assert_string_equal(err.text, "9 readings with counters are too few for the weights of 4 counters");
    assert_null(weights.x); /* nothing to free */
    free(s);
}

/* ---- a family left out */

static const size_t family_of[KERNELS] = {0, 0, 1, 1, 2, 2, 3, 3, 4}; /* the last one: nothing but zeros */
static const bool constant[KERNELS] = {false, true, false, false, false, false, false, false, true};

typedef struct school {
    sheet *sheet;
    jm__training_set training_set;
    jm__suite_kernel kernels[KERNELS];
    double rates[KERNELS][FEATURES];
} school;

/* Each reading is of one kernel, or of two; each kernel draws its own bit more or less. */
static school *make_school(void)
{
    static char *names[] = {"f0", "f1", "f2", "f3", "f4"};
    school *s = calloc(1, sizeof *s);
    double own_w[KERNELS];
    s->sheet = make_sheet(0);
    for (size_t k = 0; k < KERNELS; k++) {
        own_w[k] = 30 * dense_normal();
        s->kernels[k] = (jm__suite_kernel){
            .name = names[0], .family = names[family_of[k]], .data = "", .left_out = constant[k]};
        s->kernels[k].rate = s->rates[k];
        for (size_t m = 0; m + 1 < FEATURES; m++)
            s->rates[k][m] = dense_uniform();
    }
    for (size_t i = 0; i < ROWS; i++) {
        double share[KERNELS] = {0};
        size_t first = i % KERNELS, second = (i * 5 + 1 + i / KERNELS) % KERNELS;
        share[first] += i % 3 == 0 ? 0.7 : 1;
        if (i % 3 == 0) share[second] += i % 2 == 0 ? 0.04 : 0.3;
        for (size_t m = 0; m < FEATURES; m++)
            s->sheet->feature[i * FEATURES + m] = m + 1 == FEATURES;
        s->sheet->power_w[i] = truth_w[FEATURES - 1] + 3 * dense_normal();
        s->sheet->usable[i] = true;
        for (size_t k = 0; k < KERNELS; k++) {
            for (size_t m = 0; m + 1 < FEATURES; m++) {
                s->sheet->feature[i * FEATURES + m] += share[k] * s->rates[k][m];
                s->sheet->power_w[i] += share[k] * s->rates[k][m] * truth_w[m];
            }
            s->sheet->power_w[i] += share[k] * own_w[k];
            s->sheet->kernel[i * KERNELS + k] = share[k];
            if (constant[k]) s->sheet->left_out[i] += share[k];
            if (constant[k] && share[k] > 0.02) s->sheet->usable[i] = false;
        }
    }
    s->training_set.kernels.items = s->kernels;
    s->training_set.kernels.count = KERNELS;
    s->training_set.count = FEATURES - 1;
    return s;
}

static void left_out_kept(const jm__left_out *out)
{
    figures_keep(__BASE_FILE__, NULL, out->power_w, KERNELS, (uint32_t)out->families);
    figures_keep(__BASE_FILE__, NULL, out->predicted_w, KERNELS, 0);
    figures_keep(__BASE_FILE__, NULL, out->covariance, (size_t)FEATURES * FEATURES, 0);
}

static void free_school(school *s)
{
    free(s->sheet);
    free(s);
}

/* Weights of all readings in which a family has a twentieth at most. */
static void weights_without(double *x, const school *s, size_t family)
{
    sheet *part = malloc(sizeof *part);
    *part = *s->sheet;
    for (size_t i = 0; i < ROWS; i++) {
        double share = 0;
        for (size_t k = 0; k < KERNELS; k++)
            if (family_of[k] == family) share += s->sheet->kernel[i * KERNELS + k];
        part->use[i] = s->sheet->usable[i] && share <= 0.05;
    }
    jm__weights weights = find(part);
    memcpy(x, weights.x, FEATURES * sizeof *x);
    jm__weights_free(&weights);
    free(part);
}

/* (families - 1) / families * sum of (x_f - mean) (x_f - mean)' */
static void test_the_covariance_of_weights_is_the_jackknife_of_families(void **state)
{
    (void)state;
    school *s = make_school();
    jm__left_out out;
    jm__weights all = find(s->sheet);
    double x[FAMILIES][FEATURES], mean[FEATURES] = {0}, said[FEATURES * FEATURES] = {0};
    assert_int_equal(jm__left_out_find(&out, &s->training_set, &s->sheet->rows, &all, NULL), JM_OK);
    left_out_kept(&out);
    assert_int_equal(out.families, FAMILIES); /* that of zeros is none */
    for (size_t f = 0; f < FAMILIES; f++) {
        weights_without(x[f], s, f);
        for (size_t k = 0; k < FEATURES; k++)
            mean[k] += x[f][k] / FAMILIES;
    }
    for (size_t f = 0; f < FAMILIES; f++)
        for (size_t k = 0; k < FEATURES * FEATURES; k++)
            said[k] += (FAMILIES - 1.0) / FAMILIES * (x[f][k / FEATURES] - mean[k / FEATURES]) *
                       (x[f][k % FEATURES] - mean[k % FEATURES]);
    assert_true(said[0] > 1); /* families differ */
    dense_assert_covariance("jackknife", out.covariance, said, FEATURES, 1e-9);
    jm__left_out_free(&out);
    jm__weights_free(&all);
    free_school(s);
}

/* A kernel's own power: what weights that know none of its family say, and what is left of the readings that
 * a fifth of it is in, and nothing on constant data but itself. */
static void test_a_kernel_is_told_by_weights_that_know_none_of_its_family(void **state)
{
    (void)state;
    school *s = make_school();
    jm__left_out out;
    jm__weights all = find(s->sheet);
    assert_int_equal(jm__left_out_find(&out, &s->training_set, &s->sheet->rows, &all, NULL), JM_OK);
    left_out_kept(&out);
    for (size_t k = 0; k < KERNELS; k++) {
        double x[FEATURES], predicted_w, product = 0, square = 0;
        if (family_of[k] < FAMILIES)
            weights_without(x, s, family_of[k]);
        else
            memcpy(x, all.x, sizeof x); /* in no weights anyhow */
        predicted_w = x[FEATURES - 1];
        for (size_t m = 0; m + 1 < FEATURES; m++)
            predicted_w += x[m] * s->rates[k][m];
        for (size_t i = 0; i < ROWS; i++) {
            double share = s->sheet->kernel[i * KERNELS + k];
            if (share < 0.2 || s->sheet->left_out[i] - (constant[k] ? share : 0) > 0.02) continue;
            product += share * residual_w(s->sheet, i, x);
            square += share * share;
        }
        assert_true(fabs(out.predicted_w[k] - predicted_w) < 1e-9 * predicted_w);
        assert_true(square >= 1);
        assert_true(fabs(out.power_w[k] - predicted_w - product / square) < 1e-6);
    }
    jm__left_out_free(&out);
    jm__weights_free(&all);
    free_school(s);
}

static void test_a_kernel_without_readings_of_its_own_has_no_power(void **state)
{
    (void)state;
    school *s = make_school();
    jm__left_out out;
    jm__weights all = find(s->sheet);
    for (size_t i = 0; i < ROWS; i++) { /* one of them is in no reading by more than a tenth */
        double *share = &s->sheet->kernel[i * KERNELS + 5];
        if (constant[5]) s->sheet->left_out[i] -= 0.9 * *share;
        *share *= 0.1;
    }
    s->kernels[2].rate = NULL; /* no window lay within a burst of this one */
    assert_int_equal(jm__left_out_find(&out, &s->training_set, &s->sheet->rows, &all, NULL), JM_OK);
    left_out_kept(&out);
    for (size_t k = 0; k < KERNELS; k++)
        assert_true((isnan(out.power_w[k]) != 0) == (k == 5 || k == 2));
    assert_true(out.predicted_w[5] > 0);
    assert_true(isnan(out.predicted_w[2]));
    jm__left_out_free(&out);
    jm__weights_free(&all);
    free_school(s);
}

/* ---- how well it does */

/* Kernels of `families` families of 1 to 6 with these errors: of all, of each family, of each kernel. */
static jm__board_model draw_errors(size_t families, double all, double family_u, double own_u)
{
    jm__board_model model = {.kernels = calloc(6 * families, sizeof *model.kernels)};
    for (size_t f = 0; f < families; f++) {
        double together = all + family_u * dense_normal();
        for (size_t n = 0; n <= f % 6; n++) {
            char name[16];
            snprintf(name, sizeof name, "f%zu", f);
            model.kernels[model.kernel_count++] =
                (jm__model_kernel){.name = strdup(name),
                                   .family = strdup(name),
                                   .data = strdup(""),
                                   .power_w = 500,
                                   .predicted_w = 500 * (1 + together + own_u * dense_normal())};
        }
    }
    return model;
}

static jm_learnt cross_validate(jm__board_model *model)
{
    jm_learnt learnt = {0};
    jm_error err = {0};
    if (jm__cross_validate(model, &learnt, &err) != JM_OK) fail_msg("%s", err.text);
    const double values[] = {model->family_u,     model->relative_u, model->gain_u,     learnt.mean_error,
                             learnt.median_error, learnt.p95_error,  learnt.worst_error};
    figures_keep(__BASE_FILE__, NULL, values, sizeof values / sizeof *values, (uint32_t)learnt.kernels);
    return learnt;
}

/* Of 600 families, what their kernels have in common and what each has alone come out to some percent; an
 * error of all of them is one of the gain. */
static void test_errors_of_a_family_are_told_from_those_of_each_kernel(void **state)
{
    (void)state;
    static const struct {
        double all, family_u, own_u;
    } cases[] = {{0, 0.1, 0.05}, {0, 0.04, 0.15}, {0.06, 0.1, 0.08}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        jm__board_model model = draw_errors(600, cases[i].all, cases[i].family_u, cases[i].own_u);
        model.gain_u = 0.03;
        cross_validate(&model);
        assert_true(fabs(model.family_u / cases[i].family_u - 1) < 0.15);
        assert_true(fabs(model.relative_u / cases[i].own_u - 1) < 0.1);
        assert_true(fabs(model.gain_u - hypot(0.03, cases[i].all)) < 0.01);
        jm__model_free(&model);
    }
}

static void test_families_that_are_not_alike_share_no_error(void **state)
{
    (void)state;
    jm__board_model model = draw_errors(600, 0, 0, 0.1);
    cross_validate(&model);
    assert_true(model.family_u < 0.035); /* 0 but for what 600 families can tell */
    assert_true(fabs(model.relative_u / 0.1 - 1) < 0.05);
    jm__model_free(&model);
    model = draw_errors(12, 0, 0, 1e-6); /* better than the data of a kernel let it be */
    cross_validate(&model);
    assert_true(model.relative_u == 0.03);
    jm__model_free(&model);
}

/* Kernels on constant data count for nothing but their number. */
static void test_what_is_told_of_errors_is_of_kernels_in_the_weights(void **state)
{
    (void)state;
    jm__board_model model = draw_errors(12, 0, 0, 0.02);
    for (size_t k = 0; k < model.kernel_count; k++)
        model.kernels[k].predicted_w = 500 * (1 + (k % 2 == 0 ? 0.001 : -0.001) * (double)k);
    model.kernels[model.kernel_count - 2].left_out = true;
    model.kernels[model.kernel_count - 2].predicted_w = 5000;
    size_t last = model.kernel_count - 1, kernels = model.kernel_count - 1;
    jm_learnt learnt = cross_validate(&model);
    assert_int_equal(learnt.left_out, 1);
    assert_int_equal(learnt.kernels, kernels);
    double sum = 0;
    for (size_t k = 0; k <= last; k++)
        if (!model.kernels[k].left_out) sum += 0.001 * (double)k;
    assert_true(fabs(learnt.mean_error - sum / (double)kernels) < 1e-9);
    assert_true(fabs(learnt.median_error - 0.001 * (double)(kernels / 2)) < 1e-9);
    assert_true(learnt.p95_error > 0.9 * 0.001 * (double)last && learnt.p95_error < 0.001 * (double)last);
    assert_string_equal(learnt.worst_family, model.kernels[last].family);
    for (size_t k = 0; k <= last; k++)
        model.kernels[k].left_out = true;
    jm_error err = {0};
    assert_int_equal(jm__cross_validate(&model, &learnt, &err), JM_BAD_DATA);
    assert_string_equal(err.text, "no kernel ran long enough to measure its power");
    assert_int_equal(err.code, 0);
    jm__model_free(&model);
}

/* ---- a training set out of a recording */

enum { BURSTS = 150, BURST_MS = 15, REST_MS = 5, PHASE_MS = BURSTS * (BURST_MS + REST_MS) };

static const int64_t phase_ns = 10 * JM_NS_PER_S;

typedef struct part {
    const char *name, *data, *family;
    double a, b; /* events a second; the clock's go on at rest */
    bool left_out;
} part;

static const part parts[] = {
    {"mm/bf16_4k", "random", "mm", 8e9, 1e9, false}, {"mm/zeros_4k", "", "mm", 8e9, 1e9, true},
    {"copy_float32", "", "copy", 0, 7e9, false},     {"copy_L2", "constant", "copy", 1e9, 2e9, true},
    {"sort", "trained", "sort", 3e9, 3e9, false},    {"norm_a/b", "", "norm_a", 2e9, 6e9, false},
    {"mm/bf16_4k", "zeros", "mm", 8e9, 1e9, true},   {"fill/zeros_like", "random", "fill", 0, 4e9, false},
};

enum { PARTS = sizeof parts / sizeof *parts };

static const double a_w = 400, b_w = 250, rest_w = 100, most = 8e9; /* b_w: at `most` events, too */

static double power_of(const part *p)
{
    double power_w = rest_w + a_w * p->a / most + b_w * p->b / most;
    return p->left_out ? 0.7 * power_w : power_w;
}

typedef struct recorded {
    synthetic *s;
    counter_samples samples;
} recorded;

/* Events of a ms; the last metric is a clock. */
static void add_counts(recorded *scene, int64_t at_ns, const part *p)
{
    const double values[] = {p != NULL ? p->a * 1e-3 : 0, p != NULL ? p->b * 1e-3 : 0, 1.98e6};
    samples_add(&scene->samples, 0, at_ns, at_ns + JM_NS_PER_MS, values);
}

/* A phase of bursts; counters from `early_ms` before it on; the suite has the first `part_count` parts. */
static recorded *make_scene(int early_ms, size_t part_count)
{
    recorded *scene = calloc(1, sizeof *scene);
    synthetic *s = scene->s = syn_create(3, 2, 20000);
    int64_t now = phase_ns;
    s->idle_w = rest_w;
    s->noise_w = 1;
    samples_set(&scene->samples, 1, 3, "[\"a\", \"b\", \"clock\"]", "[\"count\", \"count\", \"count\"]");
    for (size_t p = 0; p < PARTS; p++)
        syn_class(s, parts[p].name, (uint32_t)p + 1, power_of(&parts[p]));
    syn_span(s, JM_SPAN_PHASE, "suite", "", 0, phase_ns, phase_ns + PHASE_MS * JM_NS_PER_MS, 100);
    for (int64_t ms = -early_ms; ms < 0; ms++)
        add_counts(scene, phase_ns + ms * JM_NS_PER_MS, NULL);
    for (size_t n = 0; n < BURSTS; n++) {
        size_t p = n * 3 % part_count; /* each in turn */
        int64_t end_ns = now + BURST_MS * JM_NS_PER_MS;
        syn_span(s, JM_SPAN_WINDOW, parts[p].name, parts[p].data, 1, now, end_ns, 100);
        syn_kernel(s, (int64_t)p + 1, 0, 0, now, end_ns);
        for (int64_t ms = 0; ms < BURST_MS + REST_MS; ms++)
            add_counts(scene, now + ms * JM_NS_PER_MS, ms < BURST_MS ? &parts[p] : NULL);
        now = end_ns + REST_MS * JM_NS_PER_MS;
    }
    for (int64_t ms = 0; ms < 500; ms++)
        add_counts(scene, now + ms * JM_NS_PER_MS, NULL);
    syn_measure(s, 0, phase_ns - 10 * JM_NS_PER_S, now + JM_NS_PER_S);
    syn_finish(s);
    s->dataset.counters = samples_source(&scene->samples);
    return scene;
}

static void free_scene(recorded *scene)
{
    samples_free(&scene->samples);
    syn_free(scene->s);
    free(scene);
}

static jm__training_set begin(const recorded *scene)
{
    jm__training_set training_set;
    jm_error err = {0};
    if (jm__training_set_begin(&training_set, &scene->s->dataset, "suite", 0, 1, &err) != JM_OK)
        fail_msg("%s", err.text);
    const jm__training_set *l = &training_set;
    for (size_t k = 0; k < l->kernels.count; k++) {
        const jm__suite_kernel *kernel = &l->kernels.items[k];
        figures_keep(__BASE_FILE__, NULL, kernel->rate, kernel->rate != NULL ? l->count : 0, 0);
        figures_keep(__BASE_FILE__, NULL, &kernel->seconds, 1, kernel->left_out);
    }
    const double values[] = {
        l->clock_mhz, l->slots,       (double)l->recorded_count, (double)l->reading_count,
        l->sampler_w, l->sampler_u_w, (double)l->bursts.count,   (double)l->sensor->id};
    figures_keep(__BASE_FILE__, NULL, values, sizeof values / sizeof *values, (uint32_t)l->count);
    return training_set;
}

static void expect_none(const recorded *scene, const char *phase, int64_t board, const char *words)
{
    jm__training_set training_set;
    jm_error err = {0};
    assert_int_equal(jm__training_set_begin(&training_set, &scene->s->dataset, phase, board, 1, &err),
                     JM_NOT_FOUND);
    if (strstr(err.text, words) == NULL) fail_msg("\"%s\" is not in: %s", words, err.text);
    assert_int_equal(err.code, 0);
    jm__training_set_free(&training_set);
}

static void test_what_cannot_be_learnt_from_is_told_in_words(void **state)
{
    (void)state;
    recorded *scene = make_scene(100, PARTS);
    synthetic *s = scene->s;
    jm__counter_source counters = s->dataset.counters;
    expect_none(scene, "sweet", 0, "no phase \"sweet\" in this recording");
    expect_none(scene, "suite", 3, "no board number 3; this recording has 1 to 2");
    expect_none(scene, "suite", -1, "no board number -1");
    expect_none(scene, "suite", 2, "no hardware counters");
    s->dataset.counters = (jm__counter_source){0};
    expect_none(scene, "suite", 0, "no hardware counters");
    s->dataset.counters = counters;
    samples_set(&scene->samples, 2, 1, "[\"a\"]", "[\"count\"]");
    s->dataset.counters = samples_source(&scene->samples);
    expect_none(scene, "suite", 0, "several boards have counters");
    expect_none(scene, "suite", 2, "no hardware counters were sampled in that phase");
    s->sensors[0].quantity = s->sensors[2].quantity = JM_QUANTITY_TEMPERATURE;
    snprintf(s->sensors[0].name, sizeof s->sensors[0].name, "temperature");
    expect_none(scene, "suite", 1, "no power sensor of Synthetic");
    free_scene(scene);
    scene = make_scene(100, PARTS);
    for (size_t i = 0; i < scene->s->dataset.span_count; i++)
        if (scene->s->spans[i].kind == JM_SPAN_WINDOW) scene->s->spans[i].kind = JM_SPAN_STEP;
    expect_none(scene, "suite", 0, "the phase \"suite\" has no spans of kind window");
    free_scene(scene);
}

/* By the slash, else by the first underscore. What a burst's type says of its data counts; without one, its
 * name. */
static void test_kernels_have_a_family_and_their_data(void **state)
{
    (void)state;
    recorded *scene = make_scene(100, PARTS);
    jm__training_set training_set = begin(scene);
    assert_int_equal(training_set.kernels.count, PARTS);
    for (size_t p = 0; p < PARTS; p++) {
        size_t found = 0;
        for (size_t k = 0; k < training_set.kernels.count; k++) {
            const jm__suite_kernel *kernel = &training_set.kernels.items[k];
            if (strcmp(kernel->name, parts[p].name) != 0 || strcmp(kernel->data, parts[p].data) != 0)
                continue;
            assert_string_equal(kernel->family, parts[p].family);
            assert_int_equal(kernel->left_out, parts[p].left_out);
            found++;
        }
        assert_int_equal(found, 1);
    }
    jm__training_set_free(&training_set);
    free_scene(scene);
}

static void test_a_suite_of_one_family_is_parted_by_its_kernels(void **state)
{
    (void)state;
    recorded *scene = make_scene(100, 2);
    jm__training_set training_set = begin(scene);
    assert_int_equal(training_set.kernels.count, 2);
    for (size_t k = 0; k < 2; k++)
        assert_string_equal(training_set.kernels.items[k].family, training_set.kernels.items[k].name);
    jm__training_set_free(&training_set);
    free_scene(scene);
}

/* Windows that lie within a burst tell what its kernel does; a metric that never changes is a clock. */
static void test_rates_of_kernels_are_those_of_windows_within_bursts(void **state)
{
    (void)state;
    recorded *scene = make_scene(100, PARTS);
    jm__training_set training_set = begin(scene);
    assert_int_equal(training_set.count, 2);
    assert_string_equal(training_set.metrics[0], "a");
    assert_string_equal(training_set.metrics[1], "b");
    assert_true(fabs(training_set.reference[0] / 8e9 - 1) < 1e-9);
    assert_true(fabs(training_set.reference[1] / 7e9 - 1) < 1e-9);
    for (size_t k = 0; k < PARTS; k++) {
        const jm__suite_kernel *kernel = &training_set.kernels.items[k];
        const part *p = parts;
        while (strcmp(p->name, kernel->name) != 0 || strcmp(p->data, kernel->data) != 0)
            p++;
        assert_true(fabs(kernel->rate[0] - p->a / 8e9) < 1e-9);
        assert_true(fabs(kernel->rate[1] - p->b / 7e9) < 1e-9);
        assert_true(kernel->seconds > 0.25 && kernel->seconds < 0.3); /* 18 or 19 bursts of 15 ms */
    }
    jm__training_set_free(&training_set);
    free_scene(scene);
}

static jm__training_set_rows rows_of(jm__training_set *training_set)
{
    jm__training_set_rows rows;
    jm_error err = {0};
    const jm__response response = {JM_RESPONSE_FIRST_ORDER, 3.5e6, 13e6};
    if (jm__training_set_rows_make(&rows, training_set, response, &err) != JM_OK) fail_msg("%s", err.text);
    for (size_t i = 0; i < rows.rows; i += 1 + rows.rows / 8) {
        figures_keep(__BASE_FILE__, NULL, &rows.feature[i * rows.features], rows.features, rows.usable[i]);
        figures_keep(__BASE_FILE__, NULL, &rows.kernel[i * rows.kernels], rows.kernels, 0);
        figures_keep(__BASE_FILE__, NULL, (double[]){rows.power_w[i], rows.left_out[i]}, 2, 0);
    }
    return rows;
}

/* Nothing on constant data is in a reading that is used; all of them together give the weights of the board,
 * to the noise of some tens of readings. */
static void test_a_training_set_gives_the_weights_of_its_board(void **state)
{
    (void)state;
    recorded *scene = make_scene(200, PARTS);
    jm__training_set training_set = begin(scene);
    jm__training_set_rows rows = rows_of(&training_set);
    jm__weights weights;
    jm_error err = {0};
    size_t usable = 0;
    assert_int_equal(rows.rows, PHASE_MS / 20);
    for (size_t i = 0; i < rows.rows; i++) {
        double left_out = 0, all = 0;
        for (size_t k = 0; k < rows.kernels; k++) {
            all += rows.kernel[i * rows.kernels + k];
            if (training_set.kernels.items[k].left_out) left_out += rows.kernel[i * rows.kernels + k];
        }
        assert_true(all <= 1 + 1e-6);
        assert_int_equal(rows.usable[i], left_out <= 0.02);
        usable += rows.usable[i];
    }
    assert_true(usable > 10 && usable < rows.rows / 2);
    if (jm__weights_find(&weights, &rows, rows.usable, &err) != JM_OK) fail_msg("%s", err.text);
    assert_true(fabs(weights.x[0] - a_w) < 8);
    assert_true(fabs(weights.x[1] - b_w * 7 / 8) < 8);
    assert_true(fabs(weights.x[2] - rest_w) < 4);
    jm__weights_free(&weights);
    jm__training_set_rows_free(&rows);
    jm__training_set_free(&training_set);
    free_scene(scene);
}

/* A sensor remembers 7 time constants: a reading that close behind a hole in the counters is not used. */
static void test_readings_whose_past_was_not_counted_are_not_used(void **state)
{
    (void)state;
    recorded *scene = make_scene(200, 1);
    one_sample *items = scene->samples.items.items;
    int64_t from_ns = phase_ns + JM_NS_PER_S, to_ns = from_ns + 100 * JM_NS_PER_MS;
    size_t kept = 0, holes = 0;
    for (size_t i = 0; i < scene->samples.items.count; i++)
        if (items[i].end_ns <= from_ns || items[i].start_ns >= to_ns) items[kept++] = items[i];
    scene->samples.items.count = kept;
    jm__training_set training_set = begin(scene);
    jm__training_set_rows rows = rows_of(&training_set);
    for (size_t i = 0; i < rows.rows; i++) {
        int64_t seen_ns = training_set.readings[i].t_ns - 3500000;
        bool hole = seen_ns > from_ns && seen_ns < to_ns + 60 * JM_NS_PER_MS;
        bool clear = seen_ns < from_ns || seen_ns > to_ns + 100 * JM_NS_PER_MS;
        if (hole) assert_false(rows.usable[i]);
        if (clear) assert_true(rows.usable[i]);
        holes += hole;
    }
    assert_true(holes >= 7);
    jm__training_set_rows_free(&rows);
    jm__training_set_free(&training_set);
    free_scene(scene);
}

/* A program that ran, and was counted, long before the suite changes no row. */
static void check_early(int early_ms)
{
    recorded *late = make_scene(900, PARTS), *early = make_scene(early_ms, PARTS);
    jm__training_set one = begin(late), other = begin(early);
    jm__training_set_rows is = rows_of(&one), was = rows_of(&other);
    assert_int_equal(is.rows, was.rows);
    for (size_t i = 0; i < is.rows; i++)
        assert_int_equal(is.usable[i], was.usable[i]);
    for (size_t i = 0; i < is.rows * is.features; i++)
        assert_true(fabs(is.feature[i] - was.feature[i]) < 1e-9);
    jm__training_set_rows_free(&is);
    jm__training_set_rows_free(&was);
    jm__training_set_free(&one);
    jm__training_set_free(&other);
    free_scene(late);
    free_scene(early);
}

static void test_counters_of_what_came_before_the_phase_change_nothing(void **state)
{
    (void)state;
    static const int early_ms[] = {1001, 1100, 2000, 9000};
    for (size_t i = 0; i < sizeof early_ms / sizeof *early_ms; i++)
        check_early(early_ms[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_weights_are_those_of_the_board),
        cmocka_unit_test(test_readings_that_are_far_off_lead_nobody),
        cmocka_unit_test(test_readings_that_are_not_to_be_used_are_not),
        cmocka_unit_test(test_a_counter_that_never_counts_has_no_weight),
        cmocka_unit_test(test_counters_that_go_together_share_their_weight),
        cmocka_unit_test(test_no_event_gives_energy_back),
        cmocka_unit_test(test_fewer_readings_than_twice_the_weights_are_too_few),
        cmocka_unit_test(test_the_covariance_of_weights_is_the_jackknife_of_families),
        cmocka_unit_test(test_a_kernel_is_told_by_weights_that_know_none_of_its_family),
        cmocka_unit_test(test_a_kernel_without_readings_of_its_own_has_no_power),
        cmocka_unit_test(test_errors_of_a_family_are_told_from_those_of_each_kernel),
        cmocka_unit_test(test_families_that_are_not_alike_share_no_error),
        cmocka_unit_test(test_what_is_told_of_errors_is_of_kernels_in_the_weights),
        cmocka_unit_test(test_what_cannot_be_learnt_from_is_told_in_words),
        cmocka_unit_test(test_kernels_have_a_family_and_their_data),
        cmocka_unit_test(test_a_suite_of_one_family_is_parted_by_its_kernels),
        cmocka_unit_test(test_rates_of_kernels_are_those_of_windows_within_bursts),
        cmocka_unit_test(test_a_training_set_gives_the_weights_of_its_board),
        cmocka_unit_test(test_readings_whose_past_was_not_counted_are_not_used),
        cmocka_unit_test(test_counters_of_what_came_before_the_phase_change_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
