/* Which of the models that calibration keeps an estimate takes: rules of tools/estimate/model_choice.h, on
 * simulated boards as this machine's. */
#include "import/ncu/sheet.h"

#include <joulemap/board.h>
#include <joulemap/estimate.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define DATA  JM_SOURCE_DIR "/tests/data/ncu/"
#define MODEL DATA "model.json"
#define CSV   DATA "stencil.csv.gz" /* of an H200; it tells no PCI address */

static char folder[] = "/tmp/joulemap-test-XXXXXX";
static jm_error err;

static int set_up(void **state)
{
    (void)state;
    char models[128];
    if (mkdtemp(folder) == NULL) return -1;
    snprintf(models, sizeof models, "mkdir -p %s/joulemap/models", folder);
    setenv("XDG_DATA_HOME", folder, 1);
    return system(models);
}

static int tear_down(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

/* No board, no model. */
static int clear(void **state)
{
    (void)state;
    char command[128];
    unsetenv("JOULEMAP_SIM");
    setenv("JOULEMAP_NVML", "/nonexistent/libnvidia-ml.so.1", 1);
    snprintf(command, sizeof command, "rm -f %s/joulemap/models/* %s/*.csv", folder, folder);
    return system(command);
}

/* ---- boards, kept models, files */

typedef struct boards {
    jm_board items[4];
    size_t count;
} boards;

/* This machine has these from now on. */
static boards machine(const char *profiles)
{
    boards found = {.count = 0};
    jm_inventory *inventory;
    unsetenv("JOULEMAP_NVML");
    setenv("JOULEMAP_SIM", profiles, 1);
    assert_int_equal(jm_inventory_create(&inventory, NULL, &err), JM_OK);
    for (size_t b = 0; b < jm_inventory_board_count(inventory) && found.count < 4; b++)
        if (strcmp(jm_inventory_board(inventory, b)->backend, "nvml") == 0)
            found.items[found.count++] = *jm_inventory_board(inventory, b);
    jm_inventory_free(inventory);
    return found;
}

static const char *kept_path(const char *uuid)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/joulemap/models/%s.json", folder, uuid);
    return path;
}

/* The test's model as a board's own, with an edit of sed's. */
static void keep_edited(const char *uuid, const char *edit)
{
    char command[512];
    snprintf(command, sizeof command, "sed '%s' '" MODEL "' >'%s'", edit, kept_path(uuid));
    assert_int_equal(system(command), 0);
}

static void keep(const char *uuid)
{
    keep_edited(uuid, "");
}

/* The stencil's file as it would be with the address in it; path in the folder. */
static const char *file_of_address(const char *pci)
{
    static char path[128];
    char line[4096];
    unsigned domain, bus, device;
    assert_int_equal(sscanf(pci, "%x:%x:%x", &domain, &bus, &device), 3);
    snprintf(path, sizeof path, "%s/addressed.csv", folder);
    FILE *from = popen("gzip -dc '" CSV "'", "r"), *to = fopen(path, "w");
    assert_non_null(from);
    assert_non_null(to);
    for (size_t i = 0; fgets(line, sizeof line, from) != NULL; i++) {
        line[strcspn(line, "\r\n")] = '\0';
        if (i == 0)
            fprintf(to,
                    "%s,\"device__attribute_pci_domain_id\",\"device__attribute_pci_bus_id\","
                    "\"device__attribute_pci_device_id\"\n",
                    line);
        else if (i == 1)
            fprintf(to, "%s,\"\",\"\",\"\"\n", line);
        else
            fprintf(to, "%s,\"%u\",\"%u\",\"%u\"\n", line, domain, bus, device);
    }
    pclose(from);
    fclose(to);
    return path;
}

/* ---- what came out */

typedef struct made {
    char model[600];
    char notes[2000];
    double up; /* of the average power, how far its range goes above it */
} made;

static jm_status try_to_make(made *out, const char *csv, const char *model)
{
    jm_estimate *estimate;
    const jm_estimate_options options = {.size = sizeof options, .csv = csv, .model = model};
    err = (jm_error){0};
    *out = (made){.up = NAN};
    jm_status status = jm_estimate_make(&estimate, &options, &err);
    if (status != JM_OK) return status;
    size_t used = 0;
    for (size_t i = 0; i < jm_estimate_note_count(estimate) && used < sizeof out->notes; i++)
        used += (size_t)snprintf(out->notes + used, sizeof out->notes - used, "%s\n",
                                 jm_estimate_note(estimate, i));
    const jm_estimated_range *average = &jm_estimate_total(estimate)->average_w;
    out->up = average->high / average->value;
    sscanf(out->notes, "model: %599[^,]", out->model);
    jm_estimate_free(estimate);
    return JM_OK;
}

static made make(const char *csv)
{
    made out;
    if (try_to_make(&out, csv, NULL) != JM_OK) fail_msg("%s (%s)", err.text, err.hint);
    return out;
}

static double up_of_the_boards_own(void)
{
    made out;
    assert_int_equal(try_to_make(&out, CSV, MODEL), JM_OK);
    return out.up;
}

static void assert_shipped(const made *out)
{
    if (strcmp(out->model, "shipped h200") != 0) fail_msg("%s", out->model);
}

static void assert_kept(const made *out, const char *uuid, bool own)
{
    double own_up = up_of_the_boards_own();
    assert_string_equal(out->model, kept_path(uuid));
    if (own) {
        assert_true(fabs(out->up - own_up) < 1e-9);
        assert_non_null(strstr(out->notes, "calibrated on this machine's board"));
    } else {
        assert_true(out->up > own_up + 0.03);
        assert_non_null(strstr(out->notes, "wider, as for another board"));
    }
}

