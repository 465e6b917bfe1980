/* Loading NVML, and what an inventory says of boards, missing calls and refusals. */
#include "base/clock.h"
#include "base/helper.h"
#include "base/no_fork.h"
#include "device_told.h"
#include "figures.h"
#include "files_open.h"
#include "record/device/nvml.h"
#include "record/sample/inventory.h"

#include <dlfcn.h>
#include <joulemap/board.h>
#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static jm_inventory *inventory;

/* ---- the loader with an eye on forks */

static int loader_calls, loader_calls_outside;

static void note_loader_call(void)
{
    loader_calls++;
    loader_calls_outside += !jm__no_fork_here();
}

void *dlopen(const char *path, int flags)
{
    void *(*real)(const char *, int);
    void *address = dlsym(RTLD_NEXT, "dlopen");
    memcpy(&real, &address, sizeof real);
    note_loader_call();
    return real(path, flags);
}

int dlclose(void *library)
{
    int (*real)(void *);
    void *address = dlsym(RTLD_NEXT, "dlclose");
    memcpy(&real, &address, sizeof real);
    note_loader_call();
    return real(library);
}

/* ---- */

static void look(const char *boards, const char *faults)
{
    jm_error err = {0};
    if (faults != NULL) setenv("JOULEMAP_SIM_FAULTS", faults, 1);
    if (jm_inventory_create(&inventory, boards, &err) != JM_OK) fail_msg("%s", err.text);
}

static int look_away(void **state)
{
    (void)state;
    jm_inventory_free(inventory);
    inventory = NULL;
    unsetenv("JOULEMAP_SIM_FAULTS");
    unsetenv("JOULEMAP_NVML");
    unsetenv("JOULEMAP_SIM");
    return 0;
}

/* GPUs come before CPUs. */
static size_t gpu_count(void)
{
    size_t count = 0;
    for (size_t i = 0; i < jm_inventory_board_count(inventory); i++)
        count += strcmp(jm_inventory_board(inventory, i)->backend, "nvml") == 0;
    return count;
}

static const jm_sensor *sensor_find(size_t board, const char *name)
{
    for (size_t i = 0; i < jm_inventory_sensor_count(inventory, board); i++)
        if (strcmp(jm_inventory_sensor(inventory, board, i)->name, name) == 0)
            return jm_inventory_sensor(inventory, board, i);
    fail_msg("board %zu has no sensor %s", board, name);
    return NULL;
}

static const jm_finding *finding_find(const char *subject)
{
    const jm__findings *findings = jm__devices_findings(jm__inventory_devices(inventory));
    for (size_t i = 0; i < findings->count; i++)
        if (strcmp(findings->items[i].subject, subject) == 0) return &findings->items[i];
    return NULL;
}

static void test_a_board_is_known_by_name_uuid_pci_and_limits(void **state)
{
    (void)state;
    look("h200,h200,v100", NULL);
    assert_int_equal(gpu_count(), 3);
    const jm_board *first = jm_inventory_board(inventory, 0), *second = jm_inventory_board(inventory, 1);
    assert_string_equal(first->name, "NVIDIA H200");
    assert_string_equal(first->profile, "h200");
    assert_string_equal(jm_inventory_board(inventory, 2)->profile, "v100");
    assert_true(first->simulated && !first->mig);
    assert_int_equal(second->index, 1);
    assert_int_equal(second->cuda_index, 1);
    assert_memory_equal(first->uuid, "GPU-", 4);
    assert_string_not_equal(first->uuid, second->uuid);
    assert_string_not_equal(first->pci, second->pci);
    assert_true(first->power_limit_min_w < first->power_limit_w &&
                first->power_limit_w <= first->power_limit_max_w);
    assert_null(jm_inventory_board(inventory, 99));
    assert_null(jm_inventory_sensor(inventory, 0, 99));
}

