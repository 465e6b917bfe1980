/* Training on one's own kernels and watts: what is found, how sure, what the data cannot tell. */
#include "chance.h"
#include "proof.h"

#include <joulemap/estimate.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "figures.h"

#define assert_near(value, truth, within) assert_true(fabs((value) - (truth)) <= (within))

static char features[80], power[80], model[80];
static char law[80]; /* a model of the second shape */
static jm_error err;
static uint64_t seed = 5;

static double uniform(void)
{
    return chance_uniform(&seed);
}

static double normal(void)
{
    return sqrt(-2 * log(1 - uniform())) * cos(6.283185307179586 * uniform());
}

static int make_paths(void **state)
{
    (void)state;
    snprintf(features, sizeof features, "/tmp/joulemap-test-train-%d-features.csv", (int)getpid());
    snprintf(power, sizeof power, "/tmp/joulemap-test-train-%d-power.csv", (int)getpid());
    snprintf(model, sizeof model, "/tmp/joulemap-test-train-%d-model.json", (int)getpid());
    snprintf(law, sizeof law, "/tmp/joulemap-test-train-%d-law.json", (int)getpid());
    return 0;
}

static int remove_paths(void **state)
{
    (void)state;
    unlink(features);
    unlink(power);
    unlink(model);
    unlink(law);
    return 0;
}

static FILE *open_for(const char *path)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    return file;
}

/* 90 + 200 tensor^e + 60 memory^e W, some percent off; `twin` is tensor again, `same` never changes. */
static void write_kernels(size_t count, double exponent, double noise)
{
    FILE *a = open_for(features), *b = open_for(power);
    fputs("kernel,family,duration_s,tensor,memory,twin,same\n", a);
    fputs("kernel,power_w,u_w\n", b);
    for (size_t i = 0; i < count; i++) {
        double tensor = uniform(), memory = uniform();
        double watts = 90 + 200 * pow(tensor, exponent) + 60 * pow(memory, exponent);
        fprintf(a, "k%zu,f%zu,0.001,%.9g,%.9g,%.9g,0.5\n", i, i % 7, tensor, 1e9 * memory, 3 * tensor);
        fprintf(b, "k%zu,%.6f,0.5\n", i, watts * (1 + noise * normal()));
    }
    fclose(a);
    fclose(b);
}

/* Without keeping its figures: of pure chance, rounding decides them. */
static jm_training *train_on_chance(void)
{
    jm_training *training;
    const jm_train_options options = {
        .size = sizeof options, .features = features, .power = power, .path = model};
    if (jm_estimate_train(&training, &options, &err) != JM_OK) fail_msg("%s", err.text);
    return training;
}

static jm_training *train(void)
{
    jm_training *training = train_on_chance();
    const jm_trained *r = jm_training_result(training);
    const double values[] = {r->exponent,       r->error_by_kernel, r->error_by_family,
                             r->constant_error, r->coverage,        (double)r->kernels};
    figures_keep(__BASE_FILE__, NULL, values, sizeof values / sizeof *values, (uint32_t)r->families);
    char *text;
    assert_int_equal(jm_training_text(training, &text, &err), JM_OK);
    for (char *path; (path = strstr(text, "/tmp/")) != NULL;) /* its name has this process in it */
        memmove(path, path + strcspn(path, " ,\n"), strlen(path + strcspn(path, " ,\n")) + 1);
    text_kept(__BASE_FILE__, text);
    free(text);
    return training;
}

static void test_a_law_is_found_again_and_its_shape_chosen(void **state)
{
    (void)state;
    static const double shapes[] = {1, 0.5};
    const size_t kernels = (size_t)proof_some(60, 41);
    for (size_t s = proof_runs() ? 0 : 1; s < 2; s++) {
        write_kernels(kernels, shapes[s], 0.02);
        jm_training *training = train();
        const jm_trained *r = jm_training_result(training);
        assert_near(r->exponent, shapes[s], 1e-12);
        assert_int_equal(r->kernels, kernels);
        assert_int_equal(r->families, 7);
        assert_true(r->error_by_kernel < 0.025 &&
                    r->error_by_family < 0.03); /* noise: 2 % * sqrt(2 / pi) = 1.6 % */
        assert_true(r->constant_error > 0.15);
        assert_true(r->coverage > 0.8 && r->coverage <= 1);
        jm_training_free(training);
    }
    assert_int_equal(rename(model, law), 0);
}

static void test_what_the_data_cannot_tell_apart_is_said(void **state)
{
    (void)state;
    char *text;
    write_kernels((size_t)proof_some(40, 18), 1, 0.02);
    jm_training *training = train();
    assert_int_equal(jm_training_text(training, &text, &err), JM_OK);
    assert_non_null(strstr(text, "tensor and twin go together"));
    assert_non_null(strstr(text, "same is the same for all kernels"));
    assert_null(strstr(text, "tensor and memory go together"));
    assert_null(strstr(text, "follows from the other features"));
    free(text);
    jm_training_free(training);
}