/* ---- */

static void test_without_a_kept_model_the_shipped_one_is_taken(void **state)
{
    (void)state;
    made out = make(CSV);
    assert_shipped(&out);
    machine("h200");
    out = make(CSV);
    assert_shipped(&out);
}

static void test_this_machines_one_board_of_the_kind_has_its_own(void **state)
{
    (void)state;
    const boards here = machine("h200,a100");
    assert_int_equal(here.count, 2);
    keep("GPU-00000000-of-another-machine");
    keep(here.items[0].uuid);
    const made out = make(CSV);
    assert_kept(&out, here.items[0].uuid, true);
}

static void test_of_two_boards_the_one_that_was_calibrated_counts_as_another(void **state)
{
    (void)state;
    const boards here = machine("h200,h200");
    keep(here.items[1].uuid);
    const made out = make(CSV);
    assert_kept(&out, here.items[1].uuid, false);
}

static void test_several_that_fit_are_refused_until_somebody_says_which(void **state)
{
    (void)state;
    const boards here = machine("h200,h200");
    made out;
    keep(here.items[0].uuid);
    keep(here.items[1].uuid);
    assert_int_equal(try_to_make(&out, CSV, NULL), JM_NOT_FOUND);
    assert_non_null(strstr(err.text, here.items[0].uuid));
    assert_non_null(strstr(err.text, here.items[1].uuid));
    assert_non_null(strstr(err.hint, "--model"));
    assert_int_equal(try_to_make(&out, CSV, kept_path(here.items[1].uuid)), JM_OK);
    assert_int_equal(try_to_make(&out, CSV, "h200"), JM_OK);
    assert_shipped(&out);
}

static void test_an_address_in_the_file_tells_which_board_it_is_of(void **state)
{
    (void)state;
    const boards here = machine("h200,h200");
    assert_string_not_equal(here.items[0].pci, here.items[1].pci);
    keep(here.items[0].uuid);
    keep(here.items[1].uuid);
    for (size_t b = 0; b < 2; b++) {
        const made out = make(file_of_address(here.items[b].pci));
        assert_kept(&out, here.items[b].uuid, true);
    }
    unlink(kept_path(here.items[1].uuid)); /* now the file is of a board that nobody calibrated */
    const made out = make(file_of_address(here.items[1].pci));
    assert_kept(&out, here.items[0].uuid, false);
}

static void test_a_machine_without_boards_takes_the_one_that_is_kept(void **state)
{
    (void)state;
    made out;
    keep("GPU-1");
    out = make(CSV);
    assert_kept(&out, "GPU-1", false);
    keep("GPU-2");
    assert_int_equal(try_to_make(&out, CSV, NULL), JM_NOT_FOUND);
}

static void test_models_of_another_kind_and_broken_ones_do_not_count(void **state)
{
    (void)state;
    keep_edited("GPU-1", "s/NVIDIA H200/NVIDIA H100 80GB HBM3/");
    keep_edited("GPU-2", "s/TriageCompute/x/; s/__/_/g"); /* counters of a chip that ncu has no words for */
    keep_edited("GPU-3", "s/covariance/c/");
    made out = make(CSV);
    assert_shipped(&out);
    assert_non_null(strstr(out.notes, "a kept model cannot be read"));
    assert_non_null(strstr(out.notes, "GPU-3.json"));
    keep("GPU-4");
    out = make(CSV);
    assert_kept(&out, "GPU-4", false);
}

/* ncu runs before anybody knows which model is taken: what is asked for is enough for each of them. */
static void test_ncu_is_queried_for_what_any_kept_model_can_need_and_for_the_address(void **state)
{
    (void)state;
    char *metrics;
    jm__ncu_words *words = calloc(1, sizeof *words);
    assert_non_null(words);
    assert_int_equal(jm_estimate_metrics(NULL, &metrics, &err), JM_OK);
    assert_non_null(strstr(metrics, "device__attribute_pci_bus_id"));
    assert_int_equal(jm__ncu_words_load(words, 0, 0, &err), JM_OK);
    assert_true(words->count > 10);
    for (size_t w = 0; w < words->count; w++) {
        const jm__ncu_word *word = &words->words[w];
        const char *name =
            word->percent_count > 0 ? word->percents[word->percent_count > 1 ? 1 : 0] : word->counters[0];
        if (strstr(metrics, name) == NULL) fail_msg("%s", name);
    }
    free(metrics);
    free(words);
}

#define KEPT_TEST(name) cmocka_unit_test_setup(name, clear)

int main(void)
{
    const struct CMUnitTest tests[] = {
        KEPT_TEST(test_without_a_kept_model_the_shipped_one_is_taken),
        KEPT_TEST(test_this_machines_one_board_of_the_kind_has_its_own),
        KEPT_TEST(test_of_two_boards_the_one_that_was_calibrated_counts_as_another),
        KEPT_TEST(test_several_that_fit_are_refused_until_somebody_says_which),
        KEPT_TEST(test_an_address_in_the_file_tells_which_board_it_is_of),
        KEPT_TEST(test_a_machine_without_boards_takes_the_one_that_is_kept),
        KEPT_TEST(test_models_of_another_kind_and_broken_ones_do_not_count),
        KEPT_TEST(test_ncu_is_queried_for_what_any_kept_model_can_need_and_for_the_address),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