static void test_all_that_boards_tell_is_kept(void **state)
{
    (void)state;
    static const char *const cases[][3] = {
        {"h200,v100", "1", NULL},
        {"h200", NULL,
         "missing:nvmlDeviceGetSamples;missing:nvmlDeviceGetPciInfo_v3;nvmlDeviceGetUUID=UNKNOWN;"
         "nvmlDeviceGetTemperature=NOT_SUPPORTED"},
        {"h200,h200", NULL, "nvmlDeviceGetHandleByIndex_v2=GPU_IS_LOST#0;nvmlSystemGetDriverVersion=UNKNOWN"},
        {"h200", NULL, "nvmlDeviceGetCount_v2=NO_PERMISSION"},
        {"h2000", NULL, NULL},
    };
    static const char *const subjects[] = {"NVML", "GPU", "all", "CUDA"};
    char own[PATH_MAX];
    size_t files = 0;
    assert_true(jm__own_folder(own, sizeof own));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (cases[i][1] != NULL) setenv("CUDA_VISIBLE_DEVICES", cases[i][1], 1);
        look(cases[i][0], cases[i][2]);
        unsetenv("CUDA_VISIBLE_DEVICES");
        for (size_t k = 0; k < sizeof subjects / sizeof *subjects; k++) {
            char *text =
                device_told(jm__inventory_devices(inventory), k == 0 ? "nvml" : "", subjects[k], own);
            text_kept(__BASE_FILE__, text);
            free(text);
        }
        look_away(state);
        if (i == 0) files = files_open();
    }
    assert_int_equal(files_open(), files);
}

/* At rest, in the units of their quantities. */
static void test_each_sensor_is_read_in_its_unit(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        double least, most;
    } cases[] = {{"power_ring", 60, 100},      {"power_instant", 60, 100}, {"power_average", 60, 100},
                 {"memory_power", 5, 60},      {"temperature", 20, 60},    {"clock_sm", 345, 345},
                 {"clock_memory", 2000, 4000}, {"power_limit", 700, 700},  {"gpu_utilisation", 0, 0},
                 {"memory_utilisation", 0, 0}};
    static jm__samples samples;
    look("h200", NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t sensor = 0;
        jm_error err = {0};
        while (strcmp(jm_inventory_sensor(inventory, 0, sensor)->name, cases[i].name) != 0)
            sensor++;
        int64_t before_ns = jm__now_ns();
        assert_int_equal(jm__devices_read(jm__inventory_devices(inventory), 0, sensor, &samples, &err),
                         JM_OK);
        assert_true(samples.count >= 1);
        for (size_t k = 0; k < samples.count; k++)
            if (!(cases[i].least <= samples.items[k].value && samples.items[k].value <= cases[i].most))
                fail_msg("%s: %g", cases[i].name, samples.items[k].value);
        bool monotonic = samples.items[0].t_ns >= before_ns && samples.items[0].t_ns <= jm__now_ns();
        assert_int_equal(monotonic, i > 0); /* the ring's have the time of day */
    }
}

static void test_what_nvml_refuses_is_told_as_what_it_is(void **state)
{
    (void)state;
    assert_int_equal(jm__nvml_status(JM_NVML_SUCCESS), JM_OK);
    assert_int_equal(jm__nvml_status(JM_NVML_NOT_SUPPORTED), JM_NOT_SUPPORTED);
    assert_int_equal(jm__nvml_status(JM_NVML_NO_PERMISSION), JM_NO_PERMISSION);
    assert_int_equal(jm__nvml_status(JM_NVML_GPU_IS_LOST), JM_DEVICE_LOST);
    assert_int_equal(jm__nvml_status(JM_NVML_RESET_REQUIRED), JM_DEVICE_LOST);
    assert_int_equal(jm__nvml_status(999), JM_IO);
}

