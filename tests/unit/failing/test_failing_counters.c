/* Memory that runs out while counters are made use of: an error, or what is said with enough of it. That of
 * our own code: Jansson tells most allocations that failed as a fault of the text, and writes what it has. */
#include "attribute/report.h"
#include "base/status.h"
#include "base/strbuf.h"
#include "calibrate/idle.h"
#include "calibrate/weights.h"
#include "counter_samples.h"
#include "failing_report.h"
#include "model/board_model.h"
#include "small_run.h"

#include <unistd.h>

enum { BURST_MS = 20, BURSTS = 40, KINDS = 4 };

static char folder[] = "/tmp/joulemap-test-XXXXXX";
static char model_path[64], copy_path[64];
static synthetic *run;
static counter_samples samples;

static const double rates[KINDS] = {0, 2e9, 5e9, 8e9}, others[KINDS] = {4e9, 1e9, 6e9, 3e9};

static void add_model(void)
{
    jm__board_model model;
    jm_error err = {0};
    assert_int_equal(jm__model_init(&model, 2, &err), JM_OK);
    model.board = strdup("Synthetic");
    model.uuid = strdup("GPU-0");
    model.driver = strdup("1");
    model.date = strdup("2026-11-22");
    model.features[0] = (jm__feature){strdup("a"), 8e9, 300, 8e9};
    model.features[1] = (jm__feature){strdup("b"), 6e9, 200, 6e9};
    for (size_t i = 0; i < 3; i++)
        model.covariance[4 * i] = 25;
    model.constant_w = 100;
    model.clock_mhz = 1980;
    model.relative_u = model.gain_u = 0.03;
    model.kernels = calloc(1, sizeof *model.kernels);
    model.kernels[0] = (jm__model_kernel){strdup("x"), strdup("x"), strdup(""), 1, 300, 310, false};
    model.kernel_count = 1;
    assert_int_equal(jm__model_write(&model, model_path, &err), JM_OK);
    jm__model_free(&model);
}

static int set_up(void **state)
{
    (void)state;
    static const char *const names[KINDS] = {"mm/a", "mm/b", "copy_a", "sort"};
    int64_t now = JM_NS_PER_S;
    if (mkdtemp(folder) == NULL) return -1;
    snprintf(model_path, sizeof model_path, "%s/model.json", folder);
    snprintf(copy_path, sizeof copy_path, "%s/copy.json", folder);
    add_model();
    run = syn_create(9, 1, 3000);
    for (size_t k = 0; k < KINDS; k++)
        syn_class(run, names[k], 8, 100 + 300 * rates[k] / 8e9 + 200 * others[k] / 6e9);
    samples_set(&samples, 1, 2, "[\"a\", \"b\"]", "[\"count\", \"count\"]");
    syn_span(run, JM_SPAN_PHASE, "suite", "", 0, now, now + BURSTS * (BURST_MS + 5) * JM_NS_PER_MS, 100);
    for (size_t n = 0; n < BURSTS; n++) {
        size_t k = n % KINDS;
        int64_t end_ns = now + BURST_MS * JM_NS_PER_MS;
        syn_span(run, JM_SPAN_WINDOW, names[k], "", 1, now, end_ns, 100);
        syn_kernel(run, (int64_t)k + 1, 0, 0, now, end_ns);
        for (int64_t ms = 0; ms < BURST_MS + 5; ms++) {
            const double values[] = {ms < BURST_MS ? rates[k] * 1e-3 : 0,
                                     ms < BURST_MS ? others[k] * 1e-3 : 0};
            samples_add(&samples, 0, now + ms * JM_NS_PER_MS, now + (ms + 1) * JM_NS_PER_MS, values);
        }
        now = end_ns + 5 * JM_NS_PER_MS;
    }
    syn_measure(run, 0, JM_NS_PER_S, now);
    syn_finish(run);
    run->dataset.kernels.each = small_run_each;
    run->dataset.counters = samples_source(&samples);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    unlink(model_path);
    unlink(copy_path);
    samples_free(&samples);
    syn_free(run);
    return rmdir(folder);
}

/* ---- a report */

static jm_status make_report(void *context, jm_error *err)
{
    const jm_report_options options = {.size = sizeof options, .by = JM_BY_KERNEL, .model = model_path};
    return jm__report_from_dataset(context, &run->dataset, &options, err);
}