static void test_outliers_do_not_lead_it(void **state)
{
    (void)state;
    write_kernels((size_t)proof_some(60, 41), 1, 0.01);
    FILE *b = fopen(power, "r+");
    char lines[8192];
    size_t size = fread(lines, 1, sizeof lines - 1, b);
    lines[size] = '\0';
    rewind(b);
    int n = 0;
    for (char *line = strtok(lines, "\n"); line != NULL; line = strtok(NULL, "\n"), n++) {
        char name[16];
        double watts;
        if (n % 12 == 5 && sscanf(line, "%15[^,],%lf", name, &watts) == 2)
            fprintf(b, "%s,%.3f,0.5\n", name, 2 * watts);
        else
            fprintf(b, "%s\n", line);
    }
    fclose(b);
    jm_training *training = train();
    const jm_trained *r = jm_training_result(training);
    assert_true(r->median_by_kernel < 0.03);
    assert_true(r->error_by_kernel < r->plain_error);
    jm_training_free(training);
}

static void test_a_trained_model_estimates_other_kernels(void **state)
{
    (void)state;
    if (proof_runs()) { /* with other kernels than before */
        write_kernels(60, 0.5, 0.02);
        jm_training_free(train());
        assert_int_equal(rename(model, law), 0);
    }
    FILE *a = open_for(features);
    fputs("kernel,duration_s,twin,memory,tensor,same\n"
          "a,0.002,1.5,0.5e9,0.5,0.5\n"
          "b,0.002,1.5,,0.5,0.5\n"
          "c,0.002,15,0.5e9,5,0.5\n",
          a);
    fclose(a);
    jm_estimate *estimate;
    const jm_estimate_options options = {.size = sizeof options, .csv = features, .model = law};
    if (jm_estimate_make(&estimate, &options, &err) != JM_OK) fail_msg("%s", err.text);
    const jm_estimated_kernel *k = jm_estimate_kernel(estimate, 0);
    double truth = 90 + 260 * sqrt(0.5);
    assert_true(fabs(k->power_w / truth - 1) < 0.03);
    assert_true(k->power_low_w < truth && truth < k->power_high_w);
    assert_near(k->energy_j, 0.002 * k->power_w, 1e-12);
    assert_true(isnan(jm_estimate_kernel(estimate, 1)->power_w));
    assert_non_null(strstr(jm_estimate_kernel(estimate, 1)->reason, "missing"));
    const jm_estimated_kernel *far = jm_estimate_kernel(estimate, 2);
    assert_true(far->beyond_w > 100 && far->power_high_w - far->power_w > 0.7 * far->beyond_w);
    jm_estimate_free(estimate);
}

static void expect_bad(const char *a, const char *b, const char *words)
{
    jm_training *training;
    FILE *file = open_for(features);
    fputs(a, file);
    fclose(file);
    file = open_for(power);
    fputs(b, file);
    fclose(file);
    const jm_train_options options = {.size = sizeof options, .features = features, .power = power};
    assert_int_equal(jm_estimate_train(&training, &options, &err), JM_BAD_DATA);
    assert_null(training);
    if (strstr(err.text, words) == NULL) fail_msg("%s", err.text);
}

static void test_what_is_wrong_with_a_table_is_named_with_its_line(void **state)
{
    (void)state;
    const char *watts = "kernel,power_w\na,100\nb,120\nc,130\nd,140\n";
    expect_bad("name,x\na,1\n", watts, "no column \"kernel\"");
    expect_bad("kernel\na\n", watts, "no column with a feature");
    expect_bad("kernel,x\na,1\nb,two\n", watts, "line 3, column \"x\"");
    expect_bad("kernel,x\na,1\nb,-2\n", watts, "line 3, column \"x\"");
    expect_bad("kernel,x\na,1\nb,2\nc,3\n", watts, "3 kernels with a power");
    expect_bad("kernel,x\na,1\na,2\nc,3\nd,4\n", watts, "is twice");
    expect_bad("kernel,x\na,1\nb,2\nc,3\nd,4\n", "kernel,power_w\na,100\na,120\n", "has a power already");
    expect_bad("kernel,x\na,1\nb,2\nc,3\nd,4\n", "kernel,power_w\na,0\n", "not a power of a kernel");
}

static void put(const char *path, const char *text)
{
    FILE *file = open_for(path);
    fputs(text, file);
    fclose(file);
}