static void test_gpus_that_cuda_may_count_otherwise_are_told(void **state)
{
    (void)state;
    static const struct {
        const char *boards, *order;
        bool told;
    } cases[] = {{"h200,v100", NULL, true},
                 {"h200,v100", "FASTEST_FIRST", true},
                 {"h200,v100", "PCI_BUS_ID", false},
                 {"h200,h200", NULL, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (cases[i].order != NULL) setenv("CUDA_DEVICE_ORDER", cases[i].order, 1);
        look(cases[i].boards, NULL);
        unsetenv("CUDA_DEVICE_ORDER");
        assert_int_equal(finding_find("CUDA's order of GPUs") != NULL, cases[i].told);
        look_away(state);
    }
}

static void test_a_gpu_tells_its_memory_and_a_missing_call_is_no_zero(void **state)
{
    (void)state;
    jm_error err;
    jm_board_memory memory = {.total_bytes = -7};
    look("h200", NULL);
    assert_int_equal(jm_inventory_memory(inventory, 0, &memory, &err), JM_OK);
    assert_in_range(memory.total_bytes, INT64_C(139) << 30, INT64_C(144) << 30); /* 141 GB of HBM3e */
    assert_in_range(memory.free_bytes, memory.total_bytes / 2, memory.total_bytes);
    assert_int_equal(jm_inventory_memory(inventory, 99, &memory, &err), JM_USAGE);
    look_away(NULL);
    look("h200", "missing:nvmlDeviceGetMemoryInfo");
    memory.total_bytes = -7;
    assert_int_equal(jm_inventory_memory(inventory, 0, &memory, &err), JM_NOT_SUPPORTED);
    assert_int_equal(memory.total_bytes, -7);
    assert_string_equal(err.call, "nvmlDeviceGetMemoryInfo");
}

static void test_a_board_shows_its_state_and_what_cannot_be_read_is_absent(void **state)
{
    (void)state;
    jm_error err;
    jm_board_state now;
    look("h200", NULL);
    assert_int_equal(jm_inventory_state(inventory, 0, &now, &err), JM_OK);
    assert_true(now.power_w > 50 && now.power_w < 200 &&
                now.problem[0] == '\0'); /* idle: docs of its profile */
    assert_true(now.power_limit_w == 700 && now.energy_j >= 0 && now.temperature_c > 20);
    assert_int_equal(jm_inventory_state(inventory, 99, &now, &err), JM_USAGE);
    look_away(NULL);
    look("h200", "lost@400ms");
    usleep(500000);
    assert_int_equal(jm_inventory_state(inventory, 0, &now, &err), JM_OK);
    assert_true(now.lost && isnan(now.power_w) && isnan(now.energy_j) && now.problem[0] != '\0');
}

static void test_a_sensor_joins_what_the_board_and_its_profile_know(void **state)
{
    (void)state;
    look("h200", NULL);
    const jm_sensor *ring = sensor_find(0, "power_ring");
    assert_string_equal(ring->missing, "");
    assert_string_equal(ring->source, "nvmlDeviceGetSamples(TOTAL_POWER)");
    assert_int_equal(ring->response, JM_RESPONSE_FIRST_ORDER);
    assert_true(ring->read_cost_ns > 0);
}

static void test_a_value_is_stamped_in_the_middle_of_its_call(void **state)
{
    (void)state;
    static jm__samples samples;
    jm_error err = {0};
    look("h200", "slow:nvmlDeviceGetTemperature=20ms");
    for (size_t i = 0; i < jm_inventory_sensor_count(inventory, 0); i++) {
        if (strcmp(jm_inventory_sensor(inventory, 0, i)->name, "temperature") != 0) continue;
        int64_t before_ns = jm__now_ns();
        memset(&samples, 0, sizeof samples);
        if (jm__devices_read(jm__inventory_devices(inventory), 0, i, &samples, &err) != JM_OK)
            fail_msg("%s", err.text);
        int64_t after_ns = jm__now_ns();
        assert_int_equal(samples.count, 1);
        assert_true(samples.items[0].t_ns >= before_ns + 9 * JM_NS_PER_MS);
        assert_true(samples.items[0].t_ns <= after_ns - 9 * JM_NS_PER_MS);
        return;
    }
    fail_msg("no temperature");
}

static void test_a_missing_call_costs_one_sensor_and_is_named(void **state)
{
    (void)state;
    look("h200", "missing:nvmlDeviceGetTotalEnergyConsumption");
    const jm_finding *finding = finding_find("NVML: nvmlDeviceGetTotalEnergyConsumption");
    assert_non_null(finding);
    assert_false(finding->works);
    assert_non_null(strstr(finding->detail, "the energy counter"));
    assert_string_not_equal(sensor_find(0, "energy_counter")->missing, "");
    assert_string_equal(sensor_find(0, "power_ring")->missing, "");
    assert_non_null(finding_find("GPU 0: energy_counter"));
    assert_true(finding_find("NVML")->works);
}

static void test_a_call_under_its_older_name_still_serves(void **state)
{
    (void)state;
    look("h200", "missing:nvmlDeviceGetCurrentClocksEventReasons;missing:nvmlDeviceGetEnforcedPowerLimit");
    assert_string_equal(sensor_find(0, "throttle_reasons")->missing, "");
    assert_string_equal(sensor_find(0, "power_limit")->missing, "");
    assert_null(finding_find("NVML: nvmlDeviceGetEnforcedPowerLimit"));
}

static void test_a_second_way_to_a_sensor_is_taken_where_the_first_is_missing(void **state)
{
    (void)state;
    look("h200", "missing:nvmlDeviceGetPowerUsage;missing:nvmlDeviceGetUtilizationRates");
    assert_string_equal(sensor_find(0, "power_average")->source, "nvmlDeviceGetFieldValues(185)");
    assert_string_equal(sensor_find(0, "power_average")->missing, "");
    assert_string_equal(sensor_find(0, "gpu_utilisation")->source, "nvmlDeviceGetSamples(GPU_UTILIZATION)");
    assert_string_equal(sensor_find(0, "gpu_utilisation")->missing, "");
}

static void test_a_library_without_what_everything_needs_gives_no_boards(void **state)
{
    (void)state;
    look("h200", "missing:nvmlDeviceGetCount_v2");
    assert_int_equal(gpu_count(), 0);
    assert_false(finding_find("NVML")->works);
    assert_non_null(strstr(finding_find("NVML: nvmlDeviceGetCount_v2")->detail, "everything"));
}

static void test_a_refused_permission_is_the_sensors_reason(void **state)
{
    (void)state;
    look("h200", "nvmlDeviceGetSamples=NO_PERMISSION;nvmlDeviceGetName=UNKNOWN");
    assert_non_null(strstr(sensor_find(0, "power_ring")->missing, "ermission"));
    assert_string_equal(jm_inventory_board(inventory, 0)->name, "NVIDIA GPU 0");
    assert_string_equal(jm_inventory_board(inventory, 0)->profile, "generic");
}

static void test_an_unknown_simulated_board_is_explained(void **state)
{
    (void)state;
    look("h2000", NULL);
    assert_int_equal(gpu_count(), 0);
    const jm_finding *finding = finding_find("NVML (simulated)");
    assert_non_null(finding);
    assert_non_null(strstr(finding->detail, "h2000"));
}

static void test_no_library_is_a_finding_with_a_cure(void **state)
{
    (void)state;
    setenv("JOULEMAP_NVML", "/nonexistent/libnvidia-ml.so.1", 1);
    look(NULL, NULL);
    assert_int_equal(gpu_count(), 0);
    const jm_finding *finding = finding_find("NVML");
    assert_false(finding->works);
    assert_non_null(strstr(finding->detail, "/nonexistent/libnvidia-ml.so.1"));
    assert_string_not_equal(finding->cure, "");
}

static void test_asking_for_a_simulated_board_leaves_the_environment_alone(void **state)
{
    (void)state;
    look("h200", NULL);
    assert_null(getenv("JOULEMAP_SIM"));
    jm_inventory_free(inventory);
    setenv("JOULEMAP_SIM", "a100", 1);
    look("h200", NULL);
    assert_string_equal(jm_inventory_board(inventory, 0)->profile, "h200");
    assert_string_equal(getenv("JOULEMAP_SIM"), "a100");
    jm_inventory_free(inventory);
    look(NULL, NULL);
    assert_string_equal(jm_inventory_board(inventory, 0)->profile, "a100");
}

static void test_no_call_that_changes_a_board_is_ever_looked_up(void **state)
{
    (void)state;
    static const char *const symbols[] = {
#define X(slot, symbol, older, lost, arguments) symbol, older,
        JM_NVML_MAP(X)
#undef X
    };
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
        assert_null(strstr(symbols[i], "Set"));
        assert_null(strstr(symbols[i], "Reset"));
        assert_null(strstr(symbols[i], "Clear"));
    }
}

