/* Memory that runs out while an estimate is made, or a model trained: an error that says so, or the same
 * figures. */
#include "failing_each.h"

#include <joulemap/estimate.h>
#include <unistd.h>

#define DATA JM_SOURCE_DIR "/tests/data/ncu/"

static bool for_memory(const jm_error *err)
{
    return err->status == JM_NO_MEMORY;
}

/* ---- estimates */

static const char *csv, *model;

static jm_status make(void *context, jm_error *err)
{
    char **json = context;
    jm_estimate *estimate;
    const jm_estimate_options options = {
        .size = sizeof options, .csv = csv, .model = model, .program_s = 0.1};
    jm_status status = jm_estimate_make(&estimate, &options, err);
    if (status != JM_OK) return status;
    status = jm_estimate_json(estimate, json, err);
    jm_estimate_free(estimate);
    return status;
}

static char *tell(void *context)
{
    char **json = context;
    return strdup(*json);
}

static void drop(void *context)
{
    char **json = context;
    free(*json);
    *json = NULL;
}

static void try_all(const char *name, jm_status (*work)(void *, jm_error *), failing_what what, long step)
{
    char *json = NULL;
    const failing_trial trial = {name, &json, work, tell, drop, for_memory};
    failing_each_of(&trial, what, step * failing_step());
}

static char small[80], features[80];

static void test_an_estimate_without_memory_is_an_error_or_the_same(void **state)
{
    (void)state;
    csv = small;
    try_all("estimate", make, FAILING_OWN_MEMORY,
            1); /* jansson calls a tree that finds no memory a wrong text */
}

static char kept[80];

static void test_a_kept_model_without_memory_is_an_error_or_the_same(void **state)
{
    (void)state;
    csv = small;
    setenv("XDG_DATA_HOME", kept, 1);
    setenv("JOULEMAP_SIM", "h200", 1);
    try_all("estimate with a kept model", make, FAILING_OWN_MEMORY, 1);
    unsetenv("JOULEMAP_SIM");
    setenv("XDG_DATA_HOME", "/nonexistent", 1);
}

/* ---- trainings */

static jm_status train(void *context, jm_error *err)
{
    char **json = context;
    jm_training *training;
    const jm_train_options options = {.size = sizeof options, .features = features};
    jm_status status = jm_estimate_train(&training, &options, err);
    if (status != JM_OK) return status;
    status = jm_training_json(training, json, err);
    jm_training_free(training);
    return status;
}

static void test_a_training_without_memory_is_an_error_or_the_same(void **state)
{
    (void)state;
    try_all("training", train, FAILING_MEMORY, 53); /* of 33,000: its fits are alike */
}

static int set_up(void **state)
{
    (void)state;
    char command[512];
    snprintf(small, sizeof small, "/tmp/joulemap-test-failing-%d.csv", (int)getpid());
    snprintf(features, sizeof features, "/tmp/joulemap-test-failing-%d-features.csv", (int)getpid());
    snprintf(command, sizeof command, "gzip -dc '%sstencil.csv.gz' | head -4 >%s", DATA, small);
    if (system(command) != 0) return -1;
    snprintf(kept, sizeof kept, "/tmp/joulemap-test-failing-%d", (int)getpid());
    snprintf(command, sizeof command,
             "mkdir -p %s/joulemap/models && cp '%smodel.json' %s/joulemap/models/GPU-1.json", kept, DATA,
             kept);
    if (system(command) != 0) return -1;
    FILE *file = fopen(features, "w");
    if (file == NULL) return -1;
    fputs("kernel,family,power_w,x,y\n", file);
    for (int i = 0; i < 6; i++)
        fprintf(file, "k%d,f%d,%d,%d,%d\n", i, i % 3, 100 + 17 * (i * 5 % 6), i, i * 5 % 6);
    return fclose(file);
}

static int tear_down(void **state)
{
    (void)state;
    unlink(small);
    unlink(features);
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", kept);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_estimate_without_memory_is_an_error_or_the_same),
        cmocka_unit_test(test_a_kept_model_without_memory_is_an_error_or_the_same),
        cmocka_unit_test(test_a_training_without_memory_is_an_error_or_the_same),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