/* In capitals or not, a power is what is to be found, and no feature; nor are a row's number and its name. */
static void test_a_column_is_what_it_is_in_capitals_too(void **state)
{
    (void)state;
    static const char *const headers[] = {"kernel,flops,bytes,power_w", "KERNEL,flops,bytes,Power_W",
                                          "Kernel,flops,bytes,POWER_W,", ",kernel,flops,bytes,power_w",
                                          "Unnamed: 0,kernel,flops,bytes,Power_w"};
    for (size_t h = 0; h < sizeof headers / sizeof *headers; h++) {
        bool numbered = headers[h][0] == ',' || headers[h][0] == 'U';
        FILE *a = open_for(features);
        fprintf(a, "%s\n", headers[h]);
        for (int i = 0; i < 12; i++) {
            if (numbered) fprintf(a, "%d,", i);
            fprintf(a, "k%d,%d,%d,%g\n", i, i, i * i % 7, 80 + 5.0 * i + 3.0 * (i * i % 7));
        }
        fclose(a);
        jm_training *training;
        const jm_train_options options = {.size = sizeof options, .features = features, .path = model};
        if (jm_estimate_train(&training, &options, &err) != JM_OK) fail_msg("%s: %s", headers[h], err.text);
        char *text;
        assert_int_equal(jm_training_text(training, &text, &err), JM_OK);
        if (strstr(text, " 2 features") == NULL) fail_msg("%s: %s", headers[h], text);
        free(text);
        jm_training_free(training);
    }
}

static void test_a_power_that_is_missing_is_a_gap(void **state)
{
    (void)state;
    put(features, "kernel,x\na,1\nb,2\nc,3\nd,4\ne,5\nf,6\n");
    put(power, "kernel,power_w,u_w\na,100,1\nb,[N/A],1\nc,120,N/A\nd,130,\ne,140,-\nf,150,1\n");
    jm_training *training = train();
    assert_int_equal(jm_training_result(training)->kernels, 5);
    jm_training_free(training);
}

static void test_a_model_that_is_no_json_is_named(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t size;
        const char *words;
    } wrong[] = {{"\xff\xfe{\0\"\0", 6, "is in UTF-16"}, {"{\"format\": \"joulemap tr", 23, "line 1"}};
    put(features, "kernel,x\na,1\n");
    for (size_t i = 0; i < 2; i++) {
        const jm_estimate_options options = {.size = sizeof options, .csv = features, .model = model};
        jm_estimate *estimate;
        FILE *file = open_for(model);
        fwrite(wrong[i].text, 1, wrong[i].size, file);
        fclose(file);
        assert_int_equal(jm_estimate_make(&estimate, &options, &err), JM_BAD_DATA);
        if (strstr(err.text, model) == NULL || strstr(err.text, wrong[i].words) == NULL)
            fail_msg("%s", err.text);
    }
}

/* Every third power is 9 % too high: where that is said of them, they lead less. */
static void test_powers_that_are_less_sure_weigh_less(void **state)
{
    (void)state;
    const int kernels = proof_some(30, 15);
    double error[2];
    for (int said = 0; said < 2; said++) {
        FILE *a = open_for(features), *b = open_for(power);
        fputs("kernel,x\n", a);
        fputs("kernel,power_w,u_w\n", b);
        for (int i = 0; i < kernels; i++) {
            double x = i / (kernels - 1.0), watts = 100 + 200 * x;
            fprintf(a, "k%d,%.9f\n", i, x);
            fprintf(b, "k%d,%.6f,%.3f\n", i, i % 3 == 0 ? 1.09 * watts : watts,
                    said && i % 3 == 0 ? 0.5 * watts : 0);
        }
        fclose(a);
        fclose(b);
        jm_training *training = train();
        error[said] = jm_training_result(training)->median_by_kernel;
        jm_training_free(training);
    }
    assert_true(error[1] < 0.4 * error[0]);
}

/* A row that a fold leaves out must not lead its own prediction: with watts that are pure chance, no model
 * may seem better than the mean of the others. */
static void test_chance_is_not_told(void **state)
{
    (void)state;
    FILE *a = open_for(features), *b = open_for(power);
    fputs("kernel,x,y,z,u,v\n", a);
    fputs("kernel,power_w\n", b);
    for (int i = 0; i < proof_some(40, 14); i++) {
        fprintf(a, "k%d,%.6f,%.6f,%.6f,%.6f,%.6f\n", i, uniform(), uniform(), uniform(), uniform(),
                uniform());
        fprintf(b, "k%d,%.3f\n", i, 100 + 100 * uniform());
    }
    fclose(a);
    fclose(b);
    jm_training *training = train_on_chance();
    const jm_trained *r = jm_training_result(training);
    assert_true(r->error_by_kernel > 0.9 * r->constant_error);
    jm_training_free(training);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_law_is_found_again_and_its_shape_chosen),
        cmocka_unit_test(test_what_the_data_cannot_tell_apart_is_said),
        cmocka_unit_test(test_outliers_do_not_lead_it),
        cmocka_unit_test(test_a_trained_model_estimates_other_kernels),
        cmocka_unit_test(test_what_is_wrong_with_a_table_is_named_with_its_line),
        cmocka_unit_test(test_a_column_is_what_it_is_in_capitals_too),
        cmocka_unit_test(test_a_power_that_is_missing_is_a_gap),
        cmocka_unit_test(test_a_model_that_is_no_json_is_named),
        cmocka_unit_test(test_powers_that_are_less_sure_weigh_less),
        cmocka_unit_test(test_chance_is_not_told),
    };
    return cmocka_run_group_tests(tests, make_paths, remove_paths);
}