static void test_no_fork_comes_while_nvml_is_loaded_or_let_go(void **state)
{
    loader_calls = loader_calls_outside = 0;
    look("h200", NULL);
    assert_int_equal(loader_calls, 1);
    look_away(state);
    assert_int_equal(loader_calls, 2);
    setenv("JOULEMAP_NVML", "/nowhere/libnvidia-ml.so.1", 1);
    look(NULL, NULL);
    assert_true(loader_calls > 2);
    assert_int_equal(loader_calls_outside, 0);
}

int main(void)
{
    static const char *const variables[] = {"JOULEMAP_SIM", "JOULEMAP_SIM_SCRIPT", "JOULEMAP_SIM_FAULTS",
                                            "JOULEMAP_NVML", "CUDA_VISIBLE_DEVICES"};
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++)
        unsetenv(variables[i]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_a_board_is_known_by_name_uuid_pci_and_limits, look_away),
        cmocka_unit_test_teardown(test_all_that_boards_tell_is_kept, look_away),
        cmocka_unit_test_teardown(test_each_sensor_is_read_in_its_unit, look_away),
        cmocka_unit_test(test_what_nvml_refuses_is_told_as_what_it_is),
        cmocka_unit_test_teardown(test_gpus_that_cuda_may_count_otherwise_are_told, look_away),
        cmocka_unit_test_teardown(test_a_board_shows_its_state_and_what_cannot_be_read_is_absent, look_away),
        cmocka_unit_test_teardown(test_a_gpu_tells_its_memory_and_a_missing_call_is_no_zero, look_away),
        cmocka_unit_test_teardown(test_a_sensor_joins_what_the_board_and_its_profile_know, look_away),
        cmocka_unit_test_teardown(test_a_value_is_stamped_in_the_middle_of_its_call, look_away),
        cmocka_unit_test_teardown(test_a_missing_call_costs_one_sensor_and_is_named, look_away),
        cmocka_unit_test_teardown(test_a_call_under_its_older_name_still_serves, look_away),
        cmocka_unit_test_teardown(test_a_second_way_to_a_sensor_is_taken_where_the_first_is_missing,
                                  look_away),
        cmocka_unit_test_teardown(test_a_library_without_what_everything_needs_gives_no_boards, look_away),
        cmocka_unit_test_teardown(test_a_refused_permission_is_the_sensors_reason, look_away),
        cmocka_unit_test_teardown(test_an_unknown_simulated_board_is_explained, look_away),
        cmocka_unit_test_teardown(test_no_library_is_a_finding_with_a_cure, look_away),
        cmocka_unit_test_teardown(test_asking_for_a_simulated_board_leaves_the_environment_alone, look_away),
        cmocka_unit_test(test_no_call_that_changes_a_board_is_ever_looked_up),
        cmocka_unit_test_teardown(test_no_fork_comes_while_nvml_is_loaded_or_let_go, look_away),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