static void test_a_report_by_counters_without_memory_is_an_error_or_the_same(void **state)
{
    (void)state;
    jm_report *report = NULL;
    assert_int_equal(make_report(&report, NULL), JM_OK);
    char *json = failing_tell_report(&report);
    assert_non_null(strstr(json, "windows of hardware counters tell"));
    free(json);
    failing_drop_report(&report);
    const failing_trial trial = {"a report by counters", &report,           make_report, failing_tell_report,
                                 failing_drop_report,    failing_for_memory};
    failing_each(&trial, FAILING_OWN_MEMORY);
}

/* ---- a training set */

typedef struct learnt {
    jm__training_set training_set;
    jm__training_set_rows rows;
    jm__weights weights;
    jm__left_out out;
    jm__board_model model; /* what it says of gaps */
} learnt;

static void drop_training_set(void *context)
{
    learnt *l = context;
    jm__left_out_free(&l->out);
    jm__weights_free(&l->weights);
    jm__training_set_rows_free(&l->rows);
    jm__training_set_free(&l->training_set);
}

static jm_status take_training_set(learnt *l, jm_error *err)
{
    const jm__response response = {JM_RESPONSE_FIRST_ORDER, 3.5e6, 13e6};
    JM_TRY(jm__training_set_begin(&l->training_set, &run->dataset, "suite", 0, 1, err));
    JM_TRY(jm__training_set_rows_make(&l->rows, &l->training_set, response, err));
    JM_TRY(jm__weights_find(&l->weights, &l->rows, l->rows.usable, err));
    JM_TRY(jm__left_out_find(&l->out, &l->training_set, &l->rows, &l->weights, err));
    return jm__idle_learn(&l->model, &l->training_set, err);
}

static jm_status make_training_set(void *context, jm_error *err)
{
    learnt *l = context;
    memset(l, 0, sizeof *l);
    jm_status status = take_training_set(l, err);
    if (status != JM_OK) drop_training_set(l);
    return status;
}

static char *tell_training_set(void *context)
{
    const learnt *l = context;
    jm__strbuf text = {0};
    for (size_t k = 0; k < l->training_set.kernels.count; k++)
        jm__strbuf_format(&text, "%s of %s: %a s, %a W, %a W\n", l->training_set.kernels.items[k].name,
                          l->training_set.kernels.items[k].family, l->training_set.kernels.items[k].seconds,
                          l->out.power_w[k], l->out.predicted_w[k]);
    for (size_t i = 0; i < l->rows.features; i++)
        jm__strbuf_format(&text, "%a +- %a\n", l->weights.x[i],
                          l->out.covariance[i * (l->rows.features + 1)]);
    for (int s = 0; s < JM_IDLE_STATES; s++)
        jm__strbuf_format(&text, "%a +- %a\n", l->model.idle[s].power_w, l->model.idle[s].u_w);
    jm__strbuf_format(&text, "%a\n", l->model.noise_w);
    return jm__strbuf_take(&text);
}

static void test_a_training_set_without_memory_is_an_error_or_the_same(void **state)
{
    (void)state;
    learnt l;
    const failing_trial trial = {
        "a lesson", &l, make_training_set, tell_training_set, drop_training_set, failing_for_memory};
    failing_each(&trial, FAILING_OWN_MEMORY);
}

/* ---- a model */

static jm_status copy_model(void *context, jm_error *err)
{
    jm__board_model model;
    (void)context;
    JM_TRY(jm__model_read(&model, model_path, err));
    jm_status status = jm__model_write(&model, copy_path, err);
    jm__model_free(&model);
    return status;
}

static char *tell_model(void *context)
{
    (void)context;
    char *text = calloc(1, 1 << 16);
    FILE *file = fopen(copy_path, "r");
    assert_non_null(file);
    assert_true(fread(text, 1, (1 << 16) - 1, file) > 100);
    fclose(file);
    return text;
}

static void drop_model(void *context)
{
    (void)context;
    unlink(copy_path);
}

static void test_a_model_is_read_and_written_whole_or_not_at_all(void **state)
{
    (void)state;
    const failing_trial trial = {"a model", NULL, copy_model, tell_model, drop_model, failing_for_memory};
    failing_each(&trial, FAILING_OWN_MEMORY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_report_by_counters_without_memory_is_an_error_or_the_same),
        cmocka_unit_test(test_a_training_set_without_memory_is_an_error_or_the_same),
        cmocka_unit_test(test_a_model_is_read_and_written_whole_or_not_at_all),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
